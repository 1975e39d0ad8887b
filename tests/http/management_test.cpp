// The client of the management API, against a server with fixed answers.
#include "http/management.h"

#include "http/server.h"
#include "support/catch.h"

namespace retryd::http::management_test {
namespace {

using Lines = std::vector<std::string>;

ManagementClient client_of(const std::string& url, const std::string& vhost = "/") {
    return {{url, "ops", "geheim"}, {}, vhost};
}

/// What is said when the API answers so.
std::string fault_of(const std::string& status, const std::string& body) {
    test::Server server(test::answer(status, body));
    std::string text;
    try {
        client_of(server.url(), "shop").queues();
    } catch (const Error& error) {
        text = error.what();
    }
    CHECK(text.find("geheim") == std::string::npos);
    const auto at = text.find(server.url());
    return at == std::string::npos ? text : text.replace(at, server.url().size(), "URL");
}

}  // namespace

TEST_CASE("management: lists queues with what they were declared with") {
    test::Server server(test::answer("200 OK", R"([
        {"name": "a.retry.5s", "type": "quorum", "messages": 12, "messages_ready": 7, "messages_unacknowledged": 1,
         "arguments": {"x-message-ttl": 5000, "x-dead-letter-exchange": "", "odd": true, "table": {"a": 1}},
         "message_stats": {"redeliver_details": {"rate": 120.5}, "ack_details": {"rate": 3},
                           "publish_details": {"rate": 7.5}}},
        {"name": "new", "type": "classic", "arguments": {}}])"));
    const auto queues = client_of(server.url(), "a/b").queues();
    CHECK(server.requests() ==
          Lines{"GET /api/queues/a%2Fb?columns=name,type,messages,messages_ready,messages_unacknowledged,"
                "arguments,exclusive,auto_delete,message_stats.redeliver_details.rate,"
                "message_stats.ack_details.rate,consumers,message_stats.ack,message_stats.deliver_get,"
                "message_stats.publish_details.rate,state,leader,members,online HTTP/1.1"});
    REQUIRE(queues.size() == 2);
    CHECK(queues[0].name == "a.retry.5s");
    CHECK(queues[0].type == "quorum");
    CHECK(queues[0].messages == 12);
    CHECK(queues[0].held == 4);
    CHECK(queues[0].arguments ==
          core::Arguments{{"odd", true}, {"x-dead-letter-exchange", ""}, {"x-message-ttl", std::int64_t{5000}}});
    CHECK(queues[0].redelivered_rate == 120.5);
    CHECK(queues[0].acked_rate == 3.0);
    CHECK(queues[0].published_rate == 7.5);
    CHECK(queues[0].acked == 0);
    CHECK_FALSE(queues[1].acked);
    CHECK_FALSE(queues[1].consumers);
    CHECK_FALSE(queues[1].redelivered_rate);
    CHECK(queues[1].type == "classic");
    CHECK_FALSE(queues[1].messages);
    CHECK_FALSE(queues[1].held);
    CHECK(queues[1].arguments.empty());
}

TEST_CASE("management: tells which queues have no leader, or no node, as RabbitMQ 3.10 and 4.3 say it") {
    test::Server server(test::answer("200 OK", R"([
        {"name": "3.10", "type": "quorum", "leader": null, "online": [], "members": ["rabbit@b"]},
        {"name": "3.10 minority", "type": "quorum", "leader": "rabbit@a", "online": ["rabbit@a"],
         "members": ["rabbit@a", "rabbit@b", "rabbit@c"]},
        {"name": "3.10 led", "type": "quorum", "leader": "rabbit@a", "online": ["rabbit@a", "rabbit@b"],
         "members": ["rabbit@a", "rabbit@b", "rabbit@c"]},
        {"name": "minority", "type": "quorum", "leader": "rabbit@b", "state": "minority"},
        {"name": "down", "type": "quorum", "leader": "rabbit@b", "state": "down"},
        {"name": "classic", "type": "classic", "state": "down"},
        {"name": "led", "type": "quorum", "leader": "rabbit@b", "state": "running"},
        {"name": "well", "type": "classic", "leader": "", "state": "running"},
        {"name": "odd", "type": "quorum", "leader": 1, "state": null, "members": 3, "online": []},
        {"name": "silent", "type": "quorum"}])"));
    Lines leaderless;
    for (const ListedQueue& queue : client_of(server.url(), "shop").queues())
        if (queue.leaderless) leaderless.push_back(queue.name);
    CHECK(leaderless == Lines{"3.10", "3.10 minority", "minority", "down", "classic"});
}

TEST_CASE("management: a queue that is listed as running while its leader's node is away has no leader") {
    // As 4.3.6 listed it 30 s after rabbit@c was lost.
    const std::string queues = test::answer("200 OK", R"([
        {"consumers": 0, "leader": "rabbit@c", "members": ["rabbit@b", "rabbit@c"], "messages": 0, "name": "away",
         "online": ["rabbit@b", "rabbit@c"], "state": "running", "type": "quorum", "vhost": "shop"},
        {"name": "led", "type": "quorum", "leader": "rabbit@a", "state": "running"},
        {"name": "classic", "type": "classic", "state": "running"}])");
    const auto leaderless_where = [&](const std::string& nodes) {
        test::Server server({{"GET /api/queues/", queues}, {"GET /api/nodes", nodes}});
        Lines leaderless;
        for (const ListedQueue& queue : client_of(server.url(), "shop").queues_with_leaders())
            if (queue.leaderless) leaderless.push_back(queue.name);
        return leaderless;
    };
    CHECK(leaderless_where(test::answer("200 OK", R"([{"name": "rabbit@c", "running": false}, 1, {"running": false},
        {"name": "rabbit@a", "running": true}, {"name": "rabbit@b"}])")) == Lines{"away"});
    for (const char* const status : {"401 Unauthorized", "404 Not Found", "500 Internal Server Error", "302 Found"})
        CHECK(leaderless_where(test::answer(status, "{}")).empty());
    CHECK(leaderless_where(test::answer("200 OK", "not JSON")).empty());
}

TEST_CASE("management: tells what is counted of a queue, as far as anything is") {
    test::Server server(test::answer("200 OK", R"({"messages_unacknowledged": 3, "message_stats":
        {"deliver": 100, "get": 5, "redeliver": 7, "ack": 90, "deliver_details": {"rate": 0.0}}})"));
    CHECK(client_of(server.url(), "a/b").counters("we b") == core::QueueCounters{105, 7, 90, 3});
    CHECK(server.requests() ==
          Lines{"GET /api/queues/a%2Fb/we%20b?columns=message_stats,messages_unacknowledged HTTP/1.1"});
    test::Server uncounted(test::answer("200 OK", R"({"message_stats": "odd"})"));
    CHECK(client_of(uncounted.url()).counters("q") == core::QueueCounters{});
    test::Server none(test::answer("404 Not Found", "{}"));
    CHECK_FALSE(client_of(none.url()).counters("q"));
    test::Server broken(test::answer("500 Oops", ""));
    CHECK_THROWS_AS(client_of(broken.url()).counters("q"), Error);
}

TEST_CASE("management: lists consumers with their queue and tag") {
    test::Server server(test::answer("200 OK", R"([
        {"consumer_tag": "retryd-0123", "queue": {"name": "retryd.errors", "vhost": "/"}, "ack_required": true},
        {"consumer_tag": "careless", "queue": {"name": "work", "vhost": "/"}, "ack_required": false},
        {"consumer_tag": "x", "queue": "odd"}])"));
    CHECK(client_of(server.url()).consumers() ==
          std::vector<ListedConsumer>{{"retryd.errors", "retryd-0123"}, {"work", "careless", false}, {"", "x"}});
    CHECK(server.requests() == Lines{"GET /api/consumers/%2F HTTP/1.1"});
}

TEST_CASE("management: a consumer without a channel, with a number for a tag, speaks AMQP 1.0") {
    test::Server server(test::answer("200 OK", R"([
        {"consumer_tag": "0", "queue": {"name": "a"}, "channel_details": {}},
        {"consumer_tag": "0", "queue": {"name": "b"}, "channel_details": []},
        {"consumer_tag": "0", "queue": {"name": "c"}, "channel_details": {"name": "x"}},
        {"consumer_tag": "0x", "queue": {"name": "d"}, "channel_details": {}},
        {"consumer_tag": "", "queue": {"name": "e"}, "channel_details": {}},
        {"consumer_tag": "0", "queue": {"name": "f"}}])"));
    std::string found;
    for (const ListedConsumer& consumer : client_of(server.url()).consumers())
        if (consumer.amqp10) found += consumer.queue;
    CHECK(found == "ab");
}

TEST_CASE("management: lists where producers of AMQP 1.0 send to, as far as our user may see them") {
    test::Server server(test::answer("200 OK", R"([
        {"name": "a -> b", "protocol": "AMQP 1-0", "incoming_links": [{"target_address": "/queues/q"}, 7]},
        {"name": "c", "protocol": "AMQP 0-9-1"}, "odd"])"));
    CHECK(client_of(server.url()).amqp10_targets() == Lines{"/queues/q"});
    CHECK(server.requests() == Lines{"GET /api/vhosts/%2F/connections?columns=name,protocol HTTP/1.1",
                                     "GET /api/connections/a%20-%3E%20b/sessions HTTP/1.1"});
    test::Server refused(test::answer("401 Unauthorized", "{}"));
    CHECK(client_of(refused.url()).amqp10_targets().empty());
    test::Server none(test::answer("404 Not Found", "{}"));
    CHECK(client_of(none.url()).amqp10_targets().empty());
}

TEST_CASE("management: lists the queues that are bound to an exchange") {
    test::Server server(test::answer("200 OK", R"([
        {"source": "retryd.return", "destination": "email", "destination_type": "queue", "routing_key": "",
         "arguments": {"retryd-queue": "email", "x-match": "all"}},
        {"source": "retryd.return", "destination": "other", "destination_type": "exchange", "routing_key": "a",
         "arguments": {}}])"));
    CHECK(client_of(server.url()).bindings_from("retryd.return") ==
          std::vector<core::BindingSpec>{
              {"email", "retryd.return", "", {{"retryd-queue", "email"}, {"x-match", "all"}}}});
    CHECK(server.requests() == Lines{"GET /api/exchanges/%2F/retryd%2Ereturn/bindings/source HTTP/1.1"});
}

TEST_CASE("management: tells the type of an exchange") {
    test::Server server(test::answer("200 OK", R"({"name": "dlx", "type": "topic"})"));
    CHECK(client_of(server.url()).exchange_type("dlx") == "topic");
    CHECK(server.requests() == Lines{"GET /api/exchanges/%2F/dlx HTTP/1.1"});
}

TEST_CASE(
    "management: an exchange that is not there has no bindings and no type, a vhost that is not there is a fault") {
    test::Server server(test::answer("404 Not Found", R"({"error":"Object Not Found","reason":"Not Found"})"));
    CHECK(client_of(server.url()).bindings_from("x").empty());
    CHECK(client_of(server.url()).exchange_type("x").empty());
    CHECK_THROWS_AS(client_of(server.url()).queues(), Error);
    CHECK_THROWS_AS(client_of(server.url()).consumers(), Error);
    CHECK(fault_of("404 Not Found", "{}").find("the management API at URL knows no vhost 'shop'; ") == 0);
}

TEST_CASE("management: says why it was not let in, and how to get in") {
    CHECK(fault_of("401 Unauthorized", R"({"error":"not_authorised","reason":"Not management user"})") ==
          "the management API at URL does not let user 'ops' in: 401 Not management user; what only the management API "
          "can tell is missing. Check management.username and its password; the user needs the tag management and "
          "access to the vhost (rabbitmqctl set_user_tags, set_permissions)");
    CHECK(fault_of("401 Unauthorized", "no").find("in: 401; ") != std::string::npos);
}

TEST_CASE("management: what is not the API is told apart from it") {
    for (const char* body : {"<html></html>", "", "{}", "[", "7"}) {
        CAPTURE(body);
        CHECK(fault_of("200 OK", body).find("what answers at URL is not RabbitMQ's management API; ") == 0);
    }
    CHECK(fault_of("301 Moved Permanently", "").find("HTTP status 301, a redirect, and none is followed; ") !=
          std::string::npos);
    CHECK(fault_of("500 Internal Server Error", "").find("answered with HTTP status 500; ") != std::string::npos);
}

TEST_CASE("management: what a busy node fails to answer is asked again, and not for ever") {
    const std::string failed = test::answer("500 Internal Server Error", "{}");
    test::Server busy(test::answer("200 OK", "[]"));
    busy.answer_first({failed, failed});
    CHECK(client_of(busy.url()).consumers().empty());
    CHECK(busy.requests().size() == 3);
    test::Server broken(failed);
    CHECK_THROWS_AS(client_of(broken.url()).consumers(), Error);
    CHECK(broken.requests().size() == 3);
    test::Server refusing(test::answer("503 Service Unavailable", "{}"));
    CHECK_THROWS_AS(client_of(refusing.url()).consumers(), Error);
    CHECK(refusing.requests().size() == 1);
}

TEST_CASE("management: who cannot be reached is named, without the password") {
    std::string text;
    try {
        client_of("http://127.0.0.1:1").queues();
    } catch (const Error& error) {
        text = error.what();
    }
    CHECK(text.find("cannot ask the management API at http://127.0.0.1:1: ") == 0);
    CHECK(text.find("rabbitmq-plugins enable rabbitmq_management") != std::string::npos);
    CHECK(text.find("geheim") == std::string::npos);
}

TEST_CASE("management: odd items are passed over") {
    test::Server server(test::answer("200 OK", R"([7, null, {"name": 7, "messages": "many", "arguments": []}])"));
    const auto queues = client_of(server.url()).queues();
    REQUIRE(queues.size() == 1);
    CHECK(queues[0].name.empty());
    CHECK_FALSE(queues[0].messages);
}

// ── Policies ───────────────────────────────────────────────────────────────────────────────────────────────────────

namespace {

using Answers = std::map<std::string, std::string>;

std::string fine(const std::string& body) {
    return test::answer("200 OK", body);
}

ManagementClient client_of(const test::Server& server) {
    return {{server.url(), "ops", "geheim"}, {}, "a/b"};
}

const admin::BrokerPolicy policy{
    "it's/\"mine\"", R"(^(a\.b)$)", "queues", {{"dead-letter-exchange", "\"retryd.errors\""}, {"max-length", "5"}}, -1};

/// What is said when setting a policy is answered so.
std::string refusal(const std::string& status, const std::string& body) {
    test::Server server(test::answer(status, body));
    try {
        client_of(server).set_policy(policy);
    } catch (const Error& error) {
        CHECK(std::string{error.what()}.find("geheim") == std::string::npos);
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("policies: all of a vhost, and which of them is in effect where") {
    const test::Server server(Answers{
        {"GET /api/overview", fine(R"({"rabbitmq_version": "4.0.5"})")},
        {"GET /api/policies/a%2Fb", fine(R"([
            {"vhost": "a/b", "name": "team", "pattern": "^t", "apply-to": "all", "priority": -2,
             "definition": {"max-length": 1000, "dead-letter-exchange": "x\"y", "odd": [true, {"a": 1}]}},
            {"name": "plain"}])")},
        {"GET /api/operator-policies/a%2Fb", fine(R"([{"name": "cap", "definition": {"max-length": 9}}])")},
        {"GET /api/queues/a%2Fb?columns=name,operator_policy", fine(R"([{"name": "t", "operator_policy": "cap"}])")},
        {"GET /api/queues/a%2Fb?disable_stats=true", fine(R"([
            {"name": "t", "type": "quorum", "arguments": {"x-max-length": 7}, "exclusive": false, "policy": "team"},
            {"name": "u", "type": "classic", "arguments": {}, "exclusive": true, "policy": null}])")},
    });
    const admin::VhostPolicies found = client_of(server).vhost_policies();
    CHECK(found.version == core::BrokerVersion{4, 0, 5});
    REQUIRE(found.policies.size() == 2);
    CHECK(found.policies[0] ==
          admin::BrokerPolicy{
              "team",
              "^t",
              "all",
              {{"dead-letter-exchange", R"("x\"y")"}, {"max-length", "1000"}, {"odd", R"([true,{"a":1}])"}},
              -2});
    CHECK(found.policies[1].definition.empty());
    REQUIRE(found.operator_policies.size() == 1);
    REQUIRE(found.queues.size() == 2);
    CHECK(found.queues[0].type == "quorum");
    CHECK(found.queues[0].policy == "team");
    CHECK(found.queues[0].operator_policy == "cap");
    CHECK(found.queues[0].arguments == core::Arguments{{"x-max-length", std::int64_t{7}}});
    CHECK_FALSE(found.queues[0].exclusive);
    CHECK(found.queues[1].policy.empty());
    CHECK(found.queues[1].operator_policy.empty());
    CHECK(found.queues[1].exclusive);
}

TEST_CASE("management: the broker's clock, where it tells") {
    const test::Server told(
        "HTTP/1.1 200 OK\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    CHECK(client_of(told.url()).clock() == core::WallTime{std::chrono::seconds{1'700'000'000}});
    CHECK(told.requests() == Lines{"GET /api/whoami HTTP/1.1"});
    const test::Server odd("HTTP/1.1 200 OK\r\nDate: teatime\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    CHECK_FALSE(client_of(odd.url()).clock());
    const test::Server silent(test::answer("200 OK", "{}"));
    CHECK_FALSE(client_of(silent.url()).clock());
}

TEST_CASE("management: a policy may have any number as its priority") {
    const auto priority = [](const std::string& number) {
        const test::Server server(std::map<std::string, std::string>{
            {"GET /api/overview", test::answer("200 OK", R"({"rabbitmq_version": "4.3.6"})")},
            {"GET /api/policies", test::answer("200 OK", R"([{"name": "p", "pattern": "", "apply-to": "all",
             "definition": {}, "priority": )" + number + "}]")},
            {"GET /api/", test::answer("200 OK", "[]")}});
        return client_of(server.url()).vhost_policies().policies.at(0).priority;
    };
    CHECK(priority("-5") == -5);
    CHECK(priority("1.5") == 2);
    CHECK(priority("9223372036854775807") == admin::highest_priority);
    CHECK(priority("9223372036854775808") == admin::highest_priority);
    CHECK(priority("123456789012345678901234567890") == admin::highest_priority);
    CHECK(priority("-1e300") < -1'000'000);
}

TEST_CASE("management: the alarms of all nodes, where they can be seen") {
    const test::Server none(test::answer("200 OK", R"({"status": "ok"})"));
    CHECK(client_of(none.url()).alarms() == std::vector<NodeAlarm>{});
    CHECK(none.requests() == Lines{"GET /api/health/checks/alarms HTTP/1.1"});
    const test::Server some(test::answer("503 Service Unavailable", R"({"status": "failed", "reason": "in effect",
        "alarms": [{"node": "rabbit@a", "resource": "memory"}, 7, {"node": "rabbit@b", "resource": "disk"}]})"));
    CHECK(client_of(some.url()).alarms() == std::vector<NodeAlarm>{{"rabbit@a", "memory"}, {"rabbit@b", "disk"}});
    const test::Server unknown(test::answer("404 Not Found", "{}"));
    CHECK_FALSE(client_of(unknown.url()).alarms());
    const test::Server denied(test::answer("401 Unauthorized", "{}"));
    CHECK_FALSE(client_of(denied.url()).alarms());
    const test::Server odd(test::answer("200 OK", "<html>"));
    CHECK_THROWS_AS(client_of(odd.url()).alarms(), Error);
    const test::Server old(std::map<std::string, std::string>{
        {"GET /api/health/checks/alarms", test::answer("404 Not Found", "{}")},
        {"GET /api/nodes", test::answer("200 OK", R"([{"name": "rabbit@a", "mem_alarm": false, "disk_free_alarm": true},
            7, {"name": "rabbit@b", "mem_alarm": true}, {"name": "rabbit@c"}])")}});
    CHECK(client_of(old.url()).alarms() == std::vector<NodeAlarm>{{"rabbit@a", "disk"}, {"rabbit@b", "memory"}});
}

TEST_CASE("policies: without operator policies nobody is asked about old statistics") {
    const test::Server server(
        Answers{{"GET /api/overview", fine(R"({"rabbitmq_version": "4.0.5"})")}, {"GET", fine("[]")}});
    CHECK(client_of(server).vhost_policies().queues.empty());
    for (const std::string& request : server.requests())
        CHECK(request.find("columns=name,operator_policy") == std::string::npos);
    CHECK(server.requests().size() == 4);
}

TEST_CASE("policies: what is not a broker's overview, or another vhost, is a fault") {
    const test::Server nameless(fine("{}"));
    CHECK_THROWS_AS(client_of(nameless).version(), Error);
    const test::Server list(fine("[]"));
    CHECK_THROWS_AS(client_of(list).version(), Error);
    const test::Server elsewhere(Answers{{"GET /api/overview", fine(R"({"rabbitmq_version": "4.0.5"})")},
                                         {"GET", test::answer("404 Not Found", R"({"error":"Object Not Found"})")}});
    CHECK_THROWS_AS(client_of(elsewhere).vhost_policies(), Error);
}

TEST_CASE("policies: one is set as it is, whatever is in its name") {
    for (const char* status : {"201 Created", "204 No Content"}) {
        const test::Server server(test::answer(status, ""));
        client_of(server).set_policy(policy);
        CHECK(server.requests() == std::vector<std::string>{"PUT /api/policies/a%2Fb/it%27s%2F%22mine%22 HTTP/1.1"});
        CHECK(server.last_body() == R"({"pattern":"^(a\\.b)$","apply-to":"queues","priority":-1,)"
                                    R"("definition":{"dead-letter-exchange": "retryd.errors", "max-length": 5}})");
    }
}

TEST_CASE("policies: a refusal says why, and who may set it") {
    const std::string unauthorised =
        refusal("401 Unauthorized", R"({"error":"not_authorised","reason":"User not authorised to access object"})");
    CHECK(
        unauthorised ==
        "the management API refused to set policy 'it\\'s/\"mine\"': 401 User not authorised to access object; it was "
        "not set. User 'ops' needs the tag policymaker (rabbitmqctl set_user_tags) and access to the vhost; or let "
        "somebody who may run the rabbitmqctl command");
    CHECK(refusal("403 Forbidden", "").find("policymaker") != std::string::npos);
    CHECK(refusal("400 Bad Request", R"({"error":"bad_request","reason":"Validation failed"})")
              .find("400 Validation failed; it was not set. ") != std::string::npos);
    CHECK(refusal("500 Internal Server Error", "").ends_with("': 500"));
    CHECK(refusal("200 OK", "[]").ends_with("': 200"));
}

TEST_CASE("policies: who cannot be reached while setting one is named") {
    const ManagementClient nowhere({"http://127.0.0.1:1", "ops", "geheim"}, {}, "/");
    std::string text;
    try {
        nowhere.set_policy(policy);
    } catch (const Error& error) {
        text = error.what();
    }
    CHECK(text.find("cannot ask the management API at http://127.0.0.1:1: ") == 0);
}

// ── Permissions and feature flags ──────────────────────────────────────────────────────────────────────────────────

TEST_CASE("rights: the permissions of a user, or that there are none, or that nobody says") {
    const test::Server server(test::answer("200 OK", R"({"user": "x", "configure": "^c", "write": "^w", "read": ""})"));
    CHECK(client_of(server).permissions("it's") == admin::Permissions{"^c", "^w", ""});
    CHECK(server.requests() == std::vector<std::string>{"GET /api/permissions/a%2Fb/it%27s HTTP/1.1"});
    CHECK(client_of(test::Server(test::answer("404 Not Found", "{}"))).permissions("x") == admin::Permissions{});
    for (const char* status : {"401 Unauthorized", "403 Forbidden"})
        CHECK_FALSE(client_of(test::Server(test::answer(status, "{}"))).permissions("x"));
    CHECK_THROWS_AS(client_of(test::Server(test::answer("500 Oops", ""))).permissions("x"), Error);
}

TEST_CASE("rights: the permissions of all users, or that nobody says") {
    const test::Server server(test::answer("200 OK", R"([
        {"user": "x", "vhost": "a/b", "configure": "^c", "write": "^w", "read": ""}, 7, {"user": 1}])"));
    CHECK(client_of(server).user_permissions() ==
          std::vector<admin::UserPermissions>{{"x", {"^c", "^w", ""}}, {"", {"", "", ""}}});
    CHECK(server.requests() == std::vector<std::string>{"GET /api/vhosts/a%2Fb/permissions HTTP/1.1"});
    for (const char* status : {"401 Unauthorized", "403 Forbidden", "404 Not Found"})
        CHECK_FALSE(client_of(test::Server(test::answer(status, "{}"))).user_permissions());
}

TEST_CASE("rights: the feature flags that are disabled, or that nobody says") {
    const test::Server server(test::answer("200 OK", R"([
        {"name": "stream_queue", "state": "disabled"}, {"name": "other", "state": "enabled"}, 7])"));
    CHECK(client_of(server).disabled_feature_flags() == std::vector<std::string>{"stream_queue"});
    CHECK_FALSE(client_of(test::Server(test::answer("401 Unauthorized", "{}"))).disabled_feature_flags());
    CHECK_FALSE(client_of(test::Server(test::answer("404 Not Found", "{}"))).disabled_feature_flags());
}

}  // namespace retryd::http::management_test
