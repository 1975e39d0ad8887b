// What `attach` found and did.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/attachment.h"

namespace retryd::commands {

struct AttachReport {
    std::string vhost;
    bool management = false;  // is configured
    std::string fault;        // why the management API did not answer
    /// Of the broker that answered.
    std::optional<core::BrokerVersion> version;
    /// Without an answer: the general policy alone, and no queues.
    core::Attachment found;
    /// Why nothing should be set yet; then nothing was.
    std::string not_ready;
    bool applied = false;
    /// Why a change of `found`, at the same place, was not set; empty where it was. As long as `applied`.
    std::vector<std::string> refusals;
    /// What was not attached when all was set.
    std::vector<core::Standing> left;
};

struct AttachSummary {
    std::size_t attached = 0;
    std::size_t to_attach = 0;
    std::size_t out_of_reach = 0;
    std::size_t not_there = 0;
};

/// Before anything was set.
AttachSummary summary_of(const AttachReport& report);

int attach_exit_code(const AttachReport& report);

}  // namespace retryd::commands
