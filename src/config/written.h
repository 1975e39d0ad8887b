// The file as it is written: every value read, none yet checked against another.
#pragma once

#include <string>
#include <vector>

#include "config/position.h"
#include "config/settings.h"

namespace retryd::config {

struct WrittenLadder {
    std::string name;
    Place place;
    core::Ladder ladder;  // no steps where they could not be read
};

struct WrittenEntry {
    Place place;
    Given<std::string> match;
    Given<std::string> ladder;
    Given<std::string> parked;
};

struct WrittenBroker {
    Given<std::string> uri;
    std::vector<Given<std::string>> uris;
    Given<std::string> username;
    Given<std::string> password;
    Given<std::string> password_file;
    Given<core::Milliseconds> reconnect_first{Reconnect{}.first, {}, false};
    Given<core::Milliseconds> reconnect_max{Reconnect{}.max, {}, false};
    Given<std::string> ca_file;
    Given<std::string> cert_file;
    Given<std::string> key_file;
};

struct Written {
    /// What needs no second look is read straight into its place; these are the defaults at first.
    Settings settings;
    WrittenBroker broker;
    Given<std::string> exchange{core::Policy{}.error_exchange, {}, false};
    Given<std::string> queue{core::Policy{}.error_queue, {}, false};
    Given<std::string> catch_all{core::Policy{}.catch_all, {}, false};
    Given<std::string> parking_queue{std::string{default_parking_queue}, {}, false};
    std::vector<WrittenLadder> ladders;
    std::vector<WrittenEntry> entries;
};

}  // namespace retryd::config
