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

}  // namespace retryd::config::http_test
