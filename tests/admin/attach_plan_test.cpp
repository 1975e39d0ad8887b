#include "admin/attach_plan.h"

#include <utility>

#include "admin/fake_policies.h"
#include "support/catch.h"

namespace retryd::admin::attach_plan_test {
namespace {

using State = AttachState::State;
using Names = std::vector<std::string>;

constexpr const char* ours = "\"retryd.errors\"";

/// A broker's policies and a configuration.
struct World : retryd::test::FakePolicies {
    core::Policy policy;

    explicit World(const Names& matches) {
        for (const std::string& match : matches)
            policy.entries.push_back({.match = match, .parked = {.queue = "{queue}.parked"}});
    }

    void by_source(const std::string& match) {
        for (core::Entry& entry : policy.entries)
            if (entry.match == match) entry.failures = core::FailuresBy::source;
    }

    AttachPlan plan() const { return plan_attach(policy, vhost_policies()); }

    /// Does what is planned, after which nothing may be left to do; the plan.
    AttachPlan attach() {
        AttachPlan planned = plan();
        for (const PolicyChange& change : planned.changes)
            set(change.after);
        CHECK(plan().changes.empty());
        return planned;
    }

    State state_of(const std::string& queue) const { return attach_state_of(queue).state; }
    AttachState attach_state_of(const std::string& queue) const {
        for (const AttachState& state : plan().queues) {
            if (state.queue == queue) return state;
        }
        FAIL("no state of " << queue);
        return {};
    }
    std::string exchange_of(const std::string& queue) const {
        const core::Definition definition = on(queue);
        const auto found = definition.find("dead-letter-exchange");
        return found == definition.end() ? "" : found->second;
    }
};

const core::Definition at_least_once{
    {"dead-letter-exchange", ours}, {"dead-letter-strategy", "\"at-least-once\""}, {"overflow", "\"reject-publish\""}};

bool says(const PolicyChange& change, const std::string& text) {
    for (const std::string& note : change.notes) {
        if (note.find(text) != std::string::npos) return true;
    }
    return false;
}

}  // namespace

TEST_CASE("attach plan: classic queues without a policy get one together") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    w.add("other", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after ==
          BrokerPolicy{"retryd.errors", "^(email|sms)$", "queues", {{"dead-letter-exchange", ours}}, 0});
    CHECK(plan.changes[0].queues == Names{"email", "sms"});
    CHECK_FALSE(plan.changes[0].before);
    CHECK(w.exchange_of("sms") == ours);
    CHECK(w.exchange_of("other").empty());
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: quorum queues dead-letter at-least-once, in a policy that no classic queue would take") {
    World w({"*"});
    w.add("paid", "quorum");
    w.add("email", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 2);
    CHECK(w.on("paid") == at_least_once);
    CHECK(w.on("email") == core::Definition{{"dead-letter-exchange", ours}});
    w.add("later", "classic");
    CHECK(w.state_of("later") == State::attached);
    w.add("later.retry.5s", "quorum");
    CHECK(w.exchange_of("later.retry.5s").empty());
}

TEST_CASE("attach plan: before 3.10 quorum queues have no at-least-once") {
    World w({"paid"});
    w.version = {3, 8, 9};
    w.add("paid", "quorum");
    w.attach();
    CHECK(w.on("paid") == core::Definition{{"dead-letter-exchange", ours}});
}

TEST_CASE("attach plan: a policy that applies to work queues alone is changed, and keeps what it says") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    const BrokerPolicy team{"team", "^(email|sms)", "all", {{"max-length", "1000"}}, 7};
    w.set(team);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    BrokerPolicy after = team;
    after.definition["dead-letter-exchange"] = ours;
    CHECK(plan.changes[0].after == after);
    CHECK(plan.changes[0].before == team);
    CHECK(plan.changes[0].definition_now == team.definition);
    CHECK(says(plan.changes[0], "also to later ones; but no longer to a stream: "));
}

TEST_CASE("attach plan: a policy that applies to other queues, too, is copied for the work queue, one step above") {
    World w({"email"});
    w.add("email", "classic");
    w.add("other", "classic");
    const BrokerPolicy all{"all", ".*", "queues", {{"max-length", "1000"}, {"expires", "60000"}}, 3};
    w.set(all);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    core::Definition copy = all.definition;
    copy["dead-letter-exchange"] = ours;
    CHECK(plan.changes[0].after == BrokerPolicy{"retryd.errors-all", "^(email)$", "queues", copy, 4});
    CHECK_FALSE(plan.changes[0].before);
    CHECK(plan.changes[0].in_effect == "all");
    CHECK(says(plan.changes[0], "a copy of policy 'all', which applies to 1 other queue, too"));
    CHECK(w.on("email") == copy);
    CHECK(w.on("other") == all.definition);
}

