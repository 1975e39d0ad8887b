#include "commands/status/status.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace retryd::commands::status_test {
namespace {

using Lines = std::vector<std::string>;
using namespace std::chrono_literals;

telemetry::QueueStatus queue_of(const std::string& name, std::uint64_t waiting, std::uint64_t parked) {
    telemetry::QueueStatus queue;
    queue.work_queue = name;
    queue.rungs = {{name + ".retry.5s", 5s, waiting}};
    queue.parked = telemetry::QueueDepth{name + ".parked", parked};
    return queue;
}

Lines arranged(const StatusView& view) {
    StatusReport status;
    status.queues = {queue_of("web.a", 236, 17), queue_of("bell", 2, 0), queue_of("sharing", 0, 5)};
    arrange(status, view);
    Lines names;
    for (const telemetry::QueueStatus& queue : status.queues)
        names.push_back(queue.work_queue);
    return names;
}

}  // namespace

TEST_CASE("status: work queues in an order, and those alone that a glob matches") {
    using Order = StatusView::Order;
    CHECK(arranged({}) == Lines{"web.a", "sharing", "bell"});
    CHECK(arranged({.order = Order::waiting}) == Lines{"web.a", "bell", "sharing"});
    CHECK(arranged({.order = Order::parked}) == Lines{"web.a", "sharing", "bell"});
    CHECK(arranged({.order = Order::name}) == Lines{"bell", "sharing", "web.a"});
    CHECK(arranged({.match = "*a*"}) == Lines{"web.a", "sharing"});
}

}  // namespace retryd::commands::status_test
