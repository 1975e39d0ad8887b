// `x_death: keep`: what has waited comes back to the relay, which sends it home itself.
#include <string>
#include <vector>

#include "core/headers.h"
#include "relay/relay_fixture.h"
#include "support/catch.h"

namespace retryd::relay::x_death_test {
namespace {

using core::test::Headers;
using core::test::number;
using core::test::text;
using Tags = std::vector<core::DeliveryTag>;
using Lines = std::vector<std::string>;

core::Policy keeping(core::ReturnPath path = core::ReturnPath::queue, const std::string& match = "email") {
    core::Ladder ladder{"shared", {core::Milliseconds{1000}, core::Milliseconds{2000}}};
    ladder.return_path = path;
    ladder.x_death = core::XDeath::keep;
    core::Policy policy;
    policy.entries.push_back({match, ladder, {"{queue}.parked"}});
    return policy;
}

struct KeepFixture : Fixture {
    explicit KeepFixture(core::ReturnPath path = core::ReturnPath::queue, const std::string& match = "email")
        : Fixture(keeping(path, match)) {
        answer_declares();
        answer_binds();
        broker.queues["email"];
    }

    /// With the x-death of that queue; `proven`, unless somebody else wrote it.
    core::DeliveryTag comes_from(std::string_view rung, bool proven = true) {
        return comes(headers.deaths({{rung, "expired"}}), proven);
    }
    /// `returns`: so often it has come back to the error queue.
    core::DeliveryTag comes(const core::Table& deaths, bool proven = true, std::int64_t returns = 0) {
        std::vector<core::Field> fields{*deaths.begin(),
                                        {"retryd-queue", text("email")},
                                        {"retryd-attempt", number(2)},
                                        {"retryd-routing-key", text("order.paid")},
                                        {"retryd-x-death", headers.array({headers.death({"email", "rejected", 7})})}};
        if (returns > 0) fields.push_back({"x-delivery-count", number(returns)});
        core::Message message;
        message.properties.headers = proven ? headers.proven(fields) : headers.fields(fields);
        message.body = "waited";
        return broker.deliver(relay, message, now);
    }
    /// But the error queue.
    void nothing_takes_any() {
        broker.full = {"email", "retryd.parked", "retryd.detour.2s", "retryd.detour.30s", "retryd.detour.5m"};
        for (int round = 0; round < 8; ++round) {
            comes_from("email.retry.1s.x-death");
            deliver_without_death();
            broker.answer_checks(relay, now);
            confirm_all();
        }
    }
    std::string home_death_count() const {
        const core::OwnedDelivery& last = broker.queues.at("email").back();
        const auto deaths = core::array_of(core::find(last.get().message.properties.header_table(), "x-death"));
        if (!deaths || deaths->empty()) return "(none)";
        return std::to_string(core::integer_of(core::find(*core::table_of(deaths->begin()), "count")).value_or(-1));
    }

