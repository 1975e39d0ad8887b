#include "daemon/checks.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "system/clock.h"

namespace retryd::daemon {

namespace {

using admin::CheckScope;
using admin::Finding;
using admin::FindingCode;

/// How often each part is checked. That a policy has taken away a dead-letter exchange should be known within a minute.
struct Part {
    CheckScope scope;
    core::Milliseconds interval;
};
constexpr std::array parts{Part{CheckScope::policies, core::Milliseconds{45'000}},
                           Part{CheckScope::all_but_policies, core::Milliseconds{300'000}}};

/// What could not be checked is a finding as well. Its group leaves out the reason, which may be worded differently the
/// next time.
void add_unseen(std::vector<Finding>& findings, const std::vector<std::string>& cannot_tell) {
    for (const std::string& what : cannot_tell) {
        const std::string group = what.substr(0, what.find(':'));
        findings.push_back(Finding(FindingCode::cannot_tell, "cannot tell " + what, {.group = group}));
    }
}

using Keys = std::set<std::string>;

Keys keys_of(const std::vector<Finding>& findings, bool unseen_only) {
    Keys keys;
    for (const Finding& finding : findings) {
        if (!unseen_only || finding.code == FindingCode::cannot_tell) keys.insert(finding.key());
    }
    return keys;
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

struct PeriodicChecks::State : SideThreadState {
    /// What decides on how much a check can see, as long as nothing fails.
    struct Access {
        explicit Access(const BrokerTarget& target)
            : management(target.settings->management),
              vhost(target.endpoint.vhost),
              username(target.endpoint.username) {}

        std::optional<config::Management> management;
        std::string vhost;
        std::string username;
        bool operator==(const Access&) const = default;
    };

    explicit State(Check checks) : check(std::move(checks)) {}

    const Check check;
    std::array<core::SteadyTime, parts.size()> due{};
    std::array<std::vector<Finding>, parts.size()> found;
    std::optional<Access> access;  // of the last target
    bool paused = false;
    int pauses = 0;
    std::array<std::optional<Keys>, parts.size()> unseen;  // what the last complete check could not see
    std::map<std::string, core::WallTime> since;           // by the finding's key
    std::optional<core::WallTime> checked;
    std::vector<News> news;

    /// Call with the mutex held.
    std::vector<Finding> all() const {
        std::vector<Finding> findings;
        for (const auto& part : found)
            findings.insert(findings.end(), part.begin(), part.end());
        return admin::grouped(findings);
    }

    /// Call with the mutex held: `part` has changed, and with it perhaps the joined findings.
    void replace(std::size_t part, std::vector<Finding> findings) {
        const std::vector<Finding> before = all();
        stand_while_unseen(part, findings);
        found[part] = std::move(findings);
        const std::vector<Finding> after = all();
        tell_difference(before, after, true);
        tell_difference(after, before, false);
        checked = system::wall_now();
    }

    /// If a check sees less than the one before (the management API is down, for example), earlier findings stay:
    /// nobody has seen that they are fixed.
    void stand_while_unseen(std::size_t part, std::vector<Finding>& findings) {
        Keys now_unseen = keys_of(findings, true);
        std::optional<Keys>& known = unseen[part];
        if (!known || std::includes(known->begin(), known->end(), now_unseen.begin(), now_unseen.end())) {
            known = std::move(now_unseen);
            return;
        }
        const Keys again = keys_of(findings, false);
        for (const Finding& earlier : found[part]) {
            if (earlier.code != FindingCode::cannot_tell && !again.contains(earlier.key())) findings.push_back(earlier);
        }
    }

    /// Reports the findings that are in `with` but not in `without`.
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

/// Runs in the thread.
class PeriodicChecks::Worker {
  public:
    explicit Worker(std::shared_ptr<State> state) : state_(std::move(state)) {}

    void run() {
        for (;;) {
            std::unique_lock lock(state_->mutex);
            const auto part = await_due(lock);
            if (!part) break;
            const BrokerTarget target = *state_->target;
            const int pauses = state_->pauses;
            state_->due[*part] = system::steady_now() + parts[*part].interval;
            lock.unlock();
            std::vector<Finding> findings = look(target, parts[*part].scope);
            lock.lock();
            if (state_->pauses != pauses) {
                state_->due[*part] = system::steady_now();
            } else if (state_->target == target) {
                state_->replace(*part, std::move(findings));
            }
        }
    }

  private:
    /// Waits for the next part that is due; nothing if the checks are to end.
    std::optional<std::size_t> await_due(std::unique_lock<std::mutex>& lock) {
        while (!state_->stop_requested) {
            if (!state_->target || state_->paused) {
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

    std::vector<Finding> look(const BrokerTarget& target, CheckScope scope) const {
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

PeriodicChecks::PeriodicChecks(Check check, Times times)
    : state_(std::make_shared<State>(std::move(check))), times_(times) {}

PeriodicChecks::~PeriodicChecks() = default;

void PeriodicChecks::look_at(const BrokerTarget& target) {
    const std::lock_guard lock(state_->mutex);
    if (state_->target == target) return;
    state_->target = target;
    state_->due.fill(system::steady_now());
    // Another node of the cluster, or another ladder, is no reason to see less.
    if (state_->access != State::Access(target)) state_->unseen = {};
    state_->access = State::Access(target);
    state_->changed.notify_all();
    if (!thread_)
        thread_.emplace(
            state_, [worker = Worker(state_)]() mutable { worker.run(); }, times_.patience);
}

void PeriodicChecks::hold() {
    const std::lock_guard lock(state_->mutex);
    state_->target.reset();
}

void PeriodicChecks::pause(bool paused) {
    const std::lock_guard lock(state_->mutex);
    if (state_->paused == paused) return;
    state_->paused = paused;
    if (paused) ++state_->pauses;
    state_->changed.notify_all();
}

void PeriodicChecks::look_again() {
    const std::lock_guard lock(state_->mutex);
    const core::SteadyTime at = system::steady_now() + times_.soon;
    for (core::SteadyTime& due : state_->due)
        due = std::min(due, at);
    state_->changed.notify_all();
}

void PeriodicChecks::end() {
    const std::lock_guard lock(state_->mutex);
    state_->target.reset();
    state_->found = {};
    state_->unseen = {};
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
