// What comes from a queue with the name of a detour names its work queue itself: it is believed with a proof, or where
// the queue is retryd's own.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::foreign_detour_test {
namespace {

const DeadMessage forged{
    .queue = "retryd.detour.2s", .reason = "expired", .carried_queue = "email", .carried_attempt = 1, .forged = true};
const DeadMessage proven{
    .queue = "retryd.detour.2s", .reason = "expired", .carried_queue = "email", .carried_attempt = 1};

}  // namespace

TEST_CASE("what a queue sends that has a detour's name and other arguments goes to the catch-all, unsigned") {
    Fixture f;
    f.broker.refused.insert("retryd.detour.2s");
    f.answer_declares();
    f.deliver(forged);
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 0);
    CHECK(f.lying_in("email.parked") == 0);
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
    CHECK_FALSE(f.has_header("retryd.parked", "retryd-proof"));
    CHECK(f.reporter.lines.back() == "parked  retryd.parked no-death");

    f.deliver(proven);  // of ours, from when the queue was
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);

    f.broker.refused.clear();  // the queue was deleted
    f.pass(core::Milliseconds{60'000});
    f.answer_declares();
    f.deliver(forged);
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 2);
}

TEST_CASE("until it is known whose a detour is, what comes from it without a proof waits, and with one it does not") {
    Fixture f;
    f.deliver(forged);
    const core::DeliveryTag second = f.deliver(proven);
    f.confirm_all();
    CHECK(f.broker.acked.empty());
    f.broker.queues["email.retry.5s"];
    for (const auto& declared : std::exchange(f.broker.declares, {})) {
        if (declared.key.find("email") != std::string::npos)
            f.relay.on_declared(declared.key, DeclareOutcome::ready, "", f.now);
        else
            f.broker.declares.push_back(declared);
    }
    f.confirm_all();
    f.pass(core::Milliseconds{150});  // an ack waits a little for those before it
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);
    CHECK(f.broker.unacked == std::set<core::DeliveryTag>{second - 1});
    f.broker.refused.insert("retryd.detour.2s");
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("where nobody says whose a detour is, what comes from it without a proof is held back and never signed") {
    Fixture f;
    f.broker.declares.clear();
    f.deliver(forged);
    f.pass(core::Milliseconds{2'500});
    f.pass(core::Milliseconds{60'000});
    CHECK(f.broker.requeued == std::vector<core::DeliveryTag>{1});
    CHECK(f.broker.acked.empty());
}

}  // namespace retryd::relay::foreign_detour_test
