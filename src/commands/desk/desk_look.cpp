// What only looks: groups of parked messages, a page of them, one message with its story.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "admin/edit.h"
#include "admin/parked.h"
#include "admin/replay.h"
#include "commands/common/text.h"
#include "commands/desk/desk_scene.h"
#include "commands/parked/browser.h"
#include "commands/parked/list_and_show.h"
#include "commands/parked/message_line.h"
#include "commands/parked/value_view.h"
#include "core/message.h"
#include "core/names.h"
#include "core/text.h"
#include "core/verdict.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

Json time_of(const std::optional<std::uint64_t>& seconds) {
    return seconds ? Json(utc(*seconds)) : Json();
}

/// Whether the text of a group, used as a selection, selects exactly this group: it was not cut and is not a glob.
bool selects_itself(const Json& group, const char* key) {
    constexpr std::size_t shortened_at = 60;
    if (!group.contains(key)) return false;
    const auto& text = group.at(key).get_ref<const std::string&>();
    return !text.empty() && text.size() < shortened_at && !core::is_glob(text);
}

void put_selections(Json& queue) {
    for (Json& group : queue["groups"]) {
        const bool both = selects_itself(group, "work_queue") && selects_itself(group, "reason");
        group["select"] =
            both ? Json{{"from", queue["queue"]}, {"queue", group["work_queue"]}, {"reason", group["reason"]}} : Json();
    }
}

/// Adds the selections to the groups of ValueGroups, where an option can select the group.
void put_selections_by(const std::string& by, Json& queue) {
    for (Json& group : queue["groups"]) {
        group["select"] = Json();
        if (!group.contains("selected_by") || group["selected_by"].is_null() || !group.contains("value")) continue;
        Json select{{"from", queue["queue"]}};
        const bool word = by == "reason" || by == "queue" || by == "exchange" || by == "type";
        if (word) {
            select[by] = group["value"];
        } else {
            select["headers"] = Json::array({Json{{"name", by}, {"value", group["value"]}}});
        }
        group["select"] = std::move(select);
    }
}

}  // namespace

admin::DeskOutcome desk_groups(DeskScene& scene) {
    const std::string& by = scene.request.by;
    ParkingQueuesBrowser browser(scene.settings, scene.request.parked, system::wall_now(), scene.stop, scene.progress);
    std::map<std::string, ValueGroups> groups;  // by parking queue
    std::size_t last = 0;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
            if (by.empty()) return true;
            if (number <= last) groups[from] = {};  // the look at this queue has started over
            last = number;
            const core::Message& message = delivery.message;
            const auto parked = admin::read_parked(message.properties.header_table(), scene.settings.policy.error_queue,
                                                   browser.proof_keys());
            groups[from].add(value_by(by, parked, message), parked, message);
            return true;
        });
    if (!overview.fault.empty()) return desk_failure(overview.fault);
    Json queues = json_of(overview);
    for (Json& queue : queues) {
        if (by.empty()) {
            put_selections(queue);
            continue;
        }
        const auto found = groups.find(queue["queue"].get<std::string>());
        const bool any = found != groups.end() && queue["selected"].get<std::size_t>() > 0;
        queue["groups"] = any ? json_of_groups(by, found->second) : Json::array();
        put_selections_by(by, queue);
    }
    return desk_outcome({{"ok", overview.complete()},
                         {"selected", overview.selected()},
                         {"queues", std::move(queues)},
                         {"not_seen", overview.notes}},
                        overview.complete(), overview.selected());
}

namespace {

void put_facts(Json& object, const std::string& from, const core::Message& message, const admin::Parked& parked) {
    put_text(object, "parking_queue", from);
    put_text(object, "work_queue", parked.queue);
    put_text(object, "reason", parked.reason);
    object["parked_at"] = time_of(parked.at);
    object["attempts"] = parked.attempts;
    put_text(object, "exchange", admin::exchange_of(parked));
    put_text(object, "routing_key",
             parked.carried.routing_key.value_or(parked.death ? parked.death->routing_key : std::string_view{}));
    put_text(object, "type", message.properties.type.value_or(std::string_view{}));
    put_text(object, "message_id", message.properties.message_id.value_or(std::string_view{}));
    object["bytes"] = message.body.size();
}

Json line_of(const std::string& from, const core::Message& message, const admin::Parked& parked, std::size_t number) {
    Json object{{"number", number}, {"handle", handle_of(message)}};
    put_facts(object, from, message, parked);
    object["replayed_before"] = !admin::newest_replay_id(message.properties.header_table()).empty();
    return object;
}

}  // namespace

