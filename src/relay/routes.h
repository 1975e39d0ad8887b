// Where messages of each work queue can go: its rungs and where it parks, and what is known of them on the broker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/policy.h"
#include "core/time.h"
#include "core/topology.h"
#include "relay/in_flight.h"
#include "relay/reporter.h"
#include "relay/waiting.h"

namespace retryd::relay {

/// Which detour a message takes. One for all messages that wait for the same target, or for the same answer.
class DetourChooser {
  public:
    /// The index into core::detour_delays for one more message: as long as the trouble has lasted, so that what waits
    /// is late by about as much again; or longer, where so many wait that their rounds would be a load.
    std::size_t choose(core::Milliseconds trouble_age, core::SteadyTime now);
    /// A message has taken the one that was chosen.
    void add() { ++messages_; }

  private:
    /// Since then so many have taken a detour: about as many as are on one, for it begins anew with each round.
    std::size_t messages_ = 0;
    core::SteadyTime since_{};
};

/// Something that has to be on the broker, most of all what messages are published to.
///
/// A parking exchange with the keys of the producers leads to many queues, each of which may refuse: there the exchange
/// is one target, which is declared, and each work queue has another, which is published to.
struct Target {
    enum class State { unknown, declaring, ready, refused };

    TargetRole role = TargetRole::rung;
    std::string name;                        // of the queue or the exchange, for reports
    std::string work_queue_filter = {};      // messages of that work queue; empty: of any that park or wait there
    std::string exchange;                    // empty: the default exchange
    std::optional<std::string> routing_key;  // absent: the one that the producer used
    core::Topology topology;
    core::Milliseconds delay{};  // of a rung; else zero
    std::uint64_t address = 0;   // hash_of_address(), where the routing key is always the same
    State state = State::unknown;
    core::SteadyTime refused_until{};    // when refused: not declared again before
    core::SteadyTime refused_since{};    // while `reported`
    core::SteadyTime confirmed_until{};  // of an error binding: made again then, somebody may have deleted it
    core::SteadyTime look_due{};         // of a queue: when it is looked at again
    bool looking = false;                // that has been asked for and not answered yet
    bool declare_refused = false;        // when refused: a declare was, not a publication
    bool changed = false;                // when refused: it was ready until somebody changed it, on whatever connection
    bool took_messages_before = false;   // on an earlier connection
    bool reported = false;               // that it is refused has been reported, and not yet that it has healed
    std::string refused_why = {};        // while `reported`: the last reason, of a declare
    TargetFlow flow = {};
    std::size_t channel = 0;  // PublishingChannel::index of the last one
    DetourChooser detour_chooser = {};
    Awaited awaited = {};
    int stale_answers = 0;                         // to declares of a former policy, still to come
    std::size_t asked_for_in = 0;                  // the last policy that did, by number: Routes::is_needed()
    std::shared_ptr<Target> parent_exchange = {};  // where `work_queue_filter` is set

    /// What has to be there for it.
    Target& declared() { return parent_exchange ? *parent_exchange : *this; }
    const Target& declared() const { return parent_exchange ? *parent_exchange : *this; }
    bool is_ready() const { return declared().state == State::ready; }
    bool is_refused() const { return declared().state == State::refused; }

    /// On whatever connection.
    bool has_taken_messages() const { return took_messages_before || flow.has_confirmed(); }
    /// A declare of it has not been answered yet.
    bool awaits_answer() const { return state == State::declaring || looking; }
    bool in_trouble() const { return is_refused() || flow.trouble() != TargetFlow::Trouble::none; }
    /// For how long it has been refused, or its flow in trouble.
    core::Milliseconds trouble_age(core::SteadyTime now) const {
        return is_refused() && declared().reported ? now - declared().refused_since : flow.trouble_age(now);
    }

    /// A message that no detour takes cannot be published anywhere: it waits, or is requeued to the error queue.
    bool is_last_resort() const { return role == TargetRole::detour; }
    /// Somebody has deleted it, or may have: it is declared again when it is needed.
    void gone() {
        if (state != State::ready) return;
        state = State::unknown;
        changed = true;
    }
    TargetName reported_as() const { return {role, name, work_queue_filter}; }
    /// The key it is declared under: no two have the same.
    std::string key() const;
};

/// What is known of a work queue. A glob names many: x-death may be forged, and rungs for a queue that does not exist
/// would hold their messages for ever, as they would when an exclusive queue is gone with its connection. Of an exact
/// name the operator says that it exists.
enum class WorkQueueState { unchecked, checking, exists, missing, exclusive, refused };

struct Route {
    struct Rung {
        core::Milliseconds delay{};
        std::shared_ptr<Target> normal;
        std::shared_ptr<Target> high;  // made when the first message with a high priority comes
    };

    std::string work_queue;
    const core::Entry* entry = nullptr;  // of the policy that the routes were made for
    std::vector<Rung> rungs;
    std::shared_ptr<Target> parked;
    std::shared_ptr<Target> held;
    WorkQueueState work_queue_state = WorkQueueState::unchecked;
    core::SteadyTime refused_until{};  // when refused: not checked again before
    core::SteadyTime checked_at{};     // when the check was asked for
    Awaited awaited;                   // the check
    DetourChooser detour_chooser;      // while it is not answered
    bool detoured_unchecked = false;   // messages come back that did not wait for the answer
    /// The answer for those, when they are back, if the queue was gone. All others ask again: it may have come since.
    std::optional<WorkQueueState> gone_for_detoured;
    core::SteadyTime gone_until{};  // by then they are back

