#include "admin/framework_retries.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "admin/dead_letter_path.h"
#include "core/policy.h"
#include "core/safe_text.h"

namespace retryd::admin {

namespace {

/// The value of a queue argument that is a text; else empty.
std::string text_argument(const QueuePolicies& queue, const std::string& key) {
    return text_of(argument(queue, key).value_or("")).value_or("");
}

// ── Symfony Messenger ──

/// When a message fails, Symfony's worker publishes a copy into a delay queue that sends it back later, and then
/// rejects the message itself. From Symfony\Component\Messenger\Bridge\Amqp\Transport\Connection::createDelayQueue
/// (5.4.53, 7.0) and Symfony\Component\Messenger\Worker::ack.
constexpr std::string_view symfony_ending = "_retry";
constexpr std::int64_t symfony_expires_after = 10'000;  // milliseconds after the delay
constexpr std::size_t symfony_retries = 3;              // its default

/// The work queue that this delay queue sends messages back to; empty if it is not such a queue.
std::string sent_back_by_symfony(const QueuePolicies& queue) {
    if (!queue.name.ends_with(symfony_ending)) return "";
    const auto exchange = argument(queue, "dead-letter-exchange");
    const auto delay = number_of(argument(queue, "message-ttl").value_or(""));
    const auto expires = number_of(argument(queue, "expires").value_or(""));
    const bool is_delay = exchange == "\"\"" && delay && expires && *expires == *delay + symfony_expires_after;
    return is_delay ? text_argument(queue, "dead-letter-routing-key") : "";
}

std::uint64_t binomial(std::uint64_t n, std::uint64_t k) {
    std::uint64_t result = 1;
    for (std::uint64_t i = 1; i <= k; ++i)
        result = result * (n - k + i) / i;
    return result;
}

std::size_t steps_of(const core::Policy& policy, const std::string& work_queue) {
    const core::Entry* const entry = core::match(policy, work_queue);
    return entry == nullptr ? 0 : entry->ladder.steps.size();
}

/// Its rejected messages do not reach retryd, so nothing is retried by both.
bool is_left_to_source(const core::Policy& policy, const QueuePolicies& work_queue, const EffectivePolicy& effective) {
    return core::comes_by_source_alone(policy, work_queue.name) &&
           !leads_to_error_queue(policy, effective.dead_letter_exchange(work_queue).value);
}

/// Counts the copies of one message: each failure adds one retry by retryd and one by Symfony.
std::string multiplied_by_symfony(std::size_t steps) {
    constexpr std::size_t most_steps = 1'000;
    std::string text =
        "it rejects what it has published again, and each of the two is retried by both: with its default of 3 "
        "retries ";
    text += "and the " + std::to_string(steps) + " of the ladder, one message that always fails is delivered ";
    if (steps > most_steps) return text + "and parked without end";
    const std::uint64_t parked = binomial(symfony_retries + steps + 1, symfony_retries);
    const std::uint64_t delivered = binomial(symfony_retries + steps + 2, symfony_retries + 1) - 1;
    return text + std::to_string(delivered) + " times and parked " + std::to_string(parked) + " times";
}

Finding of_symfony(const core::Policy& policy, const std::string& work_queue, const std::string& delay_queue) {
    std::string consequence = multiplied_by_symfony(steps_of(policy, work_queue));
    std::string group = "symfony\n" + consequence;
    return {FindingCode::retried_besides,
            "work queue " + core::quoted(work_queue) + " is retried by Symfony Messenger as well: its queue " +
                core::quoted(delay_queue) + " sends back what its retry_strategy has published again",
            {.consequence = std::move(consequence),
             .remedy = "set max_retries: 0 in the retry_strategy of its transport, and deploy that before you attach",
             .name = work_queue,
             .group = std::move(group)}};
}

// ── Kicks, Sneakers ──

/// From lib/sneakers/handlers/maxretry.rb (kicks 3.3, sneakers 2.12): a work queue dead-letters to an exchange, behind
/// which a queue of the same name lets messages wait, and another exchange brings them back.
constexpr std::string_view requeue_ending = "-requeue";

Finding of_maxretry(const core::Policy& policy, const std::string& work_queue, const std::string& waits,
                    bool attached) {
    std::string consequence = (attached ? "" : "once retryd gets what is rejected: ") + doubled(policy, work_queue) +
                              "; what Maxretry gives up on goes to its error queue, and never to retryd";
    return {FindingCode::retried_besides,
            "work queue " + core::quoted(work_queue) + " is retried by the handler Maxretry of Kicks (Sneakers) as " +
                "well: its dead-letter exchange " + core::quoted(waits) +
                " leads to the queue of that name, and that back to it when its TTL is over",
            {.consequence = std::move(consequence),
             .remedy = "have its workers use the handler Oneshot; when none has Maxretry any more, unbind queue " +
                       core::quoted(waits) + " from exchange " + core::quoted(waits),
             .name = work_queue,
             .group = "maxretry\n" + waits}};
}

}  // namespace

bool is_queue_of_maxretry(const QueuePolicies& work_queue, const QueuePolicies& other,
                          const EffectivePolicy& effective) {
    return other.name != work_queue.name &&
           text_of(effective.dead_letter_exchange(work_queue).value).value_or("") == other.name &&
           argument(other, "message-ttl").has_value() &&
           text_argument(other, "dead-letter-exchange").ends_with(requeue_ending);
}

std::string doubled(const core::Policy& policy, const std::string& work_queue) {
    return "each time that a message fails it comes back from there as well as from retryd: " +
           one_becomes_two(policy, work_queue);
}

std::string one_becomes_two(const core::Policy& policy, const std::string& work_queue) {
    constexpr std::size_t most_steps = 20;
    const std::size_t steps = steps_of(policy, work_queue);
    std::string text = "one message that always fails becomes two, and these four";
    if (steps < 2) return text;
    text += ", up to " + (steps > most_steps ? std::string{"millions"} : std::to_string(std::size_t{1} << steps));
    return text + " at the end of its ladder";
}

std::vector<Finding> check_framework_retries(const core::Policy& policy, const VhostPolicies& vhost_policies) {
    const EffectivePolicy effective(vhost_policies);
    std::map<std::string_view, const QueuePolicies*> queues;
    for (const QueuePolicies& queue : vhost_policies.queues)
        queues.emplace(queue.name, &queue);
    std::vector<Finding> found;
    std::set<std::string> by_symfony;
    for (const QueuePolicies& queue : vhost_policies.queues) {
        const std::string back_to = sent_back_by_symfony(queue);
        const auto work_queue = queues.find(back_to);
        const bool work = work_queue != queues.end() && core::match(policy, back_to) != nullptr &&
                          !is_left_to_source(policy, *work_queue->second, effective);
        if (work && by_symfony.insert(back_to).second) found.push_back(of_symfony(policy, back_to, queue.name));
        if (core::match(policy, queue.name) == nullptr || is_left_to_source(policy, queue, effective)) continue;
        const Setting exchange = effective.dead_letter_exchange(queue);
        const auto waits = queues.find(text_of(exchange.value).value_or(""));
        if (waits != queues.end() && is_queue_of_maxretry(queue, *waits->second, effective)) {
            found.push_back(
                of_maxretry(policy, queue.name, waits->second->name, leads_to_error_queue(policy, exchange.value)));
        }
    }
    return found;
}

}  // namespace retryd::admin
