// `retryd doctor` against a real broker: a correct set-up, and several broken ones.
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/shell.h"

using namespace retryd::test;

namespace {

/// A correct set-up: a classic and a quorum work queue with a rung each, and a running daemon.
struct Patient : Scenario {
    Patient() : classic(work_queue("classic")), quorum(sound_quorum_queue()) {
        config.management_url = management_url();
        retry(classic, {"1h"});
        retry(quorum, {"1h"});
    }
    /// Waits until everything is declared, which is later than that the daemon consumes, and sets the guard.
    void start() {
        start_unguarded();
        REQUIRE(run_retryd("attach --apply -c " + daemon.config_file()).code != 1);
    }
    void start_unguarded() {
        Scenario::start();
        await_declared();
    }

    CommandResult doctor(const std::string& options = "") {
        daemon.write(config.yaml() + management);
        const std::string copy = daemon.config_file() + " of the team's";  // commands that name it can be pasted
        std::ofstream(copy) << config.yaml() + management;
        return run_retryd("doctor " + options + " -c " + shell_word(copy));
    }

    /// What it finds once the management API knows of the change before it: that is a moment later on a busy broker.
    CommandResult doctor_that_says(const std::vector<std::string>& texts) {
        CommandResult result;
        await([&] { return (result = doctor()).says(texts); });
        return result;
    }
    CommandResult doctor_that_ends_with(int code) {
        CommandResult result;
        await([&] { return (result = doctor()).code == code; });
        return result;
    }

    /// Finds something with that code, runs the command that is printed with it, and then no longer finds it.
    void mend(const std::string& code) {
        CAPTURE(code);
        const CommandResult before = doctor_that_says({"[" + code + "]"});
        INFO(before.out);
        const std::string command = command_of(code, before.out);
        REQUIRE_FALSE(command.empty());
        INFO(command);
        output_of("{ retryd() { " + shell_word(retryd_binary()) + " \"$@\"; }; rabbitmqctl() { " +
                  variable("RETRYD_TEST_CTL") + " \"$@\"; }; " + command + "; }");
        CommandResult after;
        await([&] { return !(after = doctor()).says({"[" + code + "]"}); });
        INFO(after.out);
        CHECK_FALSE(after.says({"[" + code + "]"}));
    }

    /// As it is printed below the finding; empty where there is none.
    static std::string command_of(const std::string& code, const std::string& output) {
        constexpr const char* label = "  command  ";
        std::istringstream lines(output);
        bool mine = false;
        for (std::string line; std::getline(lines, line);) {
            if (line.empty()) mine = false;
            if (line.find(" [" + code + "]") != std::string::npos) mine = true;
            if (mine && line.find(label) == 0) return line.substr(std::string(label).size());
        }
        return "";
    }

    std::string sound_quorum_queue() {
        if (!has_quorum_ttl()) return quorum_work_queue("quorum");
        return quorum_work_queue("quorum", {{"x-dead-letter-strategy", longstr("at-least-once")},
                                            {"x-overflow", longstr("reject-publish")}});
    }

    std::string guard() const { return "retryd-" + config.error_exchange + "-guard"; }

    /// Before 3.10 there is always one warning: the broker has no safe rungs.
    int healthy_code() const { return has_quorum_ttl() ? 0 : 2; }

    std::string classic;
    std::string quorum;
    std::string management;  // more YAML
};

Version minor_version() {
    return version_of(Client(broker_address()));
}

/// The broker, restarted as one that was made with few feature flags: it has none of those of streams, on which
/// at-least-once dead-lettering depends. At the end it has all.
class BrokerWithoutStreams {
  public:
    BrokerWithoutStreams() {
        control_broker("stop");
        for (const auto& entry :
             std::filesystem::directory_iterator(variable("RETRYD_TEST_BROKER_DIR") + "/node/data")) {
            if (!entry.path().string().ends_with("-feature_flags")) continue;
            std::ostringstream enabled;
            enabled << std::ifstream(entry.path()).rdbuf();
            std::ofstream(entry.path()) << std::regex_replace(enabled.str(), std::regex(",\\s*stream_\\w+"), "");
        }
        control_broker("start");
    }
    ~BrokerWithoutStreams() { run_shell(variable("RETRYD_TEST_CTL") + " enable_feature_flag all >/dev/null 2>&1"); }
    BrokerWithoutStreams(const BrokerWithoutStreams&) = delete;
    BrokerWithoutStreams& operator=(const BrokerWithoutStreams&) = delete;
};

/// For that queue alone.
void policy(const std::string& queue, const std::string& definition, PolicyKind kind = PolicyKind::policies,
            int priority = 0) {
    set_policy(queue, "^" + queue + "$", definition, kind, priority);
}

}  // namespace

