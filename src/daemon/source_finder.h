// Which queues the globs of `sources:` match, asked of the management API every minute, in a thread that lasts as long
// as one look. And what becomes of a message that comes back to a source again and again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "amqp/background.h"
#include "amqp/source_events.h"
#include "amqp/source_memory.h"
#include "config/settings.h"
#include "core/policy.h"
#include "core/time.h"
#include "http/management.h"

namespace retryd::daemon {

/// Those of the queues that are sources by a glob: not retryd's own, none that goes with a connection or its consumers.
std::vector<amqp::FoundSource> found_sources(const core::Policy& policy, const std::vector<http::ListedQueue>& queues);

/// Asks the management API; the answer is in doubt where it cannot be asked.
amqp::AskAtLimit ask_at_limit(std::shared_ptr<const config::Settings> settings, std::string vhost);

class SourceFinder {
  public:
    struct Look {
        std::vector<amqp::FoundSource> sources;
        std::string fault;  // why nobody knows; empty where it is known
    };

    SourceFinder(std::shared_ptr<const config::Settings> settings, std::string vhost)
        : settings_(std::move(settings)), vhost_(std::move(vhost)) {}

    /// What the look that has ended just now has found.
    std::optional<Look> turn(core::SteadyTime now);

  private:
    using Looking = amqp::Background<Look>;

    std::shared_ptr<const config::Settings> settings_;
    std::string vhost_;
    core::SteadyTime due_{};
    std::unique_ptr<Looking> looking_;
};

}  // namespace retryd::daemon
