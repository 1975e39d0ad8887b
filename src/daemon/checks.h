// The checks of `retryd doctor`, made by the daemon itself: all of them at the start, after a reload, every five
// minutes and when a fault begins; those of policies every minute.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "admin/finding.h"
#include "config/settings.h"
#include "core/time.h"
#include "daemon/side_thread.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Blocks, for as long as a broker takes that does not answer; may throw nothing but std::exception. Handed in by main:
/// the command line knows the checks.
using Check =
    std::function<admin::Diagnosis(const config::Settings&, const config::Endpoint&, admin::CheckScope scope)>;

/// Makes them in a thread of its own, which begins with the first target. Thread-safe.
class PeriodicChecks {
  public:
    /// A finding that began, or is over.
    struct News {
        admin::Finding finding;
        bool begins = false;
    };

    /// How soon look_again() has it looked at, since faults may begin by the dozen; and after how long at the end a
    /// thread that hangs is left behind: it uses only what it owns.
    struct Times {
        core::Milliseconds soon{5'000};
        core::Milliseconds patience{1'000};
    };

    explicit PeriodicChecks(Check check) : PeriodicChecks(std::move(check), Times()) {}
    PeriodicChecks(Check check, Times times);
    ~PeriodicChecks();
    PeriodicChecks(const PeriodicChecks&) = delete;
    PeriodicChecks& operator=(const PeriodicChecks&) = delete;

    /// What to look at from now on; at once where it is another one than before.
    void look_at(const BrokerTarget& target);
    /// The configuration is another one: what is being looked at now counts no more. Until the next look_at() no check
    /// begins.
    void hold();
    /// Something odd has happened: looks at the same again soon.
    void look_again();
    /// Makes no more checks; what was found is forgotten.
    void end();

    /// Nothing where no checks are made.
    std::optional<telemetry::ChecksStatus> status() const;
    /// What began and what was over since the last call.
    std::vector<News> take_news();

  private:
    struct State;
    class Worker;

    std::shared_ptr<State> state_;
    Times times_;
    std::optional<SideThread> thread_;
};

}  // namespace retryd::daemon
