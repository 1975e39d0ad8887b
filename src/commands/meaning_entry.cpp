#include "commands/meaning_entry.h"

#include <ostream>
#include <vector>

#include "commands/climb.h"
#include "commands/counted.h"
#include "commands/table.h"
#include "core/duration.h"
#include "core/names.h"

namespace retryd::commands {
namespace {

const char* words(core::Action action) {
    switch (action) {
        case core::Action::retry:
            return "is retried";
        case core::Action::drop:
            return "is dropped";
        case core::Action::park:
            break;
    }
    return "is parked";
}

/// Nothing where the action is the default.
void add_action(std::string& to, const std::string& what, core::Action action, core::Action fallback) {
    if (action == fallback) return;
    to.append(to.empty() ? "" : "; ").append("what ").append(what).append(" ").append(words(action));
}

std::string different_actions(const core::OnDeath& on) {
    const core::OnDeath fallback;
    std::string text;
    add_action(text, "was rejected", on.rejected, fallback.rejected);
    add_action(text, "reached its delivery limit", on.delivery_limit, fallback.delivery_limit);
    add_action(text, "expired", on.expired, fallback.expired);
    add_action(text, "was too much for its queue", on.maxlen, fallback.maxlen);
    return text;
}

/// What the table does not say, a line each.
std::vector<std::string> remarks(const core::Entry& entry) {
    std::vector<std::string> lines;
    if (entry.ladder.return_path == core::ReturnPath::headers) {
        lines.push_back("comes home through the exchange " + std::string{core::return_exchange_name} +
                        ", with the producer's routing key");
    }
    if (std::string actions = different_actions(entry.on); !actions.empty()) lines.push_back(std::move(actions));
    if (entry.max_age) {
        lines.push_back("parked at once when its first failure is more than " + core::format_duration(*entry.max_age) +
                        " ago");
    }
    return lines;
}

std::string parked_in(const core::Entry& entry) {
    const core::Parking& parking = entry.parked;
    if (parking.exchange.empty()) return parking_queue(entry);
    return "exchange " + parking.exchange + ", " +
           (parking.routing_key ? "routing key \"" + *parking.routing_key + "\"" : "the producer's routing key");
}

std::string range(core::Milliseconds least, core::Milliseconds most) {
    const std::string longest = core::format_duration(most);
    return least == most ? longest : core::format_duration(least) + " … " + longest;
}

/// A row for each lane; the first says it all.
void add_climb(Rows& rows, const Climb& climb) {
    const std::string last = climb.last == climb.first ? "" : "-" + std::to_string(climb.last);
    std::string waits = range(climb.lanes.front().delay, climb.delay);
    if (climb.lanes.size() > 1) waits.append(" in ").append(std::to_string(climb.lanes.size())).append(" lanes");
    rows.push_back({std::to_string(climb.first) + last, waits, climb.lanes.front().queue});
    for (std::size_t lane = 1; lane < climb.lanes.size(); ++lane)
        rows.push_back({"", "", climb.lanes[lane].queue});
}

}  // namespace

void print_entry(const core::Entry& entry, const std::string& heading, std::ostream& out) {
    const core::Ladder& ladder = entry.ladder;
    const std::size_t retries = ladder.steps.size();
    const bool shared = ladder.return_path == core::ReturnPath::headers;
    out << "\n  " << heading << "  ladder " << ladder.name << ": " << counted(retries, "retry", "retries") << " on "
        << (shared ? "shared " : "") << core::to_string(ladder.queue_type) << " queues, "
        << range(least_wait(ladder), total_wait(ladder)) << " of waiting in all\n";
    for (const std::string& line : remarks(entry))
        out << "    " << line << '\n';
    Rows rows{{"failure", "waits", "in"}};
    for (const Climb& climb : climbs(entry))
        add_climb(rows, climb);
    rows.push_back({std::to_string(retries + 1), "parked", parked_in(entry)});
    print_table(rows, "    ", out);
}

}  // namespace retryd::commands
