#include "admin/delivery_limit.h"

#include "support/catch.h"

namespace retryd::admin::delivery_limit_test {
namespace {

using Fate = LimitEffect::Fate;

VhostPolicies vhost(core::Arguments arguments, core::BrokerVersion version = {4, 3, 0}) {
    VhostPolicies found;
    found.version = version;
    found.queues.push_back({"failures", "quorum", std::move(arguments), "", "", false});
    found.queues.push_back({"grave", "classic", {}, "", "", false});
    return found;
}

Fate fate(const VhostPolicies& vhost_policies) {
    return limit_effect(vhost_policies, "failures").fate;
}

const core::Arguments to_grave = {{"x-dead-letter-exchange", std::string{}},
                                  {"x-dead-letter-routing-key", std::string{"grave"}}};

}  // namespace

TEST_CASE("a quorum queue deletes what comes back, unless it dead-letters to a queue") {
    CHECK(fate(vhost({})) == Fate::deleted);
    CHECK(fate(vhost(to_grave)) == Fate::dead_lettered);
    CHECK(fate(vhost({{"x-dead-letter-exchange", std::string{}}})) == Fate::deleted);
    CHECK(fate(vhost({{"x-dead-letter-exchange", std::string{}},
                      {"x-dead-letter-routing-key", std::string{"failures"}}})) == Fate::deleted);
    CHECK(fate(vhost({{"x-dead-letter-exchange", std::string{}},
                      {"x-dead-letter-routing-key", std::string{"missing"}}})) == Fate::deleted);
    const LimitEffect named = limit_effect(vhost({{"x-dead-letter-exchange", std::string{"dlx"}}}), "failures");
    CHECK(named.fate == Fate::dead_lettered);
    CHECK(named.exchange == "dlx");
}

TEST_CASE("what dead-letters by an exchange reaches another queue only where no routing key is in doubt") {
    const auto reaches = [](const std::string& type, const core::BindingSpec& binding, const std::string& key) {
        const LimitEffect found{Fate::dead_lettered, "", "dlx", key};
        return reaches_another_queue(found, "failures", type, {binding});
    };
    const core::BindingSpec all{"grave", "dlx", "#", {}};
    const core::BindingSpec one{"grave", "dlx", "dead", {}};
    CHECK(reaches("topic", all, ""));
    CHECK(reaches("fanout", one, ""));
    CHECK(reaches("direct", one, "\"dead\""));
    CHECK(reaches("topic", one, "\"dead\""));
    CHECK_FALSE(reaches("direct", all, ""));
    CHECK_FALSE(reaches("direct", one, ""));
    CHECK_FALSE(reaches("topic", one, "\"other\""));
    CHECK_FALSE(reaches("headers", one, "\"dead\""));
    CHECK_FALSE(reaches("", all, ""));
    CHECK_FALSE(reaches("fanout", {"failures", "dlx", "", {}}, ""));
    CHECK_FALSE(reaches_another_queue({}, "failures", "fanout", {}));
}

TEST_CASE("what comes back stays where there is no limit that it reaches") {
    CHECK(fate(vhost({{"x-delivery-limit", std::int64_t{-1}}})) == Fate::stays);
    CHECK(fate(vhost({{"x-delivery-limit", std::int64_t{1'000'000}}})) == Fate::stays);
    CHECK(fate(vhost({{"x-delivery-limit", std::int64_t{5}}})) == Fate::deleted);
    CHECK(fate(vhost({}, {3, 10, 0})) == Fate::stays);
    CHECK(limit_effect(vhost({}), "grave").fate == Fate::stays);
}

TEST_CASE("the policy in effect counts, and a queue that is not listed is not known") {
    VhostPolicies found = vhost({});
    found.queues.front().policy = "limited";
    found.policies.push_back({"limited",
                              "^failures$",
                              "queues",
                              {{"dead-letter-exchange", "\"\""}, {"dead-letter-routing-key", "\"grave\""}},
                              0});
    CHECK(fate(found) == Fate::dead_lettered);
    CHECK(limit_effect(found, "other").fate == Fate::unknown);
}

}  // namespace retryd::admin::delivery_limit_test
