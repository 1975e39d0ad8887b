#include "config/validate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "config/addresses.h"
#include "config/load.h"
#include "config/problem.h"
#include "core/duration.h"
#include "core/names.h"

namespace retryd::config {

namespace {

/// A queue that retryd declares, and what it is for.
using OwnQueues = std::map<std::string, std::string>;

/// The queue where an entry parks, if there is one and its name can be known before the first message comes.
std::optional<std::string> parking_queue(const RawEntry& entry, const RawConfig& written) {
    if (entry.parked.exchange.given) return std::nullopt;
    const std::string& parked = parking_queue_of(entry, written).value;
    if (parked.find("{queue}") == std::string::npos) return parked;
    if (!entry.match.given || core::is_glob(entry.match.value)) return std::nullopt;
    return core::expand_queue(parked, entry.match.value);
}

std::string loop(const Given<std::string>& name, const std::string& role, const std::string& expected) {
    return shown(name) + " is " + role + ", and retryd would take out again what it parks there; expected another " +
           expected;
}

void check_parking_queues(const RawConfig& written, Problems& problems) {
    // Told where the operator has written one of the two names; the other may be a default.
    const auto report = [&](const Given<std::string>& parks, const std::string& role) {
        const bool here = parks.given;
        add(problems, here ? parks.place : written.queue.place,
            loop(written.queue, here ? "errors.queue" : role, "queue"));
    };
    if (written.catch_all.value == written.queue.value) report(written.catch_all, "parking.catch_all");
    for (const RawEntry& entry : written.entries) {
        const bool same = parking_queue(entry, written) == written.queue.value;
        if (same) report(parking_queue_of(entry, written), "where " + entry.place.path + " parks");
    }
}

void check_parking_exchange(const Given<std::string>& parks, const RawConfig& written, Problems& problems) {
    if (!parks.given) return;
    if (parks.value == written.exchange.value) {
        add(problems, parks.place, loop(parks, "errors.exchange", "exchange"));
    }
    const auto bound = std::find_if(written.bindings.begin(), written.bindings.end(), [&](const RawBinding& binding) {
        return binding.exchange.given && binding.exchange.value == parks.value;
    });
    if (bound == written.bindings.end()) return;
    add(problems, parks.place, loop(parks, "the exchange of " + bound->place.path, "exchange"));
}

}  // namespace

const Given<std::string>& parking_queue_of(const RawEntry& entry, const RawConfig& written) {
    return entry.parked.queue.given ? entry.parked.queue : written.parking_queue;
}

void check_own_queues(const RawConfig& written, Problems& problems) {
    OwnQueues own;
    for (const RawEntry& entry : written.entries) {
        if (const auto parked = parking_queue(entry, written))
            own.emplace(*parked, "where " + entry.place.path + " parks");
    }
    own.insert_or_assign(written.catch_all.value, "parking.catch_all");
    own.insert_or_assign(written.queue.value, "errors.queue");
    for (const RawEntry& entry : written.entries) {
        const auto found = entry.match.given ? own.find(entry.match.value) : own.end();
        if (found == own.end()) continue;
        add(problems, entry.match.place,
            shown(entry.match) + " is a queue of retryd's own, " + found->second + "; expected a work queue");
    }
}

void check_parking_loops(const RawConfig& written, Problems& problems) {
    check_parking_queues(written, problems);
    for (const RawEntry& entry : written.entries)
        check_parking_exchange(entry.parked.exchange, written, problems);
}

void check_bindings(const RawConfig& written, Problems& problems) {
    const auto& bindings = written.bindings;
    for (auto binding = bindings.begin(); binding != bindings.end(); ++binding) {
        if (!binding->exchange.given) continue;
        if (binding->exchange.value == written.exchange.value) {
            add(problems, binding->exchange.place,
                shown(binding->exchange) +
                    " is errors.exchange, which leads to the error queue in any case; "
                    "expected another exchange");
        }
        const auto same = std::find_if(bindings.begin(), binding, [&](const RawBinding& earlier) {
            return earlier.exchange.given && earlier.exchange.value == binding->exchange.value &&
                   earlier.routing_key.value == binding->routing_key.value;
        });
        if (same == binding) continue;
        add(problems, binding->place,
            "is the same as " + same->place.path + " on line " + std::to_string(same->place.at.line) +
                "; expected each exchange with another routing key");
    }
}

std::variant<std::vector<core::Milliseconds>, TooLong> delays_of(const Formula& formula) {
    std::vector<core::Milliseconds> delays;
    const auto longest = static_cast<double>(formula.max.value_or(core::longest_ttl).count());
    // Multiplied step by step: multiplication is the same everywhere, pow is not. It may grow to infinity, which is
    // longer than any longest.
    auto exact = static_cast<double>(formula.first.count());
    for (int attempt = 1; attempt <= formula.attempts; ++attempt) {
        if (exact > longest && !formula.max) return TooLong{attempt};
        delays.emplace_back(std::llround(std::min(exact, longest)));
        exact *= formula.factor;
    }
    return delays;
}

namespace {

/// A key of the formula, if it is given.
struct GivenKey {
    const Place* place = nullptr;
    explicit operator bool() const { return place != nullptr; }
};

GivenKey any_formula_key(const RawFormula& formula) {
    if (formula.first.given) return {&formula.first.place};
    if (formula.factor.given) return {&formula.factor.place};
    if (formula.max.given) return {&formula.max.place};
    if (formula.attempts.given) return {&formula.attempts.place};
    return {};
}

void check_name(const RawLadder& ladder, Problems& problems) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    if (ladder.name.size() <= 64 && ladder.name.find_first_not_of(allowed) == std::string::npos) return;
    add(problems, ladder.place, "this is no name for a ladder; expected 1 to 64 letters, digits, _ and -");
}

/// Whether the ladder, or a key that makes its delays, has been told already: nothing shall follow from it.
bool told(const RawLadder& ladder, const Problems& problems) {
    const std::string& path = ladder.place.path;
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& problem) {
        if (!problem.key.starts_with(path)) return false;  // soon, where thousands are wrong
        if (problem.key == path || problem.key.starts_with(path + ".delays")) return true;
        return problem.key == path + ".first" || problem.key == path + ".factor" || problem.key == path + ".max" ||
               problem.key == path + ".attempts";
    });
}

