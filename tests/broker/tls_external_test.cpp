// Logging in with a client certificate instead of a password (SASL EXTERNAL): its common name is the user guest.
#include "broker/tls.h"
#include "support/catch.h"
#include "support/certificates.h"

using namespace retryd::test;
using retryd::config::AuthMechanism;

namespace {

struct External : OverTls {
    External() {
        settings.auth_mechanism = AuthMechanism::external;
        endpoint.username.clear();
        endpoint.password.clear();
    }
    /// All of the text.
    std::string refusal() const {
        try {
            open();
        } catch (const retryd::amqp::Error& error) {
            CHECK(error.kind() == retryd::amqp::Error::Kind::refused_login);
            return error.what();
        }
        return "connected";
    }
};

}  // namespace

TEST_CASE("with a certificate whose name is a user's, no user name and no password are needed", "[tls][one-version]") {
    CHECK(External().outcome() == "connected");
}

TEST_CASE("a certificate that is nobody's is refused, with the names that a user may have", "[tls][one-version]") {
    Certificates made;
    External tls;
    made.make("nobody", {.subject = "/O=Example/CN=nobody"});
    tls.settings.tls.cert_file = made.file("nobody.pem");
    tls.settings.tls.key_file = made.file("nobody.key");
    const std::string broker = "127.0.0.1:" + std::to_string(tls.endpoint.port);
    CHECK(
        tls.refusal() ==
        "the broker at " + broker +
            " refused the user of retryd's certificate on vhost '/': 403 ACCESS_REFUSED - Login was refused using "
            "authentication mechanism EXTERNAL. For details see the broker logfile.; a user of the certificate's name "
            "has to be there: 'CN=nobody,O=Example', or 'nobody' where the broker has ssl_cert_login_from = "
            "common_name (rabbitmqctl add_user, set_permissions)");
    tls.settings.tls.cert_file = certificate("client.pem");
    tls.settings.tls.key_file = certificate("client.key");
    tls.endpoint.vhost = "no-such-vhost";
    CHECK(tls.refusal().starts_with("the broker at " + broker +
                                    " refused the user of retryd's certificate on vhost 'no-such-vhost': 530 "));
}
