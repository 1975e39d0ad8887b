// Where and of what versions something was measured.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retryd::bench {

nlohmann::json describe_machine(const std::string& broker_version);

}  // namespace retryd::bench
