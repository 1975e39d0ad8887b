#include "admin/by_source.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "admin/dead_letter_path.h"
#include "admin/framework_retries.h"
#include "admin/own_policies.h"
#include "admin/patterns.h"
#include "admin/rabbitmqctl.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

constexpr std::size_t names_in_a_line = 10;
constexpr const char* attach_takes_out = "retryd attach --apply";
constexpr const char* still_attached =
    "only what it dead-letters comes to retryd, and retryd attach --apply does nothing until that is fixed";
constexpr const char* unless_it_only_acks =
    ". Where its consumers ack what they put into the source, and reject nothing, take failures: source out of its "
    "entry instead: then it counts as attached";

/// The commands that remove the dead-letter exchange which leads to the error queue: one command for all queues that
/// have it by the same policy.
class TakenOff {
  public:
    TakenOff(const QueuePolicies& queue, const core::Policy& policy, const VhostPolicies& vhost_policies,
             std::string_view vhost, const std::vector<PolicyChange>& planned)
        : queue_(queue),
          policy_(policy),
          vhost_policies_(vhost_policies),
          vhost_(vhost),
          planned_(planned),
          effective_(vhost_policies),
          exchange_(effective_.dead_letter_exchange(queue)) {}

    std::string by() const {
        if (exchange_.source == Source::argument) return "by its argument x-dead-letter-exchange";
        return exchange_.source == Source::policy ? "by policy " + core::quoted(queue_.policy)
                                                  : "by operator policy " + core::quoted(queue_.operator_policy);
    }

    FindingDetails details() const {
        FindingDetails found = way();
        found.remedy += unless_it_only_acks;
        return found;
    }

  private:
    FindingDetails way() const {
        if (exchange_.source == Source::argument) {
            const bool bound = text_of(exchange_.value).value_or("") != policy_.error_exchange;
            return {.remedy = "recreate the queue without x-dead-letter-exchange" +
                              std::string{bound ? ", or take that exchange out of errors.bind and unbind it" : ""}};
        }
        const BrokerPolicy* const set = exchange_.source == Source::policy ? effective_.policy(queue_.policy) : nullptr;
        if (set != nullptr && is_by_attach(*set)) return without_those_by_attach(*set);
        return {.remedy =
                    "give that policy a pattern that leaves the queue out, or take dead-letter-exchange out of it"};
    }

    bool is_general(const BrokerPolicy& set) const {
        return is_called_like_part(set.name, general_policy_name(policy_));
    }

    /// Whether `attach` made that policy, and it dead-letters to the error queue.
    bool is_by_attach(const BrokerPolicy& set) const {
        const auto exchange = set.definition.find("dead-letter-exchange");
        if (exchange == set.definition.end() || !leads_to_error_queue(policy_, exchange->second)) return false;
        return is_general(set) ||
               (set.name.starts_with(general_policy_name(policy_) + '-') && is_names_pattern(set.pattern));
    }

    /// Together with all such policies of a lower priority: each would come into effect once the one above it is gone.
    FindingDetails without_those_by_attach(const BrokerPolicy& in_effect) const {
        std::vector<std::string> names;  // of all queues that must be in none of them
        std::vector<std::string> here;   // of the queues that the one in effect applies to
        for (const QueuePolicies& each : vhost_policies_.queues) {
            if (!core::comes_by_source_alone(policy_, each.name) || !core::may_come_by_source(policy_, each.name))
                continue;
            names.push_back(each.name);
            if (each.policy == in_effect.name) here.push_back(each.name);
        }
        FindingDetails found = without(in_effect, names);
        bool attaches = found.command == attach_takes_out;
        std::string commands = attaches ? "" : found.command;
        bool more = false;
        for (const BrokerPolicy& each : vhost_policies_.policies) {
            if (each.name == in_effect.name || !is_by_attach(each) || !matches_any(each.pattern, here)) continue;
            const std::string command = without(each, names).command;
            more = true;
            if (command == attach_takes_out) {
                attaches = true;
            } else {
                commands.append(commands.empty() ? "" : " && ").append(command);
            }
        }
        if (!more) return found;
        if (attaches) commands.append(commands.empty() ? "" : " && ").append(attach_takes_out);
        return {.remedy = "take the queue out of that policy and of those of attach's that would take its place",
                .command = commands};
    }

    /// `attach` gives the general policy a pattern that leaves these queues out, for as long as any queue needs that
    /// policy.
    FindingDetails without(BrokerPolicy set, const std::vector<std::string>& names) const {
        if (is_general(set) && is_changed_by_attach(set.name)) {
            return {
                .remedy = "retryd attach prints that policy with a pattern that leaves the queue out, with its undo",
                .command = attach_takes_out};
        }
        if (is_names_pattern(set.pattern)) set.pattern = reduced_pattern(set.pattern, names);
        const bool needed = is_names_pattern(set.pattern);
        if (!needed) {
            return {.remedy = "clear that policy: no other queue needs it",
                    .command = clear_policy_command(set.name, vhost_)};
        }
        return {.remedy = "take the queue out of the pattern of that policy",
                .command = set_policy_command(set, vhost_)};
    }

