#include "config/tree.h"

#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <string_view>

#include "config/tree_builder.h"
#include "core/utf8.h"

namespace retryd::config {
namespace {

/// Far above any real file, far below what hurts.
constexpr std::size_t largest_weight = 50'000;

std::string_view line_of(std::string_view text, int line) {
    for (; line > 1; --line) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + 1);
    }
    return text.substr(0, text.find('\n'));
}

/// What has most often gone wrong on a line that is not YAML.
std::string remedy(std::string_view line) {
    const std::string_view indentation = line.substr(0, line.find_first_not_of(" \t"));
    if (indentation.find('\t') != std::string_view::npos) return "expected spaces, since YAML forbids tabs here";
    if (line.find("${") != std::string_view::npos && line.find_first_of("{[") < line.find("${")) {
        return "expected quotes around a ${...} that stands inside {} or []";
    }
    return "expected YAML: look at indentation, brackets and quotes, on this line and the one before";
}

bool check_encoding(const std::string& text, Problems& problems) {
    const std::size_t valid = core::valid_utf8_length(text);
    if (valid == text.size()) return true;
    const std::string_view before = std::string_view{text}.substr(0, valid);
    const std::size_t line_end = before.rfind('\n');
    const std::string_view line = line_end == std::string_view::npos ? before : before.substr(line_end + 1);
    const Position at{static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
                      static_cast<int>(core::characters(line)) + 1};
    add(problems, at, "a byte here is not UTF-8 text; expected the whole file in UTF-8");
    return false;
}

void check_weight(Tree& tree, Problems& problems) {
    if (tree.root.node == nullptr || tree.root.node->weight <= largest_weight) return;
    tree.readable = false;
    add(problems, Position{},
        "the file unfolds to more than " + std::to_string(largest_weight) +
            " values; expected fewer (look at its aliases, `*name`)");
}

}  // namespace

Tree parse_tree(const std::string& text, Problems& problems) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    const std::string body = text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
    Tree tree;
    if (!check_encoding(body, problems)) {
        tree.readable = false;
        return tree;
    }
    TreeBuilder builder{body, tree, problems};
    std::istringstream stream{body};
    try {
        YAML::Parser parser{stream};
        // Not to the end: behind a token that nothing can begin with, the parser finds document after document for
        // ever.
        while (builder.documents() < 2 && parser.HandleNextDocument(builder)) {
        }
        check_weight(tree, problems);
    } catch (const YAML::Exception& error) {
        const Position at = builder.position(error.mark);
        // Behind a colon it repeats what stands there, control characters and pieces of a password included.
        const std::string what = error.msg.substr(0, error.msg.find(": "));
        add(problems, at, "this is not YAML (" + what + "); " + remedy(line_of(body, at.line)));
        tree.readable = false;
    }
    if (!tree.readable) tree.root = {};
    return tree;
}

}  // namespace retryd::config
