// Where the HTTP server listens.
#include "config/addresses.h"
#include "loading.h"

namespace retryd::config::http_test {
namespace {

Http http_of(const std::string& listen) {
    return *settings_of("http: {listen: \"" + listen + "\"}\n" + smallest).http;
}

std::string complaint_about(const std::string& listen) {
    return only_complaint("http: {listen: \"" + listen + "\"}\n" + smallest, "f:1:16: http.listen: \"" + listen + "\" ",
                          "; expected HOST:PORT, such as 127.0.0.1:9467 or [::1]:9467\n");
}

}  // namespace

TEST_CASE("the HTTP server listens on a name or an address, and a port") {
    CHECK(http_of("127.0.0.1:9467") == Http{"127.0.0.1", 9467});
    CHECK(http_of("localhost:80") == Http{"localhost", 80});
    CHECK(http_of("[::1]:65535") == Http{"::1", 65535});
    CHECK(http_of("0.0.0.0:0") == Http{"0.0.0.0", 0});
    CHECK(to_string(http_of("[::1]:9467")) == "[::1]:9467");
    CHECK(to_string(http_of("localhost:80")) == "localhost:80");
}

TEST_CASE("of a wrong address to listen on the part that is wrong is named") {
    for (const char* port_alone : {"9467", ":9467"})
        CHECK(complaint_about(port_alone) == "has no host (did you mean 127.0.0.1:9467?)");
    CHECK(complaint_about("[]:9467") == "has no host");
    CHECK(complaint_about("localhost") == "has no port");
    CHECK(complaint_about("[::1]") == "has no port");
    CHECK(complaint_about("::1:9467") == "has no host");
    CHECK(complaint_about("fe80::1:9467") == "has more than one : outside of []");
    CHECK(complaint_about("http://h:1") == "is a URL");
    const std::string odd = "has a host that is neither a host name nor an address, which is in [] where it is IPv6";
    CHECK(complaint_about("[::1:9467") == "has no port");
    CHECK(complaint_about("[h]:9467") == odd);
    CHECK(complaint_about("a b:9467") == odd);
    CHECK(complaint_about("h:") == "has a port that is no number from 0 to 65535");
    CHECK(complaint_about("h:65536") == "has a port that is no number from 0 to 65535");
    CHECK(complaint_about("h:9467/metrics") == "has a port that is no number from 0 to 65535");
}

TEST_CASE("http without listen is reported, an empty http: is the same as none") {
    CHECK(problems_of("http: {}\n" + smallest) ==
          "f:1:7: http.listen: is missing; expected HOST:PORT, such as 127.0.0.1:9467 or [::1]:9467\n");
    CHECK_FALSE(settings_of("http:\n" + smallest).http.has_value());
}

TEST_CASE("http.admin has a password from a file, and sessions that last half a day") {
    const auto admin_of = [](const std::string& contents, const std::string& keys = "") {
        return settings_of("http: {listen: \"[::1]:1\", admin: {password_file: p" + keys + "}}\n" + smallest,
                           {{}, {{"p", contents}}})
            .http->admin;
    };
    CHECK(admin_of("geheim\n") == HttpAdmin{"geheim", std::chrono::hours{12}});
    CHECK(admin_of("geheim", ", session: 30m") == HttpAdmin{"geheim", std::chrono::minutes{30}});
    CHECK_FALSE(settings_of("http: {listen: \"h:1\"}\n" + smallest).http->admin.has_value());
    CHECK(problems_of("http: {listen: \"127.0.0.1:1\", admin: {}}\n" + smallest)
              .starts_with("f:1:38: http.admin.password_file: is missing"));
    CHECK(problems_of("http: {listen: \"127.0.0.1:1\", admin: {password_file: p}}\n" + smallest, {{}, {{"p", "\n"}}}) ==
          "f:1:54: http.admin.password_file: the file \"p\" is empty; expected the password in it\n");
}

TEST_CASE("http.admin is for this machine alone, and the text says how to reach it from another one") {
    const auto problem_with = [](const std::string& listen) {
        return problems_of("http: {listen: \"" + listen + "\", admin: {password_file: p}}\n" + smallest,
                           {{}, {{"p", "x"}}});
    };
    for (const char* fine : {"127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"})
        CHECK(problem_with(fine).empty());
    for (const char* open : {"0.0.0.0:9467", "[::]:9467", "192.168.1.5:9467", "rabbit:9467", "128.0.0.1:9467"}) {
        const std::string problem = problem_with(open);
        CAPTURE(problem);
        for (const char* part :
             {"http.admin: cannot be with http.listen: \"", "the password would cross the network in clear",
              "ssh -L 9467:127.0.0.1:9467", "a reverse proxy with TLS on the same machine"})
            CHECK(problem.find(part) != std::string::npos);
    }
}

TEST_CASE("http.audit is a file that is always the same one, of a desk that is there") {
    const World world{{}, {{"p", "x"}}};
    CHECK(settings_of("http: {listen: \"h:1\"}\n" + smallest).http->audit.empty());
    CHECK(problems_of("http: {listen: \"h:1\", audit: /a}\n" + smallest) ==
          "f:1:30: http.audit: has no effect without http.admin; expected a section admin, or no audit\n");
    CHECK(problems_of("http: {listen: \"127.0.0.1:1\", audit: a, admin: {password_file: p}}\n" + smallest, world)
              .find("expected a path that begins with /") != std::string::npos);
}

}  // namespace retryd::config::http_test
