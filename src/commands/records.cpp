#include "commands/records.h"

#include "http/management.h"

namespace retryd::commands {
namespace {

class ManagedRecords : public Records {
  public:
    ManagedRecords(const config::Settings& settings, const std::string& vhost)
        : client_(*settings.management, settings.broker.tls, vhost),
          user_(settings.broker.endpoints.empty() ? "" : settings.broker.endpoints.front().username) {}

    core::Governance governance() override { return client_.governance(); }
    std::optional<core::Permissions> permissions() override { return client_.permissions(user_); }
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
