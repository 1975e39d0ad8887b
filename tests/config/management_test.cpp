// The management API: where it is and as whom; and settings that can be compared.
#include "loading.h"

namespace retryd::config::management_test {
namespace {

std::string with_management(const std::string& keys) {
    return "management: {" + keys + "}\n" + smallest;
}

std::string url_of(const std::string& url) {
    return settings_of(with_management("url: \"" + url + "\"")).management->url;
}

/// What is said of a URL, without the place.
std::string complaint_about(const std::string& url) {
    return only_complaint(with_management("url: \"" + url + "\""), "f:1:19: management.url: the value ",
                          "; expected http://HOST:PORT or https://HOST:PORT\n");
}

}  // namespace

TEST_CASE("a management URL has a scheme, a host, and maybe a port and a path") {
    CHECK(url_of("http://127.0.0.1:15672") == "http://127.0.0.1:15672");
    CHECK(url_of("https://rabbit.example.com/") == "https://rabbit.example.com");
    CHECK(url_of("HTTPS://h/rabbit/mq//") == "HTTPS://h/rabbit/mq");
    CHECK(url_of("http://[::1]:15672/x") == "http://[::1]:15672/x");
}

TEST_CASE("of a wrong management URL the part that is wrong is named, never what stands in it") {
    CHECK(complaint_about("") == "is empty");
    CHECK(complaint_about("127.0.0.1:15672") == "does not begin with http:// or https://");
    CHECK(complaint_about("amqp://h") == "does not begin with http:// or https://");
    CHECK(complaint_about("http:/") == "does not begin with http:// or https://");
    CHECK(complaint_about("http://:15672") == "has no host");
    CHECK(complaint_about("http:///api") == "has no host");
    CHECK(complaint_about("http://h_é") == "has a host that is neither a host name nor an address in []");
    CHECK(complaint_about("http://[::1") == "has a host that is neither a host name nor an address in []");
    CHECK(complaint_about("http://[::g]:1") == "has a host that is neither a host name nor an address in []");
    CHECK(complaint_about("http://h:") == "has a port that is no number from 1 to 65535");
    CHECK(complaint_about("http://h:0") == "has a port that is no number from 1 to 65535");
    CHECK(complaint_about("http://h:65536/x") == "has a port that is no number from 1 to 65535");
    CHECK(complaint_about("http://bob:geheim@h/") ==
          "has a user in it, which belongs into management.username and management.password");
    CHECK(complaint_about("http://bob:1/geheim@h/") == "has an @ behind its first /");
    CHECK(complaint_about("http://h/?a=b") == "holds a ? or #");
    CHECK(complaint_about("http://h /") == "holds a blank or a control character");
}

TEST_CASE("without a URL there is no management API") {
    CHECK_FALSE(settings_of(smallest).management.has_value());
    CHECK_FALSE(settings_of("management:\n" + smallest).management.has_value());
    CHECK(problems_of(with_management("username: bob, password: x")) ==
          "f:1:13: management.url: is missing; expected http://HOST:PORT or https://HOST:PORT\n");
}

TEST_CASE("without a user, the management API is asked as the first broker's user") {
    const std::string broker = "broker: {uris: [\"amqp://ann:one@h/\", \"amqp://bob:two@h/\"]}\n";
    const auto management_of = [&](const std::string& keys) {
        const World world{{}, {{"p", "three\n"}}};
        return *settings_of(broker + with_management("url: http://h" + keys), world).management;
    };
    CHECK(management_of("") == Management{"http://h", "ann", "one"});
    CHECK(management_of(", username: ann") == Management{"http://h", "ann", "one"});
    CHECK(management_of(", password: x") == Management{"http://h", "ann", "x"});
    CHECK(management_of(", username: eve, password: \"\"") == Management{"http://h", "eve", ""});
    CHECK(management_of(", username: eve, password_file: p") == Management{"http://h", "eve", "three"});
    CHECK(settings_of(with_management("url: http://h")).management == Management{"http://h", "guest", "guest"});
}

TEST_CASE("another user without a password, two passwords, and a file that cannot be read are reported") {
    CHECK(problems_of(with_management("url: http://h, username: eve")) ==
          "f:1:39: management.username: a user has no password; expected management.password or "
          "management.password_file\n");
    CHECK(problems_of(with_management("url: http://h, password: x, password_file: p"), {{}, {{"p", "y"}}}) ==
          "f:1:57: management.password_file: is given together with management.password on line 1; expected one of the "
          "two\n");
    CHECK(problems_of(with_management("url: http://h, username: eve, password_file: p")) ==
          "f:1:59: management.password_file: the file \"p\" cannot be read (No such file or directory); expected one "
          "that retryd may read\n");
}

TEST_CASE("who logs in to the broker with a certificate needs a user and a password for the management API") {
    const World world{{}, {{"c", "x"}, {"k", "x"}}};
    const std::string broker =
        "broker: {auth_mechanism: external, uri: \"amqps://ann@h/\", tls: {cert_file: c, key_file: k}}\n";
    const std::string problem =
        "f:2:19: management.url: the management API takes a user with a password, and broker.auth_mechanism is "
        "external; "
        "expected management.username, and management.password or management.password_file\n";
    CHECK(problems_of(broker + with_management("url: http://h"), world) == problem);
    CHECK(problems_of(broker + with_management("url: http://h, username: ann"), world) == problem);
    CHECK(problems_of(broker + with_management("url: http://h, password: x"), world) == problem);
    CHECK(settings_of(broker + with_management("url: http://h, username: eve, password: x"), world).management ==
          Management{"http://h", "eve", "x"});
}

TEST_CASE("settings are equal if everything in them is") {
    CHECK(settings_of(smallest) == settings_of("# another text\n" + smallest));
    for (const char* key :
         {"broker: {password: x}\n", "broker: {heartbeat: 1s}\n", "broker: {tls: {verify_peer: false}}\n",
          "broker: {reconnect: {max: 1h}}\n", "errors: {prefetch: 1}\n", "errors: {bind: [{exchange: b}]}\n",
          "log: {level: debug}\n", "management: {url: http://h}\n", "http: {listen: \"h:1\"}\n", "declare: false\n",
          "shutdown_timeout: 1s\n"}) {
        CAPTURE(key);
        CHECK(settings_of(smallest) != settings_of(key + smallest));
    }
}

}  // namespace retryd::config::management_test
