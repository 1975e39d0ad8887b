// What fails while it is held: in its queue, with its attempt unspent, whatever is left of its ladder.
#include <algorithm>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::hold_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

core::Policy holding(bool hold = true) {
    core::Policy policy = Fixture::policy();
    for (core::Entry& entry : policy.entries)
        entry.hold = hold;
    return policy;
}

struct HoldFixture : Fixture {
    HoldFixture() : Fixture(holding()) { answer_declares(); }
};

}  // namespace

TEST_CASE("while an entry holds, what is rejected is held with its attempt unspent, and acked when confirmed") {
    HoldFixture f;
    f.deliver();
    f.relay.flush(f.now);
    CHECK(f.lying_in("email.held") == 1);
    CHECK(f.broker.acked.empty());
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
    CHECK(f.header("email.held", "retryd-queue") == "email");
    CHECK(f.header("email.held", "retryd-attempt") == "0");
    CHECK(f.header("email.held", "retryd-reason") == "rejected");
    CHECK(f.header("email.held", "retryd-held-since") == "1800000000");
    CHECK(f.header("email.held", "x-death") == "(none)");
    CHECK(f.reporter.lines == Lines{"held email email.held rejected"});
}

TEST_CASE("a queue of held messages is looked at again every minute, as rungs are") {
    HoldFixture f;
    f.broker.queues.erase("email.held");
    f.pass(core::Milliseconds{60'000});
    while (!f.broker.declares.empty()) {
        f.answer_declares();
        f.pass({});
    }
    CHECK(f.broker.queues.contains("email.held"));
}

TEST_CASE("what comes home from a rung and fails again is held with the attempts that it had") {
    HoldFixture f;
    f.deliver({"email", "rejected", "email", 1});
    CHECK(f.header("email.held", "retryd-attempt") == "1");
}

TEST_CASE("what would be parked because its ladder is used up is held instead") {
    HoldFixture f;
    f.deliver({"email", "rejected", "email", 2});
    CHECK(f.lying_in("email.parked") == 0);
    CHECK(f.header("email.held", "retryd-attempt") == "2");
}

TEST_CASE("what the entry parks by its reason of death is parked while it holds, too") {
    HoldFixture f;
    f.deliver({"email", "expired"});
    CHECK(f.lying_in("email.held") == 0);
    CHECK(f.lying_in("email.parked") == 1);
}

TEST_CASE("of a glob a queue that exists is held, and one that does not is parked as gone") {
    HoldFixture f;
    f.broker.missing.insert("web.gone");
    f.deliver({"web.shop"});
    f.deliver({"web.gone"});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.lying_in("web.shop.held") == 1);
    CHECK(f.lying_in("web.gone.held") == 0);
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("a queue of held messages that refuses is a target like any other: its messages take the detour") {
    HoldFixture f;
    f.broker.full.insert("email.held");
    f.deliver();
    f.confirm_all();
    CHECK(f.broker.requeued == Tags{1});
    f.deliver();
    f.answer_declares();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.header("retryd.detour.2s", "retryd-attempt") == "0");
    CHECK(f.header("retryd.detour.2s", "retryd-held-since") == "1800000000");
    f.deliver({"email.other"});
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("a queue of held messages that cannot be declared: the detour, not the parking queue") {
    Fixture f(holding());
    f.broker.refused.insert("email.held");
    f.answer_declares();
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.parked") == 0);
    CHECK(f.lying_in("retryd.detour.2s") == 1);
}

TEST_CASE("a reload holds from the next message on, and another one ends it") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.confirm_all();
    f.relay.prepare_to_adopt();
    f.adopt(holding());
    f.answer_declares();
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.held") == 1);
    f.relay.prepare_to_adopt();
    f.adopt(holding(false));
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.held") == 1);
    CHECK(f.lying_in("email.retry.5s") == 2);
}

TEST_CASE("queues of held messages are declared for entries that may hold, and for no others") {
    core::Policy policy = Fixture::policy();
    policy.entries[0].outage = core::OutageRule{};
    Fixture f(policy);
    Lines names;
    for (const auto& declared : f.broker.declares)
        names.push_back(std::get<core::QueueSpec>(declared.topology.front()).name);
    CHECK(std::count(names.begin(), names.end(), "email.held") == 1);
}

TEST_CASE(
    "while it is unknown whether an earlier run held, what fails takes the detour and no attempt is spent, nothing "
    "parked") {
    core::Policy policy = Fixture::policy();
    for (core::Entry& entry : policy.entries)
        entry.outage = core::OutageRule{};
    Fixture f(policy);
    f.answer_declares();
    f.outage.not_yet_known = true;
    f.deliver();
    f.deliver({"email", "rejected", "email", 2});
    f.deliver({"email", "expired"});
    f.answer_declares();
    CHECK(f.lying_in("retryd.detour.2s") == 2);
    CHECK(f.lying_in("email.parked") == 1);
    CHECK(f.lying_in("email.retry.5s") == 0);
    f.outage = {.holding = true};
    f.deliver();
    f.answer_declares();
    CHECK(f.lying_in("email.held") == 1);
}

}  // namespace retryd::relay::hold_test
