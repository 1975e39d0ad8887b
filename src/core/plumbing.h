// Queues that frameworks keep for themselves, told by their names: delays, answers, what the nodes tell each other.
#pragma once

#include <string_view>

namespace retryd::core {

/// Celery's delays (celery_delayed_N), remote control and events, NServiceBus's delays, and of Moleculer the queues
/// that each node has. From the sources of Celery 5.6.2, NServiceBus.RabbitMQ 11.2.0 and Moleculer 0.14.
bool has_name_of_plumbing(std::string_view queue);

/// The same. Asked of the queue of every message: most are told by their first and last letter.
inline bool is_known_plumbing(std::string_view queue) {
    if (queue.empty()) return false;
    const char first = queue.front();
    return (first == 'c' || first == 'n' || first == 'M' || queue.back() == 'x') && has_name_of_plumbing(queue);
}

}  // namespace retryd::core
