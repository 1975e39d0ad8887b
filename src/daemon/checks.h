// The checks of `retryd doctor`, made by the daemon itself: all of them at the start, after a reload, every five
// minutes and when a fault begins; those of policies every minute.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "admin/finding.h"
#include "config/settings.h"
#include "core/time.h"
#include "telemetry/status.h"

namespace retryd::daemon {

/// Blocks, for as long as a broker takes that does not answer; may throw nothing but std::exception. Handed in by main:
/// the command line knows the checks.
using Check =
    std::function<admin::Diagnosis(const config::Settings&, const config::Endpoint&, admin::CheckScope scope)>;

/// Makes them in a thread of its own, which begins with the first target. Thread-safe.
class PeriodicChecks {
  public:
    struct Target {
        std::shared_ptr<const config::Settings> settings;
        config::Endpoint endpoint;
        bool operator==(const Target&) const = default;
    };
    /// A finding that began, or is over.
    struct News {
        admin::Finding finding;
        bool begins = false;
    };

    explicit PeriodicChecks(Check check);
    /// A thread that hangs is left behind after a second; it uses only what it owns.
    ~PeriodicChecks();
    PeriodicChecks(const PeriodicChecks&) = delete;
    PeriodicChecks& operator=(const PeriodicChecks&) = delete;

    /// What to look at from now on; at once where it is another one than before.
    void look_at(const Target& target);
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
    std::thread thread_;
};

}  // namespace retryd::daemon
