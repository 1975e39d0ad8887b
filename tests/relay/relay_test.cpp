// The way of a message, and what happens when a step of it fails.
#include "relay/relay.h"

#include <algorithm>
#include <utility>

#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::relay_test {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

TEST_CASE("entries with an exact name are declared at start: each delay once, and the parking queue") {
    Fixture f;
    std::vector<std::string> names;
    for (const auto& declared : f.broker.declares)
        names.push_back(std::get<core::QueueSpec>(declared.topology.front()).name);
    CHECK(names == std::vector<std::string>{"email.retry.5s", "email.retry.30s", "email.parked", "retryd.detour.2s",
                                            "retryd.detour.30s", "retryd.detour.5m"});
}

TEST_CASE("a rejected message goes to the rung of its attempt and is acked only when confirmed") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.relay.flush(f.now);
    CHECK(f.lying_in("email.retry.5s") == 1);
    CHECK(f.broker.acked.empty());
    CHECK(f.relay.in_flight() == 1);
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.reporter.lines == Lines{"retried email email.retry.5s rejected"});
    CHECK(f.header("email.retry.5s", "retryd-attempt") == "1");
}

TEST_CASE("the second attempt takes the second rung, the one past the ladder is parked with its reason") {
    Fixture f;
    f.answer_declares();
    f.deliver({"email", "rejected", "email", 1});
    CHECK(f.lying_in("email.retry.30s") == 1);
    f.deliver({"email", "rejected", "email", 2});
    CHECK(f.lying_in("email.parked") == 1);
    CHECK(f.header("email.parked", "retryd-parked-reason") == "attempts-exhausted");
    CHECK(f.header("email.parked", "retryd-attempt") == "3");
    CHECK(f.header("email.parked", "retryd-parked-at") == "1800000000");
    f.confirm_all();
    CHECK(f.reporter.lines[1] == "parked email email.parked attempts-exhausted");
}

TEST_CASE("many deliveries in flight cost one ack when the broker confirms them together") {
    Fixture f;
    f.answer_declares();
    f.warm_up();
    const int acks = f.broker.ack_commands;
    for (int i = 0; i < 100; ++i)
        f.deliver();
    CHECK(f.relay.in_flight() == 100);
    f.confirm_all();
    CHECK(f.broker.ack_commands == acks + 1);
    CHECK(f.broker.acked.size() == 112);
}

TEST_CASE("an ack behind an open delivery waits for it a little, then goes alone") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.deliver({"email", "rejected", "email", 1});
    f.broker.confirm(f.relay, 2, f.now);
    f.relay.flush(f.now);
    CHECK(f.broker.acked.empty());
    CHECK(f.relay.next_tick());
    f.pass(core::Milliseconds{99});
    f.relay.flush(f.now);
    CHECK(f.broker.acked.empty());
    f.pass(core::Milliseconds{1});
    f.relay.flush(f.now);
    CHECK(f.broker.acked == Tags{2});
    f.broker.confirm(f.relay, 1, f.now);
    f.deliver();
    f.deliver();
    f.broker.confirm(f.relay, 4, f.now);
    f.relay.flush_all();
    CHECK(f.broker.acked == Tags{2, 1, 4});
    CHECK(f.relay.in_flight() == 1);
}

TEST_CASE("a delivery whose queues are being declared waits, keeps its content, and goes when they are there") {
    Fixture f;
    f.deliver();
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.relay.waiting_bytes() > 4);
    f.answer_declares();
    CHECK(f.relay.waiting_bytes() == 0);
    REQUIRE(f.lying_in("email.retry.5s") == 1);
    CHECK(f.broker.queues["email.retry.5s"][0].get().message.body == "body");
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
}

TEST_CASE("a work queue that only a glob names is looked for before its first rung is declared") {
    Fixture f;
    f.answer_declares();
    f.deliver({"web.shop"});
    f.deliver({"web.shop"});
    CHECK(f.broker.checks == std::vector<std::string>{"web.shop"});
    CHECK(f.broker.declares.empty());
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.lying_in("web.shop.retry.1s") == 2);
    f.deliver({"web.shop"});
    CHECK(f.broker.checks.empty());
}

TEST_CASE("a work queue that does not exist gets no rungs: its messages are parked as queue-gone") {
    Fixture f;
    f.answer_declares();
    f.broker.missing.insert("web.forged");
    f.deliver({"web.forged"});
    f.broker.answer_checks(f.relay, f.now);
    CHECK(f.broker.declares.empty());
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    CHECK(f.header("retryd.parked", "retryd-queue") == "web.forged");
    f.broker.missing.clear();
    f.deliver({"web.forged"});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.lying_in("web.forged.retry.1s") == 1);
}