/// Ends once the page is full and one more message was seen.
admin::DeskOutcome desk_messages(DeskScene& scene) {
    const DeskRequest& request = scene.request;
    ParkingQueuesBrowser browser(scene.settings, request.parked, system::wall_now(), scene.stop, scene.progress);
    std::map<std::size_t, Json> page;  // by number
    bool more = false;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
            page.erase(page.lower_bound(number), page.end());  // the look has started over
            more = number > request.after + request.limit;
            if (more || number <= request.after) return !more;
            const core::Message& message = delivery.message;
            const auto parked = admin::read_parked(message.properties.header_table(), scene.settings.policy.error_queue,
                                                   browser.proof_keys());
            page.emplace(number, line_of(from, message, parked, number));
            return true;
        });
    if (!overview.fault.empty()) return desk_failure(overview.fault);
    Json messages = Json::array();
    for (auto& [number, line] : page)
        messages.push_back(std::move(line));
    const std::size_t shown = messages.size();
    Json queues = json_of(overview);
    for (Json& queue : queues)
        put_selections(queue);
    return desk_outcome({{"ok", overview.complete()},
                         {"selected", overview.selected()},
                         {"more", more},
                         {"messages", std::move(messages)},
                         {"queues", std::move(queues)},
                         {"not_seen", overview.notes}},
                        overview.complete(), shown);
}

namespace {

void put_field(Json& object, const char* key, const core::Table& entry, std::string_view name) {
    put_text(object, key, core::text_of(core::find(entry, name)).value_or(std::string_view{}));
}

/// The deaths in x-death, the newest first. A client may have forged them and put anything there.
Json deaths_of(const core::Table& headers) {
    constexpr std::size_t most = 100;
    Json list = Json::array();
    for (const core::Value& value : core::array_of(core::find(headers, "x-death")).value_or(core::Array{})) {
        const auto entry = core::table_of(&value);
        if (!entry || list.size() == most) break;
        Json death;
        put_field(death, "queue", *entry, "queue");
        put_field(death, "reason", *entry, "reason");
        put_field(death, "exchange", *entry, "exchange");
        put_field(death, "original_expiration", *entry, "original-expiration");
        const auto count = core::integer_of(core::find(*entry, "count"));
        death["count"] = count ? Json(*count) : Json();
        const core::Value* const time = core::find(*entry, "time");
        const auto* const seconds = time == nullptr ? nullptr : std::get_if<std::uint64_t>(&time->data);
        death["time"] = seconds == nullptr ? Json() : Json(utc(*seconds));
        death["routing_keys"] = Json::array();
        for (const core::Value& key : core::array_of(core::find(*entry, "routing-keys")).value_or(core::Array{})) {
            const auto text = core::text_of(&key);
            if (text) death["routing_keys"].push_back(std::string{*text});
        }
        list.push_back(std::move(death));
    }
    return list;
}

Json replays_of(const core::Table& headers) {
    Json list = Json::array();
    for (const admin::Replay& replay : admin::read_replays(headers)) {
        Json object{{"time", utc(replay.time)}};
        put_text(object, "run", replay.id);
        put_text(object, "from", replay.from);
        put_text(object, "to", replay.to);
        put_text(object, "parked_reason", replay.parked_reason);
        object["attempts"] = replay.attempts;
        list.push_back(std::move(object));
    }
    return list;
}

Json edits_of(const core::Table& headers) {
    Json list = Json::array();
    for (const admin::Edit& edit : admin::read_edits(headers)) {
        Json object{{"time", utc(edit.time)}};
        put_text(object, "by", edit.by);
        object["fields"] = Json::array();
        for (const std::string_view field : edit.fields)
            object["fields"].push_back(std::string{field});
        list.push_back(std::move(object));
    }
    return list;
}

void put_story(Json& object, const core::Table& headers, const admin::Parked& parked) {
    object["proven"] = parked.by_retryd;
    put_text(object, "last_death_reason", parked.death_reason);
    object["first_death"] = time_of(parked.carried.first_death);
    put_text(object, "verdict_reason",
             core::text_of(core::find(headers, core::verdict_header::retry_reason)).value_or(std::string_view{}));
    object["deaths"] = deaths_of(headers);
    object["replays"] = replays_of(headers);
    object["edits"] = edits_of(headers);
}

}  // namespace

admin::DeskOutcome desk_show(DeskScene& scene) {
    ParkingQueuesBrowser browser(scene.settings, scene.request.parked, system::wall_now(), scene.stop, scene.progress);
    const OneMessage one = find_one(browser, 1);
    if (!one.fault.empty()) return desk_failure(one.fault);
    const core::Message& message = one.found->message();
    const core::Table headers = message.properties.header_table();
    const auto parked = admin::read_parked(headers, scene.settings.policy.error_queue, browser.proof_keys());
    Json object{{"ok", true}, {"handle", scene.request.message}};
    put_facts(object, one.found->from, message, parked);
    put_story(object, headers, parked);
    object["properties"] = json_of_properties(message.properties);
    object["headers"] = exact_json_of(headers);
    const std::vector<core::Field> editable = admin::editable_headers(message);
    object["editable_headers"] = exact_json_of(core::Table{editable.data(), editable.size()});
    const std::string_view body = message.body.substr(0, scene.request.body_limit);
    object["body_base64"] = base64(body);
    object["body_cut"] = body.size() < message.body.size();
    object["body_is_utf8"] = core::valid_utf8_length(message.body) == message.body.size();
    return desk_outcome(std::move(object), true, 1);
}

}  // namespace retryd::commands
