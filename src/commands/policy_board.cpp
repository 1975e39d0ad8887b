#include "commands/policy_board.h"

#include "http/management.h"

namespace retryd::commands {
namespace {

class ManagedBoard : public PolicyBoard {
  public:
    explicit ManagedBoard(const config::Settings& settings)
        : client_(*settings.management, settings.broker.tls, vhost_of(settings)) {}

    core::Governance governance() override { return client_.governance(); }
    void set(const core::BrokerPolicy& policy) override { client_.set_policy(policy); }
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

}  // namespace retryd::commands
