// One set of rungs for many work queues: bound to the return exchange, returned when their rung missed them.
#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::shared_ladder_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

core::Policy shared_policy() {
    core::Ladder ladder{"shared", {core::Milliseconds{1000}, core::Milliseconds{2000}}};
    ladder.return_path = core::ReturnPath::headers;
    core::Policy policy;
    policy.entries.push_back({"email", ladder, {"{queue}.parked"}});
    policy.entries.push_back({"web.*", ladder, {"{queue}.parked"}});
    return policy;
}

struct SharedFixture : Fixture {
    SharedFixture() : Fixture(shared_policy()) {
        answer_declares();
        answer_binds();
        broker.queues["email"];
        broker.queues["retryd.errors"];
    }
};

}  // namespace

TEST_CASE("the answer to another question about a work queue does not make its binding be asked for again") {
    Fixture f;
    f.answer_declares();
    f.broker.queues["web.a"];
    f.deliver({"web.a"});
    f.deliver_undelivered("web.a");
    CHECK(f.broker.checks == Lines{"web.a"});
    CHECK(f.broker.binds == Lines{"web.a"});
    f.broker.answer_checks(f.relay, f.now);
    f.broker.binds.clear();
    f.broker.bound_to_return_exchange.insert("web.a");
    f.relay.on_bound("web.a", CheckOutcome::exists, "", f.now);
    REQUIRE(f.broker.binds.empty());
    f.answer_declares();  // the return exchange itself
    f.answer_binds();
    CHECK(f.lying_in("web.a") == 1);
}

TEST_CASE("at start each shared rung is declared once for all entries, and queues known by name are bound") {
    Fixture f(shared_policy());
    Lines keys;
    for (const auto& declared : f.broker.declares)
        keys.push_back(declared.key);
    CHECK(keys == Lines{"retryd.shared.1s", "retryd.shared.2s", "\nemail.parked", "\nretryd.detour.2s",
                        "\nretryd.detour.30s", "\nretryd.detour.5m"});
    CHECK(f.broker.binds == Lines{"email"});
}

TEST_CASE("a message goes onto a shared rung with the producer's routing key") {
    SharedFixture f;
    DeadMessage dead;
    dead.routing_key = "order.paid";
    f.deliver(dead);
    CHECK(f.lying_in("retryd.shared.1s") == 1);
    CHECK(f.broker.routing_keys == Lines{"order.paid"});
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
    CHECK(f.reporter.lines == Lines{"retried email retryd.shared.1s rejected"});
}

TEST_CASE("a work queue that only a glob names is bound before its first message is published") {
    SharedFixture f;
    f.deliver({"web.shop"});
    f.deliver({"web.shop"});
    CHECK(f.broker.binds == Lines{"web.shop"});
    CHECK(f.lying_in("retryd.shared.1s") == 0);
    f.answer_binds();
    f.answer_declares();
    CHECK(f.lying_in("retryd.shared.1s") == 2);
    f.deliver({"web.shop"});
    CHECK(f.broker.binds.empty());
}

TEST_CASE("a queue that a glob leaves out does not wait on a shared rung either") {
    SharedFixture f;
    std::optional<bool> known;
    f.is_excluded_from_glob = [&](std::string_view) { return known; };
    f.deliver({"web.events"});
    f.answer_binds();
    f.answer_declares();
    CHECK(f.reporter.lines.empty());
    known = true;
    f.relay.on_exclusion_known("web.events", f.now);
    f.confirm_all();
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
    CHECK(f.lying_in("retryd.shared.1s") == 0);
}

TEST_CASE("a queue of a glob that cannot be bound because it is not there: parked as queue-gone, and not remembered") {
    SharedFixture f;
    f.broker.missing.insert("web.forged");
    f.deliver({"web.forged"});
    f.answer_binds();
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    f.deliver({"web.forged"});
    CHECK(f.broker.binds == Lines{"web.forged"});
    CHECK(f.broker.declares.empty());
}

TEST_CASE("a queue known by name that is not there yet: its messages wait on their rung") {
    SharedFixture f;
    f.broker.missing.insert("email");
    f.relay.on_bound("email", CheckOutcome::missing, "", f.now);
    f.deliver();
    CHECK(f.lying_in("retryd.shared.1s") == 1);
}

