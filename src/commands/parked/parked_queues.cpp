#include "commands/parked/parked_queues.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "commands/common/checked_queue.h"
#include "core/names.h"
#include "core/safe_text.h"
#include "core/time.h"
#include "core/topology.h"

namespace retryd::commands {

namespace {

using amqp::Declarer;
using Result = Declarer::Result;

constexpr const char* way_out =
    ". Lift the limit with a policy for that queue alone, rabbitmqctl set_policy NAME '^QUEUE$' '{\"delivery-limit\": "
    "1000000}' --apply-to queues --priority 2000 (RabbitMQ 4.0 and later), and set management.url so that retryd sees "
    "it; or accept with --despite-delivery-limit that this look counts for every message in it";

void add_once(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

class ParkingQueueFinder {
  public:
    ParkingQueueFinder(Broker& broker, const core::Policy& policy, const std::string& work_queue)
        : broker_(broker), policy_(policy), work_queue_(core::is_glob(work_queue) ? "" : work_queue) {}

    ParkingQueues found;

    void add(const core::Entry& entry) {
        const core::BrokerFeatures features = core::features_of(broker_.identity().version);
        if (!entry.parked.exchange.empty()) {
            found.notes.push_back("what " + core::quoted(entry.match) + " parks goes to the exchange " +
                                  core::quoted(entry.parked.exchange) +
                                  ", which is not retryd's: --from QUEUE names the queue that it leads to");
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
    /// The work queue may be gone, so its parking queue is recognised by the form of its name.
    void add_listed(const core::Entry& entry) {
        const std::string form = core::expand_queue(entry.parked.queue, entry.match);
        if (!listed_) {
            listed_ = list_queue_names(broker_,
                                       "AMQP cannot list queues. Set management.url; or name one with --from QUEUE, "
                                       "or its work queue with --queue NAME");
        }
        for (const std::string& name : listed_->names) {
            if (core::glob_matches(form, name)) add_once(found.names, name);
        }
        if (!listed_->fault.empty())
            found.notes.push_back("the parking queues " + core::quoted(form) +
                                  " were not looked for: " + listed_->fault);
    }

    Broker& broker_;
    const core::Policy& policy_;
    std::string work_queue_;
    std::optional<QueueNames> listed_;
};

/// All delivery limits that are set on a queue.
std::vector<std::string> limits_of(const admin::VhostPolicies& vhost_policies, const admin::QueuePolicies& queue) {
    const admin::EffectivePolicy effective(vhost_policies);
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

/// Why looking may delete the message; empty if it cannot. If several limits are set and one is negative, the broker
/// uses the largest, otherwise the smallest; before 4.0 a negative limit is exceeded at once, and the default is no
/// limit.
std::string danger_of(const admin::VhostPolicies& vhost_policies, const admin::QueuePolicies& queue, bool has_default) {
    if (queue.type == "classic") return "";
    if (queue.type == "stream") return "it is a stream, which retryd never parks in";
    const auto limits = limits_of(vhost_policies, queue);
    if (limits.empty()) return has_default ? "it has RabbitMQ's default delivery limit of 20" : "";
    const bool harmless = std::all_of(limits.begin(), limits.end(), [&](const std::string& limit) {
        return admin::is_high_limit(limit) || (has_default && limit.starts_with('-'));
    });
    return harmless ? "" : "a delivery limit is in effect on it";
}

std::optional<std::string> danger_by_policies(const admin::VhostPolicies& vhost_policies, const std::string& queue,
                                              bool has_default) {
    for (const admin::QueuePolicies& listed : vhost_policies.queues) {
        if (listed.name == queue) return danger_of(vhost_policies, listed, has_default);
    }
    return std::nullopt;
}

/// Declaring an existing queue changes nothing, and tells whether it has our arguments.
std::string danger_by_arguments(Broker& broker, const std::string& queue, const core::BrokerFeatures& features) {
    const auto answer = broker.carry_out(core::parking_queue_spec(queue, features));
    if (answer.result == Result::done) {
        const bool lacks = std::count(answer.lacking.begin(), answer.lacking.end(), "x-delivery-limit") > 0;
        return lacks ? "it has no x-delivery-limit, so RabbitMQ's default of 20 is in effect" : "";
    }
    if (answer.difference && answer.difference->argument == "x-queue-type") {
        if (answer.difference->current == "classic" || answer.difference->current == "none") return "";
    }
    return "it is not as retryd declares a parking queue, and what limit it has cannot be seen (" + answer.text + ")";
}

}  // namespace

ParkingQueues parking_queues(Broker& broker, const core::Policy& policy, const std::string& work_queue) {
    ParkingQueueFinder finder(broker, policy, work_queue);
    for (const core::Entry& entry : policy.entries)
        finder.add(entry);
    add_once(finder.found.names, policy.catch_all);
    return std::move(finder.found);
}

BrowsePermission may_browse(Broker& broker, const admin::VhostPolicies* vhost_policies, const std::string& queue,
                            bool despite_limit) {
    BrowsePermission permission;
    const auto [there, believed] = count_once_given_back(broker, [&] { return make_sure_of_messages(broker, queue); });
    if (there.result == Result::missing) return permission;
    permission.exists = true;
    permission.messages = there.counts.messages;
    permission.consumers = there.counts.consumers;
    if (there.result == Result::refused) {
        permission.why_not = there.text;
        return permission;
    }
    if (!believed) {
        permission.why_not = "how many messages lie in " + core::quoted(queue) + not_counted_now;
        return permission;
    }
    const core::BrokerFeatures features = core::features_of(broker.identity().version);
    std::optional<std::string> danger;
    if (despite_limit || permission.messages == 0) danger = "";
    if (!danger && vhost_policies != nullptr)
        danger = danger_by_policies(*vhost_policies, queue, features.default_delivery_limit);
    if (!danger) danger = danger_by_arguments(broker, queue, features);
    permission.allowed = danger->empty();
    if (!permission.allowed) {
        permission.why_not = "queue " + core::quoted(queue) + " was not looked at: " + *danger +
                             ", and a message that was looked at too often is deleted by the broker" + way_out;
    }
    return permission;
}

namespace {

/// Why nothing can be sent to that work queue; empty if it can.
std::string why_unreachable(Broker& broker, const std::set<std::string>& parked_in, const std::string& work_queue) {
    if (parked_in.contains(work_queue)) {
        return core::quoted(work_queue) +
               " is the parking queue itself: messages cannot be replayed into the queue that they are in. --to QUEUE "
               "sends them elsewhere";
    }
    const auto there = broker.carry_out(Declarer::CheckQueue{work_queue});
    if (there.result == Result::done) return "";
    if (there.result == Result::refused) return there.text;
    return "the work queue " + core::quoted(work_queue) +
           " does not exist, so its messages have nowhere to go. Declare it, or send them elsewhere with --to QUEUE";
}

std::string no_entry(const std::string& work_queue) {
    return "no item of `queues:` matches the work queue " + core::quoted(work_queue) +
           ", so its messages stay: what a message says of its queue is no reason to send it there. Add an item for "
           "it, or send them with --to QUEUE";
}

/// Why the return exchange cannot be used; empty if it can.
std::string bind_to_return_exchange(Broker& broker, const config::Settings& settings, const std::string& work_queue) {
    if (!settings.declare) return "with `declare: false` retryd binds nothing";
    for (const Declarer::Step& step : {Declarer::Step{core::return_exchange_spec(settings.policy)},
                                       Declarer::Step{core::return_binding(work_queue)}}) {
        const auto answer = broker.carry_out(step);
        if (answer.result != Result::done) return answer.text;
    }
    return "";
}

}  // namespace

Destinations find_destinations(Broker& broker, const config::Settings& settings,
                               const std::set<std::string>& work_queues, const std::set<std::string>& parked_in,
                               bool named) {
    Destinations found;
    for (const std::string& work_queue : work_queues) {
        const core::Entry* entry = core::match(settings.policy, work_queue);
        const std::string unreachable = why_unreachable(broker, parked_in, work_queue);
        if (!unreachable.empty() || (entry == nullptr && !named)) {
            found.notes.push_back(unreachable.empty() ? no_entry(work_queue) : unreachable);
            continue;
        }
        found.reachable.insert(work_queue);
        if (entry == nullptr || entry->ladder.return_path != core::ReturnPath::headers) continue;
        const std::string not_bound = bind_to_return_exchange(broker, settings, work_queue);
        if (not_bound.empty()) {
            found.through_return.insert(work_queue);
        } else {
            found.notes.push_back("to " + core::quoted(work_queue) +
                                  " messages go through the default exchange, so its consumer sees the queue's name "
                                  "as the routing key: " +
                                  not_bound);
        }
    }
    if (!work_queues.empty() && found.reachable.empty()) found.fault = found.notes.front();
    return found;
}

}  // namespace retryd::commands
