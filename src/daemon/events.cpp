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

FlowEvents::~FlowEvents() {
    in_flight(0);
    for (const std::string& key : lasting_)
        state_.healed(key);
    for (const std::string& target : failing_)
        state_.healed(failing_key(target));
}

void FlowEvents::recovered(std::string_view target) {
    const auto failing = failing_.find(target);
    if (failing == failing_.end()) return;
    state_.healed(failing_key(target));
    failing_.erase(failing);
}

void FlowEvents::settled(const relay::Settled& message) {
    log_.settled(message);
    if (!failing_.empty()) recovered(message.target);
    if (stats_ != nullptr) stats_->settled(message);
}

void FlowEvents::dead_lettered(std::string_view work_queue, std::string_view why) {
    log_.dead_lettered(work_queue, why);
    if (stats_ != nullptr) stats_->dead_lettered(work_queue, why);
}

void FlowEvents::stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) {
    log_.stuck(work_queue, why, delay);
    if (stats_ != nullptr) stats_->stuck(work_queue, why, delay);
}

void FlowEvents::requeued(relay::Role role, std::string_view target, relay::RequeueCause cause,
                          core::Milliseconds delay) {
    log_.requeued(role, target, cause, delay);
    if (failing_.emplace(target).second) {
        state_.lasts(failing_key(target), "messages for '" + std::string{target} +
                                              "' cannot be published: they go back to the error queue and are tried "
                                              "again with growing pauses. The log says why");
    }
    if (stats_ != nullptr) stats_->requeued(role, target, cause, delay);
}

void FlowEvents::refused(relay::Role role, std::string_view name, std::string_view why) {
    log_.refused(role, name, why);
    const std::string key = key_of(role, name);
    lasting_.insert(key);
    state_.lasts(key, std::string{why});
}

void FlowEvents::healed(relay::Role role, std::string_view name) {
    log_.healed(role, name);
    const std::string key = key_of(role, name);
    lasting_.erase(key);
    state_.healed(key);
}

}  // namespace retryd::daemon
