// What happens to queues, and to those who consume them. Only empty queues are deleted: to delete one with messages in
// it is to delete the messages.
#include "stress/settle.h"
#include "stress/trouble.h"

namespace retryd::stress {
namespace {

using test::await;
using test::seconds;

std::vector<std::size_t> publish_burst(Stage& stage, const WorkQueue& queue) {
    std::vector<std::size_t> ids;
    for (int n = 0; n < 20; ++n)
        ids.push_back(stage.ledger.issue(queue.name, 1));
    publish_all(stage.addresses, stage.ledger, queue.name, ids, false);
    return ids;
}

/// Nothing is on the rung when it is deleted: what went over it before is acked or parked.
bool rung_deleted(Stage& stage) {
    const std::string name = stage.pick(0, 1) == 0 ? "rare.own" : "rare.shared";
    const WorkQueue& queue = work_queue(name);
    const auto before = publish_burst(stage, queue);
    const auto all_settled = [&] {
        if (stage.ledger.settled(before)) return true;
        collect_parked(stage.addresses, stage.ledger, queue.name);
        return false;
    };
    if (!await(all_settled, seconds(20), seconds(1))) return false;
    connect(stage.addresses)->delete_queue(rung_of(queue));
    publish_burst(stage, queue);
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
bool work_queue_deleted(Stage& stage) {
    const std::string name = stage.pick(0, 1) == 0 ? "doomed.own" : "doomed.shared";
    const WorkQueue& queue = work_queue(name);
    Consumer& consumer = stage.consumer_of(queue.name);
    publish_burst(stage, queue);
    const auto looks = [&](auto condition) {
        return await(
            [&] {
                const auto state = connect(stage.addresses)->look_at(queue.name);
                return state && condition(*state);
            },
            seconds(10), test::milliseconds(20));
    };
    const bool emptied = looks([](const test::QueueState& state) { return state.messages == 0; });
    consumer.leave();
    // With the consumer it has taken back what was not settled.
    const bool left = looks([](const test::QueueState& state) { return state.consumers == 0; });
    const bool deleted = emptied && left && delete_if_empty(queue.name);
    stage.wait_up_to(4'000);
    declare(stage.addresses, queue);
    consumer.come_back();
    return deleted;
}

bool consumers_gone(Stage& stage) {
    const auto one = static_cast<std::size_t>(stage.pick(0, static_cast<int>(stage.consumers.size()) - 1));
    stage.consumers[one]->leave();
    stage.wait_up_to(3'000);
    stage.consumers[one]->come_back();
    return true;
}

}  // namespace

std::vector<Trouble> troubles_of_queues() {
    return {{"rung deleted while empty", rung_deleted},
            {"work queue deleted and made again", work_queue_deleted},
            {"consumers gone", consumers_gone}};
}

}  // namespace retryd::stress
