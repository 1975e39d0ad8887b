// A broker in memory for the relay's tests: it has queues, unacked deliveries and unconfirmed publications, answers
// only when it is told to, and can be made to fail. State is checked, not calls.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "relay/relay.h"

namespace retryd::relay {

class FakeBroker : public Broker {
  public:
    // ── commands from the relay ──
    void open_publishing(ChannelIndex channel) override { open_channels[channel] = 0; }
    void close_publishing(ChannelIndex channel) override {
        open_channels.erase(channel);
        closed_channels.push_back(channel);
    }
    PublishResult publish(ChannelIndex channel, const core::Publication& publication) override;
    bool has_received_all() override { return received_all; }
    std::size_t largest_window() const override { return 4'500; }
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    bool keep(core::DeliveryTag, std::string_view) override { return false; }
    void declare(std::string_view key, const core::Topology& topology) override {
        declares.push_back({std::string{key}, topology});
    }
    void check(std::string_view queue) override { checks.emplace_back(queue); }
    void bind_to_return_exchange(std::string_view queue) override { binds.emplace_back(queue); }

    // ── what the test does ──
    /// Puts a message into the error queue and hands it to the relay.
    core::DeliveryTag deliver(Relay& relay, const core::Message& message, core::Now now, bool redelivered = false);
    /// Answers all that is open: `refused` ones are refused, others become queues and exchanges.
    void answer_declares(Relay& relay, core::Now now);
    void answer_checks(Relay& relay, core::Now now);
    void answer_binds(Relay& relay, core::Now now);
    void answer_closes(Relay& relay);
    /// Hands back what went to a queue that is not there, then confirms everything published so far, but nothing for
    /// what is `silent`. What is `full` is nacked.
    void confirm_all(Relay& relay, core::Now now, bool accepted = true);
    /// The channel of the last publication is closed: what was not confirmed there is forgotten.
    ChannelIndex close_channel();
    /// Confirms one; they are counted over all channels.
    void confirm(Relay& relay, int publication, core::Now now, bool accepted = true);

    // ── state ──
    /// Where an exchange leads, besides the fanouts of shared rungs and the return exchange: all of it, or one key,
    /// written "exchange/key".
    std::map<std::string, std::string> exchanges;
    std::set<std::string> bound_to_return_exchange;
    std::map<std::string, std::vector<core::OwnedDelivery>> queues;  // what lies where
    std::set<core::DeliveryTag> unacked;
    std::vector<core::DeliveryTag> acked;
    std::vector<core::DeliveryTag> requeued;
    std::vector<core::DeliveryTag> dead_lettered;
    std::vector<std::string> routing_keys;  // of what was published, in order

    // ── commands not answered yet ──
    struct Declared {
        std::string key;
        core::Topology topology;
    };
    std::vector<Declared> declares;
    std::vector<std::string> checks;
    std::vector<std::string> binds;
    std::map<ChannelIndex, PublishSeq> open_channels;  // and the number of the last publication there
    std::vector<ChannelIndex> closed_channels;         // given up by the relay, and not answered yet
    int ack_commands = 0;
    int declare_answers = 0;

    // ── faults ──
    std::set<std::string> refused;  // declares and bindings of these are refused
    std::set<std::string> missing;  // checks and bindings of these find nothing
    std::set<std::string> silent;   // publications to these are not confirmed
    std::set<std::string> full;     // … are nacked
    bool socket_full = false;
    bool received_all = true;
    std::size_t largest_header_count = 1000;

  private:
    struct Unconfirmed {
        ChannelIndex channel = 0;
        PublishSeq seq = 0;
        std::string exchange;
        std::string routing_key;
        std::string queue;
        bool returned = false;
    };
    std::string queue_of(const core::Publication& publication) const;

    core::DeliveryTag next_tag_ = 1;
    int publications_ = 0;
    ChannelIndex last_channel_ = 0;
    std::map<int, Unconfirmed> unconfirmed_;  // by their number over all channels
};

}  // namespace retryd::relay
