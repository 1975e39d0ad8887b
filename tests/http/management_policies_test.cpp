#include "http/management.h"
#include "http/server.h"
#include "support/catch.h"

namespace retryd::http::management_policies_test {
namespace {

using Answers = std::map<std::string, std::string>;

std::string fine(const std::string& body) {
    return test::answer("200 OK", body);
}

ManagementClient client_of(const test::Server& server) {
    return {{server.url(), "ops", "geheim"}, {}, "a/b"};
}

const core::BrokerPolicy policy{
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
    const core::Governance found = client_of(server).governance();
    CHECK(found.version == core::BrokerVersion{4, 0, 5});
    REQUIRE(found.policies.size() == 2);
    CHECK(found.policies[0] ==
          core::BrokerPolicy{
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

TEST_CASE("policies: without operator policies nobody is asked about old statistics") {
    const test::Server server(
        Answers{{"GET /api/overview", fine(R"({"rabbitmq_version": "4.0.5"})")}, {"GET", fine("[]")}});
    CHECK(client_of(server).governance().queues.empty());
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
    CHECK_THROWS_AS(client_of(elsewhere).governance(), Error);
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
    CHECK(unauthorised ==
          "the management API refused to set policy 'it's/\"mine\"': 401 User not authorised to access object; it was "
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

}  // namespace retryd::http::management_policies_test
