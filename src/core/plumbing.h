// Queues that frameworks keep for themselves, told by their names: delays, answers, what the nodes tell each other.
#pragma once

#include <string_view>

namespace retryd::core {

/// Celery's delays (celery_delayed_N, {prefix}_celery_delayed_N), remote control and events, NServiceBus's delays, and
/// of Moleculer the queues that each node has. From the sources of Celery and kombu 5.6.2, NServiceBus.RabbitMQ 11.2.0
/// and Moleculer 0.14. The patterns of policies say the same (admin/patterns.cpp).
bool has_name_of_plumbing(std::string_view queue);

/// The same. Asked of the queue of every message: most are told by their first and last letters.
inline bool is_known_plumbing(std::string_view queue) {
    if (queue.empty()) return false;
    const char first = queue.front();
    const char last = queue.back();
    const bool may_be = first == 'c' || first == 'n' || first == 'M' || last == 'x' || (last >= '0' && last <= '9');
    return may_be && has_name_of_plumbing(queue);
}

}  // namespace retryd::core
