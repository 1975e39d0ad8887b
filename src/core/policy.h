// What the operator configured, checked: ladders, which work queues are retried on which, and where they park.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace retryd::core {

// Sources: queues into which a framework, or an application's own consumer, puts what has failed, instead of rejecting
// it.

/// How the messages of a source are written. Each dialect is in src/core/dialects*.cpp, with the sources that it was
/// read from.
enum class Dialect {
    masstransit,
    nservicebus,
    rebus,
    easynetq,
    spring,
    symfony,
    celery,
    dramatiq,
    generic,  // as the source's own keys say; without them, as the broker dead-letters
};
std::string_view to_string(Dialect dialect);

/// Where the name of the work queue is, where the dialect does not know it or the operator knows better.
struct WorkQueueOf {
    enum class Place {
        dialect,  // where the dialect has it
        header,   // in the header `text`
        suffix,   // it is the source's name without `text` at its end
        name,     // it is `text`
    };
    Place place = Place::dialect;
    std::string text = {};
    bool operator==(const WorkQueueOf&) const = default;
};

/// In words, for a report.
std::string describe(const WorkQueueOf& work_queue);

/// One item of `sources:`.
struct Source {
    std::string queue;  // its name, or a glob
    Dialect dialect = Dialect::generic;
    WorkQueueOf work_queue = {};
    std::string reason_header = {};  // says why it failed; empty: where the dialect has it
    bool operator==(const Source&) const = default;
};

enum class QueueType { quorum, classic };
std::string_view to_string(QueueType type);

/// How a message returns from a rung.
enum class ReturnPath {
    queue,    // each work queue has rungs of its own, which dead-letter straight to it
    headers,  // all work queues share the rungs; the exchange retryd.return tells them apart by a `retryd-*` header
};
std::string_view to_string(ReturnPath path);

/// Whether a consumer sees how often a message has died in its queue.
enum class XDeath {
    remove,  // x-death is taken off: what the consumer sees is that of the rung
    keep,    // it sees all deaths but those in queues of retryd's (core/kept_deaths.h)
};
std::string_view to_string(XDeath deaths);

/// Spreads what failed at one moment: a step becomes that many lanes, whose delays lie evenly between the delay less
/// the width and the delay.
struct Jitter {
    int width_percent = 0;  // 1 to 99 where there are several lanes
    int lanes = 1;          // 1: none; at most 16
    bool operator==(const Jitter&) const = default;
};

/// A fixed list of delays; attempt n takes steps[n-1]. The same delay may stand there several times: one rung.
struct Ladder {
    std::string name;
    std::vector<Milliseconds> steps = {};  // at least one; each at least 1 ms, at most longest_ttl
    QueueType queue_type = QueueType::quorum;
    ReturnPath return_path = ReturnPath::queue;
    Jitter jitter = {};
    /// Of the entry that the ladder is for. With `keep` its rungs are others, which lead back to retryd.
    XDeath x_death = XDeath::remove;
    bool operator==(const Ladder&) const = default;
};

/// The delay of one lane of a step: lane 0 is the shortest, the last one is the step itself.
inline Milliseconds lane_delay(Milliseconds step, const Jitter& jitter, int lane) {
    if (jitter.lanes <= 1) return step;
    const double width = static_cast<double>(step.count()) * jitter.width_percent / 100.0;
    const double less = width * (jitter.lanes - 1 - lane) / (jitter.lanes - 1);
    return std::max(step - Milliseconds{std::llround(less)}, Milliseconds{1});
}
/// The delays of all lanes of one step, the shortest first; the step alone where there is no jitter.
std::vector<Milliseconds> lanes_of(Milliseconds step, const Jitter& jitter);

/// A ladder's rungs: the delays of all lanes of all steps without repetition, in the order of their first use.
std::vector<Milliseconds> distinct_delays(const Ladder& ladder);

/// What a death leads to.
enum class Action { retry, park, drop };
std::string_view to_string(Action action);

struct OnDeath {
    Action rejected = Action::retry;
    Action delivery_limit = Action::retry;
    Action expired = Action::park;
    Action maxlen = Action::park;
    bool operator==(const OnDeath&) const = default;
};

/// Where an entry parks: a queue of ours, or a foreign exchange.
struct Parking {
    std::string queue = {};     // `{queue}` in it stands for the work queue; empty where there is an exchange
    std::string exchange = {};  // has to be there, is never declared
    /// For the exchange: `{queue}` in it stands for the work queue. Absent: the key that the producer used, as with the
    /// broker's own dead-lettering.
    std::optional<std::string> routing_key = {};
    bool operator==(const Parking&) const = default;
};

