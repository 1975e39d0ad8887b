#include "commands/check/check.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/finding.h"
#include "commands/check/check_json.h"
#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "config/addresses.h"
#include "config/keys.h"
#include "config/name_scalars.h"
#include "config/scalars.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

/// The entry's queue; {queue} if it is a glob.
std::string work_queue(const core::Entry& entry) {
    return core::is_glob(entry.match) ? std::string{core::queue_placeholder} : entry.match;
}

std::vector<Lane> lanes(const core::Entry& entry, core::Milliseconds step) {
    std::vector<Lane> found;
    for (const core::Milliseconds delay : core::lanes_of(step, entry.ladder.jitter)) {
        // The lanes of a very short step may have the same delay; then they are one queue.
        if (!found.empty() && found.back().delay == delay) continue;
        found.push_back({delay, core::rung_name_of(entry.ladder, work_queue(entry), delay, false)});
    }
    return found;
}

}  // namespace

std::vector<ScheduleStep> retry_schedule(const core::Entry& entry) {
    std::vector<ScheduleStep> found;
    for (const core::Milliseconds delay : entry.ladder.steps) {
        const std::size_t failure = found.empty() ? 1 : found.back().last + 1;
        if (!found.empty() && found.back().delay == delay) {
            found.back().last = failure;
        } else {
            found.push_back({failure, failure, delay, lanes(entry, delay)});
        }
    }
    return found;
}

std::string parking_queue(const core::Entry& entry) {
    return core::expand_queue(entry.parked.queue, work_queue(entry));
}

core::Milliseconds total_wait(const core::Ladder& ladder) {
    return std::accumulate(ladder.steps.begin(), ladder.steps.end(), core::Milliseconds::zero());
}

core::Milliseconds least_wait(const core::Ladder& ladder) {
    core::Milliseconds total{};
    for (const core::Milliseconds step : ladder.steps)
        total += core::lanes_of(step, ladder.jitter).front();
    return total;
}

QueueCount count_queues(const core::Policy& policy) {
    QueueCount count;
    std::set<std::string> known{policy.error_queue, policy.catch_all};
    for (const core::Milliseconds delay : core::detour_delays)
        known.insert(core::detour_name(delay));
    for (const core::Entry& entry : policy.entries) {
        const bool glob = core::is_glob(entry.match);
        const bool shared = entry.ladder.return_path == core::ReturnPath::headers;
        const std::string parked = parking_queue(entry);
        const bool parked_by_name = glob && parked.find(core::queue_placeholder) != std::string::npos;
        const auto delays = core::distinct_delays(entry.ladder);
        if (shared || !glob) {
            for (const core::Milliseconds delay : delays)
                known.insert(core::rung_name_of(entry.ladder, entry.match, delay, false));
        }
        if (!parked.empty() && !parked_by_name) known.insert(parked);
        const std::size_t per_match = (glob && !shared ? delays.size() : 0) + (parked_by_name ? 1 : 0);
        if (per_match > 0) count.per_match.push_back({entry.match, per_match});
    }
    count.fixed = known.size();
    return count;
}

int check(const ReportOptions& options, std::ostream& out, std::ostream& err) {
    const Report report(options, out, err);
    return report.run([&](const config::Settings& settings) {
        if (report.json()) {
            print_check_json(settings, options.config_path, out);
        } else {
            print_check(settings, options.config_path, report.all(), report.colour(), out);
        }
        return exit_code::fine;
    });
}

// ── The configuration as text ───────────────────────────────────────────────────────────────────────────────────

