// The broker as the commands see it: what they ask and declare over AMQP, and its management API where one is
// configured.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "amqp/declarer.h"
#include "commands/common/management.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"

namespace retryd::commands {

/// Where it is and what it is. Without credentials.
struct BrokerIdentity {
    std::string host;
    std::uint16_t port = 0;
    bool tls = false;
    std::string vhost;
    core::BrokerVersion version;
};

class Broker {
  public:
    virtual ~Broker() = default;

    virtual BrokerIdentity identity() const = 0;
    /// Throws amqp::Error when the connection is lost.
    virtual amqp::Declarer::Outcome carry_out(amqp::Declarer::Step step) = 0;
    /// Serves heartbeats meanwhile. Throws amqp::Error when the connection is lost.
    virtual void wait(core::Milliseconds time) = 0;
    /// Of the same vhost; null where none is configured.
    virtual ManagementApi* management() = 0;
};

/// Connected; throws amqp::Error. `settings` must outlive it.
std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name);

/// The names of all queues of the vhost, which only the management API can list.
struct QueueNames {
    std::vector<std::string> names;
    std::string fault;  // why they are not known; empty where they are
};

/// `no_management`: the fault where no management API is configured.
QueueNames list_queue_names(Broker& broker, const std::string& no_management);

/// The endpoint of the configuration that the broker was reached at.
const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity);

}  // namespace retryd::commands
