#include "commands/parked/browser.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "admin/replay.h"
#include "amqp/error.h"
#include "amqp/proof_keys.h"
#include "amqp/queue_io.h"
#include "commands/common/json.h"
#include "commands/common/terminal.h"
#include "commands/common/text.h"
#include "commands/parked/browse_queue.h"
#include "commands/parked/parked_queues.h"
#include "commands/parked/value_view.h"
#include "core/safe_text.h"

namespace retryd::commands {

admin::Selection selection_of(const ParkedOptions& options, core::WallTime now) {
    admin::Selection selection{options.queue,
                               options.reason,
                               {},
                               {},
                               options.headers,
                               options.message_id,
                               options.exchange,
                               options.type,
                               options.exactly,
                               options.among,
                               options.replay};
    if (options.older_than) selection.parked_before = now - *options.older_than;
    if (options.newer_than) selection.parked_after = now - *options.newer_than;
    return selection;
}

void ParkedGroups::add(const admin::Parked& parked, const core::Message& message) {
    constexpr std::size_t longest_reason = 60;  // a forged reason may be as long as a header
    ++messages_;
    std::pair key{std::string{parked.queue}, shortened(parked.reason, longest_reason)};
    // Without a proof each message may have different values.
    if (groups_.size() >= most && !parked.by_retryd && groups_.count(key) == 0) key = {"", others};
    count_into(groups_[std::move(key)], parked, message);
}

void count_into(ParkedGroup& group, const admin::Parked& parked, const core::Message& message) {
    ++group.messages;
    group.bytes += message.body.size();
    if (!admin::newest_replay_id(message.properties.header_table()).empty()) ++group.replayed;
    if (!parked.at) return;
    group.oldest = std::min(group.oldest.value_or(*parked.at), *parked.at);
    group.newest = std::max(group.newest.value_or(*parked.at), *parked.at);
}

std::size_t ParkedOverview::selected() const {
    std::size_t sum = 0;
    for (const ParkingQueueOverview& queue : queues)
        sum += queue.selected.messages();
    return sum;
}

std::size_t ParkedOverview::undeliverable_selected() const {
    std::size_t sum = 0;
    for (const ParkingQueueOverview& queue : queues)
        sum += queue.undeliverable_selected ? queue.undeliverable() : 0;
    return sum;
}

bool ParkedOverview::complete() const {
    return fault.empty() && !interrupted &&
           std::all_of(queues.begin(), queues.end(), [](const auto& queue) { return queue.fault.empty(); });
}

namespace {

/// A queue that was asked for by name has to exist.
std::string not_there(const std::string& queue) {
    return "queue " + core::quoted(queue) + " does not exist; retryd parked list shows what is parked, and where";
}

std::string held_by_others(const std::string& queue, std::size_t consumers) {
    return core::quoted(queue) + ": no message is ready there, but " +
           counted(consumers, "consumer takes", "consumers take") +
           " from it. A replay or a look that is under way holds all that is parked; look again when it has ended";
}

std::string too_many(const ParkingQueueOverview& queue) {
    return "only the oldest " + std::to_string(queue.looked_at) + " of " + std::to_string(queue.messages) +
           " messages were looked at: on RabbitMQ before 3.10 one consumer cannot hold more. Replay or drop some of "
           "those, and look again for the rest";
}

std::string taken_by_others(const ParkingQueueOverview& queue) {
    return "only " + std::to_string(queue.looked_at) + " of " + std::to_string(queue.messages) +
           " messages came: somebody else takes messages from the queue at the same time. Look again when that has "
           "ended";
}

std::string unreadable_ones(std::size_t number) {
    return counted(number, "message has", "messages have") +
           " headers that cannot be read: they nest too deep. retryd never selects them and leaves them where they "
           "are; take them out with another client";
}

}  // namespace

ParkingQueuesBrowser::ParkingQueuesBrowser(const config::Settings& settings, const ParkedOptions& options,
                                           core::WallTime now, StopSign stop, Progress& progress)
    : progress_(progress),
      settings_(settings),
      options_(options),
      stop_(std::move(stop)),
      broker_(connect(settings, "retryd parked")),
      proof_keys_(amqp::proof_keys(settings)),
      selection_(selection_of(options, now)),
      now_(now) {}

ParkedOverview ParkingQueuesBrowser::browse(const Visit& visit) {
    ParkedOverview overview;
    ParkingQueues queues;
    if (options_.from.empty()) {
        queues = parking_queues(*broker_, settings_.policy, options_.queue);
    } else {
        queues.names = {options_.from};
    }
    overview.notes = std::move(queues.notes);
    bool enough = false;
    for (const std::string& name : queues.names) {
        overview.interrupted = overview.interrupted || stop_.pending();
        if (!enough && !overview.interrupted) browse_parking_queue(name, overview, visit, enough);
    }
    if (overview.queues.empty() && !options_.from.empty()) overview.fault = not_there(options_.from);
    return overview;
}

void ParkingQueuesBrowser::browse_parking_queue(const std::string& name, ParkedOverview& overview, const Visit& visit,
                                                bool& enough) {
    const BrowsePermission permission = may_browse(*broker_, vhost_policies(), name, options_.despite_delivery_limit);
    if (!permission.exists) return;
    if (permission.messages == 0 && permission.consumers > 0)
        overview.notes.push_back(held_by_others(name, permission.consumers));
    ParkingQueueOverview& queue =
        overview.queues.emplace_back(ParkingQueueOverview{name, permission.messages, 0, {}, permission.why_not});
    if (!permission.allowed) return;
    const std::size_t before = overview.selected();
    std::size_t unreadable = 0;
    if (selection_.among != nullptr) selection_.among->begin();
    const auto anew = [&] {
        if (selection_.among != nullptr) selection_.among->begin();
        queue.selected = {};
        unreadable = 0;
        enough = false;
    };
    const auto visit_delivery = [&](const core::Delivery* delivery) {
        if (delivery == nullptr) {
            ++unreadable;
            return true;
        }
        const core::Table headers = delivery->message.properties.header_table();
        const admin::Parked parked = admin::read_parked(headers, settings_.policy.error_queue, proof_keys_);
        if (!admin::selects(selection_, parked, delivery->message)) return true;
        queue.selected.add(parked, delivery->message);
        enough = !visit(name, *delivery, before + queue.selected.messages());
        return !enough;
    };
    BrowseResult result;
    try {
        result = browse_around_undeliverable(queue, visit_delivery, anew);
    } catch (const amqp::Error& error) {
        result.ended = error.what();  // the other queues may work; if the broker is gone, the next request will fail
    }
    queue.looked_at = result.messages;
    overview.interrupted = overview.interrupted || result.interrupted;
    if (!result.ended.empty()) {
        queue.fault = "not all of " + core::quoted(name) + " was looked at: " + result.ended;
    } else if (!enough && !result.interrupted && queue.messages > queue.looked_at + queue.undeliverable()) {
        queue.fault = queue.looked_at == unacked_by_one_consumer() ? too_many(queue) : taken_by_others(queue);
    } else if (unreadable > 0) {
        queue.fault = unreadable_ones(unreadable);
    }
}

/// A message that RabbitMQ cannot hand over ends the connection; then another connection holds that message, and the
/// look starts over.
BrowseResult ParkingQueuesBrowser::browse_around_undeliverable(ParkingQueueOverview& queue, const Visitor& visit,
                                                               const std::function<void()>& anew) {
    for (;;) {
        const std::size_t known = queue.undeliverable();
        const std::size_t ready = queue.messages - std::min(queue.messages, known);
        ProgressStep step(progress_, queue.name, "looked at", ready);
        BrowseResult result = browse_one_queue(
            settings_, *broker_, queue.name, ready, stop_, visit,
            [&](std::size_t messages) { step.show(messages, stop_.pending() ? "putting all back in order" : ""); },
            queue.undeliverable_taker ? queue.undeliverable_taker.get() : nullptr);
        if (!result.met_undeliverable || result.interrupted) return result;
        const std::string why_not = take_out_undeliverable(queue);
        if (!why_not.empty() || queue.undeliverable() == known) {
            result.ended += why_not.empty() ? "" : ". It cannot be held meanwhile: " + why_not;
            return result;
        }
        anew();
    }
}

/// Why that is impossible; empty if it worked.
std::string ParkingQueuesBrowser::take_out_undeliverable(ParkingQueueOverview& queue) {
    const auto count = [&] { return broker_->carry_out(amqp::Declarer::CheckQueue{queue.name}).counts; };
    try {
        if (!queue.undeliverable_taker) {
            queue.undeliverable_taker = std::make_shared<amqp::UndeliverableTaker>(
                endpoint_of(settings_, broker_->identity()), settings_.broker, broker_->identity().version, queue.name);
            queue.undeliverable_selected = admin::selects_undeliverable(selection_);
        }
        queue.undeliverable_taker->take_out(count, [&] { return !stop_.pending(); });
    } catch (const amqp::Error& error) {
        queue.undeliverable_taker.reset();
        return error.what();
    }
    return "";
}

/// Asks once. Null without an answer from a management API.
const admin::VhostPolicies* ParkingQueuesBrowser::vhost_policies() {
    if (!asked_for_policies_ && broker_->management() != nullptr) {
        try {
            vhost_policies_ = broker_->management()->vhost_policies();
        } catch (const http::Error&) {
            // usually the arguments of a queue are enough
        }
    }
    asked_for_policies_ = true;
    return vhost_policies_ ? &*vhost_policies_ : nullptr;
}

namespace {

constexpr std::size_t longest_shown = 60;

std::string age_or_unknown(const std::optional<std::uint64_t>& seconds, core::WallTime now) {
    return seconds ? age(*seconds, now) : "(unknown)";
}

Rows rows_of(const ParkedGroups& groups, core::WallTime now) {
    Rows rows{{"work queue", "reason", "messages", "oldest", "newest", "replayed before"}};
    for (const auto& [key, group] : groups.all()) {
        rows.push_back({or_unknown(key.first), or_unknown(key.second), std::to_string(group.messages),
                        age_or_unknown(group.oldest, now), age_or_unknown(group.newest, now),
                        std::to_string(group.replayed)});
    }
    return rows;
}

std::string count_line(const ParkingQueueOverview& queue) {
    const std::size_t selected = queue.selected.messages() + (queue.undeliverable_selected ? queue.undeliverable() : 0);
    std::string line = counted(queue.messages, "message", "messages");
    if (selected != queue.looked_at + queue.undeliverable()) line += ", " + std::to_string(selected) + " selected";
    return line;
}

Json time_or_null(const std::optional<std::uint64_t>& seconds) {
    return seconds ? Json(utc(*seconds)) : Json();
}

Json json_of(const ParkedGroups& groups) {
    Json list = Json::array();
    for (const auto& [key, group] : groups.all()) {
        Json object;
        put_text(object, "work_queue", key.first);
        put_text(object, "reason", key.second);
        object["messages"] = group.messages;
        object["bytes"] = group.bytes;
        object["oldest"] = time_or_null(group.oldest);
        object["newest"] = time_or_null(group.newest);
        object["replayed_before"] = group.replayed;
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace

namespace {

Rows rows_of(const std::vector<amqp::amqp10::Taken>& undeliverable) {
    constexpr std::size_t most = 10;
    Rows rows{{"published to", "died first in", "user", "message id", "content type"}};
    for (const amqp::amqp10::Taken& taken : undeliverable) {
        if (rows.size() > most) break;
        const amqp::amqp10::Description& message = taken.description;
        rows.push_back({or_unknown(message.exchange), or_unknown(message.queue), or_unknown(message.user_id),
                        or_unknown(shortened(message.message_id, longest_shown)),
                        or_unknown(shortened(message.content_type, longest_shown))});
    }
    return rows;
}

void print_undeliverable(const ParkingQueueOverview& queue, std::ostream& out) {
    if (queue.undeliverable() == 0) return;
    out << "  " << counted(queue.undeliverable(), "message", "messages")
        << " that RabbitMQ cannot hand over by AMQP 0-9-1: retryd parked drop --reason undeliverable deletes "
        << (queue.undeliverable() == 1 ? "it" : "them") << '\n';
    print_table(rows_of(queue.undeliverable_taker->taken()), "  ", out);
}

Json json_of_undeliverable(const ParkingQueueOverview& queue) {
    Json list = Json::array();
    if (!queue.undeliverable_taker) return list;
    for (const amqp::amqp10::Taken& taken : queue.undeliverable_taker->taken()) {
        const amqp::amqp10::Description& message = taken.description;
        Json object;
        put_text(object, "exchange", message.exchange);
        put_text(object, "first_death_queue", message.queue);
        put_text(object, "user_id", message.user_id);
        put_text(object, "message_id", message.message_id);
        put_text(object, "content_type", message.content_type);
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace

void print_overview(const ParkedOverview& overview, core::WallTime now, bool colour, std::ostream& out) {
    const Bold bold{colour};
    bool any = false;
    for (const ParkingQueueOverview& queue : overview.queues) {
        if (queue.messages == 0 && queue.fault.empty()) continue;
        out << (any ? "\n" : "") << bold(core::safe_name(queue.name)) << ": " << count_line(queue) << '\n';
        any = true;
        if (queue.selected.messages() > 0) print_table(rows_of(queue.selected, now), "  ", out);
        print_undeliverable(queue, out);
        if (!queue.fault.empty()) out << "  " << core::safe_line(queue.fault) << '\n';
    }
    if (!any) out << "Nothing is parked" << (overview.notes.empty() ? "" : " where it could be seen") << ".\n";
    if (overview.interrupted) out << "\nInterrupted: not everything was looked at.\n";
    for (const std::string& note : overview.notes)
        out << "\nNot seen: " << core::safe_line(note) << ".\n";
}

Json json_of(const ParkedOverview& overview) {
    Json list = Json::array();
    for (const ParkingQueueOverview& queue : overview.queues) {
        list.push_back({{"queue", queue.name},
                        {"messages", queue.messages},
                        {"looked_at", queue.looked_at},
                        {"selected", queue.selected.messages()},
                        {"groups", json_of(queue.selected)},
                        {"undeliverable", json_of_undeliverable(queue)},
                        {"fault", queue.fault.empty() ? Json() : Json(queue.fault)}});
    }
    return list;
}

namespace {

std::string why_none(const ParkedOverview& overview, std::size_t number) {
    std::string text = overview.selected() == 0 ? "no message that fits is parked there"
                                                : "there is no message number " + std::to_string(number) + ": only " +
                                                      counted(overview.selected(), "message fits", "messages fit");
    for (const ParkingQueueOverview& queue : overview.queues) {
        if (!queue.fault.empty()) text += "; " + queue.fault;
    }
    for (const std::string& note : overview.notes)
        text += "; not seen: " + note;
    return text + "; retryd parked list shows what there is";
}

}  // namespace

OneMessage find_one(ParkingQueuesBrowser& browser, std::size_t number) {
    OneMessage one;
    const ParkedOverview overview =
        browser.browse([&](const std::string& from, const core::Delivery& delivery, std::size_t at) {
            if (at == number) one.found.emplace(FoundMessage{from, core::OwnedDelivery(delivery)});
            return !one.found;
        });
    one.fault = overview.fault;
    if (one.fault.empty() && !one.found) one.fault = why_none(overview, number);
    return one;
}

}  // namespace retryd::commands