TEST_CASE("a binding that is refused parks as unpublishable, is reported once, tried again after a minute, and heals") {
    Fixture f(shared_policy());
    f.broker.refused.insert("email");
    f.answer_declares();
    f.answer_binds();
    f.deliver();
    CHECK(f.header("email.parked", "retryd-parked-reason") == "unpublishable");
    CHECK(f.reporter.lines == Lines{"refused email 403 in the broker's words"});
    f.confirm_all();
    f.pass(core::Milliseconds{59'999});
    f.deliver();
    CHECK(f.broker.binds.empty());
    CHECK(f.lying_in("email.parked") == 2);
    f.confirm_all();
    f.pass(core::Milliseconds{1});
    f.broker.refused.clear();
    f.deliver();
    f.answer_binds();
    CHECK(f.lying_in("retryd.shared.1s") == 1);
    CHECK(f.reporter.lines.back() == "healed email");
}

TEST_CASE("a refused binding is no fault any more once the new policy does not need it") {
    Fixture f(shared_policy());
    f.broker.refused.insert("email");
    f.answer_declares();
    f.answer_binds();
    core::Policy policy = shared_policy();
    bool needed = false;
    SECTION("its ladder is not shared any more") {
        policy.entries[0].ladder.return_path = core::ReturnPath::queue;
    }
    SECTION("its entry is gone") {
        policy.entries.erase(policy.entries.begin());
    }
    SECTION("it needs it as before") {
        needed = true;
    }
    f.adopt(policy);
    f.answer_declares();
    f.answer_binds();
    Lines told{"refused email 403 in the broker's words"};
    if (!needed) told.emplace_back("not-needed email");
    CHECK(f.reporter.lines == told);
}

TEST_CASE("what its rung could not deliver is bound again and returns at once, with the producer's key") {
    SharedFixture f;
    f.deliver_undelivered("email");
    f.deliver_undelivered("email");
    CHECK(f.broker.binds == Lines{"email"});
    CHECK(f.lying_in("email") == 0);
    f.answer_binds();
    f.answer_declares();  // the return exchange itself
    f.answer_binds();
    REQUIRE(f.lying_in("email") == 2);
    CHECK(f.header("email", "retryd-attempt") == "2");
    CHECK(f.header("email", "x-death") == "(none)");
    CHECK(f.broker.routing_keys == Lines{"order.paid", "order.paid"});
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1, 2});
    CHECK(f.reporter.lines.back() == "returned email retryd.return undelivered");
}

TEST_CASE("what its rung could not deliver is parked as queue-gone when its queue is gone, with its whole story") {
    SharedFixture f;
    f.broker.missing.insert("email");
    f.deliver_undelivered("email");
    f.answer_binds();
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    CHECK(f.header("retryd.parked", "retryd-queue") == "email");
    CHECK(f.header("retryd.parked", "retryd-attempt") == "2");
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
}

