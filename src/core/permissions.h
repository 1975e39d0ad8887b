// Which permissions retryd's user needs, and which of them it has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/wanted.h"

namespace retryd::core {

/// As RabbitMQ keeps them: regular expressions for names of queues and exchanges.
struct Permissions {
    std::string configure;
    std::string write;
    std::string read;
    bool operator==(const Permissions&) const = default;
};

struct NeededPermission {
    std::string_view operation;  // configure, write, read
    std::string name;            // of a queue or an exchange; amq.default is the default exchange
    bool operator==(const NeededPermission&) const = default;
};

/// For what is wanted. `declares`: retryd declares it, else it only has to be there.
std::vector<NeededPermission> needed_permissions(const Policy& policy, const std::vector<Wanted>& wanted,
                                                 bool declares);

/// Those that it has not. One whose regular expression cannot be read here counts as given.
std::vector<NeededPermission> lacking(const std::vector<NeededPermission>& needed, const Permissions& given);

}  // namespace retryd::core
