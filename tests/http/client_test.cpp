// The HTTP client, against a server in this process.
#include "http/client.h"

#include <cstdlib>

#include "http/server.h"
#include "support/catch.h"

namespace retryd::http::client_test {
namespace {

Request request_to(const std::string& url) {
    Request request;
    request.url = url;
    request.username = "ops";
    request.password = "geheim";
    return request;
}

std::string fault_of(const Request& request) {
    try {
        get(request);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("get: asks with basic authentication and hands on what comes") {
    test::Server server(test::answer("404 Not Found", "{}"));
    const Response response = get(request_to(server.url() + "/api/queues/%2F?columns=name"));
    CHECK(response.status == 404);
    CHECK(response.body == "{}");
    CHECK(server.requests() == std::vector<std::string>{"GET /api/queues/%2F?columns=name HTTP/1.1"});
    CHECK(server.last().find("Authorization: Basic b3BzOmdlaGVpbQ==") != std::string::npos);
}

TEST_CASE("put: sends its body as JSON, and hands on what comes") {
    test::Server server(test::answer("201 Created", ""));
    CHECK(put(request_to(server.url() + "/api/policies/%2F/a"), "{\"a\": 1}").status == 201);
    CHECK(server.requests() == std::vector<std::string>{"PUT /api/policies/%2F/a HTTP/1.1"});
    CHECK(server.last().find("Authorization: Basic b3BzOmdlaGVpbQ==") != std::string::npos);
    CHECK(server.last().find("Content-Type: application/json\r\n") != std::string::npos);
    CHECK(server.last_body() == "{\"a\": 1}");
}

TEST_CASE("get: follows no redirect") {
    test::Server elsewhere(test::answer("200 OK", "[]"));
    test::Server server("HTTP/1.1 302 Found\r\nLocation: " + elsewhere.url() + "/\r\nContent-Length: 0\r\n\r\n");
    CHECK(get(request_to(server.url())).status == 302);
    CHECK(elsewhere.requests().empty());
}

TEST_CASE("get: asks no proxy, not even one of the environment") {
    test::Server proxy(test::answer("200 OK", "proxied"));
    test::Server server(test::answer("200 OK", "direct"));
    setenv("http_proxy", proxy.url().c_str(), 1);
    const Response response = get(request_to(server.url()));
    unsetenv("http_proxy");
    CHECK(response.body == "direct");
    CHECK(proxy.requests().empty());
}

TEST_CASE("get: an answer may be as large as it may be, and no larger") {
    test::Server server(test::answer("200 OK", std::string(1000, 'x')));
    Request request = request_to(server.url());
    request.largest_body = 1000;
    CHECK(get(request).body.size() == 1000);
    request.largest_body = 999;
    CHECK(fault_of(request) == "the answer is larger than 999 bytes");
}

TEST_CASE("get: what never answers is given up, what is not there is told") {
    test::Server server("");
    Request request = request_to(server.url());
    request.timeout = std::chrono::milliseconds{100};
    CHECK(fault_of(request).find("timed out") != std::string::npos);
    CHECK_FALSE(fault_of(request_to("http://127.0.0.1:1")).empty());
    CHECK_FALSE(fault_of(request_to("file:///etc/hostname")).empty());
}

TEST_CASE("get: an answer that breaks off is no answer") {
    test::Server server("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[]");
    CHECK_FALSE(fault_of(request_to(server.url())).empty());
}

TEST_CASE("get: a segment of a path has nothing in it that means something there") {
    CHECK(percent_encoded("/") == "%2F");
    CHECK(percent_encoded("a-b_c~1") == "a-b_c~1");
    CHECK(percent_encoded("..") == "%2E%2E");
    CHECK(percent_encoded("a b?c#\xc3\xa9") == "a%20b%3Fc%23%C3%A9");
}

}  // namespace retryd::http::client_test
