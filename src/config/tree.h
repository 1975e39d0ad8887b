// The file as a tree: YAML → nodes that know where they stand. Nothing is interpreted yet.
//
// A tree of our own, because yaml-cpp's loses what a strict reader needs: it drops duplicate keys, and gives a block
// map the position of its first child. Its parser's events keep both.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "config/position.h"
#include "config/problem.h"

namespace retryd::config {

enum class NodeKind : std::uint8_t { null, text, list, map };

struct Node;

/// An item of a list, or a key of a map with its value.
struct Child {
    std::string key;  // empty in a list
    Position key_at;
    const Node* node = nullptr;
    Position at;  // the value; where it begins on a later line or is missing: its key
};

struct Node {
    NodeKind kind = NodeKind::null;
    std::string text;             // of a text, whatever its quotes
    std::vector<Child> children;  // of a list or map, in the order of the file, duplicate keys included
    bool flow = false;            // written in [] or {}
    std::size_t weight = 1;       // the nodes it unfolds to, aliases followed
};

/// Owns the nodes in one flat pool: a chain of aliases can be as deep as the file is long, so nothing here recurses.
struct Tree {
    std::deque<Node> nodes;
    Child root;            // its node is null for a file without content, and for an unreadable one
    bool readable = true;  // false: a problem says why, and there is nothing more to be said about the file
};

/// Reads one YAML document. What YAML itself forbids, and what we do (tags, several documents, keys that are not
/// names, aliases that unfold without measure), is added to `problems`.
Tree parse_tree(const std::string& text, Problems& problems);

}  // namespace retryd::config
