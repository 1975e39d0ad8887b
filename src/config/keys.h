// Every key of the configuration, described in one place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/raw_config.h"
#include "config/reader.h"

namespace retryd::config {

// The keys of errors:, ladders:, queues: and parking:; the other half of keys.cpp.

void describe_errors(Section& file, RawConfig& written);
void describe_ladders(Section& file, RawConfig& written);
void describe_queues(Section& file, RawConfig& written);
void describe_parking(Section& file, RawConfig& written);

/// The keys with their types, defaults and meanings, bound to `written`. To add a key: a member there, a line here.
void describe(Section& file, RawConfig& written);

/// One key as the reference and a schema show it.
struct KeyInfo {
    std::string path;  // broker.heartbeat, ladders.*.delays, queues[].match
    Type type = Type::text;
    Type each = Type::text;  // of a list: the type of its items
    std::string expected;
    std::string fallback;  // empty: none
    bool required = false;
    bool may_be_null = false;
    std::string pattern;  // these three as in Scalar; of a list: of its items
    std::vector<std::string> choices;
    std::optional<Range> range;
    std::string meaning;  // one sentence, for an operator
};

/// All of them, sections before what they hold, in the order of the reference.
std::vector<KeyInfo> all_keys();

}  // namespace retryd::config
