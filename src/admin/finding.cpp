#include "admin/finding.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "core/safe_text.h"

namespace retryd::admin {

std::string_view to_string(Severity severity) {
    return severity == Severity::problem ? "problem" : "warning";
}

namespace {

struct AllKinds {
    using enum FindingCode;
    using enum Severity;
    static constexpr FindingKind table[] = {
        {not_declared, "not-declared", problem, "messages that need it are parked or held until it is there",
         "retryd apply declares it, and so does the daemon when it starts", "retryd apply"},
        {different_arguments, "different-arguments", problem,
         "retryd does not use it: messages that need it are parked or held while that lasts",
         "once it is empty, delete it, and it is declared again; or change the configuration to what is there", ""},
        {lacks_argument, "lacks-argument", warning, "what the broker does without that argument is in effect",
         "once it is empty, delete it, and it is declared again", ""},
        {left_over_rungs, "left-over-rungs", warning,
         "nothing is published to them any more; what waits there still returns to its work queue",
         "retryd deletes those that are empty", "retryd apply --prune"},
        {harmful_policy, "harmful-policy", problem, "what waits there is thrown away, or comes back too early",
         "give the policy a pattern that leaves this queue out", ""},
        {unguarded, "unguarded", warning,
         "one with a pattern such as .* that sets a length, a TTL or a delivery limit deletes at once what is parked "
         "and what waits on rungs",
         "retryd attach prints the policy that guards them, with its undo", "retryd attach --apply"},
        {outdated_copy, "outdated-copy", warning,
         "what that policy said when the copy was made stays in effect on these queues",
         "retryd attach prints what becomes of the copy, with its undo; give it another name if it is to stay as "
         "it is",
         "retryd attach --apply"},
        {error_queue_unlimited, "error-queue-unlimited", problem,
         "a message that RabbitMQ cannot hand over (from AMQP 1.0, MQTT or STOMP) stays in it, and stops all retries",
         "set a policy that gives it another; retryd doctor prints it", "retryd doctor"},
        {error_queue_limit, "error-queue-limit", warning,
         "messages that were in flight when so many connections were lost are parked by the broker",
         "set a policy that gives it another; retryd doctor prints it", "retryd doctor"},
        {held_by_broker, "held-by-broker", problem,
         "the broker keeps them and tries again every 3 minutes; none is lost while the rung is there",
         "declare the work queue again, and they return within 180 s", ""},
        {slow_return, "slow-return", warning, "they come back later than their delay, or not at all while that lasts",
         "see whether the work queue is full (reject-publish) or has no leader (rabbitmq-queues quorum_status); if "
         "neither, the rung's dead-letter worker stands still: restart the node that leads the rung",
         ""},
        {no_work_queue, "no-work-queue", warning,
         "no message can die in it, and what waits on its rungs cannot return to it",
         "declare it, or correct its name in the configuration", ""},
        {no_dead_letter_exchange, "no-dead-letter-exchange", problem,
         "what its consumers reject is dropped by the broker",
         "retryd attach prints the policy that does it, with its undo", "retryd attach --apply"},
        {comes_twice, "comes-twice", problem,
         "a message that its consumers reject and also put into the source comes twice, and then fails twice",
         "take the dead-letter exchange off it, or failures: source out of its entry", ""},
        {no_source, "no-source", problem, "what fails in it does not come to retryd",
         "name the queue that its consumers put it into under sources; or take failures: source out of its entry, and "
         "attach it",
         ""},
        {other_dead_letter_exchange, "other-dead-letter-exchange", problem,
         "what its consumers reject does not come to retryd",
         "retryd attach prints the policy that does it, with its undo; or name that exchange in errors.bind",
         "retryd attach --apply"},
        {fixed_dead_letter_exchange, "fixed-dead-letter-exchange", problem,
         "what its consumers reject does not come to retryd",
         "name its exchange in errors.bind, or recreate the queue without x-dead-letter-exchange", ""},
        {stream_queue, "stream-queue", problem, "nothing that is read from it comes to retryd",
         "take it out of the configuration: a stream keeps its messages, its consumer can read them again", ""},
        {policy_in_change, "policy-in-change", warning, "what it rejects may be dropped by the broker",
         "run retryd doctor again", ""},
        {at_most_once, "at-most-once", warning,
         "what it rejects can be lost on its way to the error queue when a node stops",
         "retryd attach prints the policy that does it, with its undo", "retryd attach --apply"},
        {delayed_retry, "delayed-retry", warning,
         "the broker delays what its consumers requeue, and retryd what they reject: a message is delayed by both, one "
         "after the other",
         "take delayed-retry-type out of its policy or arguments, or the queue out of the configuration", ""},
        {unmatched_dead_letters, "unmatched-dead-letters", problem, "what its consumers reject does not come to retryd",
         "retryd attach prints with which keys the error queue has to be bound to that exchange",
         "retryd attach --apply"},
        {sent_back_twice, "sent-back-twice", problem,
         "each time that a message fails it comes back from there as well as from retryd: one becomes two, these four",
         "unbind that queue from the exchange, or give it another dead-letter exchange", ""},
        {retried_besides, "retried-besides", problem,
         "a framework retries what it also rejects: each copy is retried by both, and parked for itself",
         "switch its own retries off", ""},
        {copied_elsewhere, "copied-elsewhere", warning,
         "each failure of each message puts a copy there, also of those that succeed at a later attempt",
         "unbind that queue from the exchange; what retryd gives up on can go there by `parked`", ""},
        {no_ack_consumer, "no-ack-consumer", problem,
         "what they are sent counts as done: they can reject nothing, and what they fail on, or hold when they stop, "
         "is lost",
         "have them consume with manual acks (no_ack, noAck, auto_ack: false), ack what is done and reject what has "
         "failed with requeue=false",
         ""},
        {redelivery_loop, "redelivery-loop", problem,
         "the same messages go to its consumers again and again without a delay, and never come to retryd",
         "have the consumers reject, or nack, with requeue=false; if they stop while they hold messages, see why", ""},
        {plumbing_under_glob, "plumbing-under-glob", warning,
         "what dies in one of these is not retried: what reaches retryd of it is parked in the catch-all as no-entry",
         "have a glob that names work queues alone, such as orders.*; an entry with the very name of a queue, before "
         "the glob, makes a work queue of it",
         ""},
        {short_lived_queue, "short-lived-queue", warning,
         "what waits on its rungs or in its parking queue when it is gone cannot return to it",
         "declare it without that, or take it out of the configuration", ""},
        {old_broker, "old-broker", warning, "a message can be lost on its way back to its work queue",
         "upgrade RabbitMQ to 3.10 or later", ""},
        {broker_alarm, "broker-alarm", problem,
         "the broker takes no messages: nothing is retried, and your producers wait as well; nothing is lost",
         "free memory or disk on that node; rabbitmqctl status shows what takes it", ""},
        {disabled_feature_flag, "disabled-feature-flag", problem,
         "quorum queues dead-letter at-most-once whatever their arguments say: what a node loses on the way is lost",
         "enable it; a node can do so while it runs", "rabbitmqctl enable_feature_flag stream_queue"},
        {missing_permission, "missing-permission", problem,
         "the broker refuses what the daemon does with it, and messages are held or parked",
         "retryd doctor --permissions prints the command that gives it", ""},
        {needless_writer, "needless-writer", warning,
         "with a forged x-death it can have a message sent into any work queue of the configuration, whatever else it "
         "may write to",
         "rabbitmqctl set_permissions, with a pattern for write that does not match this name; what retryd attach "
         "connects by a policy takes no permission",
         ""},
        {no_leader, "no-leader", problem,
         "nobody knows what lies in it, and nothing is retried: what quorum work queues dead-letter at-least-once "
         "waits there, what others do is lost",
         "start the nodes that are away; rabbitmq-queues quorum_status names them", ""},
        {no_consumer, "no-consumer", problem, "rejected messages wait there and are not retried",
         "start retryd run, or see its log for why it does not consume", ""},
        {daemon_not_ready, "daemon-not-ready", problem, "messages wait in the error queue and are not retried",
         "journalctl -u retryd -p warning says more; the broker's log around that time, too", ""},
        {daemon_fault, "daemon-fault", problem,
         "messages that need it wait, take a detour or are parked while that lasts",
         "fix what it names; journalctl -u retryd -p warning says more", ""},
        {daemon_clock, "daemon-clock", warning,
         "times in headers and in lists of parked messages are wrong by as much, and so is max_age",
         "set the clocks of both machines by NTP (timedatectl)", ""},
        {reload_refused, "reload-refused", problem,
         "the former configuration is in force, and retryd would not start again",
         "retryd check says what is wrong; correct it and reload (systemctl reload retryd)", ""},
        {cannot_tell, "cannot-tell", warning, "what is wrong there would not be found", "see that it can be looked at",
         ""},
    };
};

}  // namespace

std::span<const FindingKind> finding_kinds() {
    return AllKinds::table;
}

const FindingKind& kind_of(FindingCode code) {
    return *std::find_if(std::begin(AllKinds::table), std::end(AllKinds::table),
                         [&](const FindingKind& kind) { return kind.code == code; });
}

Finding::Finding(FindingCode its_code, std::string its_cause, FindingDetails details)
    : code(its_code),
      severity(kind_of(its_code).severity),
      cause(std::move(its_cause)),
      consequence(std::move(details.consequence)),
      remedy(std::move(details.remedy)),
      command(std::move(details.command)),
      group(std::move(details.group)) {
    if (consequence.empty()) consequence = kind_of(code).consequence;
    if (remedy.empty()) {
        remedy = kind_of(code).remedy;
        command = kind_of(code).command;
    }
    if (!details.name.empty()) names.push_back(std::move(details.name));
}

std::string Finding::key() const {
    return std::string{kind_of(code).name}.append(1, '\n').append(group);
}

std::vector<Finding> grouped(const std::vector<Finding>& findings) {
    std::vector<Finding> groups;
    std::map<std::string, std::size_t> place;
    for (const Finding& finding : findings) {
        const auto [known, is_new] = place.try_emplace(finding.key(), groups.size());
        if (is_new) {
            groups.push_back(finding);
        } else {
            std::vector<std::string>& names = groups[known->second].names;
            names.insert(names.end(), finding.names.begin(), finding.names.end());
        }
    }
    std::stable_partition(groups.begin(), groups.end(),
                          [](const Finding& finding) { return finding.severity == Severity::problem; });
    return groups;
}

std::string folded(const std::vector<std::string>& names, std::size_t most) {
    std::string text;
    const std::size_t shown = names.size() <= most ? names.size() : most;
    for (std::size_t i = 0; i < shown; ++i)
        text.append(text.empty() ? "" : ", ").append(core::safe_name(names[i]));
    if (shown < names.size()) text.append(" and ").append(std::to_string(names.size() - shown)).append(" more");
    return text;
}

}  // namespace retryd::admin
