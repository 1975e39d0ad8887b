#include "core/made_rung.h"

#include "core/duration.h"
#include "support/catch.h"

namespace retryd::core::made_rung_test {
namespace {

using namespace std::chrono_literals;

const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

Ladder ladder_of(std::vector<Milliseconds> steps, ReturnPath path) {
    Ladder ladder;
    ladder.name = "all";
    ladder.steps = std::move(steps);
    ladder.return_path = path;
    return ladder;
}

Entry entry(const std::string& match, const Ladder& ladder) {
    Entry made;
    made.match = match;
    made.ladder = ladder;
    return made;
}

Policy policy_of(const std::string& match, const Ladder& ladder) {
    Policy policy;
    policy.entries = {entry(match, ladder)};
    return policy;
}

/// The queue that is declared for a rung.
QueueSpec queue_of(const Ladder& ladder, const std::string& work_queue, Milliseconds delay, bool high = false) {
    for (const TopologyItem& item : rung_topology({}, ladder, work_queue, delay, high, rabbit_4_0)) {
        if (const auto* queue = std::get_if<QueueSpec>(&item)) return *queue;
    }
    FAIL("a rung without a queue");
    return {};
}

std::optional<MadeRung> made(const QueueSpec& queue) {
    return made_rung(queue.name, queue.arguments);
}

QueueSpec without(QueueSpec queue, const std::string& argument) {
    std::erase_if(queue.arguments, [&](const auto& each) { return each.first == argument; });
    return queue;
}

}  // namespace

TEST_CASE("what is declared as a rung is known as one again") {
    const std::string longest(255, 'q');
    for (const bool high : {false, true}) {
        const Ladder own = ladder_of({90s}, ReturnPath::queue);
        CHECK(made(queue_of(own, "email", 90s, high)) == MadeRung{"email", ReturnPath::queue, 90s});
        CHECK(made(queue_of(own, longest, 90s, high)) == MadeRung{longest, ReturnPath::queue, 90s});
        const Ladder shared = ladder_of({90s}, ReturnPath::headers);
        CHECK(made(queue_of(shared, "email", 90s, high)) == MadeRung{"all", ReturnPath::headers, 90s});
    }
}

TEST_CASE("a queue is no rung of ours without the arguments that go with its name") {
    QueueSpec rung = queue_of(ladder_of({90s}, ReturnPath::queue), "email", 90s);
    for (const char* argument : {"x-message-ttl", "x-dead-letter-exchange", "x-dead-letter-routing-key"}) {
        CAPTURE(argument);
        CHECK_FALSE(made(without(rung, argument)));
    }
    CHECK_FALSE(made_rung("sms.retry.1m30s", rung.arguments));
    CHECK_FALSE(made_rung("email.retry.90s", rung.arguments));
    CHECK_FALSE(made_rung("email.retry.1m", rung.arguments));
    CHECK_FALSE(made_rung(
        "email.retry.1m30s",
        {{"x-message-ttl", "90000"}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}}));

    const QueueSpec shared = queue_of(ladder_of({90s}, ReturnPath::headers), "email", 90s);
    CHECK_FALSE(made(without(shared, "x-message-ttl")));
    CHECK_FALSE(made(without(shared, "x-dead-letter-exchange")));
    CHECK_FALSE(made_rung("retryd.all.1m", shared.arguments));
    CHECK_FALSE(made_rung("retryd.parked", shared.arguments));
    CHECK_FALSE(made_rung("all.1m30s", shared.arguments));
    QueueSpec elsewhere = shared;
    elsewhere.arguments.emplace_back("x-dead-letter-routing-key", "email");
    CHECK_FALSE(made(elsewhere));
}

TEST_CASE("the queues of ours that are no rungs are not taken for such") {
    CHECK_FALSE(made(error_queue_spec({}, rabbit_4_0)));
    CHECK_FALSE(made(parking_queue_spec("email.parked", rabbit_4_0)));
    CHECK_FALSE(made_rung("email", {}));
}

TEST_CASE("a delay that no rung can have is no rung") {
    for (const std::int64_t ttl : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{longest_ttl.count() + 1}}) {
        CAPTURE(ttl);
        CHECK_FALSE(made_rung(
            "email.retry.0ms",
            {{"x-message-ttl", ttl}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "email"}}));
    }
}

TEST_CASE("a work queue's rung is in use while an entry leads there") {
    const Ladder ladder = ladder_of({5s, 30s}, ReturnPath::queue);
    const MadeRung rung{"web.a", ReturnPath::queue, 30s};
    CHECK(is_in_use(policy_of("web.a", ladder), rung));
    CHECK(is_in_use(policy_of("web.*", ladder), rung));
    CHECK_FALSE(is_in_use(policy_of("web.b", ladder), rung));
    CHECK_FALSE(is_in_use(policy_of("web.*", ladder_of({5s}, ReturnPath::queue)), rung));
    CHECK_FALSE(is_in_use(policy_of("web.*", ladder_of({5s, 30s}, ReturnPath::headers)), rung));

    Policy shadowed = policy_of("web.*", ladder_of({5s}, ReturnPath::queue));
    shadowed.entries.push_back(entry("web.a", ladder));
    CHECK_FALSE(is_in_use(shadowed, rung));
}

TEST_CASE("a shared rung is in use while any entry climbs its ladder") {
    const MadeRung rung{"all", ReturnPath::headers, 30s};
    CHECK(is_in_use(policy_of("email", ladder_of({5s, 30s}, ReturnPath::headers)), rung));
    CHECK_FALSE(is_in_use(policy_of("email", ladder_of({5s}, ReturnPath::headers)), rung));
    CHECK_FALSE(is_in_use(policy_of("email", ladder_of({5s, 30s}, ReturnPath::queue)), rung));
    Ladder other = ladder_of({5s, 30s}, ReturnPath::headers);
    other.name = "other";
    CHECK_FALSE(is_in_use(policy_of("email", other), rung));
}

TEST_CASE("every lane is in use") {
    Ladder ladder = ladder_of({10s}, ReturnPath::queue);
    ladder.jitter = {20, 3};
    for (const Milliseconds lane : {8s, 9s, 10s})
        CHECK(is_in_use(policy_of("email", ladder), {"email", ReturnPath::queue, lane}));
    CHECK_FALSE(is_in_use(policy_of("email", ladder), {"email", ReturnPath::queue, 7s}));
}

}  // namespace retryd::core::made_rung_test
