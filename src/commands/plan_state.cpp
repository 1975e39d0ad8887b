#include "commands/plan_state.h"

#include <algorithm>

#include "commands/exit_code.h"

namespace retryd::commands {
namespace {

bool was_refused(const Plan& plan, const Summary& summary) {
    return summary.refused > 0 || !plan.management_fault.empty();
}

}  // namespace

std::string_view to_string(State state) {
    switch (state) {
        case State::in_place:
            return "in place";
        case State::missing:
            return "missing";
        case State::different:
            return "different";
        case State::not_compared:
            return "not compared";
        case State::refused:
            return "refused";
        case State::unknown:
            break;
    }
    return "unknown";
}

Summary summary_of(const Plan& plan) {
    Summary summary;
    const auto count = [&](State state) {
        return static_cast<std::size_t>(std::count_if(plan.findings.begin(), plan.findings.end(),
                                                      [&](const Finding& finding) { return finding.state == state; }));
    };
    summary.in_place = count(State::in_place);
    summary.missing = count(State::missing);
    summary.different = count(State::different);
    summary.not_compared = count(State::not_compared);
    summary.refused = count(State::refused);
    summary.unknown = count(State::unknown);
    summary.left_over = plan.left_over.size();
    return summary;
}

int plan_exit_code(const Plan& plan) {
    const Summary summary = summary_of(plan);
    if (was_refused(plan, summary)) return exit_code::failed;
    const bool work = summary.missing + summary.different + summary.left_over > 0;
    return work ? exit_code::something_to_do : exit_code::fine;
}

int apply_exit_code(const Plan& plan, bool refused) {
    const Summary summary = summary_of(plan);
    if (refused || was_refused(plan, summary)) return exit_code::failed;
    return summary.missing > 0 ? exit_code::something_to_do : exit_code::fine;
}

std::vector<LeftOver> left_over_among(const std::vector<http::ListedQueue>& queues, const core::Policy& policy) {
    std::vector<LeftOver> found;
    for (const http::ListedQueue& queue : queues) {
        const auto rung = core::made_rung(queue.name, queue.arguments);
        if (rung && !core::is_in_use(policy, *rung)) found.push_back({queue.name, queue.type, *rung, queue.messages});
    }
    std::sort(found.begin(), found.end(), [](const auto& left, const auto& right) { return left.queue < right.queue; });
    return found;
}

}  // namespace retryd::commands
