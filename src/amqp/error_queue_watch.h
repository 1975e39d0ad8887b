// Whether the error queue can hand over messages. If it cannot, nothing comes: that looks as if no message were ever
// rejected.
//
// A queue whose process hangs does not answer a passive declare. For a quorum queue without a leader the broker answers
// that it has no consumer. One whose leader is there, but too few others to agree with it, looks well, consumers and
// all (tried on 3.10.8 and 4.3.6: nodes killed, members stopped); what is not answered is what has to be agreed on. So
// while nothing comes, the queue is asked for a consumer that gets nothing (amqp/consumer_probe.h).
//
// Our own consumer stays meanwhile. The queue knows it when it has its majority again, and what was acked in between is
// acked then; if the connection were given up, that would be delivered again.
#pragma once

#include <cstdint>
#include <optional>

#include "core/time.h"

namespace retryd::amqp {

/// A state machine without clock and IO.
class ErrorQueueWatch {
  public:
    /// Each is answered later by a call below, and by then nothing else is asked.
    class Commands {
      public:
        virtual ~Commands() = default;
        /// Passive declare → looked().
        virtual void look() = 0;
        /// Ask for a consumer → probing() once the broker is asked, probed().
        virtual void probe() = 0;
    };
    enum class State {
        works,
        hangs,
        leaderless,     // or without a majority
        consumer_gone,  // it works, but does not know our consumer any more
    };
    enum class Looked { answered, silent, unknown };
    enum class Probed {
        answered,
        unanswered,  // the broker has waited for the queue, and given up
        unknown,     // it was not asked: no connection, no permission
    };

    /// `commands` must outlive it.
    explicit ErrorQueueWatch(Commands& commands) : commands_(commands) {}

    /// The broker has answered a basic.consume: from the first time on, the queue is watched.
    void consuming(core::SteadyTime now);
    void delivered(core::SteadyTime now) {
        delivered_at_ = now;
        state_ = State::works;
    }
    core::SteadyTime delivered_at() const { return delivered_at_; }
    /// `consumers`: as the broker counts them; nothing where ours has changed meanwhile.
    void looked(Looked answer, std::optional<std::uint64_t> consumers, core::SteadyTime now);
    void probing(core::SteadyTime now) { probing_since_ = now; }
    void probed(Probed answer, core::SteadyTime now);

    struct Allowed {
        bool look = false;   // the broker reads what is asked
        bool probe = false;  // a consumer can be asked for
        /// Ours can take a message: then one of a lower priority gets none.
        bool has_room = false;
    };
    void tick(core::SteadyTime now, const Allowed& allowed);

    State state() const { return state_; }
    /// So it has been several times.
    bool cannot_probe() const { return probes_in_vain_ >= few_in_vain; }

  private:
    enum class Question { look, probe };

    /// What prevents a probe so often in a row lasts, as a rule: a limit of connections, for example. A connection that
    /// has just been lost, or a node that is just gone, is there again the next time.
    static constexpr int few_in_vain = 3;

    void next(Question question, core::SteadyTime due);
    void ask(Question question, core::SteadyTime now);
    void probed_in_vain(core::SteadyTime now);

    Commands& commands_;
    State state_ = State::works;
    bool watching_ = false;
    Question next_ = Question::look;
    core::SteadyTime due_{};
    std::optional<Question> asked_;
    core::SteadyTime asked_at_{};
    std::optional<core::SteadyTime> probing_since_;  // a connection that takes long to open tells nothing of the queue
    core::SteadyTime delivered_at_{};
    core::SteadyTime no_probe_before_{};
    int looks_without_consumer_ = 0;  // in a row
    int probes_in_vain_ = 0;          // in a row: unknown
};

}  // namespace retryd::amqp
