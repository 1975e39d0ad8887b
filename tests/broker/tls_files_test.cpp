// The files of broker.tls: errors in them are explained, and changed files are used from the next connection on.
#include "broker/tls.h"
#include "support/catch.h"
#include "support/certificates.h"

using namespace retryd::test;

TEST_CASE("a file of broker.tls that is of no use is told with what is wrong with it", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    auto& files = tls.settings.tls;
    made.make("mine", {.subject = "/CN=guest"});
    made.make("other", {.subject = "/CN=guest"});
    made.run("openssl pkey -in mine.key -aes128 -passout pass:geheim -out locked.key && echo geheim >text");
    files.cert_file = made.file("mine.pem");
    files.key_file = made.file("mine.key");
    REQUIRE(tls.outcome() == "connected");

    SECTION("an encrypted key") {
        files.key_file = made.file("locked.key");
        CHECK(tls.outcome() == "cannot use broker.tls.key_file " + files.key_file +
                                   ": the key is encrypted, and nobody is there to type its passphrase; store it "
                                   "decrypted (openssl pkey -in FILE -out NEW), readable by retryd alone");
    }
    SECTION("the key of another certificate") {
        files.key_file = made.file("other.key");
        CHECK(tls.outcome() == "cannot use broker.tls.key_file " + files.key_file +
                                   ": it is not the key of the certificate in broker.tls.cert_file; name the two that "
                                   "were made together");
    }
    SECTION("no key in it") {
        files.key_file = made.file("text");
        CHECK(tls.outcome() ==
              "cannot use broker.tls.key_file " + files.key_file + ": it holds no private key in PEM (-----BEGIN ...)");
    }
    SECTION("no certificate in it") {
        files.cert_file = made.file("text");
        CHECK(tls.outcome() == "cannot use broker.tls.cert_file " + files.cert_file +
                                   ": it holds no certificate in PEM (-----BEGIN ...)");
    }
    SECTION("no authority in it") {
        files.ca_file = made.file("text");
        CHECK(tls.outcome() ==
              "cannot use broker.tls.ca_file " + files.ca_file + ": it holds no certificate in PEM (-----BEGIN ...)");
    }
    SECTION("gone") {
        files.key_file = made.file("gone");
        CHECK(tls.outcome() == "cannot use broker.tls.key_file " + files.key_file + ": No such file or directory");
    }
}

TEST_CASE("files that were replaced count from the next connection on", "[tls][one-version]") {
    Certificates made;
    OverTls tls;
    auto& files = tls.settings.tls;
    made.make_self_signed("stranger", "/CN=stranger", "basicConstraints=critical,CA:TRUE");
    made.make("mine", {.subject = "/CN=guest"});
    made.run("cp stranger.pem used.pem && cp stranger.key used.key");
    files.cert_file = made.file("used.pem");
    files.key_file = made.file("used.key");
    CHECK(tls.outcome().find("retryd's certificate 'CN=stranger'") != std::string::npos);
    made.run("cp mine.pem used.pem && cp mine.key used.key");
    CHECK(tls.outcome() == "connected");
}