/// When what a work queue's consumers need counts as down, and how it is found out that it is up again.
struct OutageRule {
    int failing_percent = 90;     // of the messages whose end is known
    std::uint16_t of = 20;        // at least so many of them
    Milliseconds within{30'000};  // the time that is looked at
    Milliseconds probe{10'000};   // one held message goes home this often
    int release = 50;             // held messages a second, to begin with
    bool operator==(const OutageRule&) const = default;
};

/// What becomes of messages that stay parked for too long.
struct ParkedAge {
    Milliseconds max{};        // since they were parked
    std::string archive = {};  // a folder, into whose files they go first; empty: they are dropped
    bool operator==(const ParkedAge&) const = default;
};

/// By what the failures of a work queue come to retryd.
enum class FailuresBy {
    error_queue,  // the broker dead-letters them there
    source,       // a source alone: its consumers put them there, or the broker does
};
std::string_view to_string(FailuresBy failures);

/// One item of `queues:`.
struct Entry {
    std::string match;  // a queue name or a glob
    Ladder ladder = {};
    Parking parked = {};
    OnDeath on = {};
    std::optional<Milliseconds> max_age = {};  // parked when its first death is longer ago than this
    bool hold = false;                         // by hand: what fails is held
    std::optional<OutageRule> outage = {};     // absent: nothing is held by itself
    bool verdict = false;                      // the consumer may say when to try again (core/verdict.h)
    std::optional<ParkedAge> parked_age = {};  // absent: they wait for a person, however long
    /// Changes nothing for a message: it is for those who see to it that failures come, and come once.
    FailuresBy failures = FailuresBy::error_queue;
    bool operator==(const Entry&) const = default;
};

/// A foreign dead-letter exchange that is bound to the error queue, too.
struct ErrorBinding {
    std::string exchange;
    std::string routing_key = "#";
    bool operator==(const ErrorBinding&) const = default;
};

struct Policy {
    std::string error_exchange = "retryd.errors";
    std::string error_queue = "retryd.errors";
    QueueType error_queue_type = QueueType::quorum;
    std::vector<ErrorBinding> error_bindings;
    std::vector<Entry> entries;   // the first that matches wins
    std::vector<Source> sources;  // consumed beside the error queue
    std::string catch_all = "retryd.parked";
    bool operator==(const Policy&) const = default;
};

/// Whether messages of that entry may ever be held.
inline bool may_hold(const Entry& entry) {
    return entry.hold || entry.outage.has_value();
}

/// The entry for a work queue, or null; null for a queue of our own, for a source and for what a framework keeps for
/// itself (is_known_plumbing), even where a glob matches its name. Valid as long as the policy.
const Entry* match(const Policy& policy, std::string_view work_queue);

/// A queue that retryd declares under this policy: no rungs are made for it, whatever an x-death says. That is the
/// error queue, the catch-all, every name with the form of a rung's, and where entries park and hold.
bool is_own_queue(const Policy& policy, std::string_view queue);

/// One of them in which messages are parked, the catch-all included.
bool is_parking_queue(const Policy& policy, std::string_view queue);

/// Whether any ladder in use is shared.
bool has_shared_ladder(const Policy& policy);

/// Whether it is one of `sources:`: what is put there is taken out by retryd; also where it is left out of those that a
/// glob finds, as one that is exclusive.
bool is_source(const Policy& policy, std::string_view queue);
/// The place in `sources` of the first that has this name, or matches it; nothing for a queue of our own.
std::optional<std::size_t> source_of(const Policy& policy, std::string_view queue);
/// Whether a message of that source may name that work queue: false only where another one, or none, is certain.
bool may_name(const Source& source, std::string_view work_queue);
/// Whether what fails there may come by any of the sources.
bool may_come_by_source(const Policy& policy, std::string_view work_queue);
/// Whether its entry says that it comes by a source alone.
bool comes_by_source_alone(const Policy& policy, std::string_view work_queue);
/// Whether queues have to be looked for.
bool has_source_globs(const Policy& policy);

// Queues that frameworks keep for themselves, told by their names: delays, answers, what the nodes tell each other.

/// Celery's delays (celery_delayed_N, {prefix}_celery_delayed_N), remote control and events, NServiceBus's delays, and
/// of Moleculer the queues that each node has. From the sources of Celery and kombu 5.6.2, NServiceBus.RabbitMQ 11.2.0
/// and Moleculer 0.14. The patterns of policies say the same (admin/patterns.cpp).
bool has_name_of_plumbing(std::string_view queue);

/// The same. Asked of the queue of every message: most are told by their first and last letters.
inline bool is_known_plumbing(std::string_view queue) {
    if (queue.empty()) return false;
    const char first = queue.front();
    const char last = queue.back();
    const bool may_be = first == 'c' || first == 'n' || first == 'M' || last == 'x' || (last >= '0' && last <= '9');
    return may_be && has_name_of_plumbing(queue);
}

}  // namespace retryd::core
