// `retryd attach` against a real broker: the commands that it prints work, and change nothing else.
#include <sstream>

#include "core/names.h"
#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

/// Runs the lines of the output that begin with this in a shell that has the rabbitmqctl of this broker.
void paste(const std::string& output, const std::string& beginning) {
    std::string script = "rabbitmqctl() { " + variable("RETRYD_TEST_CTL") + " \"$@\"; }\nset -e\n";
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        const auto start = line.find_first_not_of(' ');
        if (start != std::string::npos && line.compare(start, beginning.size(), beginning) == 0) script += line + '\n';
    }
    output_of(script);
}

struct Attached : Scenario {
    Attached() { config.management_url = management_url(); }

    CommandResult run(const std::string& command, const std::string& more_yaml = "") {
        daemon.write(config.yaml() + more_yaml);
        return run_retryd(command + " -c " + daemon.config_file());
    }

    /// The names of the policies that attach makes for it.
    std::string general() const { return "retryd-" + config.error_exchange; }
    std::string own(const std::string& after) const { return "retryd-" + config.error_exchange + "-" + after; }

    /// A message that is rejected there comes back as a second attempt.
    void comes_back(const std::string& queue) {
        CAPTURE(queue);
        Worker worker(queue);
        client.publish("", queue, {.body = "x"});
        worker.reject(worker.receive());
        const Received again = worker.receive();
        CHECK(long_header(again, "retryd-attempt") == 1);
        worker.ack(again);
    }
};

}  // namespace

TEST_CASE("attach: what it prints attaches when pasted into a shell, and its undo undoes it, whatever the names",
          "[slow][one-version][night][every-version]") {
    Attached s;
    const std::string classic = s.plain_queue("it's [a].b+c $HOME \"q\"");
    const std::string quorum = s.plain_queue("paid|x", {{"x-queue-type", longstr("quorum")}});
    const std::string globbed = s.plain_queue("hook.(1)");
    const std::string glob = globbed.substr(0, globbed.size() - 3) + "*";
    for (const std::string& match : {classic, quorum, glob})
        s.retry(match, {"100ms"});
    s.start();
    const CommandResult printed = s.run("attach");
    INFO(printed.out);
    CHECK(printed.code == 2);
    CHECK(printed.says({"0 attached, 3 to attach", "retryd attach --apply -c '", "' does"}));
    paste(printed.out, "rabbitmqctl set_policy");
    CHECK(s.run("attach").says({"3 attached; nothing to set"}));
    for (const std::string& queue : {classic, quorum, globbed})
        s.comes_back(queue);
    paste(printed.out, "rabbitmqctl clear_policy");
    CHECK(s.run("attach").says({"0 attached, 3 to attach"}));
    s.stop();
}

TEST_CASE("attach --apply: what the policies in effect say stays, for its queues and for others; twice does nothing",
          "[3.8][one-version]") {
    Attached s;
    const std::string alone = s.plain_queue("alone");
    const std::string shared = s.plain_queue("shared");
    const std::string other = s.plain_queue("other");
    s.retry(alone, {"100ms"});
    s.retry(shared, {"100ms"});
    set_policy(alone, "^" + alone + "$", R"({"max-length": 2, "dead-letter-exchange": "elsewhere"})");
    set_policy(other, "^(" + shared + "|" + other + ")$", R"({"max-length": 2})");
    s.start();
    const CommandResult applied = s.run("attach --apply");
    INFO(applied.out);
    CHECK(applied.code == 0);
    CHECK(applied.says({"Policy " + alone + ": changed, set"}));
    CHECK(applied.says({"Policy " + s.own(other) + ": new, set"}));
    CHECK(applied.says({"dead letters of these queues go to exchange \"elsewhere\" now, and no longer will"}));
    const CommandResult again = s.run("attach --apply");
    CHECK(again.code == 0);
    CHECK(again.says({"2 attached; nothing to set"}));
    for (const std::string& queue : {alone, shared})
        s.comes_back(queue);
    for (const std::string& queue : {alone, shared, other}) {
        for (const char* body : {"1", "2", "3"})
            s.client.publish("", queue, {.body = body});
        CHECK(s.await_depth(queue, 2));
    }
    s.stop();
}

