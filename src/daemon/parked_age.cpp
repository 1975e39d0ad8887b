#include "daemon/parked_age.h"

#include <algorithm>
#include <exception>

#include "core/duration.h"
#include "core/safe_text.h"
#include "system/clock.h"

namespace retryd::daemon {

namespace {

using config::LogLevel;

constexpr core::Milliseconds at_least_between{60'000};
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
    if (target_ != target) {
        if (go_on_) *go_on_ = false;
        target_ = target;
        due_ = now;
        if (target_ && !has_rule(*target_)) report_faults({});
    }
    if (!looking_ && target_ && has_rule(*target_) && now >= due_) begin(*target_);
}

void ParkedAge::begin(const BrokerTarget& target) {
    go_on_ = std::make_shared<std::atomic<bool>>(true);
    looking_ = std::make_unique<Looking>([target, age_out = age_out_, mine = go_on_](const Looking::GoOn& wanted) {
        return age_out(*target.settings, target.endpoint, system::wall_now(), [&] { return *mine && wanted(); });
    });
}

void ParkedAge::finish(core::SteadyTime now) {
    admin::AgeRun run;
    try {
        run = looking_->take();
    } catch (const std::exception& error) {
        run.queues.push_back({"", "", 0, error.what()});
    }
    looking_.reset();
    const bool for_this_target = *go_on_;
    for (const admin::AgedQueue& queue : run.queues)
        report_taken_out(queue);
    if (for_this_target) report_faults(run);
    due_ = for_this_target ? now + std::max(run.next, at_least_between) : now;
}

void ParkedAge::report_faults(const admin::AgeRun& run) {
    std::map<std::string, std::string> faults;
    for (const admin::AgedQueue& queue : run.queues) {
        if (queue.fault.empty()) continue;
        const std::string where = queue.queue.empty() ? "" : " in " + core::quoted(queue.queue);
        report_fault(queue.queue,
                     "parked messages" + where + " that are older than parked_age allows stay: " + queue.fault +
                         ". Nothing is lost; they are tried again in a minute. Where it is the archive: its folder has "
                         "to be there, writable for retryd's user and not full, and in the systemd unit's "
                         "ReadWritePaths=",
                     faults);
    }
    for (const std::string& note : run.not_seen)
        report_fault(note, "parked_age: " + note + ". What is parked there stays, however old", faults);
    for (const auto& [key, text] : known_faults_) {
        if (faults.count(key) == 0) log_.write(LogLevel::info, "parked_age_goes_on", "no longer so: " + text);
    }
    known_faults_ = std::move(faults);
    if (known_faults_.empty()) {
        faults_.clear(fault_code);
    } else {
        faults_.raise(fault_code, known_faults_.begin()->second);
    }
}

/// In full once, as long as it lasts.
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
