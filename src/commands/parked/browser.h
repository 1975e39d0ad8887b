// What is parked, added up: by work queue and reason, with the oldest and the newest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admin/parked.h"
#include "commands/common/broker.h"
#include "commands/common/management.h"
#include "commands/common/report.h"
#include "commands/common/table.h"
#include "commands/parked/browse.h"
#include "commands/parked/parked_queues.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"
#include "system/signals.h"

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
    void add(const admin::Parked& parked, const core::Message& message);

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

// The first look of every `parked` command: which queues, what of them is meant, what could not be seen.

/// What all four commands are told.
struct ParkedOptions {
    ReportOptions report;
    std::string from;  // a parking queue; empty: those of the configuration
    std::string queue;
    std::string reason;
    std::optional<core::Milliseconds> older_than;
    std::optional<core::Milliseconds> newer_than;
    std::vector<admin::HeaderMatch> headers;
    bool despite_delivery_limit = false;
};

admin::Selection selection_of(const ParkedOptions& options, core::WallTime now);

struct OverviewedQueue {
    std::string name;
    std::size_t messages = 0;   // that lay there
    std::size_t looked_at = 0;  // fewer where more lie there than can be held at once, or somebody was faster
    ParkedGroups selected;
    std::string fault;  // why it was not looked at, or not to its end; cause, consequence, remedy
};

struct ParkedOverview {
    std::vector<OverviewedQueue> queues;  // those that are there
    std::vector<std::string> notes;
    std::string fault;  // why there is nothing to look at at all
    bool interrupted = false;

    std::size_t selected() const;
    bool complete() const;
};

/// One connection to a broker, and what a command looks at it for. Keeps references to its arguments.
class ParkedBrowser {
  public:
    ParkedBrowser(const config::Settings& settings, const ParkedOptions& options, core::WallTime now);

    /// With each selected message; false: it has seen enough.
    using Seen = std::function<bool(const std::string& from, const core::Delivery&, const admin::Parked&)>;
    ParkedOverview survey(const Seen& seen);

    Broker& broker() { return *broker_; }
    const system::Signals& signals() const { return signals_; }
    const admin::Selection& selection() const { return selection_; }
    core::WallTime now() const { return now_; }

  private:
    void look_at(const std::string& name, ParkedOverview& survey, const Seen& seen, bool& enough);
    const admin::VhostPolicies* governance();

    const config::Settings& settings_;
    const ParkedOptions& options_;
    const system::Signals signals_{SIGINT, SIGTERM};
    std::unique_ptr<Broker> broker_;
    std::unique_ptr<Records> records_;
    std::optional<admin::VhostPolicies> governance_;
    bool asked_ = false;
    admin::Selection selection_;
    core::WallTime now_;
};

/// Of each queue its groups, then what could not be seen.
void print_overview(const ParkedOverview& survey, const ParkedBrowser& browser, bool colour, std::ostream& out);
nlohmann::ordered_json json_of(const ParkedOverview& survey);

}  // namespace retryd::commands
