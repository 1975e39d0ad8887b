// Disruptions of queues and of their consumers. Only empty queues are deleted: deleting a queue deletes its messages.
#include "stress/disruption.h"
#include "stress/settle.h"

namespace retryd::stress {
namespace {

using test::await;
using test::seconds;

std::vector<std::size_t> publish_burst(TestBed& bed, const WorkQueue& queue) {
    std::vector<std::size_t> ids;
    for (int n = 0; n < 20; ++n)
        ids.push_back(bed.ledger.issue(queue.name, 1));
    publish_all(bed.addresses, bed.ledger, queue.name, ids, false);
    return ids;
}

/// Nothing is on the rung when it is deleted: what went over it before is acked or parked.
bool rung_deleted(TestBed& bed) {
    const std::string name = bed.pick(0, 1) == 0 ? "rare.own" : "rare.shared";
    const WorkQueue& queue = work_queue(name);
    const auto before = publish_burst(bed, queue);
    const auto all_settled = [&] {
        if (bed.ledger.settled(before)) return true;
        collect_parked(bed.addresses, bed.ledger, queue.name);
        return false;
    };
    if (!await(all_settled, seconds(20), seconds(1))) return false;
    connect(bed.addresses)->delete_queue(rung_of(queue));
    publish_burst(bed, queue);
    return true;
}

bool delete_if_empty(const std::string& queue) {
    try {
        test::rabbitmqctl("delete_queue -p " + vhost + " --if-empty " + queue);
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

/// Its messages are in the error queue and on the rung, or in between, while there is no work queue.
bool work_queue_deleted(TestBed& bed) {
    const std::string name = bed.pick(0, 1) == 0 ? "doomed.own" : "doomed.shared";
    const WorkQueue& queue = work_queue(name);
    Consumer& consumer = bed.consumer_of(queue.name);
    publish_burst(bed, queue);
    const auto looks = [&](auto condition) {
        return await(
            [&] {
                const auto state = connect(bed.addresses)->look_at(queue.name);
                return state && condition(*state);
            },
            seconds(10), test::milliseconds(20));
    };
    const bool emptied = looks([](const test::QueueState& state) { return state.messages == 0; });
    consumer.leave();
    // When its consumer is gone, the queue has taken back what was not acked.
    const bool left = looks([](const test::QueueState& state) { return state.consumers == 0; });
    const bool deleted = emptied && left && delete_if_empty(queue.name);
    bed.wait_up_to(4'000);
    declare(bed.addresses, queue);
    consumer.come_back();
    return deleted;
}

bool consumers_gone(TestBed& bed) {
    const auto one = static_cast<std::size_t>(bed.pick(0, static_cast<int>(bed.consumers.size()) - 1));
    bed.consumers[one]->leave();
    bed.wait_up_to(3'000);
    bed.consumers[one]->come_back();
    return true;
}

}  // namespace

std::vector<Disruption> disruptions_of_queues() {
    return {{"rung deleted while empty", rung_deleted},
            {"work queue deleted and made again", work_queue_deleted},
            {"consumers gone", consumers_gone}};
}

}  // namespace retryd::stress
