#include "commands/desk/desk_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "commands/common/json.h"
#include "commands/parked/message_line.h"
#include "core/duration.h"
#include "core/fingerprint.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/siphash.h"
#include "core/text.h"
#include "system/random.h"

namespace retryd::commands {

namespace {

constexpr std::size_t longest_name = 255;  // in AMQP
constexpr std::size_t largest_number = 1'000'000'000;

/// Thrown and caught within this file.
struct WrongRequest {
    std::string text;
    std::string code = "bad_request";
};

/// Reads an object key by key; a key that was never read is an unknown one.
class Keys {
  public:
    explicit Keys(const Json& object) : object_(object) {
        if (!object.is_object()) throw WrongRequest{"the body is no JSON object"};
    }

    const Json* find(const std::string& key) {
        known_.insert(key);
        const auto found = object_.find(key);
        return found == object_.end() || found->is_null() ? nullptr : &*found;
    }

    std::string text(const std::string& key, std::size_t longest = longest_name) {
        const Json* const value = find(key);
        if (value == nullptr) return "";
        if (!value->is_string()) throw wrong(key, "a text");
        const auto& text = value->get_ref<const std::string&>();
        if (text.size() > longest) throw wrong(key, "at most " + std::to_string(longest) + " bytes");
        return text;
    }

    bool truth(const std::string& key) {
        const Json* const value = find(key);
        if (value == nullptr) return false;
        if (!value->is_boolean()) throw wrong(key, "true or false");
        return value->get<bool>();
    }

    std::optional<std::size_t> number(const std::string& key, std::size_t least, std::size_t most) {
        const Json* const value = find(key);
        if (value == nullptr) return std::nullopt;
        const bool fits =
            value->is_number_unsigned() && value->get<std::uint64_t>() >= least && value->get<std::uint64_t>() <= most;
        if (!fits) throw wrong(key, "a number from " + std::to_string(least) + " to " + std::to_string(most));
        return value->get<std::size_t>();
    }

    /// Nothing if the value is that word.
    std::optional<std::size_t> number_or(const std::string& key, const std::string& word, std::size_t least,
                                         std::size_t otherwise) {
        const Json* const value = find(key);
        if (value != nullptr && value->is_string() && value->get<std::string>() == word) return std::nullopt;
        if (value != nullptr && !value->is_number()) throw wrong(key, "a number, or \"" + word + "\"");
        return number(key, least, largest_number).value_or(otherwise);
    }

    std::optional<core::Milliseconds> duration(const std::string& key) {
        if (find(key) == nullptr) return std::nullopt;
        const auto time = core::parse_duration(text(key));
        if (!time) throw wrong(key, "a duration: 30s, 10m, 2h, 1d, 1h30m");
        return time;
    }

    std::vector<admin::HeaderMatch> headers(const std::string& key) {
        constexpr std::size_t most = 32;
        constexpr std::size_t longest_value = 4096;
        std::vector<admin::HeaderMatch> matches;
        const Json* const list = find(key);
        if (list == nullptr) return matches;
        if (!list->is_array() || list->size() > most) throw wrong(key, R"(at most 32 of {"name": …, "value": …})");
        for (const Json& each : *list) {
            Keys in(each);
            matches.push_back({in.text("name"), in.text("value", longest_value)});
            in.check_all();
            if (matches.back().name.empty()) throw wrong(key, "a name for each of them");
        }
        return matches;
    }

    std::vector<std::string> handles(const std::string& key) {
        constexpr std::size_t most = 1000;
        std::vector<std::string> handles;
        const Json* const list = find(key);
        if (list == nullptr) return handles;
        if (!list->is_array() || list->empty() || list->size() > most) throw wrong(key, "1 to 1000 handles");
        for (const Json& each : *list) {
            if (!each.is_string() || !is_handle(each.get_ref<const std::string&>()))
                throw wrong(key, "handles, of 32 hex digits each");
            handles.push_back(each.get<std::string>());
        }
        return handles;
    }

    static WrongRequest wrong(const std::string& key, const std::string& expected) {
        return {key + ": expected " + expected};
    }

    void check_all() const {
        for (const auto& [key, value] : object_.items()) {
            if (known_.count(key) == 0) throw WrongRequest{"unknown key " + core::quoted(key)};
        }
    }

