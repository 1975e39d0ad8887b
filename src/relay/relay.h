// The way of a message: delivery → read the death → decide → compose → publish → confirm → ack.
//
// Sans-IO: the broker's events come in as calls, commands go out through relay::Broker, time is an argument. One Relay
// serves one session: delivery tags and publish numbers mean nothing on the next connection, where the broker gives
// again what was not acked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/compose.h"
#include "core/owned_message.h"
#include "core/policy.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/in_flight.h"
#include "relay/reporter.h"
#include "relay/routes.h"
#include "relay/settlements.h"

namespace retryd::relay {

class Relay {
  public:
    /// All references must outlive the Relay. `connection_user` is who we are logged in as.
    Relay(const core::Policy& policy, const core::BrokerFeatures& features, std::string connection_user, Broker& broker,
          Reporter& reporter);

    /// Declares what the entries with an exact name need.
    void start();

    void on_delivery(const core::Delivery& delivery, const core::Now& now);
    /// Its headers nest too deep to be read: the broker moves it to the catch-all.
    void on_unreadable_delivery(core::DeliveryTag tag);
    /// The broker handed a publication back as unroutable: its queue is gone.
    void on_returned(std::string_view queue);
    void on_confirm(PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// `why` is empty when ready.
    void on_declared(std::string_view queue, DeclareOutcome outcome, std::string_view why, const core::Now& now);
    void on_checked(std::string_view queue, CheckOutcome outcome, const core::Now& now);

    /// No publishing while the broker has blocked us or the socket is full; deliveries are held meanwhile.
    void pause() { paused_ = true; }
    void resume(const core::Now& now);
    bool paused() const { return paused_; }

    /// Requeues what is due, asks again for what was refused.
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
    std::size_t in_flight() const { return in_flight_.size(); }
    std::size_t held_bytes() const { return held_bytes_; }

  private:
    enum class Step { done, wait };
    struct Requeue {
        core::SteadyTime due;
        core::DeliveryTag tag;
        bool operator>(const Requeue& other) const { return due > other.due; }
    };

    // The way, in order.
    Step carry(const core::Delivery& delivery, const core::Now& now);
    bool work_queue_known(Route& route);
    core::Decision decide(const core::Story& story, const Route* route) const;
    Step retry(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
               const core::Retry& retry, const core::Now& now);
    Step park(const core::Delivery& delivery, const core::Story& story, const std::shared_ptr<Route>& route,
              const core::Park& park, const core::Now& now);
    Step publish(const core::Delivery& delivery, const core::Message& composed, Pending pending);
    void settle(const Pending& pending, bool acked, const core::Now& now);
    void dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why);

    Target::State usable(Target& target, const core::Now& now);
    void declare(Target& target);
    void declare_all(Route& route);
    std::optional<core::SteadyTime> catch_all_due() const;
    void hold(const core::Delivery& delivery);
    void carry_held(const core::Now& now);
    void requeue_later(const Pending& pending, RequeueCause cause, const core::Now& now);
    void report_settled(const Pending& pending, const core::Now& now);

    const core::Policy& policy_;
    std::string connection_user_;
    Broker& broker_;
    Reporter& reporter_;
    Routes routes_;
    InFlight in_flight_;
    Settlements settlements_;
    std::deque<core::OwnedDelivery> held_;  // waiting for a declare, a check or the end of a pause
    std::size_t held_bytes_ = 0;
    std::optional<core::SteadyTime> late_acks_due_;
    std::vector<Requeue> requeues_;   // a heap, the next due first
    std::vector<Pending> confirmed_;  // scratch
    core::ComposeScratch scratch_;
    bool paused_ = false;
    bool stopping_ = false;
};

}  // namespace retryd::relay
