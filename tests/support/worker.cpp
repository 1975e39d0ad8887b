#include "support/worker.h"

#include "support/catch.h"
#include "support/environment.h"

namespace retryd::test {

Worker::Worker(const std::string& queue, std::uint16_t prefetch) : client(broker_address()), queue_(queue) {
    client.consume(queue, prefetch);
}

Received Worker::receive(milliseconds within) {
    const std::optional<Received> received = client.next(within);
    INFO("a message must come to " << queue_ << " within " << within.count() << " ms");
    REQUIRE(received.has_value());
    return *received;
}

}  // namespace retryd::test
