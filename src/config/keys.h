// Every key of the configuration, described once: its type, its range, its target with the default, and what it is for.
//
// The reader follows this description, and so do `retryd check --schema`, the manual page, docs/configuration.md and
// config/retryd.yaml. How to add one: CONTRIBUTING.md, "A setting".
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"
#include "config/raw_config.h"
#include "config/scalars.h"

namespace retryd::config {

enum class Presence { required, optional };

/// One map of the file. `describe` calls a function for each key; the reader then reads it, and all_keys() notes it
/// down. `description`: a sentence or two for an operator, ending with a full stop; `code` stands in backquotes.
class Section {
  public:
    using Describe = std::function<void(Section&)>;
    using DescribeItem = std::function<void(Section&, const Place& place)>;
    using DescribeNamed = std::function<void(Section&, const Place& place, const std::string& name)>;

    virtual ~Section() = default;
    virtual void key(std::string_view name, const Scalar& value, std::string_view description) = 0;
    /// A list of at least one value; `each` stores one after the other.
    virtual void list(std::string_view name, const Scalar& each, std::string_view description) = 0;
    /// A map with keys of its own.
    virtual void section(std::string_view name, std::string_view description, const Describe& keys) = 0;
    /// Either a single value or a map with keys of its own.
    virtual void value_or_section(std::string_view name, const Scalar& value, std::string_view description,
                                  const Describe& keys) = 0;
    /// A map whose keys are names that the operator chooses, each with a map.
    virtual void named_sections(std::string_view name, std::string_view description, const DescribeNamed& keys) = 0;
    /// A list of maps. A required one must be there and hold at least one.
    virtual void sections(std::string_view name, Presence presence, std::string_view description,
                          const DescribeItem& keys) = 0;
};

/// Describes all keys, bound to `raw`, which must live as long as `file` uses them.
void describe(Section& file, RawConfig& raw);

enum class KeyKind { value, list, section, value_or_section, named_sections, sections };

/// One key as the schema and the manual show it.
struct KeyInfo {
    std::string path;  // broker.heartbeat, ladders.*.delays, queues[].match
    KeyKind kind = KeyKind::value;
    ScalarInfo value;  // of a list: of its items
    std::string description;
};

/// All of them, each section before its keys, in the order in which the manual has them.
std::vector<KeyInfo> all_keys();

/// What is expected of a list of sections, and whether it must be there.
ScalarInfo list_of_sections(Presence presence);

}  // namespace retryd::config
