#include "core/topology.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::core {
namespace {

constexpr const char* delivery_limit = "x-delivery-limit";

void add_type(Arguments& arguments, QueueType type) {
    // Always said: a vhost's default_queue_type (3.11 and later) would fill it in otherwise.
    arguments.emplace_back("x-queue-type", std::string{to_string(type)});
}

/// Through the default exchange, and kept until the target has confirmed where the broker can do that.
void add_dead_letter_to(Arguments& arguments, std::string_view queue, QueueType type, const BrokerFeatures& features) {
    arguments.emplace_back("x-dead-letter-exchange", std::string{});
    arguments.emplace_back("x-dead-letter-routing-key", std::string{queue});
    if (type == QueueType::quorum && features.quorum_ttl) {
        arguments.emplace_back("x-dead-letter-strategy", "at-least-once");
        arguments.emplace_back("x-overflow", "reject-publish");
    }
}

/// RabbitMQ 4 would otherwise throw out what was looked at 21 times.
void add_unlimited_deliveries(QueueSpec& spec, QueueType type, const BrokerFeatures& features) {
    if (type != QueueType::quorum || !features.unlimited_delivery_limit) return;
    spec.arguments.emplace_back(delivery_limit, std::int64_t{-1});
    spec.optional_arguments.emplace_back(delivery_limit);
}

}  // namespace

QueueSpec error_queue_spec(const Policy& policy, const BrokerFeatures& features) {
    QueueSpec spec{policy.error_queue, {}, {}};
    add_type(spec.arguments, policy.error_queue_type);
    add_dead_letter_to(spec.arguments, policy.catch_all, policy.error_queue_type, features);
    add_unlimited_deliveries(spec, policy.error_queue_type, features);
    return spec;
}

QueueSpec parking_queue_spec(std::string name, const BrokerFeatures& features) {
    QueueSpec spec{std::move(name), {}, {}};
    add_type(spec.arguments, QueueType::quorum);
    add_unlimited_deliveries(spec, QueueType::quorum, features);
    return spec;
}

QueueSpec rung_spec(const Ladder& ladder, std::string_view work_queue, Milliseconds delay, bool high_priority,
                    const BrokerFeatures& features) {
    const QueueType type = features.quorum_ttl ? ladder.queue_type : QueueType::classic;
    QueueSpec spec{rung_name(work_queue, delay, high_priority), {}, {}};
    add_type(spec.arguments, type);
    spec.arguments.emplace_back("x-message-ttl", std::int64_t{delay.count()});
    add_dead_letter_to(spec.arguments, work_queue, type, features);
    return spec;
}

std::vector<Milliseconds> distinct_delays(const Ladder& ladder) {
    std::vector<Milliseconds> delays;
    for (const Milliseconds delay : ladder.steps) {
        if (std::find(delays.begin(), delays.end(), delay) == delays.end()) delays.push_back(delay);
    }
    return delays;
}

}  // namespace retryd::core
