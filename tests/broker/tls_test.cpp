// TLS to a broker that calls itself 127.0.0.1, answers on 127.0.0.2 too, and asks for a client's certificate.
#include "support/catch.h"
#include "support/scenario.h"
#include "support/worker.h"

using namespace retryd::test;

namespace {

std::string with_certificate() {
    return "cert_file: " + certificate("client.pem") + ", key_file: " + certificate("client.key");
}

std::string trusting() {
    return "ca_file: " + certificate("ca.pem") + ", " + with_certificate();
}

struct OverTls : Scenario {
    explicit OverTls(const std::string& tls) : work(work_queue("work")) {
        config.uris = {tls_broker_uri()};
        config.tls = "{" + tls + "}";
        retry(work, {"100ms"});
    }

    void call_broker_otherwise() {
        std::string& uri = config.uris.front();
        uri.replace(uri.find("127.0.0.1"), 9, "127.0.0.2");
    }

    void check_retries() {
        start();
        Worker worker(work);
        client.publish("", work, {.body = "x"});
        worker.reject(worker.receive());
        const Received back = worker.receive();
        CHECK(back.body == "x");
        worker.ack(back);
        stop();
    }

    void check_refused(const std::string& reason) {
        daemon.start(config.yaml());
        CHECK(daemon.await_log(reason));
        CHECK_FALSE(exists(config.error_queue));
        stop();
    }

    std::string work;
};

}  // namespace

TEST_CASE("TLS with a trusted authority and a client certificate: messages are retried") {
    OverTls s(trusting());
    s.check_retries();
}

TEST_CASE("a broker's certificate from an unknown authority is refused by default, and taken without verify_peer") {
    SECTION("default") {
        OverTls s(with_certificate());
        s.check_refused("certificate");
    }
    SECTION("verify_peer: false") {
        OverTls s(with_certificate() + ", verify_peer: false");
        s.check_retries();
    }
}

TEST_CASE("a certificate for another host is refused by default, and taken without verify_hostname") {
    SECTION("default") {
        OverTls s(trusting());
        s.call_broker_otherwise();
        s.check_refused("127.0.0.2");
    }
    SECTION("verify_hostname: false") {
        OverTls s(trusting() + ", verify_hostname: false");
        s.call_broker_otherwise();
        s.check_retries();
    }
}

TEST_CASE("a broker that asks for a client's certificate refuses a daemon without one") {
    OverTls s("ca_file: " + certificate("ca.pem"));
    s.check_refused("cannot");
}
