#include "stress/report.h"

#include <iostream>

namespace retryd::stress {
namespace {

/// As JSON; the names need no escapes.
template <typename Number>
std::string object(const std::map<std::string, Number>& numbers) {
    std::string text = "{";
    for (const auto& [name, number] : numbers)
        text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(number);
    return text + "}";
}

void print_lines(const std::vector<std::string>& lines) {
    constexpr std::size_t most = 30;
    for (std::size_t i = 0; i < lines.size() && i < most; ++i)
        std::cerr << "stress: " << lines[i] << "\n";
    if (lines.size() > most) std::cerr << "stress: and " << lines.size() - most << " more\n";
}

}  // namespace

bool print(const Options& options, const std::string& broker, const Outcome& outcome) {
    const Summary& summary = outcome.summary;
    print_lines(outcome.retryd_failures);
    print_lines(summary.lost_ones);
    print_lines(summary.wrong);
    for (const std::string& queue : outcome.held_by_broker)
        std::cerr << "stress: held by the broker, in " << queue << "\n";
    if (outcome.growth) {
        std::cerr << "stress: at first " << to_string(outcome.growth->begin) << "\nstress: at last  "
                  << to_string(outcome.growth->end) << "\n";
    }
    std::cout << "{\"seed\": " << options.seed << ", \"broker\": \"" << broker
              << "\",\n \"messages\": " << summary.messages << ", \"done\": " << summary.done
              << ", \"parked_copies\": " << object(summary.parked) << ",\n \"lost\": " << summary.lost
              << ", \"lost_of\": " << object(summary.lost_of)
              << ", \"dropped_by_broker\": " << outcome.dropped_by_broker << ", \"left\": " << summary.left
              << ", \"wrong\": " << summary.wrong.size() << ", \"duplicates\": " << summary.duplicates
              << ", \"resent_by_the_producer\": " << summary.resent << ",\n \"faults\": " << object(outcome.faults)
              << ",\n \"faults_not_possible\": " << outcome.skipped
              << ", \"unexpected_ends_of_retryd\": " << outcome.retryd_failures.size()
              << ", \"at_rest\": " << (outcome.at_rest ? "true" : "false")
              << ", \"seconds\": " << outcome.took.count() / 1000 << "}" << std::endl;
    return summary.lost == 0 && summary.left == 0 && summary.wrong.empty() && outcome.retryd_failures.empty() &&
           outcome.at_rest && (!outcome.growth || outcome.growth->none());
}

}  // namespace retryd::stress
