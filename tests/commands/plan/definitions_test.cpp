#include "commands/plan/definitions.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/broker_features.h"
#include "support/catch.h"

namespace retryd::commands::definitions_test {
namespace {

using nlohmann::json;

core::Policy policy_with(const std::string& match, core::ReturnPath path) {
    core::Policy policy;
    policy.entries = {{.match = match,
                       .ladder = {.name = "all", .steps = {core::Milliseconds{5000}}, .return_path = path},
                       .parked = {.queue = "{queue}.parked"}}};
    return policy;
}

json defined(const core::Policy& policy, core::BrokerVersion version) {
    std::ostringstream out;
    print_definitions(policy, core::features_of(version), "shop", out);
    return json::parse(out.str());
}

std::string lacking(const core::Policy& policy) {
    std::ostringstream err;
    print_what_definitions_lack(policy, core::features_of({4, 3, 6}), err);
    return err.str();
}

std::vector<std::string> names(const json& list) {
    std::vector<std::string> found;
    for (const json& each : list)
        found.push_back(each.at("name"));
    return found;
}

}  // namespace

TEST_CASE("definitions: each queue is durable and has the arguments that retryd would declare it with") {
    const json found = defined(policy_with("email", core::ReturnPath::queue), {4, 3, 6});
    CHECK(names(found["exchanges"]) == std::vector<std::string>{"retryd.errors"});
    CHECK(names(found["queues"]) == std::vector<std::string>{"retryd.parked", "retryd.errors", "retryd.detour.2s",
                                                             "retryd.detour.30s", "retryd.detour.5m", "email.retry.5s",
                                                             "email.parked"});
    CHECK(found["queues"][2] == json::parse(R"({"name": "retryd.detour.2s", "vhost": "shop", "durable": true,
        "auto_delete": false, "arguments": {"x-queue-type": "quorum", "x-message-ttl": 2000,
        "x-dead-letter-exchange": "retryd.errors", "x-dead-letter-strategy": "at-least-once",
        "x-overflow": "reject-publish"}})"));
    CHECK(found["queues"][5] == json::parse(R"({"name": "email.retry.5s", "vhost": "shop", "durable": true,
        "auto_delete": false, "arguments": {"x-queue-type": "quorum", "x-message-ttl": 5000,
        "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "email",
        "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish"}})"));
    CHECK(found["queues"][6]["arguments"]["x-delivery-limit"] == 1'000'000);
    CHECK(found["bindings"] == json::parse(R"([{"source": "retryd.errors", "vhost": "shop",
        "destination": "retryd.errors", "destination_type": "queue", "routing_key": "", "arguments": {}}])"));
}

TEST_CASE("definitions: rungs of high priorities are among them where the version needs them") {
    const core::Policy policy = policy_with("email", core::ReturnPath::headers);
    const json found = defined(policy, {4, 0, 5});
    CHECK(names(found["queues"]) == std::vector<std::string>{"retryd.parked", "retryd.errors", "retryd.detour.2s",
                                                             "retryd.detour.30s", "retryd.detour.5m", "retryd.all.5s",
                                                             "email.parked", "retryd.all.5s.high"});
    CHECK(names(found["exchanges"]) ==
          std::vector<std::string>{"retryd.errors", "retryd.return", "retryd.all.5s", "retryd.all.5s.high"});
    CHECK(defined(policy, {4, 3, 6})["queues"].size() == 7);
}

TEST_CASE("definitions: what cannot be among them is said") {
    CHECK(lacking(policy_with("email", core::ReturnPath::queue)).empty());
    CHECK(lacking(policy_with("web.*", core::ReturnPath::queue))
              .starts_with("retryd: not in it: the rungs and parking queues of the queues that match web.*;"));
    const std::string shared = lacking(policy_with("web.*", core::ReturnPath::headers));
    CHECK(shared.find("not in it: the parking queues of the queues that match web.*") != std::string::npos);
    CHECK(shared.find("not in it: the bindings of the queues that match web.* to retryd.return") != std::string::npos);
    CHECK(lacking(policy_with("email", core::ReturnPath::headers)) ==
          "retryd: has to be there before it is imported: the queue email\n");
    core::Policy foreign = policy_with("email", core::ReturnPath::queue);
    foreign.entries.front().parked = {.exchange = "team.dlx"};
    CHECK(lacking(foreign) == "retryd: has to be there: the exchange team.dlx\n");
}

}  // namespace retryd::commands::definitions_test
