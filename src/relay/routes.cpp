#include "relay/routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/names.h"
#include "relay/in_flight.h"

namespace retryd::relay {

namespace {

using core::Milliseconds;

/// No more than so many messages a second shall come back from detours and find their target still in trouble.
constexpr Milliseconds::rep messages_a_second = 500;

std::size_t index_for(Milliseconds trouble_age, std::size_t messages) {
    const auto& delays = core::detour_delays;
    const Milliseconds round{static_cast<Milliseconds::rep>(messages) * 1000 / messages_a_second};
    std::size_t index = 0;
    while (index + 1 < delays.size() && (delays[index + 1] <= trouble_age || delays[index] < round))
        ++index;
    return index;
}

}  // namespace

std::size_t DetourChooser::choose(Milliseconds trouble_age, core::SteadyTime now) {
    if (now - since_ >= core::detour_delays[index_for(trouble_age, messages_)]) {
        messages_ = 0;
        since_ = now;
    }
    return index_for(trouble_age, messages_);
}

namespace {

/// No name has a line break in it.
std::string key_of(std::string_view exchange, std::string_view routing_key) {
    return std::string{exchange}.append("\n").append(routing_key);
}

std::string key_of(std::string_view exchange) {
    return std::string{exchange};
}

/// A queue of ours, published to through the default exchange.
Target queue_target(TargetRole role, std::string name, core::Topology topology) {
    Target target;
    target.role = role;
    target.name = name;
    target.routing_key = std::move(name);
    target.topology = std::move(topology);
    return target;
}

Target exchange_target(TargetRole role, const std::string& name, std::optional<std::string> routing_key,
                       core::Topology topology) {
    Target target;
    target.role = role;
    target.name = name;
    target.exchange = name;
    target.routing_key = std::move(routing_key);
    target.topology = std::move(topology);
    return target;
}

Target parking_target(const core::Parking& parked, std::string_view work_queue, const core::BrokerFeatures& features) {
    core::Topology topology = core::parking_topology(parked, work_queue, features);
    if (parked.exchange.empty()) {
        return queue_target(TargetRole::parking, core::parking_queue_of(parked, work_queue, features),
                            std::move(topology));
    }
    std::optional<std::string> routing_key;
    if (parked.routing_key) routing_key = core::expand_queue(*parked.routing_key, work_queue);
    return exchange_target(TargetRole::parking_exchange, parked.exchange, std::move(routing_key), std::move(topology));
}

struct ExchangeName {
    std::string_view text;  // empty where none is named
    bool cut = false;       // only the beginning is there: the broker cuts a text at 255 bytes
};

/// The exchange in the broker's words: "no exchange 'x' in vhost", "access to exchange 'x' in vhost".
ExchangeName exchange_in(std::string_view why) {
    constexpr std::string_view opening = "exchange '";
    constexpr std::string_view closing = "' in vhost '";
    constexpr std::string_view ellipsis = "...";
    const auto begin = why.find(opening);
    if (begin == std::string_view::npos) return {};
    why.remove_prefix(begin + opening.size());
    if (const auto end = why.find(closing); end != std::string_view::npos) return {why.substr(0, end)};
    if (why.ends_with(ellipsis)) why.remove_suffix(ellipsis.size());
    return {why, true};
}

}  // namespace

std::string Target::key() const {
    if (role == TargetRole::error_binding) return key_of("\n" + exchange, *routing_key);
    if (!work_queue_filter.empty()) return key_of(exchange, "\n" + work_queue_filter);
    return routing_key ? key_of(exchange, *routing_key) : key_of(exchange);
}

bool Route::work_queue_exists() const {
    return work_queue_state == WorkQueueState::exists || !core::is_glob(entry->match);
}

bool Route::may_have_rungs() const {
    return work_queue_state != WorkQueueState::missing && work_queue_state != WorkQueueState::exclusive;
}

Routes::Routes(std::shared_ptr<const core::Policy> policy, const core::BrokerFeatures& features)
    : policy_(std::move(policy)), features_(features) {
    make_fixed_targets();
}

void Routes::make_fixed_targets() {
    catch_all_ = intern(queue_target(TargetRole::catch_all, policy_->catch_all,
                                     {core::parking_queue_spec(policy_->catch_all, features_)}));
    // The session has declared it before it consumes.
    if (catch_all_->state == Target::State::unknown) catch_all_->state = Target::State::ready;
    error_queue_ =
        intern(queue_target(TargetRole::detour, policy_->error_queue, {core::error_queue_spec(*policy_, features_)}));
    if (error_queue_->state == Target::State::unknown) error_queue_->state = Target::State::ready;
    const core::ExchangeSpec spec = core::return_exchange_spec(*policy_);
    return_exchange_ = intern(exchange_target(TargetRole::return_exchange, spec.name, std::nullopt, {spec}));
    detours_.clear();
    for (const core::Milliseconds delay : core::detour_delays) {
        Target detour =
            queue_target(TargetRole::detour, core::detour_name(delay), {core::detour_spec(*policy_, delay, features_)});
        detour.delay = delay;
        detours_.push_back(intern(std::move(detour)));
    }
    error_bindings_.clear();
    for (const core::ErrorBinding& from : policy_->error_bindings) {
        const core::BindingSpec binding = core::error_binding(*policy_, from);
        error_bindings_.push_back(
            intern(exchange_target(TargetRole::error_binding, from.exchange, from.routing_key, {binding})));
    }
}

void Routes::adopt(std::shared_ptr<const core::Policy> policy) {
    policy_ = std::move(policy);
    ++adopted_;
    routes_.clear();
    // A reload is what an operator does who has mended something: it is not to wait until the minute is over. Of what
    // retryd may not publish to, and of the catch-all, which counts as ready before it is asked for, a declare tells
    // less.
    for (const auto& [key, target] : targets_) {
        const bool ask = target->state == Target::State::refused && target->declare_refused;
        if (ask && target->role != TargetRole::catch_all) target->state = Target::State::unknown;
    }
    make_fixed_targets();
}

/// The same target for the same key, as long as the same is to be declared for it.
std::shared_ptr<Target> Routes::intern(Target target) {
    if (target.routing_key) target.address = hash_of_address(target.exchange, *target.routing_key);
    auto& known = targets_[target.key()];
    target.asked_for_in = adopted_;
    if (known && known->topology == target.topology) {
        // While no policy named it somebody may have deleted it: apply --prune, say.
        if (known->asked_for_in + 1 < adopted_) known->gone();
        known->asked_for_in = adopted_;
        return known;
    }
    if (known) {
        target.stale_answers = known->stale_answers + (known->awaits_answer() ? 1 : 0);
        target.reported = known->reported;
        target.refused_why = known->refused_why;
        target.refused_since = known->refused_since;
    }
    known = std::make_shared<Target>(std::move(target));
    if (const auto found = were_silent_.find(known->key()); found != were_silent_.end()) {
        known->flow.was_silent(found->second);
        were_silent_.erase(found);
    }
    note_seen_before(*known);
    return known;
}

void Routes::note_seen_before(Target& target) {
    const auto found = seen_before_.find(target.key());
    if (found == seen_before_.end()) return;
    if (found->second.topology == target.topology) {
        target.changed = target.changed || target.state != Target::State::ready;
        target.took_messages_before = target.took_messages_before || found->second.has_taken_messages;
    }
    seen_before_.erase(found);
}

std::shared_ptr<Route> Routes::make(std::string_view work_queue, const core::Entry& entry) {
    auto route = std::make_shared<Route>();
    route->work_queue = work_queue;
    route->entry = &entry;
    if (!core::is_glob(entry.match)) route->work_queue_state = WorkQueueState::exists;
    return route;
}

std::shared_ptr<Route> Routes::find(std::string_view work_queue) const {
    const auto found = routes_.find(work_queue);
    return found == routes_.end() ? nullptr : found->second;
}

std::shared_ptr<Route> Routes::route_for(std::string_view work_queue) {
    if (auto known = find(work_queue)) return known;
    const core::Entry* entry = core::match(*policy_, work_queue);
    if (entry == nullptr) return nullptr;
    return routes_.emplace(work_queue, make(work_queue, *entry)).first->second;
}

std::shared_ptr<Target> Routes::rung(Route& route, core::Milliseconds delay, bool high_priority) {
    auto rung = std::find_if(route.rungs.begin(), route.rungs.end(), [&](const auto& r) { return r.delay == delay; });
    if (rung == route.rungs.end()) rung = route.rungs.insert(rung, {delay, nullptr, nullptr});
    const core::Ladder& ladder = route.entry->ladder;
    const bool separate =
        high_priority && features_.priority_blocks_expiry && ladder.queue_type == core::QueueType::quorum;
    auto& target = separate ? rung->high : rung->normal;
    if (target) return target;
    core::Topology topology = core::rung_topology(*policy_, ladder, route.work_queue, delay, separate, features_);
    std::string name = core::rung_name_of(ladder, route.work_queue, delay, separate);
    Target made = route.shared() ? exchange_target(TargetRole::rung, name, std::nullopt, std::move(topology))
                                 : queue_target(TargetRole::rung, std::move(name), std::move(topology));
    made.delay = delay;
    target = intern(std::move(made));
    return target;
}

std::shared_ptr<Target> Routes::parked(Route& route) {
    if (route.parked) return route.parked;
    route.parked = intern(parking_target(route.entry->parked, route.work_queue, features_));
    const bool producers_keys = route.parked->role == TargetRole::parking_exchange && !route.parked->routing_key;
    if (producers_keys) route.parked = target_behind_exchange(route.parked, route.work_queue);
    return route.parked;
}

/// The queue behind one key may refuse, which must not stop the messages of other work queues: so each work queue has
/// a target of its own. Nothing is declared for it but the exchange.
std::shared_ptr<Target> Routes::target_behind_exchange(const std::shared_ptr<Target>& exchange,
                                                       const std::string& work_queue) {
    Target behind = exchange_target(exchange->role, exchange->name, std::nullopt, {});
    behind.work_queue_filter = work_queue;
    std::shared_ptr<Target> interned = intern(std::move(behind));
    interned->parent_exchange = exchange;
    return interned;
}

std::shared_ptr<Target> Routes::held(Route& route) {
    if (!route.held) {
        core::QueueSpec spec = core::held_queue_spec(route.work_queue, features_);
        std::string name = spec.name;
        route.held = intern(queue_target(TargetRole::held, std::move(name), {std::move(spec)}));
    }
    return route.held;
}

std::shared_ptr<Target> Routes::home(std::string_view work_queue) {
    key_.assign("\n").append(work_queue);
    if (const auto known = targets_.find(key_); known != targets_.end()) return known->second;
    return intern(queue_target(TargetRole::work_queue, std::string{work_queue}, {}));
}

std::shared_ptr<Target> Routes::find_target(std::string_view key) const {
    const auto found = targets_.find(key);
    return found == targets_.end() ? nullptr : found->second;
}

std::shared_ptr<Target> Routes::detour(std::string_view name) const {
    const auto found =
        std::find_if(detours_.begin(), detours_.end(), [&](const auto& detour) { return detour->name == name; });
    return found == detours_.end() ? nullptr : *found;
}

std::vector<std::shared_ptr<Target>> Routes::published_through_exchange_in(std::string_view why) const {
    const ExchangeName exchange = exchange_in(why);
    std::vector<std::shared_ptr<Target>> found;
    for (const auto& [key, target] : targets_) {
        const std::string_view name = target->exchange;
        const bool meant = exchange.cut ? name.starts_with(exchange.text) : name == exchange.text;
        if (meant && !exchange.text.empty()) found.push_back(target);
    }
    return found;
}

std::vector<std::shared_ptr<Target>> Routes::take_error_bindings_left() {
    std::vector<std::shared_ptr<Target>> left;
    for (auto known = targets_.begin(); known != targets_.end();) {
        const std::shared_ptr<Target> target = known->second;
        const bool leave = target->role == TargetRole::error_binding && !is_needed(*target);
        if (leave) left.push_back(target);
        known = leave ? targets_.erase(known) : std::next(known);
    }
    return left;
}

bool Routes::any_refused(TargetRole role, std::string_view name) const {
    return std::any_of(targets_.begin(), targets_.end(), [&](const auto& known) {
        const Target& target = *known.second;
        return target.role == role && target.name == name && target.state == Target::State::refused;
    });
}

void Routes::tell_again(TargetRole role, std::string_view name) {
    for (const auto& [key, target] : targets_) {
        if (target->role == role && target->name == name) target->reported = false;
    }
}

SilentTargets Routes::silent() const {
    SilentTargets silent = were_silent_;
    for (const auto& [key, target] : targets_) {
        // A detour is tried at once on the next connection: where all wait for it there is nothing better.
        if (!target->is_last_resort() && target->flow.trouble() == TargetFlow::Trouble::silent)
            silent.emplace(key, target->flow.silence());
    }
    return silent;
}

void Routes::were_silent(const SilentTargets& targets) {
    for (const auto& [key, silence] : targets) {
        if (const auto known = find_target(key)) {
            known->flow.was_silent(silence);
        } else {
            were_silent_.emplace(key, silence);
        }
    }
}

RungsSeen Routes::rungs_seen() const {
    constexpr std::size_t most = 10'000;  // work queues come and go
    RungsSeen seen = seen_before_;
    for (const auto& [key, target] : targets_) {
        if (seen.size() >= most) break;
        const bool was_there = target->state == Target::State::ready || target->changed;
        if (target->role != TargetRole::rung || !was_there) continue;
        seen.emplace(key, RungSeen{target->topology, target->has_taken_messages()});
    }
    return seen;
}

void Routes::seen_before(RungsSeen rungs) {
    seen_before_ = std::move(rungs);
    for (const auto& [key, target] : targets_)
        note_seen_before(*target);
}

void Routes::forget(const Route& route) {
    routes_.erase(std::string{route.work_queue});
}

bool UnroutableAddresses::add(std::uint64_t address, std::string_view exchange, core::SteadyTime now) {
    constexpr core::Milliseconds tried_again_after{60'000};
    constexpr std::size_t most = 10'000;  // producers choose the keys
    if (until_.size() >= most) until_.clear();
    exchanges_.emplace(exchange);
    return until_.insert_or_assign(address, now + tried_again_after).second;
}

bool UnroutableAddresses::contains(std::uint64_t address, core::SteadyTime now) const {
    const auto found = until_.find(address);
    return found != until_.end() && now < found->second;
}

std::set<std::string, std::less<>> UnroutableAddresses::clear() {
    until_.clear();
    return std::exchange(exchanges_, {});
}

}  // namespace retryd::relay
