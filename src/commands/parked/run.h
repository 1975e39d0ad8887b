// Where replayed messages go, asked before the first of them is sent.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "admin/parked_run.h"
#include "amqp/dead_letter_tap.h"
#include "commands/common/broker.h"
#include "commands/parked/browser.h"
#include "config/settings.h"
#include "system/signals.h"

namespace retryd::commands {

struct Destinations {
    std::string fault;  // why nothing is sent at all; empty: all of them are there
    std::vector<std::string> notes;
    std::set<std::string, std::less<>> missing;  // messages cannot go there, so they stay
    /// Their ladder is shared: through the return exchange their consumers see the producer's routing key.
    std::set<std::string, std::less<>> through_return;
};

/// `to`: all go there; empty: each to its own work queue. Makes the return exchange find those that need it.
Destinations destinations(Broker& broker, const config::Settings& settings, const ParkedOverview& survey,
                          const std::string& to);

// Carries out one ParkedRun on a broker: reads the parking queue on one connection, publishes on another, watches what
// fails on a third.

struct ParkedRunResult {
    admin::ParkedRun::End end = admin::ParkedRun::End::none;
    admin::ParkedRunCounts counts;
    std::string why;    // of an end that the broker brought about, in its words
    std::string fault;  // the connection was lost: what was not acked by then stays, or is there twice
};

/// What a run needs; all of it must outlive the run.
struct ParkedRunContext {
    const config::Settings& settings;
    Broker& broker;
    const system::Signals& signals;
    amqp::DeadLetterTap* watch;  // null: nobody looks what fails
    /// `blocked`: why the broker takes no messages at the moment, in its words; empty where it does.
    std::function<void(const admin::ParkedRunCounts&, const std::string& blocked)> progress;
};

/// Returns when all is settled. `ready`: how many messages lie in the queue. A lost connection is told in the result.
ParkedRunResult clear(const ParkedRunContext& table, const std::string& queue, std::size_t ready,
                      admin::ParkedRunOrder order);

}  // namespace retryd::commands
