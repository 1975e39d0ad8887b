// The file as it stands: every value read and checked by itself, none yet checked against another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/problem.h"
#include "config/settings.h"
#include "core/names.h"
#include "core/policy.h"
#include "core/time.h"

namespace retryd::config {

/// A ladder by formula: first, first × factor, first × factor² … cut at max.
struct RawFormula {
    Given<core::Milliseconds> first;
    Given<double> factor{2.0, {}, false};
    Given<core::Milliseconds> max;
    Given<int> attempts;
};

struct RawJitter {
    Given<int> width_percent;
    Given<int> lanes;
};

struct RawLadder {
    std::string name;
    Place place;
    core::Ladder ladder;                            // without name, steps and jitter
    Given<std::vector<core::Milliseconds>> delays;  // `30s x3` as three; the place is that of the first
    RawFormula formula;
    RawJitter jitter;
};

struct RawParking {
    Given<std::string> queue;
    Given<std::string> exchange;
    Given<std::string> routing_key;
};

struct RawOutage {
    Given<int> failing_percent{core::OutageRule{}.failing_percent, {}, false};
    std::uint16_t of = core::OutageRule{}.of;
    core::Milliseconds within = core::OutageRule{}.within;
    core::Milliseconds probe = core::OutageRule{}.probe;
    Given<int> release{core::OutageRule{}.release, {}, false};
};

struct RawParkedAge {
    Given<core::Milliseconds> max;
    Given<std::string> archive;
    bool drop = false;
};

struct RawEntry {
    Place place;
    Given<std::string> match;
    Given<std::string> ladder;
    RawParking parked;  // nothing given: parking.queue
    Given<core::Milliseconds> max_age;
    core::OnDeath on;
    bool hold = false;
    std::optional<RawOutage> outage;
    bool verdict = false;
    core::XDeath x_death = core::XDeath::remove;
    std::optional<RawParkedAge> parked_age;
    Given<core::FailuresBy> failures{core::FailuresBy::error_queue, {}, false};
};

struct RawBinding {
    Place place;
    Given<std::string> exchange;
    Given<std::string> routing_key{core::ErrorBinding{}.routing_key, {}, false};
};

struct RawSource {
    Place place;
    Given<std::string> queue;
    Given<core::Dialect> dialect;
    Given<std::string> work_queue;
    Given<std::string> header;
    Given<std::string> suffix;
    Given<std::string> reason_header;
};

struct RawBroker {
    Given<std::string> uri;
    std::vector<Given<std::string>> uris;
    Given<std::string> username;
    Given<std::string> password;
    Given<std::string> password_file;
    Given<AuthMechanism> auth_mechanism{AuthMechanism::plain, {}, false};
    Given<core::Milliseconds> reconnect_first{Reconnect{}.first, {}, false};
    Given<core::Milliseconds> reconnect_max{Reconnect{}.max, {}, false};
    Given<std::string> ca_file;
    Given<std::string> cert_file;
    Given<std::string> key_file;
};

struct RawManagement {
    Given<std::string> url;
    Given<std::string> username;
    Given<std::string> password;
    Given<std::string> password_file;
};

struct RawHttpAdmin {
    Given<std::string> password_file;
    core::Milliseconds session = HttpAdmin{}.session;
};

/// Besides `listen`, which is in the settings.
struct RawHttp {
    std::optional<RawHttpAdmin> admin;
    Given<std::string> audit;
};

struct RawConfig {
    /// Holds every value that needs no second check, read straight into its place.
    Settings settings;
    RawBroker broker;
    RawManagement management;
    RawHttp http;
    Given<std::string> exchange{core::Policy{}.error_exchange, {}, false};
    Given<std::string> queue{core::Policy{}.error_queue, {}, false};
    Given<std::string> catch_all{core::Policy{}.catch_all, {}, false};
    Given<std::string> parking_queue{std::string{core::queue_placeholder} + ".parked", {}, false};
    Given<std::string> key_file;
    std::vector<RawBinding> bindings;
    std::vector<RawSource> sources;
    std::vector<RawLadder> ladders;
    std::vector<RawEntry> entries;
};

}  // namespace retryd::config
