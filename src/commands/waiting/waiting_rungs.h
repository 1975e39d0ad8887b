// The rungs of a configuration that are on the broker, with what waits there. Nothing is consumed for it.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "commands/common/broker.h"
#include "core/names.h"
#include "core/policy.h"

namespace retryd::commands {

struct WaitingRung {
    std::string queue;
    core::ParsedRung rung;
    std::size_t messages = 0;  // ready
};

struct WaitingRungs {
    std::vector<WaitingRung> rungs;  // that are there, by name
    std::vector<std::string> notes;  // what could not be seen; one line each
};

/// `work_queue`: rungs that serve this one; a name, a glob, or empty for all. A shared rung serves every work queue of
/// its ladder. Throws amqp::Error.
WaitingRungs find_waiting_rungs(Broker& broker, const core::Policy& policy, const std::string& work_queue);

}  // namespace retryd::commands
