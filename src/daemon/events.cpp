#include "daemon/events.h"

namespace retryd::daemon {

namespace {

std::string key_of(relay::Role role, std::string_view name) {
    return "target " + std::to_string(static_cast<int>(role)) + ' ' + std::string{name};
}

std::string failing_key(std::string_view target) {
    return "failing " + std::string{target};
}

}  // namespace

Reporters::~Reporters() {
    in_flight(0);
    for (const std::string& key : lasting_)
        standing_.healed(key);
    for (const std::string& target : failing_)
        standing_.healed(failing_key(target));
}

void Reporters::recovered(std::string_view target) {
    const auto failing = failing_.find(target);
    if (failing == failing_.end()) return;
    standing_.healed(failing_key(target));
    failing_.erase(failing);
}

void Reporters::settled(const relay::Settled& message) {
    log_.settled(message);
    if (!failing_.empty()) recovered(message.target);
    if (tally_ != nullptr) tally_->settled(message);
}

void Reporters::dead_lettered(std::string_view work_queue, std::string_view why) {
    log_.dead_lettered(work_queue, why);
    if (tally_ != nullptr) tally_->dead_lettered(work_queue, why);
}

void Reporters::stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) {
    log_.stuck(work_queue, why, delay);
    if (tally_ != nullptr) tally_->stuck(work_queue, why, delay);
}

void Reporters::requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                         core::Milliseconds delay) {
    log_.requeued(role, target, cause, delay);
    if (failing_.emplace(target).second) {
        standing_.lasts(failing_key(target), "messages for '" + std::string{target} +
                                                 "' cannot be published: they go back to the error queue and are tried "
                                                 "again with growing pauses. The log says why");
    }
    if (tally_ != nullptr) tally_->requeued(role, target, cause, delay);
}

void Reporters::refused(relay::Role role, std::string_view name, std::string_view why) {
    log_.refused(role, name, why);
    const std::string key = key_of(role, name);
    lasting_.insert(key);
    standing_.lasts(key, std::string{why});
}

void Reporters::healed(relay::Role role, std::string_view name) {
    log_.healed(role, name);
    const std::string key = key_of(role, name);
    lasting_.erase(key);
    standing_.healed(key);
}

}  // namespace retryd::daemon
