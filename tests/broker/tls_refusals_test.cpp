// Which certificates are refused, of the broker and of the client, and what the error says.
#include "broker/tls.h"
#include "support/catch.h"
#include "support/certificates.h"

using namespace retryd::test;

namespace {

const std::string authority = "basicConstraints=critical,CA:TRUE";

std::string ca_file() {
    return "broker.tls.ca_file " + certificate("ca.pem");
}

const std::string put_it_there =
    "; put that authority's certificate there, or, if one above it is there already, have the broker send those "
    "between "
    "(its ssl_options.certfile)";

bool matches(const std::string& text, const std::string& beginning, const std::string& end) {
    UNSCOPED_INFO(text);
    return text.starts_with(beginning) && text.ends_with(end);
}

/// The broker sends the reason after the handshake; it is lost if the broker has closed the connection by then.
void check_refused(const std::string& text, const std::string& name, const std::string& reason,
                   const std::string& about, const std::string& remedy) {
    CAPTURE(text);
    const bool told = text.starts_with("it refuses retryd's certificate " + name + ": " + reason + ". " + about);
    const bool lost = text.starts_with("it broke off when it had retryd's certificate " + name + ". " + about);
    CHECK((told || lost));
    CHECK(text.ends_with(lost ? "the broker's log says why, and the broker has to trust that authority (its "
                                "ssl_options.cacertfile)"
                              : remedy));
}

}  // namespace

TEST_CASE("an expired certificate is refused, with the day", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("old", {.days = -1});
    made.show("old");
    CHECK(matches(tls.outcome(), "its certificate expired on 20",
                  "Z; have a new one made for the broker, and see that the clocks of both machines are right"));
}

TEST_CASE("a certificate that nobody trusted has signed is refused, with the name of who did", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make_self_signed("other", "/CN=another authority", authority);
    made.make("theirs", {.signed_by = "other"});
    made.show("theirs");
    CHECK(tls.outcome() ==
          "its certificate is signed by 'CN=another authority', which is not in " + ca_file() + put_it_there);
    made.show("theirs", "other.pem");
    CHECK(tls.outcome() ==
          "its certificate goes back to 'CN=another authority', which is not in " + ca_file() + put_it_there);

    tls.settings.tls.ca_file.clear();
    CHECK(tls.outcome() ==
          "its certificate goes back to 'CN=another authority', which is not in the authorities of this system; if you "
          "know that authority, name its certificate with broker.tls.ca_file");
    tls.settings.tls.ca_file = made.file("other.pem");
    CHECK(tls.outcome() == "connected");
    tls.settings.tls.ca_file.clear();
    tls.settings.tls.verify_peer = false;
    CHECK(tls.outcome() == "connected");
}

TEST_CASE("a certificate signed by itself is refused, until it is named", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make_self_signed("own", "/CN=own", "subjectAltName=IP:127.0.0.1");
    made.show("own");
    CHECK(tls.outcome() == "its certificate 'CN=own' is signed by itself, and is not in " + ca_file() +
                               "; if it is the right one, name it with broker.tls.ca_file");
    tls.settings.tls.ca_file = made.file("own.pem");
    CHECK(tls.outcome() == "connected");
}

TEST_CASE("an authority made anew under its old name is not the one that is trusted", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make_self_signed("again", "/CN=tests of retryd", authority);
    made.make("theirs", {.signed_by = "again"});
    made.show("theirs");
    CHECK(
        tls.outcome() ==
        "its certificate is signed by an authority called 'CN=tests of retryd', which is not the one of that name in " +
            ca_file() +
            ": two keys, one name, as after an authority was renewed with another key; name the one that signed it "
            "with broker.tls.ca_file");
}

TEST_CASE("what stands between the certificate and the authority has to be sent", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("between", {"/CN=between", authority});
    made.make("leaf", {.signed_by = "between"});
    made.show("leaf");
    CHECK(tls.outcome() == "its certificate is signed by 'CN=between', which is not in " + ca_file() + put_it_there);
    made.show("leaf", "between.pem");
    CHECK(tls.outcome() == "connected");
}

TEST_CASE("a client's certificate is none for a broker, and what signs has to be an authority", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make("client", {.extensions = "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=clientAuth"});
    made.show("client");
    CHECK(tls.outcome() == "its certificate is not one for a server; have one made with extendedKeyUsage=serverAuth");
    made.make("nobody", {"/CN=nobody", "basicConstraints=CA:FALSE"});
    made.make("theirs", {.signed_by = "nobody"});
    made.show("theirs", "nobody.pem");
    CHECK(tls.outcome() ==
          "its certificate is signed by 'CN=nobody', which is no authority (basicConstraints=CA:TRUE is missing); have "
          "it "
          "signed by one");
}

TEST_CASE("what one connection takes, another one need not", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    made.make_self_signed("own", "/CN=own", "subjectAltName=DNS:a.example");
    made.show("own");
    OverTls trusting;
    trusting.settings.tls.verify_peer = false;
    trusting.settings.tls.verify_hostname = false;
    const auto first = trusting.open();
    CHECK(tls.outcome().starts_with("its certificate 'CN=own' is signed by itself"));
    const auto second = trusting.open();
    CHECK(tls.outcome().starts_with("its certificate 'CN=own' is signed by itself"));
}

TEST_CASE("the broker refuses who shows it no certificate, or one that it does not take", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    tls.settings.tls.cert_file.clear();
    tls.settings.tls.key_file.clear();
    CHECK(tls.outcome() ==
          "it wants a certificate of retryd; name one, and its key, with broker.tls.cert_file and key_file");

    const auto with = [&](const std::string& name) {
        tls.settings.tls.cert_file = made.file(name + ".pem");
        tls.settings.tls.key_file = made.file(name + ".key");
        return tls.outcome();
    };
    made.make_self_signed("other", "/CN=another authority", authority);
    made.make("stranger", {.subject = "/CN=stranger", .signed_by = "other"});
    check_refused(with("stranger"), "'CN=stranger' (broker.tls.cert_file " + made.file("stranger.pem") + ")",
                  "unknown CA", "It is signed by 'CN=another authority' and valid until 20",
                  "the broker has to trust that authority (its ssl_options.cacertfile)");
    made.make("old", {.subject = "/CN=old", .days = -1});
    check_refused(with("old"), "'CN=old' (broker.tls.cert_file " + made.file("old.pem") + ")", "certificate expired",
                  "It is signed by 'CN=tests of retryd' and valid until 20", "the broker's log says why");
}

TEST_CASE("a port without TLS is told", "[tls][one-version]") {
    OverTls tls;
    tls.endpoint.port = broker_address().port;
    CHECK(tls.outcome() == "what answers there speaks no TLS; connect to the broker's TLS port (5671, as a rule)");
}
