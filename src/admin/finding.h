// A finding of `retryd doctor`: its kind, which has a stable name, the cause with the names, the consequence, and the
// remedy.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retryd::admin {

enum class Severity {
    problem,  // messages are lost or do not come back
    warning,  // messages may be lost or not come back, or something is less safe than it could be
};
std::string_view to_string(Severity severity);

/// Scripts and alerts use their names (finding_kinds()), so a name never gets another meaning.
enum class FindingCode {
    // About what retryd declares.
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
    // About work queues.
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
    // About the broker, and what retryd's user may do there.
    old_broker,
    broker_alarm,
    disabled_feature_flag,
    missing_permission,
    needless_writer,
    // About the daemon.
    no_leader,
    no_consumer,
    daemon_not_ready,
    daemon_fault,
    daemon_clock,
    reload_refused,
    cannot_tell,
};

/// What all findings of a kind have in common.
struct FindingKind {
    FindingCode code;
    std::string_view name;  // no-dead-letter-exchange
    Severity severity;
    std::string_view consequence;
    std::string_view remedy;
    std::string_view command;  // a shell command (retryd or rabbitmqctl) that fixes it; empty if there is none
};
std::span<const FindingKind> finding_kinds();
const FindingKind& kind_of(FindingCode code);

/// What is particular to one finding.
struct FindingDetails {
    std::string consequence = {};  // empty: that of its kind
    std::string remedy = {};       // empty: that of its kind, and its command
    std::string command = {};
    std::string name = {};  // the queue, exchange or permission that it is about
    /// Findings of one kind and group are shown as one finding with many names: they share cause and remedy.
    std::string group = {};
};

/// Consequence and remedy are never empty.
class Finding {
  public:
    Finding(FindingCode code, std::string cause, FindingDetails details = {});

    FindingCode code;
    Severity severity;
    std::string cause;  // the cause for the first of its names
    std::string consequence;
    std::string remedy;
    std::string command;  // empty if no command fixes it
    std::vector<std::string> names;
    std::string group;

    /// Stays the same for as long as the fault lasts, however many names it covers by then.
    std::string key() const;
    bool operator==(const Finding&) const = default;
};

/// Joins findings of one kind and group; problems come first.
std::vector<Finding> grouped(const std::vector<Finding>& findings);

/// At most `most` names, made safe to print, in one line: `a, b, c and 297 more`.
std::string folded(const std::vector<std::string>& names, std::size_t most);

/// The daemon checks policies more often than everything else.
enum class CheckScope { policies, all_but_policies };

/// The result of the checks: what was found, and what could not be checked.
struct Diagnosis {
    std::vector<Finding> findings;         // grouped
    std::vector<std::string> cannot_tell;  // each begins with `whether …` and ends with what is needed to check it
};

}  // namespace retryd::admin
