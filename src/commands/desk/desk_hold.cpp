// The hold of a work queue. The daemon does it (admin::DeskControl::hold), after this has asked whether that queue
// exists.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "amqp/declarer.h"
#include "amqp/error.h"
#include "amqp/sync_admin.h"
#include "commands/desk/desk_scene.h"
#include "core/policy.h"
#include "core/safe_text.h"
#include "core/time.h"
#include "telemetry/safe_json.h"

namespace retryd::commands {

namespace {

/// How long to wait for the broker's answer: meanwhile attempts are being spent.
constexpr core::Milliseconds existence_within{3'000};

struct Existence {
    bool missing = false;
    std::string not_asked = {};  // why it is unknown; empty if known
};

/// If the broker does not say whether the queue exists, the hold goes ahead rather than spend attempts.
Existence ask_for(const std::string& queue, const config::Settings& settings) {
    config::Broker broker = settings.broker;
    broker.connect_timeout = std::min(broker.connect_timeout, existence_within);
    try {
        amqp::SyncAdminConnection connection(broker, "retryd desk", existence_within);
        const amqp::Declarer::Outcome found = connection.carry_out(amqp::Declarer::CheckQueue{queue});
        return {found.result == amqp::Declarer::Result::missing, found.unanswered ? found.text : ""};
    } catch (const amqp::Error& error) {
        return {false, error.what()};
    }
}

Json json_of(const std::string& queue, const admin::HoldAnswer& answer) {
    Json json{{"ok", true},
              {"queue", queue},
              {"held_queue", answer.held_queue},
              {"state", answer.holding ? "holding" : "releasing"},
              {"messages", answer.messages ? Json(*answer.messages) : Json()},
              {"per_second", answer.holding ? Json() : Json(answer.per_second)},
              {"notes", Json::array({answer.said})}};
    return json;
}

}  // namespace

/// Holds the failures of a work queue from now on, or releases its held messages: the daemon does it, once it is known
/// that the queue exists.
admin::DeskOutcome desk_hold(DeskScene& scene, bool hold) {
    const std::string& queue = scene.request.work_queue;
    admin::DeskOutcome outcome;
    Existence found;
    // The daemon refuses a name that no entry matches, so the broker is not asked about it: it may be made up.
    if (hold && core::match(scene.settings.policy, queue) != nullptr) found = ask_for(queue, scene.settings);
    if (found.missing) {
        outcome.error = "nothing was done: there is no queue " + core::quoted(queue) +
                        " on the broker, so nothing fails there. See the spelling; the status page has the work queues";
        return outcome;
    }
    const admin::HoldAnswer answer = scene.control.hold(queue, hold);
    outcome.error = answer.refusal;
    if (!answer.refusal.empty()) return outcome;
    Json json = json_of(queue, answer);
    if (!found.not_asked.empty())
        json["notes"].push_back("The broker did not say whether there is such a queue: " + found.not_asked);
    outcome.ok = true;
    outcome.done = static_cast<std::size_t>(answer.messages.value_or(0));
    outcome.result = telemetry::to_safe_json(std::move(json));
    return outcome;
}

}  // namespace retryd::commands
