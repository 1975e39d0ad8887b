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
        {"name": "a.retry.5s", "type": "quorum", "messages": 12,
         "arguments": {"x-message-ttl": 5000, "x-dead-letter-exchange": "", "odd": true, "table": {"a": 1}}},
        {"name": "new", "type": "classic", "arguments": {}}])"));
    const auto queues = client_of(server.url(), "a/b").queues();
    CHECK(server.requests() == Lines{"GET /api/queues/a%2Fb?columns=name,type,messages,arguments HTTP/1.1"});
    REQUIRE(queues.size() == 2);
    CHECK(queues[0].name == "a.retry.5s");
    CHECK(queues[0].type == "quorum");
    CHECK(queues[0].messages == 12);
    CHECK(queues[0].arguments ==
          core::Arguments{{"x-dead-letter-exchange", ""}, {"x-message-ttl", std::int64_t{5000}}});
    CHECK(queues[1].type == "classic");
    CHECK_FALSE(queues[1].messages);
    CHECK(queues[1].arguments.empty());
}

TEST_CASE("management: lists consumers with their queue and tag") {
    test::Server server(test::answer("200 OK", R"([
        {"consumer_tag": "retryd-0123", "queue": {"name": "retryd.errors", "vhost": "/"}},
        {"consumer_tag": "x", "queue": "odd"}])"));
    CHECK(client_of(server.url()).consumers() ==
          std::vector<ListedConsumer>{{"retryd.errors", "retryd-0123"}, {"", "x"}});
    CHECK(server.requests() == Lines{"GET /api/consumers/%2F HTTP/1.1"});
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

TEST_CASE("management: an exchange that is not there has no bindings, a vhost that is not there is a fault") {
    test::Server server(test::answer("404 Not Found", R"({"error":"Object Not Found","reason":"Not Found"})"));
    CHECK(client_of(server.url()).bindings_from("x").empty());
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

}  // namespace retryd::http::management_test
