// Finds the queues that globs of the configuration match: for `sources:` all that match, for `queues:` those that match
// but are not work queues (admin/work_queues.h). Asks the management API, in a thread that lasts as long as one look.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amqp/background.h"
#include "amqp/sources.h"
#include "config/settings.h"
#include "core/policy.h"
#include "core/time.h"
#include "http/management.h"

namespace retryd::daemon {

/// The queues that a glob of `sources:` matches, without retryd's own and without exclusive and auto-delete queues.
std::vector<amqp::FoundSource> found_sources(const core::Policy& policy, const std::vector<http::ListedQueue>& queues);

/// Returns a function that asks the management API what happens to a message at the delivery limit of a source;
/// `unknown` if it cannot be asked.
amqp::AskLimitEffect ask_limit_effect(std::shared_ptr<const config::Settings> settings, std::string vhost);

/// Looks every minute.
class SourceFinder {
  public:
    struct Look {
        std::vector<amqp::FoundSource> sources;
        std::string fault;  // why the sources are not known; empty if they are
    };

    SourceFinder(std::shared_ptr<const config::Settings> settings, std::string vhost)
        : settings_(std::move(settings)), vhost_(std::move(vhost)) {}

    /// The result of a look that has just ended.
    std::optional<Look> turn(core::SteadyTime now);

  private:
    using Looking = amqp::Background<Look>;

    std::shared_ptr<const config::Settings> settings_;
    std::string vhost_;
    core::SteadyTime due_{};
    std::unique_ptr<Looking> looking_;
};

/// Looks when somebody needs to know.
class PlumbingFinder {
  public:
    using Names = std::set<std::string, std::less<>>;
    struct Look {
        Names queues;    // all queues that exist
        Names excluded;  // those of them that globs match and leave out
        bool failed = false;
    };
    using Ask = std::function<Look()>;

    /// `ask` may use only what it owns; empty: there is nobody to ask, or nothing to ask for.
    explicit PlumbingFinder(Ask ask = {}) : ask_(std::move(ask)) {}

    /// Nothing if not known yet; then turn() returns the queue once it is.
    std::optional<bool> is_excluded(std::string_view queue, core::SteadyTime now);
    /// The queues that were asked for and are known now. If nobody answers, a queue counts as a work queue.
    std::vector<std::string> turn(core::SteadyTime now);
    /// Whether somebody waits for turn().
    bool awaited() const { return !asked_.empty(); }
    /// Replaces `ask`. All queues that are waited for are known with the next turn.
    void ask_anew(Ask ask);

  private:
    using Looking = amqp::Background<Look>;

    std::vector<std::string> answered(core::SteadyTime asked_until);

    Ask ask_;
    std::map<std::string, core::SteadyTime, std::less<>> asked_;  // since when
    Names given_up_;  // treated as work queues without being known, until the next turn
    Look known_;
    std::optional<core::SteadyTime> known_until_;
    std::optional<core::SteadyTime> failed_until_;
    std::unique_ptr<Looking> looking_;
    core::SteadyTime began_{};     // when the running look began
    core::SteadyTime look_due_{};  // the earliest time of the next look
};

/// Asks the management API; empty if there is none, or no entry is a glob.
PlumbingFinder::Ask ask_for_plumbing(std::shared_ptr<const config::Settings> settings, std::string vhost);

}  // namespace retryd::daemon
