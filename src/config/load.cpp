#include "config/load.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/raw_config.h"
#include "config/tree.h"
#include "config/validate.h"

namespace retryd::config {

namespace {

std::string_view what_it_is(NodeKind kind) {
    switch (kind) {
        case NodeKind::null:
            return "has no value";
        case NodeKind::text:
            return "is a single value";
        case NodeKind::list:
            return "is a list";
        case NodeKind::map:
            return "is a map";
    }
    return "";
}

/// A key as part of a path: in quotes where it is not a plain word.
std::string shown_key(const std::string& key) {
    const bool plain =
        key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == std::string::npos;
    return plain && key.size() <= 60 ? key : in_quotes(key);
}

/// The paths of the keys with that name, for one that stands in the wrong section.
std::vector<std::string> same_name_elsewhere(const std::string& name) {
    std::vector<std::string> paths;
    for (const KeyInfo& key : all_keys()) {
        const std::size_t dot = key.path.rfind('.');
        if ((dot == std::string::npos ? key.path : key.path.substr(dot + 1)) == name) paths.push_back(key.path);
    }
    return paths;
}

/// Reads one map.
class Reader : public Section {
  public:
    /// `map`: the value of the key at `place`. Null: an empty section. Anything but a map is a problem, and nothing is
    /// read.
    Reader(const Child& map, Place place, const Environment& environment, Problems& problems);

    void key(std::string_view name, const Scalar& value, std::string_view description) override;
    void list(std::string_view name, const Scalar& each, std::string_view description) override;
    void section(std::string_view name, std::string_view description, const Describe& keys) override;
    void value_or_section(std::string_view name, const Scalar& value, std::string_view description,
                          const Describe& keys) override;
    void named_sections(std::string_view name, std::string_view description, const DescribeNamed& keys) override;
    void sections(std::string_view name, Presence presence, std::string_view description,
                  const DescribeItem& keys) override;

    /// To be called when all keys have been described: what else is in the map is unknown.
    void refuse_unknown_keys();

  private:
    /// The path of a key of this section.
    std::string path_to(std::string_view name) const;
    /// Notes that the key is known, and finds it in the file; null where it is not there. Of duplicates the first; the
    /// others are problems.
    const Child* find(std::string_view name, bool required, const std::string& expected);
    bool is_kind(const Node& node, NodeKind kind, const Place& place, const std::string& expected);
    void read_map(const Child& map, const Place& place, const Describe& keys);
    void read_scalar(const Node& node, const Scalar& scalar, const Place& place);
    /// The items of a list; null where there is none. An empty one is a problem, unless the key needs no value at all.
    const std::vector<Child>* items(std::string_view name, const ScalarInfo& each, const std::string& expected);
    void refuse_unknown(const Child& child);
    void refuse_duplicate(const Child& again, const Child& first, const std::string& path);
    const std::vector<Child>& children() const;