TEST_CASE("attach --apply: quorum queues get at-least-once, and keep dropping the oldest where they do",
          "[two-versions][since-3.10]") {
    Attached s;
    const std::string paid = s.plain_queue("paid", {{"x-queue-type", longstr("quorum")}});
    const std::string capped =
        s.plain_queue("capped", {{"x-queue-type", longstr("quorum")}, {"x-max-length", int32(2)}});
    s.retry(paid, {"100ms"});
    s.retry(capped, {"100ms"});
    REQUIRE(s.run("apply").code == 0);
    const CommandResult applied = s.run("attach --apply");
    INFO(applied.out);
    CHECK(applied.code == 0);
    CHECK(applied.says({"+ dead-letter-strategy: \"at-least-once\""}));
    CHECK(applied.says({capped + ": its way to the error queue is at-most-once: "}));
    for (const char* body : {"1", "2", "3"})
        s.client.publish("", capped, {.body = body});
    CHECK(s.await_depth(capped, 2));
    CHECK(policies().find("at-least-once") != std::string::npos);
}

TEST_CASE("attach: a queue that no policy can attach is named with the way out, and that way leads there",
          "[one-version]") {
    Attached s;
    const std::string legacy = s.exchange_name("legacy.dlx");
    s.client.declare_exchange(legacy, "topic");
    const std::string fixed = s.plain_queue("fixed", {{"x-dead-letter-exchange", longstr(legacy)}});
    s.retry(fixed, {"100ms"});
    REQUIRE(s.run("apply").code == 0);
    const CommandResult applied = s.run("attach --apply");
    CHECK(applied.code == 2);
    const std::string way_out = "{exchange: \"" + legacy + "\"}";
    CHECK(applied.says({fixed + ": its dead-letter exchange", "name that exchange in errors.bind, " + way_out}));
    s.config.error_bindings = "[" + way_out + "]";
    s.start();
    CHECK(s.run("attach --apply").says({"1 attached; nothing to set"}));
    s.comes_back(fixed);
    s.stop();
}

namespace {

/// A consumer such as Symfony's, which puts what has failed into a queue that is a source, and rejects it besides.
struct PutsAway : Attached {
    std::string work = plain_queue("php.orders");
    std::string others = plain_queue("php.mails");
    std::string failed = plain_queue("failed");

    PutsAway() {
        retry(work, {"100ms", "200ms"});
        retry(work.substr(0, work.size() - 6) + "*", {"100ms"});
        config.sources = "[{queue: \"" + failed + "\", dialect: generic, work_queue: \"" + work + "\"}]";
    }
    void say_so() { config.entries.front().failures = "source"; }

    /// One message that always fails, until all that came of it is parked; how often it was delivered.
    int deliveries_until(std::uint32_t parked) {
        Worker worker(work);
        client.publish("", work, {.body = "x"});
        int deliveries = 0;
        await([&] {
            while (const auto message = worker.client.next(milliseconds(50))) {
                ++deliveries;
                client.publish("", failed, *message);
                worker.reject(*message);
            }
            return depth(parking_of(work)) >= parked;
        });
        CHECK(worker.stays_idle(milliseconds(500)));
        CHECK(depth(parking_of(work)) == parked);
        CHECK(await_depth(failed, 0));
        return deliveries;
    }

    /// The management API tells of a change a moment later.
    CommandResult doctor_that_says(const std::vector<std::string>& texts) {
        CommandResult result;
        await([&] { return (result = run("doctor")).says(texts); });
        return result;
    }
};

}  // namespace

