// Another policy under way: whole for each message, and without asking again for what is known.
#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::adopt_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

core::Policy other_policy() {
    core::Policy policy;
    policy.entries.push_back(
        {"email", {"new", {core::Milliseconds{5000}, core::Milliseconds{7000}}}, {"{queue}.parked"}});
    return policy;
}

/// Two minutes: each queue is looked at again twice, a few at a time.
void look_twice(Fixture& f) {
    for (int look = 0; look < 2; ++look) {
        f.pass(core::Milliseconds{60'000});
        while (!f.broker.declares.empty()) {
            f.answer_declares();
            f.pass({});
        }
    }
}

}  // namespace

TEST_CASE("while a new policy is awaited nothing is published; then it decides all that was held") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.relay.prepare_to_adopt();
    f.deliver({"email", "rejected", "email", 1});
    f.relay.resume(f.now);
    CHECK(f.relay.in_flight() == 1);
    f.confirm_all();
    CHECK(f.relay.in_flight() == 0);
    f.adopt(other_policy());
    f.answer_declares();
    CHECK(f.lying_in("email.retry.7s") == 1);
    CHECK(f.lying_in("email.retry.30s") == 0);
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1, 2});
}

TEST_CASE("what both policies have is not declared again, what is new is declared at once") {
    Fixture f;
    f.answer_declares();
    f.adopt(other_policy());
    Lines keys;
    for (const auto& declared : f.broker.declares)
        keys.push_back(declared.key);
    CHECK(keys == Lines{"\nemail.retry.7s"});
    f.deliver();
    CHECK(f.lying_in("email.retry.5s") == 1);
}

TEST_CASE("a reload asks at once for what was refused: it may have been mended, and else nothing is said again") {
    Fixture f;
    f.broker.refused.insert("email.retry.30s");
    f.answer_declares();
    const Lines told = f.reporter.lines;
    REQUIRE(told.size() == 1);
    f.adopt(Fixture::policy());
    REQUIRE(f.broker.declares.size() == 1);
    f.answer_declares();
    CHECK(f.reporter.lines == told);
    f.broker.refused.clear();
    f.adopt(Fixture::policy());
    f.answer_declares();
    CHECK(f.broker.queues.contains("email.retry.30s"));
    CHECK(f.reporter.lines.size() == 2);  // it is as it must be again
    f.adopt(Fixture::policy());
    CHECK(f.broker.declares.empty());
}

TEST_CASE("what is refused for another reason than before is said again") {
    Fixture f;
    const auto answer = [&](std::string_view why) {
        f.relay.on_declared("\nemail.retry.30s", DeclareOutcome::refused, why, f.now);
        f.adopt(Fixture::policy());
    };
    answer("no permission");
    answer("no permission");
    CHECK(f.reporter.lines == Lines{"refused email.retry.30s no permission"});
    answer("it is a classic queue");
    answer("it is a classic queue");
    CHECK(f.reporter.lines ==
          Lines{"refused email.retry.30s no permission", "refused email.retry.30s it is a classic queue"});
}

TEST_CASE("a catch-all that is refused is not taken for ready by a reload") {
    Fixture f;
    f.broker.queues.erase("retryd.parked");
    f.broker.refused.insert("retryd.parked");
    f.answer_declares();
    f.deliver_without_death();
    f.confirm_all();
    f.deliver_without_death();
    f.answer_declares();
    f.confirm_all();
    f.adopt(Fixture::policy());
    f.deliver_without_death();
    f.confirm_all();
    CHECK(f.broker.requeued == Tags{1});
    CHECK(f.broker.acked == Tags{2, 3});
    CHECK(f.lying_in("retryd.detour.2s") == 2);
}

TEST_CASE("declares are awaited from the start, and from a reload that brings new ones, until each is answered") {
    Fixture f;
    CHECK(f.relay.awaits_declares());
    f.broker.refused.insert("email.retry.30s");
    f.answer_declares();
    CHECK_FALSE(f.relay.awaits_declares());
    f.adopt(other_policy());
    CHECK(f.relay.awaits_declares());
    f.relay.on_declared("\nemail.retry.7s", DeclareOutcome::unanswered, "", f.now);
    CHECK_FALSE(f.relay.awaits_declares());
}

TEST_CASE("an answer to the declare of a former policy is not the awaited one") {
    Fixture f;
    core::Policy policy = other_policy();
    policy.entries[0].ladder.queue_type = core::QueueType::classic;
    const auto former = f.broker.declares;
    f.adopt(policy);
    for (const auto& declared : former)
        f.relay.on_declared(declared.key, DeclareOutcome::ready, "", f.now);
    f.relay.on_declared("\nemail.retry.7s", DeclareOutcome::ready, "", f.now);
    CHECK(f.relay.awaits_declares());  // that of email.retry.5s, which is to be a classic queue now
    f.relay.on_declared("\nemail.retry.5s", DeclareOutcome::ready, "", f.now);
    CHECK_FALSE(f.relay.awaits_declares());
}

TEST_CASE("a queue that must be another now is declared anew; the answer to the former declare is not taken for its") {
    Fixture f;
    core::Policy policy = other_policy();
    policy.entries[0].ladder.queue_type = core::QueueType::classic;
    f.adopt(policy);
    // Six answers are to come: three of the former policy, three of this one.
    f.relay.on_declared("\nemail.retry.5s", DeclareOutcome::ready, "", f.now);
    f.deliver();
    CHECK(f.lying_in("email.retry.5s") == 0);
    f.relay.on_declared("\nemail.retry.5s", DeclareOutcome::refused, "it is a quorum queue", f.now);
    f.relay.on_declared("\nemail.parked", DeclareOutcome::ready, "", f.now);
    f.broker.queues["email.parked"];
    f.broker.declares.clear();
    f.deliver();
    CHECK(f.reporter.lines == Lines{"refused email.retry.5s it is a quorum queue"});
    CHECK(f.relay.in_flight() == 2);
    CHECK(f.header("email.parked", "retryd-parked-reason") == "unpublishable");
}

