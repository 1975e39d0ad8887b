#include "commands/parked/edit_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "admin/edit.h"
#include "commands/common/json.h"
#include "commands/common/text.h"
#include "commands/parked/value_view.h"
#include "core/safe_text.h"
#include "core/text.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

constexpr std::string_view body_line_begins = "----- body";
constexpr std::string_view body_as_it_is = "----- body, as it is -----";
constexpr std::string_view body_is_json =
    "----- body, JSON: goes without the blanks and line ends between its values, as it came -----";
constexpr std::string_view body_is_json_begins = "----- body, JSON";

std::string indented_by(const std::string& json, std::size_t by) {
    std::string text;
    for (const char c : json) {
        text += c;
        if (c == '\n') text.append(by, ' ');
    }
    return text;
}

/// Each header on a line of its own if it fits.
std::string text_of_headers(const core::Message& message) {
    const std::vector<core::Field> fields = admin::editable_headers(message);
    std::string text;
    for (const Json& header : exact_json_of(core::Table{fields.data(), fields.size()})) {
        const bool nested = header.contains("value") && header["value"].is_structured();
        text += text.empty() ? "\n    " : ",\n    ";
        text += indented_by(telemetry::to_safe_json(header, nested ? 2 : -1), 4);
    }
    return text.empty() ? "[]" : "[" + text + "\n  ]";
}

enum class BodyForm { text, json, in_object };

/// `shown`: the body as shown below the line of dashes.
BodyForm form_of(std::string_view body, std::string& shown) {
    shown = body;
    if (core::valid_utf8_length(body) != body.size() || core::safe_lines(body) != body) return BodyForm::in_object;
    const auto json = indent_json(body);
    if (!json || *json == body || compact_json(*json) != body) return BodyForm::text;
    shown = *json;
    return BodyForm::json;
}

void put_body(Json& object, std::string_view body) {
    if (mostly_controls(body)) {
        object["body_base64"] = base64(body);
    } else {
        put_text(object, "body", body);
    }
}

}  // namespace

std::string text_for_editor(const core::Message& message, const std::string& comments) {
    std::string shown;
    const BodyForm form = form_of(message.body, shown);
    std::string text;
    for (std::size_t at = 0; at < comments.size();) {
        const std::size_t end = std::min(comments.find('\n', at), comments.size());
        text += "// " + core::safe_line(comments.substr(at, end - at)) + '\n';
        at = end + 1;
    }
    text +=
        "{\n  \"properties\": " + indented_by(telemetry::to_safe_json(json_of_properties(message.properties), 2), 2);
    text += ",\n  \"headers\": " + text_of_headers(message);
    if (form == BodyForm::in_object) {
        Json body = Json::object();
        put_body(body, message.body);
        const std::string member = telemetry::to_safe_json(body);
        return text + ",\n  " + member.substr(1, member.size() - 2) + "\n}\n";
    }
    const std::string_view line = form == BodyForm::json ? body_is_json : body_as_it_is;
    return text + "\n}\n" + std::string{line} + '\n' + shown + '\n';
}

namespace {

/// The text above the line of dashes and the body below it.
struct EditedParts {
    std::string_view object;
    std::optional<std::string_view> body;
    bool json = false;
};

EditedParts parts_of(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string_view line = text.substr(at, end - at);
        if (line.starts_with(body_line_begins)) {
            std::string_view body = text.substr(std::min(end + 1, text.size()));
            if (body.ends_with('\n')) body.remove_suffix(1);
            return {text.substr(0, at), body, line.starts_with(body_is_json_begins)};
        }
        at = end + 1;
    }
    return {text, std::nullopt, false};
}

/// The message without the name of the library's exception: "parse error at line 5, column 3: …".
std::string words_of(const Json::parse_error& error) {
    const std::string words = error.what();
    const auto name_ends = words.find("] ");
    return name_ends == std::string::npos ? words : words.substr(name_ends + 2);
}

