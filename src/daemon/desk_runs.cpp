#include "daemon/desk_runs.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "amqp/background.h"
#include "core/safe_text.h"
#include "system/clock.h"
#include "system/random.h"
#include "telemetry/safe_json.h"

namespace retryd::daemon {

namespace {

std::string why_not_written(const std::string& file, int error) {
    const std::string begin = "the audit file " + core::quoted(file) + " cannot be written: ";
    if (error == ELOOP) return begin + "it is a symbolic link; name the file itself";
    if (error == EISDIR || error == ENXIO) return begin + "it is no regular file";
    return begin + std::generic_category().message(error);
}

/// Refuses a pipe or a device, which may hang, and a symbolic link, which may be pointed to another file. Opened for
/// reading too, to see the last byte.
int open_audit(const std::string& file) {
    constexpr mode_t for_us_and_our_group = 0640;
    return open(file.c_str(), O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, for_us_and_our_group);
}

/// Whether an earlier write was cut off; then that line has to be ended first.
bool ends_within_a_line(int fd, off_t size) {
    char last = '\n';
    return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/// Until nobody else is in the midst of a line, which would look cut off. Only for so long: whoever may read the file
/// can lock it.
void lock(int fd) {
    constexpr core::Milliseconds between{5};
    for (int tries = 0; tries < 200 && flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; ++tries)
        std::this_thread::sleep_for(between);
}

/// A single write(), so that the lines of several processes do not mix even where one of them does not get the lock.
/// Returns an error number, or 0.
int write_line(int fd, const std::string& line) {
    lock(fd);
    struct stat about {};
    if (fstat(fd, &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return ENXIO;
    const std::string text = (ends_within_a_line(fd, about.st_size) ? "\n" : "") + line + "\n";
    const ssize_t written = write(fd, text.data(), text.size());
    const int error = errno;
    flock(fd, LOCK_UN);  // the others need not wait for the disk
    if (written < 0) return error;
    if (static_cast<std::size_t>(written) != text.size()) return ENOSPC;
    return fsync(fd) != 0 && errno != EINVAL ? errno : 0;
}

}  // namespace

std::string append_to_audit(const std::string& file, const std::string& line) {
    if (file.empty()) return "";
    const int fd = open_audit(file);
    if (fd < 0) return why_not_written(file, errno);
    const int error = write_line(fd, line);
    close(fd);
    return error == 0 ? "" : why_not_written(file, error);
}

namespace {

using config::LogLevel;
using RunJson = nlohmann::ordered_json;

constexpr int conflict = 409;
constexpr int too_many_requests = 429;
constexpr int unavailable = 503;

constexpr const char* unknown_failure = "it ended with an error that does not say what it is";

RunJson text_or_nothing(const std::string& text) {
    return text.empty() ? RunJson() : RunJson(text);
}

/// `parked drop on 'email.parked'`
std::string what_of(const admin::DeskTask& task) {
    return task.action + (task.queue.empty() ? "" : " on " + core::quoted(task.queue));
}

bool is_hold(const admin::DeskTask& task) {
    return task.place == admin::DeskTask::Place::holding;
}

/// Whether two tasks may touch the same queue. A hold takes no message out of a queue, so it waits for no run.
bool overlap(const admin::DeskTask& one, const admin::DeskTask& other) {
    if (is_hold(one) != is_hold(other)) return false;
    if (one.queue.empty() || other.queue.empty()) return one.place == other.place;
    return one.queue == other.queue;
}

}  // namespace

std::string utc_of(core::WallTime time) {
    const std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
    std::tm calendar{};
    gmtime_r(&seconds, &calendar);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%FT%TZ", &calendar)};
}

struct DeskRuns::Run {
    std::string id;
    std::uint64_t number = 0;
    admin::DeskTask task;
    DeskPerson who;
    std::string audit;
    core::WallTime started{};
    std::optional<core::WallTime> ended = std::nullopt;
    bool stopping = false;
    bool active = false;  // it no longer waits for others
    admin::DeskProgress progress = {};
    admin::DeskOutcome outcome = {};
    bool result_dropped = false;
    std::unique_ptr<amqp::Background<bool>> thread = nullptr;

    /// Whether it may hold unacked messages that it is only looking at.
    bool looks() const { return !task.changes || progress.doing.empty() || progress.doing == "looked at"; }

    std::string state() const {
        if (!ended) return stopping ? "stopping" : "running";
        if (outcome.stopped) return "stopped";
        return outcome.error.empty() ? "done" : "failed";
    }
};

/// What the threads share with the DeskRuns that started them, which may be gone before they end.
struct DeskRuns::Board {
    mutable std::mutex mutex;
    std::condition_variable changed;
    telemetry::Log* log;  // null: the log is gone
    Hold hold;
    std::deque<std::shared_ptr<Run>> runs = {};  // the oldest first
    std::uint64_t begun = 0;
    std::optional<core::SteadyTime> closed = std::nullopt;

    Board(telemetry::Log* to, Hold by) : log(to), hold(std::move(by)) {}

    std::shared_ptr<Run> find(const std::string& id) const {
        const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& run) { return run->id == id; });
        return found == runs.end() ? nullptr : *found;
    }

    std::optional<DeskRunRefusal> refuse(const admin::DeskTask& task) const;
    std::optional<DeskRunRefusal> refuse_too_many(const admin::DeskTask& task) const;
    RunJson json_of(const Run& run, bool with_result) const;
    void forget_old();
    bool in_the_way(const Run& run) const;
    bool await_turn(Run& run);
    void work(const std::shared_ptr<Run>& run, const DeskActions& actions, const BrokerTarget& target);
    admin::DeskOutcome outcome_of(const std::shared_ptr<Run>& run, const DeskActions& actions,
                                  const BrokerTarget& target);
    admin::DeskOutcome carry_out(const std::shared_ptr<Run>& run, const DeskActions& actions,
                                 const BrokerTarget& target);
    void finish(Run& run, admin::DeskOutcome outcome);
    void tell_end(const Run& run, const std::string& unwritten) const;
    void tell(const Run& run, LogLevel level, const char* event, const std::string& text) const;
    static RunJson audit_of(const Run& run, const char* event);
    void write_left() const;
    static std::string write_end(const Run& run, const admin::DeskOutcome& outcome);
};

std::optional<DeskRunRefusal> DeskRuns::Board::refuse(const admin::DeskTask& task) const {
    if (closed) return DeskRunRefusal{{unavailable, "not_connected", "retryd is about to end"}};
    for (const auto& run : runs) {
        if (run->ended) continue;
        if (!task.changes || !run->task.changes || !overlap(task, run->task)) continue;
        return DeskRunRefusal{
            {conflict, "busy",
             what_of(run->task) + " (run " + run->id + ") is under way; wait until it has ended, or stop it"},
            run->id};
    }
    return refuse_too_many(task);
}

/// Each run has its own thread and connections, so their number is limited. Holding and releasing is counted
/// separately: it is quick and must not wait for replays that take hours.
std::optional<DeskRunRefusal> DeskRuns::Board::refuse_too_many(const admin::DeskTask& task) const {
    const auto alike = std::count_if(runs.begin(), runs.end(), [&](const auto& run) {
        return !run->ended && run->task.changes == task.changes && is_hold(run->task) == is_hold(task);
    });
    if (static_cast<std::size_t>(alike) < (task.changes ? most_changes : most_looks)) return std::nullopt;
    return DeskRunRefusal{{too_many_requests, "too_many",
                           std::to_string(alike) + (task.changes ? " runs that change something" : " looks") +
                               " are under way; wait until one has ended, or stop one"}};
}

RunJson DeskRuns::Board::json_of(const Run& run, bool with_result) const {
    const auto parsed = [](const std::string& text) {
        return text.empty() ? RunJson() : RunJson::parse(text, nullptr, false);
    };
    RunJson json{{"id", run.id},
                 {"action", run.task.action},
                 {"changes", run.task.changes},
                 {"state", run.state()},
                 {"started_at", utc_of(run.started)},
                 {"ended_at", run.ended ? RunJson(utc_of(*run.ended)) : RunJson()},
                 {"session", run.who.session},
                 {"address", run.who.address},
                 {"request", parsed(run.task.shown)},
                 {"progress",
                  {{"doing", run.progress.doing},
                   {"queue", run.progress.queue},
                   {"done", run.progress.done},
                   {"all", run.progress.all},
                   {"note", run.progress.note}}},
                 {"ok", run.ended ? RunJson(run.outcome.ok) : RunJson()},
                 {"error", text_or_nothing(run.outcome.error)}};
    if (with_result) json["result"] = parsed(run.outcome.result);
    json["result_dropped"] = run.result_dropped;
    return json;
}

/// Removes old runs that have ended, and results that take too much memory.
void DeskRuns::Board::forget_old() {
    for (auto run = runs.begin(); run != runs.end() && runs.size() > most_kept;)
        run = (*run)->ended && (!(*run)->thread || (*run)->thread->done()) ? runs.erase(run) : run + 1;
    std::size_t bytes = 0;
    bool newest = true;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        std::string& result = (*run)->outcome.result;
        if (result.empty()) continue;
        bytes += result.size();
        if (bytes > most_result_bytes && !newest) {
            result = {};
            (*run)->result_dropped = true;
        }
        newest = false;
    }
}

/// Whether an earlier run has to finish first. Two runs that look at the same queue would hide its messages from each
/// other, and every change starts by looking. A look beside a run that already changes messages is told what it cannot
/// see.
bool DeskRuns::Board::in_the_way(const Run& run) const {
    return std::any_of(runs.begin(), runs.end(), [&](const auto& other) {
        return other->number < run.number && !other->ended && other->looks() && overlap(other->task, run.task);
    });
}

/// False if it is stopped before it has begun.
bool DeskRuns::Board::await_turn(Run& run) {
    std::unique_lock lock(mutex);
    if (in_the_way(run)) run.progress.note = "waits until an earlier look at the same queue has ended";
    changed.wait(lock, [&] { return run.stopping || !in_the_way(run); });
    run.active = true;
    run.progress.note = "";
    return !run.stopping;
}

RunJson DeskRuns::Board::audit_of(const Run& run, const char* event) {
    RunJson json{{"time", utc_of(system::wall_now())},
                 {"event", event},
                 {"run", run.id},
                 {"session", run.who.session},
                 {"address", run.who.address}};
    if (!run.who.forwarded.empty()) json["forwarded_for"] = run.who.forwarded;
    json["action"] = run.task.action;
    const std::string& request = run.task.audited.empty() ? run.task.shown : run.task.audited;
    json["request"] = request.empty() ? RunJson() : RunJson::parse(request, nullptr, false);
    return json;
}

void DeskRuns::Board::tell(const Run& run, LogLevel level, const char* event, const std::string& text) const {
    if (log == nullptr) return;
    log->write(level, event, text,
               {{"run", run.id},
                {"action", run.task.action},
                {"session", run.who.session},
                {"address", run.who.address},
                {"messages", static_cast<std::int64_t>(run.outcome.done)}});
}

admin::DeskOutcome DeskRuns::Board::carry_out(const std::shared_ptr<Run>& run, const DeskActions& actions,
                                              const BrokerTarget& target) {
    admin::DeskControl control;
    control.id = run->id;
    control.by = "desk session " + run->who.session + " from " + run->who.address;
    control.go_on = [this, run] {
        const std::lock_guard lock(mutex);
        return !run->stopping;
    };
    control.report = [this, run](const admin::DeskProgress& progress) {
        const std::lock_guard lock(mutex);
        const bool looked = run->looks();
        run->progress = progress;
        if (looked && !run->looks()) changed.notify_all();
    };
    control.earlier = [this](const std::string& id) -> std::string {
        const std::lock_guard lock(mutex);
        const auto earlier = find(id);
        return earlier ? telemetry::to_safe_json(json_of(*earlier, true)) : "";
    };
    control.hold = [this](const std::string& work_queue, bool begins) -> admin::HoldAnswer {
        const std::lock_guard lock(mutex);
        if (closed || !hold) return {.refusal = "nothing was done: retryd is about to end"};
        return hold(work_queue, begins);
    };
    return actions.carry_out(*target.settings, target.endpoint, run->task, control);
}

admin::DeskOutcome DeskRuns::Board::outcome_of(const std::shared_ptr<Run>& run, const DeskActions& actions,
                                               const BrokerTarget& target) {
    admin::DeskOutcome outcome;
    const std::string unwritten = append_to_audit(run->audit, telemetry::to_safe_json(audit_of(*run, "begin")));
    if (!unwritten.empty()) {
        outcome.error = "nothing was done: " + unwritten;
    } else if (await_turn(*run)) {
        outcome = carry_out(run, actions, target);
    } else {
        outcome.stopped = true;
        outcome.error = "stopped before it began: nothing was done";
    }
    return outcome;
}

/// The run ends even if something is thrown: one that never ended would block its queue until the daemon ends.
void DeskRuns::Board::work(const std::shared_ptr<Run>& run, const DeskActions& actions, const BrokerTarget& target) {
    admin::DeskOutcome outcome;
    try {
        outcome = outcome_of(run, actions, target);
    } catch (const std::exception& error) {
        outcome.error = error.what();
    } catch (...) {
        outcome.error = unknown_failure;
    }
    finish(*run, std::move(outcome));
}

/// Why the end could not be written to the audit file; empty if it was.
std::string DeskRuns::Board::write_end(const Run& run, const admin::DeskOutcome& outcome) {
    try {
        RunJson line = audit_of(run, "end");
        line["outcome"] = outcome.stopped          ? "stopped"
                          : !outcome.error.empty() ? "failed"
                          : outcome.ok             ? "done"
                                                   : "not all";
        line["messages"] = outcome.done;
        line["error"] = text_or_nothing(outcome.error);
        return append_to_audit(run.audit, telemetry::to_safe_json(std::move(line)));
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// The run is marked as ended before anything here can throw.
void DeskRuns::Board::finish(Run& run, admin::DeskOutcome outcome) {
    const std::string unwritten = write_end(run, outcome);
    const std::lock_guard lock(mutex);
    run.outcome = std::move(outcome);
    run.ended = system::wall_now();
    changed.notify_all();
    tell_end(run, unwritten);
    forget_old();
}

void DeskRuns::Board::tell_end(const Run& run, const std::string& unwritten) const {
    const auto level = run.task.changes ? LogLevel::info : LogLevel::debug;
    const std::string end =
        run.outcome.error.empty() ? run.outcome.ok ? "" : "; not all of it went well" : "; " + run.outcome.error;
    tell(run, level, "desk_ended",
         what_of(run.task) + " has " + (run.outcome.stopped ? "been stopped" : "ended") + " (run " + run.id +
             "): " + std::to_string(run.outcome.done) + (run.outcome.done == 1 ? " message" : " messages") + end);
    if (!unwritten.empty()) {
        tell(run, LogLevel::error, "desk_audit_failed",
             unwritten + ". The end of run " + run.id +
                 " is not in it; nothing more is done over HTTP until it can be written");
    }
}

DeskRuns::DeskRuns(DeskActions actions, telemetry::Log& log, Hold hold)
    : actions_(std::move(actions)), board_(std::make_shared<Board>(&log, std::move(hold))) {}

DeskRuns::~DeskRuns() {
    end(core::Milliseconds::zero());
}

std::variant<std::string, DeskRunRefusal> DeskRuns::begin(admin::DeskTask task, const BrokerTarget& target,
                                                          const DeskPerson& who, const std::string& audit) {
    constexpr std::size_t id_bytes = 8;
    const std::lock_guard lock(board_->mutex);
    if (auto refusal = board_->refuse(task)) return *refusal;
    auto run = std::make_shared<Run>();
    run->id = system::random_hex(id_bytes);
    run->number = ++board_->begun;
    run->task = std::move(task);
    run->who = who;
    run->audit = audit;
    run->started = system::wall_now();
    board_->tell(*run, run->task.changes ? LogLevel::info : LogLevel::debug, "desk_began",
                 what_of(run->task) + " was asked for over HTTP by session " + who.session + " (run " + run->id + ")");
    try {
        run->thread = std::make_unique<amqp::Background<bool>>(
            [board = board_, run, actions = actions_, target](const amqp::Background<bool>::GoOn&) {
                board->work(run, actions, target);
                return true;
            });
    } catch (const std::exception& error) {
        return DeskRunRefusal{{unavailable, "too_many", std::string{"no thread for it: "} + error.what()}};
    }
    board_->runs.push_back(run);
    board_->forget_old();
    return run->id;
}

RunJson DeskRuns::list() const {
    const std::lock_guard lock(board_->mutex);
    RunJson runs = RunJson::array();
    for (auto run = board_->runs.rbegin(); run != board_->runs.rend(); ++run)
        runs.push_back(board_->json_of(**run, false));
    return {{"runs", std::move(runs)}};
}

std::optional<RunJson> DeskRuns::show(const std::string& id) const {
    const std::lock_guard lock(board_->mutex);
    const auto run = board_->find(id);
    if (!run) return std::nullopt;
    return board_->json_of(*run, true);
}

bool DeskRuns::stop(const std::string& id) {
    const std::lock_guard lock(board_->mutex);
    const auto run = board_->find(id);
    if (!run) return false;
    if (!run->ended) run->stopping = true;
    board_->changed.notify_all();
    return true;
}

void DeskRuns::stop_all() {
    const std::lock_guard lock(board_->mutex);
    for (const auto& run : board_->runs) {
        if (!run->ended) run->stopping = true;
    }
    board_->changed.notify_all();
}

/// The threads are abandoned here already, which they do not notice: an abandoned thread is still waited for one
/// second, and that second should overlap with the patience of end().
void DeskRuns::close() {
    {
        const std::lock_guard lock(board_->mutex);
        if (!board_->closed) board_->closed = system::steady_now();
        for (const auto& run : board_->runs)
            run->thread->abandon();
    }
    stop_all();
}

core::Milliseconds DeskRuns::patience_within(core::Milliseconds shutdown_timeout) {
    constexpr core::Milliseconds for_the_rest{2'000};
    return std::max(core::Milliseconds::zero(), shutdown_timeout - for_the_rest);
}

/// Writes the end of runs that are still there to the audit file. In a thread that may hang, just as the runs may; it
/// is left behind after a second.
void DeskRuns::Board::write_left() const {
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& run : runs) {
        if (!run->ended) lines.emplace_back(run->audit, telemetry::to_safe_json(audit_of(*run, "left")));
    }
    if (lines.empty()) return;
    try {
        const amqp::Background<bool> writing([lines](const amqp::Background<bool>::GoOn&) {
            for (const auto& [file, line] : lines)
                append_to_audit(file, line);
            return true;
        });
    } catch (const std::exception&) {
        // No thread could be started; the log still reports the runs.
    }
}

/// A run that is left behind no longer writes to the log, which is about to be destroyed; its end is logged here.
void DeskRuns::end(core::Milliseconds patience) {
    constexpr core::Milliseconds to_return{1'000};
    close();
    std::vector<std::unique_ptr<amqp::Background<bool>>>
        threads;  // kept here, so that no thread destroys its own handle
    {
        std::unique_lock lock(board_->mutex);
        board_->changed.wait_until(lock, *board_->closed + patience, [&] {
            return std::all_of(board_->runs.begin(), board_->runs.end(), [](const auto& run) { return run->ended; });
        });
        for (const auto& run : board_->runs) {
            if (run->ended) continue;
            board_->tell(*run, LogLevel::warning, "desk_left",
                         run->task.action + " (run " + run->id +
                             ") did not end in time and is left behind: nothing is lost, the last few messages may be "
                             "there twice");
        }
        board_->write_left();
        board_->log = nullptr;
        for (const auto& run : board_->runs) {
            if (run->ended)
                run->thread->done_within(to_return);  // joined, so that it has ended before the process does
            threads.push_back(std::move(run->thread));
        }
        board_->runs.clear();
    }
}

}  // namespace retryd::daemon
