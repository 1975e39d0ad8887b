#include "admin/checks.h"

#include "admin/attach_plan.h"
#include "admin/by_source.h"
#include "admin/fake_policies.h"
#include "admin/framework_retries.h"
#include "admin/patterns.h"
#include "support/catch.h"

namespace retryd::admin::checks_test {
namespace {

using Found = std::vector<Finding>;

constexpr const char* ours = "\"retryd.errors\"";

struct World : retryd::test::FakePolicies {
    core::Policy policy;

    explicit World(const std::string& match) {
        policy.entries.push_back({.match = match, .parked = {.queue = "{queue}.parked"}});
    }
    Found work() const { return check_work_queues(policy, vhost_policies(), "/"); }
    Found others() const { return check_other_queues(policy, vhost_policies()); }
    Found error_queue() const { return check_error_queue(policy, vhost_policies(), "shop"); }
    Found own() const { return check_own_queues(policy, vhost_policies(), "/"); }
};

const core::Definition attached{{"dead-letter-exchange", ours}};
const core::Definition safe{
    {"dead-letter-exchange", ours}, {"dead-letter-strategy", "\"at-least-once\""}, {"overflow", "\"reject-publish\""}};

}  // namespace

TEST_CASE("diagnosis: nothing is wrong with attached work queues") {
    World w("*");
    w.add("email", "classic");
    w.add("paid", "quorum");
    w.set({"a", "^email$", "queues", attached, 0});
    w.set({"b", "^paid$", "queues", safe, 0});
    w.add("other.retry.5s", "quorum");
    CHECK(w.work().empty());
}

TEST_CASE("diagnosis: a work queue without a dead-letter exchange drops what is rejected") {
    World w("email");
    w.add("email", "classic");
    const Found found = w.work();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::no_dead_letter_exchange);
    CHECK(found[0].cause == "work queue 'email' has no dead-letter exchange in effect");
    CHECK(found[0].consequence == "what its consumers reject is dropped by the broker");
    CHECK(found[0].remedy == "retryd attach prints the policy that does it, with its undo");
    CHECK(found[0].command == "retryd attach --apply");
}

TEST_CASE("diagnosis: the policy that took the dead-letter exchange away is named, and the one that has lost to it") {
    World w("*");
    w.add("email", "classic");
    w.add("sms", "classic");
    w.set({"retryd.errors-retryd", "^(email|sms)$", "queues", attached, 1});
    w.set({"other", "^nobody$", "queues", attached, 5});
    CHECK(w.work().empty());
    w.set({"ttl-policy", "^(email|sms)$", "queues", {{"message-ttl", "60000"}}, 10});
    const Found found = grouped(w.work());
    REQUIRE(found.size() == 1);
    CHECK(found[0].cause ==
          "policy 'ttl-policy' (priority 10) replaced policy 'retryd.errors-retryd' (priority 1) on work queue "
          "'email': it has no dead-letter exchange in effect");
    CHECK(found[0].names == std::vector<std::string>{"email", "sms"});
}

TEST_CASE("diagnosis: a dead-letter exchange elsewhere is named, unless the error queue is bound to it") {
    World w("email");
    w.add("email", "classic");
    w.set({"team", "^email$", "queues", {{"dead-letter-exchange", "\"team.dlx\""}}, 0});
    const Found found = w.work();
    REQUIRE(found.size() == 1);
    CHECK(found[0].severity == Severity::problem);
    CHECK(found[0].cause == "work queue 'email' dead-letters to exchange \"team.dlx\", by policy 'team'");
    w.policy.error_bindings = {{"team.dlx"}};
    CHECK(w.work().empty());
}

TEST_CASE("diagnosis: what is fixed by argument, a stream, and what is not there") {
    World w("*");
    w.add("fixed", "classic", {{"x-dead-letter-exchange", "theirs"}});
    w.add("log", "stream");
    const Found found = w.work();
    REQUIRE(found.size() == 2);
    CHECK(found[0].cause.find("work queue 'fixed': its dead-letter exchange \"theirs\" is fixed by argument") == 0);
    CHECK(found[1].cause == "work queue 'log': a stream queue cannot dead-letter");
    CHECK((found[0].severity == Severity::problem && found[1].severity == Severity::problem));
    const Found absent = World("email").work();
    REQUIRE(absent.size() == 1);
    CHECK(absent[0].severity == Severity::warning);
    CHECK(absent[0].cause == "work queue 'email' does not exist");
}