TEST_CASE("doctor: nothing is wrong with a set-up that is in order", "[3.8][two-versions]") {
    Patient s;
    s.start();
    // Once the management API of a busy 3.8 has answered with 500.
    const CommandResult result = s.doctor_that_ends_with(s.healthy_code());
    INFO(result.out);
    CHECK(result.code == s.healthy_code());
    CHECK_FALSE(result.says({"Problem: "}));
    CHECK_FALSE(result.says({"cannot tell "}));
    const CommandResult json = s.doctor("--json");
    CHECK(json.says({"\"problems\": 0"}));
    s.stop();
}

TEST_CASE("doctor: finds work queues whose rejected messages do not come to retryd", "[two-versions]") {
    Patient s;
    const std::string none = s.plain_queue("none");
    const std::string elsewhere = s.plain_queue("elsewhere");
    const std::string fixed = s.plain_queue("fixed", {{"x-dead-letter-exchange", longstr("their.dlx")}});
    const std::string absent = s.queue_name("absent");
    const std::string unsafe = s.quorum_work_queue("unsafe");
    for (const std::string& queue : {none, elsewhere, fixed, absent, unsafe})
        s.retry(queue, {"1h"});
    policy(elsewhere, R"({"dead-letter-exchange": "team.dlx"})");
    s.start_unguarded();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: work queue '" + none + "' has no dead-letter exchange in effect"}));
    CHECK(result.says({"Problem: work queue '" + elsewhere + "' dead-letters to exchange \"team.dlx\", by policy"}));
    CHECK(result.says(
        {"Problem: work queue '" + fixed + "': its dead-letter exchange \"their.dlx\" is fixed by argument"}));
    CHECK(result.says({"Warning: work queue '" + absent + "' does not exist"}));
    if (s.has_quorum_ttl()) {
        CHECK(result.says({"Warning: quorum work queue '" + unsafe + "' does not dead-letter at-least-once"}));
    }
    CHECK_FALSE(result.says({"'" + s.classic + "'"}));
    CHECK_FALSE(result.says({"'" + s.quorum + "'"}));
    s.stop();
}

TEST_CASE("doctor: finds that nothing is declared, and that nobody consumes", "[3.8][one-version]") {
    Patient s;
    const CommandResult before = s.doctor();
    INFO(before.out);
    CHECK(before.code == 2);
    CHECK(before.says({"Problem: error exchange '" + s.config.error_exchange + "' is missing"}));
    CHECK(before.says({"Problem: error queue '" + s.config.error_queue + "' is missing"}));
    CHECK(before.says({"Problem: rung '" + s.rung(s.classic, "1h") + "' is missing"}));
    REQUIRE(run_retryd("apply -c " + s.daemon.config_file()).code == 0);
    const CommandResult declared = s.doctor_that_says({"1 problem, 1 warning"});
    INFO(declared.out);
    CHECK(declared.code == 2);
    CHECK(declared.says({"Problem: nobody consumes the error queue '" + s.config.error_queue + "'; 0 messages wait"}));
    CHECK(declared.says({"1 problem, 1 warning"}));  // that there is no guard; before 3.10, of the broker's version
}

TEST_CASE("doctor: finds an error queue with other arguments, and one that its exchange does not lead to",
          "[one-version]") {
    Patient s;
    s.client.declare_queue(s.config.error_queue, {{"x-queue-type", longstr("classic")}});
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: queue '" + s.config.error_queue + "' is there already with another "}));
    CHECK(result.says({"retryd consumes nothing while that lasts"}));
    s.client.delete_queue(s.config.error_queue);
    s.start();
    s.client.delete_exchange(s.config.error_exchange);
    s.client.declare_exchange(s.config.error_exchange, "fanout");
    const CommandResult unbound = s.doctor_that_says({"Problem: error binding"});
    CHECK(unbound.says({"Problem: error binding '" + s.config.error_exchange, "is missing"}));
    s.stop();
}

