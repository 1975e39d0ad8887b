#include "commands/parked/browse_queue.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "amqp/queue_io.h"
#include "core/time.h"

namespace retryd::commands {

namespace {

using Clock = std::chrono::steady_clock;
using core::Milliseconds;

}  // namespace

bool StallDetector::stalled(std::size_t delivered) {
    constexpr Milliseconds a_while{500};
    constexpr int most_times_asked = 20;
    const auto now = Clock::now();
    if (delivered != delivered_) {
        delivered_ = delivered;
        since_ = now;
        times_asked_ = 0;
    }
    if (now - since_ < a_while) return false;
    since_ = now;
    const auto answer = broker_.carry_out(amqp::Declarer::CheckQueue{queue_});
    if (answer.result != amqp::Declarer::Result::done) return true;
    // None are ready either when all are on their way to us, which may take a busy broker a while.
    if (++times_asked_ < most_times_asked) return false;
    if (answer.counts.messages == 0) return true;
    reason_ = std::to_string(answer.counts.messages) +
              " messages are there that the broker does not give to us: another consumer may be the queue's single "
              "active one, or the queue is waiting for its nodes";
    return true;
}

namespace {

class QueueBrowser : private amqp::DeliverySink {
  public:
    QueueBrowser(const config::Settings& settings, Broker& broker, const std::string& queue, std::size_t count,
                 const system::Signals& signals, const Visitor& visit, amqp::Undeliverable* held)
        : reader_(endpoint_of(settings, broker.identity()), settings.broker, "retryd parked look"),
          stall_(broker, queue),
          broker_(broker),
          count_(count),
          signals_(signals),
          visit_(visit),
          held_(held) {}

    /// `ready`: how many messages lie there.
    BrowseResult browse(const std::string& queue, std::size_t ready) {
        reader_.begin(queue, ready);
        while (!ended())
            turn();
        // Before the reader may leave, all that is on its way to it has to be here.
        while (!reader_.all_here() && reader_.ended().empty()) {
            serve_broker_connection();
            if (!take_deliveries()) wait_for(pollfd{reader_.fd(), POLLIN, 0}, Milliseconds{50});
        }
        reader_.leave();
        // What is met behind the last one that was wanted is in the way of whoever comes next.
        result_.met_undeliverable = reader_.met_undeliverable();
        if (result_.met_undeliverable) result_.ended = reader_.ended();
        return result_;
    }

  private:
    bool seen_enough() const { return enough_ || result_.messages >= count_; }
    bool ended() const { return seen_enough() || result_.interrupted || stalled_ || !result_.ended.empty(); }

    void turn() {
        serve_broker_connection();
        const bool more = take_deliveries();
        result_.interrupted = signals_.pending();
        result_.ended = reader_.ended();
        if (more || ended()) return;
        stalled_ = stall_.stalled(result_.messages);
        if (stalled_) {
            result_.ended = stall_.reason();
        } else {
            wait_for(pollfd{reader_.fd(), POLLIN, 0}, Milliseconds{100}, pollfd{signals_.fd(), POLLIN, 0});
        }
    }

    bool take_deliveries() {
        const std::size_t left = std::max<std::size_t>(1, count_ - result_.messages);
        return reader_.turn(*this, std::min(messages_per_turn, left));
    }

    /// The command's main connection is idle meanwhile; its heartbeats have to be served.
    void serve_broker_connection() {
        constexpr Milliseconds every{1'000};
        const auto now = Clock::now();
        if (now < broker_due_) return;
        broker_due_ = now + every;
        broker_.wait(Milliseconds{1});
        if (held_ != nullptr) held_->serve();
    }

    static void wait_for(pollfd one, Milliseconds longest, pollfd other = {-1, POLLIN, 0}) {
        std::array fds{one, other};
        poll(fds.data(), fds.size(), static_cast<int>(longest.count()));
    }

    void on_delivery(const core::Delivery& delivery) override { see(&delivery); }
    void on_unreadable_delivery(core::DeliveryTag) override { see(nullptr); }
    void see(const core::Delivery* delivery) {
        if (seen_enough()) return;
        ++result_.messages;
        enough_ = !visit_(delivery);
    }

    amqp::QueueReader reader_;
    StallDetector stall_;
    Broker& broker_;
    std::size_t count_;
    const system::Signals& signals_;
    const Visitor& visit_;
    amqp::Undeliverable* held_;
    Clock::time_point broker_due_{};
    BrowseResult result_;
    bool enough_ = false;
    bool stalled_ = false;
};

}  // namespace

BrowseResult browse_queue(const config::Settings& settings, Broker& broker, const std::string& queue, std::size_t count,
                          const system::Signals& signals, const Visitor& visit, amqp::Undeliverable* held) {
    const std::size_t most = std::min(count, amqp::QueueReader::most_held);
    if (most == 0) return {};
    return QueueBrowser(settings, broker, queue, most, signals, visit, held).browse(queue, count);
}

}  // namespace retryd::commands