/// Finds what the parser accepts silently: duplicate keys, and nesting deeper than a header's.
class ParseWatch {
  public:
    bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
        constexpr int deepest = 2 * deepest_headers + 10;
        if (depth > deepest) throw std::invalid_argument("it nests too deep");
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        if (event == Json::parse_event_t::object_end) keys_.pop_back();
        if (event == Json::parse_event_t::key && !keys_.back().insert(parsed.get<std::string>()).second)
            throw std::invalid_argument("it has " + core::quoted(parsed.get<std::string>()) + " twice in one object");
        return true;
    }

  private:
    std::vector<std::set<std::string>> keys_;
};

Json parsed(std::string_view text) {
    ParseWatch watch;
    const auto callback = [&](int depth, Json::parse_event_t event, const Json& json) {
        return watch(depth, event, json);
    };
    return Json::parse(text, callback, true, true);
}

/// An unknown name is probably a typing error.
void require_known(const Json& object, std::initializer_list<std::string_view> known, const std::string& where) {
    if (!object.is_object()) throw std::invalid_argument(where + " is no object");
    for (const auto& [key, value] : object.items()) {
        const bool coded = key.ends_with("_base64");
        const std::string name = coded ? key.substr(0, key.size() - std::string_view{"_base64"}.size()) : key;
        if (std::find(known.begin(), known.end(), name) == known.end())
            throw std::invalid_argument("nothing in " + where + " is called " + core::quoted(key));
    }
}

void require_known_properties(const Json& properties) {
    require_known(properties,
                  {"content-type", "content-encoding", "correlation-id", "reply-to", "expiration", "message-id", "type",
                   "user-id", "app-id", "cluster-id", "delivery-mode", "priority", "timestamp"},
                  "`properties`");
}

void require_known_in_headers(const Json& value) {
    if (value.is_object()) {
        require_known(value, {"name", "type", "value", "base64"}, "a header");
        if (value.contains("value")) require_known_in_headers(value["value"]);
    } else if (value.is_array()) {
        for (const Json& element : value)
            require_known_in_headers(element);
    }
}

void require_editable(const core::Message& message) {
    for (const core::Field& field : message.properties.header_table()) {
        if (!admin::is_editable_header(field.name))
            throw std::invalid_argument("the header " + core::quoted(field.name) +
                                        " is retryd's or the broker's own: leave it out");
    }
}

void put_body_behind(Json& object, const EditedParts& parts) {
    if (!parts.body) {
        if (!object.contains("body") && !object.contains("body_base64"))
            throw std::invalid_argument("the line \"" + std::string{body_as_it_is} + "\" is gone, and so is the body");
        return;
    }
    if (object.contains("body") || object.contains("body_base64"))
        throw std::invalid_argument("it has two bodies: in the object, and behind the line of dashes");
    std::string body{*parts.body};
    if (const std::size_t valid = core::valid_utf8_length(body); valid != body.size())
        throw std::invalid_argument("the body is no UTF-8 text from its byte " + std::to_string(valid + 1) +
                                    " on: save it as UTF-8; or give it in the object, as \"body_base64\", and take "
                                    "the line of dashes away with what is behind it");
    if (parts.json) {
        auto compact = compact_json(body);
        if (!compact)
            throw std::invalid_argument(
                "the body is no JSON any more. If that is meant: make the line of dashes above it \"" +
                std::string{body_as_it_is} + '"');
        body = std::move(*compact);
    }
    put_body(object, body);
}

}  // namespace

std::string EditedText::read(std::string_view text) {
    const EditedParts parts = parts_of(text);
    try {
        Json object = parsed(parts.object);
        require_known(object, {"properties", "headers", "body"}, "the object");
        if (object.contains("properties")) require_known_properties(object["properties"]);
        if (object.contains("headers")) require_known_in_headers(object["headers"]);
        put_body_behind(object, parts);
        object["queue"] = "none";
        const std::string problem = line_.read_json(object);
        if (problem.empty()) require_editable(line_.message());
        return problem;
    } catch (const std::invalid_argument& problem) {
        return problem.what();
    } catch (const Json::parse_error& error) {
        return words_of(error);
    }
}

std::optional<std::string> compact_json(std::string_view text) {
    if (!nlohmann::json::accept(text.begin(), text.end())) return std::nullopt;
    std::string compact;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) continue;
        compact += c;
        if (quoted && c == '\\' && at + 1 < text.size()) compact += text[++at];
        if (c == '"') quoted = !quoted;
    }
    return compact;
}

}  // namespace retryd::commands
