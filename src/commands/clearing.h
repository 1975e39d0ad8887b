// Carries out one Clearance on a broker: reads the parking queue on one connection, publishes on another, watches what
// fails on a third.
#pragma once

#include <functional>
#include <string>

#include "amqp/failure_watch.h"
#include "commands/broker.h"
#include "commands/interrupts.h"
#include "config/settings.h"
#include "relay/clearance.h"

namespace retryd::commands {

struct Cleared {
    relay::Clearance::End end = relay::Clearance::End::none;
    relay::ClearanceCounts counts;
    std::string why;    // of an end that the broker brought about, in its words
    std::string fault;  // the connection was lost: what was not acked by then stays, or is there twice
};

/// What a run needs; all of it must outlive the run.
struct ClearingTable {
    const config::Settings& settings;
    Broker& broker;
    const Interrupts& interrupts;
    amqp::FailureWatch* watch;  // null: nobody looks what fails
    /// `blocked`: why the broker takes no messages at the moment, in its words; empty where it does.
    std::function<void(const relay::ClearanceCounts&, const std::string& blocked)> progress;
};

/// Returns when all is settled. `ready`: how many messages lie in the queue. A lost connection is told in the result.
Cleared clear(const ClearingTable& table, const std::string& queue, std::size_t ready, relay::ClearanceOrder order);

}  // namespace retryd::commands
