// A broker that takes everything and costs next to nothing: it counts publications and remembers what is to be
// declared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/relay.h"

namespace retryd::instructions {

class QuietBroker : public relay::Broker {
  public:
    void open_publishing(relay::ChannelIndex channel) override {
        if (channel >= published_.size()) published_.resize(channel + 1);
    }
    void close_publishing(relay::ChannelIndex) override {}
    relay::PublishResult publish(relay::ChannelIndex channel, const core::Publication&) override {
        ++published_[channel];
        return relay::PublishResult::sent;
    }
    bool has_received_all() override { return true; }
    std::size_t largest_window() const override { return 4'500; }
    void ack(core::DeliveryTag tag, bool) override { acked = tag; }
    void requeue(core::DeliveryTag) override {}
    void dead_letter(core::DeliveryTag) override {}
    bool keep(core::DeliveryTag, std::string_view) override { return false; }
    void declare(std::string_view key, const core::Topology&) override { declares_.emplace_back(key); }
    void check(std::string_view) override {}
    void bind_to_return_exchange(std::string_view) override {}

    /// With one confirm for each channel.
    void confirm_all(relay::Relay& relay, const core::Now& now) {
        for (relay::ChannelIndex channel = 0; channel < published_.size(); ++channel)
            relay.on_confirm(channel, published_[channel], true, true, now);
    }

    /// Answers every declare: it is there.
    void answer_declares(relay::Relay& relay, const core::Now& now) {
        for (const std::string& key : std::exchange(declares_, {}))
            relay.on_declared(key, relay::DeclareOutcome::ready, "", now);
    }

    core::DeliveryTag acked = 0;

  private:
    std::vector<std::string> declares_;
    std::vector<relay::PublishSeq> published_;  // on each channel
};

class QuietReporter : public relay::Reporter {
  public:
    void settled(const relay::Settled&) override { ++reported; }
    void dead_lettered(std::string_view, std::string_view) override {}
    void stuck(std::string_view, std::string_view, core::Milliseconds) override {}
    void parked_before(std::string_view) override {}
    void unroutable(std::string_view, std::string_view) override {}
    void silent(const relay::TargetName&) override {}
    void requeued(const relay::TargetName&, relay::RequeueCause, core::Milliseconds) override {}
    void refused(relay::TargetRole, std::string_view, std::string_view) override {}
    void healed(relay::TargetRole, std::string_view) override {}
    void not_needed(relay::TargetRole, std::string_view) override {}

    std::size_t reported = 0;
};

}  // namespace retryd::instructions
