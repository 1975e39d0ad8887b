// Connects over TLS in this process, and returns the result as text.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include "amqp/connection.h"
#include "amqp/error.h"
#include "config/addresses.h"
#include "support/await.h"
#include "support/environment.h"

namespace retryd::test {

/// The settings with which tests connect over TLS: the CA and a client certificate. Each test changes some of them.
struct OverTls {
    OverTls() {
        const auto uri = std::get<config::Uri>(config::parse_uri(tls_broker_uri()));
        endpoint.host = uri.host;
        endpoint.port = uri.port;
        endpoint.tls = true;
        settings.connect_timeout = patience;
        settings.tls.ca_file = certificate("ca.pem");
        settings.tls.cert_file = certificate("client.pem");
        settings.tls.key_file = certificate("client.key");
    }

    std::unique_ptr<amqp::Connection> open() const { return amqp::Connection::open(endpoint, settings, "tls-test"); }

    /// "connected", or the error without `cannot connect to the broker at HOST:PORT: `.
    std::string outcome() const {
        try {
            open()->close(std::chrono::milliseconds(1000));
            return "connected";
        } catch (const amqp::Error& error) {
            const std::string text = error.what();
            const std::string place = ":" + std::to_string(endpoint.port) + ": ";
            const std::size_t at = text.find(place);
            return at == std::string::npos ? text : text.substr(at + place.size());
        }
    }
    std::string outcome_at(const std::string& host) {
        endpoint.host = host;
        return outcome();
    }

    config::Endpoint endpoint;
    config::Broker settings;
};

}  // namespace retryd::test
