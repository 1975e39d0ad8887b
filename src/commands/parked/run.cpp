#include "commands/parked/run.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "amqp/error.h"
#include "amqp/queue_reader.h"
#include "amqp/queue_writer.h"
#include "amqp/refusal.h"
#include "amqp/timeouts.h"
#include "commands/parked/browse.h"
#include "core/names.h"
#include "core/topology.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using amqp::Declarer;
using Result = Declarer::Result;

std::set<std::string> targets_of(const ParkedOverview& survey, const std::string& to) {
    std::set<std::string> targets;
    for (const OverviewedQueue& queue : survey.queues) {
        for (const auto& [key, group] : queue.selected.all()) {
            const std::string& target = to.empty() ? key.first : to;
            if (!target.empty()) targets.insert(target);
        }
    }
    return targets;
}

bool is_parking_queue(const ParkedOverview& survey, const std::string& target) {
    return std::any_of(survey.queues.begin(), survey.queues.end(), [&](const OverviewedQueue& queue) {
        return queue.name == target && queue.selected.messages() > 0;
    });
}

/// Why nothing can go there; empty where it can.
std::string why_not(Broker& broker, const ParkedOverview& survey, const std::string& target) {
    if (is_parking_queue(survey, target)) {
        return "'" + target +
               "' is the parking queue itself: messages cannot be replayed into where they lie. --to QUEUE sends them "
               "elsewhere";
    }
    const auto there = broker.carry_out(Declarer::CheckQueue{target});
    if (there.result == Result::done) return "";
    if (there.result == Result::refused) return there.text;
    return "the work queue '" + target +
           "' does not exist, so its messages have nowhere to go. Declare it, or send them elsewhere with --to QUEUE";
}

/// Why the return exchange cannot be used; empty where it can.
std::string bind_home(Broker& broker, const config::Settings& settings, const std::string& target) {
    if (!settings.declare) return "with `declare: false` retryd binds nothing";
    for (const Declarer::Step& step :
         {Declarer::Step{core::return_exchange_spec(settings.policy)}, Declarer::Step{core::home_binding(target)}}) {
        const auto answer = broker.carry_out(step);
        if (answer.result != Result::done) return answer.text;
    }
    return "";
}

}  // namespace

Destinations destinations(Broker& broker, const config::Settings& settings, const ParkedOverview& survey,
                          const std::string& to) {
    Destinations found;
    const std::set<std::string> targets = targets_of(survey, to);
    for (const std::string& target : targets) {
        const std::string reason = why_not(broker, survey, target);
        if (!reason.empty()) {
            found.missing.insert(target);
            found.notes.push_back(reason);
            continue;
        }
        const core::Entry* entry = core::match(settings.policy, target);
        if (entry == nullptr || entry->ladder.return_path != core::ReturnPath::headers) continue;
        const std::string why = bind_home(broker, settings, target);
        if (why.empty()) {
            found.through_return.insert(target);
        } else {
            found.notes.push_back(
                "to '" + target +
                "' messages go through the default exchange, so its consumer sees the queue's name as "
                "the routing key: " +
                why);
        }
    }
    if (!targets.empty() && found.missing.size() == targets.size()) found.fault = found.notes.front();
    return found;
}

