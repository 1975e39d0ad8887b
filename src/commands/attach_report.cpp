#include "commands/attach_report.h"

#include <algorithm>

#include "commands/exit_code.h"

namespace retryd::commands {

AttachSummary summary_of(const AttachReport& report) {
    using Attached = core::Standing::State;
    const auto count = [&](Attached state) {
        return static_cast<std::size_t>(
            std::count_if(report.found.queues.begin(), report.found.queues.end(),
                          [&](const core::Standing& standing) { return standing.state == state; }));
    };
    return {count(Attached::attached), count(Attached::to_attach), count(Attached::out_of_reach),
            count(Attached::not_there)};
}

int attach_exit_code(const AttachReport& report) {
    if (!report.fault.empty()) return exit_code::failed;
    if (!report.applied) return exit_code::fine;
    const bool refused = std::any_of(report.refusals.begin(), report.refusals.end(),
                                     [](const std::string& refusal) { return !refusal.empty(); });
    if (refused) return exit_code::failed;
    return report.left.empty() ? exit_code::fine : exit_code::something_to_do;
}

}  // namespace retryd::commands