TEST_CASE("attach plan: one more queue under the same policy joins the copy") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("other", "classic");
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    w.attach();
    w.add("sms", "classic");
    const AttachPlan plan = w.attach();
    const auto change = std::find_if(plan.changes.begin(), plan.changes.end(),
                                     [](const PolicyChange& each) { return each.after.name == "retryd.errors-all"; });
    REQUIRE(change != plan.changes.end());
    CHECK(change->after.pattern == "^(email|sms)$");
    CHECK(change->before->pattern == "^(email)$");
    CHECK(w.exchange_of("sms") == ours);
    CHECK(w.exchange_of("email") == ours);
}

TEST_CASE("attach plan: a copy that is no longer like the policy is made like it, and the next one has another name") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("other", "classic");
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    w.attach();
    w.set({"all", ".*", "queues", {{"max-length", "2000"}}, 0});
    w.add("sms", "classic");
    w.attach();
    CHECK(w.on("sms").at("max-length") == "2000");
    CHECK(w.on("email").at("max-length") == "2000");
    CHECK(w.exchange_of("email") == ours);
    const auto policies = w.vhost_policies().policies;
    CHECK(std::any_of(policies.begin(), policies.end(),
                      [](const BrokerPolicy& each) { return each.name == "retryd.errors-all-2"; }));
}

TEST_CASE("attach plan: the general policy stands below all others, so that none of them is lost") {
    World w({"webhook.*"});
    w.set({"all", "^webhook\\.big", "queues", {{"max-length", "1000"}}, 0});
    w.add("webhook.a", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.priority == -1);
    CHECK(says(plan.changes[0], "also for queues made later"));
    w.add("webhook.big", "classic");
    CHECK(w.on("webhook.big") == core::Definition{{"max-length", "1000"}});
    CHECK(w.state_of("webhook.big") == State::to_attach);
    w.attach();
    CHECK(w.exchange_of("webhook.big") == ours);
    CHECK(w.on("webhook.big").at("max-length") == "1000");
}

TEST_CASE("attach plan: a policy of the same priority that comes later takes nothing away") {
    World w({"email"});
    w.add("email", "classic");
    w.attach();
    w.set({"all", ".*", "queues", {{"max-length", "1000"}}, 0});
    CHECK(w.plan().changes.empty());  // the one that was there first is in effect
    std::reverse(w.policies.begin(), w.policies.end());
    CHECK(w.state_of("email") == State::to_attach);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(says(plan.changes[0], "a copy of policy 'all', whose priority is no higher than that of 'retryd.errors': "));
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.on("email").at("max-length") == "1000");
}

TEST_CASE("attach plan: a dead-letter exchange elsewhere is replaced, and what that takes away is said") {
    World w({"email"});
    w.add("email", "classic");
    w.set({"team", "^email$", "queues", {{"dead-letter-exchange", "\"team.dlx\""}, {"max-length", "5"}}, 0});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(says(plan.changes[0], "dead letters of these queues go to exchange \"team.dlx\" now, and no longer will"));
    CHECK(says(plan.changes[0], "parked: {exchange: \"team.dlx\"}"));
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.on("email").at("max-length") == "5");
}

TEST_CASE("attach plan: an exchange that the error queue is bound to is as good as the error exchange") {
    World w({"email", "sms"});
    w.policy.error_bindings = {{"team.dlx"}};
    w.add("email", "classic", {{"x-dead-letter-exchange", "team.dlx"}});
    w.add("sms", "classic");
    w.set({"team", "^sms$", "queues", {{"dead-letter-exchange", "\"team.dlx\""}}, 0});
    CHECK(w.plan().changes.empty());
    CHECK(w.state_of("email") == State::attached);
    CHECK(w.state_of("sms") == State::attached);
}

