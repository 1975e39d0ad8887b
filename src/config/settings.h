// The configuration as plain data: everything checked, units in the types. The defaults of the keys are the initial
// values here and in raw_config.h and core/policy.h, and nowhere else.
//
// A new key: a member here, then its line in config/keys.cpp; only a key that is checked against another one needs more
// (raw_config.h and validate.cpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/policy.h"
#include "core/time.h"

namespace retryd::config {

/// One broker to try, with the credentials that are in effect for it.
struct Endpoint {
    std::string host = "127.0.0.1";
    std::uint16_t port = 5672;  // 5671 with TLS
    bool tls = false;
    std::string vhost = "/";
    std::string username = "guest";
    std::string password = "guest";
    bool operator==(const Endpoint&) const = default;
    /// Names the same broker and vhost, whoever logs in, with TLS or without. The same broker by another name counts as
    /// another one.
    bool is_same_vhost(const Endpoint& other) const { return host == other.host && vhost == other.vhost; }
};

enum class AuthMechanism { plain, external };

struct Tls {
    std::string ca_file;  // empty: the system's
    std::string cert_file;
    std::string key_file;
    bool verify_peer = true;
    bool verify_hostname = true;
    bool operator==(const Tls&) const = default;
};

struct Reconnect {
    core::Milliseconds first{500};
    core::Milliseconds max{30'000};
    bool operator==(const Reconnect&) const = default;
};

struct Broker {
    std::vector<Endpoint> endpoints{Endpoint{}};  // at least one, tried in turn
    /// External: the user is the certificate's; endpoints have TLS, and neither username nor password.
    AuthMechanism auth_mechanism = AuthMechanism::plain;
    std::chrono::seconds heartbeat{20};
    core::Milliseconds connect_timeout{10'000};
    Reconnect reconnect;
    Tls tls;
    bool operator==(const Broker&) const = default;
};

struct Prefetch {
    std::uint16_t messages = 500;
    std::uint64_t body_bytes = 64ULL * 1024 * 1024;
    bool operator==(const Prefetch&) const = default;
};

enum class LogLevel { debug, info, warning, error };
enum class LogFormat { text, json };

struct Log {
    LogLevel level = LogLevel::info;
    LogFormat format = LogFormat::text;
    bool operator==(const Log&) const = default;
};

/// Where RabbitMQ's management API is, and who asks it.
struct Management {
    std::string url;  // http or https, host, maybe port and path; no / at its end
    std::string username;
    std::string password;
    bool operator==(const Management&) const = default;
};

/// Who may manage parked messages over HTTP.
struct HttpAdmin {
    std::string password;
    core::Milliseconds session{std::chrono::hours{12}};  // how long a sign-in lasts
    bool operator==(const HttpAdmin&) const = default;
};

/// Where metrics, health and the status page are served.
struct Http {
    std::string host;                     // a name or an address; IPv6 without brackets
    std::uint16_t port = 0;               // 0: any free one
    std::optional<HttpAdmin> admin = {};  // absent: nothing can be changed over HTTP
    std::string audit = {};               // the file that each action is written to; empty: none
    bool operator==(const Http&) const = default;
};

struct Settings {
    Broker broker;
    Prefetch prefetch;
    core::Policy policy;
    /// Of errors.key_file: the first one proves that headers are retryd's, and all of them are believed. Without any,
    /// see amqp/proof_keys.h.
    std::vector<std::string> proof_secrets;
    Log log;
    std::optional<Management> management;
    std::optional<Http> http;
    bool declare = true;  // false: nothing is declared, all of it has to be there
    core::Milliseconds shutdown_timeout{10'000};
    bool operator==(const Settings&) const = default;
};

}  // namespace retryd::config
