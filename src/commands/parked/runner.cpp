#include "commands/parked/runner.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "amqp/error.h"
#include "amqp/queue_io.h"
#include "amqp/refusal.h"
#include "amqp/timeouts.h"
#include "commands/parked/browse_queue.h"
#include "commands/parked/message_line.h"
#include "core/duration.h"
#include "core/time.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

using core::Milliseconds;
using core::SteadyTime;
using End = admin::ParkedRun::End;

/// The reader holds every message unacked from the start, and RabbitMQ ends a consumer that does so for 30 minutes
/// (consumer_timeout), so a run ends before that.
constexpr Milliseconds longest_hold{20 * 60'000};
/// How long an interrupted run waits for confirms: a person is waiting.
constexpr Milliseconds confirm_timeout_interrupted{10'000};
/// How long to wait for messages to be rejected after the last one was sent.
constexpr Milliseconds late_failures_within{1'000};
/// The longest wait: heartbeats have to be served, and progress shown.
constexpr Milliseconds longest_wait{100};
constexpr Milliseconds serve_broker_every{1'000};

}  // namespace

class ParkedRunner::Run : private amqp::DeliverySink, private amqp::ConfirmSink, private relay::PublishPort {
  public:
    Run(const ParkedRunner& runner, const std::string& queue, std::size_t ready, admin::ParkedRunOrder order,
        const Progress& progress)
        : runner_(runner),
          progress_(progress),
          reader_(endpoint(), runner.settings_.broker, "retryd parked consume", unacked_by_one_consumer(),
                  amqp::QueueReader::Use::settle),
          stall_(runner.broker_, queue),
          run_(std::move(order), *this) {
        if (run_.sends()) writer_.emplace(endpoint(), runner.settings_.broker, "retryd parked publish");
        if (runner.few_given_back_) reader_.keep_few_unacked(*runner.few_given_back_);
        run_.next_consumer(reader_.begin(queue, ready));
    }

    void run() {
        while (!run_.finished())
            turn();
        run_.flush_acks();
        wait_for_late_failures();
        read_the_rest();
        leave();
    }

    ParkedRunResult result() const {
        const std::size_t given_back = reader_.delivered() - run_.counts().done;
        return {run_.ended(), run_.counts(), why_, run_.younger_at(), given_back, {}};
    }

  private:
    const config::Endpoint& endpoint() const { return endpoint_of(runner_.settings_, runner_.broker_.identity()); }

    void turn() {
        now_ = system::now();
        const bool reading = wants_deliveries();
        const bool more =
            runner_.archive_ != nullptr ? read_one_by_one() : reader_.turn(*this, reading ? messages_per_turn : 0);
        turn_writer();
        turn_tap();
        run_.on_tick(now_);
        stop_when_unprepared();
        if (!more || archived_enough()) settle_archived();
        go_on_when_full();
        stop_when_interrupted();
        stop_when_reader_ended();
        stop_when_held_too_long();
        stop_when_stalled();
        stop_when_confirms_are_late();
        progress_(run_.counts(), writer_ ? writer_->blocked() : std::string{});
        serve_broker_connection();
        if (!(more && reading) && !run_.finished()) wait();
    }

    /// Reads one at a time: many messages together may be large, so it reads only while there is room.
    bool read_one_by_one() {
        for (std::size_t read = 0; read < messages_per_turn; ++read) {
            const bool room = wants_deliveries();
            if (!reader_.turn(*this, room ? 1 : 0) || !room) return false;
        }
        return true;
    }

    /// Reads on after the run has ended, to notice that the broker has cancelled the consumer; ParkedRun ignores such
    /// deliveries.
    bool wants_deliveries() const { return !run_.wants_more() || run_.has_room(); }

    void turn_writer() {
        if (!writer_) return;
        const bool room = writer_->turn(*this);
        if (!writer_->closed().empty()) {
            why_ = "the broker refused a message and closed the channel: " + writer_->closed();
            return run_.give_up_unconfirmed();
        }
        if (run_.paused() && room && writer_->blocked().empty()) run_.resume();
    }

    void turn_tap() {
        if (runner_.tap_ == nullptr) return;
        runner_.tap_->turn([this](const core::Table& headers) { run_.on_rejected(headers); });
    }

    void go_on_when_full() {
        if (!run_.consumer_full() || (!run_.wants_more() && !reader_.needs_more_to_leave())) return;
        if (!reader_.can_go_on()) return run_.stop(End::held);
        run_.next_consumer(reader_.go_on(!run_.wants_more(), [this] { serve_others(); }));
    }

    void stop_when_unprepared() {
        if (unprepared_.empty()) return;
        why_ = unprepared_;
        run_.stop(End::broker);
    }

    /// Whether enough is archived to be worth a sync.
    bool archived_enough() const {
        constexpr std::size_t enough_bytes = std::size_t{4} * 1024 * 1024;
        constexpr relay::PublishSeq enough_messages = 256;
        return archived_ - settled_ >= enough_messages ||
               (runner_.archive_ != nullptr && runner_.archive_->waiting_bytes() >= enough_bytes);
    }

    /// Acks only what is safe on disk.
    void settle_archived() {
        if (archived_ == settled_) return;
        runner_.archive_->sync();
        if (!runner_.archive_->fault().empty()) {
            why_ = runner_.archive_->fault();
            return run_.give_up_unconfirmed();
        }
        settled_ = archived_;
        run_.on_confirm(settled_, true, true);
    }

    void stop_when_interrupted() {
        if (!runner_.stop_.pending()) return;
        run_.stop(End::interrupted);
        if (!interrupted_at_) interrupted_at_ = now_.steady;
        // A blocked broker confirms nothing, so the wait is limited.
        if (run_.in_flight() == 0 || now_.steady - *interrupted_at_ < confirm_timeout_interrupted) return;
        why_ = "the broker has not confirmed " + std::to_string(run_.in_flight()) + " messages for " +
               core::format_duration(confirm_timeout_interrupted);
        run_.give_up_unconfirmed();
    }

    void stop_when_reader_ended() {
        if (reader_.ended().empty()) return;
        why_ = reader_.ended();
        run_.give_up_unconfirmed();  // their acks can no longer be sent
    }

    void stop_when_held_too_long() {
        if (now_.steady - begun_ <= longest_hold || run_.waiting() == 0) return;
        why_ = "the messages have been held for 20 minutes, and RabbitMQ takes them back after 30 (consumer_timeout)";
        run_.stop(End::broker);
    }

    void stop_when_stalled() {
        const bool idle = run_.wants_more() && run_.waiting() == 0 && run_.in_flight() == 0;
        if (!idle || !stall_.stalled(run_.counts().looked_at)) return;
        why_ = stall_.reason();
        run_.stop(why_.empty() ? End::all : End::broker);
    }

    void stop_when_confirms_are_late() {
        if (!writer_) return;  // archiving waits only for the disk
        if (!writer_->blocked().empty()) unblocked_at_ = now_.steady;
        const auto sent = run_.unconfirmed_since();
        if (!sent || now_.steady - std::max(*sent, unblocked_at_) < amqp::look_into_confirms_after) return;
        const SteadyTime since = writer_->waits_since(*sent, now_.steady);
        if (now_.steady - std::max(since, unblocked_at_) < amqp::confirm_timeout) return;
        why_ = "the broker has not confirmed " + std::to_string(run_.in_flight()) + " messages for " +
               core::format_duration(amqp::confirm_timeout);
        run_.give_up_unconfirmed();
    }

    /// Serves all connections except the reader's.
    void serve_others() {
        turn_writer();
        turn_tap();
        serve_broker_connection();
    }

    /// The command's main connection is idle during the run, but its heartbeats have to be served.
    void serve_broker_connection() {
        now_ = system::now();
        if (now_.steady < broker_due_) return;
        runner_.broker_.wait(Milliseconds{1});
        if (runner_.taker_ != nullptr) runner_.taker_->serve();
        broker_due_ = now_.steady + serve_broker_every;
    }

    void wait_for_late_failures() {
        if (runner_.tap_ == nullptr || run_.counts().done == 0) return;
        const SteadyTime until = system::now().steady + late_failures_within;
        while (system::now().steady < until && !runner_.stop_.pending()) {
            reader_.turn(*this, messages_per_turn);
            turn_writer();
            turn_tap();
            wait();
        }
    }

    /// Before the consumer can be cancelled, everything on its way to it has to have arrived, including what was given
    /// back before.
    void read_the_rest() {
        while (!reader_.may_leave() && reader_.ended().empty()) {
            now_ = system::now();
            go_on_when_full();
            const bool more = reader_.turn(*this, messages_per_turn);
            turn_writer();
            serve_broker_connection();
            if (!more) wait();
        }
    }

    /// Messages that are held go back in order even if another connection is lost meanwhile; whoever uses that
    /// connection next will notice.
    void leave() {
        bool lost = false;
        reader_.leave([&] {
            if (lost) return;
            try {
                serve_broker_connection();
            } catch (const amqp::Error&) {
                lost = true;
            }
        });
    }

    void wait() {
        const SteadyTime now = system::now().steady;
        Milliseconds time = longest_wait;
        if (const auto due = run_.next_tick(now)) time = std::clamp(*due - now, Milliseconds{0}, time);
        const bool full = writer_ && (writer_->wants_room() || (run_.paused() && writer_->blocked().empty()));
        const bool interrupted = run_.ended() == End::interrupted;
        std::array fds{pollfd{wants_deliveries() ? reader_.fd() : -1, POLLIN, 0},
                       pollfd{writer_ ? writer_->fd() : -1, static_cast<short>(full ? POLLIN | POLLOUT : POLLIN), 0},
                       pollfd{runner_.tap_ != nullptr ? runner_.tap_->fd() : -1, POLLIN, 0},
                       pollfd{interrupted ? -1 : runner_.stop_.fd, POLLIN, 0}};
        poll(fds.data(), fds.size(), static_cast<int>(time.count()));
    }

    void on_delivery(const core::Delivery& delivery) override { run_.on_delivery(delivery); }
    void on_unreadable_delivery(core::DeliveryTag tag) override { run_.on_unreadable_delivery(tag); }
    void on_confirm(relay::PublishSeq seq, bool multiple, bool acked) override {
        run_.on_confirm(seq, multiple, acked);
    }
    void on_returned(std::string_view exchange, std::string_view routing_key) override {
        run_.on_returned(exchange, routing_key);
    }
    relay::PublishResult publish(const core::Publication& publication) override {
        if (runner_.archive_ != nullptr) {
            runner_.archive_->add(exported_line(std::string{publication.routing_key}, publication.message));
            ++archived_;
            return relay::PublishResult::sent;
        }
        if (runner_.before_ && !std::exchange(prepared_, true)) unprepared_ = runner_.before_();
        return unprepared_.empty() ? writer_->publish(publication) : relay::PublishResult::would_block;
    }
    void ack(core::DeliveryTag tag, bool multiple) override { reader_.ack(tag, multiple); }

    const ParkedRunner& runner_;
    const Progress& progress_;
    amqp::QueueReader reader_;
    std::optional<amqp::QueueWriter> writer_;
    StallDetector stall_;
    admin::ParkedRun run_;
    core::Now now_ = system::now();
    SteadyTime begun_ = now_.steady;
    SteadyTime broker_due_{};
    SteadyTime unblocked_at_{};
    std::optional<SteadyTime> interrupted_at_;
    relay::PublishSeq archived_ = 0;
    relay::PublishSeq settled_ = 0;
    bool prepared_ = false;
    std::string unprepared_;
    std::string why_;
};

ParkedRunResult ParkedRunner::run(const std::string& queue, std::size_t ready, admin::ParkedRunOrder order,
                                  const Progress& progress) const {
    std::unique_ptr<Run> run;
    std::string fault;
    try {
        run = std::make_unique<Run>(*this, queue, ready, std::move(order), progress);
        run->run();
    } catch (const amqp::Error& error) {
        fault = std::string{error.what()} + "; " + amqp::remedy(error.kind());
    }
    ParkedRunResult result = run ? run->result() : ParkedRunResult{};
    result.fault = std::move(fault);
    return result;
}

}  // namespace retryd::commands
