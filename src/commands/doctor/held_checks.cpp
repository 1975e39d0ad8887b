#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "commands/common/text.h"
#include "commands/doctor/checkup.h"
#include "core/names.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

using admin::FindingCode;

/// After this time the management API's numbers, which are up to 5 s old, are new ones.
constexpr core::Milliseconds statistics_renewed{6'000};

/// Whether far more messages are redelivered than acked. Many are also redelivered at once when a consumer is lost, but
/// that is over at the second look.
bool loops(Checkup& checkup, const http::ListedQueue& queue) {
    constexpr double at_least = 20;  // redeliveries a second
    constexpr double times = 10;
    const double again = queue.redelivered_rate.value_or(0);
    return again >= at_least && again >= times * queue.acked_rate.value_or(0) && checkup.is_work_queue(queue.name);
}

std::string held_on(const http::ListedQueue& rung) {
    return counted(static_cast<std::size_t>(*rung.held), "message", "messages") + " held by the broker on rung " +
           core::quoted(rung.name);
}

void add_loop(Checkup& checkup, const http::ListedQueue& queue) {
    const auto rate = [](const std::optional<double>& number) {
        return std::to_string(static_cast<std::int64_t>(number.value_or(0)));
    };
    checkup.add(FindingCode::redelivery_loop,
                "work queue " + core::quoted(queue.name) + " delivers " + rate(queue.redelivered_rate) +
                    " messages a second again that it has delivered before, and " + rate(queue.acked_rate) +
                    " a second are acked",
                {.name = queue.name});
}

/// At the rungs that held messages at the first look, and the work queues that seemed to loop.
void look_a_second_time(Checkup& checkup, const std::vector<http::ListedQueue>& slow,
                        const std::set<std::string>& looping) {
    checkup.broker.wait(statistics_renewed);
    std::set<std::string> held_now;
    for (const http::ListedQueue& queue : checkup.management->queues()) {
        if (queue.holds_back()) held_now.insert(queue.name);
        if (looping.contains(queue.name) && loops(checkup, queue)) add_loop(checkup, queue);
    }
    for (const http::ListedQueue& queue : slow) {
        if (held_now.contains(queue.name)) checkup.add(FindingCode::slow_return, held_on(queue), {.name = queue.name});
    }
}

}  // namespace

/// If the work queue of a rung exists, its messages may just be on their way.
void check_held_and_looping(Checkup& checkup) {
    const std::vector<http::ListedQueue> queues = checkup.management->queues();
    std::set<std::string> names;
    for (const http::ListedQueue& queue : queues)
        names.insert(queue.name);
    std::vector<http::ListedQueue> slow;
    std::set<std::string> looping;
    for (const http::ListedQueue& queue : queues) {
        if (loops(checkup, queue)) looping.insert(queue.name);
        const auto rung = core::parse_rung(queue.name, queue.arguments);
        if (!rung || queue.held.value_or(0) == 0) continue;
        if (rung->return_path == core::ReturnPath::headers || names.count(rung->serves) > 0) {
            if (queue.holds_back()) slow.push_back(queue);
        } else {
            checkup.add(FindingCode::held_by_broker,
                        held_on(queue) + ": work queue " + core::quoted(rung->serves) + " does not exist",
                        {.name = queue.name, .group = rung->serves});
        }
    }
    if (!slow.empty() || !looping.empty()) look_a_second_time(checkup, slow, looping);
}

}  // namespace retryd::commands