TEST_CASE("diagnosis: a quorum queue that is attached at-most-once is a warning, with the reason where it has one") {
    World w("*");
    w.add("paid", "quorum");
    w.add("capped", "quorum", {{"x-max-length", std::int64_t{5}}});
    w.set({"a", ".*", "queues", attached, 0});
    const Found found = w.work();
    REQUIRE(found.size() == 2);
    CHECK(found[0].cause.find("work queue 'capped': its way to the error queue is at-most-once: ") == 0);
    CHECK(found[1].cause == "quorum work queue 'paid' does not dead-letter at-least-once");
    CHECK((found[0].severity == Severity::warning && found[1].severity == Severity::warning));
}

TEST_CASE("diagnosis: RabbitMQ's own delayed retry on a work queue") {
    World w("*");
    w.add("by-policy", "quorum");
    w.add("by-argument", "quorum", {{"x-delayed-retry-type", "failed"}});
    w.add("not", "quorum", {{"x-delayed-retry-type", "disabled"}});
    core::Definition delayed = safe;
    delayed["delayed-retry-type"] = "\"all\"";
    w.set({"a", "^by-policy$", "queues", delayed, 1});
    w.set({"b", ".*", "queues", safe, 0});
    const Found found = w.work();
    REQUIRE(found.size() == 2);
    CHECK(found[0].cause == "work queue 'by-argument' has RabbitMQ's own delayed retry in effect, of type \"failed\"");
    CHECK(found[1].cause == "work queue 'by-policy' has RabbitMQ's own delayed retry in effect, of type \"all\"");
}

TEST_CASE("diagnosis: a dead-letter exchange that cannot match is a problem, with the command that binds it") {
    World w("orders");
    w.policy.error_bindings = {{"legacy"}};
    w.add("orders", "classic", {{"x-dead-letter-exchange", "legacy"}});
    w.add_exchange("legacy", "direct");
    const Found found = w.work();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::unmatched_dead_letters);
    CHECK(found[0].severity == Severity::problem);
    CHECK(found[0].command == "retryd attach --apply");
    w.bind("retryd.errors", "legacy", "orders");
    CHECK(w.work().empty());
}

TEST_CASE("diagnosis: a queue behind a dead-letter exchange gets copies; one that sends back multiplies") {
    World w("orders");
    w.policy.entries[0].ladder.steps.assign(5, core::Milliseconds{1000});
    w.policy.error_bindings = {{"legacy"}};
    w.add("orders", "classic", {{"x-dead-letter-exchange", "legacy"}});
    w.add("other", "classic");
    w.add("retry", "classic",
          {{"x-message-ttl", std::int64_t{1000}},
           {"x-dead-letter-exchange", ""},
           {"x-dead-letter-routing-key", "orders"}});
    w.add_auto_delete("looks");
    w.add_exchange("legacy", "topic");
    CHECK(w.others().empty());
    w.bind("looks", "legacy", "#");
    w.bind("retry", "legacy", "bills");
    w.bind("retryd.errors", "legacy", "#");
    CHECK(w.others().empty());
    w.bind("other", "legacy", "#");
    Found found = w.others();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::copied_elsewhere);
    CHECK(found[0].cause ==
          "what work queue 'orders' rejects also goes to queue 'other', bound to its dead-letter exchange 'legacy' as "
          "well");
    w.routing->bindings.pop_back();
    w.bind("retry", "legacy", "orders");
    found = w.others();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::sent_back_twice);
    CHECK(found[0].consequence.find(", up to 32 at the end of its ladder") != std::string::npos);
    CHECK(found[0].remedy.find("unbind queue 'retry' from exchange 'legacy'") == 0);
    w.routing->bindings.pop_back();
    w.bind("orders", "legacy", "orders");
    found = w.others();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::sent_back_twice);
    CHECK(found[0].cause.find("also comes back to it at once") != std::string::npos);
}

