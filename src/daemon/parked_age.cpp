#include "daemon/parked_age.h"

#include <algorithm>
#include <exception>

#include "core/duration.h"
#include "core/safe_text.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;

constexpr core::Milliseconds at_least_between{60'000};
constexpr core::Milliseconds after_a_fault{5 * 60'000};
constexpr const char* fault_code = "parked_age";

bool has_rule(const BrokerTarget& target) {
    const auto& entries = target.settings->policy.entries;
    return std::any_of(entries.begin(), entries.end(), [](const core::Entry& e) { return e.parked_age.has_value(); });
}

}  // namespace

ParkedAge::ParkedAge(AgeOut age_out, telemetry::Log& log, telemetry::Faults& faults)
    : age_out_(std::move(age_out)), log_(log), faults_(faults) {}

ParkedAge::~ParkedAge() {
    if (go_on_) *go_on_ = false;
}

void ParkedAge::tick(const std::optional<BrokerTarget>& target, core::SteadyTime now) {
    if (looking_ && looking_->done()) finish(now);
    if (target_ != target) follow(target, now);
    if (!looking_ && target_ && has_rule(*target_) && now >= due_) begin(*target_, now);
}

void ParkedAge::end() {
    if (!looking_) return;
    *go_on_ = false;
    constexpr Milliseconds patience{1'000};
    if (looking_->done_within(patience)) finish({});
}

/// That a connection was lost and is back is no reason to look again.
void ParkedAge::follow(const std::optional<BrokerTarget>& target, core::SteadyTime now) {
    if (go_on_) *go_on_ = false;
    target_ = target;
    if (!target_ || target_->settings == settings_) return;
    settings_ = target_->settings;
    all_due(now);
    if (!has_rule(*target_)) report_faults({});
}

void ParkedAge::begin(const BrokerTarget& target, core::SteadyTime now) {
    go_on_ = std::make_shared<std::atomic<bool>>(true);
    const auto look = [target, age_out = age_out_, before = memory_, mine = go_on_](const Looking::GoOn& wanted) {
        return age_out(*target.settings, target.endpoint, before, [&] { return *mine && wanted(); });
    };
    try {
        looking_ = std::make_unique<Looking>(look);
    } catch (const std::exception& error) {
        due_ = now + after_a_fault;
        report_faults({{{"", "", 0, error.what()}}, {}, {}, {}});
    }
}

void ParkedAge::finish(core::SteadyTime now) {
    admin::AgeRun run;
    try {
        run = looking_->take();
        memory_ = run.memory;
    } catch (const std::exception& error) {
        run.queues.push_back({"", "", 0, error.what()});
        run.next = after_a_fault;
        run.complete = false;
    }
    looking_.reset();
    for (const admin::AgedQueue& queue : run.queues)
        report_taken_out(queue);
    const bool wanted = *go_on_;
    if (wanted) report_faults(run);
    const core::Milliseconds next = std::max(run.next, at_least_between);
    due_ = now + next;
    if (!wanted) return all_due(now);
    log_.write(
        LogLevel::debug, "parked_age_looked",
        "looked for parked messages that are older than parked_age allows; again in " + core::format_duration(next));
}

void ParkedAge::all_due(core::SteadyTime now) {
    due_ = now;
    for (auto& [queue, before] : memory_)
        before.due = now;
}

void ParkedAge::report_faults(const admin::AgeRun& run) {
    std::map<std::string, std::string> faults;
    for (const admin::AgedQueue& queue : run.queues) {
        if (queue.fault.empty()) continue;
        const std::string where = queue.queue.empty() ? "" : " in " + core::quoted(queue.queue);
        report_fault(queue.queue,
                     "parked messages" + where + " that are older than parked_age allows stay: " + queue.fault +
                         ". Nothing is lost; they are tried again in " + core::format_duration(after_a_fault),
                     faults);
    }
    for (const std::string& note : run.not_seen)
        report_fault(note, "parked_age: " + note + ". What is parked there stays, however old", faults);
    if (!run.complete) faults.merge(known_faults_);
    for (const auto& [key, text] : known_faults_) {
        if (faults.count(key) == 0) log_.write(LogLevel::info, "parked_age_goes_on", "no longer so: " + text);
    }
    known_faults_ = std::move(faults);
    raise_known();
}

void ParkedAge::raise_known() {
    if (known_faults_.empty()) return faults_.clear(fault_code);
    std::string text = known_faults_.begin()->second;
    const std::size_t more = known_faults_.size() - 1;
    if (more > 0) text += ". " + std::to_string(more) + " more of the kind: the log has them (parked_age_failed)";
    faults_.raise(fault_code, text);
}

/// Logs a fault once for as long as it lasts.
void ParkedAge::report_fault(const std::string& key, const std::string& text, std::map<std::string, std::string>& now) {
    const bool known = known_faults_.count(key) > 0 || now.count(key) > 0;
    now.emplace(key, text);
    log_.write(known ? LogLevel::debug : LogLevel::error, "parked_age_failed", text, {{"queue", key}});
}

void ParkedAge::report_taken_out(const admin::AgedQueue& queue) {
    if (queue.messages == 0) return;
    const bool archived = !queue.archive.empty();
    const std::string what = std::to_string(queue.messages) + (queue.messages == 1 ? " message" : " messages");
    log_.write(
        LogLevel::info, "parked_aged",
        what + " parked in " + core::quoted(queue.queue) + " for longer than parked_age allows: " +
            (archived ? "archived in " + core::quoted(queue.archive) + ", then dropped" : "dropped"),
        {{"queue", queue.queue}, {"messages", static_cast<std::int64_t>(queue.messages)}, {"archive", queue.archive}});
    const std::lock_guard lock(mutex_);
    counts_[{queue.queue, archived ? "archived" : "dropped"}] += queue.messages;
}

std::vector<telemetry::AgedCount> ParkedAge::counts() const {
    const std::lock_guard lock(mutex_);
    std::vector<telemetry::AgedCount> counts;
    for (const auto& [key, messages] : counts_)
        counts.push_back({key.first, key.second, messages});
    return counts;
}

}  // namespace retryd::daemon