/// The formula's other half is missing.
void refuse_half(const RawLadder& ladder, const Place& given, Problems& problems) {
    const auto refuse = [&](const std::string& key, const std::string& expected) {
        add(problems, {given.at, ladder.place.path + "." + key},
            "is missing besides " + given.path + "; expected " + expected);
    };
    if (!ladder.formula.first.given) refuse("first", "the wait after the first failure, such as 1s");
    if (!ladder.formula.attempts.given) refuse("attempts", "how many waits there are, such as 10");
}

std::vector<core::Milliseconds> by_formula(const RawFormula& formula, Problems& problems) {
    if (formula.max.given && formula.max.value < formula.first.value) {
        add(problems, formula.max.place,
            "is shorter than first; expected at least " + core::format_duration(formula.first.value));
        return {};
    }
    const auto max = formula.max.given ? std::optional{formula.max.value} : std::nullopt;
    auto delays = delays_of({formula.first.value, formula.factor.value, max, formula.attempts.value});
    if (const auto* too_long = std::get_if<TooLong>(&delays)) {
        add(problems, formula.attempts.place,
            "attempt " + std::to_string(too_long->attempt) + " would wait longer than " +
                core::format_duration(core::longest_ttl) +
                ", and RabbitMQ takes no longer delay; expected a max, or fewer attempts");
        return {};
    }
    return std::get<std::vector<core::Milliseconds>>(std::move(delays));
}

std::vector<core::Milliseconds> steps_of(const RawLadder& ladder, Problems& problems) {
    const GivenKey formula = any_formula_key(ladder.formula);
    if (ladder.delays.given && formula) {
        const Place& delays = ladder.delays.place;
        add(problems, *formula.place,
            "is given besides " + delays.path + " on line " + std::to_string(delays.at.line) +
                "; expected either delays, or a formula of first, factor, max and attempts");
    }
    if (ladder.delays.given) return ladder.delays.value;
    if (told(ladder, problems)) return {};
    if (!formula) {
        add(problems, ladder.place,
            "has no delays; expected delays such as [5s, 30s, 2m], or a formula of first and attempts");
    } else if (ladder.formula.first.given && ladder.formula.attempts.given) {
        return by_formula(ladder.formula, problems);
    } else {
        refuse_half(ladder, *formula.place, problems);
    }
    return {};
}

}  // namespace

std::vector<core::Ladder> validate_ladders(const std::vector<RawLadder>& ladders, Problems& problems) {
    std::vector<core::Ladder> settled;
    for (const RawLadder& written : ladders) {
        core::Ladder ladder = written.ladder;
        ladder.name = written.name;
        ladder.steps = steps_of(written, problems);
        if (written.jitter.lanes.given) {
            ladder.jitter = {written.jitter.width_percent.value, written.jitter.lanes.value};
        }
        check_name(written, problems);
        settled.push_back(std::move(ladder));
    }
    return settled;
}

