// What a session needs to be on the broker: what it cannot do without, and what its relay asks for. It is declared, or
// only looked for where nothing may be declared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "amqp/declarer.h"
#include "config/settings.h"
#include "core/broker_features.h"
#include "core/time.h"
#include "core/topology.h"
#include "relay/relay.h"

namespace retryd::amqp {

class BrokerSessionObserver;

/// What has been told of a missing permission to declare. Lives longer than a session.
struct ForbiddenDeclares {
    bool told = false;                 // that something may not be declared, and not yet that it may be again
    core::SteadyTime allowed_since{};  // nothing was refused since then, though it was asked for
    std::set<std::string> names;       // of what was refused when it was last asked for
};

class SessionTopology {
  public:
    /// What it works with; the references must outlive it.
    struct Session {
        Declarer& declarer;
        BrokerSessionObserver& observer;
        ForbiddenDeclares& forbidden;
        core::BrokerFeatures features;
        std::function<void()> base_is_there;                       // and what dies elsewhere is led to the error queue
        std::function<void(bool limited)> error_queue_is_limited;  // its delivery limit is ours
        std::function<void(bool declared)> error_queue_is_ours;    // the broker has compared all its arguments
    };
    SessionTopology(Session session, std::shared_ptr<const config::Settings> settings)
        : session_(std::move(session)), settings_(std::move(settings)) {}

    // ── What a session cannot do without ──

    /// Declares the error exchange, the error queue, the catch-all and the bindings. Where that is refused, the calls
    /// of the declarer throw Error. `relay` gets the answers to what it asks for.
    void start(relay::Relay& relay);
    void adopt(std::shared_ptr<const config::Settings> settings);
    /// Messages come from the error queue: from now on the session goes on without an answer, and all is made again
    /// every minute.
    void consuming();
    /// Nothing is made again.
    void stop() { leaving_ = true; }
    /// A broker that has blocked the connection reads nothing, and answers nothing.
    void blocked(bool is);
    void begin_turn(const core::Now& now) { now_ = now; }
    /// Once in a turn.
    void look_again();

    // ── What the relay asks for (relay::Broker) ──

    void declare(std::string_view key, const core::Topology& topology);
    void check(std::string_view queue);
    void bind_to_return_exchange(std::string_view queue);

    /// How many messages are ready in the queue; none where it is not there. 0 also means that it is not known: the
    /// broker says so, or nothing, of a quorum queue whose leader does not answer (4.3, tried).
    using Counted = std::function<void(std::optional<std::uint64_t> messages)>;
    void count(const std::string& queue, const Counted& told);

  private:
    void declare_base();
    void declare_base_from(const std::shared_ptr<const core::Topology>& base, std::size_t index);
    void bind_and_begin(std::size_t index);
    void require_base(const core::TopologyItem& item, const Declarer::Outcome& outcome);
    void declare_return_exchange();
    void declare_or_use(const core::TopologyItem& item, Declarer::Sink sink);
    void use(const core::TopologyItem& item, const Declarer::Outcome& refusal, const Declarer::Sink& sink);
    void tell_once(const std::string& text);
    void tell_used_as_it_is(const std::string& refusal);
    void tell_if_declares_again();
    void tell_once_if_unanswered(const Declarer::Outcome& outcome);
    void declare_next(const std::string& key, std::size_t index);

    Session session_;
    std::shared_ptr<const config::Settings> settings_;
    relay::Relay* relay_ = nullptr;
    core::Now now_{};
    bool blocked_ = false;
    bool consuming_ = false;
    bool leaving_ = false;
    bool base_under_way_ = false;
    bool base_declared_ = false;
    core::SteadyTime base_due_{};
    std::vector<std::function<void()>> after_base_;  // what the relay wants before that
    /// What is being declared under a key, in the order of asking: the first is under way.
    std::map<std::string, std::deque<core::Topology>, std::less<>> declaring_;
    std::set<std::string> told_;  // by accepted() and unanswered()
};

}  // namespace retryd::amqp
