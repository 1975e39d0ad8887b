#include "commands/parked/list_and_show.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "admin/edit.h"
#include "admin/rabbitmqctl.h"
#include "admin/replay.h"
#include "commands/common/json.h"
#include "commands/common/report.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/browser.h"
#include "commands/parked/message_line.h"
#include "commands/parked/value_view.h"
#include "core/message.h"
#include "core/safe_text.h"
#include "core/text.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

constexpr std::size_t longest_kept_value = 200;
constexpr std::size_t most_printed = 100;

using ValueGroup = std::pair<GroupValue, ParkedGroup>;

GroupValue value_of_header(const core::Value* value) {
    if (value == nullptr) return {};
    auto text = admin::header_text(value);
    return text ? GroupValue{std::move(*text)} : GroupValue{text_of_value(*value), false};
}

std::vector<ValueGroup> largest_first(const ValueGroups& groups) {
    std::vector<ValueGroup> sorted(groups.all().begin(), groups.all().end());
    std::stable_sort(sorted.begin(), sorted.end(), [](const ValueGroup& left, const ValueGroup& right) {
        return left.second.messages > right.second.messages;
    });
    return sorted;
}

std::string age_of(const std::optional<std::uint64_t>& seconds, core::WallTime now) {
    return seconds ? age(*seconds, now) : "(unknown)";
}

std::vector<std::string> row_of(const std::string& value, const ParkedGroup& group, core::WallTime now,
                                const std::string& options) {
    return {value,
            std::to_string(group.messages),
            age_of(group.oldest, now),
            age_of(group.newest, now),
            std::to_string(group.replayed),
            options};
}

Json json_of_group(const ParkedGroup& group) {
    return {{"messages", group.messages},
            {"bytes", group.bytes},
            {"oldest", group.oldest ? Json(utc(*group.oldest)) : Json()},
            {"newest", group.newest ? Json(utc(*group.newest)) : Json()},
            {"replayed_before", group.replayed}};
}

}  // namespace

GroupValue value_by(const std::string& by, const admin::Parked& parked, const core::Message& message) {
    if (by == "reason") return {std::string{parked.reason}};
    if (by == "queue") return {std::string{parked.queue}};
    if (by == "type") return {std::string{message.properties.type.value_or(std::string_view{})}};
    if (by == "exchange") return {std::string{admin::exchange_of(parked)}};
    return value_of_header(core::find(message.properties.header_table(), by));
}

/// Empty for values with * or ?, which as a glob would select more than was counted, for messages without a value, and
/// for headers with a = in their name.
std::string options_for(const std::string& by, const GroupValue& group) {
    const std::string& value = group.text;
    const bool printable = !value.empty() && value.size() < longest_kept_value && value.find('\0') == value.npos;
    if (!printable || !group.selectable) return "";
    if (by == "reason" || by == "queue" || by == "exchange" || by == "type")
        return "--" + by + ' ' + admin::shell_word(value);
    return by.find('=') != std::string::npos ? "" : "--header " + admin::shell_word(by + "=" + value);
}

void ValueGroups::add(const GroupValue& value, const admin::Parked& parked, const core::Message& message) {
    const GroupValue kept{shortened(value.text, longest_kept_value), value.selectable};
    const bool room = groups_.size() < most_values || groups_.count(kept) > 0;
    count_into(room ? groups_[kept] : others_, parked, message);
}

void print_groups(const std::string& by, const ValueGroups& groups, core::WallTime now, std::ostream& out) {
    Rows rows{{core::safe_name(by), "messages", "oldest", "newest", "replayed before", "selected by"}};
    const auto sorted = largest_first(groups);
    ParkedGroup rest = groups.others();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const auto& [value, group] = sorted[i];
        if (i < most_printed) {
            const std::string shown = value.text.empty() ? "(none)" : core::safe_name(value.text);
            rows.push_back(row_of(shown, group, now, options_for(by, value)));
        } else {
            rest.messages += group.messages;
        }
    }
    print_table(rows, "  ", out);
    if (rest.messages > 0)
        out << "  and " << counted(rest.messages, "message", "messages") << " with other values; --json has up to "
            << ValueGroups::most_values << " of them\n";
}

Json json_of_groups(const std::string& by, const ValueGroups& groups) {
    Json list = Json::array();
    for (const auto& [value, group] : largest_first(groups)) {
        Json object;
        put_text(object, "value", value.text);
        object.update(json_of_group(group));
        object["selected_by"] = text_or_null(options_for(by, value));
        list.push_back(std::move(object));
    }
    if (groups.others().messages > 0) {
        Json object{{"value", Json()}, {"others", true}};
        object.update(json_of_group(groups.others()));
        list.push_back(std::move(object));
    }
    return list;
}

namespace {

/// Processes each message during the look, so that none has to be kept.
class Lister {
  public:
    Lister(const ListOptions& options, const config::Settings& settings, const ParkingQueuesBrowser& browser,
           const Report& output)
        : options_(options), settings_(settings), browser_(browser), output_(output) {}

