// Reads one map of the tree as `describe` says, and finds what is wrong with its keys and values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/position.h"
#include "config/problem.h"
#include "config/tree.h"

namespace retryd::config {

// How keys are described: one call a key, naming its type, its target and its meaning. Reading a file, generating its
// JSON Schema, checking the reference and "did you mean" all follow from the same description (keys.cpp).

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

class Reader : public Section {
  public:
    /// `map`: the value of the key at `place`. Null: an empty section. Anything else but a map is a problem, and
    /// nothing is read.
    Reader(const Child& map, Place place, const Environment& environment, Problems& problems);

    void key(std::string_view name, const Scalar& value, std::string_view meaning) override;
    void list(std::string_view name, const Scalar& each, std::string_view meaning) override;
    void section(std::string_view name, const std::function<void(Section&)>& keys, std::string_view meaning) override;
    void text_or_section(std::string_view name, const Scalar& text, const std::function<void(Section&)>& keys,
                         std::string_view meaning) override;
    void named_sections(std::string_view name, const DescribeNamed& keys, std::string_view meaning) override;
    void sections(std::string_view name, Presence presence, const Describe& keys, std::string_view meaning) override;

    /// To be called when all keys have been described: what is left in the map is unknown.
    void refuse_the_rest();

  private:
    /// The path of a key of this section.
    std::string path_to(std::string_view name) const;
    /// Notes that the key exists; its first occurrence in the file, or null. Later ones are problems.
    const Child* find(std::string_view name, bool required, const std::string& expected);
    bool is_kind(const Node& node, NodeKind kind, const Place& place, const std::string& expected);
    void read_map(const Child& map, const Place& place, const std::function<void(Section&)>& keys);
    void take(const Node& node, const Scalar& as, const Place& place);
    void refuse_unknown(const Child& child);
    /// The items of a list; null where there is none. An empty one is a problem, unless the key needs no value at all.
    const std::vector<Child>* items(std::string_view name, const Scalar& each, const std::string& expected);
    void refuse_again(const Child& again, const Child& first, const std::string& path);
    const std::vector<Child>& children() const;

    const Node* map_ = nullptr;  // null: nothing to read
    Place place_;
    bool broken_ = false;  // not a map: nothing more is said about it
    const Environment& environment_;
    Problems& problems_;
    std::vector<std::string> known_;
};

}  // namespace retryd::config
