// Which work queues have producers or consumers that speak AMQP 1.0: what comes back to them has been AMQP 0-9-1 on its
// way, and is not in all sections what it was (docs/reference.md).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/routing.h"
#include "core/policy.h"

namespace retryd::admin {

/// Where a link of a producer leads, as RabbitMQ 4 writes addresses: `/queues/:queue`, `/exchanges/:exchange` and
/// `/exchanges/:exchange/:key`, each part percent-encoded (rabbitmq.com/docs/amqp, "Address v2"). None for any other: a
/// producer without a target says with each message where it goes.
std::set<std::string> queues_behind(std::string_view target, const Ways& ways);

/// For a person: names them, and what that means. Empty where there are none.
std::string amqp10_note(const std::set<std::string>& work_queues);

}  // namespace retryd::admin
