// `retryd attach` against a real broker: the commands that it prints work, and change nothing else.
#include <sstream>

#include "core/names.h"
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
          "[3.8][slow][two-versions]") {
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
          "[3.8][two-versions]") {
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
          "[two-versions]") {
    Attached s;
    if (!s.has_quorum_ttl()) return;
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
          "[two-versions]") {
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
    const std::string user = s.queue_name("reader");
    add_user(user, "reads", "management");
    set_permissions(user, ".*", ".*", ".*");
    s.config.management_url = "";
    const std::string management =
        "management: {url: \"" + management_url() + "\", username: \"" + user + "\", password: reads}\n";
    CHECK(s.run("attach", management).code == 2);
    const CommandResult refused = s.run("attach --apply", management);
    CHECK(refused.code == 1);
    CHECK(refused.says({"the management API refused to set policy '" + s.general() + "': 401 "}));
    CHECK(refused.says({"needs the tag policymaker"}));
    add_user(user, "reads", "policymaker");
    CHECK(s.run("attach --apply", management).code == 0);
    delete_user(user);
}

TEST_CASE(
    "attach: more names than one pattern may have are attached and guarded, and a policy for all queues deletes "
    "nothing of retryd's",
    "[slow][two-versions]") {
    Attached s;
    std::vector<std::string> queues;
    for (int i = 0; i < 20; ++i)
        queues.push_back(s.plain_queue(std::string(60, 'n') + std::to_string(i)));
    queues.push_back(s.plain_queue(std::string(255 - s.queue_name("").size(), 'l')));
    for (const std::string& queue : queues)
        s.retry(queue, {"1h"});
    const std::string theirs = s.plain_queue("theirs");
    s.start();
    REQUIRE(await([&] { return s.exists(retryd::core::expand_queue("{queue}.parked", queues.back())); }));
    const CommandResult attach = s.run("attach --apply");
    INFO(attach.out);
    REQUIRE(attach.code == 0);
    CHECK(attach.says({"Policy " + s.general() + ".2: new, set"}));
    CHECK(attach.says({"Policy " + s.own("guard") + ".2: new, set"}));
    CHECK(s.run("attach").says({"nothing to set"}));

    std::vector<std::string> own{s.config.catch_all};
    for (const std::string* queue : {&queues.front(), &queues[10], &queues.back()}) {
        own.push_back(retryd::core::rung_name(*queue, retryd::core::Milliseconds{3'600'000}, false));
        own.push_back(retryd::core::expand_queue("{queue}.parked", *queue));
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

TEST_CASE("attach: a vhost whose name needs quoting", "[one-version]") {
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
