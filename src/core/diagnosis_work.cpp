#include <algorithm>

#include "core/attachment.h"
#include "core/attachment_needs.h"
#include "core/diagnosis.h"
#include "core/effective.h"

namespace retryd::core {
namespace {

using State = Standing::State;

constexpr const char* attach = "retryd attach prints the policy that does it, with its undo";

std::string quoted(const std::string& name) {
    return '\'' + name + '\'';
}

const GovernedQueue* find(const Governance& governance, const std::string& name) {
    const auto found = std::find_if(governance.queues.begin(), governance.queues.end(),
                                    [&](const GovernedQueue& queue) { return queue.name == name; });
    return found == governance.queues.end() ? nullptr : &*found;
}

/// Of a queue that a policy can attach, and has not, or not safely.
Diagnosis not_attached(const GovernedQueue& queue, const Policy& policy, const Effective& effective) {
    const Setting exchange = effective.dead_letter_exchange(queue);
    if (exchange.source == Source::none) {
        return {true, "work queue " + quoted(queue.name) + " has no dead-letter exchange in effect",
                "what its consumers reject is dropped by the broker", attach};
    }
    if (!leads_to_error_queue(policy, exchange.value)) {
        return {true,
                "work queue " + quoted(queue.name) + " dead-letters to exchange " + exchange.value + ", by policy " +
                    quoted(queue.policy),
                "what its consumers reject does not come to retryd",
                std::string{attach} + "; or name that exchange in errors.bind"};
    }
    return {false, "quorum work queue " + quoted(queue.name) + " does not dead-letter at-least-once",
            "what it rejects can be lost on its way to the error queue when a node stops", attach};
}

/// RabbitMQ 4.3 and later.
void add_native_retry(std::vector<Diagnosis>& found, const GovernedQueue& queue, const Effective& effective) {
    const Setting type = effective.value(queue, "delayed-retry-type");
    if (type.source == Source::none || type.value == "\"disabled\"") return;
    found.push_back(
        {false,
         "work queue " + quoted(queue.name) + " has RabbitMQ's own delayed retry in effect, of type " + type.value,
         "what its consumers requeue is delayed by the broker, besides what they reject and retryd "
         "delays: two ladders, one after the other",
         "take delayed-retry-type out of its policy or arguments, or the queue out of the configuration"});
}

}  // namespace

std::vector<Diagnosis> diagnose_work_queues(const Policy& policy, const Governance& governance) {
    std::vector<Diagnosis> found;
    const Effective effective(governance);
    for (const Standing& standing : attachment(policy, governance).queues) {
        const GovernedQueue* queue = find(governance, standing.queue);
        if (queue == nullptr) {
            found.push_back({false, "work queue " + quoted(standing.queue) + " does not exist",
                             "nothing can die in it, and what waits on its rungs cannot come home",
                             "declare it, or correct its name in the configuration"});
            continue;
        }
        if (standing.state == State::to_attach) found.push_back(not_attached(*queue, policy, effective));
        if (standing.state == State::out_of_reach) {
            found.push_back({true, "work queue " + quoted(standing.queue) + ": " + standing.note, "", ""});
        } else if (!standing.note.empty()) {
            found.push_back({false, "work queue " + quoted(standing.queue) + ": " + standing.note, "", ""});
        }
        add_native_retry(found, *queue, effective);
    }
    return found;
}

}  // namespace retryd::core