    bool is_changed_by_attach(const std::string& name) const {
        return std::any_of(planned_.begin(), planned_.end(),
                           [&](const PolicyChange& change) { return change.after.name == name; });
    }

    static bool matches_any(const std::string& pattern, const std::vector<std::string>& names) {
        const BrokerPattern broker(pattern, BrokerPattern::as_many_steps_as_the_broker);
        return std::any_of(names.begin(), names.end(),
                           [&](const std::string& name) { return broker.matches(name).value_or(true); });
    }

    const QueuePolicies& queue_;
    const core::Policy& policy_;
    const VhostPolicies& vhost_policies_;
    std::string_view vhost_;
    const std::vector<PolicyChange>& planned_;
    EffectivePolicy effective_;
    Setting exchange_;
};

}  // namespace

std::optional<Finding> check_by_source(const QueuePolicies& queue, const core::Policy& policy,
                                       const VhostPolicies& vhost_policies, std::string_view vhost,
                                       const std::vector<PolicyChange>& planned) {
    const std::string work_queue = "work queue " + core::quoted(queue.name);
    const Setting exchange = EffectivePolicy(vhost_policies).dead_letter_exchange(queue);
    const bool ours = exchange.source != Source::none && leads_to_error_queue(policy, exchange.value);
    if (!core::may_come_by_source(policy, queue.name)) {
        // Not comes_twice: its command would remove the only way by which failures come.
        FindingDetails details{.name = queue.name, .group = ours ? "attached" : ""};
        if (ours) details.consequence = still_attached;
        return Finding(FindingCode::no_source,
                       work_queue +
                           ": its entry says that its failures come by a source alone (failures: source), and no "
                           "source of the configuration can name it",
                       std::move(details));
    }
    if (ours) {
        const TakenOff taken_off(queue, policy, vhost_policies, vhost, planned);
        FindingDetails details = taken_off.details();
        details.consequence = "a message that its consumers reject and also put into the source comes twice: " +
                              one_becomes_two(policy, queue.name);
        details.name = queue.name;
        details.group = taken_off.by() + '\n' + exchange.value + '\n' + details.consequence;
        return Finding(FindingCode::comes_twice,
                       work_queue + " dead-letters to exchange " + exchange.value + ", " + taken_off.by() +
                           ", and its entry says that its failures come by a source alone (failures: source)",
                       std::move(details));
    }
    return std::nullopt;
}

std::string why_not_left_out(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    std::vector<std::string> names;
    for (const QueuePolicies& each : vhost_policies.queues) {
        if (!core::comes_by_source_alone(policy, each.name) || core::may_come_by_source(policy, each.name)) continue;
        const Setting exchange = effective.dead_letter_exchange(each);
        const bool ours = exchange.source == Source::policy && leads_to_error_queue(policy, exchange.value);
        if (ours && is_called_like_part(each.policy, general_policy_name(policy))) names.push_back(each.name);
    }
    if (names.empty()) return "";
    return "failures of " + folded(names, names_in_a_line) +
           " come to retryd by the policy that would be changed, and by nothing else: the entry says failures: source, "
           "and no source of the configuration can name it. What fails there would not be retried. Name its source "
           "under sources, or take failures: source out of its entry";
}

std::string left_out_line(const core::Policy& policy) {
    std::vector<std::string> matches;
    for (const core::Entry& entry : policy.entries)
        if (entry.failures == core::FailuresBy::source) matches.push_back(entry.match);
    if (matches.empty()) return "";
    const bool one = matches.size() == 1;
    return folded(matches, names_in_a_line) + ": " + (one ? "its entry says" : "their entries say") +
           " failures: source. What fails there comes by a source, and with a dead-letter exchange it would come "
           "twice. To attach " +
           (one ? "it" : "one of them") + ", take that out of its entry";
}

std::string by_source_note(const std::vector<AttachState>& queues) {
    std::vector<std::string> names;
    for (const AttachState& each : queues)
        if (each.state == AttachState::State::by_source && each.remedy.empty()) names.push_back(each.queue);
    if (names.empty()) return "";
    return "what fails in " + folded(names, names_in_a_line) +
           " comes by a source alone, as the entry says (failures: source). No dead-letter exchange is asked for: what "
           "reaches a delivery limit there, expires or is too much is dropped by the broker, unless one of yours takes "
           "it";
}

const core::Source* failure_transport_of(const core::Policy& policy, std::string_view work_queue) {
    const auto found = std::find_if(policy.sources.begin(), policy.sources.end(), [&](const core::Source& source) {
        return source.dialect == core::Dialect::symfony && core::may_name(source, work_queue);
    });
    return found == policy.sources.end() ? nullptr : &*found;
}

}  // namespace retryd::admin
