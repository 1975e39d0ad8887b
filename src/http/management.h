// RabbitMQ's management API, as far as AMQP cannot tell: which queues there are, who consumes, what is bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/topology.h"
#include "http/error.h"

namespace retryd::http {

struct ListedQueue {
    std::string name;
    std::string type;  // classic, quorum, stream
    /// Ready, unacked, and those of a dead-lettering under way. Up to 5 s old; nothing until it has been counted once.
    std::optional<std::int64_t> messages;
    core::Arguments arguments;  // the texts and the whole numbers among them
};

struct ListedConsumer {
    std::string queue;
    std::string tag;
    bool operator==(const ListedConsumer&) const = default;
};

/// Every call asks anew and throws Error; no text holds the password.
class ManagementClient {
  public:
    ManagementClient(config::Management settings, config::Tls tls, std::string vhost);

    std::vector<ListedQueue> queues() const;
    /// Of all the vhost.
    std::vector<ListedConsumer> consumers() const;
    /// The queues bound to that exchange; none where it does not exist.
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) const;

  private:
    config::Management settings_;
    config::Tls tls_;
    std::string vhost_;
};

}  // namespace retryd::http
