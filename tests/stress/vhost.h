// The vhost of a stress run: its users, its work queues, and the two valid configurations between which retryd is
// reloaded.
#pragma once

#include <unistd.h>

#include <string>
#include <vector>

#include "stress/ledger.h"
#include "stress/traffic.h"
#include "support/config_file.h"

namespace retryd::stress {

struct WorkQueue {
    std::string name;
    std::string type = "quorum";
    std::string ladder = "quick";
    bool random_load = true;
    int time_to_live = 0;    // ms; with one, nobody consumes the queue
    std::string on = {};     // YAML, as in the entry
    std::string match = {};  // the entry's, where it is not the name
};

/// Of every ladder but those of queues whose messages fail once.
inline constexpr int ladder_steps = 3;

const std::vector<WorkQueue>& work_queues();
const WorkQueue& work_queue(const std::string& name);
/// The queue that holds the messages of that work queue's only step (of `rare` and `doomed` queues).
std::string rung_of(const WorkQueue& queue);
std::string parking_of(const WorkQueue& queue);

/// Of each process its own: where a node was away when a queue was deleted, RabbitMQ 3.10 deletes it there later, and
/// with it the data of a new one of the same vhost and name.
inline const std::string vhost = "stress-" + std::to_string(getpid());
inline const std::string error_queue = "errors";
inline const std::string catch_all = "catch-all";
inline const std::string daemon_user = "retryd";

/// Creates the vhost and its empty work queues on the broker of the environment. Deletes those of earlier runs.
void create_vhost(const Addresses& addresses, const std::vector<WorkQueue>& queues = work_queues());
void declare(const Addresses& addresses, const WorkQueue& queue);

/// The same broker as `address`, as one of the users of the vhost.
test::Address as_team(const test::Address& address);
test::Address as_daemon(const test::Address& address);

/// `variant` 0 or 1: other delays, thus other rungs, and another prefetch.
std::string configuration(const Addresses& daemon_addresses, int variant,
                          const std::vector<WorkQueue>& queues = work_queues());

}  // namespace retryd::stress
