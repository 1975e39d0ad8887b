// The way of a message: delivery → read the death → decide → compose → publish → confirm → ack.
//
// Sans-IO: the broker's events come in as calls, commands go out through relay::Broker, time and randomness are
// arguments. One Relay serves one session: delivery tags and publish numbers mean nothing on the next connection, where
// the broker delivers again what was not acked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker_features.h"
#include "core/compose.h"
#include "core/decide.h"
#include "core/kept_deaths.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/acks.h"
#include "relay/broker.h"
#include "relay/declarations.h"
#include "relay/in_flight.h"
#include "relay/poison.h"
#include "relay/publisher.h"
#include "relay/reporter.h"
#include "relay/routes.h"
#include "relay/waiting.h"

namespace retryd::relay {

/// What the relay has to know of its session.
struct SessionInfo {
    core::BrokerFeatures features;
    std::string connection_user;
    core::Random random_number;             // called once
    bool declare = true;                    // false: everything has to be there, the bindings of work queues included
    std::size_t publishing_channels = 128;  // it may open so many
    core::ProofKeys proof_keys = {};        // of the `retryd-*` headers
    /// Asked for work queues whose entry has an outage rule. May be empty.
    std::function<core::KnownOutage(std::string_view work_queue)> known_outage = {};
    /// Whether a queue whose name a glob matches is no work queue all the same: it is auto-delete, exclusive or a delay
    /// queue. Nothing where that is not known yet; then Relay::on_exclusion_known() is called once it is. May be empty.
    std::function<std::optional<bool>(std::string_view queue)> is_excluded_from_glob = {};
};

class Relay {
  public:
    /// `broker`, `reporter` and `poison` must outlive the Relay; the last one outlives the connection.
    Relay(std::shared_ptr<const core::Policy> policy, SessionInfo session, Broker& broker, Reporter& reporter,
          PoisonDetector& poison);

    // ── The way of a message ──