    /// False where x-death alone names it: nothing is declared for such a queue.
    bool work_queue_exists() const;
    /// False where rungs of its own would outlive it.
    bool may_have_rungs() const;
    /// Whether its ladder is shared with other work queues.
    bool shared() const { return entry->ladder.return_path == core::ReturnPath::headers; }
};

/// A rung that has been there, as it was declared.
struct RungSeen {
    core::Topology topology;
    bool has_taken_messages = false;
};

/// By Target::key().
using RungsSeen = std::map<std::string, RungSeen, std::less<>>;

class Routes {
  public:
    Routes(std::shared_ptr<const core::Policy> policy, const core::BrokerFeatures& features);

    /// From now on routes are those of another policy. What is known of the broker is kept, but for what it refused to
    /// declare: that is asked for anew.
    void adopt(std::shared_ptr<const core::Policy> policy);

    /// Null where no entry matches.
    std::shared_ptr<Route> route_for(std::string_view work_queue);
    /// Null where it has none yet.
    std::shared_ptr<Route> find(std::string_view work_queue) const;

    /// The rung of that delay, which must be one of the route's ladder.
    std::shared_ptr<Target> rung(Route& route, core::Milliseconds delay, bool high_priority);
    /// Where its messages are parked.
    std::shared_ptr<Target> parked(Route& route);
    /// Where they are held.
    std::shared_ptr<Target> held(Route& route);
    const std::shared_ptr<Target>& catch_all() const { return catch_all_; }
    /// One for each of core::detour_delays.
    const std::vector<std::shared_ptr<Target>>& detours() const { return detours_; }
    /// The one of that name, or null.
    std::shared_ptr<Target> detour(std::string_view name) const;
    /// Where a fresh copy goes of what has come back from there too often.
    const std::shared_ptr<Target>& error_queue() const { return error_queue_; }
    /// A work queue, for what retryd itself sends home. Nothing is declared for it; it is ready once it is known to be
    /// there.
    std::shared_ptr<Target> home(std::string_view work_queue);
    const std::shared_ptr<Target>& return_exchange() const { return return_exchange_; }
    const std::vector<std::shared_ptr<Target>>& error_bindings() const { return error_bindings_; }

    /// Whether it was asked for since the last adopt(). Else the policy may not name it any more.
    bool is_needed(const Target& target) const { return target.asked_for_in == adopted_; }
    /// The target with that Target::key(), or null.
    std::shared_ptr<Target> find_target(std::string_view key) const;
    /// All that are published to through the exchange that the broker names in its words ("no exchange 'x' in vhost",
    /// "access to exchange 'x' in vhost"): it cuts a text at 255 bytes, and then it may be any whose name begins like
    /// that. None for the default exchange.
    std::vector<std::shared_ptr<Target>> published_through_exchange_in(std::string_view why) const;

    /// Forgets the bindings of the error queue that the policy does not name any more, and returns them.
    std::vector<std::shared_ptr<Target>> take_error_bindings_left();
    bool any_refused(TargetRole role, std::string_view name) const;
    /// A refusal of those is news again, the next time.
    void tell_again(TargetRole role, std::string_view name);

    /// The targets that are silent, but for detours.
    SilentTargets silent() const;
    /// Those were, when the last connection ended; they may not have been made here yet.
    void were_silent(const SilentTargets& targets);

    /// The rungs that have been there on this connection, and on earlier ones as far as seen_before() has told.
    RungsSeen rungs_seen() const;
    /// Those were there on an earlier connection: where they are not now, and cannot be declared, somebody has changed
    /// that, and their messages wait.
    void seen_before(RungsSeen rungs);

    /// Forgets the route. Its targets, which know what is declared, stay.
    void forget(const Route& route);

  private:
    struct Hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    template <typename T>
    using ByName = std::unordered_map<std::string, std::shared_ptr<T>, Hash, std::equal_to<>>;

    std::shared_ptr<Target> intern(Target target);
    void note_seen_before(Target& target);
    std::shared_ptr<Target> target_behind_exchange(const std::shared_ptr<Target>& exchange,
                                                   const std::string& work_queue);
    std::shared_ptr<Route> make(std::string_view work_queue, const core::Entry& entry);
    void make_fixed_targets();

    std::shared_ptr<const core::Policy> policy_;
    core::BrokerFeatures features_;
    std::size_t adopted_ = 0;  // so many policies: the number of the one in force
    ByName<Route> routes_;
    ByName<Target> targets_;
    std::string key_;
    SilentTargets were_silent_;  // by key; of those that are not made yet
    RungsSeen seen_before_;      // likewise
    std::shared_ptr<Target> catch_all_;
    std::vector<std::shared_ptr<Target>> detours_;
    std::shared_ptr<Target> error_queue_;
    std::shared_ptr<Target> return_exchange_;
    std::vector<std::shared_ptr<Target>> error_bindings_;
};

/// Addresses at which a foreign exchange has routed to no queue: not tried again for a minute. By hash_of_address():
/// with the producer's routing key one exchange has many addresses, of which some may be fine.
class UnroutableAddresses {
  public:
    /// True when this is news.
    bool add(std::uint64_t address, std::string_view exchange, core::SteadyTime now);
    bool contains(std::uint64_t address, core::SteadyTime now) const;
    /// It took a message. True when it was known as unroutable.
    bool remove(std::uint64_t address) { return until_.erase(address) > 0; }
    /// Forgets all, and returns their exchanges.
    std::set<std::string, std::less<>> clear();

  private:
    std::unordered_map<std::uint64_t, core::SteadyTime> until_;
    std::set<std::string, std::less<>> exchanges_;
};

}  // namespace retryd::relay
