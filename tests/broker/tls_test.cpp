// The whole daemon, and the commands, over TLS and with a certificate instead of a password.
#include "support/catch.h"
#include "support/certificates.h"
#include "support/command_line.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

std::string with_certificate() {
    return "cert_file: " + certificate("client.pem") + ", key_file: " + certificate("client.key");
}

struct TlsScene : Scenario {
    explicit TlsScene(const std::string& more = "") : work(work_queue("work")) {
        config.uris = {tls_broker_uri()};
        config.tls = "{ca_file: " + certificate("ca.pem") + ", " + with_certificate() + more + "}";
        retry(work, {"100ms"});
    }

    void log_in_with_certificate() {
        std::string& uri = config.uris.front();
        uri.replace(uri.find("guest:guest@"), 12, "");
        config.auth_mechanism = "external";
    }

    void check_retries() {
        Worker worker(work);
        client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(back.body == "x");
        worker.ack(back);
    }

    CommandResult run(const std::string& command) {
        daemon.write(config.yaml());
        return run_retryd(command + " -c " + daemon.config_file());
    }

    std::string work;
};

}  // namespace

TEST_CASE("TLS with a trusted authority and a client certificate: messages are retried", "[tls][3.8]") {
    TlsScene s;
    s.start();
    s.check_retries();
    s.stop();
}

TEST_CASE("with a certificate for a login the daemon retries, and the commands work", "[tls][one-version]") {
    TlsScene s;
    s.log_in_with_certificate();
    s.start();
    s.check_retries();
    CHECK(await([&] { return s.run("plan").code == 0; }));  // the detours are declared while messages are retried
    CHECK(s.run("parked list").code == 0);
    CHECK(s.run("doctor").err == "");
    CHECK(s.run("check").says({"user of the certificate " + certificate("client.pem")}));
    s.stop();
}

TEST_CASE("daemon and commands say why they do not take the broker's certificate, and the daemon takes the next one",
          "[tls][one-version]") {
    Certificates made;
    made.make_self_signed("own", "/CN=own", "subjectAltName=IP:127.0.0.1");
    made.show("own");
    TlsScene s;
    const std::string broker = tls_broker_uri().substr(std::string{"amqps://guest:guest@"}.size());
    const std::string refusal = "cannot connect to the broker at " + broker.substr(0, broker.find('/')) +
                                ": its certificate 'CN=own' is signed by itself, and is not in broker.tls.ca_file " +
                                certificate("ca.pem") + "; if it is the right one, name it with broker.tls.ca_file";
    const std::string remedy =
        "after correcting a file of broker.tls nothing has to be restarted; `openssl s_client -showcerts -connect "
        "HOST:PORT` shows what the broker sends";
    for (const char* command : {"doctor", "parked list"}) {
        const CommandResult result = s.run(command);
        CHECK(result.code == 1);
        CHECK(result.err == "retryd: " + refusal + "; " + remedy + "\n");
    }
    s.daemon.start(s.config.yaml());
    CHECK(s.daemon.await_log(refusal +
                             ". Rejected messages wait in the error queue meanwhile, none is lost; trying again"));
    CHECK_FALSE(s.exists(s.config.error_queue));

    made.make("right", {});
    made.show("right");
    CHECK(await([&] { return s.consuming(); }));
    s.check_retries();
    s.stop();
}
