// Poison messages: found by publishing alone what was in flight, and handed to the broker's own dead-lettering.
#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::poison_test {
namespace {

using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

DeadMessage again(const std::string& body) {
    DeadMessage dead;
    dead.body = body;
    dead.redelivered = true;
    return dead;
}

}  // namespace

TEST_CASE(
    "what closes the publishing channel alone is handed to the broker's dead-lettering, with the broker's reason") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.close_publishing(406, "message size 17 is larger than configured max size 16");
    CHECK(f.broker.dead_lettered == Tags{1});
    CHECK(f.relay.in_flight() == 0);
    CHECK(f.reporter.lines == Lines{"dead-lettered email message size 17 is larger than configured max size 16"});
}

TEST_CASE("what closes it beside others takes them down once: they come again at once, and are tried alone") {
    Fixture f;
    f.answer_declares();
    f.deliver(again("a"));
    f.deliver(again("poison"));
    f.deliver(again("b"));
    f.close_publishing(406, "too large");
    CHECK(f.broker.requeued == Tags{1, 2, 3});
    CHECK(f.broker.dead_lettered.empty());

    f.deliver(again("a"));
    f.deliver(again("poison"));
    f.deliver(again("b"));
    CHECK(f.relay.in_flight() == 1);
    f.confirm_all();  // a; the poison's turn
    CHECK(f.relay.in_flight() == 1);
    f.close_publishing(406, "too large");
    CHECK(f.broker.dead_lettered == Tags{5});
    CHECK(f.relay.in_flight() == 1);  // b: nobody is tried alone any more
    f.deliver();
    CHECK(f.relay.in_flight() == 2);
    f.confirm_all();
    CHECK(f.broker.acked == Tags{4, 6, 7});
}

TEST_CASE("when all that came again has come through, messages go side by side again") {
    Fixture f;
    f.answer_declares();
    f.deliver(again("a"));
    f.deliver(again("b"));
    f.close_publishing(406, "too large");
    f.pass(core::Milliseconds{1000});
    f.deliver(again("a"));
    f.deliver();  // another one, that nobody suspects: it waits for its turn, and does not count
    f.deliver(again("b"));
    for (int i = 0; i < 3; ++i) {
        CHECK(f.relay.in_flight() == 1);
        f.confirm_all();
    }
    f.deliver();
    f.deliver();
    CHECK(f.relay.in_flight() == 2);
}