TEST_CASE("attach plan: what no policy can attach is named with the way out") {
    World w({"*"});
    w.add("fixed", "classic", {{"x-dead-letter-exchange", "it's \"theirs\""}});
    w.add("default", "classic", {{"x-dead-letter-exchange", ""}});
    w.add("log", "stream");
    w.attach();
    CHECK(w.attach_state_of("fixed").remedy.find(R"(errors.bind, {exchange: "it's \"theirs\""})") != std::string::npos);
    CHECK(w.attach_state_of("default").remedy.find("errors.bind") == std::string::npos);
    CHECK(w.attach_state_of("log").note == "a stream queue cannot dead-letter");
    for (const char* queue : {"fixed", "default", "log"})
        CHECK(w.state_of(queue) == State::out_of_reach);
}

namespace {

/// `orders` names `legacy` as its dead-letter exchange, which is in errors.bind as it stands in most configurations.
struct Legacy : World {
    explicit Legacy(const std::string& type, core::Arguments more = {}) : World({"orders"}) {
        policy.error_bindings = {{"legacy"}};
        more.emplace_back("x-dead-letter-exchange", "legacy");
        add("orders", "classic", std::move(more));
        add_exchange("legacy", type);
        add_exchange("events", "topic");
    }
    std::vector<std::string> keys() const {
        std::vector<std::string> found;
        for (const BindingChange& change : plan().bindings)
            found.push_back(change.binding.exchange + ' ' + change.binding.routing_key);
        return found;
    }
};

}  // namespace

TEST_CASE("attach plan: a direct exchange of errors.bind is bound with the dead-letter routing key of the queue") {
    Legacy w("direct", {{"x-dead-letter-routing-key", "dead.orders"}});
    CHECK(w.state_of("orders") == State::to_attach);
    CHECK(w.keys() == Names{"legacy dead.orders"});
    CHECK(w.plan().changes.empty());
    const AttachState state = w.attach_state_of("orders");
    CHECK(state.finding == FindingCode::unmatched_dead_letters);
    CHECK(state.note ==
          "its dead-letter exchange \"legacy\" is a direct exchange, and the error queue is not bound to it with the "
          "routing key 'dead.orders'");
    CHECK(state.remedy.find(R"({exchange: "legacy", routing_key: "dead.orders"})") != std::string::npos);
    w.bind("retryd.errors", "legacy", "dead.orders");
    CHECK(w.state_of("orders") == State::attached);
    CHECK(w.keys().empty());
}

TEST_CASE("attach plan: without such a key it is bound with the keys that the queue is bound with, and with its name") {
    Legacy w("direct");
    CHECK(w.keys() == Names{"legacy orders"});
    w.add_exchange("app", "direct");
    w.bind("orders", "app", "order.created");
    CHECK(w.keys() == Names{"legacy order.created", "legacy orders"});
    // A shared ladder sends back with the producer's key.
    w.policy.entries[0].ladder.return_path = core::ReturnPath::headers;
    CHECK(w.keys() == Names{"legacy order.created"});
    w.policy.error_bindings.push_back({"legacy", "order.created"});
    CHECK(w.state_of("orders") == State::attached);
}

TEST_CASE(
    "attach plan: where nothing tells the keys of a direct exchange, that is said, unless somebody has bound some") {
    Legacy w("direct");
    w.bind("orders", "events", "order.*");
    CHECK(w.state_of("orders") == State::out_of_reach);
    CHECK(w.attach_state_of("orders").finding == FindingCode::unmatched_dead_letters);
    CHECK(w.keys().empty());
    Legacy fanout("direct");
    fanout.add_exchange("news", "fanout");
    fanout.bind("orders", "news", "");
    fanout.policy.error_bindings.push_back({"legacy", "orders"});
    CHECK(fanout.state_of("orders") == State::attached);
    fanout.policy.error_bindings.pop_back();
    CHECK(fanout.state_of("orders") == State::out_of_reach);
}

TEST_CASE("attach plan: of a topic exchange it is seen whether the key that it is bound with matches") {
    Legacy all("topic");
    CHECK(all.state_of("orders") == State::attached);
    Legacy some("topic", {{"x-dead-letter-routing-key", "dead.orders"}});
    some.policy.error_bindings = {{"legacy", "failed.#"}};
    CHECK(some.keys() == Names{"legacy dead.orders"});
    some.policy.error_bindings = {{"legacy", "dead.*"}};
    CHECK(some.state_of("orders") == State::attached);
    Legacy patterns("topic");
    patterns.bind("orders", "events", "order.#");
    patterns.policy.error_bindings = {{"legacy", "failed.#"}};
    CHECK(patterns.keys() == Names{"legacy order.#", "legacy orders"});
}

TEST_CASE("attach plan: what takes anything, and what cannot be told, is no fault") {
    for (const char* type : {"fanout", "headers", "x-consistent-hash"}) {
        CAPTURE(type);
        CHECK(Legacy(type).state_of("orders") == State::attached);
    }
    Legacy gone("direct");
    gone.routing->exchanges.erase("legacy");
    CHECK(gone.state_of("orders") == State::attached);
    Legacy behind("direct");  // an exchange between them leads to the error queue
    behind.routing->bindings.push_back({"legacy", "retryd.errors", true, "orders", false});
    CHECK(behind.state_of("orders") == State::attached);
    Legacy unasked("direct");
    unasked.routing.reset();
    CHECK(unasked.state_of("orders") == State::attached);
}

TEST_CASE("attach plan: a quorum queue gets its policy and the binding") {
    World w({"paid"});
    w.policy.error_bindings = {{"legacy"}};
    w.add("paid", "quorum", {{"x-dead-letter-exchange", "legacy"}});
    w.add_exchange("legacy", "direct");
    CHECK(w.plan().bindings.size() == 1);
    const AttachPlan plan = w.attach();
    CHECK(plan.changes.size() == 1);
    w.bind("retryd.errors", "legacy", "paid");
    CHECK(w.state_of("paid") == State::attached);
}

TEST_CASE("attach plan: for an exchange that is not in errors.bind the item is one that can match") {
    World w({"*"});
    w.add("fixed", "classic", {{"x-dead-letter-exchange", "theirs"}, {"x-dead-letter-routing-key", "dead"}});
    w.add("any", "classic", {{"x-dead-letter-exchange", "topics"}});
    w.add("default", "classic", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "default.XQ"}});
    w.add("default.XQ", "classic");
    w.add("nowhere", "classic", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "gone"}});
    w.add_exchange("theirs", "direct");
    w.add_exchange("topics", "topic");
    const auto remedy = [&](const std::string& queue) { return w.attach_state_of(queue).remedy; };
    CHECK(remedy("fixed").find(R"({exchange: "theirs", routing_key: "dead"})") != std::string::npos);
    CHECK(remedy("any").find(R"({exchange: "topics"})") != std::string::npos);
    CHECK(remedy("default").find(R"(sources: [{queue: "default.XQ", dialect: generic}])") != std::string::npos);
    CHECK(remedy("nowhere") == "recreate the queue without x-dead-letter-exchange");
}

