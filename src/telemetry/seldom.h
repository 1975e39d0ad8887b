// What happens to single messages but has to be said: once a minute at most, with how often it happened in between.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/time.h"

namespace retryd::telemetry {

class Seldom {
  public:
    /// How often it has happened in silence since it was said last, if it may be said again now.
    std::optional<std::int64_t> may_say(const std::string& what, core::SteadyTime now);

  private:
    struct Said {
        core::SteadyTime at{};
        std::int64_t silent = 0;
    };
    std::map<std::string, Said> said_;
};

}  // namespace retryd::telemetry
