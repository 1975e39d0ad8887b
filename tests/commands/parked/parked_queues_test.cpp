#include "commands/parked/parked_queues.h"

#include "commands/fake_broker.h"
#include "support/catch.h"

// Which parking queues a configuration has, and whether a look there costs nothing.

namespace retryd::commands::parked_queues_test {
namespace {

core::Entry entry(const std::string& match, const std::string& parked = "{queue}.parked") {
    return {.match = match, .parked = {.queue = parked}};
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the parking queues of names, the one of a glob that has one for all, and the catch-all, each once") {
    FakeBroker broker;
    core::Policy policy;
    policy.entries = {entry("email"), entry("sms", "team.parked"), entry("web.*", "team.parked")};
    const ParkingQueues found = parking_queues(broker, policy, "");
    CHECK(found.names == Names{"email.parked", "team.parked", "retryd.parked"});
    CHECK(found.notes.empty());
    CHECK(broker.asked.empty());
}

TEST_CASE("the parking queues of a glob come from the management API") {
    FakeBroker broker;
    broker.api.queue_lists = {
        {{"web.a", "quorum", 1, {}}, {"web.a.parked", "quorum", 1, {}}, {"x.parked", "quorum", 1, {}}}};
    core::Policy policy;
    policy.entries = {entry("web.*")};
    CHECK(parking_queues(broker, policy, "").names == Names{"web.a.parked", "retryd.parked"});
}

TEST_CASE("without the management API it says what could not be seen; a named work queue needs none") {
    FakeBroker broker;
    broker.has_management = false;
    core::Policy policy;
    policy.entries = {entry("web.*")};
    const ParkingQueues blind = parking_queues(broker, policy, "");
    CHECK(blind.names == Names{"retryd.parked"});
    REQUIRE(blind.notes.size() == 1);
    CHECK(blind.notes[0].find("'web.*.parked'") != std::string::npos);
    const ParkingQueues named = parking_queues(broker, policy, "web.a");
    CHECK(named.names == Names{"web.a.parked", "retryd.parked"});
    CHECK(named.notes.empty());
}

TEST_CASE("an entry that parks in somebody else's exchange is named") {
    FakeBroker broker;
    core::Policy policy;
    policy.entries = {{.match = "email", .parked = {.exchange = "team.dlx"}}};
    const ParkingQueues found = parking_queues(broker, policy, "");
    REQUIRE(found.notes.size() == 1);
    CHECK(found.notes[0].find("'team.dlx'") != std::string::npos);
}

}  // namespace retryd::commands::parked_queues_test
