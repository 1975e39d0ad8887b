// The running actions of the desk and the last finished ones. Each has its own thread and connections, so that none
// delays the relay or whoever scrapes metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>

#include "admin/desk_task.h"
#include "core/time.h"
#include "daemon/desk_actions.h"
#include "daemon/desk_gate.h"
#include "daemon/side_thread.h"
#include "telemetry/log.h"

namespace retryd::daemon {

/// Appends a line to the audit file, which has a line of JSON for the beginning and one for the end of each action.
/// Waits until the line is on disk, which may take as long as the file system takes. Creates the file. Starts a new
/// line even if an earlier write was cut off. Several processes may write to the same file. Returns why it failed;
/// empty if it did not. If `file` is empty, nothing is written.
std::string append_to_audit(const std::string& file, const std::string& line);

/// Who asks for an action.
struct DeskPerson {
    std::string session;  // the name of the session
    std::string address;  // the client's address
    std::string
        forwarded;  // the client's address according to a proxy; any client can make it up; empty if there is none
};

/// Why a run is not started.
struct DeskRunRefusal : DeskRefusal {
    std::string run = {};  // the run that is in the way
};

/// 2026-11-25T04:00:00Z
std::string utc_of(core::WallTime time);

/// Thread-safe.
class DeskRuns {
  public:
    /// Carries out admin::DeskControl::hold; without it such actions are refused. Not called after close().
    using Hold = std::function<admin::HoldAnswer(const std::string& work_queue, bool hold)>;

    /// `log` must outlive it.
    DeskRuns(DeskActions actions, telemetry::Log& log, Hold hold = {});
    /// As end() with zero patience.
    ~DeskRuns();
    DeskRuns(const DeskRuns&) = delete;
    DeskRuns& operator=(const DeskRuns&) = delete;

    static constexpr std::size_t most_kept = 50;
    static constexpr std::size_t most_looks = 4;    // running at the same time
    static constexpr std::size_t most_changes = 8;  // the same; and as many holds and releases in addition
    static constexpr std::size_t most_result_bytes =
        std::size_t{8} * 1024 * 1024;  // of all results that are kept, except the newest

    /// Starts a run: returns its id, or why it was not started. `audit`: the audit file; empty: none. The run's own
    /// thread writes to that file, since a file system may hang; if it cannot be written, the run fails without having
    /// done anything.
    std::variant<std::string, DeskRunRefusal> begin(admin::DeskTask task, const BrokerTarget& target,
                                                    const DeskPerson& who, const std::string& audit);

    /// All runs, the newest first, without their results.
    nlohmann::ordered_json list() const;
    /// Nothing if there is no run with that id.
    std::optional<nlohmann::ordered_json> show(const std::string& id) const;
    /// Asks the run to end cleanly. False if there is no run with that id.
    bool stop(const std::string& id);

    void stop_all();
    /// As stop_all(), and no further run is started.
    void close();
    /// Waits until all runs have ended, for at most `patience` after close(); those that have not ended by then are
    /// left behind at once, or one second after close().
    void end(core::Milliseconds patience);
    /// The patience for end() that leaves enough of the shutdown timeout for what has to be done afterwards.
    static core::Milliseconds patience_within(core::Milliseconds shutdown_timeout);

  private:
    struct Run;
    struct Board;

    DeskActions actions_;
    std::shared_ptr<Board> board_;
};

}  // namespace retryd::daemon
