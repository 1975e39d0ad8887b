#include "commands/body_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands/counted.h"
#include "commands/safe_text.h"
#include "core/utf8.h"

namespace retryd::commands {
namespace {

constexpr std::size_t most_text = std::size_t{64} * 1024;
constexpr std::size_t most_hex = std::size_t{4} * 1024;
constexpr std::size_t most_json = std::size_t{1024} * 1024;
constexpr std::size_t deepest_json = 64;

/// What the text is cut to when it is longer, and how the title says so.
BodyView cut_text(const std::string& kind, std::string_view text, std::size_t size) {
    const std::string_view shown = core::utf8_prefix(text, most_text);
    BodyView view{kind + ", " + counted(size, "byte", "bytes"), safe_lines(shown)};
    if (shown.size() < text.size()) {
        view.title += "; cut after " + std::to_string(shown.size()) + ", --raw has all of it";
    }
    return view;
}

BodyView hex(std::string_view body, const std::string& why) {
    const std::string_view shown = body.substr(0, most_hex);
    std::string title = "hex, " + counted(body.size(), "byte", "bytes") + why;
    if (shown.size() < body.size()) title += "; cut after " + std::to_string(shown.size()) + ", --raw has all of it";
    return {title, hex_dump(shown)};
}

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/// Of valid JSON; keeps every token as it is.
class SettingOut {
  public:
    std::optional<std::string> of(std::string_view text) {
        // What is beyond that is cut anyhow, and blanks before deep elements would make it very long.
        for (std::size_t at = 0; at < text.size() && out_.size() <= most_text; ++at) {
            const char c = text[at];
            if (c == '"') {
                at = copy_string(text, at);
            } else if (c == '{' || c == '[') {
                if (!open(c, text.substr(at + 1))) return std::nullopt;
            } else if (c == '}' || c == ']') {
                close(c);
            } else if (c == ',') {
                out_ += c;
                new_line();
            } else if (c == ':') {
                out_ += ": ";
            } else if (!is_blank(c)) {
                out_ += c;
            }
        }
        return std::move(out_);
    }

  private:
    /// The place of its closing quote.
    std::size_t copy_string(std::string_view text, std::size_t from) {
        std::size_t at = from + 1;
        while (text[at] != '"')
            at += text[at] == '\\' ? 2 : 1;
        out_.append(text.substr(from, at - from + 1));
        return at;
    }

    bool open(char c, std::string_view rest) {
        if (++depth_ > deepest_json) return false;
        out_ += c;
        const auto next = std::find_if_not(rest.begin(), rest.end(), is_blank);
        empty_ = *next == '}' || *next == ']';
        if (!empty_) new_line();
        return true;
    }

    void close(char c) {
        --depth_;
        if (!std::exchange(empty_, false)) new_line();
        out_ += c;
    }

    void new_line() { out_.append("\n").append(2 * depth_, ' '); }

    std::string out_;
    std::size_t depth_ = 0;
    bool empty_ = false;
};

bool looks_like_json(std::string_view text) {
    const auto first = std::find_if_not(text.begin(), text.end(), is_blank);
    return first != text.end() && (*first == '{' || *first == '[');
}

}  // namespace

std::optional<std::string> set_out_json(std::string_view text) {
    if (text.size() > most_json || !nlohmann::json::accept(text.begin(), text.end())) return std::nullopt;
    return SettingOut().of(text);
}

BodyView view_of_body(std::string_view body, const std::optional<std::string_view>& content_encoding) {
    if (body.empty()) return {"empty", ""};
    const std::string encoding{content_encoding.value_or("")};
    const bool encoded = !encoding.empty() && encoding != "identity" && encoding != "utf-8" && encoding != "UTF-8";
    if (encoded) return hex(body, ": its content-encoding is " + safe_line(shortened(encoding, 40)));
    if (core::valid_utf8_length(body) != body.size()) return hex(body, "");
    if (looks_like_json(body)) {
        if (const auto json = set_out_json(body)) return cut_text("JSON", *json, body.size());
    }
    return cut_text("text", body, body.size());
}

}  // namespace retryd::commands
