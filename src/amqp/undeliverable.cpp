#include "amqp/undeliverable.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "amqp/timeouts.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::amqp {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* window_tag = "retryd parked window";
constexpr std::size_t most_in_window = 65'535;
constexpr std::size_t first_window = 64;
/// Each is a connection that the broker ends, and writes to its log. One message among thousands takes about ten.
constexpr std::size_t most_ended = 1'000;
constexpr std::size_t most_ended_for_each = 20;
/// For the broker to take back what a connection held that has ended, and to hand over what is there.
constexpr core::Milliseconds settles_within{10'000};
constexpr core::Milliseconds between_counts{5};
constexpr std::size_t own_consumers = 1;  // by AMQP 1.0

}  // namespace

/// A consumer that takes so many messages and keeps them, until it goes.
class UndeliverableTaker::Window : private Events {
  public:
    Window(const config::Endpoint& endpoint, const config::Broker& settings, const std::string& queue, std::size_t size)
        : connection_(Connection::open(endpoint, settings, "retryd parked window")), size_(size) {
        connection_->receive_large_headers();
        connection_->open_channel(only_channel);
        connection_->qos(only_channel, static_cast<std::uint16_t>(size));
        connection_->consume(only_channel, queue, window_tag);
    }

    /// False: the broker has ended the connection over one of them.
    bool fill() {
        auto deadline = Clock::now() + settles_within;
        while (delivered_ < size_ && Clock::now() < deadline) {
            const std::size_t before = delivered_;
            try {
                connection_->drain(*this, size_ - delivered_);
            } catch (const Error&) {
                if (connection_->ended_by_message()) return false;
                throw;
            }
            if (delivered_ > before) {
                deadline = Clock::now() + settles_within;
            } else {
                wait(longest_poll);
            }
        }
        return true;
    }

    std::size_t delivered() const { return delivered_; }
    void serve() { connection_->drain(*this, 1); }
    void leave() { connection_->close(close_timeout); }

  private:
    void on_delivery(const core::Delivery&) override { ++delivered_; }
    void on_unreadable_delivery(core::DeliveryTag) override { ++delivered_; }
    void on_channel_closed(const ChannelClosed& closed) override {
        throw Error(Error::Kind::refused, "the broker closed the channel: " + core::safe_name(closed.text));
    }
    void wait(core::Milliseconds time) const {
        pollfd readable{connection_->fd(), POLLIN, 0};
        poll(&readable, 1, static_cast<int>(time.count()));
    }

    std::unique_ptr<Connection> connection_;
    std::size_t size_;
    std::size_t delivered_ = 0;
};

UndeliverableTaker::UndeliverableTaker(const config::Endpoint& endpoint, const config::Broker& settings,
                                       const core::BrokerVersion& version, std::string queue)
    : endpoint_(endpoint),
      settings_(settings),
      queue_(std::move(queue)),
      receiver_(endpoint, settings, version, queue_) {}

UndeliverableTaker::~UndeliverableTaker() = default;

void UndeliverableTaker::take_out(const Count& count, const std::function<bool()>& go_on) {
    Windows windows;
    ended_ = 0;
    found_ = 0;
    // The reader that met the message has just gone; and a busy broker counts none, not even ours (may_be_unasked).
    const auto deadline = Clock::now() + settles_within;
    while ((consumers_ = count().consumers) != own_consumers && Clock::now() < deadline) {
        if (!go_on()) throw Error(Error::Kind::refused, "interrupted");
        receiver_.serve();
        std::this_thread::sleep_for(between_counts);
    }
    if (consumers_ == 0) throw Error(Error::Kind::refused, "the broker is too busy to count the queue's consumers");
    if (consumers_ > own_consumers) {
        throw Error(Error::Kind::refused,
                    "another consumer takes from the queue, too, so that nobody can tell which message it is");
    }
    take_all_out(count, go_on, windows);
    try_again(count, windows);
    // One after the other, for they go back in that order.
    while (!windows.empty()) {
        windows.front()->leave();
        windows.erase(windows.begin());
        ready(count, windows);
    }
}

/// How many messages can be had, once the broker has taken back what ended connections held: that happens together with
/// the end of their consumers.
std::size_t UndeliverableTaker::ready(const Count& count, const Windows& windows) {
    const auto deadline = Clock::now() + settles_within;
    while (Clock::now() < deadline) {
        for (const auto& window : windows)
            window->serve();
        receiver_.serve();
        const QueueCounts counts = count();
        if (counts.consumers == consumers_ + windows.size()) return counts.messages;
        std::this_thread::sleep_for(between_counts);
    }
    throw Error(Error::Kind::refused, "other consumers come and go meanwhile");
}

void UndeliverableTaker::take_all_out(const Count& count, const std::function<bool()>& go_on, Windows& windows) {
    std::size_t size = first_window;
    while (const std::size_t left = ready(count, windows)) {
        if (!go_on()) throw Error(Error::Kind::refused, "interrupted");
        size = std::min({size, left, most_in_window});
        auto window = std::make_unique<Window>(endpoint_, settings_, queue_, size);
        if (window->fill()) {
            if (window->delivered() == 0) throw Error(Error::Kind::refused, "the broker does not hand over anything");
            windows.push_back(std::move(window));
            size *= 2;
            continue;
        }
        require_an_end();
        if (size == 1) {
            ready(count, windows);
            take_head();
        } else {
            size = std::max<std::size_t>(1, std::min(window->delivered() > 0 ? window->delivered() : size, size / 2));
        }
    }
}

/// Those that can be handed over were taken in the place of others. What is gone has reached its delivery limit, and
/// what came meanwhile is at the head then.
void UndeliverableTaker::try_again(const Count& count, Windows& windows) {
    const auto suspects = std::exchange(taken_, {});
    for (const amqp10::Taken& suspect : suspects) {
        receiver_.release(suspect);
        if (!any_comes(count, windows)) continue;
        auto window = std::make_unique<Window>(endpoint_, settings_, queue_, 1);
        if (window->fill()) {
            windows.push_back(std::move(window));
            continue;
        }
        require_an_end();
        if (ready(count, windows) == 0) continue;
        take_head();
        if (taken_.back().digest != suspect.digest)
            throw Error(Error::Kind::refused,
                        "another message came meanwhile, or a delivery limit took one away; try again");
    }
}

bool UndeliverableTaker::any_comes(const Count& count, const Windows& windows) {
    const auto deadline = Clock::now() + settles_within;
    while (ready(count, windows) == 0) {
        if (Clock::now() > deadline) return false;
        std::this_thread::sleep_for(between_counts);
    }
    return true;
}

void UndeliverableTaker::take_head() {
    const auto taken = receiver_.take(settles_within);
    if (!taken) throw Error(Error::Kind::refused, "the broker does not hand it over by AMQP 1.0 either");
    taken_.push_back(*taken);
    ++found_;
}

void UndeliverableTaker::require_an_end() {
    if (++ended_ < most_ended + most_ended_for_each * found_) return;
    throw Error(Error::Kind::refused, std::to_string(ended_) + " connections were not enough to find such messages: " +
                                          std::to_string(found_) + " were found");
}

void UndeliverableTaker::drop() {
    if (!taken_.empty()) {
        receiver_.drop(taken_.front(), taken_.back());
        taken_.clear();
        std::this_thread::sleep_for(ack_linger);  // as acks need it
    }
    receiver_.finish();
}

}  // namespace retryd::amqp