    const Node* map_ = nullptr;  // null: nothing to read
    Place place_;
    bool not_a_map_ = false;  // that has been reported, and nothing follows from it
    const Environment& environment_;
    Problems& problems_;
    std::vector<std::string> known_;
};

}  // namespace

Reader::Reader(const Child& map, Place place, const Environment& environment, Problems& problems)
    : place_(std::move(place)), environment_(environment), problems_(problems) {
    if (map.node == nullptr || map.node->kind == NodeKind::null) return;
    not_a_map_ = !is_kind(*map.node, NodeKind::map, {map.at, place_.path}, "a map of keys and values");
    if (!not_a_map_) map_ = map.node;
}

std::string Reader::path_to(std::string_view name) const {
    return place_.path.empty() ? std::string{name} : place_.path + "." + std::string{name};
}

bool Reader::is_kind(const Node& node, NodeKind kind, const Place& place, const std::string& expected) {
    if (node.kind == kind) return true;
    add(problems_, place, std::string{what_it_is(node.kind)} + "; expected " + expected);
    return false;
}

const std::vector<Child>& Reader::children() const {
    static const std::vector<Child> none;
    return map_ == nullptr ? none : map_->children;
}

const Child* Reader::find(std::string_view name, bool required, const std::string& expected) {
    known_.emplace_back(name);
    if (not_a_map_) return nullptr;
    const Child* first = nullptr;
    for (const Child& child : children()) {
        if (child.key != name) continue;
        if (first == nullptr) {
            first = &child;
        } else {
            refuse_duplicate(child, *first, path_to(name));
        }
    }
    if (first == nullptr && required) add(problems_, {place_.at, path_to(name)}, "is missing; expected " + expected);
    return first;
}

void Reader::refuse_duplicate(const Child& again, const Child& first, const std::string& path) {
    add(problems_, {again.key_at, path},
        "is already on line " + std::to_string(first.key_at.line) + "; expected each key once");
}

void Reader::read_scalar(const Node& node, const Scalar& scalar, const Place& place) {
    if (node.kind == NodeKind::null && scalar.may_be_null) return;
    if (!is_kind(node, NodeKind::text, place, scalar.expected)) return;
    const Expansion value = expand(node.text, environment_);
    if (!value.complaint.empty()) return add(problems_, place, value.complaint);
    const Complaint complaint = scalar.set(value.text, {place.at, place.path, node.text});
    if (!complaint) return;
    // The text of the file, not the value: a secret from the environment may have been put into the wrong place.
    std::string message = scalar.secret ? "the value" : in_quotes(node.text);
    if (value.used_environment) message.append(", taken from the environment,");
    message.append(" ").append(*complaint).append("; expected ").append(scalar.expected);
    if (scalar.type == Type::choice && !scalar.secret && !value.used_environment) {
        if (const auto near = nearest_value(node.text, scalar.choices)) message.append("; did you mean " + *near + "?");
    }
    add(problems_, place, std::move(message));
}

void Reader::key(std::string_view name, const Scalar& value, std::string_view /*description*/) {
    const Child* child = find(name, value.required, value.expected);
    if (child != nullptr) read_scalar(*child->node, value, {child->at, path_to(name)});
}

const std::vector<Child>* Reader::items(std::string_view name, const ScalarInfo& each, const std::string& expected) {
    const Child* child = find(name, each.required, expected);
    if (child == nullptr || (child->node->kind == NodeKind::null && each.may_be_null)) return nullptr;
    const Place place{child->at, path_to(name)};
    if (!is_kind(*child->node, NodeKind::list, place, expected)) return nullptr;
    if (child->node->children.empty() && !each.may_be_null) add(problems_, place, "is empty; expected " + expected);
    return &child->node->children;
}

void Reader::list(std::string_view name, const Scalar& each, std::string_view /*description*/) {
    const auto* list = items(name, each, "a list, each item " + each.expected);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
        read_scalar(*(*list)[i].node, each, {(*list)[i].at, path_to(name) + "[" + std::to_string(i) + "]"});
}

void Reader::section(std::string_view name, std::string_view /*description*/, const Describe& keys) {
    const Child* child = find(name, false, "");
    // Without a value it is the same as no section, even if one of its keys is required.
    if (child == nullptr || child->node->kind == NodeKind::null) return;
    read_map(*child, {child->at, path_to(name)}, keys);
}

void Reader::value_or_section(std::string_view name, const Scalar& value, std::string_view /*description*/,
                              const Describe& keys) {
    const Child* child = find(name, value.required, value.expected);
    if (child == nullptr) return;
    const Place place{child->at, path_to(name)};
    if (child->node->kind == NodeKind::map) {
        read_map(*child, place, keys);
    } else {
        read_scalar(*child->node, value, place);
    }
}

void Reader::read_map(const Child& map, const Place& place, const Describe& keys) {
    Reader inner{map, place, environment_, problems_};
    keys(inner);
    inner.refuse_unknown_keys();
}

void Reader::named_sections(std::string_view name, std::string_view /*description*/, const DescribeNamed& keys) {
    const Child* child = find(name, false, "");
    if (child == nullptr || child->node->kind == NodeKind::null) return;
    const Place place{child->at, path_to(name)};
    if (!is_kind(*child->node, NodeKind::map, place, "a map of names, each with a map of keys and values")) return;
    std::map<std::string, const Child*> first;
    for (const Child& named : child->node->children) {
        if (named.key.empty()) continue;
        const Place at{named.key_at, place.path + "." + shown_key(named.key)};
        if (const auto [same, is_new] = first.emplace(named.key, &named); !is_new) {
            refuse_duplicate(named, *same->second, at.path);
            continue;
        }
        read_map(named, at, [&](Section& inner) { keys(inner, at, named.key); });
    }
}

void Reader::sections(std::string_view name, Presence presence, std::string_view /*description*/,
                      const DescribeItem& keys) {
    const ScalarInfo each = list_of_sections(presence);
    const auto* list = items(name, each, each.expected);
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
        const Place place{(*list)[i].at, path_to(name) + "[" + std::to_string(i) + "]"};
        read_map((*list)[i], place, [&](Section& inner) { keys(inner, place); });
    }
}

