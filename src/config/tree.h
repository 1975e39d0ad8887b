// Parses YAML into a tree whose nodes know their position in the file. Values are still texts.
//
// yaml-cpp parses, but YAML::Node is not used: it drops duplicate keys, and it gives a block map the position of its
// first child. A complaint about the file needs both, so the tree is built from the events of YAML::Parser, which have
// them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "config/problem.h"

namespace retryd::config {

enum class NodeKind : std::uint8_t { null, text, list, map };

struct Node;

/// An item of a list, or a key of a map with its value.
struct Child {
    std::string key;  // empty in a list
    Position key_at;
    const Node* node = nullptr;
    Position at;  // of the value; of its key where the value is missing or a block that begins on the next line
};

struct Node {
    NodeKind kind = NodeKind::null;
    std::string text;             // of a text, without its quotes
    std::vector<Child> children;  // of a list or map, in the order of the file, duplicate keys included
    bool flow = false;            // stands in [] or {}
    std::size_t weight = 1;       // how many nodes it holds, itself included, with each alias replaced by its value
};

/// Owns the nodes, in one flat container: a chain of aliases can be as deep as the file is long, and a tree of nodes
/// that own their children would be destroyed recursively.
struct Tree {
    std::deque<Node> nodes;
    Child root;            // its node is null for a file without content, and for an unreadable one
    bool readable = true;  // false: a problem says why, and nothing else about the file is to be reported
};

/// Parses one YAML document. `problems` gets what YAML forbids, and what is not allowed here: tags, several documents,
/// keys that are not plain words, and aliases that multiply the file to more than 50,000 nodes.
Tree parse_tree(const std::string& text, Problems& problems);

}  // namespace retryd::config