TEST_CASE("what its rung could not deliver, and has not waited for the answer, is parked when it comes back") {
    SharedFixture f;
    f.deliver({"web.shop"});
    f.answer_binds();
    f.answer_declares();
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.shared.1s") == 1);
    f.broker.missing.insert("web.shop");
    f.deliver_undelivered("web.shop");
    f.pass(core::Milliseconds{400});
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.detour.2s") == 1);
    f.answer_binds();
    f.pass(core::Milliseconds{2'000});
    f.deliver_detoured(1, "rejected", 0, "web.shop");
    CHECK(f.lying_in("retryd.shared.1s") == 1);
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    CHECK(f.broker.binds.empty());
}

TEST_CASE("what is on a detour for another reason is not parked because its queue was gone for a moment") {
    SharedFixture f;
    f.deliver({"web.shop"});
    f.answer_binds();
    f.answer_declares();
    f.confirm_all();
    f.broker.missing.insert("web.shop");
    f.deliver_undelivered("web.shop");
    const bool waited = GENERATE(true, false);
    CAPTURE(waited);
    if (!waited) f.pass(core::Milliseconds{400});
    f.answer_binds();
    f.broker.missing.clear();
    if (!waited) {  // and one that comes later finds it
        f.deliver_undelivered("web.shop");
        f.answer_binds();
        f.answer_declares();  // the return exchange itself
        f.answer_binds();
    }
    f.confirm_all();
    const std::size_t parked = f.lying_in("retryd.parked");
    f.deliver_detoured(1, "rejected", 0, "web.shop");
    f.answer_binds();
    f.answer_declares();
    CHECK(f.lying_in("retryd.parked") == parked);
    CHECK(f.lying_in("retryd.shared.1s") == 2);
}

TEST_CASE("what its rung could not deliver is parked as unpublishable when its queue may not be bound") {
    SharedFixture f;
    f.broker.refused.insert("email");
    f.deliver_undelivered("email");
    f.answer_binds();
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "unpublishable");
}

TEST_CASE("an undelivered message of a queue that no entry names, or of our own, is never bound but parked") {
    SharedFixture f;
    for (const char* queue : {"nobody's", "retryd.errors", "retryd.parked", "email.parked", "retryd.shared.1s"}) {
        f.deliver_undelivered(queue);
        f.confirm_all();
    }
    CHECK(f.broker.binds.empty());
    CHECK(f.lying_in("retryd.parked") == 5);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
}

TEST_CASE("an undelivered message without a proof goes nowhere: anybody's queue may have a shared rung's name") {
    SharedFixture f;
    f.deliver_undelivered("email", "0123456789abcdef");
    f.confirm_all();
    CHECK(f.broker.binds.empty());
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
}

TEST_CASE("an answer holds for those that waited for it: a queue that comes and goes makes no message run round") {
    SharedFixture f;
    f.deliver_undelivered("email");
    f.answer_binds();
    f.answer_declares();
    f.answer_binds();
    CHECK(f.lying_in("email") == 1);
    f.broker.missing.insert("email");
    f.deliver_undelivered("email");
    CHECK(f.broker.binds == Lines{"email"});
    f.answer_binds();
    CHECK(f.lying_in("email") == 1);
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("a shared rung that may not be published to any more is waited for on detours; one that never was parks") {
    SharedFixture f;
    const bool worked_before = GENERATE(true, false);
    if (worked_before) {
        f.deliver();
        f.confirm_all();
    }
    const auto refuse = [&] {
        f.deliver();
        f.close_publishing(403, "ACCESS_REFUSED - write access to exchange 'retryd.shared.1s' in vhost '/' refused");
    };
    refuse();
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("retryd.detour.2s") == (worked_before ? 1 : 0));
    CHECK(f.lying_in("email.parked") == (worked_before ? 0 : 1));
    const std::size_t before = f.lying_in("retryd.shared.1s");
    f.pass(core::Milliseconds{60'000});
    f.deliver();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("retryd.shared.1s") == before + 1);
}

TEST_CASE(
    "a shared rung that worked, and may not be published to for long, costs no attempt however often it is tried") {
    SharedFixture before;
    before.deliver();
    before.confirm_all();
    SharedFixture between;  // a connection on which nothing is published
    between.relay.seen_before(before.relay.rungs_seen());
    SharedFixture next;
    next.relay.seen_before(between.relay.rungs_seen());
    SharedFixture& f = GENERATE(false, true) ? before : next;
    for (int minute = 0; minute < 4; ++minute) {
        f.deliver();
        f.answer_declares();
        f.close_publishing(403, "ACCESS_REFUSED - write access to exchange 'retryd.shared.1s' in vhost '/' refused");
        f.deliver();
        f.confirm_all();
        f.adopt(shared_policy());
        CHECK(f.broker.declares.empty());  // that it is there says nothing of what may be published to it
        f.pass(core::Milliseconds{60'000});
    }
    CHECK(f.lying_in("email.parked") == 0);
    CHECK(f.lying_in("retryd.parked") == 0);
}

TEST_CASE("where nothing may be declared nothing is bound: a missing binding parks what it should have returned") {
    Fixture f(shared_policy(), {}, false);
    CHECK(f.broker.binds.empty());
    f.answer_declares();
    f.deliver();
    CHECK(f.lying_in("retryd.shared.1s") == 1);
    f.deliver({"web.shop"});
    CHECK(f.broker.checks == Lines{"web.shop"});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.lying_in("retryd.shared.1s") == 2);
    f.deliver_undelivered("email");
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "unpublishable");
    CHECK(f.broker.binds.empty());
}

TEST_CASE("on a broker where priorities hold others back a shared rung has its twin for them") {
    core::BrokerFeatures features;
    features.priority_blocks_expiry = true;
    Fixture f(shared_policy(), features);
    f.answer_declares();
    DeadMessage dead;
    dead.priority = 5;
    f.deliver(dead);
    f.answer_declares();
    CHECK(f.lying_in("retryd.shared.1s.high") == 1);
}

}  // namespace retryd::relay::shared_ladder_test
