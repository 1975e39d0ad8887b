// `retryd parked list` and `retryd parked show`: which messages are parked and why, and one message in full. Neither
// takes anything out of a queue.
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

// ── Groups ──────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// Parked messages counted by one of their values: `retryd parked list --by`. The desk shows them too.

/// The value under which a message is counted.
struct GroupValue {
    std::string text;        // empty: the message has none
    bool selectable = true;  // an option can select it; not a table, for example
    auto operator<=>(const GroupValue&) const = default;
};

/// `by`: reason, queue, exchange or type; any other word is the name of a header.
GroupValue value_by(const std::string& by, const admin::Parked& parked, const core::Message& message);
/// The options that select a group: `--header 'tenant=acme'`; empty if there are none.
std::string options_for(const std::string& by, const GroupValue& value);

/// The groups of one parking queue. Keeps a limited number of values; all further messages are counted together.
class ValueGroups {
  public:
    static constexpr std::size_t most_values = 10'000;

    void add(const GroupValue& value, const admin::Parked& parked, const core::Message& message);

    const std::map<GroupValue, ParkedGroup>& all() const { return groups_; }
    /// The messages with values that are not kept.
    const ParkedGroup& others() const { return others_; }

  private:
    std::map<GroupValue, ParkedGroup> groups_;
    ParkedGroup others_;
};

/// Prints the largest groups first, and not more than a person would read.
void print_groups(const std::string& by, const ValueGroups& groups, core::WallTime now, std::ostream& out);
/// All groups.
nlohmann::ordered_json json_of_groups(const std::string& by, const ValueGroups& groups);

// ── The commands ────────────────────────────────────────────────────────────────────────────────────────────────────

struct ListOptions {
    std::string by;         // what to group by (value_by); empty: work queue and reason
    bool messages = false;  // one line for each message
};

/// Returns 0; 1 if something could not be looked at, or the broker cannot be reached; 78 for a wrong configuration.
int parked_list(const ParkedOptions& options, const ListOptions& list, std::ostream& out, std::ostream& err);

struct ShowOptions {
    std::size_t number = 1;  // which of the selected messages, counted from the oldest
    bool raw = false;        // only the body, as it is
};

/// Returns 0; 1 if there is no such message, or the broker cannot be reached; 78 for a wrong configuration.
int parked_show(const ParkedOptions& options, const ShowOptions& show, std::ostream& out, std::ostream& err);

}  // namespace retryd::commands
