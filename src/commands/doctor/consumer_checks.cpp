#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "admin/guard.h"
#include "commands/common/checked_queue.h"
#include "commands/common/text.h"
#include "commands/doctor/checkup.h"
#include "core/safe_text.h"

namespace retryd::commands {

namespace {

using admin::FindingCode;
using Declarer = amqp::Declarer;

constexpr const char* without_leader =
    "what lies in it stays there, and messages for it take a detour or are parked in the catch-all; nothing is lost";

/// Of an error queue of which the broker names neither messages nor consumers, as it does of one without a leader.
/// `asked`: false where it may be too busy to ask it.
void check_leader(Checkup& checkup, const std::string& queue, bool asked) {
    std::optional<bool> leaderless;
    checkup.ask_management([&] {
        for (const http::ListedQueue& each : checkup.management->queues_with_leaders())
            if (each.name == queue) leaderless = each.leaderless;
    });
    const std::string error_queue = "the error queue " + core::quoted(queue);
    if (leaderless == true)
        return checkup.add(FindingCode::no_leader, error_queue + " has no leader now", {.name = queue});
    if (!asked)
        return checkup.cannot_tell(
            "whether " + error_queue +
            " is consumed: RabbitMQ could not ask it in time. It is too busy, or the queue has no "
            "leader, which rabbitmq-queues quorum_status tells. Look again later");
    if (leaderless == false)
        return checkup.add(FindingCode::no_consumer, "nobody consumes " + error_queue + "; 0 messages wait there",
                           {.name = queue});
    checkup.add(FindingCode::no_consumer,
                "RabbitMQ names no consumer of " + error_queue + ": nobody consumes it, or it has no leader now",
                {.consequence = "rejected messages are not retried",
                 .remedy = "rabbitmq-queues quorum_status tells whether it has a leader: if not, start the nodes that "
                           "are away; if it has one, start retryd run, or see its log for why it does not consume",
                 .name = queue});
}

}  // namespace

void check_error_queue_consumer(Checkup& checkup) {
    if (checkup.daemon != nullptr && !checkup.daemon->ready) return;
    const std::string& queue = checkup.settings.policy.error_queue;
    const auto [checked, believed] = QueueCounter(checkup.broker).count(queue);
    if (checked.result != Declarer::Result::done || checked.counts.consumers > 0) return;
    if (checked.counts.messages == 0) return check_leader(checkup, queue, believed);
    const std::string waiting = counted(checked.counts.messages, "message waits", "messages wait");
    checkup.add(FindingCode::no_consumer,
                "nobody consumes the error queue " + core::quoted(queue) + "; " + waiting + " there", {.name = queue});
}

void check_other_leaders(Checkup& checkup) {
    const core::Policy& policy = checkup.settings.policy;
    for (const http::ListedQueue& queue : checkup.management->queues_with_leaders()) {
        const bool own = queue.name != policy.error_queue &&
                         admin::is_retryds(policy, {queue.name, queue.type, queue.arguments, "", ""});
        if (!queue.leaderless || !own) continue;
        if (checkup.broker.carry_out(Declarer::CheckQueue{queue.name}).counts != amqp::QueueCounts{}) continue;
        checkup.add(FindingCode::no_leader, "queue " + core::quoted(queue.name) + " has no leader now",
                    {.consequence = without_leader, .name = queue.name, .group = "beside the error queue"});
    }
}

/// Except on streams, which are always consumed with acks and never dead-letter.
void check_no_ack(Checkup& checkup) {
    std::map<std::string, std::size_t> without;
    for (const http::ListedConsumer& consumer : checkup.management->consumers()) {
        if (!consumer.acks && checkup.is_work_queue(consumer.queue)) ++without[consumer.queue];
    }
    for (const auto& [queue, number] : without) {
        checkup.add(FindingCode::no_ack_consumer,
                    "work queue " + core::quoted(queue) + " has " +
                        counted(number, "consumer that does not ack", "consumers that do not ack") + " (no-ack)",
                    {.name = queue});
    }
}

}  // namespace retryd::commands