TEST_CASE("doctor: finds policies that would throw away or shorten what waits", "[3.8][slow][two-versions]") {
    Patient s;
    s.start();
    const std::string rung = s.rung(s.classic, "1h");
    const std::string drops = s.has_quorum_ttl() ? R"(, "overflow": "drop-head")" : "";
    policy(rung, R"({"expires": 86400000, "message-ttl": 1000, "max-length": 5)" + drops + "}", PolicyKind::policies,
           2000);
    policy(s.parking_of(s.classic), R"({"max-length": 9, "delivery-limit": 3})", PolicyKind::policies, 2000);
    policy(s.config.catch_all, R"({"max-length": 7})", PolicyKind::operator_policies);
    CommandResult result;
    // Before 4.3 the management API knows operator policies by its statistics only.
    CHECK(await(
        [&] {
            result = s.doctor();
            return result.says({"Problem: operator policy", "sets max-length 7", "'" + s.config.catch_all + "'"});
        },
        patience, milliseconds(500)));
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: policy '" + rung + "' sets expires 86400000, message-ttl 1000, max-length 5",
                       "on queue '" + rung + "'"}));
    CHECK(result.says({"Problem: policy", "sets max-length 9, delivery-limit 3", "'" + s.parking_of(s.classic) + "'"}));
    CHECK(result.says({"so that", "returns to its work queue before its delay is over"}));
    s.stop();
}

TEST_CASE("doctor: each command that it prints mends what it is printed for", "[one-version][since-3.10]") {
    Patient s;
    const std::string none = s.plain_queue("none");
    const std::string elsewhere = s.plain_queue("elsewhere");
    for (const std::string& queue : {none, elsewhere, s.queue_name("later")})
        s.retry(queue, {"1h"});
    s.mend("not-declared");
    policy(elsewhere, R"({"dead-letter-exchange": "team.dlx"})");
    s.mend("no-dead-letter-exchange");
    policy(elsewhere, R"({"dead-letter-exchange": "team.dlx"})");
    s.mend("other-dead-letter-exchange");
    s.plain_queue("later", {{"x-queue-type", longstr("quorum")}});
    s.mend("at-most-once");
    clear_policy(s.guard());
    s.mend("unguarded");
    set_policy("all", ".*", R"({"max-length": 5, "overflow": "drop-head"})", PolicyKind::policies, 3000);
    s.mend("harmful-policy");
    set_policy("limit", "^" + s.config.error_queue + "$", R"({"delivery-limit": 5})", PolicyKind::policies, 4000);
    s.mend("error-queue-limit");
    CHECK_FALSE(s.doctor().says({"Problem", "policy"}));
}

TEST_CASE(
    "doctor: with the guard that it asks for, a policy that is made for all queues deletes nothing that is parked",
    "[one-version][since-3.10]") {
    Patient s;
    s.start_unguarded();
    CHECK(s.doctor().says({"Warning: no policy of high priority guards", "[unguarded]"}));
    s.mend("unguarded");
    for (const char* body : {"1", "2", "3"})
        s.client.publish("", s.parking_of(s.classic), {.body = body});
    REQUIRE(s.await_depth(s.parking_of(s.classic), 3));
    set_policy("all", ".*", R"({"max-length": 1, "overflow": "drop-head"})", PolicyKind::policies, 10);
    for (const char* body : {"4", "5", "6"})
        s.client.publish("", s.classic, {.body = body});
    // It is in effect on the work queue: all but the last one are pushed out, and retryd parks what died of that.
    CHECK(s.await_depth(s.classic, 1));
    REQUIRE(s.await_depth(s.parking_of(s.classic), 5));
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK_FALSE(result.says({"harmful-policy"}));
    for (const char* body : {"1", "2", "3", "4", "5"}) {
        const Received parked = s.take(s.parking_of(s.classic));
        CHECK(parked.body == body);
        CHECK(text_header(parked, "retryd-parked-reason") == (body < std::string{"4"} ? "(absent)" : "reason-maxlen"));
    }
    s.stop();
}

TEST_CASE("doctor: a queue that is made later under a glob is told of until it is attached at-least-once",
          "[one-version][since-3.10]") {
    Patient s;
    s.retry(s.queue_name("late.*"), {"1h"});
    s.start();
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    const std::string late = s.plain_queue("late.one", {{"x-queue-type", longstr("quorum")}});
    const std::string told = "Warning: quorum work queue '" + late + "' does not dead-letter at-least-once";
    CHECK(s.doctor_that_says({told}).says({told}));
    s.mend("at-most-once");
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    s.stop();
}

