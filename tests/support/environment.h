// The broker and the programs under test, which the environment variables RETRYD_TEST_… name.
#pragma once

#include <cstdint>
#include <string>

#include "support/client.h"

namespace retryd::test {

/// RETRYD_TEST_BINARY, or the one that was built with the tests.
std::string retryd_binary();

/// That variable; throws with a remedy when it is not set.
std::string variable(const char* name);

/// That variable as a number, for tests that may be run with more than usual.
std::uint32_t this_many(const char* name, std::uint32_t otherwise);

/// What that command of the shell prints; throws with it when it fails. Where a node did not let rabbitmqctl in, all of
/// the command is run again.
std::string output_of(const std::string& command);

/// RETRYD_TEST_AMQP_URI; throws with a remedy when it is not set.
const Address& broker_address();

/// RETRYD_TEST_AMQPS_URI: the same broker over TLS, on 127.0.0.1. It listens on 127.0.0.2 and, where there is IPv6, on
/// ::1 too. It requests a client certificate; with SASL EXTERNAL the user is its common name.
std::string tls_broker_uri();

/// A file of RETRYD_TEST_CERTIFICATES: ca.pem, ca.key, client.pem (of the user guest), client.key, and server.pem with
/// its key in it, which the broker reads for every connection.
std::string certificate(const std::string& file);

/// RETRYD_TEST_MANAGEMENT_URL: the management API of that broker, where guest may do everything.
std::string management_url();

/// Runs `$RETRYD_TEST_CTL ARGUMENTS` (rabbitmqctl on that broker); what it printed. Throws with that when it fails.
std::string rabbitmqctl(const std::string& arguments);

/// The value of an Erlang expression on that broker, as Erlang prints it. Throws when there is none. Takes
/// milliseconds, where rabbitmqctl starts an Erlang node each time.
std::string erlang(const std::string& expression);
/// The same on the node that scripts/broker keeps in that folder.
std::string erlang_on(const std::string& dir, const std::string& expression);

/// After a restart of the broker 4.0.5 may not know its default exchange yet when a rung sends home what is due
/// ("Cannot forward any dead-letter messages … exchange '' … does not exist"): the rung sends it again three minutes
/// later.
inline constexpr milliseconds return_after_restart = patience + std::chrono::minutes(3);

/// Runs `$RETRYD_TEST_BROKER ACTION $RETRYD_TEST_BROKER_DIR`: restart, stop, kill … Throws when it fails.
void control_broker(const std::string& action);

/// The broker as a version to compare: {4, 0, 5}.
struct Version {
    int major = 0;
    int minor = 0;
    auto operator<=>(const Version&) const = default;
};
Version version_of(const Client& client);

}  // namespace retryd::test
