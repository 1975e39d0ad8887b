// What has to exist on the broker for a message to go its way: rungs, parking queues, detours, bindings, work queues.
//
// Each is asked for before its first message, and again every minute: somebody may have deleted it, made it anew with
// other arguments, or fixed what was refused. The answers come as calls; what waits for them is the Relay's matter.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "core/policy.h"
#include "core/time.h"
#include "relay/broker.h"
#include "relay/reporter.h"
#include "relay/routes.h"

namespace retryd::relay {

class Declarations {
  public:
    /// All must outlive it. `declare` false: everything has to be there, the bindings of work queues included.
    Declarations(Routes& routes, Broker& broker, Reporter& reporter, bool declare)
        : routes_(routes), broker_(broker), reporter_(reporter), declare_(declare) {}

    /// Asks for what is known to be needed before any message comes: for entries with an exact name, for what the
    /// work queues of a glob share, for the dead-letter exchanges of others, for detours.
    void ask_in_advance(const core::Policy& policy);
    /// Asks for what is due again.
    void on_tick(const core::Now& now);
    std::optional<core::SteadyTime> next_tick() const;

    /// Whether anything that was asked for for the first time, or after a refusal, is not answered yet: till then it
    /// may not be there.
    bool awaits_answers() const { return !declaring_.empty() || !return_bindings_asked_.empty(); }

    // ── targets ──

    /// ready, refused, or declaring: declared now if it was not yet, or if its refusal is long ago.
    Target::State ensure(Target& needed, const core::Now& now);
    /// What was asked for as that target is answered; `why` is empty when ready. Null where it is not waited for any
    /// more.
    std::shared_ptr<Target> on_declared(std::string_view key, DeclareOutcome outcome, std::string_view why,
                                        const core::Now& now);
    void mark_refused(Target& target, std::string_view why, const core::Now& now);
    void report_healed(Target& target);
    /// Another policy is in force: bindings that it does not need are no fault.
    /// (Queues are left when it would be their turn to be looked at again.)
    void adopt(const core::Policy& policy);
    void end_fault(TargetRole role, std::string_view name);

    // ── work queues ──

    /// True once it is known whether the queue exists; asks if that was not asked yet, or was refused long ago.
    bool work_queue_checked(Route& route, const core::Now& now);
    void on_work_queue_answer(Route& route, CheckOutcome outcome, const core::Now& now);
    /// A work queue that is not there is not remembered: forged names must not fill the memory, and it may come yet.
    /// But where messages did not wait for the answer, it holds for them alone until they are back from their detour:
    /// they would not wait for it the next time either, and ask for ever.
    void forget_if_gone(const std::shared_ptr<Route>& route, const core::Now& now);

    /// A work queue that a shared rung did not find, being bound again, or one that retryd itself is to send a message
    /// to, being looked for: the answer holds for the messages that wait for it, not for later ones, which would go
    /// round and round if the queue were deleted again.
    struct Rebinding {
        WorkQueueState state = WorkQueueState::checking;
        bool binds = true;  // else it is looked for
        Awaited awaited = {};
    };
    /// Of that work queue; begun where none is under way. Over with forget_rebinding().
    const std::shared_ptr<Rebinding>& rebinding(std::string_view work_queue, bool bind);
    /// Once answered: by a look at it, or by its binding, which answers both.
    void forget_rebinding(std::string_view work_queue, bool bound);
    /// Answers whoever has looked for that work queue.
    void on_looked_for(std::string_view queue, CheckOutcome outcome);
    /// Answers whatever asked for the binding of that work queue. `why` is empty unless refused.
    void on_bound(std::string_view queue, CheckOutcome outcome, std::string_view why, const core::Now& now);

  private:
    using Names = std::set<std::string, std::less<>>;

    void declare(Target& target);
    void look_later(Target& target, const core::Now& now);
    void look_again(const core::Now& now);
    void leave(Target& target);
    bool may_look() const;
    void declare_rungs(Route& route);
    void declare_all(Route& route);
    void declare_what_all_share(const core::Entry& entry);
    void bind_to_return_exchange(std::string_view work_queue);
    static void note_deleted(Route& route, CheckOutcome outcome);
    void report_return_binding(std::string_view work_queue, bool refused, std::string_view why);

    struct Look {
        core::SteadyTime due{};
        std::string key;
    };
    struct Gone {
        core::SteadyTime forgotten_at{};
        std::shared_ptr<Route> route;
    };

    Routes& routes_;
    Broker& broker_;
    Reporter& reporter_;
    bool declare_;
    std::map<std::string, std::shared_ptr<Rebinding>, std::less<>> rebindings_;
    std::deque<Gone> gone_;
    std::deque<Look> looks_;       // the next one first; only one that is due when its target says is still to be made
    Names looking_;                // the keys of those that are under way
    Names declaring_;              // the keys of the targets whose state is that
    Names return_bindings_asked_;  // work queues whose binding has been asked for and not answered
    Names return_bindings_refused_;  // and whose refusal has been reported
};

}  // namespace retryd::relay