namespace {

/// Who logs in, as far as the keys say it; they win over a URI.
struct Credentials {
    Given<std::string> username;
    std::optional<std::string> password;
    bool external = false;  // with a certificate: no password, and the user's name only for what needs to know it
};

const std::string no_password =
    "a password has no effect where broker.auth_mechanism is external; expected none, since the certificate says who "
    "logs in";

std::optional<Endpoint> endpoint(const Given<std::string>& uri, const Credentials& winning, Problems& problems) {
    auto parsed = parse_uri(uri.value);
    if (const auto* complaint = std::get_if<UriComplaint>(&parsed)) {
        add(problems, uri.place, complaint->text);
        return std::nullopt;
    }
    Uri& parts = std::get<Uri>(parsed);
    if (winning.external) {
        if (parts.password) add(problems, uri.place, no_password);
        const std::string username = winning.username.given ? winning.username.value : parts.username.value_or("");
        return Endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), username, ""};
    }
    const Endpoint defaults;
    const auto username = winning.username.given ? std::optional{winning.username.value} : parts.username;
    const auto& secret = winning.password ? winning.password : parts.password;
    if (username && *username != defaults.username && !secret) {
        add(problems, winning.username.given ? winning.username.place : uri.place,
            "a user has no password; expected one in the URI, or broker.password or broker.password_file");
    }
    Endpoint endpoint{std::move(parts.host), parts.port, parts.tls, std::move(parts.vhost), "", ""};
    endpoint.username = username.value_or(defaults.username);
    endpoint.password = secret.value_or(defaults.password);
    return endpoint;
}

/// Whether a problem with the URIs has been told already: where they lead is not known then.
bool uris_are_wrong(const Problems& problems) {
    return std::any_of(problems.begin(), problems.end(),
                       [](const Problem& problem) { return problem.key.starts_with("broker.uri"); });
}

std::vector<Endpoint> endpoints(const RawBroker& broker, const Credentials& winning, Problems& problems) {
    std::vector<Given<std::string>> uris = broker.uris;
    if (broker.uri.given) {
        if (!uris.empty()) exclude(broker.uri.place, uris.front().place, problems);
        uris.push_back(broker.uri);
    }
    if (uris.empty() && !uris_are_wrong(problems)) uris.push_back({"amqp://" + Endpoint{}.host, {}, false});
    std::vector<Endpoint> found;
    for (const auto& uri : uris) {
        if (auto one = endpoint(uri, winning, problems)) found.push_back(std::move(*one));
    }
    return found;
}

void validate_tls(const RawBroker& broker, const FileEnvironment& env, bool any_tls, Tls& tls, Problems& problems) {
    const auto settle = [&](const Given<std::string>& file, std::string& to) {
        if (!file.given) return;
        read_named_file(file, env, problems);
        to = file.value;
        // Without this, the password would go over the wire in clear while the file speaks of certificates.
        if (!any_tls) add(problems, file.place, "has no effect; expected a broker URI that begins with amqps://");
    };
    settle(broker.ca_file, tls.ca_file);
    settle(broker.cert_file, tls.cert_file);
    settle(broker.key_file, tls.key_file);
    if (broker.cert_file.given && !broker.key_file.given) {
        add(problems, broker.cert_file.place, "is given alone; expected broker.tls.key_file too");
    }
    if (broker.key_file.given && !broker.cert_file.given) {
        add(problems, broker.key_file.place, "is given alone; expected broker.tls.cert_file too");
    }
}

void check_external(const RawBroker& broker, bool all_tls, Problems& problems) {
    if (broker.password.given) add(problems, broker.password.place, no_password);
    if (broker.password_file.given) add(problems, broker.password_file.place, no_password);
    const Place& place = broker.auth_mechanism.place;
    if (!all_tls) add(problems, place, "external takes TLS; expected broker URIs that begin with amqps://");
    if (!broker.cert_file.given) {
        add(problems, place, "external takes a certificate to log in with; expected broker.tls.cert_file and key_file");
    }
}

void settle_reconnect(const RawBroker& broker, Reconnect& reconnect, Problems& problems) {
    reconnect.first = broker.reconnect_first.value;
    reconnect.max = broker.reconnect_max.value;
    if (reconnect.first <= reconnect.max) return;
    if (broker.reconnect_max.given) {
        add(problems, broker.reconnect_max.place,
            "is shorter than broker.reconnect.first; expected at least " + core::format_duration(reconnect.first));
    } else {
        add(problems, broker.reconnect_first.place,
            "is longer than broker.reconnect.max; expected at most its default, " +
                core::format_duration(reconnect.max));
    }
}

}  // namespace