    Headers headers;
};

}  // namespace

TEST_CASE("x_death: keep: what has waited goes home with its deaths once the queue is known to be there") {
    KeepFixture f;
    f.comes_from("email.retry.1s.x-death");
    f.comes_from("email.retry.1s.x-death");
    CHECK(f.broker.checks == Lines{"email"});
    CHECK(f.lying_in("email") == 0);
    f.broker.answer_checks(f.relay, f.now);
    REQUIRE(f.lying_in("email") == 2);
    CHECK(f.home_death_count() == "7");
    CHECK(f.header("email", "retryd-attempt") == "2");
    f.confirm_all();
    CHECK(f.broker.acked == Tags{1, 2});
    CHECK(f.reporter.lines.back() == "sent home email email x-death");
    f.comes_from("email.retry.2s.x-death");
    CHECK(f.broker.checks.empty());  // it has taken what came before
    CHECK(f.lying_in("email") == 3);
}

TEST_CASE("x_death: keep: a queue that is gone: of a glob it is parked, of an exact name it waits on a detour") {
    KeepFixture glob(core::ReturnPath::queue, "em*");
    glob.broker.missing.insert("email");
    glob.comes_from("email.retry.1s.x-death");
    glob.broker.answer_checks(glob.relay, glob.now);
    REQUIRE(glob.lying_in("retryd.parked") == 1);
    CHECK(glob.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    KeepFixture exact;
    exact.broker.missing.insert("email");
    exact.comes_from("email.retry.1s.x-death");
    exact.broker.answer_checks(exact.relay, exact.now);
    CHECK(exact.lying_in("retryd.detour.2s") == 1);
    CHECK(exact.header("retryd.detour.2s", "retryd-attempt") == "2");
}

TEST_CASE("x_death: keep: on a shared ladder it goes home through the return exchange, with the producer's key") {
    KeepFixture f(core::ReturnPath::headers);
    f.comes_from("retryd.shared.1s.x-death");
    f.answer_declares();
    REQUIRE(f.lying_in("email") == 1);
    CHECK(f.home_death_count() == "7");
    CHECK(f.broker.routing_keys == Lines{"order.paid"});
}

TEST_CASE("x_death: keep: what the return exchange did not know comes as it went: bound again, no attempt spent") {
    KeepFixture f(core::ReturnPath::headers);
    f.comes(f.headers.deaths({{"email", "rejected", 7}}));
    CHECK(f.broker.binds == Lines{"email"});
    f.answer_binds();
    f.answer_declares();
    REQUIRE(f.lying_in("retryd.shared.2s.x-death") == 1);
    CHECK(f.header("retryd.shared.2s.x-death", "retryd-attempt") == "2");
    CHECK_FALSE(f.has_header("retryd.shared.2s.x-death", "x-death"));
}

TEST_CASE(
    "x_death: keep: a queue that is gone, which is known late: what comes from its rung then asks, and is parked") {
    KeepFixture f(core::ReturnPath::headers, "em*");
    f.deliver();
    f.answer_binds();
    f.answer_declares();
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.shared.1s.x-death") == 1);
    f.broker.missing.insert("email");
    f.comes(f.headers.deaths({{"email", "rejected", 7}}));
    CHECK(f.broker.binds == Lines{"email"});
    f.pass(core::Milliseconds{400});
    f.answer_binds();
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.shared.2s.x-death") == 1);
    f.comes_from("retryd.shared.2s.x-death");
    CHECK(f.lying_in("email") == 0);
    f.answer_binds();
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
}

TEST_CASE("x_death: keep: the attempt is the same whether the broker counts on or begins anew") {
    for (const core::test::DeathEntry& told : {core::test::DeathEntry{"email", "rejected", 8},
                                               core::test::DeathEntry{"email", "rejected", 1, 1'700'000'009}}) {
        KeepFixture f;
        f.comes(f.headers.deaths({told}));
        f.answer_declares();
        REQUIRE(f.lying_in("email.parked") == 1);  // two steps, and the third death
        CHECK(f.header("email.parked", "retryd-attempt") == "3");
    }
}

TEST_CASE("x_death: keep: without a proof only the entry's own rung counts, and no deaths that it tells of") {
    KeepFixture f;
    f.comes_from("email.retry.1s.x-death", false);
    f.broker.answer_checks(f.relay, f.now);
    REQUIRE(f.lying_in("email") == 1);
    CHECK(f.home_death_count() == "(none)");
    f.comes_from("email.retry.3s.x-death", false);
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
    f.comes_from("retryd.shared.1s.x-death", false);
    CHECK(f.lying_in("retryd.parked") == 2);
    f.comes_from("other.retry.1s.x-death");
    CHECK(f.lying_in("retryd.parked") == 3);
    CHECK(f.lying_in("email") == 1);
}

TEST_CASE("x_death: keep: without a proof no rung is declared for a queue that is not there") {
    KeepFixture f(core::ReturnPath::queue, "em*");
    f.broker.missing.insert("email");
    f.comes_from("email.retry.1s.x-death", false);
    CHECK(f.broker.checks == Lines{"email"});
    f.broker.answer_checks(f.relay, f.now);
    CHECK(f.broker.declares.empty());
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "queue-gone");
    f.broker.missing.clear();
    f.comes_from("email.retry.1s.x-death", false);
    f.broker.answer_checks(f.relay, f.now);
    f.answer_declares();
    f.broker.answer_checks(f.relay, f.now);
    CHECK(f.lying_in("email") == 1);
}

TEST_CASE("x_death: keep: without a proof and without an answer for its queue it stays in the error queue") {
    KeepFixture f(core::ReturnPath::queue, "em*");
    f.comes_from("email.retry.1s.x-death", false);
    f.pass(core::Milliseconds{60'000});
    f.pass(core::Milliseconds{60'000});
    f.answer_declares();
    CHECK_FALSE(f.broker.queues.contains("email.retry.1s.x-death"));
    CHECK(f.broker.requeued == Tags{1});
    CHECK(f.reporter.lines.empty());
    f.broker.missing.insert("email");
    f.broker.answer_checks(f.relay, f.now);
    f.comes_from("email.retry.1s.x-death", false);  // again: the answer holds
    CHECK(f.broker.checks.empty());
    CHECK(f.lying_in("retryd.parked") == 1);
}

TEST_CASE(
    "x_death: keep: a catch-all that refuses: what is not known to be of a queue does not become it by a detour") {
    KeepFixture f(core::ReturnPath::queue, "em*");
    f.broker.full.insert("retryd.parked");
    f.comes_from("email.retry.3s.x-death", false);
    f.confirm_all();
    for (const char* rung : {"email.retry.3s.x-death", "retryd.shared.1s.x-death"}) {
        CAPTURE(rung);
        f.comes_from(rung, false);
        CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "no-death");
    }
    f.broker.missing.insert("email");
    f.comes_from("email.retry.1s.x-death", false);
    f.broker.answer_checks(f.relay, f.now);
    CHECK(f.header("retryd.detour.2s", "retryd-parked-reason") == "queue-gone");
    CHECK(f.lying_in("retryd.detour.2s") == 3);
}

TEST_CASE("x_death: keep: what is thrown out of a rung and can go nowhere keeps its story in the error queue") {
    KeepFixture f;
    f.nothing_takes_any();
    const core::Field thrown_out = *f.headers.deaths({{"email.retry.1s.x-death", "maxlen"}}).begin();
    for (const bool proven : {true, false}) {
        CAPTURE(proven);
        f.comes(f.headers.fields({thrown_out}), proven, core::republish_after_deliveries);
        f.confirm_all();
        REQUIRE(f.lying_in("retryd.errors") == (proven ? 1 : 2));
        CHECK(f.header("retryd.errors", "retryd-queue") == "email");
        CHECK(f.header("retryd.errors", "retryd-attempt") == "2");
        CHECK(f.has_header("retryd.errors", "retryd-proof") == proven);
    }
}

TEST_CASE("x_death: keep: a queue that is named like a rung, and is none, keeps its name in the error queue") {
    KeepFixture f;
    f.nothing_takes_any();
    core::Message message;
    message.properties.headers = f.headers.fields({*f.headers.deaths({{"foo.retry.5s.x-death", "rejected"}}).begin(),
                                                   {"x-delivery-count", number(core::republish_after_deliveries)}});
    f.broker.deliver(f.relay, message, f.now);
    f.confirm_all();
    REQUIRE(f.lying_in("retryd.errors") == 1);
    CHECK(f.header("retryd.errors", "retryd-queue") == "foo.retry.5s.x-death");
    CHECK(f.has_header("retryd.errors", "retryd-proof"));
}

TEST_CASE("x_death: keep: where an entry removes it, a rung of that name is anybody's") {
    Fixture f;
    f.answer_declares();
    Headers headers;
    core::Message message;
    message.properties.headers = headers.fields(
        {*headers.deaths({{"email.retry.5s.x-death", "expired"}}).begin(), {"retryd-queue", text("email")}});
    f.broker.deliver(f.relay, message, f.now);
    REQUIRE(f.lying_in("retryd.parked") == 1);
    CHECK(f.header("retryd.parked", "retryd-parked-reason") == "no-death");
}

TEST_CASE("x_death: keep: a rung that has to be another after a reload has been refused for no longer than before it") {
    KeepFixture f;
    f.broker.refused.insert("email.retry.1s.x-death");
    f.pass(core::Milliseconds{60'000});  // it is looked at again
    while (f.reporter.lines.empty()) {
        f.answer_declares();
        f.pass({});
    }
    REQUIRE(f.reporter.lines == Lines{"refused email.retry.1s.x-death 406 in the broker's words"});
    f.pass(core::Milliseconds{10'000});
    core::Policy policy = keeping();
    policy.entries[0].ladder.queue_type = core::QueueType::classic;
    f.adopt(policy);
    f.comes_from("email.retry.1s.x-death", false);
    f.pass(core::Milliseconds{400});  // no answer to the declare, for which it has waited
    CHECK(f.reporter.lines.back() == "requeued email.retry.1s.x-death detour-refused 5200");
}

TEST_CASE("x_death: keep: the setting is part of the rung, and of what a message takes with it") {
    KeepFixture f;
    f.deliver();
    REQUIRE(f.lying_in("email.retry.1s.x-death") == 1);
    CHECK(f.has_header("email.retry.1s.x-death", "retryd-x-death"));
    CHECK_FALSE(f.has_header("email.retry.1s.x-death", "x-death"));
}

}  // namespace retryd::relay::x_death_test
