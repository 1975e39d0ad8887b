#include "commands/parked/parked_queues.h"

#include <algorithm>

#include "admin/governance.h"
#include "core/names.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

using amqp::Declarer;
using Result = Declarer::Result;

constexpr const char* way_out =
    ". Make looking free with a policy of its own, rabbitmqctl set_policy NAME '^QUEUE$' '{\"delivery-limit\": -1}' "
    "--apply-to queues (RabbitMQ 4.0 and later), and set management.url so that it can be seen; or spend one look of "
    "every message with --despite-delivery-limit";

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

class Collection {
  public:
    Collection(Broker& broker, const core::Policy& policy, const std::string& work_queue)
        : broker_(broker), policy_(policy), work_queue_(core::is_glob(work_queue) ? "" : work_queue) {}

    ParkingQueues found;

    void add(const core::Entry& entry) {
        const core::BrokerFeatures features = core::features_of(broker_.identity().version);
        if (!entry.parked.exchange.empty()) {
            found.notes.push_back("what '" + entry.match + "' parks goes to the exchange '" + entry.parked.exchange +
                                  "', which is not retryd's: --from QUEUE names the queue that it leads to");
        } else if (!core::is_glob(entry.match)) {
            add_once(found.names, core::parking_queue_of(entry.parked, entry.match, features));
        } else if (entry.parked.queue.find("{queue}") == std::string::npos) {
            add_once(found.names, entry.parked.queue);
        } else if (!work_queue_.empty()) {
            if (core::match(policy_, work_queue_) == &entry)
                add_once(found.names, core::parking_queue_of(entry.parked, work_queue_, features));
        } else {
            add_listed(entry);
        }
    }

  private:
    /// The work queue may be gone, so its parking queue is known by its form.
    void add_listed(const core::Entry& entry) {
        const std::string form = core::expand_queue(entry.parked.queue, entry.match);
        if (!listed_) listed_ = list();
        for (const std::string& name : *listed_) {
            if (core::glob_matches(form, name)) add_once(found.names, name);
        }
        if (!blind_.empty()) found.notes.push_back("the parking queues '" + form + "' were not looked for: " + blind_);
    }

    std::vector<std::string> list() {
        std::vector<std::string> names;
        blind_ =
            "AMQP cannot list queues. Set management.url; or name one with --from QUEUE, or its work queue with "
            "--queue NAME";
        if (!broker_.has_management()) return names;
        try {
            for (const http::ListedQueue& queue : broker_.queues())
                names.push_back(queue.name);
            blind_.clear();
        } catch (const http::Error& error) {
            blind_ = error.what();
        }
        return names;
    }

    Broker& broker_;
    const core::Policy& policy_;
    std::string work_queue_;
    std::optional<std::vector<std::string>> listed_;
    std::string blind_;  // why the list is empty
};

/// The limits that are set on a queue: each counts.
std::vector<std::string> limits_of(const admin::VhostPolicies& governance, const admin::QueuePolicies& queue) {
    const admin::EffectivePolicy effective(governance);
    std::vector<std::string> limits;
    if (const auto argument = admin::argument(queue, "delivery-limit")) limits.push_back(*argument);
    for (const admin::BrokerPolicy* policy :
         {effective.policy(queue.policy), effective.operator_policy(queue.operator_policy)}) {
        if (policy == nullptr) continue;
        const auto key = policy->definition.find("delivery-limit");
        if (key != policy->definition.end()) limits.push_back(key->second);
    }
    return limits;
}

/// Why a look may cost the message; empty where it may not. Of several limits the broker takes the larger one where any
/// is negative, else the smaller one; before 4.0 a negative one is passed at once, and none is the default.
std::string danger_of(const admin::VhostPolicies& governance, const admin::QueuePolicies& queue, bool has_default) {
    if (queue.type == "classic") return "";
    if (queue.type == "stream") return "it is a stream, which retryd never parks in";
    const auto limits = limits_of(governance, queue);
    if (limits.empty()) return has_default ? "it has RabbitMQ's default delivery limit of 20" : "";
    const bool unlimited =
        has_default && std::all_of(limits.begin(), limits.end(), [](const auto& text) { return text[0] == '-'; });
    return unlimited ? "" : "a delivery limit is in effect on it";
}

std::optional<std::string> danger_by_records(const admin::VhostPolicies& governance, const std::string& queue,
                                             bool has_default) {
    for (const admin::QueuePolicies& governed : governance.queues) {
        if (governed.name == queue) return danger_of(governance, governed, has_default);
    }
    return std::nullopt;
}

/// Declaring what is there already changes nothing, and tells whether it is as we would make it.
std::string danger_by_arguments(Broker& broker, const std::string& queue, const core::BrokerFeatures& features) {
    const auto answer = broker.carry_out(core::parking_queue_spec(queue, features));
    if (answer.result == Result::done) {
        return answer.text.empty() ? "" : "it has no x-delivery-limit, so RabbitMQ's default of 20 is in effect";
    }
    if (answer.difference && answer.difference->argument == "x-queue-type") {
        if (answer.difference->current == "classic" || answer.difference->current == "none") return "";
    }
    return "it is not as retryd declares a parking queue, and what limit it has cannot be seen (" + answer.text + ")";
}

}  // namespace

ParkingQueues parking_queues(Broker& broker, const core::Policy& policy, const std::string& work_queue) {
    Collection collection(broker, policy, work_queue);
    for (const core::Entry& entry : policy.entries)
        collection.add(entry);
    add_once(collection.found.names, policy.catch_all);
    return std::move(collection.found);
}

MayLook may_look(Broker& broker, const admin::VhostPolicies* governance, const std::string& queue, bool insisted) {
    MayLook look;
    const auto there = broker.carry_out(Declarer::CheckQueue{queue});
    if (there.result == Result::missing) return look;
    look.exists = true;
    look.messages = there.counts.messages;
    look.consumers = there.counts.consumers;
    if (there.result == Result::refused) {
        look.why_not = there.text;
        return look;
    }
    const core::BrokerFeatures features = core::features_of(broker.identity().version);
    std::optional<std::string> danger;
    if (insisted || look.messages == 0) danger = "";
    if (!danger && governance != nullptr)
        danger = danger_by_records(*governance, queue, features.unlimited_delivery_limit);
    if (!danger) danger = danger_by_arguments(broker, queue, features);
    look.allowed = danger->empty();
    if (!look.allowed) {
        look.why_not = "queue '" + queue + "' was not looked at: " + *danger +
                       ", and a message that was looked at too often is deleted by the broker" + way_out;
    }
    return look;
}

}  // namespace retryd::commands
