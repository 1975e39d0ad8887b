#include "http/management.h"
#include "http/server.h"
#include "support/catch.h"

namespace retryd::http::management_rights_test {
namespace {

ManagementClient client_of(const test::Server& server) {
    return {{server.url(), "ops", "geheim"}, {}, "a/b"};
}

}  // namespace

TEST_CASE("rights: the permissions of a user, or that there are none, or that nobody says") {
    const test::Server server(test::answer("200 OK", R"({"user": "x", "configure": "^c", "write": "^w", "read": ""})"));
    CHECK(client_of(server).permissions("it's") == core::Permissions{"^c", "^w", ""});
    CHECK(server.requests() == std::vector<std::string>{"GET /api/permissions/a%2Fb/it%27s HTTP/1.1"});
    CHECK(client_of(test::Server(test::answer("404 Not Found", "{}"))).permissions("x") == core::Permissions{});
    for (const char* status : {"401 Unauthorized", "403 Forbidden"})
        CHECK_FALSE(client_of(test::Server(test::answer(status, "{}"))).permissions("x"));
    CHECK_THROWS_AS(client_of(test::Server(test::answer("500 Oops", ""))).permissions("x"), Error);
}

TEST_CASE("rights: the feature flags that are disabled, or that nobody says") {
    const test::Server server(test::answer("200 OK", R"([
        {"name": "stream_queue", "state": "disabled"}, {"name": "other", "state": "enabled"}, 7])"));
    CHECK(client_of(server).disabled_feature_flags() == std::vector<std::string>{"stream_queue"});
    CHECK_FALSE(client_of(test::Server(test::answer("401 Unauthorized", "{}"))).disabled_feature_flags());
    CHECK_FALSE(client_of(test::Server(test::answer("404 Not Found", "{}"))).disabled_feature_flags());
}

}  // namespace retryd::http::management_rights_test
