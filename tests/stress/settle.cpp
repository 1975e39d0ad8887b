#include "stress/settle.h"

#include "stress/vhost.h"
#include "support/queue_depths.h"

namespace retryd::stress {
namespace {

using test::Client;
using test::milliseconds;
using test::seconds;

/// Longer than a quorum queue takes between two counts of itself (5 s).
constexpr seconds rest{7};

bool is_parking(const std::string& queue) {
    return queue == catch_all || queue.ends_with(".parked");
}

template <typename Note>
void empty(const Addresses& addresses, const std::string& queue, Note note) {
    const auto client = connect(addresses);
    if (!client->look_at(queue)) return;
    client->consume(queue, 500);
    while (const auto message = client->next(seconds(1))) {
        client->ack(message->tag);
        note(*message);
    }
}

void collect(const Addresses& addresses, Ledger& ledger, const std::string& queue) {
    const std::string owner = queue == catch_all ? "" : queue.substr(0, queue.size() - std::string(".parked").size());
    empty(addresses, queue, [&](const test::Received& message) {
        is_parking(queue) ? ledger.parked(owner, message) : ledger.left(queue, message);
    });
}

}  // namespace

std::vector<std::string> busy_queues() {
    std::vector<std::string> busy;
    for (const test::QueueDepth& depth : test::queue_depths(vhost)) {
        if (is_parking(depth.queue)) continue;
        if (!depth.known) busy.push_back(depth.queue + ": no leader");
        if (depth.messages > 0) busy.push_back(depth.queue + ": " + std::to_string(depth.messages));
    }
    return busy;
}

bool await_idle(milliseconds within) {
    auto busy_at = test::Clock::now();
    const auto resting = [&] {
        if (!busy_queues().empty()) busy_at = test::Clock::now();
        return test::since(busy_at) >= rest;
    };
    return test::await(resting, within, milliseconds(500));
}

void collect_parked(const Addresses& addresses, Ledger& ledger, const std::string& work_queue) {
    collect(addresses, ledger, work_queue + ".parked");
}

void collect_all(const Addresses& addresses, Ledger& ledger) {
    for (const test::QueueDepth& depth : test::queue_depths(vhost))
        collect(addresses, ledger, depth.queue);
}

}  // namespace retryd::stress
