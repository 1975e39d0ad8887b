// What a check has found: its kind, which has a stable name, the cause with the names, what follows from it, and what
// mends it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::admin {

enum class Severity {
    problem,  // messages are lost or do not come back
    warning,  // they may be, or it is less safe than it could be
};
std::string_view to_string(Severity severity);

/// Scripts and alerts know their names (finding_kinds()): a name is never given another meaning.
enum class FindingCode {
    // What retryd declares.
    not_declared,
    different_arguments,
    lacks_argument,
    left_over_rungs,
    harmful_policy,
    unguarded,
    outdated_copy,
    error_queue_unlimited,
    error_queue_limit,
    held_by_broker,
    slow_return,
    // The work queues.
    no_work_queue,
    no_dead_letter_exchange,
    comes_twice,
    no_source,
    other_dead_letter_exchange,
    fixed_dead_letter_exchange,
    stream_queue,
    policy_in_change,
    at_most_once,
    delayed_retry,
    unmatched_dead_letters,
    sent_back_twice,
    retried_besides,
    copied_elsewhere,
    no_ack_consumer,
    redelivery_loop,
    plumbing_under_glob,
    short_lived_queue,
    // The broker, and what retryd's user may do there.
    old_broker,
    broker_alarm,
    disabled_feature_flag,
    missing_permission,
    needless_writer,
    // The daemon.
    no_consumer,
    daemon_not_ready,
    daemon_fault,
    daemon_clock,
    reload_refused,
    cannot_tell,
};

/// What is so of all findings of a kind.
struct FindingKind {
    FindingCode code;
    std::string_view name;  // no-dead-letter-exchange
    Severity severity;
    std::string_view consequence;
    std::string_view remedy;
    std::string_view command;  // of retryd or rabbitmqctl, for a shell; empty where none mends it
};
std::span<const FindingKind> finding_kinds();
const FindingKind& kind_of(FindingCode code);

/// What one finding has of its own.
struct FindingDetails {
    std::string consequence = {};  // empty: that of its kind
    std::string remedy = {};       // empty: that of its kind, and its command
    std::string command = {};
    std::string name = {};  // of the queue, exchange or permission that it is about
    /// Findings of a kind with the same group are one, with many names: they have the same cause and the same remedy.
    std::string group = {};
};

/// Consequence and remedy are never empty.
class Finding {
  public:
    Finding(FindingCode code, std::string cause, FindingDetails details = {});

    FindingCode code;
    Severity severity;
    std::string cause;  // of the first of its names
    std::string consequence;
    std::string remedy;
    std::string command;  // empty where none mends it
    std::vector<std::string> names;
    std::string group;

    /// The same fault later on has the same key, however many names it has by then.
    std::string key() const;
    bool operator==(const Finding&) const = default;
};

/// Those of one kind and one group made one; the problems first.
std::vector<Finding> grouped(const std::vector<Finding>& findings);

/// At most so many names, made safe to be shown, in one line: `a, b, c and 297 more`.
std::string folded(const std::vector<std::string>& names, std::size_t most);

/// The checks of policies are made more often than all others.
enum class CheckScope { policies, all_but_policies };

/// What was found, and what could not be looked at.
struct Diagnosis {
    std::vector<Finding> findings;         // grouped
    std::vector<std::string> cannot_tell;  // each begins with `whether …` and ends with what it takes
};

}  // namespace retryd::admin
