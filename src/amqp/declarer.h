// Declares, binds, checks and deletes, one step at a time, on channels of its own: the broker answers a refusal by
// closing the channel, and with one step under way on it it is clear which one it means.
//
// A step is not always answered: the process of a classic queue may hang, a quorum queue may lack a majority. The
// broker's end of that channel then hangs with it. So whatever is still without an answer after overtaking_after gets
// overtaken by the next step, on a further channel; and after declare_timeout it counts as refused, and its channel is
// given up until the broker has closed it.
//
// A state machine without IO: commands go out through TopologyCommands, answers and the time come in as calls.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "amqp/refusal.h"
#include "amqp/topology_commands.h"
#include "core/time.h"
#include "core/topology.h"

namespace retryd::amqp {

/// A queue as it is declared where one of that name may be there already, with other arguments.
class QueueVariant {
  public:
    explicit QueueVariant(const core::QueueSpec& wanted) : wanted_(wanted), spec_(wanted) {}

    /// As it is to be declared next.
    const core::QueueSpec& spec() const { return spec_; }

    /// After the broker's refusal: gives up one optional argument, or takes the value that an earlier retryd declared.
    /// False where nothing can be given up: the queue cannot be used.
    bool adapt(int code, std::string_view refusal);

    /// Optional arguments that the queue is without.
    const std::vector<std::string>& lacking() const { return lacking_; }
    /// For the operator: what the queue that is there lacks, what follows and what fixes it. Empty where nothing
    /// follows.
    Explanation note() const;
    /// The refusal that counts, after adapt() gave up: the last one, unless it is about an argument that was given up
    /// before.
    std::string decisive(std::string_view last) const;

  private:
    struct GivenUp {
        std::string argument;
        std::string refusal;    // the first one
        std::size_t tried = 0;  // so many of the older values
        bool left_out = false;  // declared without it
        Explanation note = {};
    };

    const core::QueueSpec::Older* next_older(GivenUp& given, std::string_view refusal) const;
    const GivenUp* given_up(std::string_view argument) const;

    core::QueueSpec wanted_;
    core::QueueSpec spec_;
    std::vector<GivenUp> given_up_;
    std::vector<std::string> lacking_;
};

class Declarer {
  public:
    /// Is that queue there? Nothing of it is changed or compared.
    struct CheckQueue {
        std::string queue;
        bool operator==(const CheckQueue&) const = default;
    };
    /// Is that exchange there? Unlike a ForeignExchange it need not be.
    struct CheckExchange {
        std::string exchange;
        bool operator==(const CheckExchange&) const = default;
    };
    struct DeleteQueue {
        std::string queue;
        bool only_if_idle = true;  // the broker sees to it; it cannot for quorum queues
        bool operator==(const DeleteQueue&) const = default;
    };
    /// Unless something is bound to it.
    struct DeleteExchange {
        std::string exchange;
        bool operator==(const DeleteExchange&) const = default;
    };
    using Step = std::variant<core::ExchangeSpec, core::QueueSpec, core::BindingSpec, core::ForeignExchange, CheckQueue,
                              CheckExchange, DeleteQueue, DeleteExchange>;

    enum class Result {
        done,
        refused,
        missing  // what was looked for, or the queue to be bound, is not there
    };
    struct Outcome {
        Result result = Result::done;
        /// The broker's, where refused or missing: 403, 404, 406 … 0 where it has not answered.
        int code = 0;
        /// For the operator, one line. Done: empty, or what the queue that is there has other than wanted, what follows
        /// from it and what fixes it. Otherwise: what was refused, why, and the way out.
        std::string text;
        /// Of a queue that was declared or checked.
        QueueCounts counts;
        std::vector<std::string> lacking = {};  // optional arguments that the queue that is there is without
        /// Of a queue that was refused because it is there with other arguments.
        std::optional<Inequivalent> difference = std::nullopt;
        /// Refused because the broker has not answered in time: it may still carry the step out.
        bool unanswered = false;
        /// `text` in parts, where it has them.
        Explanation told = {};
    };
    /// Called once for each step, unless the connection ends before; never from within submit(). May submit.
    using Sink = std::function<void(const Outcome&)>;

    /// The broker has not answered that one in time.
    static Outcome unanswered(const Step& step);
    /// It has ended the connection in place of an answer (amqp/aside.h): a queue that is looked for counts as missing.
    static Outcome ended(const Step& step, std::string_view words);

    /// Carries out some of them elsewhere: true for those that it has taken.
    using Elsewhere = std::function<bool(Step& step, Sink& sink)>;
    void carry_out_elsewhere(Elsewhere elsewhere) { elsewhere_ = std::move(elsewhere); }

    /// `commands` must outlive it. Its channels are those from `first` to `last`; each is opened with its first step.
    Declarer(TopologyCommands& commands, Channel first, Channel last);

    /// Steps begin in this order, but one may overtake those before it. What depends on another step is submitted from
    /// within that one's sink. Only equal steps keep their order: none is asked while another is without an answer.
    void submit(Step step, Sink sink);

    /// Whether the channel is one of its own.
    bool owns(Channel channel) const { return find(channel) != nullptr; }

    /// The events of its connection; those of other channels are ignored.
    void on_channel_open(Channel channel);
    void on_declared(Channel channel, const QueueCounts& counts);
    void on_channel_closed(const ChannelClosed& closed);
    void on_channel_left(Channel channel);

    /// Time passes in here only: what was sent since the last tick began with this one. Without ticks nothing is
    /// overtaken or given up.
    void on_tick(core::SteadyTime now);
    /// When on_tick() has something to do; none while nothing is without an answer.
    std::optional<core::SteadyTime> next_tick() const;

    /// No step is waiting or under way.
    bool idle() const;

    /// Those that the broker is asked at this moment.
    std::vector<Step> asked() const;

  private:
    enum class State {
        closed,
        opening,
        ready,
        asked,
        given_up  // we have closed it; the broker has not yet
    };

    struct Waiting {
        Step step;
        Sink sink = {};
        std::optional<QueueVariant> variant = std::nullopt;  // after a refusal: as it is declared now
        /// Since when it cannot begin because of channels that are given up.
        std::optional<core::SteadyTime> blocked_since = std::nullopt;
    };

    struct Lane {
        Channel channel;
        State state = State::closed;
        std::optional<Waiting> step = std::nullopt;  // under way, or what it was given up over
        std::optional<core::SteadyTime> began = std::nullopt;

        bool under_way() const { return step && state != State::given_up; }
        bool free() const { return !step; }
    };

    const Lane* find(Channel channel) const;
    Lane* find(Channel channel);

    void advance();
    void go_on(Lane& lane);
    bool may_begin() const;
    bool overtakes(const Lane& lane) const;
    std::deque<Waiting>::const_iterator next_to_begin() const;
    bool any_given_up() const;
    bool blocked(const Waiting& waiting) const;

    void note_begun();
    std::vector<Waiting> give_up_overdue();
    std::vector<Waiting> take_blocked_too_long();

    static bool try_another_variant(Waiting& asked, int code, std::string_view text);
    void finish(Lane& lane, const Outcome& outcome);

    TopologyCommands& commands_;
    Elsewhere elsewhere_;  // none: it carries out all of them
    std::vector<Lane> lanes_;
    std::deque<Waiting> waiting_;  // none of them is under way
    core::SteadyTime now_{};       // of the last tick
};

/// To declare the item; a foreign exchange is only checked for.
Declarer::Step step_of(const core::TopologyItem& item);

}  // namespace retryd::amqp
