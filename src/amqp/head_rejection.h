// Gets what the broker cannot hand over out of the way at the head of a queue, where it speaks AMQP 1.0: a receiver of
// that protocol takes it, for it can, and rejects it, so that the queue dead-letters it. Quicker than the delivery
// limit, for which each message takes a hundred connections (amqp/poison_head.h).
//
// The broker does not tell which message it could not hand over: it only ends the connection. And a quorum queue puts
// what it takes back behind what it took back before, so that another message is at the head then. So:
//
// 1. The receiver takes the messages at the head, one by one, until AMQP 0-9-1 consumers get two messages in a row, or
//    nothing is left. Now the receiver most likely has all that cannot be handed over, and perhaps harmless ones.
// 2. Each of them is put back alone, and a consumer that takes one message looks at the head; twice. The message is
//    proven if the broker ends the connection each time, and the receiver then takes that same message again. One that
//    does not end a connection stays with its consumer.
// 3. A message that the receiver never had could still have ended those connections. So a consumer looks at the head
//    once more. If it gets a message, or nothing, all that are proven are rejected; else everything begins anew.
// 4. All other messages go back to the queue.
//
// This holds only while nobody else consumes the queue. Where somebody does, it is given up, and all messages go back.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "amqp/amqp10/receiver.h"
#include "amqp/topology_commands.h"
#include "config/settings.h"
#include "core/broker_features.h"

namespace retryd::amqp {

class HeadProbe;

class HeadRejection {
  public:
    using Count = std::function<QueueCounts()>;
    using GoOn = std::function<bool()>;

    /// Connects by AMQP 1.0. Throws Error, of the kind protocol where the broker does not speak it. The queue has to
    /// dead-letter what is rejected: else that is deleted. `count` tells how many messages are ready and how many
    /// consumers there are, `go_on` is asked before each connection. The references must outlive it.
    HeadRejection(const config::Endpoint& endpoint, const config::Broker& settings, const core::BrokerVersion& version,
                  const std::string& queue, Count count, GoOn go_on);
    ~HeadRejection();
    HeadRejection(const HeadRejection&) = delete;
    HeadRejection& operator=(const HeadRejection&) = delete;

    /// Throws Error where a connection is lost, and where it is given up.
    void run();

    /// What was rejected.
    const std::vector<amqp10::Description>& rejected() const { return rejected_; }
    int connections_ended() const { return connections_ended_; }

  private:
    bool try_all();
    void take_all();
    void try_each();
    bool ends_alone(amqp10::Taken& suspect);
    void give_back();

    std::size_t ready();
    amqp10::Taken take();
    enum class Head { ends_connection, handed_over, nothing };
    Head look();

    const config::Endpoint& endpoint_;
    const config::Broker& settings_;
    std::string queue_;
    Count count_;
    GoOn go_on_;
    amqp10::Receiver receiver_;
    std::vector<amqp10::Taken> taken_;
    std::vector<amqp10::Taken> proven_;               // still with the receiver as well
    std::vector<std::unique_ptr<HeadProbe>> others_;  // each keeps a message that can be handed over
    std::vector<amqp10::Description> rejected_;
    int connections_ended_ = 0;
    bool was_alone_ = false;  // nobody else consumed the queue
};

}  // namespace retryd::amqp
