#include "commands/common/broker.h"

#include <algorithm>
#include <utility>

#include "amqp/sync_admin.h"

namespace retryd::commands {

namespace {

class ConnectedBroker : public Broker {
  public:
    ConnectedBroker(const config::Settings& settings, const std::string& name)
        : amqp_(settings.broker, name), management_(management_api(settings, amqp_.endpoint().vhost)) {}

    BrokerIdentity identity() const override {
        const config::Endpoint& at = amqp_.endpoint();
        return {at.host, at.port, at.tls, at.vhost, amqp_.version()};
    }
    amqp::Declarer::Outcome carry_out(amqp::Declarer::Step step) override { return amqp_.carry_out(std::move(step)); }
    void wait(core::Milliseconds time) override { amqp_.wait(time); }
    ManagementApi* management() override { return management_.get(); }

  private:
    amqp::SyncAdminConnection amqp_;
    std::unique_ptr<ManagementApi> management_;
};

}  // namespace

std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name) {
    return std::make_unique<ConnectedBroker>(settings, connection_name);
}

QueueNames list_queue_names(Broker& broker, const std::string& no_management) {
    QueueNames found;
    if (broker.management() == nullptr) {
        found.fault = no_management;
        return found;
    }
    try {
        for (http::ListedQueue& queue : broker.management()->queues())
            found.names.push_back(std::move(queue.name));
    } catch (const http::Error& error) {
        found.fault = error.what();
    }
    return found;
}

const config::Endpoint& endpoint_of(const config::Settings& settings, const BrokerIdentity& identity) {
    const auto& all = settings.broker.endpoints;
    const auto found = std::find_if(all.begin(), all.end(), [&](const config::Endpoint& endpoint) {
        return endpoint.host == identity.host && endpoint.port == identity.port && endpoint.tls == identity.tls &&
               endpoint.vhost == identity.vhost;
    });
    return found == all.end() ? all.front() : *found;
}

}  // namespace retryd::commands
