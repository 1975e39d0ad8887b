// The checks of `retryd doctor`, run by the daemon itself: all of them at the start and after a reload, once what is
// declared then is there, every five minutes and when a fault begins; those of policies every 45 seconds.
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

/// Makes the checks. Blocks for as long as the broker takes to answer; throws nothing but std::exception. Handed in by
/// main, because the daemon may not include the commands.
using Check =
    std::function<admin::Diagnosis(const config::Settings&, const config::Endpoint&, admin::CheckScope scope)>;

/// Runs the checks in a thread of its own, from the first target on. Thread-safe.
class PeriodicChecks {
  public:
    /// A finding that is new, or is gone.
    struct News {
        admin::Finding finding;
        bool begins = false;
    };

    /// `soon`: how long look_again() waits, since faults may begin by the dozen. `patience`: how long the end waits for
    /// a thread that hangs before it is left behind; the thread uses only what it owns.
    struct Times {
        core::Milliseconds soon{5'000};
        core::Milliseconds patience{1'000};
    };

    explicit PeriodicChecks(Check check) : PeriodicChecks(std::move(check), Times()) {}
    PeriodicChecks(Check check, Times times);
    ~PeriodicChecks();
    PeriodicChecks(const PeriodicChecks&) = delete;
    PeriodicChecks& operator=(const PeriodicChecks&) = delete;

    /// The broker to check from now on; starts at once if it is another one than before.
    void look_at(const BrokerTarget& target);
    /// The configuration has changed: the result of a running check is discarded, and no check begins until the next
    /// look_at().
    void hold();
    /// While queues are being declared no check begins, and the result of one that runs is discarded: it is made again.
    void pause(bool paused);
    /// Something unusual has happened: checks the same broker again soon.
    void look_again();
    /// Stops checking and forgets all findings.
    void end();

    /// Nothing if no checks are made.
    std::optional<telemetry::ChecksStatus> status() const;
    /// Findings that began or ended since the last call.
    std::vector<News> take_news();

  private:
    struct State;
    class Worker;

    std::shared_ptr<State> state_;
    Times times_;
    std::optional<SideThread> thread_;
};

}  // namespace retryd::daemon
