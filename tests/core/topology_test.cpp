#include "core/topology.h"

#include "core/names.h"
#include "support/catch.h"

namespace retryd::core::topology_test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

/// The base, and three detours.
constexpr std::size_t always = 7;

const BrokerFeatures rabbit_3_9 = features_of({3, 9, 29});
const BrokerFeatures rabbit_3_13 = features_of({3, 13, 7});
const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

std::string describe(const Argument& argument) {
    if (const auto* number = std::get_if<std::int64_t>(&argument)) return std::to_string(*number);
    if (const auto* flag = std::get_if<bool>(&argument)) return *flag ? "true" : "false";
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

Ladder shared_ladder() {
    Ladder ladder{"shared", {5s}};
    ladder.return_path = ReturnPath::headers;
    return ladder;
}

Ladder ladder_of(const std::string& name, std::vector<Milliseconds> steps, ReturnPath path) {
    Ladder ladder;
    ladder.name = name;
    ladder.steps = std::move(steps);
    ladder.return_path = path;
    return ladder;
}

Ladder own(std::vector<Milliseconds> steps) {
    return ladder_of("own", std::move(steps), ReturnPath::queue);
}

Ladder shared(std::vector<Milliseconds> steps) {
    return ladder_of("all", std::move(steps), ReturnPath::headers);
}

Entry entry(const std::string& match, const Ladder& ladder, const Parking& parked = {"{queue}.parked", "", {}}) {
    Entry made;
    made.match = match;
    made.ladder = ladder;
    made.parked = parked;
    return made;
}

Policy policy_of(std::vector<Entry> entries) {
    Policy policy;
    policy.entries = std::move(entries);
    return policy;
}

/// `role: name (serves)`, without the seven that every configuration wants.
Lines lines_of(const Policy& policy) {
    Lines lines;
    for (const DesiredItem& each : desired_topology(policy, rabbit_4_0)) {
        std::string line = std::string{to_string(each.role)} + ": " + name_of(each.item);
        if (!each.work_queue.empty()) line += " (" + each.work_queue + ")";
        if (!each.ladder.empty()) line += " (ladder " + each.ladder + ")";
        lines.push_back(line);
    }
    REQUIRE(lines.size() >= always);
    lines.erase(lines.begin(), lines.begin() + always);
    return lines;
}

}  // namespace

// ── Queues ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("the error queue dead-letters to the catch-all, safely where the broker can") {
    const std::string safely =
        "my.errors\n"
        "  x-queue-type = \"quorum\"\n"
        "  x-dead-letter-exchange = \"\"\n"
        "  x-dead-letter-routing-key = \"my.parked\"\n"
        "  x-dead-letter-strategy = \"at-least-once\"\n"
        "  x-overflow = \"reject-publish\"\n";
    const Policy policy = policy_with(QueueType::quorum);
    const std::string limit = "  x-delivery-limit = 100 ?\n";
    CHECK(describe(error_queue_spec(policy, rabbit_3_13)) == safely + limit);
    CHECK(describe(error_queue_spec(policy, rabbit_4_0)) == safely + limit);
    CHECK(describe(error_queue_spec(policy, rabbit_3_9)) ==
          "my.errors\n"
          "  x-queue-type = \"quorum\"\n"
          "  x-dead-letter-exchange = \"\"\n"
          "  x-dead-letter-routing-key = \"my.parked\"\n" +
              limit);
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
    const std::string typed = "email.parked\n  x-queue-type = \"quorum\"\n";
    const std::string plain = typed + "  x-overflow = \"reject-publish\" ?\n";
    CHECK(describe(parking_queue_spec("email.parked", rabbit_3_9)) == typed);
    CHECK(describe(parking_queue_spec("email.parked", rabbit_3_13)) == plain);
    CHECK(describe(parking_queue_spec("email.parked", rabbit_4_0)) == plain + "  x-delivery-limit = 1000000 ?\n");
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

