// What `plan` and `apply` ask of a broker: AMQP, and its management API where that is configured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "amqp/declarer.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "http/management.h"

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
    virtual void wait(core::Milliseconds time) = 0;

    /// Whether the rest may be asked: it throws http::Error.
    virtual bool has_management() const = 0;
    virtual std::vector<http::ListedQueue> queues() = 0;
    virtual std::vector<http::ListedConsumer> consumers() = 0;
    virtual std::vector<core::BindingSpec> bindings_from(const std::string& exchange) = 0;
};

/// Connected; throws amqp::Error. `settings` must outlive it.
std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name);

}  // namespace retryd::commands