void Reader::refuse_unknown_keys() {
    for (const Child& child : children()) {
        const bool known = std::find(known_.begin(), known_.end(), child.key) != known_.end();
        if (!known && !child.key.empty()) refuse_unknown(child);
    }
}

void Reader::refuse_unknown(const Child& child) {
    if (map_->flow && child.node->kind == NodeKind::null) {
        // {password: half,of} has a key `of`, which is half of a password and must not be shown.
        return add(problems_, {child.key_at, place_.path},
                   "an unknown key without a value; expected quotes around a value that holds a comma");
    }
    const auto elsewhere = same_name_elsewhere(child.key);
    const auto near = nearest(child.key, known_);
    std::string remedy = expected_one_of(child.key, known_);
    if (!near && !elsewhere.empty()) remedy = "did you mean " + elsewhere.front() + "?";
    add(problems_, {child.key_at, path_to(shown_key(child.key))}, "unknown key; " + remedy);
}

namespace {

/// What the file gives, and the default of everything else. Unknown, missing and duplicate keys and wrong values are
/// problems. `environment` fills in ${NAME}.
RawConfig read_keys(const Tree& tree, const Environment& environment, Problems& problems) {
    RawConfig raw;
    Reader reader{tree.root, {}, environment, problems};
    describe(reader, raw);
    reader.refuse_unknown_keys();
    return raw;
}

/// In the order of the file, each once: several URIs may share one problem, such as a user without a password.
Problems in_order(Problems problems) {
    const auto all_of = [](const Problem& p) { return std::tie(p.line, p.column, p.key, p.message); };
    std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
        return std::tie(a.line, a.column) < std::tie(b.line, b.column);
    });
    const auto rest = std::unique(problems.begin(), problems.end(),
                                  [&](const Problem& a, const Problem& b) { return all_of(a) == all_of(b); });
    problems.erase(rest, problems.end());
    return problems;
}

}  // namespace

std::variant<Settings, Problems> load(const std::string& text, const FileEnvironment& env) {
    Problems problems;
    const Tree tree = parse_tree(text, problems);
    if (!tree.readable) return in_order(std::move(problems));
    RawConfig raw = read_keys(tree, env.environment, problems);
    Settings settings = validate(std::move(raw), env, problems);
    if (!problems.empty()) return in_order(std::move(problems));
    return settings;
}

std::variant<Settings, Problems> load_file(const std::string& path, const FileEnvironment& env) {
    std::string error;
    const auto text = env.read_file(path, error);
    if (!text) return Problems{{0, 0, "", "cannot be read (" + error + "); expected a file that retryd may read"}};
    return load(*text, env);
}

}  // namespace retryd::config
