#include "commands/common/broker.h"

#include <optional>

#include "amqp/sync_admin.h"

namespace retryd::commands {

namespace {

class ConnectedBroker : public Broker {
  public:
    ConnectedBroker(const config::Settings& settings, const std::string& name) : amqp_(settings.broker, name) {
        if (settings.management) {
            management_.emplace(*settings.management, settings.broker.tls, amqp_.endpoint().vhost);
        }
    }

    BrokerIdentity identity() const override {
        const config::Endpoint& at = amqp_.endpoint();
        return {at.host, at.port, at.tls, at.vhost, amqp_.version()};
    }
    amqp::Declarer::Outcome carry_out(amqp::Declarer::Step step) override { return amqp_.carry_out(std::move(step)); }
    void wait(core::Milliseconds time) override { amqp_.wait(time); }

    bool has_management() const override { return management_.has_value(); }
    std::vector<http::ListedQueue> queues() override { return management_->queues(); }
    std::vector<http::ListedConsumer> consumers() override { return management_->consumers(); }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override {
        return management_->bindings_from(exchange);
    }

  private:
    amqp::SyncAdminConnection amqp_;
    std::optional<http::ManagementClient> management_;
};

}  // namespace

std::unique_ptr<Broker> connect(const config::Settings& settings, const std::string& connection_name) {
    return std::make_unique<ConnectedBroker>(settings, connection_name);
}

}  // namespace retryd::commands
