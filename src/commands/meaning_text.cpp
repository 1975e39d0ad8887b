#include "commands/meaning_text.h"

#include <algorithm>
#include <ostream>

#include "commands/climb.h"
#include "commands/table.h"
#include "config/size.h"
#include "core/duration.h"
#include "core/names.h"

namespace retryd::commands {
namespace {

class Heading {
  public:
    explicit Heading(bool colour) : on_(colour ? "\x1b[1m" : ""), off_(colour ? "\x1b[0m" : "") {}
    std::string operator()(const std::string& text) const { return on_ + text + off_; }

  private:
    std::string on_;
    std::string off_;
};

std::string counted(std::size_t number, const std::string& singular, const std::string& plural) {
    return std::to_string(number) + " " + (number == 1 ? singular : plural);
}

std::string address(const config::Endpoint& endpoint) {
    const bool ipv6 = endpoint.host.find(':') != std::string::npos;
    return (endpoint.tls ? "amqps://" : "amqp://") + (ipv6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
           std::to_string(endpoint.port);
}

std::string verification(const config::Tls& tls) {
    if (!tls.verify_peer) return "certificate NOT verified";
    const std::string authorities = tls.ca_file.empty() ? "the system's authorities" : tls.ca_file;
    return "certificate verified against " + authorities + (tls.verify_hostname ? "" : ", host name NOT verified");
}

void print_brokers(const config::Broker& broker, const Heading& heading, std::ostream& out) {
    out << heading(broker.endpoints.size() == 1 ? "Broker" : "Brokers, tried in turn") << '\n';
    Rows rows;
    for (const config::Endpoint& endpoint : broker.endpoints) {
        std::vector<std::string> row{address(endpoint), "vhost " + endpoint.vhost, "user " + endpoint.username};
        if (endpoint.tls) row.push_back(verification(broker.tls));
        rows.push_back(row);
    }
    print_table(rows, "  ", out);
}

void print_errors(const config::Settings& settings, const Heading& heading, std::ostream& out) {
    const core::Policy& policy = settings.policy;
    out << '\n' << heading("Failures arrive through") << '\n';
    print_table({{"exchange", policy.error_exchange, "fanout"},
                 {"queue", policy.error_queue,
                  std::string{core::to_string(policy.error_queue_type)} + ", at most " +
                      counted(settings.prefetch.messages, "message", "messages") + " or " +
                      config::format_size(settings.prefetch.body_bytes) + " in hand"}},
                "  ", out);
}

void print_entry(const core::Entry& entry, const Heading& heading, std::ostream& out) {
    const core::Ladder& ladder = entry.ladder;
    const std::size_t retries = ladder.steps.size();
    out << "\n  " << heading(entry.match) << "  ladder " << ladder.name << ": " << counted(retries, "retry", "retries")
        << " on " << core::to_string(ladder.queue_type) << " queues, " << core::format_duration(total_wait(ladder))
        << " of waiting in all\n";
    Rows rows{{"failure", "waits", "in"}};
    for (const Climb& climb : climbs(entry)) {
        const std::string last = climb.last == climb.first ? "" : "-" + std::to_string(climb.last);
        rows.push_back({std::to_string(climb.first) + last, core::format_duration(climb.delay), climb.queue});
    }
    rows.push_back({std::to_string(retries + 1), "parked", parked(entry)});
    print_table(rows, "    ", out);
}

}  // namespace

void print_meaning(const config::Settings& settings, const std::string& file, bool colour, std::ostream& out) {
    const Heading heading{colour};
    const auto& entries = settings.policy.entries;
    out << file << " is fine: " << counted(entries.size(), "queue entry", "queue entries") << ".\n\n";
    print_brokers(settings.broker, heading, out);
    print_errors(settings, heading, out);
    out << '\n'
        << heading("Work queues, the first entry that matches wins") << '\n'
        << "  What was rejected, or reached its delivery limit, is retried; what expired, or was too much for its "
           "queue,\n"
        << "  is parked at once.\n";
    for (const core::Entry& entry : entries)
        print_entry(entry, heading, out);
    const bool all_match = std::any_of(entries.begin(), entries.end(), [](const core::Entry& entry) {
        return entry.match.find_first_not_of('*') == std::string::npos;
    });
    out << '\n' << heading("Everything else") << '\n';
    out << "  "
        << (all_match ? "Messages without a readable death are"
                      : "Messages of other queues, and those without a readable death, are")
        << " parked in " << settings.policy.catch_all << ".\n";
}

}  // namespace retryd::commands
