#include "commands/common/management.h"

#include "http/management.h"

namespace retryd::commands {

namespace {

class ManagedBoard : public PolicyBoard {
  public:
    explicit ManagedBoard(const config::Settings& settings)
        : client_(*settings.management, settings.broker.tls, vhost_of(settings)) {}

    admin::VhostPolicies governance() override { return client_.vhost_policies(); }
    void set(const admin::BrokerPolicy& policy) override { client_.set_policy(policy); }
    std::vector<core::BindingSpec> bindings_from(const std::string& exchange) override {
        return client_.bindings_from(exchange);
    }

  private:
    http::ManagementClient client_;
};

}  // namespace

std::unique_ptr<PolicyBoard> policy_board(const config::Settings& settings) {
    return std::make_unique<ManagedBoard>(settings);
}

std::string vhost_of(const config::Settings& settings) {
    return settings.broker.endpoints.empty() ? config::Endpoint{}.vhost : settings.broker.endpoints.front().vhost;
}

namespace {

class ManagedRecords : public Records {
  public:
    ManagedRecords(const config::Settings& settings, const std::string& vhost)
        : client_(*settings.management, settings.broker.tls, vhost),
          user_(settings.broker.endpoints.empty() ? "" : settings.broker.endpoints.front().username) {}

    admin::VhostPolicies governance() override { return client_.vhost_policies(); }
    std::optional<admin::Permissions> permissions() override { return client_.permissions(user_); }
    std::optional<std::vector<std::string>> disabled_feature_flags() override {
        return client_.disabled_feature_flags();
    }

  private:
    http::ManagementClient client_;
    std::string user_;
};

}  // namespace

std::unique_ptr<Records> records_of(const config::Settings& settings, const std::string& vhost) {
    if (!settings.management) return nullptr;
    return std::make_unique<ManagedRecords>(settings, vhost);
}

}  // namespace retryd::commands
