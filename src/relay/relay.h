// The way of a message: delivery → read the death → decide → compose → publish → confirm → ack.
//
// Sans-IO: the broker's events come in as calls, commands go out through relay::Broker, time and dice are arguments.
// One Relay serves one session: delivery tags and publish numbers mean nothing on the next connection, where the broker
// delivers again what was not acked.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker_features.h"
#include "core/compose.h"
#include "core/decide.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/delayed.h"
#include "relay/in_flight.h"
#include "relay/poison.h"
#include "relay/reporter.h"
#include "relay/routes.h"

namespace retryd::relay {

/// What the relay has to know of its session.
struct SessionInfo {
    core::BrokerFeatures features;
    std::string connection_user;
    core::Dice dice;
    bool declare = true;  // false: everything has to be there, the bindings of work queues included
};

class Relay {
  public:
    /// `broker`, `reporter` and `poison` must outlive the Relay; the last one outlives the connection.
    Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
          PoisonDetector& poison);

    // ── The way of a message ──

    void on_delivery(const core::Delivery& delivery, const core::Now& now);
    void on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// Sends the acks that have gathered; those behind a delivery that is still open wait a little, in the hope of
    /// going with it. Call once per turn of the loop.
    void flush(const core::Now& now);
    /// Sends them all. For the end.
    void flush_all();

    /// Published and not confirmed yet.
    std::size_t in_flight() const { return unconfirmed_.size(); }
    /// When the oldest of those was sent.
    std::optional<core::SteadyTime> unconfirmed_since() const { return unconfirmed_.oldest(); }

    // ── What has to wait ──

    /// No publishing while the broker has blocked us or the socket is full; deliveries are kept meanwhile, unacked.
    void pause() { paused_ = true; }
    void resume(const core::Now& now);
    bool paused() const { return paused_; }
    /// What the deliveries take that cannot be published yet.
    std::size_t waiting_bytes() const { return waiting_deliveries_.bytes(); }

    /// Requeues what is due; declares error bindings again every minute, and the catch-all if it was refused and
    /// messages wait for it; ends an isolation that has lasted a minute.
    void on_tick(const core::Now& now);
    /// When on_tick has something to do next.
    std::optional<core::SteadyTime> next_tick() const;

    /// Takes no more deliveries; those that wait or come now stay unacked and are delivered again by the broker.
    void stop();

    // ── What the broker refuses ──

    /// Its headers nest too deep to be read: the broker moves it to the catch-all.
    void on_unreadable_delivery(core::DeliveryTag tag, const core::Now& now);
    /// The broker handed a publication back as unroutable.
    void on_returned(std::string_view exchange, std::string_view routing_key, const core::Now& now);
    /// The broker closed the publishing channel because of a publication; a new one is there already, which counts from
    /// 1 again. `code` and `why` are the broker's. On 403 and 404 the exchange is to blame, and the messages are only
    /// requeued. Otherwise one of those that were in flight is poison: it is found by publishing each alone, and handed
    /// to the broker's own dead-lettering.
    void on_publishing_closed(int code, std::string_view why, const core::Now& now);
    /// The connection is gone, and this Relay with it: the next one may have to be careful. `provoked`: the broker
    /// closed it with an error.
    void on_connection_lost(bool provoked);

    // ── What has to exist on the broker ──

    /// Declares what is known to be needed before any message comes: for entries with an exact name, for shared
    /// ladders, for the dead-letter exchanges of others.
    void start();

    /// Publishes nothing more until adopt(): what comes waits, so that no publication of the old policy is in flight
    /// when the new one begins.
    void prepare_to_adopt() { adopting_ = true; }
    /// From now on another policy is in force: it decides about the deliveries that wait, too. No connection is
    /// touched.
    void adopt(std::shared_ptr<const core::Policy> policy, const core::Now& now);

    /// `why` is empty when ready.
    void on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why, const core::Now& now);
    void on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now);
    /// `why` is empty unless refused.
    void on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now);

  private:
    /// done: published, dropped or dead-lettered. wait: it cannot go on yet, and is processed from the start later.
    enum class Step { done, wait };

    // The way of a message.
    Step process(const core::Delivery& delivery, const core::Now& now);
    Step retry(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
               const core::Retry& retry, const core::Now& now);
    Step park(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
              const core::Park& park, const core::Now& now);
    bool can_park_in(Target& target, const core::Delivery& delivery, const core::ComposeContext& context,
                     const core::Now& now);
    Step drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route);
    Step return_undelivered(const core::Delivery& delivery, std::string_view work_queue, const core::Now& now);
    Step publish(const core::Delivery& delivery, const core::Message& composed, const core::ComposeContext& context,
                 Pending pending);
    void settle(const Pending& pending, bool acked, const core::Now& now);

    // What has to wait.
    void process_waiting(const core::Now& now);
    std::optional<core::SteadyTime> catch_all_due() const;

    // What the broker refuses.
    void requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now);
    void dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why, core::SteadyTime now);
    bool dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now);
    void on_exchange_refused(int code, std::string_view why, const core::Now& now);

    // What has to exist on the broker.
    Target::State ensure_declared(Target& target, const core::Now& now);
    void declare(Target& target);
    void declare_rungs(Route& route);
    void declare_all(Route& route);
    void mark_refused(Target& target, std::string_view why, const core::Now& now);
    void report_healed(Target& target);
    bool work_queue_checked(Route& route, const core::Now& now);
    void bind_to_return_exchange(std::string_view work_queue);
    void on_work_queue_answer(Route& route, WorkQueueState answer, const core::Now& now);
    void report_return_binding(std::string_view work_queue, bool refused, std::string_view why);

    using Names = std::set<std::string, std::less<>>;

    std::shared_ptr<const core::Policy> policy_;
    SessionInfo session_;
    Broker& broker_;
    Reporter& reporter_;
    PoisonDetector& poison_;
    Routes routes_;

    Unconfirmed unconfirmed_;
    AckTracker acks_;
    std::optional<core::SteadyTime> late_acks_due_;  // when those behind an open delivery are sent
    WaitingDeliveries waiting_deliveries_;
    DelayedRequeues requeues_;
    UnroutableAddresses unroutable_;  // of parking exchanges

    /// Work queues that a shared rung did not find, being bound again: the answer holds for the messages that wait for
    /// it, not for later ones, which would go round and round if the queue were deleted again.
    std::map<std::string, WorkQueueState, std::less<>> undelivered_;
    Names return_bindings_asked_;    // work queues whose binding has been asked for and not answered
    Names return_bindings_refused_;  // and whose refusal has been reported

    int publishing_failures_ = 0;  // closed publishing channels in a row, for the backoff
    bool any_confirmed_ = false;
    /// Inside Broker::publish(); still true if that threw: the publication counts as in flight.
    bool in_publish_ = false;
    bool paused_ = false;
    bool adopting_ = false;
    bool stopping_ = false;

    std::vector<Pending> confirmed_;  // scratch
    core::ComposeScratch scratch_;
};

}  // namespace retryd::relay
