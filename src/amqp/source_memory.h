// What is known of sources beyond one session.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "admin/at_limit.h"
#include "relay/head_trial.h"

namespace retryd::amqp {

struct SourceMemory {
    relay::HeadTrial trial;
    /// It is not consumed, for its next delivery might be the one too many that deletes a message.
    bool left_alone = false;
};

/// By their queues.
using SourceMemories = std::map<std::string, SourceMemory>;

/// Asks what becomes of a message that comes back to that queue again and again. Called in a thread of its own; it uses
/// nothing but what it owns.
using AskAtLimit = std::function<admin::AtLimit(const std::string& queue)>;
/// By the configuration that is current: a reload may have told how to ask.
using AskAtLimitNow = std::function<AskAtLimit()>;

}  // namespace retryd::amqp
