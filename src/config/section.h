// How keys are described: one call a key, naming its type, its target and its meaning. Reading a file, generating its
// JSON Schema, checking the reference and "did you mean" all follow from the same description (keys.cpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/position.h"

namespace retryd::config {

enum class Type {
    text,
    boolean,
    integer,
    decimal,
    percent,
    duration,
    size,
    choice,
    list,
    section,
    text_or_section,
    named_sections,
    sections
};

/// The bounds of a number, both included.
struct Range {
    int least = 0;
    int most = 0;
};

/// How one text of the file becomes a value. Made by the functions of scalars.h, bound to its target.
struct Scalar {
    Type type = Type::text;
    std::string expected;      // "a duration from 1s to 10m, such as 20s": ends a complaint, stands in the reference
    std::string fallback;      // the default, as it would be written; empty: none
    bool secret = false;       // never to be shown
    bool required = false;     // its absence is a problem
    bool may_be_null = false;  // `key:` without a value is the same as no key
    // For those who cannot call `take`, a schema above all: what every right value fulfils.
    std::string pattern;               // a regular expression (ECMA 262), not anchored; empty: any text
    std::vector<std::string> choices;  // of a choice
    std::optional<Range> range;        // of a number
    /// Stores the value; or says what is wrong with it ("is not a duration") and stores nothing.
    std::function<std::optional<std::string>(const std::string& text, const Place& place)> take;
};

enum class Presence { required, optional };

Scalar secret(Scalar scalar);
Scalar required(Scalar scalar);

/// What is said of a list of sections.
Scalar presence_of(Presence presence);

/// One map of the file, as seen by the functions that describe its keys.
class Section {
  public:
    using Describe = std::function<void(Section&, const Place& place)>;
    using DescribeNamed = std::function<void(Section&, const Place& place, const std::string& name)>;

    virtual ~Section() = default;
    virtual void key(std::string_view name, const Scalar& value, std::string_view meaning) = 0;
    /// A list of at least one text; `each` takes them one after the other.
    virtual void list(std::string_view name, const Scalar& each, std::string_view meaning) = 0;
    /// A map with keys of its own.
    virtual void section(std::string_view name, const std::function<void(Section&)>& keys,
                         std::string_view meaning) = 0;
    /// Either one text or a map with keys of its own.
    virtual void text_or_section(std::string_view name, const Scalar& text, const std::function<void(Section&)>& keys,
                                 std::string_view meaning) = 0;
    /// A map whose keys are names that the operator chooses, each with a section.
    virtual void named_sections(std::string_view name, const DescribeNamed& keys, std::string_view meaning) = 0;
    /// A list of sections. A required one must be there and hold at least one.
    virtual void sections(std::string_view name, Presence presence, const Describe& keys, std::string_view meaning) = 0;
};

}  // namespace retryd::config
