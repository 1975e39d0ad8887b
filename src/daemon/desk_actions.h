// What is done at the desk, as the daemon sees it: it asks the commands, which it may not include.
#pragma once

#include <functional>
#include <string>

#include "admin/desk_task.h"
#include "config/settings.h"

namespace retryd::daemon {

/// What the daemon cannot know: handed in by main.
struct DeskActions {
    /// Reads a request. Does not block.
    std::function<admin::DeskTask(const std::string& action, const std::string& body)> read = {};
    /// Blocks until it is done. Throws nothing but std::exception.
    std::function<admin::DeskOutcome(const config::Settings&, const config::Endpoint&, const admin::DeskTask&,
                                     const admin::DeskControl&)>
        carry_out = {};
};

}  // namespace retryd::daemon
