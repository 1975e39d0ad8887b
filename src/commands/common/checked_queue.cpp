#include "commands/common/checked_queue.h"

#include <utility>

#include "amqp/empty_answers.h"
#include "core/time.h"

namespace retryd::commands {
namespace {

/// Queues for which a command takes its time, one like another.
constexpr int most_asked_again = 3;

bool in_hand(const CheckedQueue& counted) {
    return counted.there.counts.messages == 0 && counted.there.counts.consumers > 0;
}

/// Believes an empty queue after so many quick answers in a row.
CheckedQueue check_queue(Broker& broker, const std::string& queue, int quick_zeros, int most_times_asked) {
    int in_a_row = 0;
    for (int asked = 1;; ++asked) {
        const core::SteadyTime begun = broker.now();
        auto there = broker.carry_out(amqp::Declarer::CheckQueue{queue});
        const bool says_empty = there.result == amqp::Declarer::Result::done && there.counts == amqp::QueueCounts{};
        if (!says_empty) return {std::move(there), true};
        in_a_row = amqp::may_be_unasked(there.counts, broker.now() - begun) ? 0 : in_a_row + 1;
        const bool believed = in_a_row >= quick_zeros;
        if (believed || asked >= most_times_asked) return {std::move(there), believed};
    }
}

}  // namespace

CheckedQueue QueueCounter::count(const std::string& queue) {
    CheckedQueue counted = check_queue(broker_, queue, 1, not_asked_ < most_asked_again ? 4 : 1);
    if (!counted.believed) ++not_asked_;
    return counted;
}

CheckedQueue QueueCounter::count_once_given_back(const std::string& queue) {
    if (stayed_in_hand_ >= most_asked_again) return count(queue);
    CheckedQueue counted = commands::count_once_given_back(broker_, [&] { return count(queue); });
    if (in_hand(counted)) ++stayed_in_hand_;
    return counted;
}

CheckedQueue make_sure_of_messages(Broker& broker, const std::string& queue) {
    return check_queue(broker, queue, 2, 40);
}

CheckedQueue count_once_given_back(Broker& broker, const std::function<CheckedQueue()>& count) {
    constexpr core::Milliseconds between{50};
    constexpr int most_times = 20;
    for (int asked = 1;; ++asked) {
        CheckedQueue counted = count();
        if (!in_hand(counted) || asked >= most_times) return counted;
        broker.wait(between);
    }
}

}  // namespace retryd::commands