TEST_CASE("attach plan: what dead-letters into a source comes by that") {
    World w({"default", "orders", "paid", "sent"});
    w.policy.sources = {{"*.XQ", core::Dialect::dramatiq}, {"dead", core::Dialect::generic}};
    w.add("default", "classic", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "default.XQ"}});
    w.add("orders", "classic", {{"x-dead-letter-exchange", "theirs"}});
    w.add("paid", "classic");
    w.set({"to-dead", "^paid$", "queues", {{"dead-letter-exchange", "\"theirs\""}}, 1});
    w.add("sent", "classic", {{"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", "gone.XQ"}});
    w.add_exchange("theirs", "fanout");
    CHECK(w.state_of("default") == State::out_of_reach);  // as long as there is no such queue
    w.add("default.XQ", "classic");
    w.add("dead", "classic");
    w.add("looked.at", "classic");
    w.bind("looked.at", "theirs", "");
    CHECK(w.state_of("default") == State::attached);
    CHECK(w.attach_state_of("default").note == "what it rejects comes by source 'default.XQ'");
    CHECK_FALSE(w.attach_state_of("default").finding);
    CHECK(w.state_of("sent") == State::out_of_reach);
    CHECK(w.state_of("orders") == State::out_of_reach);  // to a queue that is no source
    w.bind("dead", "theirs", "");
    for (const char* const queue : {"orders", "paid"}) {
        CHECK(w.state_of(queue) == State::attached);
        CHECK(w.attach_state_of(queue).note == "what it rejects comes by source 'dead'");
    }
    CHECK(w.plan().changes.empty());
    w.add_exchange("theirs", "direct");  // with some of its keys
    w.bind("orders", "theirs", "order.made");
    CHECK(w.state_of("orders") == State::out_of_reach);
}

