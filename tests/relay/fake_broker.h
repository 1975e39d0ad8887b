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

#include "core/owned_message.h"
#include "relay/relay.h"

namespace retryd::relay {

class FakeBroker : public Broker {
  public:
    // ── commands from the relay ──
    PublishResult publish(const core::Publication& publication) override;
    void ack(core::DeliveryTag tag, bool multiple) override;
    void requeue(core::DeliveryTag tag) override;
    void dead_letter(core::DeliveryTag tag) override;
    void declare(const core::QueueSpec& queue) override { declares.push_back(queue); }
    void check(std::string_view queue) override { checks.emplace_back(queue); }

    // ── what the test does ──
    /// Puts a message into the error queue and hands it to the relay.
    core::DeliveryTag deliver(Relay& relay, const core::Message& message, core::Now now);
    /// Answers all the declares and checks that are open: `refused` ones are refused, others become queues.
    void answer_declares(Relay& relay, core::Now now);
    void answer_checks(Relay& relay, core::Now now);
    /// Hands back what went to a queue that is not there, then confirms everything published so far.
    void confirm_all(Relay& relay, core::Now now, bool accepted = true);
    /// Confirms one.
    void confirm(Relay& relay, PublishSeq seq, core::Now now, bool accepted = true);

    // ── state ──
    std::map<std::string, std::vector<core::OwnedDelivery>> queues;  // what lies where
    std::set<core::DeliveryTag> unacked;
    std::vector<core::DeliveryTag> acked;
    std::vector<core::DeliveryTag> requeued;
    std::vector<core::DeliveryTag> dead_lettered;
    std::vector<core::QueueSpec> declares;  // not answered yet
    std::vector<std::string> checks;        // not answered yet
    int ack_commands = 0;
    int declare_answers = 0;

    // ── faults ──
    std::set<std::string> refused;  // declares of these are refused
    std::set<std::string> missing;  // checks of these find nothing
    bool socket_full = false;
    std::size_t largest_header_count = 1000;

  private:
    struct Unconfirmed {
        std::string queue;
        bool returned = false;
    };
    core::DeliveryTag next_tag_ = 1;
    PublishSeq next_seq_ = 1;
    std::map<PublishSeq, Unconfirmed> unconfirmed_;
};

}  // namespace retryd::relay
