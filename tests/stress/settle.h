// The end of a run: everything comes to rest, then every message is looked for.
#pragma once

#include <string>
#include <vector>

#include "stress/ledger.h"
#include "stress/traffic.h"
#include "support/await.h"

namespace retryd::stress {

/// A queue of the vhost and what is in it, unsettled deliveries included.
struct Depth {
    std::string queue;
    std::size_t messages = 0;
};
/// As the broker last counted: seconds ago, for a quorum queue.
std::vector<Depth> depths();

/// Those but the queues of parked messages that are not empty, as "orders: 3".
std::vector<std::string> under_way();

/// Whether nothing is under way any more: every queue but those of parked messages was empty for a while.
bool come_to_rest(test::milliseconds within);

/// Takes all parked messages of that work queue into the book.
void collect_parked(const Addresses& addresses, Ledger& ledger, const std::string& work_queue);
/// Takes everything that lies anywhere into the book. No consumer and no daemon may run. What is under way afterwards
/// is with a broker that has it and gives it to nobody: on its way out of a quorum queue, at least once, but not done.
void collect_all(const Addresses& addresses, Ledger& ledger);

}  // namespace retryd::stress
