// What was measured, as sections of Markdown. Each takes the results of one broker.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace retryd::bench {

/// "RabbitMQ 4.3.6", and on what machine, in how many rounds.
std::string heading(const nlohmann::json& results);
std::string comparison_tables(const nlohmann::json& results);
std::string latency_table(const nlohmann::json& results);
std::string growth_tables(const nlohmann::json& results);
/// The aims, what was measured, and whether that is enough.
std::string aims_table(const nlohmann::json& results);

}  // namespace retryd::bench
