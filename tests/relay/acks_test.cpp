#include "relay/acks.h"

#include <string>
#include <vector>

#include "support/catch.h"

namespace retryd::relay::acks_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;

/// Writes down the acks: `5*` is one with `multiple`.
class AckLog : public AckPort {
  public:
    std::string text;

    void ack(core::DeliveryTag tag, bool multiple) override {
        text += (text.empty() ? "" : " ") + std::to_string(tag) + (multiple ? "*" : "");
    }
};

AckTracker with_deliveries(core::DeliveryTag count) {
    AckTracker acks;
    for (core::DeliveryTag tag = 1; tag <= count; ++tag)
        acks.delivered(tag);
    return acks;
}

std::string flush(AckTracker& acks) {
    AckLog log;
    acks.flush(log);
    return log.text;
}

std::string flush_unsent(AckTracker& acks) {
    AckLog log;
    acks.flush_unsent(log);
    return log.text;
}

}  // namespace

TEST_CASE("a settled row from the oldest on costs one ack") {
    AckTracker acks = with_deliveries(5);
    for (const core::DeliveryTag tag : {3U, 1U, 2U, 4U})
        acks.ack(tag);
    CHECK(flush(acks) == "4*");
    CHECK(acks.open() == 1);
    acks.ack(5);
    CHECK(flush(acks) == "5*");
    CHECK(acks.open() == 0);
}

TEST_CASE("behind an open delivery each is acked alone, only when asked to, and not again later") {
    AckTracker acks = with_deliveries(4);
    acks.ack(2);
    acks.ack(4);
    CHECK(flush(acks).empty());
    CHECK(acks.unsent() == 2);
    CHECK(flush_unsent(acks) == "2 4");
    CHECK(acks.unsent() == 0);
    CHECK(flush_unsent(acks).empty());
    acks.ack(1);
    acks.ack(3);
    CHECK(flush(acks) == "3*");
}

TEST_CASE("what was requeued is never acked, neither alone nor by a multiple that ends at it") {
    AckTracker acks = with_deliveries(3);
    acks.ack(1);
    acks.forget(2);
    CHECK(flush(acks) == "1*");
    acks.forget(3);
    CHECK(flush(acks).empty());
    CHECK(acks.open() == 0);
}

TEST_CASE("a delivery is settled once") {
    AckTracker acks = with_deliveries(2);
    acks.forget(1);
    acks.ack(1);
    acks.ack(2);
    acks.ack(2);
    CHECK(acks.open() == 0);
    CHECK(flush(acks) == "2*");
    acks.ack(2);
    acks.ack(99);
    CHECK(flush(acks).empty());
}

TEST_CASE("tags go on after all were settled") {
    AckTracker acks = with_deliveries(2);
    acks.ack(1);
    acks.ack(2);
    flush(acks);
    acks.delivered(3);
    acks.ack(3);
    CHECK(flush(acks) == "3*");
}

}  // namespace retryd::relay::acks_test