TEST_CASE("a rung with a shortened name still returns to the whole name of its work queue") {
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

// ── Shared rungs, parking ──────────────────────────────────────────────────────────────────────────────────────────

TEST_CASE("a shared rung is a fanout exchange and a queue of one name, behind which the return exchange lies") {
    Policy policy;
    policy.error_exchange = "my.errors";
    const Topology rung = rung_topology(policy, shared_ladder(), "email", 5s, false, rabbit_4_0);
    const Arguments to_return{{"x-queue-type", "quorum"},
                              {"x-message-ttl", std::int64_t{5000}},
                              {"x-dead-letter-exchange", "retryd.return"},
                              {"x-dead-letter-strategy", "at-least-once"},
                              {"x-overflow", "reject-publish"}};
    CHECK(rung == Topology{ExchangeSpec{"retryd.return", "headers", {{"alternate-exchange", "my.errors"}}},
                           ExchangeSpec{"retryd.shared.5s", "fanout", {}}, QueueSpec{"retryd.shared.5s", to_return, {}},
                           BindingSpec{"retryd.shared.5s", "retryd.shared.5s", "", {}}});
}

TEST_CASE("a shared rung is the same for all work queues, and classic before 3.10") {
    CHECK(rung_topology({}, shared_ladder(), "email", 5s, false, rabbit_4_0) ==
          rung_topology({}, shared_ladder(), "other", 5s, false, rabbit_4_0));
    const Topology old = rung_topology({}, shared_ladder(), "email", 5s, false, rabbit_3_9);
    CHECK(std::get<QueueSpec>(old[2]).arguments == Arguments{{"x-queue-type", "classic"},
                                                             {"x-message-ttl", std::int64_t{5000}},
                                                             {"x-dead-letter-exchange", "retryd.return"}});
}

TEST_CASE("a detour leads back to the error exchange, and holds each message until the error queue has it") {
    Policy policy;
    policy.error_exchange = "my.dlx";
    CHECK(describe(detour_spec(policy, 30s, rabbit_3_13)) ==
          "retryd.detour.30s\n"
          "  x-queue-type = \"quorum\"\n"
          "  x-message-ttl = 30000\n"
          "  x-dead-letter-exchange = \"my.dlx\"\n"
          "  x-dead-letter-strategy = \"at-least-once\"\n"
          "  x-overflow = \"reject-publish\"\n");
    CHECK(describe(detour_spec(policy, 2s, rabbit_3_9)) ==
          "retryd.detour.2s\n"
          "  x-queue-type = \"classic\"\n"
          "  x-message-ttl = 2000\n"
          "  x-dead-letter-exchange = \"my.dlx\"\n");
}

TEST_CASE("a work queue is bound to the return exchange by its name in a header") {
    CHECK(return_binding("email") ==
          BindingSpec{"email", "retryd.return", "", {{"x-match", "all"}, {"retryd-queue", "email"}}});
}

TEST_CASE("a shared rung is known by its name, and nothing else is taken for one") {
    for (const auto delay : {1ms, 300000ms, 5400000ms}) {
        CHECK(looks_like_shared_rung(shared_rung_name("shared", delay, false)));
        CHECK(looks_like_shared_rung(shared_rung_name("a-b_1", delay, true)));
    }
    for (const char* name :
         {"retryd.errors", "retryd.parked", "retryd.5s", "retryd..5s", "my.shared.5s", "retryd.shared.",
          "retryd.shared.5s.low", "retryd.shared.soon", "retryd.a.b.5s", "retryd.shared.5s.high.high"}) {
        CAPTURE(name);
        CHECK_FALSE(looks_like_shared_rung(name));
    }
}

TEST_CASE("parking is a queue of ours or an exchange that has to be there") {
    CHECK(parking_topology({"{queue}.parked", "", std::nullopt}, "email", rabbit_4_0) ==
          Topology{parking_queue_spec("email.parked", rabbit_4_0)});
    CHECK(parking_topology({"", "team.dlx", "x"}, "email", rabbit_4_0) == Topology{ForeignExchange{"team.dlx"}});
}

TEST_CASE("before 3.10 the name of a parking queue is cut to what such a broker can make") {
    const std::string work_queue(255, 'q');
    const Parking parked{"{queue}.parked"};
    CHECK(parking_queue_of(parked, work_queue, rabbit_4_0).size() == 255);
    CHECK(parking_queue_of(parked, work_queue, rabbit_3_9).size() == 200);
    CHECK(parking_queue_of(parked, "email", rabbit_3_9) == "email.parked");
}

// ── All that a configuration wants ─────────────────────────────────────────────────────────────────────────────────

TEST_CASE("what every configuration wants comes first") {
    const Policy policy;
    const auto all = desired_topology(policy, rabbit_4_0);
    const Topology base = base_topology(policy, rabbit_4_0);
    REQUIRE(all.size() == always);
    for (std::size_t i = 0; i < base.size(); ++i)
        CHECK(all[i].item == base[i]);
    using ItemRole = DesiredItem::ItemRole;
    CHECK(all[0].role == ItemRole::error_exchange);
    CHECK(all[1].role == ItemRole::catch_all);
    CHECK(all[2].role == ItemRole::error_queue);
    CHECK(all[3].role == ItemRole::error_binding);
    for (std::size_t i = 0; i < detour_delays.size(); ++i) {
        CHECK(all[base.size() + i].role == ItemRole::detour);
        CHECK(all[base.size() + i].item == TopologyItem{detour_spec(policy, detour_delays[i], rabbit_4_0)});
    }
    CHECK(to_string(ItemRole::detour) == "detour");
}

TEST_CASE("an exact entry wants its rungs, each once, and its parking") {
    CHECK(
        lines_of(policy_of({entry("email", own({5s, 30s, 30s, 5s}))})) ==
        Lines{"rung: email.retry.5s (email)", "rung: email.retry.30s (email)", "parking queue: email.parked (email)"});
}

TEST_CASE("lanes are rungs too") {
    Ladder ladder = own({10s});
    ladder.jitter = {20, 3};
    CHECK(lines_of(policy_of({entry("email", ladder)})) ==
          Lines{"rung: email.retry.8s (email)", "rung: email.retry.9s (email)", "rung: email.retry.10s (email)",
                "parking queue: email.parked (email)"});
}

TEST_CASE("a shared ladder is wanted once, and each exact work queue's way back") {
    CHECK(lines_of(policy_of({entry("email", shared({5s})), entry("sms", shared({5s}))})) ==
          Lines{"return exchange: retryd.return", "rung exchange: retryd.all.5s (ladder all)",
                "rung: retryd.all.5s (ladder all)", "rung binding: retryd.all.5s → retryd.all.5s (ladder all)",
                "parking queue: email.parked (email)", "return binding: retryd.return → email (email)",
                "parking queue: sms.parked (sms)", "return binding: retryd.return → sms (sms)"});
}

TEST_CASE("of a glob only what is the same for all its queues is wanted") {
    CHECK(lines_of(policy_of({entry("a.*", own({5s}))})).empty());
    CHECK(lines_of(policy_of({entry("a.*", own({5s}), {"graveyard", "", {}})})) ==
          Lines{"parking queue: graveyard (a.*)"});
    CHECK(lines_of(policy_of({entry("a.*", shared({5s}))})) ==
          Lines{"return exchange: retryd.return", "rung exchange: retryd.all.5s (ladder all)",
                "rung: retryd.all.5s (ladder all)", "rung binding: retryd.all.5s → retryd.all.5s (ladder all)"});
}

TEST_CASE("exchanges of somebody else's are wanted, and those that lead to the error queue are bound") {
    Policy policy = policy_of({entry("a.*", own({5s}), {"", "graves", "{queue}"})});
    policy.error_bindings = {{"legacy", "#"}, {"legacy", "a.#"}};
    CHECK(lines_of(policy) == Lines{"error binding: legacy → retryd.errors", "error binding: legacy → retryd.errors",
                                    "parking exchange: graves (a.*)"});
}

TEST_CASE("an exact entry that an earlier one catches wants nothing") {
    CHECK(lines_of(policy_of({entry("*", own({5s})), entry("email", own({7s}))})).empty());
}

TEST_CASE("items are those that the daemon declares") {
    const Policy policy = policy_of({entry("email", shared({5s}))});
    const auto all = desired_topology(policy, rabbit_4_0);
    const Topology rung = rung_topology(policy, policy.entries[0].ladder, "email", 5s, false, rabbit_4_0);
    REQUIRE(all.size() == always + rung.size() + 2);
    for (std::size_t i = 0; i < rung.size(); ++i)
        CHECK(all[always + i].item == rung[i]);
    CHECK(all.back().item == TopologyItem{return_binding("email")});
}

TEST_CASE("a queue of held messages is a parking queue that one consumer has for itself") {
    CHECK(describe(held_queue_spec("email", rabbit_4_0)) ==
          "email.held\n"
          "  x-queue-type = \"quorum\"\n"
          "  x-overflow = \"reject-publish\" ?\n"
          "  x-delivery-limit = 1000000 ?\n"
          "  x-single-active-consumer = true\n");
    CHECK(describe(held_queue_spec("email", rabbit_3_9)) ==
          "email.held\n"
          "  x-queue-type = \"quorum\"\n"
          "  x-single-active-consumer = true\n");
}

TEST_CASE("a queue holds messages of retryd's where an entry stands behind its name and its arguments are all ours") {
    Policy policy;
    policy.entries.push_back({"email", {"standard", {5s}}, {"{queue}.parked"}});
    const std::string long_name(250, 'w');
    policy.entries.push_back({long_name, {"standard", {5s}}, {"{queue}.parked"}});
    policy.entries.push_back({"web.*", {"standard", {5s}}, {"{queue}.parked"}});
    const Arguments ours = held_queue_spec("email", rabbit_4_0).arguments;
    CHECK(work_queue_held_in(policy, "email.held", ours) == "email");
    CHECK(work_queue_held_in(policy, "web.shop.held", ours) == "web.shop");
    CHECK(work_queue_held_in(policy, held_name(long_name), ours) == long_name);
    CHECK(work_queue_held_in(policy, "email.held", held_queue_spec("email", rabbit_3_9).arguments) == "email");
    CHECK_FALSE(work_queue_held_in(policy, "orders.held", ours));
    CHECK(looks_like_held_queue("orders.held", ours));
    CHECK_FALSE(looks_like_held_queue("orders.hold", ours));
    CHECK_FALSE(looks_like_held_queue("orders.held", {}));
    CHECK_FALSE(work_queue_held_in(policy, ".held", ours));
    CHECK_FALSE(work_queue_held_in(policy, "email.hold", ours));
    for (std::size_t i = 0; i < ours.size(); ++i) {
        CAPTURE(ours[i].first);
        Arguments another = ours;
        another[i].second = std::int64_t{20};
        CHECK_FALSE(work_queue_held_in(policy, "email.held", another));
    }
    Arguments more = ours;
    more.emplace_back("x-max-length", std::int64_t{5});
    CHECK_FALSE(work_queue_held_in(policy, "email.held", more));
    CHECK_FALSE(work_queue_held_in(policy, "email.held", {}));
}

TEST_CASE("queues of held messages are wanted for exact names that may hold, and for no others") {
    Policy policy = policy_of({entry("email", own({5s})), entry("sms", own({5s})), entry("a.*", own({5s}))});
    policy.entries[0].hold = true;
    policy.entries[2].outage = OutageRule{};
    std::vector<std::string> held;
    for (const DesiredItem& item : desired_topology(policy, rabbit_4_0)) {
        if (item.role == DesiredItem::ItemRole::held) held.push_back(name_of(item.item));
    }
    CHECK(held == std::vector<std::string>{"email.held"});
}

TEST_CASE("globs are on demand") {
    const Policy policy = policy_of({entry("email", own({5s})), entry("a.*", own({5s}))});
    const auto found = on_demand(policy);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == &policy.entries[1]);
}

}  // namespace retryd::core::topology_test
