#include "daemon/flow_events.h"

#include "system/clock.h"

namespace retryd::daemon {

void FlowEvents::settled(const relay::Settled& message) {
    log_.settled(message);
    if (stats_ != nullptr) stats_->settled(message);
    if (message.attempt > 0 || message.outcome == relay::Outcome::held) held_.settled(message, system::now());
}

void FlowEvents::dead_lettered(std::string_view work_queue, std::string_view why) {
    log_.dead_lettered(work_queue, why);
    if (stats_ != nullptr) stats_->dead_lettered(work_queue, why);
}

void FlowEvents::stuck(std::string_view work_queue, std::string_view why, core::Milliseconds delay) {
    log_.stuck(work_queue, why, delay);
    if (stats_ != nullptr) stats_->stuck(work_queue, why, delay);
}

void FlowEvents::parked_before(std::string_view exchange) {
    log_.parked_before(exchange);
    if (stats_ != nullptr) stats_->parked_before(exchange);
}

void FlowEvents::unroutable(std::string_view exchange, std::string_view routing_key) {
    log_.unroutable(exchange, routing_key);
}

void FlowEvents::silent(const relay::TargetName& target) {
    log_.silent(target);
}

void FlowEvents::requeued(const relay::TargetName& target, relay::RequeueCause cause, core::Milliseconds delay) {
    log_.requeued(target, cause, delay);
    if (stats_ != nullptr) stats_->requeued(target, cause, delay);
}

void FlowEvents::refused(relay::Role role, std::string_view name, std::string_view why) {
    log_.refused(role, name, why);
}

void FlowEvents::healed(relay::Role role, std::string_view name) {
    log_.healed(role, name);
}

}  // namespace retryd::daemon