namespace {

using core::Milliseconds;
using core::SteadyTime;
using End = admin::ParkedRun::End;

/// All are in hand from the beginning, and a broker takes back what was held for half an hour (consumer_timeout).
constexpr Milliseconds longest_hold{20 * 60'000};
/// So long an interrupted run waits for the broker's answers.
constexpr Milliseconds longest_farewell{10'000};
/// What was sent last may be rejected a moment later.
constexpr Milliseconds late_failures_after{1'000};
/// Heartbeats have to be served, and progress shown.
constexpr Milliseconds longest_wait{100};
constexpr Milliseconds broker_again_after{1'000};

class Run : private amqp::DeliverySink, private amqp::ConfirmSink, private relay::PublishPort {
  public:
    Run(const ParkedRunContext& table, const std::string& queue, std::size_t ready, admin::ParkedRunOrder order)
        : table_(table),
          sends_(order.action == admin::ParkedRunOrder::Action::send),
          reader_(endpoint(), table.settings.broker, "retryd parked consume"),
          exhaustion_(table.broker, queue),
          clearance_(std::move(order), *this) {
        if (sends_) writer_.emplace(endpoint(), table.settings.broker, "retryd parked publish");
        reader_.begin(queue, ready);
    }

    void run() {
        while (!clearance_.settled())
            turn();
        clearance_.flush_acks();
        wait_for_late_failures();
        read_the_rest();
        reader_.leave();
    }

    ParkedRunResult cleared() const { return {clearance_.ended(), clearance_.counts(), why_, {}}; }

  private:
    const config::Endpoint& endpoint() const { return endpoint_of(table_.settings, table_.broker.identity()); }

    void turn() {
        now_ = system::now();
        const bool taking = reads();
        const bool more = reader_.turn(*this, taking ? messages_a_turn : 0);
        turn_writer();
        turn_watch();
        clearance_.on_tick(now_);
        heed_ends();
        table_.progress(clearance_.counts(), writer_ ? writer_->blocked() : std::string{});
        keep_broker_connected();
        if (!(more && taking) && !clearance_.settled()) wait();
    }

    /// At its end, too: the broker may have taken the consumer away, and what comes beyond is not looked at.
    bool reads() const { return !clearance_.wants_more() || clearance_.has_room(); }

    void turn_writer() {
        if (!writer_) return;
        const bool room = writer_->turn(*this);
        if (!writer_->closed().empty()) {
            why_ = "the broker refused a message and closed the channel: " + writer_->closed();
            return clearance_.on_publishing_closed();
        }
        if (clearance_.paused() && room && writer_->blocked().empty()) clearance_.resume();
    }

    void turn_watch() {
        if (table_.watch == nullptr) return;
        table_.watch->turn([this](const core::Table& headers) { clearance_.on_rejected(headers); });
    }

    void heed_ends() {
        heed_interrupts();
        if (!reader_.ended().empty()) {
            why_ = reader_.ended();
            clearance_.on_publishing_closed();  // their acks cannot be sent any more
        }
        if (now_.steady - begun_ > longest_hold && clearance_.waiting() > 0) {
            why_ = "a consumer may hold messages for 30 minutes by default, and this one has for 20";
            clearance_.stop(End::broker);
        }
        const admin::ParkedRunCounts& counts = clearance_.counts();
        const bool idle = clearance_.wants_more() && clearance_.waiting() == 0 && clearance_.in_flight() == 0;
        if (idle && exhaustion_.reached(counts.looked_at)) {
            why_ = exhaustion_.withheld();
            clearance_.stop(why_.empty() ? End::all : End::broker);
        }
        require_confirms();
    }

    /// A broker that takes no messages confirms none either: it is not waited for without an end.
    void heed_interrupts() {
        if (!table_.interrupts.seen()) return;
        clearance_.stop(End::interrupted);
        if (!interrupted_at_) interrupted_at_ = now_.steady;
        if (clearance_.in_flight() == 0 || now_.steady - *interrupted_at_ < longest_farewell) return;
        why_ = "the broker has not confirmed " + std::to_string(clearance_.in_flight()) + " messages for 10s";
        clearance_.on_publishing_closed();
    }

    void require_confirms() {
        if (writer_ && !writer_->blocked().empty()) unblocked_at_ = now_.steady;
        const auto sent = clearance_.unconfirmed_since();
        if (!sent || now_.steady - std::max(*sent, unblocked_at_) < amqp::confirm_timeout) return;
        why_ = "the broker has not confirmed " + std::to_string(clearance_.in_flight()) + " messages for 1m";
        clearance_.on_publishing_closed();
    }

    /// Its heartbeats, too.
    void keep_broker_connected() {
        if (now_.steady < broker_due_) return;
        table_.broker.wait(Milliseconds{1});
        broker_due_ = now_.steady + broker_again_after;
    }

    void wait_for_late_failures() {
        if (table_.watch == nullptr || clearance_.counts().done == 0) return;
        const SteadyTime until = system::now().steady + late_failures_after;
        while (system::now().steady < until && !table_.interrupts.seen()) {
            reader_.turn(*this, messages_a_turn);
            turn_writer();
            turn_watch();
            wait();
        }
    }

    /// Before the consumer may go, all that is on its way to it has to be here.
    void read_the_rest() {
        while (!reader_.all_here() && reader_.ended().empty()) {
            now_ = system::now();
            const bool more = reader_.turn(*this, messages_a_turn);
            turn_writer();
            keep_broker_connected();
            if (!more) wait();
        }
    }

    void wait() {
        const SteadyTime now = system::now().steady;
        Milliseconds time = longest_wait;
        if (const auto due = clearance_.next_tick(now)) time = std::clamp(*due - now, Milliseconds{0}, time);
        const bool taking = reads();
        const bool full = clearance_.paused() && writer_ && writer_->blocked().empty();
        const bool signalled = clearance_.ended() == End::interrupted;
        std::array fds{pollfd{taking ? reader_.fd() : -1, POLLIN, 0},
                       pollfd{writer_ ? writer_->fd() : -1, static_cast<short>(full ? POLLIN | POLLOUT : POLLIN), 0},
                       pollfd{table_.watch != nullptr ? table_.watch->fd() : -1, POLLIN, 0},
                       pollfd{signalled ? -1 : table_.interrupts.fd(), POLLIN, 0}};
        poll(fds.data(), fds.size(), static_cast<int>(time.count()));
    }

    void on_delivery(const core::Delivery& delivery) override { clearance_.on_delivery(delivery, now_); }
    void on_unreadable_delivery(core::DeliveryTag tag) override { clearance_.on_unreadable_delivery(tag); }
    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override {
        clearance_.on_confirm(seq, multiple, acked);
    }
    void on_returned(std::string_view exchange, std::string_view routing_key) override {
        clearance_.on_returned(exchange, routing_key);
    }
    relay::PublishResult publish(const core::Publication& publication) override {
        return writer_->publish(publication);
    }
    void ack(core::DeliveryTag tag, bool multiple) override { reader_.ack(tag, multiple); }

    const ParkedRunContext& table_;
    bool sends_;
    amqp::QueueReader reader_;
    std::optional<amqp::QueueWriter> writer_;
    QueueEnd exhaustion_;
    admin::ParkedRun clearance_;
    core::Now now_ = system::now();
    SteadyTime begun_ = now_.steady;
    SteadyTime broker_due_{};
    SteadyTime unblocked_at_{};
    std::optional<SteadyTime> interrupted_at_;
    std::string why_;
};

}  // namespace

ParkedRunResult clear(const ParkedRunContext& table, const std::string& queue, std::size_t ready,
                      admin::ParkedRunOrder order) {
    std::unique_ptr<Run> run;
    ParkedRunResult cleared;
    try {
        run = std::make_unique<Run>(table, queue, ready, std::move(order));
        run->run();
    } catch (const amqp::Error& error) {
        cleared.fault = std::string{error.what()} + "; " + amqp::remedy(error.kind());
    }
    if (run) {
        ParkedRunResult so_far = run->cleared();
        so_far.fault = std::move(cleared.fault);
        cleared = std::move(so_far);
    }
    return cleared;
}

}  // namespace retryd::commands
