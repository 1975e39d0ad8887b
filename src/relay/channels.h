// The channels that publications go out on: each serves one target at a time.
//
// A channel of RabbitMQ's handles its publications one after the other, and can hang in one: see relay/target_flow.h.
// With one channel for all targets, one of them would stop the others.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "relay/broker.h"
#include "relay/in_flight.h"

namespace retryd::relay {

struct Target;  // relay/routes.h

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

}  // namespace retryd::relay
