#include "daemon/source_finder.h"

#include <utility>

#include "core/names.h"
#include "core/source_queues.h"
#include "http/client.h"

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

admin::AtLimit look_at_limit(const config::Settings& settings, const std::string& vhost, const std::string& queue) {
    using Fate = admin::AtLimit::Fate;
    if (!settings.management) return {Fate::unknown, "there is no `management:` in the configuration"};
    try {
        const http::ManagementClient client(*settings.management, settings.broker.tls, vhost);
        const admin::AtLimit found = admin::at_limit(client.vhost_policies(), queue);
        if (found.fate != Fate::dead_lettered || found.exchange.empty()) return found;
        const bool reaches = admin::reaches_another_queue(found, queue, client.exchange_type(found.exchange),
                                                          client.bindings_from(found.exchange));
        return reaches ? found : admin::AtLimit{Fate::deleted};
    } catch (const http::Error& error) {
        return {Fate::unknown, error.what()};
    }
}

}  // namespace

amqp::AskAtLimit ask_at_limit(std::shared_ptr<const config::Settings> settings, std::string vhost) {
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

}  // namespace retryd::daemon
