// The way of a message: delivery → read the death → decide → compose → publish → confirm → ack.
//
// Sans-IO: the broker's events come in as calls, commands go out through relay::Broker, time and dice are arguments.
// One Relay serves one session: delivery tags and publish numbers mean nothing on the next connection, where the broker
// delivers again what was not acked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/broker_features.h"
#include "core/compose.h"
#include "core/decide.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/channels.h"
#include "relay/declarations.h"
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
    bool declare = true;                    // false: everything has to be there, the bindings of work queues included
    std::size_t publishing_channels = 128;  // it may open so many
    core::ProofKeys proof_keys = {};        // of the headers of ours
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
    void flush(const core::Now& now);
    /// Sends them all. For the end.
    void flush_all();

    /// Published and not confirmed yet.
    std::size_t in_flight() const { return channels_.unconfirmed(); }
    /// What has been published a moment ago has not been answered.
    bool awaits_answers() const { return in_flight() > in_flight_in_silence(); }
    /// When the oldest of those was sent.
    std::optional<core::SteadyTime> unconfirmed_since() const { return channels_.oldest(); }
    /// Of those, what waits for targets that have not answered for a while: it may wait for hours.
    std::size_t in_flight_in_silence() const { return channels_.unconfirmed_in_silence(); }
    /// Deliveries that stay unacked for long, for whatever reason: what they take of the prefetch is not there for the
    /// others.
    std::size_t held_up() const { return channels_.unconfirmed_in_silence() + requeues_.size(); }
    /// Since when the oldest delivery has waited that is not settled yet, to the second.
    std::optional<core::SteadyTime> unsettled_since() const;

    // ── What has to wait ──

    /// No publishing while the broker has blocked us or the socket is full; deliveries are kept meanwhile, unacked.
    void pause() { paused_ = true; }
    void resume(const core::Now& now);
    bool paused() const { return paused_; }
    /// What the deliveries take that cannot be published yet.
    std::size_t waiting_bytes() const { return waiting_deliveries_.bytes(); }

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
                     const core::Now& now);
    /// The broker closed a publishing channel because of a publication. `code` and `why` are the broker's. On 403 and
    /// 404 the exchange is to blame, and the messages are only requeued. Otherwise one of those that were in flight
    /// there is poison: it is found by publishing each alone, and handed to the broker's own dead-lettering.
    void on_publishing_closed(ChannelIndex channel, int code, std::string_view why, const core::Now& now);
    /// The broker has let go of a channel that was given up.
    void on_publishing_left(ChannelIndex channel);
    /// How the session's connections ended.
    struct ConnectionLoss {
        bool provoked = false;   // the broker closed one with an error
        bool blocked = false;    // it was taking no messages, or had not while one was in flight
        bool half_sent = false;  // a publication was
        std::string_view words;  // the broker's, where it said any
    };
    /// The connection is gone, and this Relay with it: the next one may have to be careful.
    void on_connection_lost(const ConnectionLoss& loss);

    // ── What has to exist on the broker ──

    /// Declares what is known to be needed before any message comes: for entries with an exact name, for shared
    /// ladders, for the dead-letter exchanges of others.
    void start() { declarations_.ask_in_advance(*policy_); }

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
    std::optional<Step> distrust_detour(const core::Delivery& delivery, core::ComposeContext& context,
                                        const core::Now& now);
    Step retry(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
               const core::Retry& retry, const core::Now& now);
    Step park(const core::Delivery& delivery, const core::ComposeContext& context, const std::shared_ptr<Route>& route,
              const core::Park& park, const core::Now& now);
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
        DetourRounds& rounds;  // of the messages that wait for the same
        core::Milliseconds trouble_age{};
    };
    static InsteadOf instead_of(Target& target, const core::Now& now);
    Step wait_or_detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                        const std::shared_ptr<Target>& target, const core::Now& now);
    Step detour(const core::Delivery& delivery, const core::ComposeContext& context, std::int64_t attempt,
                const InsteadOf& instead_of, const core::Now& now);
    template <class Compose>
    Step detour_as(const core::Delivery& delivery, const core::ComposeContext& context, std::string_view work_queue,
                   const InsteadOf& instead_of, const Compose& compose, const core::Now& now);
    const std::shared_ptr<Target>* open_detour(std::size_t chosen, const core::Now& now);
    Step drop(const core::Delivery& delivery, const core::ComposeContext& context, const Route& route);
    Step return_undelivered(const core::Delivery& delivery, std::string_view work_queue, const core::Now& now);
    Step publish(const core::Delivery& delivery, const core::Message& composed, const core::ComposeContext& context,
                 Pending pending);
    void settle(const Pending& pending, bool acked, const core::Now& now);

    // What has to wait.
    bool takes(const std::shared_ptr<Target>& target, const core::Now& now);
    bool will_take_soon(const std::shared_ptr<Target>& target, const core::Now& now);
    bool waits_as_suspect(const core::Delivery& delivery, const std::shared_ptr<Target>& target, const core::Now& now);
    bool may_wait(const std::shared_ptr<Awaited>& awaited, const core::Now& now);
    void wait_for(const std::shared_ptr<Awaited>& awaited, const core::Now& now);
    bool too_many_wait(const core::Now& now) const;
    bool too_much_may_be_held_up(const Target& target) const;
    WaitingDeliveries::Processed process_again(const core::Delivery& delivery, const core::Now& now);
    void process_waiting(const core::Now& now);
    void process_waiting_for(Awaited& awaited, const core::Now& now);
    void stop_awaiting_what_nobody_waits_for();
    Step hold_back(const core::Delivery& delivery, const Target& target, const core::Now& now);
    void note_held_back(const core::Delivery& delivery, core::SteadyTime until, core::SteadyTime now);
    bool renew(const core::Delivery& delivery, const core::Now& now);
    void give_up(PublishingChannel& channel);
    void close(PublishingChannel& channel);
    void note_time(const core::Now& now);

    // What the broker refuses.
    void refuse(const Pending& pending, RequeueCause cause, bool mended, const core::Now& now);
    void requeue(core::DeliveryTag tag);
    void dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why, core::SteadyTime now);
    bool dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now);
    void on_exchange_refused(int code, std::string_view why, const core::Now& now);

    std::shared_ptr<const core::Policy> policy_;
    SessionInfo session_;
    Broker& broker_;
    Reporter& reporter_;
    PoisonDetector& poison_;
    Routes routes_;
    Declarations declarations_;

    PublishingChannels channels_;
    PublishingChannel* channel_ = nullptr;  // the one that takes() has found
    core::SteadyTime next_look_{};          // for silence, and for what has waited too long
    /// Messages that could go nowhere have gone back to the error queue, come again and gone back, all the time since;
    /// and until then those that have will be there again, or are there.
    std::optional<core::SteadyTime> held_back_since_;
    core::SteadyTime held_back_until_{};
    AckTracker acks_;
    std::optional<core::SteadyTime> late_acks_due_;  // when those behind an open delivery are sent
    WaitingDeliveries waiting_deliveries_;
    DelayedRequeues requeues_;
    UnroutableAddresses unroutable_;  // of parking exchanges

    std::vector<std::shared_ptr<Awaited>> awaited_;  // what any delivery waits for
    const Awaited* waits_for_ = nullptr;             // what the last one processed waits for
    core::SteadyTime waits_scarce_until_{};          // deliveries have waited in vain
    std::size_t most_open_ = 0;                      // at once: as much of the prefetch as has been seen
    std::size_t held_up_ = 0;                        // held_up(), at the last look
    std::uint64_t look_ = 1;                         // so often the waiting deliveries have been looked through

    /// At that time so many deliveries had come.
    struct Moment {
        core::DeliveryTag delivered = 0;
        core::SteadyTime time{};
    };
    std::deque<Moment> moments_;  // one a second, as far back as the oldest delivery that is not settled
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
