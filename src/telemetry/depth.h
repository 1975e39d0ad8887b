// How many messages wait in a queue that retryd looks after.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.h"

namespace retryd::telemetry {

struct Depth {
    enum class Role { errors, rung, parked };  // the catch-all is one of the parked

    std::string queue;
    Role role = Role::errors;
    core::Milliseconds delay{};  // of a rung
    std::uint64_t messages = 0;  // ready ones
};

constexpr std::string_view to_string(Depth::Role role) {
    switch (role) {
        case Depth::Role::errors:
            return "errors";
        case Depth::Role::rung:
            return "rung";
        case Depth::Role::parked:
            break;
    }
    return "parked";
}

}  // namespace retryd::telemetry
