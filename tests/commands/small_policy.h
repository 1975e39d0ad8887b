// A policy with short names and few delays, so that a test can say all that is asked about it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/policy.h"

namespace retryd::commands {

inline core::Entry entry_of(const std::string& match, core::Ladder ladder) {
    return {.match = match, .ladder = std::move(ladder), .parked = {.queue = "{queue}.parked"}};
}

inline core::Policy policy_of(std::vector<core::Entry> entries) {
    core::Policy policy;
    policy.error_exchange = "dlx";
    policy.error_queue = "errors";
    policy.catch_all = "rest";
    policy.entries = std::move(entries);
    return policy;
}

}  // namespace retryd::commands