TEST_CASE("when another daemon has got what was suspect, trying alone ends with its time, and nothing is stuck") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.deliver();
    f.close_publishing(406, "too large");
    f.pass(core::Milliseconds{1000});
    f.deliver();
    f.deliver();
    CHECK(f.relay.in_flight() == 1);
    f.pass(core::Milliseconds{60'000});
    CHECK(f.relay.in_flight() == 2);
}

TEST_CASE("while one is tried alone, those that wait for it do not ask for their queues again and again") {
    Fixture f;
    f.broker.missing = {"web.a", "web.b"};
    f.answer_declares();
    f.deliver(again("a"));
    f.deliver(again("b"));
    f.close_publishing(406, "too large");
    f.pass(core::Milliseconds{1000});
    f.deliver(again("a"));
    f.deliver({"web.a"});
    f.deliver({"web.b"});
    int asked = 0;
    for (; !f.broker.checks.empty() && asked < 10; ++asked) {
        const std::string queue = f.broker.checks.front();
        f.broker.checks.erase(f.broker.checks.begin());
        f.relay.on_checked(queue, CheckOutcome::missing, f.now);
    }
    CHECK(asked == 2);
    for (int i = 0; i < 3; ++i) {
        f.confirm_all();
        f.broker.answer_checks(f.relay, f.now);
    }
    CHECK(f.lying_in("retryd.parked") == 2);
}

TEST_CASE("a missing exchange is nobody's fault: it is declared again, and its messages come again") {
    core::Policy policy;
    core::Ladder ladder{"shared", {core::Milliseconds{1000}}};
    ladder.return_path = core::ReturnPath::headers;
    policy.entries.push_back({"email", ladder, {"{queue}.parked"}});
    Fixture f(policy);
    f.answer_declares();
    f.deliver();
    f.close_publishing(404, "NOT_FOUND - no exchange 'retryd.shared.1s' in vhost '/'");
    CHECK(f.broker.dead_lettered.empty());
    f.pass(core::Milliseconds{1000});
    CHECK(f.broker.requeued == Tags{1});
    f.deliver(again("a"));
    f.deliver(again("b"));
    CHECK(f.broker.declares.size() == 1);
    f.answer_declares();
    CHECK(f.relay.in_flight() == 2);  // not alone
}

TEST_CASE("an exchange with a name so long that the broker cuts its words is blamed all the same") {
    const std::string name = "team." + std::string(230, 'x');
    core::Policy policy;
    policy.entries.push_back({"email", {"l", {core::Milliseconds{1000}}}, {"", name, "dead"}});
    Fixture f(policy);
    f.broker.exchanges[name] = "graveyard";
    f.broker.queues["graveyard"];
    f.answer_declares();
    const DeadMessage used_up{"email", "rejected", "email", 1};
    f.deliver(used_up);
    const std::string words = "ACCESS_REFUSED - cannot publish to internal exchange '" + name;
    f.close_publishing(403, words.substr(0, 252) + "...");
    f.pass(core::Milliseconds{1000});
    f.deliver(used_up);
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE("a target whose channel is closed again and again is tried with one message now and then") {
    Fixture f;
    f.answer_declares();
    f.deliver();
    f.deliver();
    f.close_publishing(404, "no exchange");
    f.pass(core::Milliseconds{1});
    f.deliver();
    f.deliver();
    f.close_publishing(404, "no exchange");
    f.deliver();
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 2);
    f.confirm_all();
    f.pass(core::Milliseconds{2'000});
    f.deliver();
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 3);
    f.confirm_all();
    f.deliver();
    f.deliver();
    CHECK(f.lying_in("retryd.detour.2s") == 3);
}

TEST_CASE("what twice ends the whole connection with an error, alone, is not tried a third time") {
    PoisonDetector poison;
    const auto session = [&](bool provoked) {
        Fixture f(poison);
        f.answer_declares();
        f.deliver(again("a"));
        f.deliver(again("poison"));
        if (poison.isolating() && f.relay.in_flight() == 1) f.confirm_all();  // a comes through
        f.relay.on_connection_lost({.provoked = provoked});
        return f.broker.dead_lettered;
    };
    CHECK(session(true).empty());  // both in flight: isolated from now on
    CHECK(poison.isolating());
    CHECK(session(true).empty());
    CHECK(session(true).empty());
    CHECK(session(true) == Tags{2});
}

TEST_CASE("a network that breaks does not make messages suspect, unless nothing ever comes through") {
    PoisonDetector poison;
    const auto lose = [&](bool confirmed) {
        Fixture f(poison);
        f.answer_declares();
        f.deliver();
        if (confirmed) f.confirm_all();
        f.deliver();
        f.relay.on_connection_lost({});
        return poison.isolating();
    };
    CHECK_FALSE(lose(false));
    CHECK_FALSE(lose(false));
    CHECK_FALSE(lose(true));
    CHECK_FALSE(lose(false));
    CHECK_FALSE(lose(false));
    CHECK(lose(false));
}

TEST_CASE(
    "two errors of the broker while a message is alone convict it, and its dead-lettering says the broker's words") {
    PoisonDetector poison;
    const auto session = [&] {
        Fixture f(poison);
        f.answer_declares();
        f.deliver(again("poison"));
        f.relay.on_connection_lost({.provoked = true, .words = "541 INTERNAL_ERROR"});
        return f.reporter.lines;
    };
    CHECK(session().empty());  // from now on isolated
    CHECK(session().empty());
    CHECK(session().empty());
    CHECK(session() ==
          Lines{"dead-lettered email each time it was published the broker ended the connection: 541 INTERNAL_ERROR"});
}

TEST_CASE(
    "a message that is half sent or in flight while the broker is blocked is innocent, however often it ends so") {
    const ConnectionLoss loss =
        GENERATE(ConnectionLoss{.blocked = true}, ConnectionLoss{.half_sent = true},
                 ConnectionLoss{.blocked = true, .half_sent = true}, ConnectionLoss{.provoked = true, .blocked = true});
    CAPTURE(loss.provoked, loss.blocked, loss.half_sent);
    PoisonDetector poison;
    const bool isolated = GENERATE(false, true);
    if (isolated) poison.isolate(1000);
    for (int i = 0; i < 30; ++i) {
        Fixture f(poison);
        f.answer_declares();
        f.deliver(again("innocent"));
        f.relay.on_connection_lost(loss);
        CHECK(f.broker.dead_lettered.empty());
    }
    CHECK(poison.isolating() == isolated);
}

TEST_CASE("an alarm among other ends neither counts nor forgives") {
    PoisonDetector poison;
    const auto lose = [&](const ConnectionLoss& loss) {
        Fixture f(poison);
        f.answer_declares();
        f.deliver(again("poison"));
        f.relay.on_connection_lost(loss);
        return f.broker.dead_lettered;
    };
    CHECK(lose({.provoked = true}).empty());
    CHECK(lose({.provoked = true}).empty());  // alone
    for (int i = 0; i < 5; ++i) {
        CHECK(lose({.blocked = true}).empty());
        CHECK(lose({.half_sent = true}).empty());
    }
    CHECK(lose({.provoked = true}).empty());  // alone
    CHECK(lose({}) == Tags{1});
}

TEST_CASE(
    "what ends connections without a word, while others are confirmed beside it, is isolated, and at last set aside") {
    PoisonDetector poison;
    int connections = 0;
    for (bool found = false; !found; ++connections) {
        REQUIRE(connections < 20);
        Fixture f(poison);
        f.answer_declares();
        f.deliver();
        f.confirm_all();
        f.deliver(again("poison"));
        found = !f.broker.dead_lettered.empty();
        if (!found) f.relay.on_connection_lost({});
        if (found) {
            CHECK(f.reporter.lines.back() ==
                  "dead-lettered email each time it was published alone the connection ended, and the broker did not "
                  "say why");
        }
    }
    CHECK(connections == 3 + 5 + 1);
}

TEST_CASE("a message of which the broker refuses the beginning with an error does not come again for ever") {
    PoisonDetector poison;
    const auto session = [&] {
        Fixture f(poison);
        f.answer_declares();
        f.deliver(again("poison"));
        f.relay.on_connection_lost({.provoked = true, .half_sent = true, .words = "501 FRAME_ERROR"});
        return !f.broker.dead_lettered.empty();
    };
    for (int i = 0; i < 3 + 5; ++i)
        CHECK_FALSE(session());
    CHECK(session());
}

TEST_CASE("a connection that breaks with nothing in flight says nothing about any message") {
    PoisonDetector poison;
    for (int i = 0; i < 10; ++i) {
        Fixture f(poison);
        f.relay.on_connection_lost({.provoked = true});
    }
    CHECK_FALSE(poison.isolating());
}

TEST_CASE("since when a confirm is missing is told by the oldest publication that waits for one") {
    Fixture f;
    f.answer_declares();
    CHECK_FALSE(f.relay.unconfirmed_since());
    f.deliver();
    const auto first = f.now.steady;
    f.pass(core::Milliseconds{500});
    f.deliver();
    CHECK(f.relay.unconfirmed_since() == first);
    f.broker.confirm(f.relay, 1, f.now);
    CHECK(f.relay.unconfirmed_since() == f.now.steady);
    f.broker.confirm(f.relay, 2, f.now);
    CHECK_FALSE(f.relay.unconfirmed_since());
}

TEST_CASE("where nothing may be declared nothing is handed to a dead-lettering that may not be there, so it stays") {
    Fixture f(Fixture::policy(), {}, false);
    f.answer_declares();
    f.deliver();
    f.close_publishing(406, "too large");
    CHECK(f.broker.dead_lettered.empty());
    CHECK(f.reporter.lines == Lines{"stuck email too large"});
    f.pass(core::Milliseconds{29'999});
    CHECK(f.broker.requeued.empty());
    f.pass(core::Milliseconds{1});
    CHECK(f.broker.requeued == Tags{1});
}

}  // namespace retryd::relay::poison_test