  private:
    const Json& object_;
    std::set<std::string> known_;
};

/// The selectors that parked and waiting messages share.
template <typename Options>
void read_common_selection(Keys& keys, Options& options) {
    options.from = keys.text("from");
    options.queue = keys.text("queue");
    options.reason = keys.text("reason");
    options.older_than = keys.duration("older_than");
    options.newer_than = keys.duration("newer_than");
    options.headers = keys.headers("headers");
}

void read_selection(Keys& keys, DeskRequest& request) {
    ParkedOptions& options = request.parked;
    read_common_selection(keys, options);
    options.message_id = keys.text("id");
    options.exchange = keys.text("exchange");
    options.type = keys.text("type");
    options.despite_delivery_limit = keys.truth("despite_delivery_limit");
    request.handles = keys.handles("messages");
    if (!request.handles.empty() && options.from.empty())
        throw WrongRequest{"messages: needs `from`, the parking queue that they are in"};
    request.run.all = keys.truth("all");
}

void read_waiting(Keys& keys, WaitingOptions& options) {
    read_common_selection(keys, options);
    options.first = keys.number("first", 1, largest_number);
    options.all = keys.truth("all");
    options.dry_run = keys.truth("dry_run");
    if (!says_which(options))
        throw WrongRequest{"nothing says which messages are meant; \"all\": true means every one", "select"};
}

void read_run(Keys& keys, DeskRequest& request) {
    read_selection(keys, request);
    request.run.first = keys.number("first", 1, largest_number);
    request.run.dry_run = keys.truth("dry_run");
    if (request.handles.empty() && !says_which(request.parked, request.run))
        throw WrongRequest{"nothing says which messages are meant; \"all\": true means every one", "select"};
}

void read_replay(Keys& keys, ParkedRunOptions& run) {
    run.to = keys.text("to");
    run.per_second =
        static_cast<int>(keys.number_or("rate", "unlimited", 1, static_cast<std::size_t>(run.per_second)).value_or(0));
    run.ramp = keys.truth("ramp");
    run.stop_above = keys.number_or("stop_after", "never", 0, *run.stop_above);
}

void read_one(Keys& keys, DeskRequest& request) {
    request.parked.from = keys.text("from");
    request.message = keys.text("message");
    request.parked.despite_delivery_limit = keys.truth("despite_delivery_limit");
    if (request.parked.from.empty()) throw Keys::wrong("from", "the parking queue of the message");
    if (!is_handle(request.message)) throw Keys::wrong("message", "the handle of a message");
    request.handles = {request.message};
}

void read_edit(Keys& keys, DeskRequest& request) {
    constexpr std::size_t any = 2UL * 1024 * 1024;
    read_one(keys, request);
    request.run.to = keys.text("to");
    if (const Json* const properties = keys.find("properties")) request.properties = *properties;
    if (const Json* const headers = keys.find("headers")) request.headers = *headers;
    for (const char* key : {"body", "body_base64"}) {
        if (keys.find(key) != nullptr) request.body[key] = keys.text(key, any);
    }
    if (request.body.size() > 1)
        throw WrongRequest{"body: is given together with body_base64; expected one of the two"};
}

void read_hold(Keys& keys, DeskRequest& request) {
    request.work_queue = keys.text("queue");
    if (core::is_glob(request.work_queue)) {
        throw WrongRequest{"queue: " + core::quoted(request.work_queue) +
                           " is a pattern and no queue, so nothing was done. Name one work queue; of those that a "
                           "pattern matches each is held, and released, by itself"};
    }
    if (!core::usable_queue_name(request.work_queue))
        throw Keys::wrong("queue", "the name of a work queue: 1 to 255 bytes, without line breaks or NUL");
}

/// The audit file must not reveal the contents of messages.
Json without_contents(const Json& body, bool edit) {
    Json shown = body;
    for (const char* key : {"body", "body_base64", "properties"}) {
        if (shown.contains(key)) shown[key] = "…";
    }
    if (edit && shown.contains("headers")) shown["headers"] = "…";
    return shown;
}

/// Shortens it, because it is kept for every run, and lists of runs are sent.
Json shortened_request(Json shown) {
    if (!shown.contains("messages")) return shown;
    const std::size_t number = shown["messages"].size();
    shown.erase("messages");
    shown["messages_count"] = number;
    return shown;
}

/// JSON that nests deeper than a header may is refused while it is parsed: copying a value recurses through all its
/// levels.
Json parsed_request(const std::string& body) {
    constexpr int deepest = 2 * deepest_headers + 10;
    const auto watch = [](int depth, Json::parse_event_t, const Json&) {
        if (depth > deepest) throw WrongRequest{"the body nests too deep"};
        return true;
    };
    return body.empty() ? Json::object() : Json::parse(body, watch, false);
}

void read_by_action(const std::string& action, Keys& keys, DeskRequest& request) {
    if (action == "parked groups") {
        read_selection(keys, request);
        request.by = keys.text("by");
    } else if (action == "parked messages") {
        constexpr std::size_t largest_page = 500;
        read_selection(keys, request);
        request.after = keys.number("after", 0, largest_number).value_or(0);
        request.limit = keys.number("limit", 1, largest_page).value_or(request.limit);
    } else if (action == "parked show") {
        read_one(keys, request);
        request.body_limit = keys.number("body_limit", 0, request.body_limit).value_or(request.body_limit);
    } else if (action == "parked replay") {
        read_run(keys, request);
        read_replay(keys, request.run);
    } else if (action == "parked drop") {
        read_run(keys, request);
        request.expected = keys.number("expected", 0, largest_number);
    } else if (action == "parked edit") {
        read_edit(keys, request);
    } else if (action == "parked undo") {
        request.replay_run = keys.text("run");
        if (request.replay_run.empty()) throw Keys::wrong("run", "the id of a replay");
        request.waiting.replay = request.replay_run;
        request.waiting.queue = keys.text("queue");
        request.waiting.dry_run = keys.truth("dry_run");
    } else if (action == "waiting list") {
        request.waiting.queue = keys.text("queue");
        request.waiting.from = keys.text("from");
    } else if (action == "queue hold" || action == "queue release") {
        read_hold(keys, request);
    } else {
        read_waiting(keys, request.waiting);
        if (action == "waiting send")
            request.waiting.per_second = static_cast<int>(keys.number_or("rate", "unlimited", 1, 50).value_or(0));
    }
}

}  // namespace

DeskRequest read_request(const std::string& action, const std::string& body) {
    DeskRequest request;
    request.body = Json::object();
    try {
        const Json json = parsed_request(body);
        Keys keys(json);
        read_by_action(action, keys, request);
        keys.check_all();
        request.audited = without_contents(json, action == "parked edit");
        request.shown = shortened_request(request.audited);
    } catch (const WrongRequest& wrong) {
        request.fault = wrong.text;
        request.fault_code = wrong.code;
    }
    return request;
}

namespace {

struct HandleKeys {
    core::SipKey first{system::random_word(), system::random_word()};
    core::SipKey second{system::random_word(), system::random_word()};
};

std::string hash_of(const HandleKeys& keys, std::string_view text) {
    return core::hex(core::siphash(keys.first, text)) + core::hex(core::siphash(keys.second, text));
}

/// The headers without what the broker counts, in an order that does not depend on the broker.
std::vector<core::Field> lasting_headers(const core::Message& message) {
    std::vector<core::Field> fields;
    for (const core::Field& field : message.properties.header_table()) {
        if (field.name != "x-delivery-count" && field.name != "x-acquired-count") fields.push_back(field);
    }
    std::stable_sort(fields.begin(), fields.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return fields;
}

}  // namespace

std::string handle_of(const core::Message& message) {
    static const HandleKeys keys;
    const std::vector<core::Field> fields = lasting_headers(message);
    Json json = Json::array({json_of_properties(message.properties),
                             exact_json_of(core::Table{fields.data(), fields.size()}), hash_of(keys, message.body)});
    return hash_of(keys, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

bool is_handle(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

ChosenMessages::ChosenMessages(const std::vector<std::string>& handles) {
    for (const std::string& handle : handles)
        ++wanted_[handle];
    left_ = wanted_;
}

bool ChosenMessages::take(const core::Message& message) {
    const auto found = left_.find(handle_of(message));
    if (found == left_.end() || found->second == 0) return false;
    --found->second;
    return true;
}

}  // namespace retryd::commands