    /// False: nobody reads the output any more.
    bool visit(const std::string& from, const core::Delivery& delivery, std::size_t number) {
        if (options_.by.empty() && !options_.messages) return true;
        // If the look at a queue has started over, it is counted again, and nothing is printed twice.
        if (number <= last_) groups_[from] = {};
        last_ = number;
        const core::Message& message = delivery.message;
        const admin::Parked parked =
            admin::read_parked(message.properties.header_table(), settings_.policy.error_queue, browser_.proof_keys());
        if (!options_.by.empty()) groups_[from].add(value_by(options_.by, parked, message), parked, message);
        if (options_.messages && number > printed_) print(from, message, parked, number);
        return output_.out().good();
    }

    /// A look that started over may have seen nothing the second time.
    void forget_empty(const ParkedOverview& overview) {
        for (const ParkingQueueOverview& queue : overview.queues) {
            if (queue.selected.messages() == 0) groups_.erase(queue.name);
        }
    }

    /// Puts these groups in the place of those by work queue and reason.
    void put_groups(Json& queues) const {
        if (options_.by.empty()) return;
        for (Json& queue : queues) {
            const auto found = groups_.find(queue.at("queue").get<std::string>());
            queue["groups"] = found == groups_.end() ? Json::array() : json_of_groups(options_.by, found->second);
        }
    }

    void print_all_groups() const {
        const Bold bold{output_.colour()};
        for (const auto& [from, groups] : groups_) {
            output_.out() << '\n' << bold(core::safe_name(from) + " by " + core::safe_name(options_.by)) << '\n';
            print_groups(options_.by, groups, browser_.now(), output_.out());
        }
    }

  private:
    void print(const std::string& from, const core::Message& message, const admin::Parked& parked, std::size_t number) {
        printed_ = number;
        const core::Properties& properties = message.properties;
        if (output_.json()) {
            Json object{{"number", number}};
            put_text(object, "parking_queue", from);
            put_text(object, "work_queue", parked.queue);
            put_text(object, "reason", parked.reason);
            object["parked_at"] = parked.at ? Json(utc(*parked.at)) : Json();
            put_text(object, "exchange", admin::exchange_of(parked));
            put_text(object, "type", properties.type.value_or(std::string_view{}));
            put_text(object, "message_id", properties.message_id.value_or(std::string_view{}));
            object["bytes"] = message.body.size();
            return print_json(object, output_.out(), true);
        }
        constexpr std::size_t longest = 60;
        const auto text = [&](std::string_view value) { return or_unknown(shortened(value, longest)); };
        std::string line = "--number " + std::to_string(number) + "  " + text(parked.queue) + "  " +
                           text(parked.reason) + "  " + (parked.at ? age(*parked.at, browser_.now()) : "(unknown)") +
                           "  " + std::to_string(message.body.size()) + " bytes";
        if (properties.type) line += "  type " + text(*properties.type);
        if (properties.message_id) line += "  --id " + admin::word_as_typed(shortened(*properties.message_id, longest));
        output_.out() << line << '\n';
    }

    const ListOptions& options_;
    const config::Settings& settings_;
    const ParkingQueuesBrowser& browser_;
    const Report& output_;
    std::map<std::string, ValueGroups> groups_;  // by parking queue
    std::size_t last_ = 0;
    std::size_t printed_ = 0;
};

}  // namespace

int parked_list(const ParkedOptions& options, const ListOptions& list, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        std::ostream no_bar(nullptr);
        if (list.messages)
            std::signal(SIGPIPE, SIG_IGN);  // if the output is piped to `head`, the look still ends cleanly
        Foreground foreground(list.messages && standard_output_is_terminal() ? no_bar : output.err());
        ParkingQueuesBrowser browser(settings, options, system::wall_now(), foreground.stop(), foreground);
        Lister lister(list, settings, browser, output);
        const ParkedOverview overview =
            browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t number) {
                return lister.visit(from, delivery, number);
            });
        if (!overview.fault.empty()) return output.fail(overview.fault, exit_code::failed);
        lister.forget_empty(overview);
        const bool complete = overview.complete() && out.good();
        if (output.json()) {
            Json queues = json_of(overview);
            lister.put_groups(queues);
            const Json object{{"ok", complete},
                              {"selected", overview.selected()},
                              {"queues", std::move(queues)},
                              {"not_seen", overview.notes}};
            print_json(object, out, list.messages);
        } else {
            print_overview(overview, browser.now(), output.colour(), out);
            lister.print_all_groups();
        }
        return complete ? exit_code::fine : exit_code::failed;
    });
}