TEST_CASE("attach hints: what goes into a failure transport of Symfony's is rejected besides") {
    World w({"orders"});
    w.policy.sources = {{"orders_error", core::Dialect::masstransit}};
    CHECK(attach_hints(w.policy, w.vhost_policies()).empty());
    w.policy.sources.push_back({"failed", core::Dialect::symfony});
    const auto hints = attach_hints(w.policy, w.vhost_policies());
    REQUIRE(hints.size() == 1);
    CHECK(hints[0].starts_with("source 'failed' is a failure transport of Symfony Messenger"));
    CHECK(hints[0].find("always fails becomes two, and these four. Say failures: source in the entries of") !=
          std::string::npos);
    w.policy.sources.back().work_queue = {core::WorkQueueOf::Place::name, "orders"};
    CHECK(attach_hints(w.policy, w.vhost_policies())[0].find("in the entry of 'orders'") != std::string::npos);
    w.policy.entries[0].failures = core::FailuresBy::source;
    CHECK(attach_hints(w.policy, w.vhost_policies()).empty());
}

TEST_CASE("attach plan: a queue whose failures come by a source alone is left out, whatever it dead-letters to") {
    World w({"orders", "email"});
    w.by_source("orders");
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("orders", "quorum");
    w.add("email", "classic");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.pattern == "^(email)$");
    CHECK(w.on("orders").empty());
    CHECK(w.attach_state_of("orders") == AttachState{"orders", "quorum", State::by_source, "",
                                                     "its failures come by a source alone", "", std::nullopt});
    w.set({"team", "^orders$", "queues", {{"dead-letter-exchange", "\"elsewhere\""}}, 1});
    CHECK(w.attach_state_of("orders").remedy.empty());
    CHECK(w.plan().changes.empty());
    w.remove("orders");
    CHECK(w.state_of("orders") == State::not_there);
    CHECK(w.plan().changes.empty());
}

TEST_CASE("attach plan: no pattern for a glob takes what an earlier entry leaves out, and none leaves out more") {
    World w({"php.mails.*", "php.cron", "php.*", "*.php", "main.*", "*"});
    for (const char* const match : {"php.*", "*.php"})
        w.by_source(match);
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    const Names attached{"php.mails.a", "php.cron", "main.a", "php", "phpx", "other"};
    const Names left_out{"php.a", "php.cron2", "php.mail", "main.php", "x.php", "php.cron.php"};
    for (const std::string& name : attached)
        w.add(name, "classic");
    for (const std::string& name : left_out)
        w.add(name, "classic");
    w.add("later", "classic");
    w.attach();
    for (const std::string& name : attached) {
        CAPTURE(name);
        CHECK(w.state_of(name) == State::attached);
    }
    for (const std::string& name : left_out) {
        CAPTURE(name);
        CHECK(w.state_of(name) == State::by_source);
        CHECK(w.exchange_of(name).empty());
    }
    // Those that come later have the same policy in effect.
    w.add("php.b", "classic");
    w.add("b.php", "classic");
    w.add("main.b", "classic");
    CHECK(w.exchange_of("php.b").empty());
    CHECK(w.exchange_of("b.php").empty());
    CHECK(w.exchange_of("main.b") == ours);
    for (const BrokerPolicy& general : general_policies(w.policy)) {
        CHECK(BrokerPattern(general.pattern).matches("php.b") == false);
        CHECK(BrokerPattern(general.pattern).matches("php.mails.b") == true);
    }
}

TEST_CASE("attach plan: what was attached is let go once its entry says that its failures come by a source") {
    World w({"orders", "email"});
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("orders", "classic");
    w.add("email", "classic");
    w.attach();
    CHECK(w.exchange_of("orders") == ours);
    w.by_source("orders");
    CHECK(w.attach_state_of("orders").note ==
          "its failures come by a source alone, and it dead-letters to the error "
          "queue all the same");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].before->pattern == "^(orders|email)$");
    CHECK(plan.changes[0].after.pattern == "^(email)$");
    CHECK(says(plan.changes[0], "no longer applies to queue 'orders', whose failures come by a source alone"));
    CHECK(w.exchange_of("orders").empty());
    w.by_source("email");
    CHECK(w.plan().changes.empty());  // a policy is not cleared by attach: doctor has the command
    CHECK(general_policies(w.policy).empty());
}

