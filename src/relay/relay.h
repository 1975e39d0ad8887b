// The way of a message: delivery → read the death → decide → compose → publish → confirm → ack.
//
// Sans-IO: the broker's events come in as calls, commands go out through relay::Broker, time and dice are arguments.
// One Relay serves one session: delivery tags and publish numbers mean nothing on the next connection, where the broker
// gives again what was not acked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/compose.h"
#include "core/decide.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/acks.h"
#include "relay/broker.h"
#include "relay/delayed.h"
#include "relay/poison.h"
#include "relay/reporter.h"
#include "relay/routes.h"
#include "relay/unconfirmed.h"

namespace retryd::relay {

/// What a session finds: what that broker can do, who we are there, and the dice.
struct SessionInfo {
    core::BrokerFeatures features;
    std::string connection_user;
    core::Dice dice;
    bool declare = true;  // false: everything has to be there, the bindings of work queues included
};

class Relay {
  public:
    /// `broker`, `reporter` and `suspects` must outlive the Relay; the last one outlives the connection.
    Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
          PoisonDetector& suspects);

    /// Declares what is known to be needed before any message comes: for entries with an exact name, for shared
    /// ladders, for the dead-letter exchanges of others.
    void start();

    /// From now on another policy is in force: held deliveries are decided anew, whole. No connection is touched.
    void adopt(std::shared_ptr<const core::Policy> policy, const core::Now& now);
    /// Publishes nothing more until adopt(): what comes is held, so that no publication of the old policy is under way
    /// when the new one begins.
    void prepare_to_adopt() { adopting_ = true; }

    void on_delivery(const core::Delivery& delivery, const core::Now& now);
    /// Its headers nest too deep to be read: the broker moves it to the catch-all.
    void on_unreadable_delivery(core::DeliveryTag tag, const core::Now& now);
    /// The broker handed a publication back as unroutable.
    void on_returned(std::string_view exchange, std::string_view routing_key, const core::Now& now);
    /// The broker closed the publishing channel because of a publication; a new one is there already, which counts from
    /// 1 again. `code` and `why` are the broker's. Of what was in flight one is guilty: it is found by trying each
    /// alone, and handed to the broker's own dead-lettering.
    void on_publishing_closed(int code, std::string_view why, const core::Now& now);
    /// The connection is gone, and this Relay with it: the next one may have to be careful. `provoked`: the broker
    /// closed it with an error.
    void on_connection_lost(bool provoked);
    void on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// `why` is empty when ready.
    void on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why, const core::Now& now);
    void on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now);
    /// `why` is empty unless refused.
    void on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now);

    /// No publishing while the broker has blocked us or the socket is full; deliveries are held meanwhile.
    void pause() { paused_ = true; }
    void resume(const core::Now& now);
    bool paused() const { return paused_; }

    /// DelayedRequeues what is due, asks again for what was refused.
    void on_tick(const core::Now& now);
    /// When on_tick has something to do next.
    std::optional<core::SteadyTime> next_tick() const;

    /// Sends the acks that have gathered; those behind a delivery that is not settled yet wait a little, in the hope of
    /// going with it. Call once per turn of the loop.
    void flush(const core::Now& now);
    /// Sends them all. For the end.
    void flush_all();

    /// Takes no more deliveries; what is held or comes now stays unacked and is given again by the broker.
    void stop();

    /// Published and not confirmed yet.
    std::size_t in_flight() const { return unconfirmed_.size(); }
    /// When the oldest of those was sent.
    std::optional<core::SteadyTime> unconfirmed_since() const { return unconfirmed_.oldest(); }
    std::size_t held_bytes() const { return paused_deliveries_.bytes(); }

  private:
    enum class Step { done, wait };

    // The way, in order.
    Step carry(const core::Delivery& delivery, const core::Now& now);
    Step retry(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
               const core::Retry& retry, const core::Now& now);
    Step park(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
              const core::Park& park, const core::Now& now);
    bool takes(Target& target, const core::Delivery& delivery, const core::Story& story, const core::Now& now);
    Step drop(const core::Delivery& delivery, const core::Story& story, const Route& route);
    Step bring_home(const core::Delivery& delivery, std::string_view work_queue, const core::Now& now);
    Step publish(const core::Delivery& delivery, const core::Message& composed, const core::Story& story,
                 Pending pending);
    bool may_be_tried(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now);
    void settle(const Pending& pending, bool acked, const core::Now& now);

    // What the broker refuses, loses or cannot take.
    void dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why, core::SteadyTime now);
    void requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now);
    void refuse(Target& target, std::string_view why, const core::Now& now);
    void report_healed(Target& target);
    void blame_exchange(int code, std::string_view why, const core::Now& now);
    void hold(const core::Delivery& delivery) { paused_deliveries_.add(delivery); }
    bool may_carry() const;
    void carry_held(const core::Now& now);
    std::optional<core::SteadyTime> catch_all_due() const;

    // What has to be there.
    bool work_queue_known(Route& route, const core::Now& now);
    void bind_home(std::string_view work_queue);
    void learn(Route& route, Existence answer, const core::Now& now);
    void report_binding(std::string_view work_queue, bool refused, std::string_view why);
    Target::State usable(Target& target, const core::Now& now);
    void declare(Target& target);
    void declare_rungs(Route& route);
    void declare_all(Route& route);

    std::shared_ptr<const core::Policy> policy_;
    SessionInfo session_;
    Broker& broker_;
    Reporter& reporter_;
    PoisonDetector& poison_;
    Routes routes_;
    Unconfirmed unconfirmed_;
    AckTracker acks_;
    PausedDeliveries paused_deliveries_;
    DelayedRequeues requeues_;
    /// Work queues that a shared rung did not find, being bound again: the answer holds for the messages that wait for
    /// it, not for later ones, which would go round and round if the queue were deleted again.
    std::map<std::string, Existence, std::less<>> undelivered_;
    std::set<std::string, std::less<>> binding_;  // work queues whose binding has been asked for and not answered
    UnroutableAddresses unroutable_;              // addresses of parking exchanges that led to no queue
    std::set<std::string, std::less<>> unbound_;  // bindings whose refusal has been reported
    std::optional<core::SteadyTime> late_acks_due_;
    int publishing_failures_ = 0;  // closed publishing channels in a row, for the backoff
    bool any_confirmed_ = false;
    std::vector<Pending> confirmed_;  // scratch
    core::ComposeScratch scratch_;
    bool sending_ = false;  // stays so when the connection breaks over it
    bool paused_ = false;
    bool adopting_ = false;
    bool stopping_ = false;
};

}  // namespace retryd::relay
