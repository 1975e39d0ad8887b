#include "core/wanted.h"

#include "support/catch.h"

namespace retryd::core::wanted_test {
namespace {

using namespace std::chrono_literals;
using Lines = std::vector<std::string>;

const BrokerFeatures rabbit_4_0 = features_of({4, 0, 5});

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

/// `role: name (serves)`, without the four of the base.
Lines lines_of(const Policy& policy) {
    Lines lines;
    for (const Wanted& each : wanted(policy, rabbit_4_0)) {
        std::string line = std::string{to_string(each.role)} + ": " + name_of(each.item);
        if (!each.work_queue.empty()) line += " (" + each.work_queue + ")";
        if (!each.ladder.empty()) line += " (ladder " + each.ladder + ")";
        lines.push_back(line);
    }
    REQUIRE(lines.size() >= 4);
    lines.erase(lines.begin(), lines.begin() + 4);
    return lines;
}

}  // namespace

TEST_CASE("what every configuration wants comes first") {
    const Policy policy;
    const auto all = wanted(policy, rabbit_4_0);
    const Topology base = base_topology(policy, rabbit_4_0);
    REQUIRE(all.size() == base.size());
    for (std::size_t i = 0; i < base.size(); ++i)
        CHECK(all[i].item == base[i]);
    using Role = Wanted::Role;
    CHECK(all[0].role == Role::error_exchange);
    CHECK(all[1].role == Role::catch_all);
    CHECK(all[2].role == Role::error_queue);
    CHECK(all[3].role == Role::error_binding);
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

TEST_CASE("a shared ladder is wanted once, and each exact work queue's way home") {
    CHECK(lines_of(policy_of({entry("email", shared({5s})), entry("sms", shared({5s}))})) ==
          Lines{"return exchange: retryd.return", "rung exchange: retryd.all.5s (ladder all)",
                "rung: retryd.all.5s (ladder all)", "rung binding: retryd.all.5s → retryd.all.5s (ladder all)",
                "parking queue: email.parked (email)", "home binding: retryd.return → email (email)",
                "parking queue: sms.parked (sms)", "home binding: retryd.return → sms (sms)"});
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
    const auto all = wanted(policy, rabbit_4_0);
    const Topology rung = rung_topology(policy, policy.entries[0].ladder, "email", 5s, false, rabbit_4_0);
    REQUIRE(all.size() == 4 + rung.size() + 2);
    for (std::size_t i = 0; i < rung.size(); ++i)
        CHECK(all[4 + i].item == rung[i]);
    CHECK(all.back().item == TopologyItem{home_binding("email")});
}

TEST_CASE("globs are on demand") {
    const Policy policy = policy_of({entry("email", own({5s})), entry("a.*", own({5s}))});
    const auto found = on_demand(policy);
    REQUIRE(found.size() == 1);
    CHECK(found[0] == &policy.entries[1]);
}

}  // namespace retryd::core::wanted_test
