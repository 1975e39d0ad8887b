// Where to connect and as whom.
#include "loading.h"

namespace retryd::config::broker_test {
namespace {

using namespace std::chrono_literals;

Endpoint endpoint_of(const std::string& uri) {
    return settings_of("broker: {uri: \"" + uri + "\"}\n" + smallest).broker.endpoints.at(0);
}

/// What is said of a URI, without the place.
std::string complaint_about(const std::string& uri) {
    const std::string line = problems_of("broker: {uri: \"" + uri + "\"}\n" + smallest);
    const std::string place = "f:1:15: broker.uri: ";
    return line.starts_with(place) ? line.substr(place.size(), line.size() - place.size() - 1) : line;
}

}  // namespace

TEST_CASE("a URI names host, port, vhost and user") {
    const Endpoint endpoint = endpoint_of("amqps://bob:pa%3Ass%2Fw%40rd@rabbit.example.com:5699/team%2Fa");
    CHECK(endpoint.tls);
    CHECK(endpoint.host == "rabbit.example.com");
    CHECK(endpoint.port == 5699);
    CHECK(endpoint.vhost == "team/a");
    CHECK(endpoint.username == "bob");
    CHECK(endpoint.password == "pa:ss/w@rd");
}

TEST_CASE("what a URI leaves out has its default") {
    const Endpoint plain = endpoint_of("AMQP://rabbit");
    CHECK_FALSE(plain.tls);
    CHECK(plain.host == "rabbit");
    CHECK(plain.port == 5672);
    CHECK(plain.username == "guest");
    CHECK(plain.password == "guest");
    CHECK(endpoint_of("amqps://rabbit").port == 5671);
}

TEST_CASE("the default vhost has three spellings") {
    CHECK(endpoint_of("amqp://h").vhost == "/");
    CHECK(endpoint_of("amqp://h/").vhost == "/");
    CHECK(endpoint_of("amqp://h/%2f").vhost == "/");
    CHECK(endpoint_of("amqp://h/prod").vhost == "prod");
}

TEST_CASE("an IPv6 address stands in brackets") {
    CHECK(endpoint_of("amqp://[::1]").host == "::1");
    CHECK(endpoint_of("amqp://[::1]").port == 5672);
    CHECK(endpoint_of("amqp://guest:guest@[fe80::1:2]:5673/v").host == "fe80::1:2");
    CHECK(endpoint_of("amqp://guest:guest@[fe80::1:2]:5673/v").port == 5673);
}

TEST_CASE("of a wrong URI the part that is wrong is named, never what stands in it") {
    const std::string encoding =
        "expected special characters in user name and password percent-encoded (@ as %40, / as %2F, # as %23, % as "
        "%25)";
    const std::string port = "the URI has a port that is no number from 1 to 65535; expected one, and " +
                             encoding.substr(std::string{"expected "}.size());
    CHECK(complaint_about("http://h/") ==
          "the URI does not begin with amqp:// or amqps://; expected amqp://USER:PASSWORD@HOST:PORT/VHOST");
    CHECK(complaint_about("rabbit:5672") ==
          "the URI does not begin with amqp:// or amqps://; expected amqp://USER:PASSWORD@HOST:PORT/VHOST");
    CHECK(complaint_about("amqp://h:0/") == port);
    CHECK(complaint_about("amqp://h:65536/") == port);
    CHECK(complaint_about("amqp://h:/") == port);
    CHECK(complaint_about("amqp://bob:se/cret@h/") == port);
    CHECK(complaint_about("amqp://bob:1/cret@h/") == "the URI has an @ behind its first /; " + encoding);
    CHECK(complaint_about("amqp://bob:se@cret@h/") == "the URI has two @; " + encoding);
    CHECK(complaint_about("amqp://bob:100%@h/") ==
          "the URI has a % without two hexadecimal digits in its password; expected %25 for a % itself");
    CHECK(complaint_about("amqp://bob:a%00b@h/") == "the URI has a NUL character in its password; expected none");
    CHECK(complaint_about("amqp://:secret@h/") == "the URI has no user name before its @; expected USER:PASSWORD@HOST");
    CHECK(complaint_about("amqp:///vhost") == "the URI has no host; expected amqp://HOST/VHOST");
    CHECK(complaint_about("amqp://h_%2F/") ==
          "the URI has a host that is no host name; expected letters, digits, dots and hyphens, or an address in []");
    CHECK(complaint_about("amqp://[::g]/") ==
          "the URI has brackets around a host that is no IPv6 address; expected one such as [::1]");
    CHECK(complaint_about("amqp://[::1/") ==
          "the URI has a [ without ] in its host; expected an IPv6 address such as [::1]");
    CHECK(complaint_about("amqp://[::1]5672/") == "the URI has more than a port behind its ]; expected [ADDRESS]:PORT");
    CHECK(complaint_about("amqp://h//") ==
          "the URI has a / in its vhost; expected it as %2F (the default vhost is %2F, or no path at all)");
    CHECK(complaint_about("amqp://h/?heartbeat=5") ==
          "the URI holds a ? or #; expected no parameters (they are keys of broker:), and in a password %3F or %23");
    CHECK(complaint_about("amqp://h /") ==
          "the URI holds a blank or a control character; expected it percent-encoded (a blank as %20)");
    CHECK(complaint_about("amqp://h/" + std::string(256, 'v')) ==
          "the URI has a vhost longer than 255 bytes; expected a vhost's name");
    CHECK(complaint_about("") ==
          "the value is empty; expected amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// for TLS");
}

TEST_CASE("several URIs are kept in their order, and username and password win over theirs") {
    const Settings settings = settings_of(
        "broker: {uris: [\"amqp://a:x@one/\", \"amqp://two/v\"], username: bob, password: \"\"}\n" + smallest);
    REQUIRE(settings.broker.endpoints.size() == 2);
    CHECK(settings.broker.endpoints[0].host == "one");
    CHECK(settings.broker.endpoints[0].username == "bob");
    CHECK(settings.broker.endpoints[0].password.empty());
    CHECK(settings.broker.endpoints[1].host == "two");
    CHECK(settings.broker.endpoints[1].vhost == "v");
    CHECK(settings.broker.endpoints[1].username == "bob");
}

TEST_CASE("a user name alone leaves the URI's password, a password alone its user") {
    CHECK(settings_of("broker: {uri: \"amqp://a:x@h/\", username: bob}\n" + smallest).broker.endpoints[0].password ==
          "x");
    CHECK(settings_of("broker: {uri: \"amqp://a:x@h/\", password: y}\n" + smallest).broker.endpoints[0].username ==
          "a");
    CHECK(settings_of("broker: {username: bob, password: y}\n" + smallest).broker.endpoints[0].host == "127.0.0.1");
}

TEST_CASE("every wrong URI is reported, and so is an empty list") {
    CHECK(problems_of("broker: {uris: [\"\", \"http://h/\"]}\n" + smallest) ==
          "f:1:17: broker.uris[0]: the value is empty; expected amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// for "
          "TLS\n"
          "f:1:21: broker.uris[1]: the URI does not begin with amqp:// or amqps://; expected "
          "amqp://USER:PASSWORD@HOST:PORT/VHOST\n");
    CHECK(problems_of("broker: {uris: []}\n" + smallest) ==
          "f:1:16: broker.uris: is empty; expected a list, each item amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// "
          "for TLS\n");
}

TEST_CASE("from a wrong URI no other problem follows") {
    CHECK(
        problems_of("broker: {uri: \"\", username: bob}\n" + smallest) ==
        "f:1:15: broker.uri: the value is empty; expected amqp://USER:PASSWORD@HOST:PORT/VHOST, or amqps:// for TLS\n");
    CHECK(problems_of("broker: {uri: \"amqps:/h\", tls: {ca_file: ca}}\n" + smallest, {{}, {{"ca", "x"}}}) ==
          "f:1:15: broker.uri: the URI does not begin with amqp:// or amqps://; expected "
          "amqp://USER:PASSWORD@HOST:PORT/VHOST\n");
}

TEST_CASE("keys that exclude each other are reported") {
    CHECK(problems_of("broker:\n  uri: amqp://h/\n  uris: [amqp://h/]\n  password: x\n  password_file: p\n" + smallest,
                      {{}, {{"p", "y"}}}) ==
          "f:2:8: broker.uri: is given together with broker.uris[0] on line 3; expected one of the two\n"
          "f:5:18: broker.password_file: is given together with broker.password on line 4; expected one of the two\n");
}

TEST_CASE("a user without a password is reported, except guest") {
    const std::string lacks =
        "a user has no password; expected one in the URI, or broker.password or broker.password_file\n";
    CHECK(problems_of("broker: {uri: amqp://bob@h/}\n" + smallest) == "f:1:15: broker.uri: " + lacks);
    CHECK(problems_of("broker: {uris: [amqp://g/, amqp://h/], username: bob}\n" + smallest) ==
          "f:1:50: broker.username: " + lacks);
    CHECK(problems_of("broker: {uri: amqp://guest@h/}\n" + smallest) == "");
}

TEST_CASE("a password comes from a file without the line break at its end") {
    const auto password = [](const std::string& contents) {
        return settings_of("broker: {username: bob, password_file: p}\n" + smallest, {{}, {{"p", contents}}})
            .broker.endpoints[0]
            .password;
    };
    CHECK(password("secret") == "secret");
    CHECK(password("secret\n") == "secret");
    CHECK(password("secret\r\n") == "secret");
    CHECK(password(" se cret\n\n") == " se cret\n");
    CHECK(problems_of("broker: {username: bob, password_file: p}\n" + smallest) ==
          "f:1:40: broker.password_file: the file \"p\" cannot be read (No such file or directory); expected one that "
          "retryd may read\n");
    CHECK(problems_of("broker: {username: bob, password_file: p}\n" + smallest, {{}, {{"p", "\n"}}}) ==
          "f:1:40: broker.password_file: the file \"p\" is empty; expected the password in it\n");
}

TEST_CASE("the key of the proof comes from a file: the first line is used, all are believed, and none is short") {
    const std::string key = "0123456789abcdef0123456789abcdef";
    const std::string former(40, 'x');
    const std::string with_file = "errors: {key_file: k}\n" + smallest;
    const auto secrets = [&](const std::string& contents) {
        return settings_of(with_file, {{}, {{"k", contents}}}).proof_secrets;
    };
    CHECK(secrets(key) == std::vector<std::string>{key});
    CHECK(secrets(key + "\r\n\n" + former + "\n") == std::vector<std::string>{key, former});
    CHECK(
        problems_of(with_file) ==
        "f:1:20: errors.key_file: the file \"k\" cannot be read (No such file or directory); expected one that retryd "
        "may read\n");
    CHECK(problems_of(with_file, {{}, {{"k", "\n\n"}}}) ==
          "f:1:20: errors.key_file: the file \"k\" is empty; expected a secret in it\n");
    CHECK(
        problems_of(with_file, {{}, {{"k", key + "\nshort\n"}}}) ==
        "f:1:20: errors.key_file: line 2 of the file \"k\" is too short for a secret; expected at least 32 characters, "
        "as `openssl rand -hex 32` prints them\n");
}

TEST_CASE("TLS files are read, come in pairs, and are reported where no connection would use them") {
    const World world{{}, {{"ca", "x"}, {"cert", "x"}, {"key", "x"}}};
    const std::string tls = "broker: {uri: \"amqps://h/\", tls: ";
    const Tls good =
        settings_of(tls + "{ca_file: ca, cert_file: cert, key_file: key, verify_hostname: false}}\n" + smallest, world)
            .broker.tls;
    CHECK(good.ca_file == "ca");
    CHECK(good.cert_file == "cert");
    CHECK(good.key_file == "key");
    CHECK(good.verify_peer);
    CHECK_FALSE(good.verify_hostname);
    CHECK(problems_of(tls + "{ca_file: , cert_file: , key_file: }}\n" + smallest) == "");
    CHECK(problems_of(tls + "{ca_file: nowhere, cert_file: cert}}\n" + smallest, world) ==
          "f:1:44: broker.tls.ca_file: the file \"nowhere\" cannot be read (No such file or directory); expected one "
          "that "
          "retryd may read\n"
          "f:1:64: broker.tls.cert_file: is given alone; expected broker.tls.key_file too\n");
    CHECK(problems_of(tls + "{key_file: key}}\n" + smallest, world) ==
          "f:1:45: broker.tls.key_file: is given alone; expected broker.tls.cert_file too\n");
    CHECK(problems_of("broker: {uri: amqp://h/, tls: {ca_file: ca}}\n" + smallest, world) ==
          "f:1:41: broker.tls.ca_file: has no effect; expected a broker URI that begins with amqps://\n");
}

TEST_CASE("to log in with a certificate takes TLS and a certificate, and no password") {
    const World world{{}, {{"c", "x"}, {"k", "x"}, {"p", "x"}}};
    const std::string external = "broker:\n  auth_mechanism: external\n";
    const std::string tls = "  tls: {cert_file: c, key_file: k}\n";
    const Broker good = settings_of(external + "  uri: amqps://h/v\n" + tls + smallest, world).broker;
    CHECK(good.auth_mechanism == AuthMechanism::external);
    CHECK(good.endpoints.at(0) == Endpoint{"h", 5671, true, "v", "", ""});
    CHECK(settings_of(external + "  uri: amqps://ann@h/\n" + tls + smallest, world).broker.endpoints.at(0).username ==
          "ann");
    CHECK(settings_of(external + "  uri: amqps://ann@h/\n  username: bob\n" + tls + smallest, world)
              .broker.endpoints.at(0)
              .username == "bob");

    const std::string plain = "external takes TLS; expected broker URIs that begin with amqps://\n";
    CHECK(problems_of(external + "  uris: [amqps://h/, amqp://i/]\n" + tls + smallest, world) ==
          "f:2:19: broker.auth_mechanism: " + plain);
    CHECK(
        problems_of(external + smallest) ==
        "f:2:19: broker.auth_mechanism: " + plain +
            "f:2:19: broker.auth_mechanism: external takes a certificate to log in with; expected broker.tls.cert_file "
            "and key_file\n");
    const std::string no_password =
        "a password has no effect where broker.auth_mechanism is external; expected none, since the certificate says "
        "who "
        "logs in\n";
    CHECK(problems_of(external + "  uri: amqps://ann:geheim@h/\n" + tls + "  password: geheim\n" + smallest, world) ==
          "f:3:8: broker.uri: " + no_password + "f:5:13: broker.password: " + no_password);
    CHECK(problems_of(external + "  uri: amqps://h/\n" + tls + "  password_file: p\n" + smallest, world) ==
          "f:5:18: broker.password_file: " + no_password);
    CHECK(problems_of("broker: {auth_mechanism: EXTERNAL}\n" + smallest) ==
          "f:1:26: broker.auth_mechanism: \"EXTERNAL\" is not one of the choices; expected plain or external; did you "
          "mean external?\n");
}

TEST_CASE("the longest wait before reconnecting is not shorter than the first") {
    CHECK(problems_of("broker: {reconnect: {first: 31s}}\n" + smallest) ==
          "f:1:29: broker.reconnect.first: is longer than broker.reconnect.max; expected at most its default, 30s\n");
    CHECK(problems_of("broker: {reconnect: {first: 5s, max: 4s}}\n" + smallest) ==
          "f:1:38: broker.reconnect.max: is shorter than broker.reconnect.first; expected at least 5s\n");
    const Reconnect same = settings_of("broker: {reconnect: {first: 5s, max: 5s}}\n" + smallest).broker.reconnect;
    CHECK(same.first == 5s);
    CHECK(same.max == 5s);
}

}  // namespace retryd::config::broker_test
