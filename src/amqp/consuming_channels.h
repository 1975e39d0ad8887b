// On which channels the error queue is consumed. A state machine without IO or clock.
//
// RabbitMQ sends what a channel gets by a process of its own, which takes minutes for a message whose headers nest tens
// of thousands of levels deep (4.0.5 and 4.3.6, tried), and all that is behind it on that channel waits. Normally there
// is one channel, with the whole prefetch. It is asked all the time. When it is silent, a spare one asks for a
// consumer: if that is answered, and the first stays silent, the first is stuck. What it has been given goes back to
// the queue, and from then on messages are delivered one at a time on many spare channels, so that such a message holds
// up nothing but the channel that it is on. When all have answered for a while, there is one channel again.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "amqp/topology_commands.h"
#include "core/time.h"

namespace retryd::amqp {

class ConsumingChannels {
  public:
    /// Channel numbers are below this.
    static constexpr std::size_t end_of_numbers = 68;
    /// Of the spare ones; up to end_of_numbers there are further ones that look whether the broker answers at all.
    static constexpr std::size_t most_spares = 64;

    /// What the broker answers, on each channel in the order of asking.
    enum class Question { qos, consume, cancel };

    /// None may wait for an answer, nor call back anything but sent().
    class Commands {
      public:
        virtual ~Commands() = default;
        /// Opens it and consumes on it; a spare one with a prefetch of 1.
        virtual void open(Channel channel, bool spare) = 0;
        /// basic.qos as it is, which changes nothing.
        virtual void ask(Channel channel) = 0;
        /// All its consumers.
        virtual void cancel(Channel channel) = 0;
        /// To the queue, all that the broker has given it and that is not settled.
        virtual void give_back(Channel channel) = 0;
        virtual void close(Channel channel) = 0;
        /// Nothing that came on it waits to be settled.
        virtual bool is_idle(Channel channel) const = 0;
        /// Some message has come on it in part.
        virtual bool receives(Channel channel) const = 0;
    };

    /// `last`: the highest number that the broker allows. `commands` must outlive it.
    ConsumingChannels(Commands& commands, Channel last);

    void start(core::SteadyTime now);
    /// `may_open`: spare channels, and the one in place of them. `read_all`: everything that the broker has sent so
    /// far; else it is not known which channel is silent.
    void tick(core::SteadyTime now, bool may_open, bool read_all);
    /// Not before the first tick().
    core::SteadyTime next_tick() const { return next_tick_; }
    /// New ones take the place of the spare ones.
    void renew_spares();

    // ── What has been sent, and what has come ──

    void sent(Channel channel, Question question);
    void answered(Channel channel, Question question);
    void delivered(Channel channel);
    void acked(Channel channel);
    void closed(Channel channel) { channels_.erase(channel); }

    /// What comes on others is not ours any more.
    bool takes(Channel channel) const;
    /// We have asked the broker to: it answers that whatever it does meanwhile.
    bool closes(Channel channel) const;
    /// Neither on its way out nor given up.
    bool consumes(Channel channel) const;
    /// Whether the broker knows all the consumers of that one.
    bool knows_consumers(Channel channel) const;

    /// The one with the whole prefetch; none while there are only spare ones.
    std::optional<Channel> main() const { return main_; }
    std::size_t spares() const;
    /// How long that one has answered nothing though it was asked, nor was sent an ack; 0 where it answers.
    core::Milliseconds main_silent_for() const;
    /// Messages come one at a time, on spare ones.
    bool one_at_a_time() const { return one_at_a_time_; }
    /// No channel is answered any more, not even one that was opened since, though messages came on several at once:
    /// the broker is ending the connection, and waits for the channel that is busy.
    bool connection_ends() const;
    /// None has answered for so long that nothing comes any more.
    bool all_silent() const { return now_ - alive_at_ >= all_silent_after; }

    static constexpr core::Milliseconds all_silent_after{15'000};

  private:
    enum class State {
        consuming,
        leaving,     // what it has delivered is being settled
        given_back,  // what still comes is not ours
        closing,
    };
    struct ChannelState {
        bool spare = false;
        bool stuck = false;
        bool cancelled = false;
        bool only_asks = false;  // leaves as soon as it is answered
        State state = State::consuming;
        std::array<int, 3> owed{};      // answers, by question
        core::SteadyTime owes_since{};  // or has shown life since
        std::optional<core::SteadyTime> consumes_since;
        core::SteadyTime due{};  // when it is asked, or given back, again
        core::SteadyTime acked_at{};

        bool owes() const;
        int& of(Question question) { return owed[static_cast<std::size_t>(question)]; }
        int of(Question question) const { return owed[static_cast<std::size_t>(question)]; }
    };

    ChannelState* find(Channel channel);
    const ChannelState* find(Channel channel) const;
    bool silent(const ChannelState& its, core::Milliseconds time) const;
    std::optional<Channel> open(bool spare, std::size_t most = most_spares);
    void ask();
    void note_life(ChannelState& its);
    void note_silence(bool read_all);
    void look();
    void look_at_main(ChannelState& main);
    void try_another();
    bool some_spare_works() const;
    void widen();
    void provide_spares();
    void ask_on_another();
    void leave(Channel channel, ChannelState& its);
    void give_back(Channel channel, ChannelState& its);

    Commands& commands_;
    const Channel last_;
    std::map<Channel, ChannelState> channels_;
    std::optional<Channel> main_;
    bool one_at_a_time_ = false;
    core::SteadyTime now_{};
    core::SteadyTime next_tick_{};
    core::SteadyTime open_due_{};
    core::SteadyTime another_due_{};
    core::SteadyTime alive_at_{};     // one has answered, or none had to
    core::SteadyTime quiet_since_{};  // all spare ones have answered
};

}  // namespace retryd::amqp
