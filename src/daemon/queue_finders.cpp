#include "daemon/queue_finders.h"

#include <algorithm>
#include <utility>

#include "admin/work_queues.h"
#include "core/names.h"
#include "core/policy.h"
#include "http/client.h"
#include "http/management.h"

namespace retryd::daemon {

namespace {

constexpr core::Milliseconds look_again_after{60'000};

SourceFinder::Look look(const config::Settings& settings, const std::string& vhost) {
    try {
        const http::ManagementClient client(*settings.management, settings.broker.tls, vhost);
        return {found_sources(settings.policy, client.queues()), ""};
    } catch (const http::Error& error) {
        return {{}, error.what()};
    }
}

admin::LimitEffect look_at_limit(const config::Settings& settings, const std::string& vhost, const std::string& queue) {
    using Fate = admin::LimitEffect::Fate;
    if (!settings.management) return {Fate::unknown, "there is no `management:` in the configuration"};
    try {
        const http::ManagementClient client(*settings.management, settings.broker.tls, vhost);
        const admin::LimitEffect found = admin::limit_effect(client.vhost_policies(), queue);
        if (found.fate != Fate::dead_lettered || found.exchange.empty()) return found;
        const bool reaches = admin::reaches_another_queue(found, queue, client.exchange_type(found.exchange),
                                                          client.bindings_from(found.exchange));
        return reaches ? found : admin::LimitEffect{Fate::deleted};
    } catch (const http::Error& error) {
        return {Fate::unknown, error.what()};
    }
}

}  // namespace

amqp::AskLimitEffect ask_limit_effect(std::shared_ptr<const config::Settings> settings, std::string vhost) {
    return [settings = std::move(settings), vhost = std::move(vhost)](const std::string& queue) {
        return look_at_limit(*settings, vhost, queue);
    };
}

std::vector<amqp::FoundSource> found_sources(const core::Policy& policy, const std::vector<http::ListedQueue>& queues) {
    std::vector<amqp::FoundSource> found;
    for (const http::ListedQueue& queue : queues) {
        const auto source = core::source_of(policy, queue.name);
        if (!source || !core::is_glob(policy.sources[*source].queue)) continue;
        if (queue.exclusive || queue.auto_delete || queue.type == "stream") continue;
        found.push_back({queue.name, *source});
    }
    return found;
}

std::optional<SourceFinder::Look> SourceFinder::turn(core::SteadyTime now) {
    if (looking_ && looking_->done()) return std::exchange(looking_, nullptr)->take();
    if (looking_ || now < due_) return std::nullopt;
    due_ = now + look_again_after;
    looking_ = std::make_unique<Looking>(
        [settings = settings_, vhost = vhost_](const Looking::GoOn&) { return look(*settings, vhost); });
    return std::nullopt;
}

namespace {

/// How long a result is valid, and also a failure to get one.
constexpr core::Milliseconds seen_holds_for{60'000};
/// The longest time that messages wait for a result.
constexpr core::Milliseconds longest_wait{3'000};
/// Each look makes the broker list all its queues, so a long look is followed by an equally long pause. Somebody who
/// invents one queue name after the other cannot cause more looks.
constexpr core::Milliseconds between_looks{1'000};

PlumbingFinder::Look look_for_plumbing(const config::Settings& settings, const std::string& vhost) {
    PlumbingFinder::Look found;
    try {
        const http::ManagementClient client(*settings.management, settings.broker.tls, vhost);
        const admin::VhostPolicies there = client.vhost_policies();
        for (const admin::QueuePolicies& queue : there.queues)
            found.queues.insert(queue.name);
        for (const admin::PlumbingQueue& each : admin::plumbing_under_globs(settings.policy, there))
            found.excluded.insert(each.queue);
    } catch (const http::Error&) {
        found.failed = true;  // the daemon's own checks report what is wrong with the management API
    }
    return found;
}

}  // namespace

PlumbingFinder::Ask ask_for_plumbing(std::shared_ptr<const config::Settings> settings, std::string vhost) {
    const std::vector<core::Entry>& entries = settings->policy.entries;
    const bool globs = std::any_of(entries.begin(), entries.end(),
                                   [](const core::Entry& entry) { return core::is_glob(entry.match); });
    if (!settings->management || !globs) return {};
    return [settings = std::move(settings), vhost = std::move(vhost)] { return look_for_plumbing(*settings, vhost); };
}

std::optional<bool> PlumbingFinder::is_excluded(std::string_view queue, core::SteadyTime now) {
    const bool nobody = !ask_ || (failed_until_ && now < *failed_until_);
    if (nobody || given_up_.contains(queue)) return false;
    if (known_until_ && now < *known_until_ && known_.queues.contains(queue)) return known_.excluded.contains(queue);
    asked_.try_emplace(std::string{queue}, now);
    return std::nullopt;
}

std::vector<std::string> PlumbingFinder::turn(core::SteadyTime now) {
    given_up_.clear();
    if (!ask_) return answered(now);
    std::vector<std::string> names;
    if (looking_ && looking_->done()) {
        known_ = std::exchange(looking_, nullptr)->take();
        known_until_ = now + seen_holds_for;
        if (known_.failed) failed_until_ = known_until_;
        names = answered(known_.failed ? now : began_);
        look_due_ = now + std::max(between_looks, now - began_);
    }
    if (!asked_.empty() && !looking_ && now >= look_due_) {
        began_ = now;
        looking_ = std::make_unique<Looking>([ask = ask_](const Looking::GoOn&) { return ask(); });
    }
    for (std::string& name : answered(now - longest_wait))
        names.push_back(std::move(name));
    return names;
}

std::vector<std::string> PlumbingFinder::answered(core::SteadyTime asked_until) {
    std::vector<std::string> names;
    for (auto each = asked_.begin(); each != asked_.end();) {
        if (each->second > asked_until) {
            ++each;
            continue;
        }
        if (!known_.queues.contains(each->first)) given_up_.insert(each->first);
        names.push_back(each->first);
        each = asked_.erase(each);
    }
    return names;
}

void PlumbingFinder::ask_anew(Ask ask) {
    ask_ = std::move(ask);
    known_ = {};
    known_until_.reset();
    failed_until_.reset();
    looking_.reset();
    look_due_ = {};
    for (auto& [name, since] : asked_)
        since = {};
}

}  // namespace retryd::daemon