TEST_CASE("attach plan: of several general policies the one that a queue is under says that it lets it go") {
    Names names{"failed"};
    for (int i = 0; i < 40; ++i)
        names.push_back("a-rather-long-name-of-a-work-queue-" + std::to_string(i));
    World w(names);
    w.policy.sources = {{"failures", core::Dialect::symfony}};
    for (const std::string& name : names)
        w.add(name, "classic");
    REQUIRE(w.attach().changes.size() == 2);
    w.by_source("failed");
    w.by_source(names.back());
    int told = 0;
    for (const PolicyChange& change : w.plan().changes) {
        for (const std::string& name : {names.front(), names.back()}) {
            CAPTURE(change.after.name, name);
            const bool goes = BrokerPattern(change.before->pattern).matches(name).value() &&
                              !BrokerPattern(change.after.pattern).matches(name).value();
            CHECK(says(change, "no longer applies to queue '" + name + "'") == goes);
            told += goes ? 1 : 0;
        }
    }
    CHECK(told == 2);
}

TEST_CASE("attach plan: a queue that was left out and not there when its entry went is attached once it is there") {
    World w({"orders", "*"});
    w.by_source("orders");
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("email", "classic");
    w.attach();
    w.policy.entries.erase(w.policy.entries.begin());
    w.attach();
    w.add("orders", "classic");
    CHECK(w.exchange_of("orders").empty());
    CHECK(w.state_of("orders") == State::to_attach);
    w.attach();
    CHECK(w.state_of("orders") == State::attached);
    CHECK(w.exchange_of("orders") == ours);
}

TEST_CASE("attach plan: what is no work queue is left out of globs, and an entry with its very name takes it") {
    World w({"celery_delayed_2", "*"});
    w.add("email", "classic");
    w.add_exclusive("reply");
    w.add_auto_delete("events");
    w.add("expires", "classic", {{"x-expires", std::int64_t{1000}}});
    w.add("waiting", "classic", {{"x-message-ttl", std::int64_t{1000}}, {"x-dead-letter-exchange", ""}});
    w.add("celery_delayed_1", "quorum");
    w.add("celery_delayed_2", "quorum");
    w.add("MOL-shop.EVENT.node-1", "classic");
    Names names;
    for (const AttachState& state : w.plan().queues)
        names.push_back(state.queue);
    CHECK(names == Names{"celery_delayed_2", "email"});
}

