#include "relay/acks.h"

#include <string>

#include "support/catch.h"

namespace retryd::relay::settlements_test {
namespace {

/// Writes down the acks: `5*` is one with `multiple`.
class AckLog : public Broker {
  public:
    std::string text;

    void ack(core::DeliveryTag tag, bool multiple) override {
        text += (text.empty() ? "" : " ") + std::to_string(tag) + (multiple ? "*" : "");
    }
    PublishResult publish(const core::Publication&) override { return PublishResult::sent; }
    void requeue(core::DeliveryTag) override {}
    void dead_letter(core::DeliveryTag) override {}
    void declare(std::string_view, const core::Topology&) override {}
    void bind_home(std::string_view) override {}
    void check(std::string_view) override {}
};

AckTracker with_deliveries(core::DeliveryTag count) {
    AckTracker settlements;
    for (core::DeliveryTag tag = 1; tag <= count; ++tag)
        settlements.delivered(tag);
    return settlements;
}

std::string flush(AckTracker& settlements) {
    AckLog log;
    settlements.flush(log);
    return log.text;
}

std::string flush_behind(AckTracker& settlements) {
    AckLog log;
    settlements.flush_behind(log);
    return log.text;
}

}  // namespace

TEST_CASE("a settled row from the oldest on costs one ack") {
    AckTracker settlements = with_deliveries(5);
    for (const core::DeliveryTag tag : {3U, 1U, 2U, 4U})
        settlements.ack(tag);
    CHECK(flush(settlements) == "4*");
    CHECK(settlements.open() == 1);
    settlements.ack(5);
    CHECK(flush(settlements) == "5*");
    CHECK(settlements.open() == 0);
}

TEST_CASE("behind an open delivery each is acked alone, only when asked to, and not again later") {
    AckTracker settlements = with_deliveries(4);
    settlements.ack(2);
    settlements.ack(4);
    CHECK(flush(settlements).empty());
    CHECK(settlements.behind() == 2);
    CHECK(flush_behind(settlements) == "2 4");
    CHECK(settlements.behind() == 0);
    CHECK(flush_behind(settlements).empty());
    settlements.ack(1);
    settlements.ack(3);
    CHECK(flush(settlements) == "3*");
}

TEST_CASE("what was requeued is never acked, neither alone nor by a multiple that ends at it") {
    AckTracker settlements = with_deliveries(3);
    settlements.ack(1);
    settlements.settled(2);
    CHECK(flush(settlements) == "1*");
    settlements.settled(3);
    CHECK(flush(settlements).empty());
    CHECK(settlements.open() == 0);
}

TEST_CASE("a delivery is settled once") {
    AckTracker settlements = with_deliveries(2);
    settlements.settled(1);
    settlements.ack(1);
    settlements.ack(2);
    settlements.ack(2);
    CHECK(settlements.open() == 0);
    CHECK(flush(settlements) == "2*");
    settlements.ack(2);
    settlements.ack(99);
    CHECK(flush(settlements).empty());
}

TEST_CASE("tags go on after all were settled") {
    AckTracker settlements = with_deliveries(2);
    settlements.ack(1);
    settlements.ack(2);
    flush(settlements);
    settlements.delivered(3);
    settlements.ack(3);
    CHECK(flush(settlements) == "3*");
}

}  // namespace retryd::relay::settlements_test
