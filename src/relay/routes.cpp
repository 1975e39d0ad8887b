#include "relay/routes.h"

#include <algorithm>

#include "core/names.h"

namespace retryd::relay {

Routes::Routes(const core::Policy& policy, const core::BrokerFeatures& features)
    : policy_(policy), features_(features) {
    catch_all_ = intern(core::parking_queue_spec(policy.catch_all, features), {});
    catch_all_->state = Target::State::ready;  // declared before the first message is asked for
}

std::shared_ptr<Target> Routes::intern(core::QueueSpec spec, core::Milliseconds delay) {
    auto& target = targets_[spec.name];
    if (!target) target = std::make_shared<Target>(Target{std::move(spec), delay});
    return target;
}

std::shared_ptr<Route> Routes::make(std::string_view work_queue, const core::Entry& entry) {
    auto route = std::make_shared<Route>();
    route->work_queue = work_queue;
    route->entry = &entry;
    if (!core::is_glob(entry.match)) route->existence = Existence::exists;  // the operator says so
    return route;
}

std::shared_ptr<Route> Routes::of(std::string_view work_queue) {
    if (const auto found = routes_.find(work_queue); found != routes_.end()) return found->second;
    const core::Entry* entry = core::match(policy_, work_queue);
    if (entry == nullptr) return nullptr;
    return routes_.emplace(work_queue, make(work_queue, *entry)).first->second;
}

std::shared_ptr<Target> Routes::rung(Route& route, core::Milliseconds delay, bool high_priority) {
    auto rung = std::find_if(route.rungs.begin(), route.rungs.end(), [&](const auto& r) { return r.delay == delay; });
    if (rung == route.rungs.end()) rung = route.rungs.insert(rung, {delay, nullptr, nullptr});
    const core::Ladder& ladder = route.entry->ladder;
    const bool apart =
        high_priority && features_.priority_blocks_expiry && ladder.queue_type == core::QueueType::quorum;
    auto& target = apart ? rung->high : rung->normal;
    if (!target) target = intern(core::rung_spec(ladder, route.work_queue, delay, apart, features_), delay);
    return target;
}

std::shared_ptr<Target> Routes::target(std::string_view queue) const {
    const auto found = targets_.find(queue);
    return found == targets_.end() ? nullptr : found->second;
}

std::shared_ptr<Target> Routes::parked(Route& route) {
    if (!route.parked) {
        route.parked =
            intern(core::parking_queue_spec(core::expand_queue(route.entry->parked, route.work_queue), features_), {});
    }
    return route.parked;
}

void Routes::forget(const Route& route) {
    routes_.erase(std::string{route.work_queue});
}

}  // namespace retryd::relay