TEST_CASE("attach: a work queue whose failures come by a source alone is left out, also of a glob, and doctor agrees",
          "[one-version]") {
    PutsAway s;
    s.start();
    CHECK(s.run("attach").says({"0 attached, 2 to attach"}));
    CHECK(s.doctor_that_says({"[no-dead-letter-exchange]"}).code == 2);
    s.say_so();
    s.entry().failures = "source";
    CHECK(s.doctor_that_says({"work queue '" + s.others + "'", "[no-source]"}).code == 2);
    s.entry().failures.clear();
    const CommandResult looked = s.run("attach");
    INFO(looked.out);
    CHECK(
        looked.says({"Left out: " + s.work + ": its entry says failures: source. ", "To attach it, take that out of"}));
    CHECK(looked.says({s.work, "by source", "no policy"}));
    CHECK(looked.says({"0 attached, 1 to attach, 1 by source; "}));
    CHECK(s.run("attach --apply").code == 0);
    const CommandResult again = s.run("attach");
    CHECK(again.code == 0);
    CHECK(again.says({"1 attached, 1 by source; nothing to set"}));
    const bool old = version_of(s.client) < Version{3, 10};  // of which doctor always warns
    const CommandResult found =
        s.doctor_that_says({old ? "0 problems, 1 warning" : "nothing found that would keep a rejected message"});
    INFO(found.out);
    CHECK(found.code == (old ? 2 : 0));
    CHECK(found.says({"Note: what fails in " + s.work + " comes by a source alone, as the entry says"}));
    s.reload();
    CHECK(s.daemon.await_log("in force from the next message on"));
    s.comes_back(s.others);
    CHECK(s.deliveries_until(1) == 3);
    s.stop();
}

TEST_CASE("attach: without that word each failure comes twice, doctor says so once it is said, and its command ends it",
          "[slow][one-version]") {
    PutsAway s;
    s.start();
    REQUIRE(s.run("attach --apply").code == 0);
    CHECK(s.run("attach").says({"2 attached; nothing to set"}));
    CHECK(s.deliveries_until(8) == 1 + 2 + 4);  // and nobody has said anything against it
    s.say_so();
    s.reload();
    const CommandResult found = s.doctor_that_says({"[comes-twice]"});
    INFO(found.out);
    CHECK(found.code == 2);
    CHECK(found.says({"so that", "comes twice: one message that always fails becomes two, and these four, up to 4"}));
    CHECK(found.says({"command", "retryd attach --apply -c "}));
    const CommandResult applied = s.run("attach --apply");
    INFO(applied.out);
    CHECK(applied.code == 0);
    CHECK(applied.says({"no longer applies to queue '" + s.work + "', whose failures come by a source alone"}));
    CHECK(s.run("attach").says({"1 attached, 1 by source; nothing to set"}));
    CHECK_FALSE(s.doctor_that_says({"nothing found that would keep a rejected message"}).says({"[comes-twice]"}));
    CHECK(s.deliveries_until(8 + 1) == 3);
    s.comes_back(s.others);
    s.stop();
}

TEST_CASE("attach --apply: nothing is set while nothing is behind the error exchange", "[one-version]") {
    Attached s;
    const std::string work = s.plain_queue("work");
    s.retry(work, {"100ms"});
    const CommandResult refused = s.run("attach --apply");
    CHECK(refused.code == 1);
    CHECK(refused.err.find("retryd: nothing was set: the error queue '" + s.config.error_queue) == 0);
    CHECK(policies().find(s.general()) == std::string::npos);
    REQUIRE(s.run("apply").code == 0);
    CHECK(s.run("attach --apply").code == 0);
}

TEST_CASE("attach --apply: a user who may not set policies is told which right is missing", "[one-version]") {
    Attached s;
    const std::string work = s.plain_queue("work");
    s.retry(work, {"100ms"});
    REQUIRE(s.run("apply").code == 0);
    const BrokerUser user(s.queue_name("reader"), {".*", ".*", ".*"}, "management");
    s.config.management_url = "";
    const std::string management = user.management_line();
    CHECK(s.run("attach", management).code == 2);
    const CommandResult refused = s.run("attach --apply", management);
    CHECK(refused.code == 1);
    CHECK(refused.says({"the management API refused to set policy '" + s.general() + "': 401 "}));
    CHECK(refused.says({"needs the tag policymaker"}));
    user.set_tags("policymaker");
    CHECK(s.run("attach --apply", management).code == 0);
}

