// The configuration, as retryd.yaml(5) and docs/configuration.md show it.
#include "config/keys.h"

#include <ostream>
#include <sstream>

#include "blocks.h"
#include "roff.h"

namespace retryd::manual {
namespace {

using config::KeyInfo;
using config::KeyKind;

/// As the manual names it: NAME is the operator's to choose, [] is one item of a list.
std::string shown(std::string path) {
    const std::size_t star = path.find(".*");
    if (star != std::string::npos) path.replace(star, 2, ".NAME");
    return path;
}

bool is_top(const KeyInfo& key) {
    return key.path.find('.') == std::string::npos;
}

bool has_keys(const KeyInfo& key) {
    return key.kind == KeyKind::section || key.kind == KeyKind::named_sections || key.kind == KeyKind::sections;
}

void print_key(const KeyInfo& key, std::ostream& out) {
    out << ".TP\n" << bold(shown(key.path));
    if (key.value.required) out << " (required)";
    if (!key.value.default_value.empty()) out << " (default: " << roff(key.value.default_value) << ')';
    out << '\n' << roff(sentence(key.description)) << '\n';
    if (key.value.expected.empty() || key.kind == KeyKind::sections) return;
    out << ".br\n"
        << (key.kind == KeyKind::list ? "A list; each item: " : "Expected: ") << roff(key.value.expected) << ".\n";
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
    if (key.kind == KeyKind::section) return "a section";
    if (key.kind == KeyKind::list) return "a list; each item: " + key.value.expected;
    return key.value.default_value.empty() ? key.value.expected
                                           : key.value.expected.substr(0, key.value.expected.find(", such as "));
}

std::string default_of(const KeyInfo& key) {
    if (key.value.required) return "required";
    return key.value.default_value.empty() ? "" : '`' + key.value.default_value + '`';
}

void print_row(const KeyInfo& key, std::ostream& out) {
    out << "\n| `" << shown(key.path) << "` | " << cell(type_of(key)) << " | " << default_of(key) << " | "
        << cell(sentence(key.description)) << " |";
}

constexpr const char* table_head = "| key | type | default | description |\n|---|---|---|---|";

std::string table_of(const KeyInfo& section, const std::vector<KeyInfo>& keys) {
    std::ostringstream out;
    out << sentence(section.description) << (section.value.required ? " This section is required." : "") << "\n\n"
        << table_head;
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
            out << ".SS " << roff(key.path) << '\n' << roff(sentence(key.description)) << '\n';
            if (key.value.required) out << "This section is required.\n";
            continue;
        }
        if (is_top(key) && !alone) out << ".SS \"Outside of sections\"\n";
        alone = is_top(key);
        print_key(key, out);
    }
}

}  // namespace retryd::manual
