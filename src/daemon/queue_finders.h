// Which queues the globs of the configuration find: of `sources:` those that match, and of `queues:` those that match
// and are no work queues (admin/work_queues.h). Asked of the management API, in a thread that lasts as long as one
// look.
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

/// Those of the queues that are sources by a glob: not retryd's own, none that goes with a connection or its consumers.
std::vector<amqp::FoundSource> found_sources(const core::Policy& policy, const std::vector<http::ListedQueue>& queues);

/// What becomes of a message that comes back to a source again and again. Asks the management API; the answer is in
/// doubt where it cannot be asked.
amqp::AskAtLimit ask_at_limit(std::shared_ptr<const config::Settings> settings, std::string vhost);

/// Looks every minute.
class SourceFinder {
  public:
    struct Look {
        std::vector<amqp::FoundSource> sources;
        std::string fault;  // why it is not known; empty where it is
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

/// Looks when a caller has to know.
class PlumbingFinder {
  public:
    using Names = std::set<std::string, std::less<>>;
    struct Look {
        Names queues;    // all that there are
        Names left_out;  // of them those that globs name and leave out
        bool failed = false;
    };
    using Ask = std::function<Look()>;

    /// `ask` uses nothing but what it owns; empty: there is nobody to ask, or nothing to ask for.
    explicit PlumbingFinder(Ask ask = {}) : ask_(std::move(ask)) {}

    /// Nothing where it is not known yet: then turn() tells when it is.
    std::optional<bool> left_out(std::string_view queue, core::SteadyTime now);
    /// The queues that were asked for and are known from now on. Where nobody answers, a queue is a work queue.
    std::vector<std::string> turn(core::SteadyTime now);
    /// Whether somebody waits for turn().
    bool awaited() const { return !asked_.empty(); }
    /// From now on `ask` is called instead. Whatever is awaited is known with the next turn.
    void ask_anew(Ask ask);

  private:
    using Looking = amqp::Background<Look>;

    std::vector<std::string> answered(core::SteadyTime asked_until);

    Ask ask_;
    std::map<std::string, core::SteadyTime, std::less<>> asked_;  // since when
    Names given_up_;  // answered without being known: it holds until the next turn
    Look known_;
    std::optional<core::SteadyTime> known_until_;
    std::optional<core::SteadyTime> failed_until_;
    std::unique_ptr<Looking> looking_;
    core::SteadyTime began_{};     // the look that is under way
    core::SteadyTime look_due_{};  // the next one, not before
};

/// Asks the management API, where there is one and an entry is a glob; else empty.
PlumbingFinder::Ask ask_for_plumbing(std::shared_ptr<const config::Settings> settings, std::string vhost);

}  // namespace retryd::daemon
