// Every read-only command, on set-ups that are broken in one way: it reports what it can, and does not hang, crash or
// make anything worse.
#include <functional>

#include "support/broker_user.h"
#include "support/catch.h"
#include "support/command_line.h"
#include "support/management.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

struct Expected {
    std::string command;
    int code = 0;
    std::vector<std::string> says = {};  // on standard output or error, each somewhere
};

/// A work queue with one rung and a message that is parked.
struct Setup : Scenario {
    Setup() : work(work_queue("work")) {
        config.management_url = retryd::test::management_url();
        retry(work, {"1h"});
        entry().on = "{rejected: park}";
    }

    /// Starts the daemon, which declares the rest beside its work, and has one message parked.
    void make() {
        start();
        await_declared();
        client.publish("", work, {.body = "m"});
        Worker worker(work);
        worker.reject(worker.receive());
        REQUIRE(await_depth(parking_of(work), 1));
    }

    void check(const std::vector<Expected>& all) {
        daemon.write(config.yaml());
        for (const Expected& expected : all) {
            const CommandResult result = run_retryd(expected.command + " -c " + daemon.config_file());
            INFO("retryd " << expected.command << "\n" << result.out << result.err);
            CHECK(result.code == expected.code);
            for (const std::string& text : expected.says) {
                CAPTURE(text);
                CHECK((result.out + result.err).find(text) != std::string::npos);
            }
            CHECK((result.out + result.err).find("s3cret") == std::string::npos);
        }
    }

    /// What every command must say if the broker does not answer.
    void check_all_fail(const std::string& text) {
        for (const char* const command : {"plan", "apply", "doctor", "status", "parked list", "parked show",
                                          "parked replay --all --dry-run", "parked drop --all --dry-run"})
            check({{command, 1, {text}}});
    }

    std::string named() const { return "'" + work + "'"; }

    std::string work;
};

}  // namespace

TEST_CASE("broken: the work queue has no dead-letter exchange", "[one-version]") {
    Setup s;
    s.start();
    s.retry(s.plain_queue("bare"), {"1h"});
    s.check({{"doctor", 2, {"has no dead-letter exchange in effect", "remedy"}},
             {"attach", 2, {"rabbitmqctl set_policy", "bare"}},
             {"status", 0, {"bare"}},
             {"parked list", 0}});
    s.stop();
}

TEST_CASE("broken: the dead-letter exchange is somebody else's, by an argument", "[one-version]") {
    Setup s;
    s.start();
    s.retry(s.plain_queue("fixed", {{"x-dead-letter-exchange", longstr("their.dlx")}}), {"1h"});
    s.check({{"doctor", 2, {"\"their.dlx\" is fixed by argument", "errors.bind"}},
             {"attach", 2, {"errors.bind"}},
             {"status", 0},
             {"parked list", 0}});
    s.stop();
}

TEST_CASE("broken: nothing is declared", "[one-version]") {
    Setup s;
    s.retry(s.plain_queue("bare"), {"1h"});
    s.check({{"plan", 2, {"missing"}},
             {"doctor", 2, {s.config.error_queue}},
             {"attach --apply", 1, {"nothing was set", "Run retryd apply first"}},
             {"status", 0, {"not there"}},
             {"parked list", 0, {"Nothing is parked"}},
             {"parked replay --all", 0}});
    CHECK_FALSE(s.exists(s.parking_of(s.work)));
}

TEST_CASE("broken: the error exchange is gone", "[one-version]") {
    Setup s;
    s.make();
    s.stop();
    s.client.delete_exchange(s.config.error_exchange);
    s.check({{"plan", 2, {"missing"}},
             {"doctor", 2, {s.config.error_exchange}},
             {"status", 0},
             {"parked list", 0, {"1"}},
             {"parked replay --all", 1, {s.config.error_exchange}}});
    CHECK(s.await_depth(s.parking_of(s.work), 1));
}

TEST_CASE("broken: no daemon runs", "[one-version]") {
    Setup s;
    s.make();
    s.stop();
    s.check({{"plan", 0},
             {"doctor", 2, {"nobody consumes"}},
             {"status", 0, {"Error queue"}},
             {"parked list", 0, {s.work}}});
}

TEST_CASE("broken: a rung and a parking queue have other arguments", "[one-version]") {
    Setup s;
    const std::string other = s.work_queue("other");
    s.plain_queue("other.retry.1h", {{"x-message-ttl", int64(1000)}});
    s.plain_queue("other.parked", {{"x-max-length", int64(5)}});
    s.retry(other, {"1h"});
    s.start();
    s.check({{"plan", 2, {"different", "x-message-ttl"}},
             {"apply", 1, {"different"}},
             {"doctor", 2, {other}},
             {"status", 0},
             {"parked list", 0}});
    s.stop();
}

TEST_CASE("broken: the password is wrong", "[one-version]") {
    Setup s;
    Address address = broker_address();
    address.password = "s3cret";
    s.config.uris = {uri_of(address)};
    s.check_all_fail("ACCESS_REFUSED");
}

TEST_CASE("broken: the vhost does not exist", "[one-version]") {
    Setup s;
    Address address = broker_address();
    address.vhost = "nowhere";
    s.config.uris = {uri_of(address)};
    s.check_all_fail("nowhere");
}

TEST_CASE("broken: nothing listens where the broker should be", "[one-version]") {
    Setup s;
    Address address = broker_address();
    address.port = 1;
    s.config.uris = {uri_of(address)};
    s.check_all_fail(":1");
}

TEST_CASE("broken: the management API does not answer", "[one-version]") {
    Setup s;
    s.make();
    s.config.management_url = "http://127.0.0.1:1";
    s.check({{"plan", 1, {"127.0.0.1:1"}},
             {"doctor", 1, {"127.0.0.1:1"}},
             {"attach", 1, {"127.0.0.1:1"}},
             {"status", 0, {s.work}},
             {"parked list", 0, {s.work}},
             {"parked replay --all --dry-run", 0, {"1"}}});
    s.stop();
}

TEST_CASE("broken: the user may do nothing", "[one-version]") {
    Setup s;
    s.make();
    const BrokerUser user(s.queue_name("user"));
    s.config.uris = {user.uri()};
    s.check({{"apply", 1, {"access to"}},
             {"status", 0, {s.work}},
             {"parked list", 1, {"access to"}},
             {"parked replay --all", 1, {"access to"}}});
    CHECK(s.await_depth(s.parking_of(s.work), 1));
    s.stop();
}

TEST_CASE("broken: the work queue of a parked message is gone", "[one-version]") {
    Setup s;
    s.make();
    s.client.delete_queue(s.work);
    s.check({{"doctor", 2, {"does not exist"}},
             {"parked list", 0, {s.work}},
             {"parked replay --all", 1, {s.work, "does not exist"}}});
    CHECK(s.await_depth(s.parking_of(s.work), 1));
    s.stop();
}

TEST_CASE("broken: the configuration is wrong", "[one-version]") {
    Setup s;
    s.config.entries.front().ladder = "nowhere";
    for (const char* const command :
         {"check", "plan", "apply", "attach", "doctor", "status", "parked list", "parked replay --all"})
        s.check({{command, 78, {"nowhere"}}});
}