TEST_CASE("a queue that a glob leaves out gets no rungs; its messages are parked, once that is known") {
    Fixture f;
    std::optional<bool> known;
    f.is_excluded_from_glob = [&](std::string_view) { return known; };
    f.deliver({"web.events"});
    f.deliver({"web.shop"});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.reporter.lines.empty());
    known = true;
    f.relay.on_exclusion_known("web.events", f.now);
    f.confirm_all();
    CHECK(f.header("retryd.parked", "retryd-queue") == "web.events");
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
    CHECK(f.lying_in("web.events.retry.1s") == 0);
    known = false;
    f.relay.on_exclusion_known("web.shop", f.now);
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("web.shop.retry.1s") == 1);
    f.relay.on_exclusion_known("web.shop", f.now);  // nobody waits for it
    known = true;
    f.deliver({"email"});  // by its very name
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);
}

TEST_CASE("what a framework keeps for itself is a work queue only by its very name") {
    core::Policy policy = Fixture::policy();
    policy.entries[1].match = "*";
    policy.entries.insert(policy.entries.begin(), policy.entries[0]);
    policy.entries[0].match = "celery_delayed_3";
    Fixture f(policy);
    for (const char* queue : {"celery_delayed_3", "celery_delayed_4", "MOL.EVENT.node-1"})
        f.deliver({queue});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("celery_delayed_3.retry.5s") == 1);
    CHECK(f.lying_in("retryd.parked") == 2);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
}

TEST_CASE("a broker that will not say whether a queue exists is not taken for a no") {
    Fixture f;
    f.answer_declares();
    f.deliver({"web.secret"});
    f.relay.on_checked("web.secret", CheckOutcome::refused, f.now);
    f.answer_declares();
    CHECK(f.lying_in("web.secret.retry.1s") == 1);
}

TEST_CASE("what no entry names, and what has no x-death, goes to the catch-all") {
    Fixture f;
    f.deliver({"unknown"});
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
    f.deliver_without_death();
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
    f.confirm_all();
    CHECK(f.broker.acked.size() == 2);
    CHECK(f.reporter.lines == Lines{"parked  retryd.parked no-entry", "parked  retryd.parked no-death"});
}

TEST_CASE("a reason that this version does not know is reported under one name, and told in full in the header") {
    Fixture f;
    f.answer_declares();
    f.deliver({"email", "made-up"});
    f.deliver({"email", "maxlen"});
    f.confirm_all();
    CHECK(f.reporter.lines ==
          Lines{"parked email email.parked reason-other", "parked email email.parked reason-maxlen"});
    const core::Table headers = f.broker.queues["email.parked"].front().get().message.properties.header_table();
    CHECK(core::text_of(core::find(headers, "retryd-parked-reason")) == "reason-made-up");
}

TEST_CASE("a high priority takes a rung of its own only where it would hold back the others") {
    core::BrokerFeatures features;
    SECTION("RabbitMQ 4.0 to 4.2") {
        features.priority_blocks_expiry = true;
        Fixture f(features);
        f.answer_declares();
        f.deliver({"email", "rejected", "", 0, "low", 4});
        CHECK(f.broker.declares.empty());
        f.deliver({"email", "rejected", "", 0, "high", 5});
        f.answer_declares();
        CHECK(f.lying_in("email.retry.5s") == 1);
        CHECK(f.lying_in("email.retry.5s.high") == 1);
    }
    SECTION("others") {
        Fixture f(features);
        f.answer_declares();
        f.deliver({"email", "rejected", "", 0, "high", 9});
        CHECK(f.lying_in("email.retry.5s") == 1);
    }
}

TEST_CASE("a nacked publication is never acked: its message comes again at once, and takes the detour") {
    Fixture f;
    f.answer_declares();
    f.broker.full.insert("email.retry.5s");
    f.deliver();
    f.confirm_all();
    CHECK(f.broker.acked.empty());
    CHECK(f.broker.requeued == Tags{1});
    CHECK(f.reporter.lines == Lines{"requeued email.retry.5s nacked 0"});
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.header("retryd.detour.2s", "retryd-attempt") == "1");
    f.confirm_all();
    CHECK(f.broker.acked == Tags{2});
    CHECK(f.reporter.lines.back() == "detoured email retryd.detour.2s detoured");
}