void validate_broker(const RawConfig& written, const FileEnvironment& env, Broker& settings, Problems& problems) {
    const RawBroker& broker = written.broker;
    const bool external = broker.auth_mechanism.value == AuthMechanism::external;
    const Credentials winning{broker.username, read_password(broker.password, broker.password_file, env, problems),
                              external};
    const auto has_tls = [](const Endpoint& endpoint) { return endpoint.tls; };
    settings.auth_mechanism = broker.auth_mechanism.value;
    settings.endpoints = endpoints(broker, winning, problems);
    const bool any_tls = std::any_of(settings.endpoints.begin(), settings.endpoints.end(), has_tls);
    const bool all_tls = std::all_of(settings.endpoints.begin(), settings.endpoints.end(), has_tls);
    validate_tls(broker, env, any_tls || uris_are_wrong(problems), settings.tls, problems);
    if (external) check_external(broker, all_tls, problems);
    settle_reconnect(broker, settings.reconnect, problems);
}

std::optional<Management> validate_management(const RawManagement& written, const FileEnvironment& env,
                                              const Broker& broker, Problems& problems) {
    auto password = read_password(written.password, written.password_file, env, problems);
    if (!written.url.given) return std::nullopt;
    const Endpoint same = broker.endpoints.empty() ? Endpoint{} : broker.endpoints.front();
    Management management{written.url.value, same.username, same.password};
    if (written.username.given) management.username = written.username.value;
    if (broker.auth_mechanism == AuthMechanism::external && (!written.username.given || !password)) {
        add(problems, written.url.place,
            "the management API takes a user with a password, and broker.auth_mechanism is external; expected "
            "management.username, and management.password or management.password_file");
        return management;
    }
    const bool another_user = management.username != same.username;
    // Another user with the broker's password is a mistake; without a broker's user nothing can be said.
    if (another_user && !password && !broker.endpoints.empty()) {
        add(problems, written.username.place,
            "a user has no password; expected management.password or management.password_file");
    }
    if (password) management.password = std::move(*password);
    return management;
}

namespace {

/// Whether whatever `later` matches is matched by `earlier` already. May miss a case, never invents one.
bool covers(const std::string& earlier, const std::string& later) {
    if (earlier == later) return true;
    // Read as a text, `later` stands for all that it matches, except that a ? of `earlier` must not take its *.
    const bool comparable = earlier.find('?') == std::string::npos || later.find('*') == std::string::npos;
    return comparable && core::glob_matches(earlier, later);
}

void check_reachable(const std::vector<RawEntry>& entries, Problems& problems) {
    for (auto later = entries.begin(); later != entries.end(); ++later) {
        if (!later->match.given) continue;
        const auto earlier = std::find_if(entries.begin(), later, [&](const RawEntry& entry) {
            return entry.match.given && covers(entry.match.value, later->match.value);
        });
        if (earlier == later) continue;
        add(problems, later->match.place,
            shown(later->match) + " can never match: " + earlier->place.path + " on line " +
                std::to_string(earlier->match.place.at.line) + " (" + shown(earlier->match) +
                ") takes it first; expected the narrower entry first");
    }
}

/// An exchange of the entry's own, or a queue.
core::Parking parking(const RawEntry& entry, const RawConfig& written) {
    if (!entry.parked.exchange.given) return {parking_queue_of(entry, written).value, "", std::nullopt};
    const auto& key = entry.parked.routing_key;
    return {"", entry.parked.exchange.value, key.given ? std::optional{key.value} : std::nullopt};
}

core::Entry settle(const RawEntry& entry, const core::Ladder& ladder, const RawConfig& written) {
    const auto max_age = entry.max_age.given ? std::optional{entry.max_age.value} : std::nullopt;
    return {entry.match.value, ladder, parking(entry, written), entry.on, max_age};
}

void settle_entries(const RawConfig& written, core::Policy& policy, Problems& problems) {
    const std::vector<core::Ladder> ladders = validate_ladders(written.ladders, problems);
    std::vector<std::string> names;
    for (const core::Ladder& ladder : ladders)
        names.push_back(ladder.name);
    for (const RawEntry& entry : written.entries) {
        if (!entry.ladder.given) continue;
        const auto found = std::find(names.begin(), names.end(), entry.ladder.value);
        if (found != names.end()) {
            policy.entries.push_back(settle(entry, ladders[static_cast<std::size_t>(found - names.begin())], written));
            continue;
        }
        const std::string what = shown(entry.ladder) + " is not one of the ladders; ";
        add(problems, entry.ladder.place,
            what + (names.empty() ? "expected it under ladders:" : expected_one_of(entry.ladder.value, names)));
    }
}

}  // namespace

void validate_policy(const RawConfig& written, core::Policy& policy, Problems& problems) {
    policy.error_exchange = written.exchange.value;
    policy.error_queue = written.queue.value;
    policy.catch_all = written.catch_all.value;
    for (const RawBinding& binding : written.bindings)
        policy.error_bindings.push_back({binding.exchange.value, binding.routing_key.value});
    settle_entries(written, policy, problems);
    check_reachable(written.entries, problems);
    check_own_queues(written, problems);
    check_parking_loops(written, problems);
    check_bindings(written, problems);
}

}  // namespace retryd::config
