// Sessions, guesses, and which requests are the page's own: without a socket or a clock.

#include "daemon/desk_gate.h"

#include <set>

#include "support/catch.h"

namespace retryd::daemon::desk_gate_test {
namespace {

using core::Milliseconds;
using core::SteadyTime;

constexpr SteadyTime start{};
constexpr Milliseconds second{1'000};

/// Different each time, and known.
DeskSessions::RandomHex counting_hex() {
    return [n = 0](std::size_t bytes) mutable { return std::string(2 * bytes - 1, 'a') + std::to_string(n++ % 10); };
}

http::WebRequest with(const std::map<std::string, std::string>& headers) {
    http::WebRequest request{"POST", "/api/session", "127.0.0.1", "", headers};
    request.headers.emplace("host", "127.0.0.1:9467");
    return request;
}

std::string refusal_of(const std::map<std::string, std::string>& headers, const std::string& listen = "127.0.0.1") {
    const auto refusal = refuse_foreign(with(headers), listen);
    return refusal ? refusal->code : "";
}

}  // namespace

TEST_CASE("a secret is compared whole, and an empty one is nobody's") {
    CHECK(same_secret("geheim", "geheim"));
    for (const char* wrong : {"", "geheix", "xeheim", "gehei", "geheimm", "geheimgeheim"})
        CHECK_FALSE(same_secret(wrong, "geheim"));
    CHECK_FALSE(same_secret("", ""));
}

TEST_CASE("five wrong passwords are free, then each costs a wait that grows to a minute; the right one ends that") {
    GuessLimit limit;
    SteadyTime now = start;
    for (int i = 0; i < 4; ++i)
        limit.wrong(now);
    CHECK(limit.wait(now) == Milliseconds::zero());
    for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60}) {
        limit.wrong(now);
        CHECK(limit.wait(now) == seconds * second);
        now += seconds * second;
        CHECK(limit.wait(now) == Milliseconds::zero());
    }
    limit.right();
    limit.wrong(now);
    CHECK(limit.wait(now) == Milliseconds::zero());
}

TEST_CASE("a session has a new id each time, lasts as long as it is told, and ends with its password") {
    DeskSessions sessions(counting_hex());
    sessions.use("geheim");
    const std::string one = sessions.begin(second, start).id;
    const std::string two = sessions.begin(10 * second, start).id;
    CHECK(one != two);
    CHECK(one.size() == 64);
    REQUIRE(sessions.find(one, start) != nullptr);
    CHECK(sessions.find(one, start)->csrf != one);
    CHECK(sessions.find(one, start + second) == nullptr);
    CHECK(sessions.find(two, start + second) != nullptr);
    CHECK(sessions.find("", start) == nullptr);
    sessions.use("geheim");
    CHECK(sessions.find(two, start) != nullptr);
    sessions.use("another");
    CHECK(sessions.find(two, start) == nullptr);
    CHECK(sessions.right_password("another"));
    CHECK_FALSE(sessions.right_password("geheim"));
}

TEST_CASE("who signs out is signed out, and of too many sessions the oldest ends") {
    DeskSessions sessions([n = 1'000](std::size_t) mutable { return std::to_string(n++); });
    const std::string first = sessions.begin(second, start).id;
    const std::string other = sessions.begin(second, start).id;
    sessions.end(other);
    CHECK(sessions.find(other, start) == nullptr);
    for (std::size_t i = 0; i < DeskSessions::most; ++i)
        sessions.begin(second, start);
    CHECK(sessions.size() == DeskSessions::most);
    CHECK(sessions.find(first, start) == nullptr);
}

TEST_CASE("the Host of a request has to be this machine, or what http.listen names") {
    for (const char* own : {"localhost", "LocalHost:1", "127.0.0.1:9467", "127.8.8.8", "[::1]", "[::1]:9467"})
        CHECK(is_own_host(own, "127.0.0.1"));
    for (const char* foreign :
         {"", "evil.example", "evil.example:9467", "127.0.0.1.evil.example", "localhost.evil", "[::2]", "127.0.0.1:x",
          "127.0.0.1@evil", "[::1]x", "[::1", "0.0.0.0", "localhost:80:80"})
        CHECK_FALSE(is_own_host(foreign, "127.0.0.1"));
    CHECK(is_own_host("desk.test:1", "desk.test"));
}

TEST_CASE("a page of another origin, or behind a rebound name, is refused whatever it says of proxies") {
    CHECK(refusal_of({}).empty());
    CHECK(refusal_of({{"origin", "http://127.0.0.1:9467"}}).empty());
    CHECK(refusal_of({{"origin", "http://127.0.0.1:9467"}, {"sec-fetch-site", "same-origin"}}).empty());
    CHECK(refusal_of({{"sec-fetch-site", "none"}}).empty());
    for (const char* origin : {"http://evil.example", "null", "", "https://127.0.0.1:9467", "http://127.0.0.1:9468",
                               "http://127.0.0.1:9467.evil.example", "http://localhost:9467"})
        CHECK(refusal_of({{"origin", origin}}) == "origin");
    for (const char* site : {"cross-site", "same-site", ""})
        CHECK(refusal_of({{"sec-fetch-site", site}}) == "origin");
    CHECK(refusal_of({{"host", "evil.example"}, {"x-forwarded-host", "127.0.0.1:9467"}}) == "host");
    CHECK(refusal_of({{"host", "evil.example"}, {"origin", "http://evil.example"}}) == "host");
}

TEST_CASE("a proxy on the same machine is believed for the origin and for TLS") {
    const std::map<std::string, std::string> behind{{"x-forwarded-host", "desk.example.com"},
                                                    {"x-forwarded-proto", "https"},
                                                    {"origin", "https://desk.example.com"}};
    CHECK(refusal_of(behind).empty());
    CHECK(came_by_tls(with(behind)));
    CHECK_FALSE(came_by_tls(with({{"x-forwarded-proto", "http"}})));
    CHECK(refusal_of({{"x-forwarded-host", "desk.example.com"}, {"origin", "https://desk.example.com"}}) == "origin");
}

TEST_CASE("what changes something is JSON, which no form can send") {
    CHECK_FALSE(refuse_form(with({{"content-type", "application/json"}})));
    CHECK_FALSE(refuse_form(with({{"content-type", "Application/JSON; charset=utf-8"}})));
    for (const char* type : {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                             "text/plain; application/json", "application/jsonx"})
        CHECK(refuse_form(with({{"content-type", type}})).has_value());
    CHECK(refuse_form(with({})).has_value());
}

TEST_CASE("a cookie is found by its name, and not where it is there twice") {
    CHECK(cookie_value(with({{"cookie", "a=1; desk=abc; b=2"}}), "desk") == "abc");
    CHECK(cookie_value(with({{"cookie", "desk=a=b"}}), "desk") == "a=b");
    CHECK(cookie_value(with({{"cookie", "xdesk=1;desk2=2; desk"}}), "desk").empty());
    CHECK(cookie_value(with({{"cookie", "desk=1; desk=2"}}), "desk").empty());
    CHECK(cookie_value(with({}), "desk").empty());
}

}  // namespace retryd::daemon::desk_gate_test
