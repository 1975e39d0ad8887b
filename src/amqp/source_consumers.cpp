#include "amqp/source_consumers.h"

#include <algorithm>
#include <utility>

#include "core/names.h"

namespace retryd::amqp {

SourceConsumers::SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint,
                                 AskAtLimitNow ask_at_limit, SourceMemories& memories, SourceEvents& events)
    : settings_{endpoint, settings.broker, settings.prefetch.messages, settings.policy.catch_all,
                std::move(ask_at_limit)},
      memories_(memories),
      events_(events) {
    const auto& sources = settings.policy.sources;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        if (!core::is_glob(sources[i].queue)) add(sources[i].queue, i, false);
    }
}

void SourceConsumers::add(const std::string& queue, std::size_t place_in_policy, bool by_glob) {
    consumers_.push_back(
        {std::make_unique<SourceConsumer>(consumers_.size(), queue, settings_, memories_[queue], events_),
         place_in_policy, by_glob});
}

void SourceConsumers::found(const std::vector<FoundSource>& sources) {
    for (const FoundSource& found : sources) {
        const auto known = std::find_if(consumers_.begin(), consumers_.end(),
                                        [&](const Source& source) { return source.consumer->queue() == found.queue; });
        if (known == consumers_.end()) {
            add(found.queue, found.source, true);
            consumers_.back().consumer->start();
        } else if (known->consumer->retired()) {
            known->consumer->start();
        }
    }
    for (const Source& source : consumers_) {
        const bool is_there = std::any_of(sources.begin(), sources.end(), [&](const FoundSource& found) {
            return found.queue == source.consumer->queue();
        });
        if (source.by_glob && !is_there) source.consumer->retire();
    }
}

/// All are told first: one that hangs in connecting is not waited for beside another.
SourceConsumers::~SourceConsumers() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->abandon();
}

void SourceConsumers::start() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->start();
}

bool SourceConsumers::turn(const core::Now& now) {
    bool more = false;
    for (const auto& [consumer, place, by_glob] : consumers_)
        more = consumer->turn(now.steady) || more;
    return more;
}

std::optional<core::SteadyTime> SourceConsumers::next_tick() const {
    std::optional<core::SteadyTime> next;
    for (const auto& [consumer, place, by_glob] : consumers_) {
        if (const auto due = consumer->next_tick()) next = std::min(next.value_or(*due), *due);
    }
    return next;
}

void SourceConsumers::stop() {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->stop();
}

void SourceConsumers::close(core::Milliseconds patience) noexcept {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->close(patience / static_cast<int>(consumers_.size()));
}

void SourceConsumers::add_to(std::vector<pollfd>& fds) const {
    for (const auto& [consumer, place, by_glob] : consumers_)
        consumer->add_to(fds);
}

}  // namespace retryd::amqp
