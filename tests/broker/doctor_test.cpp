// `retryd doctor` against a real broker: a correct set-up, and several broken ones.
#include <sstream>

#include "support/catch.h"
#include "support/command_line.h"
#include "support/management.h"
#include "support/scenario.h"

using namespace retryd::test;

namespace {

/// A correct set-up: a classic and a quorum work queue with a rung each, and a running daemon.
struct Patient : Scenario {
    Patient() : classic(work_queue("classic")), quorum(sound_quorum_queue()) {
        config.management_url = management_url();
        retry(classic, {"1h"});
        retry(quorum, {"1h"});
    }
    /// Waits until everything is declared, which is later than that the daemon consumes.
    void start() {
        Scenario::start();
        REQUIRE(await([&] { return exists(parking_of(quorum)); }));
    }

    CommandResult doctor(const std::string& options = "") {
        daemon.write(config.yaml() + management);
        return run_retryd("doctor " + options + " -c " + daemon.config_file());
    }

    /// Sets the policies that the remedies name, as they are printed.
    void follow_remedies(const std::string& output) {
        std::istringstream lines(output);
        for (std::string line; std::getline(lines, line);) {
            const auto command = line.find("command  rabbitmqctl set_policy ");
            if (command == std::string::npos || line.find("'retryd-keeps-") == std::string::npos) continue;
            output_of(variable("RETRYD_TEST_CTL") + line.substr(command + std::string("command  rabbitmqctl").size()));
        }
    }

    std::string sound_quorum_queue() {
        if (!has_quorum_ttl()) return quorum_work_queue("quorum");
        return quorum_work_queue("quorum", {{"x-dead-letter-strategy", longstr("at-least-once")},
                                            {"x-overflow", longstr("reject-publish")}});
    }

    /// Before 3.10 there is always one warning: the broker has no safe rungs.
    int healthy_code() const { return has_quorum_ttl() ? 0 : 2; }

    std::string classic;
    std::string quorum;
    std::string management;  // more YAML
};

/// For that queue alone.
void policy(const std::string& queue, const std::string& definition, PolicyKind kind = PolicyKind::policies) {
    set_policy(queue, "^" + queue + "$", definition, kind);
}

}  // namespace

TEST_CASE("doctor: nothing is wrong with a set-up that is in order", "[3.8]") {
    Patient s;
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == s.healthy_code());
    CHECK_FALSE(result.says({"Problem: "}));
    CHECK_FALSE(result.says({"cannot tell "}));
    const CommandResult json = s.doctor("--json");
    CHECK(json.says({"\"problems\": 0"}));
    s.stop();
}

TEST_CASE("doctor: finds work queues whose rejected messages do not come to retryd") {
    Patient s;
    const std::string none = s.plain_queue("none");
    const std::string elsewhere = s.plain_queue("elsewhere");
    const std::string fixed = s.plain_queue("fixed", {{"x-dead-letter-exchange", longstr("their.dlx")}});
    const std::string absent = s.queue_name("absent");
    const std::string unsafe = s.quorum_work_queue("unsafe");
    for (const std::string& queue : {none, elsewhere, fixed, absent, unsafe})
        s.retry(queue, {"1h"});
    policy(elsewhere, R"({"dead-letter-exchange": "team.dlx"})");
    s.start();
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

TEST_CASE("doctor: finds that nothing is declared, and that nobody consumes", "[3.8]") {
    Patient s;
    const CommandResult before = s.doctor();
    INFO(before.out);
    CHECK(before.code == 2);
    CHECK(before.says({"Problem: error exchange '" + s.config.error_exchange + "' is missing"}));
    CHECK(before.says({"Problem: error queue '" + s.config.error_queue + "' is missing"}));
    CHECK(before.says({"Problem: rung '" + s.rung(s.classic, "1h") + "' is missing"}));
    REQUIRE(run_retryd("apply -c " + s.daemon.config_file()).code == 0);
    const CommandResult declared = s.doctor();
    INFO(declared.out);
    CHECK(declared.code == 2);
    CHECK(declared.says({"Problem: nobody consumes the error queue '" + s.config.error_queue + "'; 0 messages wait"}));
    CHECK(declared.says({"1 problem, " + std::string(s.has_quorum_ttl() ? "0 warnings" : "1 warning")}));
}

TEST_CASE("doctor: finds an error queue with other arguments, and one that its exchange does not lead to") {
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
    const CommandResult unbound = s.doctor();
    CHECK(unbound.says({"Problem: error binding '" + s.config.error_exchange, "is missing"}));
    s.stop();
}

TEST_CASE("doctor: finds policies that would throw away or shorten what waits, and its remedy mends that",
          "[3.8][slow]") {
    Patient s;
    s.start();
    const std::string rung = s.rung(s.classic, "1h");
    const std::string drops = s.has_quorum_ttl() ? R"(, "overflow": "drop-head")" : "";
    policy(rung, R"({"expires": 86400000, "message-ttl": 1000, "max-length": 5)" + drops + "}");
    policy(s.parking_of(s.classic), R"({"max-length": 9, "delivery-limit": 3})");
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
    if (s.has_quorum_ttl()) {
        s.follow_remedies(result.out);
        const CommandResult mended = s.doctor();
        CHECK_FALSE(mended.says({"Problem: policy"}));
        CHECK(mended.says({"Problem: operator policy"}));
    }
    s.stop();
}

TEST_CASE("doctor: finds a permission that the daemon's user lacks") {
    Patient s;
    s.start();
    const std::string user = s.queue_name("poor");
    add_user(user, "poor");
    set_permissions(user, ".*", "^t", ".*");
    Address address = broker_address();
    address.user = user;
    address.password = "poor";
    s.config.uris = {uri_of(address)};
    s.config.management_url = "";
    s.management = "management: {url: \"" + management_url() + "\", username: guest, password: guest}\n";
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says({"Problem: retryd's user lacks the permission to write 'amq.default'"}));
    CHECK_FALSE(result.says({"lacks the permission to read"}));
    set_permissions(user, "^$", ".*", ".*");
    CHECK(s.doctor().says({"lacks the permission to configure '" + s.config.error_queue + "'"}));
    delete_user(user);
    s.stop();
}

TEST_CASE("doctor: finds rungs that a former configuration left over") {
    Patient s;
    s.start();
    const std::string old = s.rung(s.classic, "1h");
    s.config.ladders.front().delays = {"2h"};
    s.reload();
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

TEST_CASE("doctor: finds RabbitMQ's own delayed retry in effect on a work queue") {
    Patient s;
    if (version_of(s.client) < Version{4, 3}) return;
    policy(s.quorum, R"({"delayed-retry-type": "all", "delayed-retry-min": 1000})");
    s.start();
    const CommandResult result = s.doctor();
    INFO(result.out);
    CHECK(result.code == 2);
    CHECK(result.says(
        {"Warning: work queue '" + s.quorum + "' has RabbitMQ's own delayed retry in effect, of type \"all\""}));
    s.stop();
}

TEST_CASE("doctor: with AMQP alone it says what it could not see") {
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

TEST_CASE("doctor: a daemon that does not answer, or is not ready, is seen") {
    Patient s;
    s.config.http = "127.0.0.1:1";
    const CommandResult silent = s.doctor();
    INFO(silent.out);
    CHECK(silent.code == 2);  // nothing is declared either
    CHECK(silent.says({"cannot tell whether the daemon is well: the daemon does not answer at http://127.0.0.1:1"}));
}

TEST_CASE("doctor: where the broker or its management API cannot be reached it ends with 1, with a problem with 2") {
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
