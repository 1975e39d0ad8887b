// How the daemon has the actions of the desk carried out.
#pragma once

#include <functional>
#include <string>

#include "admin/desk_task.h"
#include "config/settings.h"

namespace retryd::daemon {

/// Implemented by the commands, which the daemon may not include, and handed in by main.
struct DeskActions {
    /// Reads a request. Does not block.
    std::function<admin::DeskTask(const std::string& action, const std::string& body)> read = {};
    /// Blocks until the action is done. Throws nothing but std::exception.
    std::function<admin::DeskOutcome(const config::Settings&, const config::Endpoint&, const admin::DeskTask&,
                                     const admin::DeskControl&)>
        carry_out = {};
};

}  // namespace retryd::daemon
