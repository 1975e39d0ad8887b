#include "commands/common/broker.h"

#include <algorithm>
#include <utility>

#include "amqp/sync_admin.h"
#include "system/clock.h"

namespace retryd::commands {

namespace {

class HttpManagementApi : public ManagementApi {
  public:
    HttpManagementApi(const config::Settings& settings, const std::string& vhost)
        : client_(*settings.management, settings.broker.tls, vhost),
          user_(settings.broker.endpoints.empty() ? "" : settings.broker.endpoints.front().username) {}

    std::vector<http::ListedQueue> queues() override { return client_.queues(); }
    std::vector<http::ListedQueue> queues_with_leaders() override { return client_.queues_with_leaders(); }
    std::vector<http::ListedConsumer> consumers() override { return client_.consumers(); }
    std::vector<std::string> amqp10_targets() override { return client_.amqp10_targets(); }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override {
        return client_.bindings_from(exchange);
    }
    admin::VhostPolicies vhost_policies() override { return client_.vhost_policies(); }
    admin::Routing routing() override { return client_.routing(); }
    void bind(const core::BindingSpec& binding) override { client_.bind(binding); }
    void set_policy(const admin::BrokerPolicy& policy) override { client_.set_policy(policy); }
    std::optional<admin::Permissions> permissions() override { return client_.permissions(user_); }
    std::optional<std::vector<admin::UserPermissions>> user_permissions() override {
        return client_.user_permissions();
    }
    std::optional<std::vector<std::string>> disabled_feature_flags() override {
        return client_.disabled_feature_flags();
    }
    std::optional<std::vector<http::NodeAlarm>> alarms() override { return client_.alarms(); }
    std::optional<core::WallTime> clock() override { return client_.clock(); }

  private:
    http::ManagementClient client_;
    std::string user_;
};

}  // namespace

std::unique_ptr<ManagementApi> management_api(const config::Settings& settings, const std::string& vhost) {
    if (!settings.management) return nullptr;
    return std::make_unique<HttpManagementApi>(settings, vhost);
}

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
    core::SteadyTime now() const override { return system::steady_now(); }
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