namespace {

/// A header's value may be as long as a frame.
constexpr std::size_t longest_value = 2'000;

std::string moment(const std::optional<std::uint64_t>& seconds, core::WallTime now) {
    return seconds ? utc(*seconds) + ", " + age(*seconds, now) + " ago" : "(unknown)";
}

std::string names_of(const std::vector<std::string_view>& fields) {
    std::string names;
    for (const std::string_view field : fields)
        names += (names.empty() ? "" : ", ") + core::safe_name(field);
    return names;
}

Rows history_rows(const std::string& from, const core::Message& message, const admin::Parked& parked,
                  core::WallTime now) {
    const core::ComposeContext context{parked.death, parked.carried, {}};
    const auto exchange = admin::exchange_of(parked);
    Rows rows{{"parking queue", core::safe_name(from)},
              {"work queue", or_unknown(parked.queue)},
              {"parked because", or_unknown(parked.reason)},
              {"parked at", moment(parked.at, now)},
              {"last death", or_unknown(parked.death_reason)},
              {"attempts", parked.attempts > 0 ? std::to_string(parked.attempts) : "(unknown)"},
              {"first death", moment(parked.carried.first_death, now)},
              {"published to", "exchange \"" + core::safe_name(exchange) + "\", routing key \"" +
                                   core::safe_name(core::producer_routing_key(context)) + "\""}};
    if (!parked.by_retryd) {
        rows.push_back({"proof",
                        "(none: its retryd-… headers may be anybody's; its work queue is known from x-death "
                        "alone)"});
    }
    for (const admin::Replay& replay : admin::read_replays(message.properties.header_table()))
        rows.push_back({"replayed", utc(replay.time) + " to " + core::safe_name(replay.to) + ", after " +
                                        std::to_string(replay.attempts) + " attempts, run " +
                                        core::safe_name(replay.id)});
    for (const admin::Edit& edit : admin::read_edits(message.properties.header_table()))
        rows.push_back({"edited", utc(edit.time) + " by " + or_unknown(edit.by) + ": " + names_of(edit.fields)});
    return rows;
}

Rows property_rows(const core::Properties& properties) {
    Rows rows;
    for (const core::TextProperty& each : core::text_properties) {
        if (properties.*each.value) rows.push_back({each.name, core::safe_name(*(properties.*each.value))});
    }
    if (properties.delivery_mode) rows.push_back({"delivery-mode", std::to_string(*properties.delivery_mode)});
    if (properties.priority) rows.push_back({"priority", std::to_string(*properties.priority)});
    if (properties.timestamp) rows.push_back({"timestamp", utc(*properties.timestamp)});
    return rows;
}

Rows header_rows(const core::Table& headers) {
    Rows rows;
    for (const core::Field& field : headers)
        rows.push_back({core::safe_name(field.name), shortened(text_of_value(field.value), longest_value)});
    return rows;
}

void print_part(const std::string& title, const Rows& rows, const Bold& bold, std::ostream& out) {
    if (rows.empty()) return;
    out << '\n' << bold(title) << '\n';
    print_table(rows, "  ", out);
}

void print_message(const std::string& from, const core::Message& message, const admin::Parked& parked,
                   core::WallTime now, bool colour, std::ostream& out) {
    const Bold bold{colour};
    print_table(history_rows(from, message, parked, now), "", out);
    print_part("Properties", property_rows(message.properties), bold, out);
    print_part("Headers", header_rows(message.properties.header_table()), bold, out);
    const BodyView body = view_of_body(message.body, message.properties.content_encoding);
    out << '\n' << bold("Body") << " (" << body.title << ")\n" << body.text;
    if (!body.text.empty() && body.text.back() != '\n') out << '\n';
}

Json json_of_message(const std::string& from, const core::Message& message, const admin::Parked& parked) {
    Json object{{"ok", true}};
    put_text(object, "parking_queue", from);
    put_text(object, "work_queue", parked.queue);
    put_text(object, "reason", parked.reason);
    object["parked_at"] = parked.at ? Json(utc(*parked.at)) : Json();
    object["attempts"] = parked.attempts;
    object["proven"] = parked.by_retryd;
    object["properties"] = json_of_properties(message.properties);
    object["headers"] = json_of_table(message.properties.header_table());
    put_text(object, "body", message.body);
    return object;
}

void print(const FoundMessage& found, const config::Settings& settings, const ParkingQueuesBrowser& browser, bool raw,
           const Report& output) {
    const core::Message& message = found.message();
    const admin::Parked parked =
        admin::read_parked(message.properties.header_table(), settings.policy.error_queue, browser.proof_keys());
    if (raw) {
        output.out() << message.body;
    } else if (output.json()) {
        print_json(json_of_message(found.from, message, parked), output.out());
    } else {
        print_message(found.from, message, parked, browser.now(), output.colour(), output.out());
    }
}

}  // namespace

int parked_show(const ParkedOptions& options, const ShowOptions& show, std::ostream& out, std::ostream& err) {
    const Report output(options.report, out, err);
    return output.run([&](const config::Settings& settings) {
        Foreground foreground(output.err());
        ParkingQueuesBrowser browser(settings, options, system::wall_now(), foreground.stop(), foreground);
        const OneMessage one = find_one(browser, show.number);
        if (!one.fault.empty()) return output.fail(one.fault, exit_code::failed);
        print(*one.found, settings, browser, show.raw, output);
        return exit_code::fine;
    });
}

}  // namespace retryd::commands