// Before 3.10 such a policy is none for quorum queues, and nothing of it is copied.
TEST_CASE("doctor: a copy of a policy that is changed or deleted later is told, and its command mends it",
          "[one-version][since-3.10]") {
    Patient s;
    const std::string copied = s.plain_queue("copied", {{"x-queue-type", longstr("quorum")}});
    const std::string other = s.plain_queue("other");
    s.retry(copied, {"1h"});
    const auto theirs = [&](const std::string& definition) {
        set_policy("theirs", "^(" + copied + '|' + other + ")$", definition, PolicyKind::policies, 7);
    };
    theirs(R"({"message-ttl": 3600000})");
    s.start();
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    theirs(R"({"message-ttl": 7200000})");
    const std::string changed = "is a copy of policy 'theirs' as it was: message-ttl is 3600000 and would be 7200000";
    CHECK(s.doctor_that_says({"Warning: policy", changed}).says({"Warning: policy", changed}));
    s.mend("outdated-copy");
    clear_policy("theirs");
    const std::string gone =
        "is a copy of policy 'theirs', which is gone or no longer for these queues: message-ttl is 7200000";
    CHECK(s.doctor_that_says({gone}).says({gone}));
    s.mend("outdated-copy");
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    s.stop();
}

TEST_CASE("doctor: a harmful policy of the highest priority there is is lowered by the command that it prints",
          "[night]") {
    Patient s;
    s.start();
    set_policy("largest", ".*", R"({"message-ttl": 3600000})", PolicyKind::policies, 2147483647);
    s.mend("harmful-policy");
    output_of(variable("RETRYD_TEST_CTL") + " set_policy --vhost " + variable("RETRYD_TEST_VHOST") +
              " --priority=9223372036854775807 largest '.*' '{\"message-ttl\": 3600000}'");
    const std::string highest = "no policy can stand above one of the highest priority there is";
    CHECK(s.doctor_that_says({highest}).says({highest}));
    const CommandResult attach = run_retryd("attach -c " + s.daemon.config_file());
    CHECK(attach.code == 2);
    CHECK(attach.says({"Not guarded: policy 'largest' sets message-ttl 3600000"}));
    s.mend("harmful-policy");
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    s.stop();
}

TEST_CASE("doctor: an error queue without a delivery limit that a message reaches gets one by the printed command",
          "[one-version][since-3.10]") {
    Patient s;
    s.client.declare_queue(s.config.error_queue, {{"x-queue-type", longstr("quorum")},
                                                  {"x-dead-letter-exchange", longstr("")},
                                                  {"x-dead-letter-routing-key", longstr(s.config.catch_all)},
                                                  {"x-dead-letter-strategy", longstr("at-least-once")},
                                                  {"x-overflow", longstr("reject-publish")},
                                                  {"x-delivery-limit", int64(1'000'000)}});
    s.mend("not-declared");
    CHECK(s.doctor().says({"has no delivery limit that a message reaches"}));
    s.mend("error-queue-unlimited");
}

TEST_CASE("doctor: a pattern that backtracks for ever holds up nothing", "[one-version]") {
    Patient s;
    const std::string dlq = s.queue_name("an.ordinary.name.of.a.queue.in.some.shop");
    s.plain_queue("an.ordinary.name.of.a.queue.in.some.shop");
    s.retry(dlq, {"1h"});
    set_policy("slow", "^([a-z0-9]+[.-]?)+_dlq$", R"({"dead-letter-exchange": ")" + s.config.error_exchange + "\"}",
               PolicyKind::policies, 1500);
    policy(dlq, R"({"max-length": 1000})");
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == s.healthy_code());
    CHECK(run_retryd("attach -c " + s.daemon.config_file()).code == 0);
    s.stop();
}

TEST_CASE("doctor: finds a permission that the daemon's user lacks", "[one-version]") {
    Patient s;
    s.start();
    const BrokerUser user(s.queue_name("poor"), {.configure = ".*", .write = "^t", .read = ".*"});
    s.config.uris = {user.uri()};
    s.config.management_url = "";
    s.management = "management: {url: \"" + management_url() + "\", username: guest, password: guest}\n";
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: retryd's user lacks the permission to write 'amq.default'"}));
    CHECK_FALSE(result.says({"lacks the permission to read"}));
    s.mend("missing-permission");
    user.may({.write = ".*", .read = ".*"});
    const std::string lacks = "lacks the permission to configure '" + s.config.error_queue + "'";
    CHECK(s.doctor_that_says({lacks}).says({lacks}));
    s.stop();
}

TEST_CASE("doctor: the feature flag without which 3.10 dead-letters at-most-once is enabled by what it prints",
          "[own-broker][two-versions][night][every-version]") {
    if (minor_version() != Version{3, 10}) return;  // before, there is none; later it is enabled or required
    const BrokerWithoutStreams node;
    Patient s;
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: the feature flag stream_queue is disabled [disabled-feature-flag]"}));
    s.mend("disabled-feature-flag");
    CHECK(s.doctor_that_ends_with(s.healthy_code()).code == s.healthy_code());
    s.stop();
}

