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
    PublishResult publish(const core::Publication& publication) override;
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
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
    /// Hands back what went to a queue that is not there, then confirms everything published so far.
    void confirm_all(Relay& relay, core::Now now, bool accepted = true);
    /// The publishing channel was closed: its publications and their numbers are forgotten.
    void forget_unconfirmed();
    /// Confirms one.
    void confirm(Relay& relay, PublishSeq seq, core::Now now, bool accepted = true);

    // ── state ──
    /// Where an exchange leads, besides the fanouts of shared rungs and the return exchange.
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
    int ack_commands = 0;
    int declare_answers = 0;

    // ── faults ──
    std::set<std::string> refused;  // declares and bindings of these are refused
    std::set<std::string> missing;  // checks and bindings of these find nothing
    bool socket_full = false;
    std::size_t largest_header_count = 1000;

  private:
    struct Unconfirmed {
        std::string exchange;
        std::string routing_key;
        bool returned = false;
    };
    std::string queue_of(const core::Publication& publication) const;

    core::DeliveryTag next_tag_ = 1;
    PublishSeq next_seq_ = 1;
    std::map<PublishSeq, Unconfirmed> unconfirmed_;
};

}  // namespace retryd::relay
