// Reads one map of the tree as `describe` says, and finds what is wrong with its keys and values.
#pragma once

#include <string>
#include <vector>

#include "config/environment.h"
#include "config/problem.h"
#include "config/section.h"
#include "config/tree.h"

namespace retryd::config {

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
