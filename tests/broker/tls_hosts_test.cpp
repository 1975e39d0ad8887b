// Whether the broker's certificate is for the host: by name and by address.
#include <netdb.h>

#include "broker/tls.h"
#include "support/catch.h"
#include "support/certificates.h"

using namespace retryd::test;

namespace {

/// Not every minimal system has IPv6.
bool can_reach(const std::string& host) {
    OverTls tls;
    tls.settings.tls.verify_hostname = false;
    return tls.outcome_at(host) == "connected";
}

const std::string another_name = "; connect by what stands in it, or have one made with subjectAltName=DNS:";
const std::string another_address = "; connect by what stands in it, or have one made with subjectAltName=IP:";
const std::string no_address = " (written as a name, which no address is compared with)";

}  // namespace

TEST_CASE("a certificate is taken for the names and the addresses in it, and for no others", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("both", {"/CN=x", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"});
    made.show("both");
    CHECK(tls.outcome_at("localhost") == "connected");
    CHECK(tls.outcome_at("LOCALHOST") == "connected");
    CHECK(tls.outcome_at("127.0.0.1") == "connected");
    CHECK(tls.outcome_at("127.0.0.2") ==
          "its certificate is for localhost, 127.0.0.1 and ::1, not for 127.0.0.2" + another_address + "127.0.0.2");
    if (!can_reach("::1")) return;
    CHECK(tls.outcome_at("::1") == "connected");
    CHECK(tls.outcome_at("0:0::1") == "connected");
    made.make("four", {"/CN=x", "subjectAltName=IP:127.0.0.1"});
    made.show("four");
    CHECK(tls.outcome_at("::1") == "its certificate is for 127.0.0.1 and x, not for ::1" + another_address + "::1");
}

TEST_CASE("an address among the names is no address, and a name is none for an address", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("written", {"/CN=127.0.0.1", "subjectAltName=DNS:127.0.0.1"});
    made.show("written");
    CHECK(tls.outcome_at("127.0.0.1") ==
          "its certificate is for 127.0.0.1" + no_address + ", not for 127.0.0.1" + another_address + "127.0.0.1");
    made.make("address", {"/CN=x", "subjectAltName=IP:127.0.0.1"});
    made.show("address");
    CHECK(tls.outcome_at("127.0.0.1") == "connected");
    CHECK(tls.outcome_at("localhost") ==
          "its certificate is for 127.0.0.1 and x, not for localhost" + another_name + "localhost");
}

TEST_CASE("the common name counts where no name stands in the alternatives", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("common", {"/CN=localhost", "basicConstraints=CA:FALSE"});
    made.show("common");
    CHECK(tls.outcome_at("localhost") == "connected");
    CHECK(tls.outcome_at("127.0.0.1") ==
          "its certificate is for localhost, not for 127.0.0.1" + another_address + "127.0.0.1");
    made.make("other", {"/CN=localhost", "subjectAltName=DNS:a.example"});
    made.show("other");
    CHECK(tls.outcome_at("localhost") ==
          "its certificate is for a.example, not for localhost" + another_name + "localhost");
    made.make("nobody", {"/O=nobody", "basicConstraints=CA:FALSE"});
    made.show("nobody");
    CHECK(tls.outcome_at("localhost") ==
          "its certificate is for no host at all; have one made with subjectAltName=DNS:localhost");
}

TEST_CASE("what a stranger wrote into a certificate is cut, and moves no cursor", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    std::string many = "subjectAltName=DNS:" + std::string(63, 'a') + '.' + std::string(63, 'b');
    for (int i = 1; i <= 1000; ++i)
        many += ",DNS:host-" + std::to_string(i);
    made.make("many", {"/CN=x", many});
    made.show("many");
    CHECK(tls.outcome_at("localhost") == "its certificate is for " + std::string(63, 'a') +
                                             "...., host-1, host-2, host-3, host-4 and 996 more, not for localhost" +
                                             another_name + "localhost");
    made.make("odd", {"/CN=a\033[31m, bü.example\u202e", "basicConstraints=CA:FALSE"});
    made.show("odd");
    CHECK(tls.outcome_at("localhost") ==
          "its certificate is for a\\x1b[31m\\, bü.example\\u202e, not for localhost" + another_name + "localhost");
}

TEST_CASE("without verify_hostname another host's certificate is taken, without verify_peer it is not",
          "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("other", {"/CN=x", "subjectAltName=DNS:a.example"});
    made.show("other");
    tls.settings.tls.verify_hostname = false;
    CHECK(tls.outcome() == "connected");
    tls.settings.tls.verify_hostname = true;
    tls.settings.tls.verify_peer = false;
    CHECK(tls.outcome_at("localhost") ==
          "its certificate is for a.example, not for localhost" + another_name + "localhost");
    CHECK(tls.outcome_at("127.0.0.1") ==
          "its certificate is for a.example, not for 127.0.0.1" + another_address + "127.0.0.1");
    made.make_self_signed("own", "/CN=own", "subjectAltName=IP:127.0.0.1");
    made.show("own");
    CHECK(tls.outcome_at("127.0.0.1") == "connected");
}