// Before 3.10 there is no guard.
TEST_CASE(
    "attach: more names than one pattern may have are attached and guarded, and a policy for all queues deletes "
    "nothing of retryd's",
    "[slow][one-version][since-3.10]") {
    Attached s;
    std::vector<std::string> queues;
    for (int i = 0; i < 20; ++i)
        queues.push_back(s.plain_queue(std::string(60, 'n') + std::to_string(i)));
    queues.push_back(s.plain_queue(std::string(255 - s.queue_name("").size(), 'l')));
    for (const std::string& queue : queues)
        s.retry(queue, {"1h"});
    const std::string theirs = s.plain_queue("theirs");
    const std::size_t longest = s.has_quorum_ttl() ? 255 : 200;  // of a quorum queue's name
    s.start();
    REQUIRE(await([&] { return s.exists(retryd::core::expand_queue("{queue}.parked", queues.back(), longest)); }));
    const CommandResult attach = s.run("attach --apply");
    INFO(attach.out);
    REQUIRE(attach.code == 0);
    CHECK(attach.says({"Policy " + s.general() + ".2: new, set"}));
    CHECK(s.run("attach").says({"nothing to set"}));
    CHECK(attach.says({"Policy " + s.own("guard") + ".2: new, set"}));

    std::vector<std::string> own{s.config.catch_all};
    for (const std::string* queue : {&queues.front(), &queues[10], &queues.back()}) {
        own.push_back(retryd::core::rung_name(*queue, retryd::core::Milliseconds{3'600'000}, false));
        own.push_back(retryd::core::expand_queue("{queue}.parked", *queue, longest));
        Worker worker(*queue);
        for (int i = 0; i < 3; ++i) {
            s.client.publish("", own.back(), {.body = "parked", .properties = {.delivery_mode = 2}});
            s.client.publish("", *queue, {.body = "waits"});
            worker.reject(worker.receive());
        }
    }
    for (int i = 0; i < 3; ++i) {
        for (const std::string& queue : {theirs, s.config.catch_all})
            s.client.publish("", queue, {.body = "m"});
    }
    for (const std::string& queue : own)
        REQUIRE(s.await_depth(queue, 3));
    set_policy("all", ".*", R"({"max-length": 1, "overflow": "drop-head"})", PolicyKind::policies, 999);
    CHECK(s.await_depth(theirs, 1));
    for (const std::string& queue : own) {
        CAPTURE(queue);
        CHECK(s.depth(queue) == 3);
    }
    CHECK_FALSE(s.run("doctor").says({"[harmful-policy]"}));
    s.stop();
}

TEST_CASE("attach: a vhost whose name needs quoting", "[night][every-version]") {
    Attached s;
    const std::string vhost = s.queue_name("a/b it's");
    add_vhost(vhost);
    Address address = broker_address();
    address.vhost = vhost.substr(0, vhost.size() - 8) + "a%2Fb%20it%27s";
    s.config.uris = {"amqp://" + address.user + ":" + address.password + "@" + address.host + ":" +
                     std::to_string(address.port) + "/" + address.vhost};
    s.retry("work", {"100ms"});
    REQUIRE(s.run("apply").code == 0);
    const CommandResult printed = s.run("attach");
    const std::string number = s.has_quorum_ttl() ? "2 policies" : "1 policy";  // and the guard
    CHECK(printed.says({"0 attached, 1 not there; " + number + " to set"}));
    paste(printed.out, "rabbitmqctl set_policy");
    CHECK(s.run("attach").says({"0 attached, 1 not there; nothing to set"}));
    paste(printed.out, "rabbitmqctl clear_policy");
    CHECK(s.run("attach").says({number + " to set"}));
    delete_vhost(vhost);
}
