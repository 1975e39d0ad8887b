#include "telemetry/failing_queues.h"

#include <algorithm>
#include <cstddef>

namespace retryd::telemetry {

namespace {

constexpr core::Milliseconds a_minute{60'000};
/// Names come from headers and may be forged.
constexpr std::size_t most_queues = 1'000;
/// What was usual an hour ago counts a third of what is so now.
constexpr double of_this_minute = 1.0 / 60.0;
/// What has not died for hours is forgotten.
constexpr double forgotten = 0.01;

}  // namespace

void FailingQueues::died(std::string_view work_queue) {
    const auto known = queues_.find(work_queue);
    if (known != queues_.end()) {
        ++known->second.messages;
    } else if (queues_.size() < most_queues) {
        queues_.emplace(work_queue, Queue{1, 0.0, false});
    }
}

std::vector<FailingQueues::Change> FailingQueues::due(core::SteadyTime now) {
    std::vector<Change> changes;
    if (due_ == core::SteadyTime{}) due_ = now + a_minute;
    if (now < due_) return changes;
    due_ = now + a_minute;
    for (auto& [name, queue] : queues_) {
        const auto messages = static_cast<double>(queue.messages);
        const bool many = queue.messages >= worth_telling && messages >= times_usual * queue.usual;
        const bool few = 2 * queue.messages < worth_telling || messages < times_usual / 2 * queue.usual;
        if (queue.fails ? few : many) {
            queue.fails = !queue.fails;
            changes.push_back({name, queue.messages, queue.usual, queue.fails});
        }
        // What fails for a day becomes usual as well: then it is no news any more.
        queue.usual += (messages - queue.usual) * (queue.fails ? of_this_minute / 24 : of_this_minute);
        queue.messages = 0;
    }
    std::erase_if(queues_, [](const auto& each) { return !each.second.fails && each.second.usual < forgotten; });
    std::sort(changes.begin(), changes.end(),
              [](const Change& left, const Change& right) { return left.work_queue < right.work_queue; });
    return changes;
}

}  // namespace retryd::telemetry
