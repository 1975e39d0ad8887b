#include "stress/report.h"

#include <iostream>

namespace retryd::stress {
namespace {

/// Names of ours, which need no escapes.
template <typename Number>
std::string object(const std::map<std::string, Number>& numbers) {
    std::string text = "{";
    for (const auto& [name, number] : numbers)
        text += (text.size() > 1 ? ", \"" : "\"") + name + "\": " + std::to_string(number);
    return text + "}";
}

void tell(const std::vector<std::string>& lines) {
    constexpr std::size_t most = 30;
    for (std::size_t i = 0; i < lines.size() && i < most; ++i)
        std::cerr << "stress: " << lines[i] << "\n";
    if (lines.size() > most) std::cerr << "stress: and " << lines.size() - most << " more\n";
}

}  // namespace

bool print(const Options& options, const std::string& broker, const Outcome& outcome) {
    const Summary& book = outcome.book;
    tell(outcome.troubles);
    tell(book.lost_ones);
    tell(book.wrong);
    for (const std::string& queue : outcome.held_by_broker)
        std::cerr << "stress: held by the broker, in " << queue << "\n";
    if (outcome.growth) {
        std::cerr << "stress: at first " << to_string(outcome.growth->begin) << "\nstress: at last  "
                  << to_string(outcome.growth->end) << "\n";
    }
    std::cout << "{\"seed\": " << options.seed << ", \"broker\": \"" << broker
              << "\",\n \"messages\": " << book.messages << ", \"done\": " << book.done
              << ", \"parked_copies\": " << object(book.parked) << ",\n \"lost\": " << book.lost
              << ", \"lost_of\": " << object(book.lost_of) << ", \"dropped_by_broker\": " << outcome.dropped_by_broker
              << ", \"left\": " << book.left << ", \"wrong\": " << book.wrong.size()
              << ", \"duplicates\": " << book.duplicates << ", \"resent_by_the_producer\": " << book.resent
              << ",\n \"faults\": " << object(outcome.faults) << ",\n \"faults_not_possible\": " << outcome.skipped
              << ", \"unexpected_ends_of_retryd\": " << outcome.troubles.size()
              << ", \"at_rest\": " << (outcome.at_rest ? "true" : "false")
              << ", \"seconds\": " << outcome.took.count() / 1000 << "}" << std::endl;
    return book.lost == 0 && book.left == 0 && book.wrong.empty() && outcome.troubles.empty() && outcome.at_rest &&
           (!outcome.growth || outcome.growth->none());
}

}  // namespace retryd::stress
