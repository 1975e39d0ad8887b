#include "daemon/checks.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "system/clock.h"

namespace retryd::daemon {

namespace {

using admin::CheckScope;
using admin::Finding;
using admin::FindingCode;

/// How often each part is looked at. A policy that takes away a dead-letter exchange is to be known within a minute.
struct Part {
    CheckScope scope;
    core::Milliseconds interval;
};
constexpr std::array parts{Part{CheckScope::policies, core::Milliseconds{45'000}},
                           Part{CheckScope::all_but_policies, core::Milliseconds{300'000}}};
/// Faults may begin by the dozen.
constexpr core::Milliseconds soon{5'000};

/// What could not be looked at is a finding as well; why not may be told in other words the next time.
void add_unseen(std::vector<Finding>& findings, const std::vector<std::string>& cannot_tell) {
    for (const std::string& what : cannot_tell) {
        const std::string group = what.substr(0, what.find(':'));
        findings.push_back(Finding(FindingCode::cannot_tell, "cannot tell " + what, {.group = group}));
    }
}

telemetry::FindingStatus status_of(const Finding& finding, core::WallTime since) {
    return {std::string{kind_of(finding.code).name},
            std::string{to_string(finding.severity)},
            since,
            finding.cause,
            finding.consequence,
            finding.remedy,
            finding.command,
            finding.names};
}

}  // namespace

/// What the checks share with their thread. Both own it, since the thread may outlive them.
struct PeriodicChecks::State {
    Check check;

    std::mutex mutex;  // of all that follows
    std::condition_variable changed;
    bool stop_requested = false;
    bool thread_ended = false;
    std::optional<Target> target;
    std::array<core::SteadyTime, parts.size()> due{};
    std::array<std::vector<Finding>, parts.size()> found;
    std::map<std::string, core::WallTime> since;  // by the finding's key
    std::optional<core::WallTime> checked;
    std::vector<News> news;

    /// With the mutex held.
    std::vector<Finding> all() const {
        std::vector<Finding> findings;
        for (const auto& part : found)
            findings.insert(findings.end(), part.begin(), part.end());
        return admin::grouped(findings);
    }

    /// With the mutex held: `part` has changed, and with it perhaps the whole.
    void replace(std::size_t part, std::vector<Finding> findings) {
        const std::vector<Finding> before = all();
        found[part] = std::move(findings);
        const std::vector<Finding> after = all();
        tell_difference(before, after, true);
        tell_difference(after, before, false);
        checked = system::wall_now();
    }

    /// What is among `with` and not among `without`.
    void tell_difference(const std::vector<Finding>& without, const std::vector<Finding>& with, bool begins) {
        for (const Finding& finding : with) {
            const std::string key = finding.key();
            const bool in_both =
                std::any_of(without.begin(), without.end(), [&](const Finding& other) { return other.key() == key; });
            if (in_both) continue;
            news.push_back({finding, begins});
            if (begins) {
                since.emplace(key, system::wall_now());
            } else {
                since.erase(key);
            }
        }
    }
};

/// What the thread runs.
class PeriodicChecks::Worker {
  public:
    explicit Worker(std::shared_ptr<State> state) : state_(std::move(state)) {}

    void run() {
        for (;;) {
            std::unique_lock lock(state_->mutex);
            const auto part = await_due(lock);
            if (!part) break;
            const Target target = *state_->target;
            state_->due[*part] = system::steady_now() + parts[*part].interval;
            lock.unlock();
            std::vector<Finding> findings = look(target, parts[*part].scope);
            lock.lock();
            if (state_->target == target) state_->replace(*part, std::move(findings));
        }
        const std::lock_guard lock(state_->mutex);
        state_->thread_ended = true;
        state_->changed.notify_all();
    }

  private:
    /// The part that is due; nothing where the checks end.
    std::optional<std::size_t> await_due(std::unique_lock<std::mutex>& lock) {
        while (!state_->stop_requested) {
            if (!state_->target) {
                state_->changed.wait(lock);
                continue;
            }
            const auto first = std::min_element(state_->due.begin(), state_->due.end());
            const core::Milliseconds left = *first - system::steady_now();
            if (left <= core::Milliseconds::zero()) return static_cast<std::size_t>(first - state_->due.begin());
            state_->changed.wait_for(lock, left);
        }
        return std::nullopt;
    }

    std::vector<Finding> look(const Target& target, CheckScope scope) const {
        admin::Diagnosis diagnosis;
        try {
            diagnosis = state_->check(*target.settings, target.endpoint, scope);
        } catch (const std::exception& error) {
            diagnosis.cannot_tell.push_back(std::string{"whether the broker has all that retryd needs: "} +
                                            error.what());
        }
        add_unseen(diagnosis.findings, diagnosis.cannot_tell);
        return std::move(diagnosis.findings);
    }

    std::shared_ptr<State> state_;
};

PeriodicChecks::PeriodicChecks(Check check) : state_(std::make_shared<State>()) {
    state_->check = std::move(check);
}

PeriodicChecks::~PeriodicChecks() {
    constexpr std::chrono::seconds patience{1};
    if (!thread_.joinable()) return;
    std::unique_lock lock(state_->mutex);
    state_->stop_requested = true;
    state_->changed.notify_all();
    const bool ended = state_->changed.wait_for(lock, patience, [&] { return state_->thread_ended; });
    lock.unlock();
    ended ? thread_.join() : thread_.detach();
}

void PeriodicChecks::look_at(const Target& target) {
    const std::lock_guard lock(state_->mutex);
    if (state_->target == target) return;
    state_->target = target;
    state_->due.fill(system::steady_now());
    state_->changed.notify_all();
    if (!thread_.joinable()) thread_ = std::thread([worker = Worker(state_)]() mutable { worker.run(); });
}

void PeriodicChecks::hold() {
    const std::lock_guard lock(state_->mutex);
    state_->target.reset();
}

void PeriodicChecks::look_again() {
    const std::lock_guard lock(state_->mutex);
    const core::SteadyTime at = system::steady_now() + soon;
    for (core::SteadyTime& due : state_->due)
        due = std::min(due, at);
    state_->changed.notify_all();
}

void PeriodicChecks::end() {
    const std::lock_guard lock(state_->mutex);
    state_->target.reset();
    state_->found = {};
    state_->since.clear();
    state_->checked.reset();
}

std::optional<telemetry::ChecksStatus> PeriodicChecks::status() const {
    const std::lock_guard lock(state_->mutex);
    if (!state_->checked) return std::nullopt;
    telemetry::ChecksStatus status;
    status.checked = state_->checked;
    for (const Finding& finding : state_->all()) {
        const auto since = state_->since.find(finding.key());
        status.findings.push_back(status_of(finding, since == state_->since.end() ? core::WallTime{} : since->second));
    }
    return status;
}

std::vector<PeriodicChecks::News> PeriodicChecks::take_news() {
    const std::lock_guard lock(state_->mutex);
    return std::exchange(state_->news, {});
}

}  // namespace retryd::daemon