TEST_CASE("diagnosis: what Symfony Messenger retries besides is told with the copies that the ladder makes of it") {
    World w("orders");
    w.policy.entries[0].ladder.steps.assign(3, core::Milliseconds{1000});
    w.add("orders", "classic");
    const auto besides = [&] { return check_framework_retries(w.policy, w.vhost_policies()); };
    const auto delay_queue = [&](const std::string& name, const std::string& exchange, const std::string& key,
                                 std::int64_t expires = 11'000) {
        w.add(name, "classic",
              {{"x-message-ttl", std::int64_t{1000}},
               {"x-expires", expires},
               {"x-dead-letter-exchange", exchange},
               {"x-dead-letter-routing-key", key}});
    };
    delay_queue("delay_messages_orders_1000_delay", "messages", "orders");
    delay_queue("delay_messages_bills_1000_retry", "", "bills");
    delay_queue("delay_messages_orders_1001_retry", "messages", "orders");
    delay_queue("orders_retry", "", "orders", 12'000);
    CHECK(besides().empty());
    delay_queue("delay_messages_orders_1000_retry", "", "orders");
    delay_queue("own_pattern_retry", "", "orders");
    const Found found = grouped(besides());
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::retried_besides);
    CHECK(found[0].severity == Severity::problem);
    CHECK(found[0].cause ==
          "work queue 'orders' is retried by Symfony Messenger as well: its queue 'delay_messages_orders_1000_retry' "
          "sends back what its retry_strategy has published again");
    CHECK(found[0].consequence.find("delivered 69 times and parked 35 times") != std::string::npos);
    CHECK(found[0].remedy.find("max_retries: 0") != std::string::npos);
    CHECK(found[0].names == std::vector<std::string>{"orders"});
    w.policy.entries[0].ladder.steps.assign(5'000, core::Milliseconds{1000});
    CHECK(besides()[0].consequence.find("without end") != std::string::npos);
}

TEST_CASE("diagnosis: where failures come by a source alone no dead-letter exchange is missing") {
    World w("orders");
    w.policy.entries[0].failures = core::FailuresBy::source;
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("orders", "quorum");
    CHECK(w.work().empty());
    w.set({"team", "^orders$", "queues", {{"dead-letter-exchange", "\"elsewhere\""}}, 0});
    CHECK(w.work().empty());
    CHECK(by_source_note(plan_attach(w.policy, w.vhost_policies()).queues)
              .starts_with("what fails in orders comes by a source alone, as the entry says (failures: source). "));
    w.policy.entries[0].failures = core::FailuresBy::error_queue;
    CHECK(w.work().size() == 1);
    CHECK(by_source_note(plan_attach(w.policy, w.vhost_policies()).queues).empty());
}

TEST_CASE("diagnosis: what no source can name comes by nothing") {
    World w("orders.*");
    w.policy.entries[0].failures = core::FailuresBy::source;
    w.policy.sources = {{"orders.a.failed", core::Dialect::generic, {core::WorkQueueOf::Place::suffix, ".failed"}}};
    w.add("orders.a", "classic");
    w.add("orders.b", "classic");
    w.add("orders.c", "classic");
    const Found found = grouped(w.work());
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::no_source);
    CHECK(found[0].severity == Severity::problem);
    CHECK(found[0].names == std::vector<std::string>{"orders.b", "orders.c"});
    CHECK(found[0].consequence == "what fails in it does not come to retryd");
    CHECK(found[0].remedy.starts_with("name the queue that its consumers put it into under sources; or "));
    // One that is attached still comes by that, and by nothing else: no command takes it off.
    w.set({"retryd.errors", "^orders\\.b$", "queues", attached, 0});
    const Found still = grouped(w.work());
    REQUIRE(still.size() == 2);
    CHECK(still[0].code == FindingCode::no_source);
    CHECK(still[0].names == std::vector<std::string>{"orders.b"});
    CHECK(still[0].consequence.starts_with("only what it dead-letters comes to retryd, "));
    CHECK(still[0].command.empty());
    CHECK(still[1].names == std::vector<std::string>{"orders.c"});
    w.set({"retryd.errors", "^other$", "queues", attached, 0});
    w.policy.sources[0].queue = "*.failed";
    CHECK(w.work().empty());
}

