// Takes the messages out of a queue's way that the broker cannot hand over by AMQP 0-9-1 (relay/head_trial.h), so that
// all others can be read: an AMQP 1.0 receiver takes them, for it can, and keeps them unsettled.
//
// Which ones they are only trying tells. What can be handed over is kept unacked by as many consumers as it takes, each
// with no more messages than came well; where one ends its connection, the next one takes fewer. What ends the
// connection of a consumer that takes a single message is taken by AMQP 1.0. It need not be the same message, for what
// a quorum queue takes back goes behind what it took back before. So in the end, when nothing but these is left, each
// is tried once more, alone. All others go back then, maybe in another order.
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

class UndeliverableTaker {
  public:
    /// How many messages are ready in the queue, and how many consumers it has.
    using Count = std::function<QueueCounts()>;

    /// Connects by AMQP 1.0. Throws Error, of the kind protocol where the broker does not speak it. `settings` must
    /// outlive it.
    UndeliverableTaker(const config::Endpoint& endpoint, const config::Broker& settings,
                       const core::BrokerVersion& version, std::string queue);
    ~UndeliverableTaker();
    UndeliverableTaker(const UndeliverableTaker&) = delete;
    UndeliverableTaker& operator=(const UndeliverableTaker&) = delete;

    /// From now on the receiver keeps them, as long as this object lives; it still keeps those that it took before.
    /// Throws Error where a connection is lost, and where it does not come to an end: other consumers take part, it
    /// finds too few for the connections that it takes, or go_on(), which is asked now and then, says so.
    void take_out(const Count& count, const std::function<bool()>& go_on);

    const std::vector<amqp10::Taken>& taken() const { return taken_; }
    /// Deletes what was taken.
    void drop();
    /// Keeps the connection alive: to be called every few seconds.
    void serve() { receiver_.serve(); }

  private:
    class Window;
    using Windows = std::vector<std::unique_ptr<Window>>;

    std::size_t ready(const Count& count, const Windows& windows);
    void take_all_out(const Count& count, const std::function<bool()>& go_on, Windows& windows);
    void try_again(const Count& count, Windows& windows);
    bool any_comes(const Count& count, const Windows& windows);
    void take_head();
    void require_an_end();

    const config::Endpoint& endpoint_;
    const config::Broker& settings_;
    std::string queue_;
    amqp10::Receiver receiver_;
    std::vector<amqp10::Taken> taken_;
    std::size_t ended_ = 0;      // connections
    std::size_t found_ = 0;      // with them; some were taken for a moment only
    std::size_t consumers_ = 0;  // that the queue has without ours of AMQP 0-9-1
};

}  // namespace retryd::amqp
