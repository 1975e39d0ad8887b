// The configuration as config/retryd.yaml shows it: every key in its place, with its default, what it is for and what
// is expected. A key without a default is commented out and has an example, and so is a section that needs such a key.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "blocks.h"
#include "config/keys.h"

namespace retryd::manual {
namespace {

using config::KeyInfo;
using config::KeyKind;
using config::ScalarInfo;

constexpr std::size_t widest_line = 118;
/// The name of the one ladder, which the example of queues[].ladder refers to.
constexpr const char* ladder_name = "standard";
/// A section whose keys all have defaults, and which does something by being there.
constexpr const char* off_by_default = "queues[].outage";

/// Quoted where YAML would take the plain text for something else.
std::string as_yaml(const std::string& value) {
    return value.find_first_of("{}[]*#&!|>%@`\"'") == 0 ? '"' + value + '"' : value;
}

std::string value_of(const ScalarInfo& value) {
    return value.example.empty() ? as_yaml(value.default_value) : value.example;
}

/// The choices and bounds, behind the value; not that a text is a text.
std::string expected_of(const KeyInfo& key) {
    const config::Type type = key.value.type;
    if (type == config::Type::text || type == config::Type::boolean) return "";
    const std::string& expected = key.value.expected;
    return (key.kind == KeyKind::list ? "  # each " : "  # ") + expected.substr(0, expected.find(", such as "));
}

class Reference {
  public:
    Reference(const std::vector<KeyInfo>& keys, std::ostream& out) : keys_(keys), out_(out) {}

    /// The keys whose paths begin with `prefix`, indented.
    void print(const std::string& prefix, std::size_t indent) {
        bool first = true;
        for (const KeyInfo& key : keys_) {
            if (!key.path.starts_with(prefix)) continue;
            const std::string name = key.path.substr(prefix.size());
            if (name.find_first_of(".[*") != std::string::npos) continue;  // a key of a section in it
            if (!first && !off_ && has_room(prefix)) out_ << '\n';
            comment(key.description, dash_ ? indent - 2 : indent);
            print_key(key, name, indent);
            first = false;
        }
    }

  private:
    /// Whether a blank line separates the keys: not in the small sections within a section.
    static bool has_room(const std::string& prefix) {
        const std::size_t first = prefix.find('.');
        const bool within_section = first != std::string::npos && first + 1 < prefix.size();
        return !within_section || prefix == "ladders.*.";
    }

    void print_key(const KeyInfo& key, const std::string& name, std::size_t indent) {
        switch (key.kind) {
            case KeyKind::value:
            case KeyKind::list:
                return print_value(key, name, indent);
            case KeyKind::section:
                return print_section(name, key.path + ".", indent,
                                     needs_a_value(key.path + ".") || key.path == off_by_default);
            case KeyKind::value_or_section:
                print_value(key, name, indent);
                comment("Or:", indent);
                return print_section(name, key.path + ".", indent, true);
            case KeyKind::named_sections:
                line(name + ":", indent);
                return print_section(ladder_name, key.path + ".*.", indent + 2, false);
            case KeyKind::sections: {
                const auto before = begin_off(!key.value.required, indent);
                line(name + ":", indent);
                dash_ = true;
                print(key.path + "[].", indent + 4);
                off_ = before;
            }
        }
    }

    void print_value(const KeyInfo& key, const std::string& name, std::size_t indent) {
        // A ladder needs delays or a formula; this one has delays.
        const bool set = key.value.example.empty() || key.value.required || key.path == "ladders.*.delays";
        const auto before = begin_off(!set, indent);
        const std::string text = name + ": " + value_of(key.value) + expected_of(key);
        if (dash_) {
            line("- " + text, indent - 2);
        } else {
            line(text, indent);
        }
        dash_ = false;
        off_ = before;
    }

    void print_section(const std::string& name, const std::string& prefix, std::size_t indent, bool off) {
        const auto before = begin_off(off, indent);
        line(name + ":", indent);
        print(prefix, indent + 2);
        off_ = before;
    }

    /// Whether the section has a required key, which has no default.
    bool needs_a_value(const std::string& prefix) const {
        return std::any_of(keys_.begin(), keys_.end(), [&](const KeyInfo& key) {
            return key.value.required && key.path.starts_with(prefix) &&
                   key.path.find_first_of(".[", prefix.size()) == std::string::npos;
        });
    }

    /// From here on lines are commented out, if they are not yet. Returns what `off_` was.
    std::optional<std::size_t> begin_off(bool off, std::size_t indent) {
        const auto before = off_;
        if (off && !off_) off_ = indent;
        return before;
    }

    void line(const std::string& text, std::size_t indent) {
        if (off_) {
            out_ << std::string(*off_, ' ') << "# " << std::string(indent - *off_, ' ') << text << '\n';
        } else {
            out_ << std::string(indent, ' ') << text << '\n';
        }
    }

    void comment(std::string_view text, std::size_t indent) {
        std::string row = "#";
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find(' ', at), text.size());
            const std::string_view word = text.substr(at, end - at);
            if (indent + row.size() + 1 + word.size() > widest_line) {
                line(row, indent);
                row = "#";
            }
            row.append(" ").append(word);
            at = end + 1;
        }
        line(row, indent);
    }

    const std::vector<KeyInfo>& keys_;
    std::ostream& out_;
    std::optional<std::size_t> off_;  // lines are commented out, at this column
    bool dash_ = false;               // the next key is the first one of a list's item
};

}  // namespace

void print_reference(std::ostream& out) {
    const std::vector<KeyInfo> keys = config::all_keys();
    Reference{keys, out}.print("", 0);
}

}  // namespace retryd::manual
