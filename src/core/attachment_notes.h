// What `attach` says beside a policy: what setting it brings and takes, for the operator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace retryd::core::note {

/// Of the general policy, about queues to come; `below`: the priority that would be below all other policies.
std::string for_later(std::int64_t priority, std::int64_t below);
/// Of the general policy, about a queue that it applies to until now.
std::string leaves(const std::string& queue);

/// The exchange, as JSON text, that dead letters go to until now.
std::string taken_away(const std::string& exchange);

/// Of a policy of somebody else's that is changed; whether it did not dead-letter and does now.
std::string changed(bool lost_to_streams);

/// Of a copy, and why the policy itself is not changed: one of those below.
std::string copied(const std::string& from, const std::string& why);
std::string applies_to_others(std::size_t others);
std::string stands_no_higher(const std::string& than);
std::string would_narrow();

}  // namespace retryd::core::note