TEST_CASE("without the catch-all the loop does not turn hot while its messages wait for something else") {
    Fixture f;
    f.broker.refused.insert("retryd.parked");
    f.answer_declares();
    f.broker.queues.erase("retryd.parked");
    f.deliver({"nobody's"});
    f.confirm_all();  // returned: the catch-all is asked for again, and refused
    f.pass(core::Milliseconds{1000});
    f.deliver({"nobody's"});
    f.answer_declares();
    f.relay.pause();
    f.pass(core::Milliseconds{60'000});
    CHECK_FALSE((f.relay.next_tick() && *f.relay.next_tick() <= f.now.steady));
}

TEST_CASE("what comes back as unroutable is not acked, and its queue is declared again") {
    Fixture f;
    f.answer_declares();
    f.broker.queues.erase("email.retry.5s");
    f.deliver();
    f.confirm_all();
    CHECK(f.broker.acked.empty());
    CHECK(f.reporter.lines == Lines{"requeued email.retry.5s returned 0"});
    CHECK(f.broker.requeued == Tags{1});
    f.deliver();
    REQUIRE(f.broker.declares.size() == 1);
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);
    CHECK(f.broker.acked == Tags{2});
}

TEST_CASE("a refused rung parks its messages as unpublishable, says so once, and does not stop the others") {
    Fixture f;
    f.broker.refused.insert("email.retry.5s");
    f.answer_declares();
    f.deliver();
    f.deliver({"email", "rejected", "email", 1});
    f.confirm_all();
    CHECK(f.header("email.parked", "retryd-parked-reason") == "unpublishable");
    CHECK(f.lying_in("email.retry.30s") == 1);
    CHECK(f.broker.acked == Tags{1, 2});
    CHECK(f.reporter.lines.front() == "refused email.retry.5s 406 in the broker's words");

    f.pass(core::Milliseconds{59'999});
    f.deliver();
    CHECK(f.broker.declares.empty());
    f.pass(core::Milliseconds{1});
    f.deliver();
    CHECK(std::count_if(f.broker.declares.begin(), f.broker.declares.end(),
                        [](const auto& declared) { return declared.key.ends_with("email.retry.5s"); }) == 1);
    f.answer_declares();
    CHECK(std::count(f.reporter.lines.begin(), f.reporter.lines.end(), f.reporter.lines.front()) == 1);

    f.pass(core::Milliseconds{60'000});
    f.broker.refused.clear();
    f.deliver();
    f.answer_declares();
    CHECK(f.reporter.lines.back() == "healed email.retry.5s");
    CHECK(f.lying_in("email.retry.5s") == 1);
}

TEST_CASE("queues are looked at again every minute, a few at a time, and no message waits for it") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.confirm_all();
    f.pass(core::Milliseconds{59'999});
    CHECK(f.broker.declares.empty());
    f.pass(core::Milliseconds{1});
    CHECK(f.broker.declares.size() == 4);
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 2);
    f.answer_declares();
    f.pass({});
    CHECK(f.broker.declares.size() == 2);  // two rungs, a parking queue and three detours in all
    f.answer_declares();
    f.pass(core::Milliseconds{59'999});
    CHECK(f.broker.declares.empty());
    CHECK(f.relay.next_tick() == f.now.steady + core::Milliseconds{1});
}

TEST_CASE("a rung that somebody has made anew without its arguments gets no more messages, which take a detour") {
    Fixture f;
    f.answer_declares();
    f.warm_up();
    const std::size_t before = f.lying_in("email.retry.5s");
    f.broker.refused.insert("email.retry.5s");
    f.pass(core::Milliseconds{60'000});
    f.answer_declares();
    f.pass({});
    f.answer_declares();
    CHECK(f.reporter.lines.back() == "refused email.retry.5s 406 in the broker's words");
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == before);
    CHECK(f.reporter.lines.back().find("detoured email retryd.detour.") == 0);
    f.broker.refused.clear();
    f.pass(core::Milliseconds{60'000});  // though no message comes
    f.answer_declares();
    f.pass({});
    f.answer_declares();
    CHECK(std::count(f.reporter.lines.begin(), f.reporter.lines.end(), "healed email.retry.5s") == 1);
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == before + 1);
}

TEST_CASE("the first message for a rung that somebody has deleted, and that cannot be made again, takes a detour") {
    Fixture f;
    f.answer_declares();
    f.broker.queues.erase("email.retry.5s");
    f.broker.refused.insert("email.retry.5s");
    f.deliver();
    f.confirm_all();
    REQUIRE(f.reporter.lines == Lines{"requeued email.retry.5s returned 0"});
    f.deliver();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.reporter.lines.back().starts_with("detoured email retryd.detour."));
    CHECK(f.lying_in("email.parked") == 0);
    f.broker.refused.clear();
    f.pass(core::Milliseconds{60'000});
    f.deliver();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 1);
}

TEST_CASE("a rung that was there on the last connection, and cannot be made again: a detour, and no parking") {
    Fixture before;
    before.answer_declares();
    SECTION("somebody has deleted it in between") {}
    SECTION("somebody had deleted it before, and its messages wait on detours") {
        before.broker.queues.erase("email.retry.5s");
        before.broker.refused.insert("email.retry.5s");
        before.deliver();
        before.confirm_all();
        before.deliver();
        before.answer_declares();
        before.confirm_all();
        REQUIRE(before.lying_in("retryd.detour.2s") == 1);
    }
    Fixture between;  // a connection that is lost before anything is declared
    between.relay.seen_before(before.relay.rungs_seen());
    Fixture f;
    f.relay.seen_before(between.relay.rungs_seen());
    f.broker.refused.insert("email.retry.5s");
    f.answer_declares();
    f.deliver();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.lying_in("email.parked") == 0);
}

TEST_CASE("a rung that was there with other arguments, and now cannot be declared, was never there as it must be") {
    Fixture before;
    before.answer_declares();
    core::Policy classic = Fixture::policy();
    classic.entries.front().ladder.queue_type = core::QueueType::classic;
    Fixture f(classic);
    f.relay.seen_before(before.relay.rungs_seen());
    f.broker.refused.insert("email.retry.5s");
    f.answer_declares();
    f.deliver();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("email.parked") == 1);
}

TEST_CASE("a look at a queue that is not answered changes nothing") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.confirm_all();
    f.pass(core::Milliseconds{60'000});
    REQUIRE(f.broker.declares.size() == 4);
    for (const auto& declared : std::exchange(f.broker.declares, {}))
        f.relay.on_declared(declared.key, DeclareOutcome::unanswered, "", f.now);
    f.deliver();
    f.confirm_all();
    CHECK(f.lying_in("email.retry.5s") == 2);
}

TEST_CASE("where the parking queue is refused too, the catch-all takes the message") {
    Fixture f;
    f.broker.refused = {"email.retry.5s", "email.parked"};
    f.answer_declares();
    f.deliver();
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "unpublishable");
}

TEST_CASE("without a catch-all what belongs to no queue waits on a detour, until there is one again") {
    Fixture f;
    f.broker.queues.erase("retryd.parked");
    f.broker.refused.insert("retryd.parked");
    f.answer_declares();
    f.deliver_without_death();
    f.confirm_all();
    CHECK(f.broker.requeued == Tags{1});
    f.deliver_without_death();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.broker.acked == Tags{2});
    CHECK(f.lying_in("retryd.detour.2s") == 1);
    CHECK(f.reporter.lines.back().starts_with("detoured"));
    f.broker.refused.clear();
    f.pass(core::Milliseconds{60'000});
    f.deliver_without_death();
    f.answer_declares();
    f.confirm_all();
    CHECK(f.lying_in("retryd.parked") == 1);
    CHECK(f.broker.acked == Tags{2, 3});
}

TEST_CASE("headers too large for a frame, or too deep to be read, go the broker's own way to the catch-all") {
    Fixture f;
    f.answer_declares();
    f.broker.largest_header_count = 0;
    f.deliver();
    f.broker.unacked.insert(2);
    f.relay.on_unreadable_delivery(2, f.now);
    CHECK(f.broker.dead_lettered == Tags{1, 2});
    CHECK(f.relay.in_flight() == 0);
    f.relay.flush(f.now);
    CHECK(f.broker.acked.empty());
}

TEST_CASE("while the broker blocks publishing, deliveries are held and go in order when it ends") {
    Fixture f;
    f.answer_declares();
    f.relay.pause();
    f.deliver({"email", "rejected", "", 0, "first"});
    f.deliver({"email", "rejected", "", 0, "second"});
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.relay.waiting_bytes() > 11);
    f.relay.resume(f.now);
    REQUIRE(f.lying_in("email.retry.5s") == 2);
    CHECK(f.broker.queues["email.retry.5s"][0].get().message.body == "first");
    CHECK(f.relay.waiting_bytes() == 0);
}

TEST_CASE("a full socket pauses by itself, before anything of the message was sent") {
    Fixture f;
    f.answer_declares();
    f.broker.socket_full = true;
    f.deliver();
    f.deliver();
    CHECK(f.relay.paused());
    CHECK(f.relay.in_flight() == 0);
    f.relay.resume(f.now);
    CHECK(f.relay.paused());
    f.broker.socket_full = false;
    f.relay.resume(f.now);
    CHECK_FALSE(f.relay.paused());
    CHECK(f.relay.in_flight() == 2);
}

TEST_CASE("after stop nothing new is taken, and what is in flight is still settled") {
    Fixture f;
    f.deliver();  // held: its queues are not declared yet
    f.relay.stop();
    f.answer_declares();
    CHECK(f.relay.in_flight() == 0);
    f.deliver();
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.broker.unacked.size() == 2);

    Fixture g;
    g.answer_declares();
    g.deliver();
    g.relay.stop();
    CHECK(g.relay.in_flight() == 1);
    g.confirm_all();
    CHECK(g.broker.acked == Tags{1});
}

}  // namespace retryd::relay::relay_test