TEST_CASE("attach plan: a policy for a glob leaves out what would dead-letter by itself and is no work queue") {
    World w({"named", "*"});
    const core::Arguments events{{"x-expires", std::int64_t{120'000}}, {"x-message-ttl", std::int64_t{5'000}}};
    w.add("email", "classic");
    w.add("MOL.EVENT.node-1", "classic", events);
    w.add("MOL.EVENTB.mail.order.created", "classic", events);
    w.add("answers", "classic", {{"x-expires", std::int64_t{120'000}}});
    w.add("named", "classic", events);
    for (int level = 0; level < 28; ++level)
        w.add("celery_delayed_" + std::to_string(level), "quorum",
              {{"x-message-ttl", std::int64_t{1'000}}, {"x-dead-letter-exchange", "celery_delayed_delivery"}});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.pattern.size() <= 1'024);
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.exchange_of("named") == ours);
    CHECK(w.exchange_of("answers") == ours);  // nothing dies there unless it is rejected
    w.add("MOL.EVENT.node-2", "classic", events);
    w.add("shop_celery_delayed_3", "quorum");
    for (const char* plumbing : {"MOL.EVENT.node-1", "MOL.EVENT.node-2", "MOL.EVENTB.mail.order.created",
                                 "celery_delayed_7", "shop_celery_delayed_3"}) {
        CAPTURE(plumbing);
        CHECK(w.exchange_of(plumbing).empty());
    }
    CHECK(w.plan().changes.empty());
    w.remove("MOL.EVENTB.mail.order.created");
    w.remove("MOL.EVENT.node-1");
    CHECK(w.plan().changes.empty());
    w.add("MOL.EVENTB.mail.order.created", "classic");
    w.attach();
    CHECK(w.exchange_of("MOL.EVENTB.mail.order.created") == ours);
}

TEST_CASE("attach plan: names of many passing queues make no pattern too long for the broker") {
    World w({"*"});
    for (int i = 0; i < 100; ++i)
        w.add("answers-to-somebody-" + std::to_string(i), "classic",
              {{"x-expires", std::int64_t{1'000}}, {"x-message-ttl", std::int64_t{1'000}}});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.pattern.size() <= 1'024);
}

TEST_CASE("attach plan: publishers are not refused where now the oldest messages are dropped") {
    World w({"*"});
    w.add("by-argument", "quorum", {{"x-max-length", std::int64_t{10}}});
    w.add("by-policy", "quorum");
    w.add("by-operator", "quorum");
    w.add("drop-head", "quorum", {{"x-overflow", "drop-head"}});
    w.add("strategy", "quorum", {{"x-dead-letter-strategy", "at-most-once"}});
    w.set({"limit", "^by-policy$", "queues", {{"max-length-bytes", "10"}}, 0});
    w.operator_policies = {{"limit", "^by-operator$", "queues", {{"max-length", "10"}}, 0}};
    w.attach();
    for (const char* queue : {"by-argument", "by-policy", "by-operator", "drop-head", "strategy"}) {
        CAPTURE(queue);
        CHECK(w.exchange_of(queue) == ours);
        CHECK(w.on(queue).count("overflow") == 0);
        CHECK(w.on(queue).count("dead-letter-strategy") == 0);
        CHECK(w.state_of(queue) == State::attached);
        CHECK(w.attach_state_of(queue).note.find("its way to the error queue is at-most-once: ") == 0);
    }
}

TEST_CASE("attach plan: a queue that refuses publications already has only the rest added") {
    World w({"*"});
    w.add("limited", "quorum", {{"x-max-length", std::int64_t{10}}, {"x-overflow", "reject-publish"}});
    w.add("made", "quorum", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.attach();
    CHECK(w.on("limited") ==
          core::Definition{{"dead-letter-exchange", ours}, {"dead-letter-strategy", "\"at-least-once\""}});
    core::Definition rest = at_least_once;
    rest.erase("dead-letter-exchange");
    CHECK(w.on("made") == rest);
}

TEST_CASE("attach plan: an operator's drop-head stands against at-least-once") {
    World w({"paid"});
    w.add("paid", "quorum");
    w.operator_policies = {{"keep", ".*", "queues", {{"overflow", "\"drop-head\""}}, 0}};
    w.attach();
    CHECK(w.on("paid") == core::Definition{{"dead-letter-exchange", ours}});
    CHECK(w.attach_state_of("paid").note.find("an operator policy says \"drop-head\"") != std::string::npos);
}

TEST_CASE("attach plan: queues of its own, exclusive ones and the broker's are none of its business") {
    World w({"*"});
    w.add("retryd.errors", "quorum");
    w.add("email.parked", "quorum");
    w.add("email.retry.5s", "quorum");
    w.add("amq.gen-1", "classic");
    w.add_exclusive("reply");
    CHECK(w.plan().queues.empty());
}

TEST_CASE("attach plan: a queue that is not there yet is attached when it comes") {
    World w({"email"});
    CHECK(w.state_of("email") == State::not_there);
    w.attach();
    w.add("email", "classic");
    CHECK(w.state_of("email") == State::attached);
    CHECK(w.plan().changes.empty());
}

TEST_CASE("attach plan: a general policy that somebody extended keeps what was added, and says whom it leaves") {
    World w({"email", "sms"});
    w.add("email", "classic");
    w.add("sms", "classic");
    w.add("gone", "classic");
    w.set({"retryd.errors", "^(email|gone)$", "queues", {{"max-length", "9"}, {"dead-letter-exchange", ours}}, 5});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.priority == 5);
    CHECK(plan.changes[0].after.pattern == "^(email|sms)$");
    CHECK(says(plan.changes[0], "no longer applies to queue 'gone'"));
    CHECK(w.on("email").at("max-length") == "9");
}

TEST_CASE("attach plan: a general policy that others stand below takes no queue from them when its pattern grows") {
    World w({"email"});
    w.add("email", "classic");
    w.attach();
    w.add("hook.fixed", "classic", {{"x-dead-letter-exchange", "elsewhere"}});
    w.add("hook.made", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.add("hook.a", "classic");
    const core::Definition limit{{"max-length", "1000"}};
    w.set({"limit", "^hook\\.", "queues", limit, -2});
    w.policy.entries.push_back({.match = "hook.*", .parked = {.queue = "{queue}.parked"}});
    const AttachPlan plan = w.attach();
    CHECK(w.on("hook.fixed") == limit);
    CHECK(w.on("hook.made") == limit);
    CHECK(w.on("hook.a") == core::Definition{{"dead-letter-exchange", ours}, {"max-length", "1000"}});
    CHECK(w.exchange_of("email") == ours);
    CHECK(says(plan.changes.at(0),
               "One of them that a policy with a priority of 0 or less applies to may lose what "
               "that one says: give this one the priority -3 and attach again"));
}

TEST_CASE("attach plan: a policy that classic queues made later would no longer take is copied, not changed") {
    World w({"team.*"});
    w.add("team.paid", "quorum");
    const BrokerPolicy team{"team", "^team\\.", "queues", {{"message-ttl", "60000"}}, 0};
    w.set(team);
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 2);
    CHECK(plan.changes[1].after.name == "retryd.errors-team");
    CHECK(says(
        plan.changes[1],
        "a copy of policy 'team', which with these keys would not apply to a classic queue that is created later"));
    CHECK(w.on("team.paid").at("message-ttl") == "60000");
    CHECK(w.on("team.paid").at("dead-letter-strategy") == at_least_once.at("dead-letter-strategy"));
    w.add("team.reply", "classic");
    CHECK(w.on("team.reply") == team.definition);
}

TEST_CASE("attach plan: a policy for quorum queues alone is changed for them") {
    World w({"paid"});
    w.add("paid", "quorum");
    w.set({"team", "^paid$", "quorum_queues", {{"message-ttl", "60000"}}, 0});
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.name == "team");
}

TEST_CASE("attach plan: a queue that gets a policy above the general one stays in that one's pattern") {
    World w({"paid", "hook.*"});
    w.attach();
    w.add("paid", "quorum");
    const AttachPlan plan = w.attach();
    REQUIRE(plan.changes.size() == 1);
    CHECK(plan.changes[0].after.name == "retryd.errors-queues");
    CHECK(w.on("paid") == at_least_once);
}

TEST_CASE("attach plan: a queue attached by argument is not named in the general policy that a glob brings it under") {
    World w({"email", "*"});
    w.add("email", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    w.attach();
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: where the general policy is not for a queue's type it has one of its own") {
    World w({"email"});
    w.add("email", "classic");
    w.set({"retryd.errors", "^(email)$", "queues", at_least_once, 0});
    w.attach();
    CHECK(w.exchange_of("email") == ours);
    CHECK(w.state_of("email") == State::attached);
}

TEST_CASE("attach plan: two daemons in one vhost have policies of different names") {
    World w({"email"});
    w.policy.error_exchange = "team-b.errors";
    w.add("email", "classic");
    CHECK(w.attach().changes.at(0).after.name == "retryd-team-b.errors");
}

TEST_CASE("attach plan: without a broker there is a policy for all that is configured") {
    const World w({"email", "webhook.*"});
    const BrokerPolicy general = general_policies(w.policy).front();
    CHECK(general.name == "retryd.errors");
    CHECK(general.definition == core::Definition{{"dead-letter-exchange", ours}});
    CHECK(general.pattern.ends_with(R"((email|webhook\..*)$)"));
    CHECK(general.priority == 0);
}

TEST_CASE("attach plan: so many names that one pattern would be too long for the broker take several policies") {
    Names names;
    for (int i = 0; i < 120; ++i)
        names.push_back("team.work-queue-" + std::to_string(i));
    World w(names);
    for (int i = 0; i < 120; ++i)
        w.add(names[static_cast<std::size_t>(i)], i < 60 ? "classic" : "quorum");
    const BrokerPolicy of_another{
        "retryd.errors.2", "^(mine)$", "queues", {{"dead-letter-exchange", "\"retryd.errors.2\""}}, 0};
    w.set(of_another);
    const AttachPlan plan = w.attach();
    CHECK(plan.changes.size() == 4);
    std::size_t attached = 0;
    for (const PolicyChange& change : plan.changes) {
        CHECK(change.after.pattern.size() <= 1024);
        attached += change.queues.size();
    }
    CHECK(attached == 120);
    for (const std::size_t each : {0U, 31U, 59U, 60U, 90U, 119U})  // each look plans for all of them
        CHECK(w.state_of(names[each]) == State::attached);
    CHECK(w.on(names[0]).size() == 1);
    CHECK(w.on(names[119]) == at_least_once);

    w.add("late", "classic");
    w.add("other", "classic");
    w.policy.entries.push_back({.match = "late", .parked = {.queue = "{queue}.parked"}});
    w.attach();
    CHECK(w.state_of("late") == State::attached);
    w.policy.entries.erase(w.policy.entries.begin(), w.policy.entries.begin() + 100);
    w.attach();
    CHECK(w.exchange_of(names[10]).empty());
    CHECK(w.exchange_of("late") == ours);
    CHECK(w.exchange_of("other").empty());
    w.add("mine", "classic");
    CHECK(w.exchange_of("mine") == of_another.definition.begin()->second);
}

}  // namespace retryd::admin::attach_plan_test