namespace {

std::string address(const config::Endpoint& endpoint) {
    return config::broker_address(endpoint.tls, endpoint.host, endpoint.port);
}

std::string verification(const config::Tls& tls) {
    if (!tls.verify_peer) return "certificate NOT verified";
    const std::string authorities = tls.ca_file.empty() ? "the system's authorities" : tls.ca_file;
    return "certificate verified against " + authorities + (tls.verify_hostname ? "" : ", host name NOT verified");
}

std::string login(const config::Broker& broker, const config::Endpoint& endpoint) {
    if (broker.auth_mechanism == config::AuthMechanism::plain) return "user " + endpoint.username;
    const std::string user = endpoint.username.empty() ? "user" : "user " + endpoint.username;
    return user + " of the certificate " + broker.tls.cert_file;
}

void print_brokers(const config::Broker& broker, const Bold& bold, std::ostream& out) {
    out << bold(broker.endpoints.size() == 1 ? "Broker" : "Brokers, tried in turn") << '\n';
    Rows rows;
    for (const config::Endpoint& endpoint : broker.endpoints) {
        std::vector<std::string> row{address(endpoint), "vhost " + endpoint.vhost, login(broker, endpoint)};
        if (endpoint.tls) row.push_back(verification(broker.tls));
        rows.push_back(row);
    }
    print_table(rows, "  ", out);
}

void print_management(const config::Management& management, const Bold& bold, std::ostream& out) {
    out << '\n' << bold("Management API") << '\n';
    print_table({{management.url, "user " + management.username}}, "  ", out);
}

void print_http(const config::Http& http, const Bold& bold, std::ostream& out) {
    out << '\n' << bold("Metrics, health, status page") << '\n';
    const char* const chosen = " (0: a free port, chosen at start; the log names it)";
    print_table({{"http://" + config::to_string(http) + (http.port == 0 ? chosen : "")}}, "  ", out);
    if (!http.admin) return;
    out << "  Whoever knows the password of http.admin manages parked messages there; a sign-in lasts "
        << core::format_duration(http.admin->session) << ".\n";
    if (!http.audit.empty()) out << "  Each action is written to " << core::safe_name(http.audit) << ".\n";
}

void print_errors(const config::Settings& settings, const Bold& bold, std::ostream& out) {
    const core::Policy& policy = settings.policy;
    out << '\n' << bold("Failures arrive through") << '\n';
    Rows rows{{"exchange", policy.error_exchange, "fanout"}};
    for (const core::ErrorBinding& binding : policy.error_bindings) {
        rows.push_back(
            {"exchange", binding.exchange, "bound with routing key \"" + binding.routing_key + "\"; has to be there"});
    }
    rows.push_back({"queue", policy.error_queue,
                    std::string{core::to_string(policy.error_queue_type)} + ", at most " +
                        counted(settings.prefetch.messages, "message", "messages") + " or " +
                        config::format_size(settings.prefetch.body_bytes) + " unacknowledged"});
    for (const core::Source& source : policy.sources) {
        rows.push_back(
            {"source", source.queue,
             std::string{core::to_string(source.dialect)} + "; " + core::describe(source.work_queue) +
                 (core::is_glob(source.queue) ? "; its queues are found by the management API" : "; has to be there")});
    }
    print_table(rows, "  ", out);
}

const char* what_becomes(core::Action action) {
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

/// Adds nothing if the action is the default.
void add_action(std::string& to, const std::string& what, core::Action action, core::Action usual) {
    if (action == usual) return;
    to.append(to.empty() ? "" : "; ").append("what ").append(what).append(" ").append(what_becomes(action));
}

std::string different_actions(const core::OnDeath& on) {
    const core::OnDeath usual;
    std::string text;
    add_action(text, "was rejected", on.rejected, usual.rejected);
    add_action(text, "reached its delivery limit", on.delivery_limit, usual.delivery_limit);
    add_action(text, "expired", on.expired, usual.expired);
    add_action(text, "was too much for its queue", on.maxlen, usual.maxlen);
    return text;
}

/// What the table of an entry does not show, one line each.
std::vector<std::string> remarks(const core::Entry& entry) {
    std::vector<std::string> lines;
    if (entry.ladder.return_path == core::ReturnPath::headers) {
        lines.push_back("returns through the exchange " + std::string{core::return_exchange_name} +
                        ", with the producer's routing key");
    }
    if (std::string actions = different_actions(entry.on); !actions.empty()) lines.push_back(std::move(actions));
    if (entry.max_age) {
        lines.push_back("parked at once when its first failure is more than " + core::format_duration(*entry.max_age) +
                        " ago");
    }
    if (entry.failures == core::FailuresBy::source)
        lines.push_back("its failures come by a source alone; retryd attach leaves it out");
    if (entry.verdict) lines.push_back("consumers may say when it is tried again, or never");
    if (entry.ladder.x_death == core::XDeath::keep) lines.push_back("goes home through retryd, with its x-death");
    const std::string held = core::is_glob(entry.match) ? "{queue}.held" : core::held_name(entry.match);
    if (entry.hold) lines.push_back("held in " + held + " when it fails, until `hold` is taken away");
    if (entry.outage) {
        const core::OutageRule& rule = *entry.outage;
        lines.push_back("held in " + held + " while " + std::to_string(rule.failing_percent) + "% of at least " +
                        std::to_string(rule.of) + " messages within " + core::format_duration(rule.within) + " fail");
    }
    if (entry.parked_age) {
        const core::ParkedAge& age = *entry.parked_age;
        lines.push_back("what is parked for more than " + core::format_duration(age.max) + " is " +
                        (age.archive.empty() ? "dropped" : "archived in " + age.archive + " and then dropped"));
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

/// A row for each lane; the first row has the failures and the waits.
void add_step(Rows& rows, const ScheduleStep& step) {
    const std::string last = step.last == step.first ? "" : "-" + std::to_string(step.last);
    std::string waits = range(step.lanes.front().delay, step.delay);
    if (step.lanes.size() > 1) waits.append(" in ").append(std::to_string(step.lanes.size())).append(" lanes");
    rows.push_back({std::to_string(step.first) + last, waits, step.lanes.front().queue});
    for (std::size_t lane = 1; lane < step.lanes.size(); ++lane)
        rows.push_back({"", "", step.lanes[lane].queue});
}

void print_entry(const core::Entry& entry, const std::string& bold, std::ostream& out) {
    const core::Ladder& ladder = entry.ladder;
    const std::size_t retries = ladder.steps.size();
    const bool shared = ladder.return_path == core::ReturnPath::headers;
    out << "\n  " << bold << "  ladder " << core::safe_name(ladder.name) << ": " << counted(retries, "retry", "retries")
        << " on " << (shared ? "shared " : "") << core::to_string(ladder.queue_type) << " queues, "
        << range(least_wait(ladder), total_wait(ladder)) << " of waiting in all\n";
    for (const std::string& line : remarks(entry))
        out << "    " << core::safe_line(line) << '\n';
    Rows rows{{"failure", "waits", "in"}};
    for (const ScheduleStep& step : retry_schedule(entry))
        add_step(rows, step);
    rows.push_back({std::to_string(retries + 1), "parked", parked_in(entry)});
    print_table(rows, "    ", out);
}

constexpr std::size_t most_alike =
    5;  // entries that differ only in the queue; if there are more, they are summed up in one line
constexpr std::size_t most_queues = 10;  // named in that line

bool are_alike(core::Entry left, const core::Entry& right) {
    left.match = right.match;
    return left == right;
}

/// Prints the first of several equal entries in place of all of them.
void print_alike(const std::vector<core::Entry>& entries, std::size_t first, std::size_t end, const Bold& bold,
                 std::ostream& out) {
    print_entry(entries[first], bold(core::safe_name(entries[first].match)), out);
    std::vector<std::string> others;
    for (std::size_t i = first + 1; i < end; ++i)
        others.push_back(entries[i].match);
    out << "\n  In the same way: " << admin::folded(others, most_queues)
        << (others.size() > most_queues ? " (--all shows each)" : "") << '\n';
}

void print_entries(const std::vector<core::Entry>& entries, bool all, const Bold& bold, std::ostream& out) {
    const bool differs = std::any_of(entries.begin(), entries.end(),
                                     [](const core::Entry& entry) { return entry.on != core::OnDeath{}; });
    out << '\n'
        << bold("Work queues, the first entry that matches wins") << '\n'
        << "  What was rejected, or reached its delivery limit, is retried; what expired, or was too much for its "
           "queue,\n"
        << "  is parked at once" << (differs ? ", unless the entry says otherwise" : "") << ".\n";
    for (std::size_t i = 0; i < entries.size();) {
        std::size_t end = i + 1;
        while (end < entries.size() && are_alike(entries[i], entries[end]))
            ++end;
        if (!all && end - i > most_alike) {
            print_alike(entries, i, end, bold, out);
            i = end;
        } else {
            print_entry(entries[i], bold(core::safe_name(entries[i].match)), out);
            ++i;
        }
    }
}

void print_everything_else(const core::Policy& policy, const Bold& bold, std::ostream& out) {
    const bool all_match = std::any_of(policy.entries.begin(), policy.entries.end(), [](const core::Entry& entry) {
        return entry.match.find_first_not_of('*') == std::string::npos;
    });
    out << '\n' << bold("Everything else") << '\n';
    out << "  "
        << (all_match ? "Messages without a readable death are"
                      : "Messages of other queues, and those without a readable death, are")
        << " parked in " << policy.catch_all << ".\n";
}

void print_queue_count(const config::Settings& settings, const Bold& bold, std::ostream& out) {
    const QueueCount count = count_queues(settings.policy);
    out << '\n' << bold("Queues on the broker") << '\n';
    if (!settings.declare) out << "  retryd declares none of them (declare: false); they have to be there.\n";
    Rows rows{{std::to_string(count.fixed), "in any case"}};
    for (const QueueCount::PerMatch& one : count.per_match)
        rows.push_back({std::to_string(one.queues), "per queue that matches " + one.match});
    print_table(rows, "  ", out);
    out << "  RabbitMQ 4.0 to 4.2: one more for each rung that gets a message with a priority above 4.\n";
}

}  // namespace

void print_check(const config::Settings& settings, const std::string& file, bool all, bool colour, std::ostream& out) {
    const Bold bold{colour};
    const core::Policy& policy = settings.policy;
    out << core::safe_line(file) << " is fine: " << counted(policy.entries.size(), "queue entry", "queue entries")
        << ".\n\n";
    print_brokers(settings.broker, bold, out);
    if (settings.management) print_management(*settings.management, bold, out);
    if (settings.http) print_http(*settings.http, bold, out);
    print_errors(settings, bold, out);
    print_entries(policy.entries, all, bold, out);
    print_everything_else(policy, bold, out);
    print_queue_count(settings, bold, out);
}

// ── The JSON Schema ─────────────────────────────────────────────────────────────────────────────────────────────

namespace {

using config::KeyInfo;
using config::KeyKind;
using config::ScalarInfo;
using config::Type;

/// Matches a value with ${NAME}, whose real value is only known when the file is loaded.
constexpr const char* variable = "\\$\\{";

Json text_of(const std::string& pattern) {
    return {{"type", "string"}, {"pattern", pattern.empty() ? variable : pattern + "|" + variable}};
}

/// `native`: the schema of a YAML number or boolean; the same in quotes is accepted too.
Json or_text(Json native, const ScalarInfo& value) {
    return {{"anyOf", {std::move(native), text_of(value.pattern)}}};
}

Json number(const char* type, const ScalarInfo& value) {
    Json native{{"type", type}};
    if (value.range) {
        native["minimum"] = value.range->least;
        native["maximum"] = value.range->most;
    }
    return or_text(std::move(native), value);
}

/// A name like 2024 or true needs no quotes.
Json any_text(const ScalarInfo& value) {
    Json types{"string", "number", "boolean"};
    if (value.may_be_null) types.push_back("null");
    Json schema{{"type", types}};
    if (!value.pattern.empty()) schema["pattern"] = value.pattern;
    return schema;
}

Json scalar(const ScalarInfo& value) {
    switch (value.type) {
        case Type::boolean:
            return or_text({{"type", "boolean"}}, value);
        case Type::integer:
            return number("integer", value);
        case Type::decimal:
            return number("number", value);
        case Type::choice:
            return or_text({{"enum", value.choices}}, value);
        case Type::percent:
        case Type::duration:
        case Type::size:
            return text_of(value.pattern);
        case Type::text:
            break;
    }
    return any_text(value);
}

/// The default as YAML would read it.
Json default_of(const ScalarInfo& value) {
    const bool native = value.type == Type::boolean || value.type == Type::integer || value.type == Type::decimal;
    return native ? Json::parse(value.default_value) : Json(value.default_value);
}

class Schema {
  public:
    explicit Schema(std::vector<KeyInfo> keys) : keys_(std::move(keys)) {}

    /// The schema of the map whose keys' paths begin with `prefix`.
    Json map(const std::string& prefix) const {
        Json properties = Json::object();
        Json required = Json::array();
        for (const KeyInfo& key : keys_) {
            if (!key.path.starts_with(prefix)) continue;
            const std::string name = key.path.substr(prefix.size());
            if (name.find_first_of(".[*") != std::string::npos) continue;  // belongs to a section inside it
            properties[name] = described(key);
            if (key.value.required) required.push_back(name);
        }
        Json map{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}};
        if (!required.empty()) map["required"] = required;
        if (prefix == ladder_prefix) map["oneOf"] = {{{"required", {"delays"}}}, {{"required", {"first", "attempts"}}}};
        return map;
    }

  private:
    /// A ladder has either delays or a formula: the one rule about several keys that a schema can express.
    static constexpr const char* ladder_prefix = "ladders.*.";

    Json described(const KeyInfo& key) const {
        Json schema{{"description", key.description}};
        if (!key.value.default_value.empty()) schema["default"] = default_of(key.value);
        schema.update(value(key));
        return schema;
    }

    Json value(const KeyInfo& key) const {
        switch (key.kind) {
            case KeyKind::section:
                return or_null(map(key.path + "."));
            case KeyKind::value_or_section:
                return {{"anyOf", {any_text(key.value), map(key.path + ".")}}};
            case KeyKind::named_sections:
                return {{"type", {"object", "null"}},
                        {"propertyNames", {{"pattern", config::ladder_name_pattern}}},
                        {"additionalProperties", map(key.path + ".*.")}};
            case KeyKind::list:
                return {{"type", "array"}, {"minItems", 1}, {"items", scalar(key.value)}};
            case KeyKind::sections: {
                Json list{{"type", "array"}, {"items", map(key.path + "[].")}};
                if (key.value.required) list["minItems"] = 1;
                return key.value.required ? list : or_null(list);
            }
            case KeyKind::value:
                break;
        }
        return scalar(key.value);
    }

    /// A key without a value counts as missing.
    static Json or_null(Json schema) {
        schema["type"] = {schema["type"], "null"};
        return schema;
    }

    std::vector<KeyInfo> keys_;
};

}  // namespace

void print_schema(std::ostream& out) {
    Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "retryd.yaml"},
                {"description", "The configuration of retryd, the retry sidecar for RabbitMQ."}};
    schema.update(Schema{config::all_keys()}.map(""));
    out << schema.dump(2) << '\n';
}

}  // namespace retryd::commands
