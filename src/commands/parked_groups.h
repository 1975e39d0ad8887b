// What is parked, added up: by work queue and reason, with the oldest and the newest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "commands/table.h"
#include "core/message.h"
#include "core/parked.h"
#include "core/time.h"

namespace retryd::commands {

struct ParkedGroup {
    std::size_t messages = 0;
    std::size_t replayed = 0;             // of these were sent back before, and failed again
    std::uint64_t bytes = 0;              // of bodies
    std::optional<std::uint64_t> oldest;  // parked at, seconds
    std::optional<std::uint64_t> newest;
};

class ParkedGroups {
  public:
    void add(const core::Parked& parked, const core::Message& message);

    /// By work queue and reason; both may be empty, where nobody knows.
    const std::map<std::pair<std::string, std::string>, ParkedGroup>& all() const { return groups_; }
    std::size_t messages() const { return messages_; }

  private:
    std::map<std::pair<std::string, std::string>, ParkedGroup> groups_;
    std::size_t messages_ = 0;
};

/// A line of headings and one for each group, safe for a terminal.
Rows rows_of(const ParkedGroups& groups, core::WallTime now);
nlohmann::ordered_json json_of(const ParkedGroups& groups);

}  // namespace retryd::commands
