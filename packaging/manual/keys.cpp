// The configuration, as retryd.yaml(5) and docs/configuration.md show it.
#include "config/keys.h"

#include <ostream>
#include <sstream>

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

/// Whether it stands below `section`, a name at the top.
bool is_in(const KeyInfo& key, const std::string& section) {
    if (!key.path.starts_with(section) || key.path.size() == section.size()) return false;
    const char next = key.path[section.size()];
    return next == '.' || next == '[';
}

/// Nothing in it ends a table's cell or is emphasis; what stands between backquotes stays code.
std::string cell(std::string_view text) {
    std::string result;
    bool quoted = false;
    for (const char character : text) {
        if (character == '`') quoted = !quoted;
        if (character == '|' || (character == '*' && !quoted)) result += '\\';
        result += character;
    }
    return result;
}

/// What is expected; without its example where the default is one.
std::string type_of(const KeyInfo& key) {
    if (key.type == Type::section) return "a section";
    if (key.type == Type::list) return "a list; each item: " + key.expected;
    return key.fallback.empty() ? key.expected : key.expected.substr(0, key.expected.find(", such as "));
}

std::string default_of(const KeyInfo& key) {
    if (key.required) return "required";
    return key.fallback.empty() ? "" : '`' + key.fallback + '`';
}

void print_row(const KeyInfo& key, std::ostream& out) {
    out << "\n| `" << shown(key.path) << "` | " << cell(type_of(key)) << " | " << default_of(key) << " | "
        << cell(sentence(key.meaning)) << " |";
}

constexpr const char* table_head = "| key | type | default | meaning |\n|---|---|---|---|";

std::string table_of(const KeyInfo& section, const std::vector<KeyInfo>& keys) {
    std::ostringstream out;
    out << sentence(section.meaning) << (section.required ? " It is required." : "") << "\n\n" << table_head;
    for (const KeyInfo& key : keys)
        if (is_in(key, section.path)) print_row(key, out);
    return out.str();
}

}  // namespace

std::map<std::string, std::string> key_tables() {
    const std::vector<KeyInfo> keys = config::all_keys();
    std::map<std::string, std::string> tables;
    std::ostringstream outside;
    outside << table_head;
    for (const KeyInfo& key : keys) {
        if (!is_top(key)) continue;
        if (has_keys(key)) {
            tables.emplace(key.path, table_of(key, keys));
        } else {
            print_row(key, outside);
        }
    }
    tables.emplace("", outside.str());
    return tables;
}

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
