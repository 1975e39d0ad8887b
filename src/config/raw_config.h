// The file as it is written: every value read, none yet checked against another.
#pragma once

#include <string>
#include <vector>

#include "config/position.h"
#include "config/settings.h"

namespace retryd::config {

/// A ladder by formula; its delays are computed when all of it is there.
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
    core::Ladder ladder;                            // no steps, no jitter yet
    Given<std::vector<core::Milliseconds>> delays;  // its place: that of the first one
    RawFormula formula;
    RawJitter jitter;
};

struct RawParking {
    Given<std::string> queue;
    Given<std::string> exchange;
    Given<std::string> routing_key;
};

struct RawEntry {
    Place place;
    Given<std::string> match;
    Given<std::string> ladder;
    RawParking parked;  // nothing given: as parking.queue says
    Given<core::Milliseconds> max_age;
    core::OnDeath on;
};

struct RawBinding {
    Place place;
    Given<std::string> exchange;
    Given<std::string> routing_key{core::ErrorBinding{}.routing_key, {}, false};
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

struct RawConfig {
    /// What needs no second look is read straight into its place; these are the defaults at first.
    Settings settings;
    RawBroker broker;
    RawManagement management;
    Given<std::string> exchange{core::Policy{}.error_exchange, {}, false};
    Given<std::string> queue{core::Policy{}.error_queue, {}, false};
    Given<std::string> catch_all{core::Policy{}.catch_all, {}, false};
    Given<std::string> parking_queue{std::string{default_parking_queue}, {}, false};
    std::vector<RawBinding> bindings;
    std::vector<RawLadder> ladders;
    std::vector<RawEntry> entries;
};

}  // namespace retryd::config