TEST_CASE("diagnosis: a general policy that attach leaves as it is, is mended by a command of its own") {
    World w("orders");
    w.policy.entries[0].failures = core::FailuresBy::source;
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.policy.entries.push_back({.match = "email", .parked = {.queue = "{queue}.parked"}});
    w.add("orders", "classic");
    w.add("email", "classic");
    w.set({"team", "^email$", "queues", attached, 5});
    w.set({"retryd.errors", "^(orders|legacy)$", "queues", attached, 0});
    Found found = grouped(w.work());
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::comes_twice);
    CHECK(found[0].command.find("'retryd.errors' '^(legacy)$'") != std::string::npos);
    w.set({"retryd.errors", "^(?!(?:x)$)(.*)$", "queues", attached, 0});
    found = grouped(w.work());
    REQUIRE(found.size() == 1);
    CHECK(found[0].command == "rabbitmqctl clear_policy 'retryd.errors'");
}

TEST_CASE("diagnosis: what comes by a source and is dead-lettered to the error queue besides comes twice") {
    World w("orders");
    w.policy.entries[0].failures = core::FailuresBy::source;
    w.policy.entries[0].ladder.steps.assign(3, core::Milliseconds{1000});
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("orders", "classic");
    w.add("other", "classic");
    const auto twice = [&] {
        const Found found = grouped(w.work());
        REQUIRE(found.size() == 1);
        CHECK(found[0].code == FindingCode::comes_twice);
        CHECK(found[0].severity == Severity::problem);
        CHECK(found[0].consequence ==
              "a message that its consumers reject and also put into the source comes twice: one message that always "
              "fails "
              "becomes two, and these four, up to 8 at the end of its ladder");
        CHECK(found[0].remedy.find("take failures: source out of its entry instead") != std::string::npos);
        return found[0];
    };
    w.set({"team", "^o", "queues", {{"dead-letter-exchange", ours}, {"max-length", "9"}}, 0});
    Finding found = twice();
    CHECK(found.cause ==
          "work queue 'orders' dead-letters to exchange \"retryd.errors\", by policy 'team', and its entry says that "
          "its failures come by a source alone (failures: source)");
    CHECK(found.remedy.starts_with("give that policy a pattern that leaves the queue out, or take "));
    CHECK(found.command.empty());
    CHECK(by_source_note(plan_attach(w.policy, w.vhost_policies()).queues).empty());

    // A policy of attach's own, with other queues and without.
    w.set({"retryd.errors-team", "^(email|orders|a\\|b)$", "queues", attached, 5});
    found = twice();
    CHECK(found.remedy.starts_with("take the queue out of the pattern of that policy. "));
    CHECK(found.command.find("'^(email|a\\|b)$'") != std::string::npos);
    w.set({"retryd.errors-team", "^(orders)$", "queues", attached, 5});
    CHECK(twice().command == "rabbitmqctl clear_policy 'retryd.errors-team'");

    // The general one, which attach gives another pattern as long as an entry needs it.
    // One below it would take its place.
    w.set({"retryd.errors", "^(orders)$", "queues", attached, 9});
    CHECK(twice().command ==
          "rabbitmqctl clear_policy 'retryd.errors' && rabbitmqctl clear_policy 'retryd.errors-team'");
    CHECK(twice().remedy.starts_with("take the queue out of that policy and of those of attach's "));
    w.set({"retryd.errors", "^(orders|email)$", "queues", attached, 9});
    w.policy.entries.push_back({.match = "email", .parked = {.queue = "{queue}.parked"}});
    w.add("email", "classic", {{"x-dead-letter-exchange", "retryd.errors"}});
    CHECK(twice().command == "rabbitmqctl clear_policy 'retryd.errors-team' && retryd attach --apply");
    for (const PolicyChange& change : plan_attach(w.policy, w.vhost_policies()).changes)
        w.set(change.after);
    CHECK(twice().cause.find("by policy 'retryd.errors-team'") != std::string::npos);
    w.remove("email");
    w.policy.entries.pop_back();

    w.remove("orders");
    w.add("orders", "classic", {{"x-dead-letter-exchange", "legacy"}});
    CHECK(w.work().empty());
    w.policy.error_bindings = {{"legacy"}};
    found = twice();
    CHECK(found.cause.find("by its argument x-dead-letter-exchange") != std::string::npos);
    CHECK(found.remedy.starts_with("recreate the queue without x-dead-letter-exchange, or take that exchange out of "));
}

