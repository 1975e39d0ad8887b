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
    constexpr int most_times_once_given = 120;  // a busy broker may take a minute to read what it hands over
    const core::SteadyTime now = broker_.now();
    if (delivered != delivered_) {
        delivered_ = delivered;
        since_ = now;
        times_asked_ = 0;
    }
    if (now - since_ < a_while) return false;
    const auto answer = broker_.carry_out(amqp::Declarer::CheckQueue{queue_});
    since_ = broker_.now();
    // The broker reports a queue that does not answer in time as empty (amqp::may_be_unasked): only a quick 0 counts.
    // Here also of one that names our consumer: a broker that is so slow may still be giving us messages.
    const bool quick = since_ - now < Milliseconds{100};
    if (answer.result != amqp::Declarer::Result::done) return true;
    // Nothing is ready either if all messages are on their way to us, which may take a busy broker a while.
    if (++times_asked_ < most_times_asked) return false;
    if (answer.counts.messages == 0 && quick) return true;
    // For a queue, delivering a whole prefetch is one step, during which it answers nothing else.
    const bool busy = answer.counts.messages == 0 && !quick;
    if ((busy || delivered > 0) && times_asked_ < most_times_once_given) return false;
    reason_ = answer.counts.messages == 0
                  ? "the broker is too busy to ask the queue, and gives us nothing meanwhile"
                  : std::to_string(answer.counts.messages) +
                        " messages are there that the broker does not give to us: another consumer may be the queue's "
                        "single active one, or the queue is waiting for its nodes";
    return true;
}

namespace {

class QueueBrowser : private amqp::DeliverySink {
  public:
    QueueBrowser(const config::Settings& settings, Broker& broker, const std::string& queue, std::size_t count,
                 const StopSign& stop, const Visitor& visit, const LookProgress& progress,
                 amqp::UndeliverableTaker* taker)
        : reader_(endpoint_of(settings, broker.identity()), settings.broker, "retryd parked look",
                  unacked_by_one_consumer(), amqp::QueueReader::Use::look),
          stall_(broker, queue),
          broker_(broker),
          count_(count),
          stop_(stop),
          visit_(visit),
          progress_(progress),
          taker_(taker) {}

    /// `ready`: the number of messages in the queue.
    BrowseResult browse(const std::string& queue, std::size_t ready) {
        if (!reader_.can_go_on()) count_ = std::min(count_, unacked_by_one_consumer());
        reader_.begin(queue, ready);
        while (!ended())
            turn();
        // Before the reader may leave, everything on its way to it has to have arrived, including what was given back
        // before.
        while (!reader_.may_leave() && reader_.ended().empty()) {
            serve_broker_connection();
            if (!take_deliveries(messages_per_turn)) wait_for(pollfd{reader_.fd(), POLLIN, 0}, Milliseconds{50});
            if (reader_.full() && !reader_.may_leave() && reader_.can_go_on()) reader_.go_on(true, serve_);
        }
        reader_.leave(serve_);
        // An undeliverable message behind the last wanted one is a problem for the next reader.
        result_.met_undeliverable = reader_.met_undeliverable();
        if (result_.met_undeliverable) result_.ended = reader_.ended();
        return result_;
    }

  private:
    bool seen_enough() const { return enough_ || result_.messages >= count_; }
    bool ended() const { return seen_enough() || result_.interrupted || stalled_ || !result_.ended.empty(); }

    void turn() {
        serve_broker_connection();
        const bool more = take_deliveries(std::max<std::size_t>(1, count_ - result_.messages));
        result_.interrupted = stop_.pending();
        result_.ended = reader_.ended();
        if (ended()) return;
        if (reader_.full()) {
            reader_.go_on(false, serve_);
        } else if (!more) {
            wait_for_more();
        }
    }

    void wait_for_more() {
        stalled_ = stall_.stalled(result_.messages);
        if (stalled_) {
            result_.ended = stall_.reason();
        } else {
            wait_for(pollfd{reader_.fd(), POLLIN, 0}, Milliseconds{100}, pollfd{stop_.fd, POLLIN, 0});
        }
    }

    bool take_deliveries(std::size_t most) {
        const bool more = reader_.turn(*this, std::min(messages_per_turn, most));
        progress_(std::min(reader_.delivered(), count_));
        return more;
    }

    /// The command's main connection is idle meanwhile, but its heartbeats have to be served.
    void serve_broker_connection() {
        constexpr Milliseconds every{1'000};
        const auto now = Clock::now();
        if (now < broker_due_) return;
        broker_due_ = now + every;
        broker_.wait(Milliseconds{1});
        if (taker_ != nullptr) taker_->serve();
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
    const StopSign& stop_;
    const Visitor& visit_;
    const LookProgress& progress_;
    amqp::UndeliverableTaker* taker_;
    Clock::time_point broker_due_{};
    BrowseResult result_;
    bool enough_ = false;
    bool stalled_ = false;
    const amqp::QueueReader::Meanwhile serve_ = [this] { serve_broker_connection(); };
};

}  // namespace

BrowseResult browse_one_queue(const config::Settings& settings, Broker& broker, const std::string& queue,
                              std::size_t count, const StopSign& stop, const Visitor& visit,
                              const LookProgress& progress, amqp::UndeliverableTaker* taker) {
    if (count == 0) return {};
    return QueueBrowser(settings, broker, queue, count, stop, visit, progress, taker).browse(queue, count);
}

}  // namespace retryd::commands
