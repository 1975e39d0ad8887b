// The consumers of all sources.
#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "amqp/source_consumer.h"
#include "config/settings.h"
#include "core/message.h"
#include "core/time.h"

namespace retryd::amqp {

class SourceConsumers {
  public:
    /// `memories` and `events` must outlive it.
    SourceConsumers(const config::Settings& settings, const config::Endpoint& endpoint, AskAtLimitNow ask_at_limit,
                    SourceMemories& memories, SourceEvents& events);
    ~SourceConsumers();
    SourceConsumers(const SourceConsumers&) = delete;
    SourceConsumers& operator=(const SourceConsumers&) = delete;

    void start();
    /// All that there are now: consumes those that are new, and no longer asks for those that are gone.
    void found(const std::vector<FoundSource>& sources);
    /// Hands over what is there, without waiting; of nobody more than of the others. True if there may be more.
    bool turn(const core::Now& now);
    /// When turn() has something to do although the broker says nothing.
    std::optional<core::SteadyTime> next_tick() const;
    SourceConsumer& at(std::size_t source) const { return *consumers_[source].consumer; }
    /// As the policy has it.
    std::size_t place_in_policy(std::size_t source) const { return consumers_[source].place_in_policy; }
    std::size_t size() const { return consumers_.size(); }
    void stop();
    void close(core::Milliseconds patience) noexcept;
    /// Adds what wait() has to look at.
    void add_to(std::vector<pollfd>& fds) const;

  private:
    struct Source {
        std::unique_ptr<SourceConsumer> consumer;
        std::size_t place_in_policy = 0;
        bool by_glob = false;
    };

    void add(const std::string& queue, std::size_t place_in_policy, bool by_glob);

    const SourceSettings settings_;
    SourceMemories& memories_;
    SourceEvents& events_;
    std::vector<Source> consumers_;  // none is ever taken out: deliveries are known by their places
};

}  // namespace retryd::amqp
