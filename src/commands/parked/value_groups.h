// How many messages are parked by one thing that they have: `retryd parked list --by`.
#pragma once

#include <compare>
#include <cstddef>
#include <iosfwd>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "admin/parked.h"
#include "commands/parked/browser.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::commands {

/// What a message is counted under.
struct GroupValue {
    std::string text;        // empty: it has none
    bool selectable = true;  // by an option; a table is not
    auto operator<=>(const GroupValue&) const = default;
};

/// `by`: reason, queue, exchange or type; any other word is the name of a header.
GroupValue value_by(const std::string& by, const admin::Parked& parked, const core::Message& message);
/// The options that select a group: `--header 'tenant=acme'`; empty where none does.
std::string options_for(const std::string& by, const GroupValue& value);

/// Of one parking queue. Keeps a bounded number of values, whatever the messages have: what comes after that counts
/// together.
class ValueGroups {
  public:
    static constexpr std::size_t most_values = 10'000;

    void add(const GroupValue& value, const admin::Parked& parked, const core::Message& message);

    const std::map<GroupValue, ParkedGroup>& all() const { return groups_; }
    /// The messages whose values are not kept.
    const ParkedGroup& others() const { return others_; }

  private:
    std::map<GroupValue, ParkedGroup> groups_;
    ParkedGroup others_;
};

/// The largest first, at most so many that a person reads them.
void print_groups(const std::string& by, const ValueGroups& groups, core::WallTime now, std::ostream& out);
/// All of them.
nlohmann::ordered_json json_of_groups(const std::string& by, const ValueGroups& groups);

}  // namespace retryd::commands
