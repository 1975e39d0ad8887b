// What `doctor` asks the management API beyond what `plan` does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "core/broker_policy.h"
#include "core/permissions.h"
#include "http/error.h"

namespace retryd::commands {

/// Every call throws http::Error.
class Records {
  public:
    virtual ~Records() = default;

    virtual core::Governance governance() = 0;
    /// Of the user that works on the queues; nothing where the user that asks may not know.
    virtual std::optional<core::Permissions> permissions() = 0;
    virtual std::optional<std::vector<std::string>> disabled_feature_flags() = 0;
};

/// Null where no management API is configured. Of the vhost that is named.
std::unique_ptr<Records> records_of(const config::Settings& settings, const std::string& vhost);

}  // namespace retryd::commands
