// The end of a run: waiting until all is idle, then looking for every message.
#pragma once

#include <string>
#include <vector>

#include "stress/ledger.h"
#include "stress/traffic.h"
#include "support/await.h"

namespace retryd::stress {

/// Those but the queues of parked messages that are not empty, as "orders: 3".
std::vector<std::string> busy_queues();

/// Whether every queue but those of parked messages was empty for some seconds, within that time.
bool await_idle(test::milliseconds within);

/// Enters all parked messages of that work queue into the ledger.
void collect_parked(const Addresses& addresses, Ledger& ledger, const std::string& work_queue);
/// Enters the messages of all queues into the ledger. No consumer and no daemon may run. What a queue still has
/// afterwards the broker delivers to nobody: a quorum queue is dead-lettering it and has not finished.
void collect_all(const Addresses& addresses, Ledger& ledger);

}  // namespace retryd::stress
