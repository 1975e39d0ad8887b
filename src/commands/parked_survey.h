// The first look of every `parked` command: which queues, what of them is meant, what could not be seen.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands/broker.h"
#include "commands/interrupts.h"
#include "commands/looking.h"
#include "commands/parked_groups.h"
#include "commands/parking_queues.h"
#include "commands/records.h"
#include "commands/report.h"
#include "config/settings.h"
#include "core/parked.h"
#include "core/time.h"

namespace retryd::commands {

/// What all four commands are told.
struct ParkedOptions {
    ReportOptions report;
    std::string from;  // a parking queue; empty: those of the configuration
    std::string queue;
    std::string reason;
    std::optional<core::Milliseconds> older_than;
    std::optional<core::Milliseconds> newer_than;
    std::vector<core::HeaderMatch> headers;
    bool despite_delivery_limit = false;
};

core::Selection selection_of(const ParkedOptions& options, core::WallTime now);

struct SurveyedQueue {
    std::string name;
    std::size_t messages = 0;   // that lay there
    std::size_t looked_at = 0;  // fewer where more lie there than can be held at once, or somebody was faster
    ParkedGroups selected;
    std::string fault;  // why it was not looked at, or not to its end; cause, consequence, remedy
};

struct ParkedSurvey {
    std::vector<SurveyedQueue> queues;  // those that are there
    std::vector<std::string> notes;
    std::string fault;  // why there is nothing to look at at all
    bool interrupted = false;

    std::size_t selected() const;
    bool complete() const;
};

/// One connection to a broker, and what a command looks at it for. Keeps references to its arguments.
class ParkedDesk {
  public:
    ParkedDesk(const config::Settings& settings, const ParkedOptions& options, core::WallTime now);

    /// With each selected message; false: it has seen enough.
    using Seen = std::function<bool(const std::string& from, const core::Delivery&, const core::Parked&)>;
    ParkedSurvey survey(const Seen& seen);

    Broker& broker() { return *broker_; }
    const Interrupts& interrupts() const { return interrupts_; }
    const core::Selection& selection() const { return selection_; }
    core::WallTime now() const { return now_; }

  private:
    void look_at(const std::string& name, ParkedSurvey& survey, const Seen& seen, bool& enough);
    const core::Governance* governance();

    const config::Settings& settings_;
    const ParkedOptions& options_;
    Interrupts interrupts_;
    std::unique_ptr<Broker> broker_;
    std::unique_ptr<Records> records_;
    std::optional<core::Governance> governance_;
    bool asked_ = false;
    core::Selection selection_;
    core::WallTime now_;
};

/// Of each queue its groups, then what could not be seen.
void print_survey(const ParkedSurvey& survey, const ParkedDesk& desk, bool colour, std::ostream& out);
nlohmann::ordered_json json_of(const ParkedSurvey& survey);

}  // namespace retryd::commands
