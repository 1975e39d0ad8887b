// The configuration, as retryd.yaml(5) shows it.
#include "config/keys.h"

#include <ostream>

#include "blocks.h"
#include "roff.h"

namespace retryd::manual {
namespace {

using config::KeyInfo;
using config::Type;

/// As an operator names it: NAME is theirs to choose, [] is one item of a list.
std::string shown(std::string path) {
    const std::size_t star = path.find(".*");
    if (star != std::string::npos) path.replace(star, 2, ".NAME");
    return path;
}

bool is_top(const KeyInfo& key) {
    return key.path.find('.') == std::string::npos;
}

bool has_keys(const KeyInfo& key) {
    return key.type == Type::section || key.type == Type::named_sections || key.type == Type::sections;
}

void print_key(const KeyInfo& key, std::ostream& out) {
    out << ".TP\n" << bold(shown(key.path));
    if (key.required) out << " (must be there)";
    if (!key.fallback.empty()) out << " (default: " << roff(key.fallback) << ')';
    out << '\n' << roff(sentence(key.meaning)) << '\n';
    if (key.expected.empty() || key.type == Type::sections) return;
    out << ".br\n" << (key.type == Type::list ? "A list; each item: " : "Expected: ") << roff(key.expected) << ".\n";
}

}  // namespace

void print_keys(std::ostream& out) {
    bool alone = false;  // keys at the top that are no sections share one heading
    for (const KeyInfo& key : config::all_keys()) {
        if (is_top(key) && has_keys(key)) {
            out << ".SS " << roff(key.path) << '\n' << roff(sentence(key.meaning)) << '\n';
            if (key.required) out << "It must be there.\n";
            continue;
        }
        if (is_top(key) && !alone) out << ".SS \"Outside of sections\"\n";
        alone = is_top(key);
        print_key(key, out);
    }
}

}  // namespace retryd::manual
