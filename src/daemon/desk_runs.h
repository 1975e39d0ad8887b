// The actions that are under way at the desk, and the last ones that have ended: each in a thread of its own, with
// connections of its own, so that none holds up the relay or whoever asks for metrics.
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

/// The audit file has a line of JSON when an action begins and one when it ends. Appends the line and its end, and
/// waits until it is on the disk: it may take as long as the file system likes. Returns why that failed; empty where it
/// did not. Creates the file. It begins a line of its own even where an earlier write was cut off. Several processes
/// may write to the same file. An empty name: nothing is written, and nothing failed.
std::string append_to_audit(const std::string& file, const std::string& line);

/// Who asks.
struct DeskPerson {
    std::string session;    // its name
    std::string address;    // of the connection
    std::string forwarded;  // what a proxy says of it, which any client may have made up; empty where it says nothing
};

/// Why a run does not begin.
struct DeskRunRefusal : DeskRefusal {
    std::string run = {};  // that is in the way
};

/// 2026-11-25T04:00:00Z
std::string utc_of(core::WallTime time);

/// Thread-safe.
class DeskRuns {
  public:
    /// What admin::DeskControl::hold does; without it every such action is refused. Called until close(), never after.
    using Hold = std::function<admin::HoldAnswer(const std::string& work_queue, bool hold)>;

    /// `log` must outlive it.
    DeskRuns(DeskActions actions, telemetry::Log& log, Hold hold = {});
    /// As end(), without patience.
    ~DeskRuns();
    DeskRuns(const DeskRuns&) = delete;
    DeskRuns& operator=(const DeskRuns&) = delete;

    static constexpr std::size_t most_kept = 50;
    static constexpr std::size_t most_looks = 4;                                    // under way beside each other
    static constexpr std::size_t most_changes = 8;                                  // the same; so many holds besides
    static constexpr std::size_t most_result_bytes = std::size_t{8} * 1024 * 1024;  // kept of all, but for the last

    /// Its id, or why not. `audit`: the file; empty: none. The run's own thread writes to it, since a file system may
    /// hang; where it cannot be written, the run fails and has done nothing.
    std::variant<std::string, DeskRunRefusal> begin(admin::DeskTask task, const BrokerTarget& target,
                                                    const DeskPerson& who, const std::string& audit);

    /// The newest first, without their results.
    nlohmann::ordered_json list() const;
    /// Nothing where there is none of that id.
    std::optional<nlohmann::ordered_json> show(const std::string& id) const;
    /// Tells it to end in order. False where there is none of that id.
    bool stop(const std::string& id);

    void stop_all();
    /// As stop_all(), and none begins any more.
    void close();
    /// Waits until all have ended, at most for so long after close(); what has not ended by then is left behind at
    /// once, or a second after close().
    void end(core::Milliseconds patience);
    /// For end(): what has to be done after it is done within the shutdown timeout all the same.
    static core::Milliseconds patience_within(core::Milliseconds shutdown_timeout);

  private:
    struct Run;
    struct Board;

    DeskActions actions_;
    std::shared_ptr<Board> board_;
};

}  // namespace retryd::daemon
