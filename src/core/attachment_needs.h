// What one work queue needs from a policy to be attached.
#pragma once

#include <string>

#include "core/attachment.h"
#include "core/effective.h"

namespace retryd::core {

/// Whether what dead-letters to that exchange, as JSON text, comes to the error queue.
bool leads_to_error_queue(const Policy& policy, const std::string& exchange);

struct Needs {
    Standing::State state = Standing::State::attached;
    Definition keys;         // what the policy has to set besides what it sets; empty unless to_attach
    std::string note;        // about the queue, whatever its state
    std::string taken_from;  // the exchange, as JSON text, that its dead letters go to now and then no more
};

Needs needs_of(const GovernedQueue& queue, const Policy& policy, const Governance& governance);

}  // namespace retryd::core
