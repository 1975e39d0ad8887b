// From a composed message to its ack: published on a channel of its target's, confirmed or not, and its delivery
// settled by that. What the broker refuses on the way.
//
// A channel of RabbitMQ's handles its publications one after the other, and can hang in one: see TargetFlow.
// With one channel for all targets, one of them would stop the others. So each channel serves one target at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/compose.h"
#include "core/time.h"
#include "relay/acks.h"
#include "relay/broker.h"
#include "relay/declarations.h"
#include "relay/in_flight.h"
#include "relay/poison.h"
#include "relay/reporter.h"
#include "relay/routes.h"

namespace retryd::relay {

struct PublishingChannel {
    ChannelIndex index = 0;
    std::shared_ptr<Target> target;  // that of all that is unconfirmed; afterwards the last one
    Unconfirmed unconfirmed;
    core::SteadyTime answered_at{};  // the last answer; or when the first of what is unconfirmed was sent
    core::SteadyTime used_at{};
    bool open = false;
    bool silent = false;  // no answer has come for so long that its target counts as silent
    /// Something was refused on it: the broker's channel may go on refusing when its queue does not any more (3.10,
    /// when a policy is taken away). It is closed once nothing waits there.
    bool stale = false;
    bool closing = false;  // given up: not used before the broker has let go of it
};

class PublishingChannels {
  public:
    /// `most`: as many as the broker allows.
    explicit PublishingChannels(std::size_t most) : most_(most) {}

    /// The channel for one more publication to that target, opened where it is not yet. Null where all are taken by
    /// others.
    PublishingChannel* take(const std::shared_ptr<Target>& target, core::SteadyTime now, Broker& broker);
    PublishingChannel* find(ChannelIndex index);

    template <class Visit>
    void for_each_busy(const Visit& visit) {
        for (const auto& channel : channels_) {
            if (!channel->unconfirmed.empty()) visit(*channel);
        }
    }

    /// The broker has answered something on that channel.
    void note_answer(PublishingChannel& channel, core::SteadyTime now);
    /// Marks the channels that have waited too long for an answer, and tells of each target once its silence has
    /// lasted. `paused`: the broker does not read, which says nothing about any target.
    void look_for_silence(core::SteadyTime now, bool paused, Broker& broker,
                          const std::function<void(const Target&)>& lasts);
    void end_silence(PublishingChannel& channel);

    /// Publications that are not confirmed yet: all, and those that wait on silent channels.
    std::size_t unconfirmed() const;
    std::size_t unconfirmed_in_silence() const;
    /// … and all of targets that are in trouble or have not confirmed anything yet.
    std::size_t unconfirmed_by_unproven() const;
    /// When the oldest of all was sent.
    std::optional<core::SteadyTime> oldest() const;

  private:
    PublishingChannel* find_for(const Target& target);
    PublishingChannel* another_for(const Target& target);
    std::size_t left_to_others(const Target& target) const;

    std::vector<std::unique_ptr<PublishingChannel>> channels_;  // channels_[i] has the index i
    std::size_t most_;
    core::SteadyTime answered_at_{};  // the last answer on any of them
};

/// How the session's connections ended.
struct ConnectionLoss {
    bool provoked = false;   // the broker closed one with an error
    bool blocked = false;    // it was taking no messages, or had not while one was in flight
    bool half_sent = false;  // a publication was
    std::string_view words;  // the broker's, where it said any
};

class Publisher {
  public:
    /// What it works on; all of it must outlive it.
    struct Session {
        Broker& broker;
        Reporter& reporter;
        PoisonDetector& poison;
        Routes& routes;
        Declarations& declarations;
        Deliveries& deliveries;
        std::size_t channels;  // as many as the broker allows
        bool declare;          // false: it is not known whether the error queue dead-letters
    };
    explicit Publisher(const Session& session) : session_(session), channels_(session.channels) {}

    // ── Sending ──

    /// Whether one more message can go there now; publish() after that goes there.
    bool takes(const std::shared_ptr<Target>& target, const core::Now& now);
    /// True: it is on its way to `pending.target`, or has been dead-lettered because it cannot be published. False: it
    /// cannot go now, and nothing was sent; the delivery is to be processed from the start later.
    bool publish(const core::Delivery& delivery, const core::Message& composed, const core::ComposeContext& context,
                 Pending&& pending);
    /// The target is a foreign exchange that has just routed to no queue with the key of that message.
    bool leads_nowhere(const Target& target, const core::ComposeContext& context, core::SteadyTime now) const;

    /// Nothing is sent while the broker has blocked us or the socket is full.
    void pause() { paused_ = true; }
    void resume() { paused_ = false; }
    bool paused() const { return paused_; }

    // ── What the broker says ──

    /// Returns the target that may take more now, or null.
    Target* on_confirm(ChannelIndex channel, PublishSeq seq, bool multiple, bool acked, const core::Now& now);
    /// Handed back as unroutable.
    void on_returned(ChannelIndex channel, std::string_view exchange, std::string_view routing_key,
                     const core::Now& now);
    /// The broker closed a channel because of a publication, see Relay::on_publishing_closed. False: that channel is
    /// unknown.
    bool on_closed(ChannelIndex channel, int code, std::string_view why, const core::Now& now);
    /// The broker has let go of a channel that was given up.
    void on_left(ChannelIndex channel);
    /// Another policy is in force: addresses that led nowhere are tried again at once, and told again.
    void forget_unroutable();
    void on_connection_lost(const ConnectionLoss& loss);
    /// Sees which targets do not answer; what has waited too long for an answer is requeued. Call several times a
    /// second.
    void look_for_silence(const core::Now& now);

    /// To the catch-all, by the broker's own dead-lettering. Where nothing may be declared it is not known whether the
    /// error queue dead-letters at all: then the message stays.
    void dead_letter(core::DeliveryTag tag, std::string_view work_queue, std::string_view why, core::SteadyTime now);

    // ── What is under way ──

    /// Published and not confirmed yet.
    std::size_t in_flight() const { return channels_.unconfirmed(); }
    /// When the oldest of those was sent.
    std::optional<core::SteadyTime> unconfirmed_since() const { return channels_.oldest(); }
    /// Of those, what waits for targets that have not answered for a while: it may wait for hours.
    std::size_t in_flight_in_silence() const { return channels_.unconfirmed_in_silence(); }
    /// What has been published a moment ago has not been answered.
    bool awaits_answers() const { return in_flight() > in_flight_in_silence(); }

  private:
    bool too_much_may_go_unanswered(const Target& target) const;
    bool dead_letter_poison(const core::Delivery& delivery, std::string_view work_queue, core::SteadyTime now);
    void settle(const Pending& pending, bool acked, const core::Now& now);
    void refuse(const Pending& pending, RequeueCause cause, bool mended, const core::Now& now);
    void on_exchange_refused(int code, std::string_view why, const std::vector<Pending>& lost, const core::Now& now);
    void give_up(PublishingChannel& channel);
    void close(PublishingChannel& channel);

    Session session_;
    PublishingChannels channels_;
    PublishingChannel* channel_ = nullptr;  // the one that takes() has found
    UnroutableAddresses unroutable_;        // of parking exchanges
    bool any_confirmed_ = false;
    /// Inside Broker::publish(); still true if that threw: the publication counts as in flight.
    bool in_publish_ = false;
    bool paused_ = false;

    std::vector<Pending> confirmed_;  // scratch
};

}  // namespace retryd::relay