TEST_CASE("a rung that the new policy no longer names is not declared again once it is deleted, until one names it") {
    Fixture f;
    f.answer_declares();
    f.adopt(other_policy());
    f.answer_declares();
    f.broker.queues.erase("email.retry.30s");
    f.broker.queues.erase("email.retry.5s");
    look_twice(f);
    CHECK_FALSE(f.broker.queues.contains("email.retry.30s"));
    CHECK(f.broker.queues.contains("email.retry.5s"));
    f.adopt(Fixture::policy());
    f.answer_declares();
    CHECK(f.broker.queues.contains("email.retry.30s"));
    f.broker.queues.erase("email.retry.30s");
    look_twice(f);
    CHECK(f.broker.queues.contains("email.retry.30s"));
}

TEST_CASE(
    "a rung that is deleted while no policy names it, and named again at once: declared before its first message") {
    Fixture f;
    f.answer_declares();
    f.adopt(other_policy());
    f.answer_declares();
    f.broker.queues.erase("email.retry.30s");
    f.adopt(Fixture::policy());
    f.answer_declares();
    f.deliver({.carried_queue = "email", .carried_attempt = 1});
    f.confirm_all();
    CHECK(f.lying_in("email.retry.30s") == 1);
    CHECK(f.reporter.lines == Lines{"retried email email.retry.30s rejected"});
}

TEST_CASE("a rung that was refused is no fault any more once the new policy does not name it") {
    Fixture f;
    f.broker.refused.insert("email.retry.30s");
    f.answer_declares();
    f.adopt(other_policy());
    f.answer_declares();
    look_twice(f);
    CHECK(f.reporter.lines == Lines{"refused email.retry.30s 406 in the broker's words", "not-needed email.retry.30s"});
}

TEST_CASE("a binding that was refused is no fault any more once the new policy does not name it") {
    core::Policy policy = Fixture::policy();
    policy.error_bindings = {{"legacy.dlx", "#"}};
    Fixture f(policy);
    f.broker.refused = {"legacy.dlx"};
    f.answer_declares();
    const std::string refused = "refused legacy.dlx 406 in the broker's words";
    const std::string not_needed = "not-needed legacy.dlx";
    f.adopt(Fixture::policy());
    f.adopt(Fixture::policy());
    CHECK(f.reporter.lines == Lines{refused, not_needed});
    f.adopt(policy);
    f.answer_declares();
    CHECK(f.reporter.lines == Lines{refused, not_needed, refused});
}

TEST_CASE("no answer to a binding is awaited once the new policy does not name it; a late one is no fault") {
    core::Policy policy = Fixture::policy();
    policy.error_bindings = {{"legacy.dlx", "#"}};
    Fixture f(policy);
    f.broker.refused = {"legacy.dlx"};
    const auto late = std::exchange(f.broker.declares, {});
    for (const auto& declared : late) {
        if (declared.key.find("legacy.dlx") == std::string::npos)
            f.relay.on_declared(declared.key, DeclareOutcome::ready, "", f.now);
    }
    CHECK(f.relay.awaits_declares());
    f.adopt(Fixture::policy());
    CHECK_FALSE(f.relay.awaits_declares());
    f.relay.on_declared(late.front().key, DeclareOutcome::refused, "no exchange", f.now);
    CHECK(f.reporter.lines.empty());
}

TEST_CASE("where one of two refused bindings of an exchange leaves the policy, the other one is told again") {
    core::Policy policy = Fixture::policy();
    policy.error_bindings = {{"legacy.dlx", "a.#"}, {"legacy.dlx", "b.#"}};
    Fixture f(policy);
    f.broker.refused = {"legacy.dlx"};
    f.answer_declares();
    policy.error_bindings.pop_back();
    f.reporter.lines.clear();
    f.adopt(policy);
    f.answer_declares();
    CHECK(f.reporter.lines == Lines{"not-needed legacy.dlx", "refused legacy.dlx 406 in the broker's words"});
}

TEST_CASE("a rung of a queue that a glob names is declared with its next message, if none came since the change") {
    Fixture f;
    f.answer_declares();
    const auto fail = [&] {
        f.deliver({"web.shop"});
        f.broker.answer_checks(f.relay, f.now);
        f.answer_declares();
        f.confirm_all();
    };
    fail();
    f.adopt(Fixture::policy());
    look_twice(f);
    f.broker.queues.erase("web.shop.retry.1s");
    fail();
    CHECK(f.lying_in("web.shop.retry.1s") == 1);
    f.broker.queues.erase("web.shop.retry.1s");
    look_twice(f);
    CHECK(f.broker.queues.contains("web.shop.retry.1s"));
}

TEST_CASE("a queue that the new policy no longer names goes to the catch-all") {
    Fixture f;
    f.answer_declares();
    f.adopt(other_policy());
    f.deliver({"web.shop"});
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-entry");
}

TEST_CASE("an answer about a work queue that comes after the change is taken by the new policy's route") {
    Fixture f;
    f.answer_declares();
    f.deliver({"web.shop"});
    f.adopt(Fixture::policy());
    CHECK(f.broker.checks == Lines{"web.shop", "web.shop"});
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    CHECK(f.lying_in("web.shop.retry.1s") == 1);
}

TEST_CASE("confirms of the former policy still settle what they belong to") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.adopt(other_policy());
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1});
    CHECK(f.reporter.lines == Lines{"retried email email.retry.5s rejected"});
}

}  // namespace retryd::relay::adopt_test
