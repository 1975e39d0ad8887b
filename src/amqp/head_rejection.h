// Gets what the broker cannot hand over out of the way at the head of a queue, where it speaks AMQP 1.0: a receiver of
// that protocol takes it, for it can, and rejects it, so that the queue dead-letters it. Quicker than the delivery
// limit, for which each message takes a hundred connections (amqp/poison_head.h).
//
// Which message it is nobody is told: the broker ends the connection instead. And what a quorum queue takes back goes
// behind what it took back before, so that the next one at the head is another one. So first the receiver takes, one by
// one, all that is in front, until a consumer gets something else, or nothing: now none of those is left in the queue.
// Then each is put back alone, and a consumer that takes one message looks at the head, twice. If the broker ends its
// connection each time, and what the receiver takes thereafter is the same message, then that one it was; unless one
// other message that nobody knows of is still there. So in the end a consumer looks once more, and only if that one
// gets something else again, or nothing, are they rejected.
//
// All of that is true while nobody else consumes the queue, and else it is given up: nothing has happened then but that
// messages went back to the queue.
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

class HeadGlance;

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
    bool ends_alone(amqp10::Held& suspect);
    void give_back();

    std::size_t ready();
    amqp10::Held take();
    enum class Head { ends_connection, handed_over, nothing };
    Head look();

    const config::Endpoint& endpoint_;
    const config::Broker& settings_;
    std::string queue_;
    Count count_;
    GoOn go_on_;
    amqp10::Receiver receiver_;
    std::vector<amqp10::Held> held_;
    std::vector<amqp10::Held> proven_;                 // held as well
    std::vector<std::unique_ptr<HeadGlance>> others_;  // each keeps a message that can be handed over
    std::vector<amqp10::Description> rejected_;
    int connections_ended_ = 0;
    bool was_alone_ = false;  // nobody else consumed the queue
};

}  // namespace retryd::amqp
