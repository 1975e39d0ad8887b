#include "commands/common/management.h"

namespace retryd::commands {

namespace {

class HttpManagementApi : public ManagementApi {
  public:
    HttpManagementApi(const config::Settings& settings, const std::string& vhost)
        : client_(*settings.management, settings.broker.tls, vhost),
          user_(settings.broker.endpoints.empty() ? "" : settings.broker.endpoints.front().username) {}

    std::vector<http::ListedQueue> queues() override { return client_.queues(); }
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

}  // namespace retryd::commands
