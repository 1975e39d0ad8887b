// Messages of a work queue that must not be late.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/client.h"

namespace retryd::test {

/// A work queue with a consumer that rejects each message once: one every 100 ms, whether or not earlier ones are back.
class SteadyNeighbour {
  public:
    SteadyNeighbour(Address address, std::string queue, milliseconds delay)
        : address_(std::move(address)), queue_(std::move(queue)), delay_(delay), thread_([this] { run(); }) {}
    ~SteadyNeighbour() {
        over_ = true;
        thread_.join();
    }
    SteadyNeighbour(const SteadyNeighbour&) = delete;
    SteadyNeighbour& operator=(const SteadyNeighbour&) = delete;

    /// Whether all that were rejected between these times are back by now.
    bool all_back(Clock::time_point begin, Clock::time_point end) {
        const std::lock_guard lock(mutex_);
        return std::all_of(messages_.begin(), messages_.end(), [&](const auto& message) {
            const Times& times = message.second;
            return times.back || times.rejected < begin || times.rejected >= end;
        });
    }
    /// The lateness, over the delay, of all that were rejected between these times; those that are not back have not
    /// been waited for.
    std::vector<milliseconds> between(Clock::time_point begin, Clock::time_point end) {
        await([&] { return all_back(begin, end); }, seconds(400));
        const std::lock_guard lock(mutex_);
        std::vector<milliseconds> late;
        for (const auto& [body, times] : messages_) {
            if (times.rejected < begin || times.rejected >= end) continue;
            late.push_back(times.back ? std::chrono::duration_cast<milliseconds>(*times.back - times.rejected) - delay_
                                      : milliseconds(999'999));
        }
        std::sort(late.begin(), late.end());
        return late;
    }
    /// Sends no more; whether all that was sent is back by the end of test::await.
    bool finish() {
        return await([&] {
            const std::lock_guard lock(mutex_);
            no_more_ = true;
            return messages_.size() == sent_ &&
                   std::all_of(messages_.begin(), messages_.end(),
                               [](const auto& message) { return message.second.back.has_value(); });
        });
    }
    /// Deliveries beyond the first return of a message.
    int second_copies() const { return second_copies_; }
    /// How often the one came back that did most often.
    int most_returns() {
        const std::lock_guard lock(mutex_);
        int most = 0;
        for (const auto& [body, times] : messages_)
            most = std::max(most, times.returns);
        return most;
    }

  private:
    struct Times {
        Clock::time_point rejected;
        std::optional<Clock::time_point> back;
        int returns = 0;
    };

    void run() {
        Client client(address_);
        client.consume(queue_, 1000);
        Clock::time_point due = Clock::now();
        while (!over_) {
            if (Clock::now() >= due) {
                send(client);
                due += milliseconds(100);
            }
            const auto until_due = std::chrono::ceil<milliseconds>(due - Clock::now());
            const auto message = client.next(std::max(until_due, milliseconds(0)));
            if (message) handle(client, *message);
        }
    }
    void send(Client& client) {
        const std::lock_guard lock(mutex_);
        if (no_more_) return;
        client.send("", queue_, {.body = std::to_string(sent_++), .properties = {.delivery_mode = 2}});
    }
    void handle(Client& client, const Received& message) {
        const std::lock_guard lock(mutex_);
        if (long_header(message, "retryd-attempt") < 1) {
            messages_[message.body].rejected = Clock::now();
            return client.reject(message.tag, false);
        }
        Times& times = messages_[message.body];
        ++times.returns;
        if (times.back) ++second_copies_;
        if (!times.back) times.back = Clock::now();
        client.ack(message.tag);
    }

    Address address_;
    std::string queue_;
    milliseconds delay_;
    std::mutex mutex_;
    std::map<std::string, Times> messages_;
    std::size_t sent_ = 0;
    bool no_more_ = false;
    std::atomic<int> second_copies_{0};
    std::atomic<bool> over_{false};
    std::thread thread_;
};

}  // namespace retryd::test
