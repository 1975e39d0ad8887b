// Declares, binds, checks and deletes, one step at a time, on a channel of its own: the broker answers a refusal by
// closing the channel, and with one step under way it is clear which one it means.
//
// A state machine without IO: commands go out through TopologyCommands, answers come in as calls.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "amqp/refusal.h"
#include "amqp/topology_commands.h"
#include "core/topology.h"

namespace retryd::amqp {

class Declarer {
  public:
    /// Is that queue there? Nothing of it is changed or compared.
    struct CheckQueue {
        std::string queue;
    };
    /// Is that exchange there? Unlike a ForeignExchange it need not be.
    struct CheckExchange {
        std::string exchange;
    };
    struct DeleteQueue {
        std::string queue;
        bool only_if_idle = true;  // the broker sees to it; it cannot for quorum queues
    };
    /// Unless something is bound to it.
    struct DeleteExchange {
        std::string exchange;
    };
    using Step = std::variant<core::ExchangeSpec, core::QueueSpec, core::BindingSpec, core::ForeignExchange, CheckQueue,
                              CheckExchange, DeleteQueue, DeleteExchange>;

    enum class Result {
        done,
        refused,
        missing  // what was looked for, or the queue to be bound, is not there
    };
    /// How a queue is declared: as it is wanted, and where one is there with other arguments, as it may be all the
    /// same.
    enum class Variant { wanted, older, without_optional };
    struct Outcome {
        Result result = Result::done;
        /// The broker's, where refused or missing: 403, 404, 406 …
        int code = 0;
        /// For the operator, one line. Done: empty, or what the queue that is there has other than wanted, what follows
        /// from it and what mends it. Otherwise: what was refused, why, and the way out.
        std::string text;
        /// Of a queue that was declared or checked.
        QueueCounts counts;
        Variant variant = Variant::wanted;  // that of the queue that is there
        /// Of a queue that was refused because it is there with other arguments.
        std::optional<Inequivalent> difference = std::nullopt;
    };
    /// Called once for each step, in the order of submitting, unless the connection ends before. May submit.
    using Sink = std::function<void(const Outcome&)>;

    /// `commands` must outlive it. The channel is opened with the first step.
    Declarer(TopologyCommands& commands, Channel channel) : commands_(commands), channel_(channel) {}

    void submit(Step step, Sink sink);

    /// The events of its connection; those of other channels are ignored.
    void on_channel_open(Channel channel);
    void on_declared(Channel channel, const QueueCounts& counts);
    void on_channel_closed(const ChannelClosed& closed);

    /// No step is waiting or under way.
    bool idle() const { return waiting_.empty(); }

  private:
    enum class State { closed, opening, ready, asked };

    struct Waiting {
        Step step;
        Sink sink = {};
        Variant variant = Variant::wanted;
        std::string first_refusal;  // of the wanted one; empty before
    };

    void advance();
    bool try_another_variant(int code, std::string_view text);
    void finish(const Outcome& outcome);

    TopologyCommands& commands_;
    Channel channel_;
    State state_ = State::closed;
    std::deque<Waiting> waiting_;  // the first is under way when asked
};

/// To declare the item; of somebody else's exchange only whether it is there.
Declarer::Step step_of(const core::TopologyItem& item);

}  // namespace retryd::amqp
