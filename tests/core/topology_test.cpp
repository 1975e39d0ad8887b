#include "core/topology.h"

#include "support/catch.h"

namespace retryd::core::topology_test {
namespace {

using namespace std::chrono_literals;

const BrokerFeatures rabbit_3_9 = features_of({3, 9, 29});
const BrokerFeatures rabbit_3_13 = features_of({3, 13, 7});
const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

std::string describe(const Argument& argument) {
    if (const auto* number = std::get_if<std::int64_t>(&argument)) return std::to_string(*number);
    return '"' + std::get<std::string>(argument) + '"';
}

/// The name and every argument, one a line; one that may be missing has a question mark.
std::string describe(const QueueSpec& spec) {
    std::string lines = spec.name + '\n';
    for (const auto& [name, value] : spec.arguments) {
        lines += "  " + name + " = " + describe(value);
        for (const std::string& optional : spec.optional_arguments)
            lines += optional == name ? " ?" : "";
        lines += '\n';
    }
    return lines;
}

Policy policy_with(QueueType type) {
    Policy policy;
    policy.error_queue = "my.errors";
    policy.catch_all = "my.parked";
    policy.error_queue_type = type;
    return policy;
}

/// The one queue of a rung with a queue of its own.
QueueSpec queue_of(const Ladder& ladder, std::string_view work_queue, Milliseconds delay, bool high,
                   const BrokerFeatures& features) {
    const Topology topology = rung_topology({}, ladder, work_queue, delay, high, features);
    REQUIRE(topology.size() == 1);
    return std::get<QueueSpec>(topology.front());
}

QueueSpec rung_of(QueueType type, const BrokerFeatures& features, bool high = false) {
    const Ladder ladder{"standard", {90s}, type};
    return queue_of(ladder, "email", 90s, high, features);
}

}  // namespace

TEST_CASE("the error queue dead-letters to the catch-all, safely where the broker can") {
    const std::string safely =
        "my.errors\n"
        "  x-queue-type = \"quorum\"\n"
        "  x-dead-letter-exchange = \"\"\n"
        "  x-dead-letter-routing-key = \"my.parked\"\n"
        "  x-dead-letter-strategy = \"at-least-once\"\n"
        "  x-overflow = \"reject-publish\"\n";
    const Policy policy = policy_with(QueueType::quorum);
    CHECK(describe(error_queue_spec(policy, rabbit_3_13)) == safely);
    CHECK(describe(error_queue_spec(policy, rabbit_4_0)) == safely + "  x-delivery-limit = -1 ?\n");
    CHECK(describe(error_queue_spec(policy, rabbit_3_9)) ==
          "my.errors\n"
          "  x-queue-type = \"quorum\"\n"
          "  x-dead-letter-exchange = \"\"\n"
          "  x-dead-letter-routing-key = \"my.parked\"\n");
}

TEST_CASE("a classic error queue has the dead-letter arguments of a classic queue on every broker") {
    const Policy policy = policy_with(QueueType::classic);
    for (const BrokerFeatures& features : {rabbit_3_9, rabbit_3_13, rabbit_4_0}) {
        CHECK(describe(error_queue_spec(policy, features)) ==
              "my.errors\n"
              "  x-queue-type = \"classic\"\n"
              "  x-dead-letter-exchange = \"\"\n"
              "  x-dead-letter-routing-key = \"my.parked\"\n");
    }
}

TEST_CASE("a parking queue is a quorum queue without a TTL, and without a limit on looks where there would be one") {
    const std::string plain = "email.parked\n  x-queue-type = \"quorum\"\n";
    CHECK(describe(parking_queue_spec("email.parked", rabbit_3_9)) == plain);
    CHECK(describe(parking_queue_spec("email.parked", rabbit_3_13)) == plain);
    CHECK(describe(parking_queue_spec("email.parked", rabbit_4_0)) == plain + "  x-delivery-limit = -1 ?\n");
}

TEST_CASE("a quorum rung holds each message until its work queue has confirmed it") {
    for (const BrokerFeatures& features : {rabbit_3_13, rabbit_4_0}) {
        CHECK(describe(rung_of(QueueType::quorum, features)) ==
              "email.retry.1m30s\n"
              "  x-queue-type = \"quorum\"\n"
              "  x-message-ttl = 90000\n"
              "  x-dead-letter-exchange = \"\"\n"
              "  x-dead-letter-routing-key = \"email\"\n"
              "  x-dead-letter-strategy = \"at-least-once\"\n"
              "  x-overflow = \"reject-publish\"\n");
    }
}

TEST_CASE("a rung is classic where the ladder says so, or where the broker has no quorum TTL") {
    const std::string classic =
        "email.retry.1m30s\n"
        "  x-queue-type = \"classic\"\n"
        "  x-message-ttl = 90000\n"
        "  x-dead-letter-exchange = \"\"\n"
        "  x-dead-letter-routing-key = \"email\"\n";
    CHECK(describe(rung_of(QueueType::quorum, rabbit_3_9)) == classic);
    for (const BrokerFeatures& features : {rabbit_3_9, rabbit_3_13, rabbit_4_0})
        CHECK(describe(rung_of(QueueType::classic, features)) == classic);
}

TEST_CASE("the rung of high priorities differs in its name alone") {
    const QueueSpec normal = rung_of(QueueType::quorum, rabbit_4_0, false);
    const QueueSpec high = rung_of(QueueType::quorum, rabbit_4_0, true);
    CHECK(high.name == "email.retry.1m30s.high");
    CHECK(high.arguments == normal.arguments);
    CHECK(high.optional_arguments == normal.optional_arguments);
    CHECK_FALSE(high == normal);
}

TEST_CASE("a rung with a shortened name still sends home to the whole name of its work queue") {
    const std::string queue(255, 'q');
    const QueueSpec rung = queue_of(Ladder{"standard", {5s}, QueueType::quorum}, queue, 5s, false, rabbit_4_0);
    CHECK(rung.name.size() == 255);
    CHECK(rung.name != queue);
    CHECK(describe(rung).find("x-dead-letter-routing-key = \"" + queue + '"') != std::string::npos);
}

TEST_CASE("the longest delay is written whole") {
    const QueueSpec rung = queue_of(Ladder{}, "email", 24h * 3650, false, rabbit_4_0);
    CHECK(describe(rung).find("x-message-ttl = 315360000000\n") != std::string::npos);
}

TEST_CASE("a delay that stands several times in a ladder is one rung, in the order of first use") {
    CHECK(distinct_delays(Ladder{"l", {30s, 5s, 30s, 30s, 2min, 5s}}) == std::vector<Milliseconds>{30s, 5s, 2min});
    CHECK(distinct_delays(Ladder{"l", {5s}}) == std::vector<Milliseconds>{5s});
    CHECK(distinct_delays(Ladder{}).empty());
}

}  // namespace retryd::core::topology_test