TEST_CASE("diagnosis: where a source may name a queue, its missing exchange is told with the other way") {
    World w("orders");
    w.add("orders", "classic");
    w.policy.sources = {{"orders_error", core::Dialect::masstransit}};
    Found found = w.work();
    REQUIRE(found.size() == 1);
    CHECK(found[0].remedy.ends_with(
        ". If its failures come by a source alone, say failures: source in its entry instead"));
    CHECK(found[0].command == "retryd attach --apply");
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    found = w.work();
    CHECK(
        found[0].remedy.starts_with("say failures: source in its entry if source 'failed' is its failure transport: "));
    CHECK(found[0].command.empty());  // it would multiply
    w.policy.sources[0].work_queue = {core::WorkQueueOf::Place::name, "sms"};
    CHECK(w.work()[0].remedy == kind_of(FindingCode::no_dead_letter_exchange).remedy);
}

TEST_CASE("diagnosis: what a framework retries by itself does not multiply where only a source brings failures") {
    World w("orders");
    w.policy.sources = {{"failed", core::Dialect::symfony}};
    w.add("orders", "classic");
    w.add("delay_messages_orders_1000_retry", "classic",
          {{"x-message-ttl", std::int64_t{1000}},
           {"x-expires", std::int64_t{11'000}},
           {"x-dead-letter-exchange", ""},
           {"x-dead-letter-routing-key", "orders"}});
    const auto besides = [&] { return check_framework_retries(w.policy, w.vhost_policies()).size(); };
    CHECK(besides() == 1);
    w.policy.entries[0].failures = core::FailuresBy::source;
    CHECK(besides() == 0);
    w.set({"all", ".*", "queues", attached, 0});
    CHECK(besides() == 1);
}

TEST_CASE("diagnosis: the handler Maxretry is told as that, attached or not, and not as any queue that sends back") {
    World w("orders");
    w.policy.entries[0].ladder.steps.assign(5, core::Milliseconds{1000});
    w.add("orders", "classic", {{"x-dead-letter-exchange", "orders-retry"}});
    w.add("orders-error", "classic");
    w.add("orders-retry", "classic",
          {{"x-message-ttl", std::int64_t{60'000}}, {"x-dead-letter-exchange", "orders-retry-requeue"}});
    for (const char* exchange : {"orders-retry", "orders-retry-requeue", "orders-error"})
        w.add_exchange(exchange, "topic");
    w.bind("orders-retry", "orders-retry", "#");
    w.bind("orders-error", "orders-error", "#");
    w.bind("orders", "orders-retry-requeue", "#");
    const auto besides = [&] { return check_framework_retries(w.policy, w.vhost_policies()); };
    Found found = besides();
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::retried_besides);
    CHECK(found[0].cause.find("work queue 'orders' is retried by the handler Maxretry of Kicks (Sneakers) as well") ==
          0);
    CHECK(found[0].consequence.find("once retryd gets what is rejected: ") == 0);
    CHECK(found[0].remedy.find("Oneshot") != std::string::npos);
    w.policy.error_bindings = {{"orders-retry"}};
    found = besides();
    REQUIRE(found.size() == 1);
    CHECK(found[0].consequence.find("each time that a message fails it comes back from there as well") == 0);
    CHECK(found[0].consequence.find(", up to 32 at the end of its ladder; what Maxretry") != std::string::npos);
    CHECK(w.others().empty());
    w.policy.entries[0].match = "bills";
    CHECK(besides().empty());
}

TEST_CASE("diagnosis: a glob that names what is no work queue is told of, with all names") {
    World w("*");
    w.add("email", "classic");
    w.add("amq.gen-x", "classic", {{"x-expires", std::int64_t{1}}});
    w.add_rung("email", "5s", 5'000);
    CHECK(check_globs(w.policy, w.vhost_policies()).empty());
    w.add_auto_delete("events");
    w.add("celery_delayed_7", "quorum");
    const Found found = grouped(check_globs(w.policy, w.vhost_policies()));
    REQUIRE(found.size() == 1);
    CHECK(found[0].code == FindingCode::plumbing_under_glob);
    CHECK(found[0].cause ==
          "glob '*' also names what is no work queue: queue 'events' is auto-delete: it goes with its last consumer");
    CHECK(found[0].names == std::vector<std::string>{"events", "celery_delayed_7"});
    w.policy.entries[0].match = "e*l";
    CHECK(check_globs(w.policy, w.vhost_policies()).empty());
}

TEST_CASE("diagnosis: a work queue that goes by itself, or hardly keeps what it has") {
    const auto only = [](const World& w) {
        const Found found = w.work();
        REQUIRE(found.size() == 1);
        CHECK(found[0].code == FindingCode::short_lived_queue);
        return found[0].cause;
    };
    World fleeting("email");
    fleeting.add_auto_delete("email");
    fleeting.set({"a", ".*", "queues", attached, 0});
    CHECK(only(fleeting) == "work queue 'email' is auto-delete: it goes with its last consumer");
    World expires("email");
    expires.add("email", "classic", {{"x-expires", std::int64_t{5000}}, {"x-dead-letter-exchange", "retryd.errors"}});
    CHECK(only(expires) == "work queue 'email' goes when nobody has used it for 5000 ms (expires)");
    for (const std::int64_t ttl : {59'999, 60'000}) {
        World w("email");
        w.add("email", "classic", {{"x-message-ttl", ttl}, {"x-dead-letter-exchange", "retryd.errors"}});
        CHECK(w.work().size() == (ttl == 59'999 ? 1 : 0));
    }
}

TEST_CASE("diagnosis: each key that harms a rung is named") {
    for (const char* rung : {"email.retry.5s", "retryd.shared.5s"}) {
        World w("email");
        w.policy.entries.push_back({.match = "sms", .ladder = {.name = "shared"}});
        w.policy.entries.back().ladder.return_path = core::ReturnPath::headers;
        w.add_rung("email", "5s", 5'000);
        w.add("retryd.shared.5s", "quorum",
              {{"x-message-ttl", std::int64_t{5'000}}, {"x-dead-letter-exchange", "retryd.return"}});
        w.set({"all",
               names_pattern({rung}),
               "queues",
               {{"expires", "1"},
                {"message-ttl", "2"},
                {"max-length", "3"},
                {"max-length-bytes", "4"},
                {"overflow", "\"drop-head\""},
                {"delivery-limit", "5"},
                {"max-in-memory-length", "6"}},
               7});
        const Found found = w.own();
        REQUIRE(found.size() == 1);
        CHECK(found[0].cause ==
              "policy 'all' sets expires 1, message-ttl 2, max-length 3, max-length-bytes 4, overflow "
              "\"drop-head\" on queue '" +
                  std::string{rung} + "'");
        CHECK(found[0].command == "retryd attach --apply");
    }
}

TEST_CASE("diagnosis: what harms a detour is said of detours") {
    World w("email");
    w.add("retryd.detour.30s", "quorum");
    w.set({"all", ".*", "queues", {{"message-ttl", "2"}, {"overflow", "\"drop-head\""}, {"delivery-limit", "5"}}, 7});
    const Found found = w.own();
    REQUIRE(found.size() == 1);
    CHECK(found[0].cause == "policy 'all' sets message-ttl 2, overflow \"drop-head\" on queue 'retryd.detour.30s'");
    CHECK(found[0].consequence ==
          "what waits there is tried again more often than it need be, where that time is the shorter one; the return "
          "to the error queue is at-most-once");
}

TEST_CASE("diagnosis: a delivery limit throws away what is looked at in a parking queue") {
    for (const char* queue : {"retryd.errors", "retryd.parked", "email.parked"}) {
        CAPTURE(queue);
        World w("email");
        w.add(queue, "quorum");
        w.set({"all", ".*", "queues", {{"delivery-limit", "5"}}, 0});
        const Found found = w.own();
        REQUIRE(found.size() == 1);
        CHECK(found[0].cause == "policy 'all' sets delivery-limit 5 on queue '" + std::string{queue} + "'");
        const std::string harmless = GENERATE("-1", "1000000");
        w.set({"all", ".*", "queues", {{"delivery-limit", harmless}}, 0});
        CHECK(w.own().empty());
    }
}

TEST_CASE("diagnosis: an overflow harms quorum queues alone, and reject-publish none") {
    World w("email");
    w.add_rung("email", "5s", 5'000, "classic");
    w.add_rung("email", "9s", 9'000);
    w.set({"all", ".*", "queues", {{"overflow", "\"drop-head\""}}, 0});
    REQUIRE(w.own().size() == 1);
    CHECK(w.own()[0].cause.ends_with("on queue 'email.retry.9s'"));
    w.set({"all", ".*", "queues", {{"overflow", "\"reject-publish\""}}, 0});
    CHECK(w.own().empty());
}

TEST_CASE("diagnosis: an operator policy harms, too, and no other policy mends that") {
    World w("email");
    w.add_rung("email", "5s", 5'000);
    w.operator_policies = {{"cap", ".*", "queues", {{"max-length", "5"}}, 0}};
    const Found found = w.own();
    REQUIRE(found.size() == 1);
    CHECK(found[0].cause == "operator policy 'cap' sets max-length 5 on queue 'email.retry.5s'");
    CHECK(found[0].remedy == "give the operator policy a pattern that leaves this queue out");
    CHECK(found[0].command.empty());
}

TEST_CASE("diagnosis: what one policy does to many queues of a kind is one finding") {
    World w("email");
    w.add("email.parked", "quorum");
    w.add_rung("email", "5s", 5'000);
    w.add_rung("email", "1m", 60'000);
    w.set({"all", ".*", "queues", {{"max-length", "3"}}, 0});
    const Found found = w.own();
    REQUIRE(found.size() == 2);
    CHECK(found[0].names.size() + found[1].names.size() == 3);
}

TEST_CASE("diagnosis: policies on other queues are nobody's business") {
    World w("email");
    w.add("email", "classic");
    w.add("other", "quorum");
    w.set({"all", ".*", "queues", {{"expires", "1"}, {"max-length", "3"}}, 0});
    CHECK(w.own().empty());
}

TEST_CASE("diagnosis: an error queue has a delivery limit that only what cannot be handed over reaches") {
    const std::string mends =
        "rabbitmqctl set_policy --vhost 'shop' --priority=0 --apply-to queues 'delivery-limit-retryd.errors' "
        "'^(retryd\\.errors)$' '{\"delivery-limit\": 100}'";
    const auto with_argument = [](std::int64_t limit) {
        World w("email");
        w.add("retryd.errors", "quorum", {{"x-delivery-limit", limit}});
        return w;
    };
    CHECK(World("email").error_queue().empty());
    CHECK(with_argument(100).error_queue().empty());
    for (const std::int64_t too_high : {std::int64_t{1'000'000}, std::int64_t{-1}}) {
        CAPTURE(too_high);
        World w = with_argument(too_high);
        const Found found = w.error_queue();
        REQUIRE(found.size() == 1);
        CHECK(found[0].severity == Severity::problem);
        CHECK(found[0].cause == "the error queue 'retryd.errors' has no delivery limit that a message reaches");
        CHECK(found[0].code == FindingCode::error_queue_unlimited);
        CHECK(found[0].command == mends);
        w.set({"limit", "^retryd", "queues", {{"delivery-limit", "100"}}, 0});
        CHECK(w.error_queue().empty());
        CHECK(w.own().empty());
        w.set({"limit", "^retryd", "queues", {{"max-length", "9"}}, 3});
        CHECK(w.error_queue()[0].command.ends_with("'{\"delivery-limit\": 100, \"max-length\": 9}'"));
    }
    World w("email");
    w.add("retryd.errors", "quorum");
    w.version = {4, 0, 5};
    REQUIRE(w.error_queue().size() == 1);
    CHECK(w.error_queue()[0].code == FindingCode::error_queue_limit);
    CHECK(w.error_queue()[0].severity == Severity::warning);
    CHECK(w.error_queue()[0].cause == "the error queue 'retryd.errors' has a delivery limit of 20");
    w.version = {3, 13, 7};
    CHECK(w.error_queue()[0].severity == Severity::problem);
}

TEST_CASE("diagnosis: a classic error queue has no delivery limit") {
    World w("email");
    w.add("retryd.errors", "classic");
    REQUIRE(w.error_queue().size() == 1);
    CHECK(w.error_queue()[0].cause == "the error queue 'retryd.errors' has no delivery limit: it is a classic queue");
}

TEST_CASE("AMQP 1.0: the note names the work queues, not all of a great many") {
    CHECK(amqp10_note({}).empty());
    CHECK(amqp10_note({"mails", "orders"}).starts_with("producers or consumers of mails, orders speak AMQP 1.0. "));
    std::set<std::string> many;
    for (int i = 10; i < 40; ++i)
        many.insert("queue" + std::to_string(i));
    CHECK(amqp10_note(many).find("queue19 and 20 more speak") != std::string::npos);
}

}  // namespace retryd::admin::checks_test