    void on_delivery(const core::Delivery& delivery, const core::Now& now);
    void on_confirm(ChannelIndex channel, PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// Sends the acks that have gathered; those behind a delivery that is still open wait a little, in the hope of
    /// going with it. Call once per turn of the loop.
    void flush(const core::Now& now) { deliveries_.flush(unacked_for_long_ > 0, now.steady); }
    /// Sends them all. For the end.
    void flush_all() { deliveries_.flush_all(); }

    /// Published and not confirmed yet.
    std::size_t in_flight() const { return publisher_.in_flight(); }
    /// When the oldest of those was sent.
    std::optional<core::SteadyTime> unconfirmed_since() const { return publisher_.unconfirmed_since(); }
    /// Of those, what waits for targets that have not answered for a while: it may wait for hours.
    std::size_t in_flight_in_silence() const { return publisher_.in_flight_in_silence(); }
    /// Deliveries that stay unacked for long: what was published to silent targets, and what waits to be requeued. What
    /// they take of the prefetch is not there for the others.
    std::size_t unacked_for_long() const { return publisher_.in_flight_in_silence() + deliveries_.pausing(); }
    /// Deliveries that are neither acked nor given back.
    std::size_t open_deliveries() const { return deliveries_.open(); }
    /// The targets that have not answered for a while: were_silent() on the next connection.
    SilentTargets silent_targets() const { return routes_.silent(); }
    /// The rungs that have been there: seen_before() on the next connection.
    RungsSeen rungs_seen() const { return routes_.rungs_seen(); }
    /// Since when the oldest delivery has waited that is not settled yet, to the second.
    std::optional<core::SteadyTime> unsettled_since() const { return deliveries_.unsettled_since(); }
    /// The tags of what the broker has not been told about, in order, and of the last delivery at all.
    std::vector<core::DeliveryTag> unsettled() const { return deliveries_.unsettled(); }
    core::DeliveryTag last_delivered() const { return deliveries_.last_delivered(); }

    // ── What has to wait ──

    /// No publishing while the broker has blocked us or the socket is full; deliveries are kept meanwhile, unacked.
    void pause() { publisher_.pause(); }
    void resume(const core::Now& now);
    bool paused() const { return publisher_.paused(); }
    /// What the deliveries take that cannot be published yet.
    std::size_t waiting_bytes() const { return waiting_.bytes(); }

    /// Requeues what is due; declares error bindings again every minute; sees which targets do not answer, and what has
    /// waited for too long; ends an isolation that has lasted a minute.
    void on_tick(const core::Now& now);
    /// When on_tick has something to do next.
    std::optional<core::SteadyTime> next_tick() const;

    /// Takes no more deliveries; those that wait or come now stay unacked and are delivered again by the broker.
    void stop();

    // ── What the broker refuses ──

    /// Its headers nest too deep to be read: the broker moves it to the catch-all.
    void on_unreadable_delivery(core::DeliveryTag tag, const core::Now& now);
    /// The broker handed a publication back as unroutable.
    void on_returned(ChannelIndex channel, std::string_view exchange, std::string_view routing_key,
                     const core::Now& now) {
        publisher_.on_returned(channel, exchange, routing_key, now);
    }
    /// The broker closed a publishing channel because of a publication. `code` and `why` are the broker's. On 403 and
    /// 404 the exchange is to blame, and the messages are only requeued. Otherwise one of those that were in flight
    /// there is poison: it is found by publishing each alone, and handed to the broker's own dead-lettering.
    void on_publishing_closed(ChannelIndex channel, int code, std::string_view why, const core::Now& now);
    /// The broker has let go of a channel that was given up.
    void on_publishing_left(ChannelIndex channel) { publisher_.on_left(channel); }
    /// The connection is gone, and this Relay with it: the next one may have to be careful.
    void on_connection_lost(const ConnectionLoss& loss) { publisher_.on_connection_lost(loss); }

    // ── What has to exist on the broker ──

    /// Declares what is known to be needed before any message comes: for entries with an exact name, for what the
    /// work queues of a glob share, for the dead-letter exchanges of others.
    void start() { declarations_.ask_in_advance(*policy_); }
    /// Whether any of what was declared, by start(), by adopt() or for a message, is not answered yet.
    bool awaits_declares() const { return declarations_.awaits_answers(); }
    /// Before start(): these targets did not answer when the last connection ended. What they were sent there may
    /// arrive all the same, and is delivered again: it takes a detour, so that it does not arrive there once more.
    void were_silent(const SilentTargets& targets) { routes_.were_silent(targets); }
    /// Before start(): these rungs were there on an earlier connection. If one is gone and cannot be declared, its
    /// messages wait on a detour instead of being parked.
    void seen_before(RungsSeen rungs) { routes_.seen_before(std::move(rungs)); }

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
    /// SessionInfo::is_excluded_from_glob knows it now.
    void on_exclusion_known(const std::string& queue, const core::Now& now);

  private:
    /// done: published, dropped or dead-lettered. wait: it cannot go on yet, and is processed from the start later.
    enum class Step { done, wait };

    // The way of a message.
    Step process(const core::Delivery& delivery, const core::Now& now);
    std::optional<Step> forget_death_unless_detour_is_ours(const core::Delivery& delivery,
                                                           core::ComposeContext& context, const core::Now& now);
    Step retry(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
               const core::Retry& retry, const core::Now& now);
    Step park(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
              const core::Park& park, const core::Now& now);
    Step hold(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
              const core::Hold& hold, const core::Now& now);
    double random_of(core::DeliveryTag tag) const;
    core::KnownOutage known_outage(const Route* route) const;
    bool exclusion_is_known(std::string_view queue, CheckOutcome& outcome, bool bound);
    /// What has been parked before comes again.
    enum class ParkedAgain {
        rejected,    // by whoever looks after its parking queue
        thrown_out,  // by the broker
        detoured,    // the catch-all took none
    };
    Step park_again(const core::Delivery& delivery, ParkedAgain why, const core::Now& now);
    bool can_park_in(Target& target, const core::Delivery& delivery, const core::ComposeContext& context,
                     const core::Now& now);
    /// Why a message takes a detour.
    struct InsteadOf {
        DetourChooser& chooser;  // shared by all messages that wait for the same thing
        core::Milliseconds trouble_age{};
    };
    static InsteadOf instead_of(Target& target, const core::Now& now);
    /// `hold`: it is to be held, its death costs nothing.
    Step wait_or_detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                        const std::shared_ptr<Target>& target, const core::Now& now, bool hold = false);
    Step wait_or_detour_to_catch_all(const core::Delivery& delivery, const core::ComposeContext& context,
                                     const core::Park& park, const core::Now& now);
    Step detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                const InsteadOf& instead_of, const core::Now& now, bool hold = false);
    template <class Compose>
    Step detour_as(const core::Delivery& delivery, const core::ComposeContext& context, std::string_view work_queue,
                   const InsteadOf& instead_of, const Compose& compose, const core::Now& now);
    const std::shared_ptr<Target>* open_detour(std::size_t chosen, const core::Now& now);
    Step drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route);
    Step send_home_from_rung(const core::Delivery& delivery, const core::ReturnedByRung& from, const core::Now& now);
    std::optional<Step> park_unless_rung_is_ours(const core::Delivery& delivery, const core::ReturnedByRung& from,
                                                 const core::Now& now);
    std::optional<Step> park_if_gone(const core::Delivery& delivery, const std::shared_ptr<Route>& route,
                                     const core::Now& now);
    WorkQueueState look_for(const core::ReturnedByRung& from, bool through_return, Target& target);
    std::optional<Step> count_kept_deaths(const core::Delivery& delivery, core::ComposeContext& context,
                                          const std::shared_ptr<Route>& route, const core::Now& now);
    Step publish(const core::Delivery& delivery, const core::Message& composed, const core::ComposeContext& context,
                 Pending&& pending);

    // What has to wait.
    bool will_take_soon(const std::shared_ptr<Target>& target, const core::Now& now);
    bool waits_as_suspect(const core::Delivery& delivery, const std::shared_ptr<Target>& target, const core::Now& now);
    bool may_wait(const std::shared_ptr<Awaited>& awaited, const core::Now& now);
    bool process_again(const core::Delivery& delivery, const core::Now& now);
    void process_waiting(const core::Now& now);
    void process_waiting_for(Awaited& awaited, const core::Now& now);
    Step requeue_later(const core::Delivery& delivery, const Target& target, const core::Now& now);
    bool requeue_after(core::Milliseconds pause, const core::Delivery& delivery, const core::Now& now);
    bool republish_to_error_queue(const core::Delivery& delivery, const core::Now& now);

    std::shared_ptr<const core::Policy> policy_;
    SessionInfo session_;
    const std::uint64_t lane_start_;
    Broker& broker_;
    Reporter& reporter_;
    PoisonDetector& poison_;
    Routes routes_;
    Declarations declarations_;

    Deliveries deliveries_;
    Publisher publisher_;
    core::SteadyTime next_look_{};  // for silence, and for what has waited too long
    WaitingDeliveries waiting_;
    std::size_t unacked_for_long_ = 0;  // unacked_for_long(), at the last look
    bool adopting_ = false;
    /// Of the delivery that is on its way, where it may be held: its attempt, if it is a failure not reported before.
    std::int64_t failed_attempt_ = 0;
    bool stopping_ = false;
    /// Queues that exist, and of which is_excluded_from_glob does not know yet; true: they have been bound.
    std::map<std::string, bool, std::less<>> exclusion_unknown_;

    core::ComposeScratch scratch_;
    core::KeptDeaths kept_deaths_;
};

}  // namespace retryd::relay