TEST_CASE("doctor: finds rungs that a former configuration left over", "[slow][one-version]") {
    Patient s;
    s.start();
    const std::string old = s.rung(s.classic, "1h");
    s.config.ladders.front().delays = {"2h"};
    s.reload_and_say_so();
    REQUIRE(await([&] { return s.exists(s.rung(s.classic, "2h")); }));
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Warning: rung '" + old + "' is left over [left-over-rungs]"}));
    REQUIRE(result.says({"command  retryd apply --prune -c "}));
    // It deletes a queue once the broker has counted its messages, which takes some seconds.
    CHECK(await(
        [&] {
            run_retryd("apply --prune -c " + s.daemon.config_file());
            return !s.doctor().says({"left-over-rungs"});
        },
        patience, milliseconds(1000)));
    s.stop();
}

TEST_CASE("doctor: finds RabbitMQ's own delayed retry in effect on a work queue", "[two-versions][since-4.3]") {
    Patient s;
    policy(s.quorum, R"({"delayed-retry-type": "all", "delayed-retry-min": 1000})");
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says(
        {"Warning: work queue '" + s.quorum + "' has RabbitMQ's own delayed retry in effect, of type \"all\""}));
    s.stop();
}

TEST_CASE("doctor: with AMQP alone it says what it could not see", "[one-version]") {
    Patient s;
    s.start();
    s.config.management_url = "";
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 1);
    CHECK_FALSE(result.says({"nothing found"}));
    CHECK(result.says({"cannot tell whether what work queues reject comes to retryd", "Set management.url"}));
    s.client.delete_queue(s.quorum);
    CHECK(s.doctor().says({"Warning: work queue '" + s.quorum + "' does not exist"}));
    s.stop();
}

TEST_CASE("doctor: a management API that does not let the user in leaves nothing that could be called fine",
          "[one-version]") {
    Patient s;
    s.start();
    s.config.management_url = "";
    s.management = "management: {url: \"" + management_url() + "\", username: guest, password: Geheim-7391}\n";
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 1);
    CHECK(result.says({"cannot tell whether what work queues reject comes to retryd", "guest"}));
    CHECK_FALSE(result.says({"nothing found"}));
    CHECK((result.out + result.err).find("Geheim-7391") == std::string::npos);
    s.stop();
}

// RabbitMQ 3.8 has no streams.
TEST_CASE("doctor: finds a stream in the place of a work queue, and a parking queue of an earlier RabbitMQ",
          "[two-versions][since-3.10]") {
    Patient s;
    const std::string stream = s.plain_queue("stream", {{"x-queue-type", longstr("stream")}});
    s.retry(stream, {"1h"});
    s.client.declare_queue(s.parking_of(s.classic),
                           {{"x-queue-type", longstr("quorum")}, {"x-overflow", longstr("reject-publish")}});
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: work queue '" + stream + "': a stream queue cannot dead-letter", "[stream-queue]"}));
    if (version_of(s.client) >= Version{4, 0}) {
        CHECK(result.says({s.parking_of(s.classic), "[lacks-argument]"}));
    }
    s.stop();
}

TEST_CASE("doctor: a daemon that does not answer, or is not ready, is seen", "[one-version]") {
    Patient s;
    s.config.http = "127.0.0.1:1";
    const CommandResult silent = s.doctor();
    INFO(silent.out);
    CHECK(silent.code == 2);  // nothing is declared either
    CHECK(silent.says({"cannot tell whether the daemon is well: the daemon does not answer at http://127.0.0.1:1"}));
}

TEST_CASE("doctor: where the broker or its management API cannot be reached it ends with 1, with a problem with 2",
          "[one-version]") {
    Patient s;
    s.config.management_url = "http://127.0.0.1:1";
    const CommandResult blind = s.doctor();
    CHECK(blind.code == 2);
    CHECK(blind.says({"cannot tell whether ", "cannot ask the management API at http://127.0.0.1:1"}));
    CHECK(blind.says({"Problem: error exchange"}));
    s.config.uris = {"amqp://guest:Geheim-7391@127.0.0.1:1/"};
    const CommandResult nowhere = s.doctor("--json");
    CHECK(nowhere.code == 1);
    CHECK(nowhere.says({"\"ok\": false"}));
    CHECK((nowhere.out + nowhere.err).find("Geheim-7391") == std::string::npos);
}
