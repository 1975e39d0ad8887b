#include "amqp/refusal.h"

#include <algorithm>

#include "admin/patterns.h"
#include "admin/rabbitmqctl.h"
#include "amqp/timeouts.h"
#include "core/duration.h"
#include "core/names.h"
#include "core/reply_code.h"
#include "core/safe_text.h"

namespace retryd::amqp {
namespace {

using admin::shell_word;
using admin::vhost_option;

/// `none`, `'5000'`, `the value '5000' of type 'long'`.
std::string value_in(std::string_view text) {
    const auto begin = text.find('\'');
    if (begin == std::string_view::npos) return std::string{text};
    const auto typed = text.rfind("' of type '");
    const auto end = typed == std::string_view::npos ? text.rfind('\'') : typed;
    return std::string{text.substr(begin + 1, end > begin ? end - begin - 1 : 0)};
}

std::string argument_text(const core::Arguments& arguments, std::string_view name) {
    for (const auto& [argument, value] : arguments) {
        if (argument != name) continue;
        if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
        const auto* number = std::get_if<std::int64_t>(&value);
        return number != nullptr ? std::to_string(*number) : std::get<std::string>(value);
    }
    return "none";
}

/// A value as it is told.
std::string shown(const std::string& value) {
    return value.empty() ? "''" : core::safe_name(value);
}

/// `a instead of b`, as far as an answer that may be cut tells; else what was expected.
std::string both_values(const Inequivalent& difference, const std::string& expected) {
    const bool cut = difference.name.empty();
    return (cut ? "something else" : shown(difference.current)) + " instead of " +
           shown(cut ? expected : difference.received);
}

/// It alone is declared with a limit that a message can reach.
bool is_error_queue(const core::QueueSpec& queue) {
    return core::is_limited(queue);
}

/// `more`: keys of the policy beside the limit, as JSON.
std::string limit_command(std::string_view queue, std::string_view vhost, std::int64_t limit,
                          const std::string& more = "") {
    const std::string name{queue};
    return "rabbitmqctl set_policy" + vhost_option(vhost) + ' ' + shell_word("delivery-limit-" + name) + ' ' +
           shell_word('^' + admin::pattern_of_name(name) + '$') + ' ' +
           shell_word("{\"delivery-limit\": " + std::to_string(limit) + more + '}') + " --apply-to queues --priority " +
           std::to_string(admin::above_guard);
}

std::string policy_that_fixes_it(const std::string& command) {
    return "A policy fixes it (only one applies to a queue): " + command;
}

constexpr const char* give_permission =
    "give the user the permission: `retryd doctor --permissions` prints the command (rabbitmqctl set_permissions)";

bool lacks_permission(std::string_view text) {
    return text.find("ACCESS_REFUSED") != std::string_view::npos && text.find("access to") != std::string_view::npos;
}

std::string plain(std::string_view what, int code, std::string_view text) {
    if (text.ends_with('.')) text.remove_suffix(1);  // a sentence may follow
    std::string line = "the broker refused to " + std::string{what} + ": " + std::to_string(code) + ' ';
    line += core::safe_name(text);
    if (code == core::reply_code::access_refused && lacks_permission(text)) line += std::string{"; "} + give_permission;
    return line;
}

/// For a quorum queue without a leader.
std::string find_leader(const std::string& queue) {
    return "rabbitmq-queues quorum_status " + shell_word(queue) +
           " shows its members: start the nodes that are missing, or restart the one where its member does not run";
}

}  // namespace

std::string Explanation::line() const {
    return remedy.empty() ? cause : cause + ". " + remedy;
}

std::string explain_closed_channel(std::string_view what, std::string_view text) {
    std::string line = "the broker closed the " + std::string{what} + " channel: " + core::safe_name(text);
    if (lacks_permission(text)) line += std::string{"; "} + give_permission;
    return line;
}

std::string remedy(const Error& error) {
    const bool told = error.kind() == Error::Kind::refused && lacks_permission(error.what());
    return told ? "once it has the permission all goes on by itself" : remedy(error.kind());
}

std::string remedy(Error::Kind kind) {
    switch (kind) {
        case Error::Kind::unreachable:
            return "check that the broker runs and that broker.uri names it";
        case Error::Kind::insecure:
            return "after correcting a file of broker.tls nothing has to be restarted; `openssl s_client -showcerts "
                   "-connect HOST:PORT` shows what the broker sends";
        case Error::Kind::refused_login:
            return "check who retryd logs in as (`retryd check`), and that this user may use the vhost";
        case Error::Kind::refused:
            return "look in the broker's words for what it refused: a permission of the user, or a queue or exchange "
                   "that is there with other arguments";
        case Error::Kind::deleted:
            return "retryd declares it anew; if this goes on, find out who deletes it: any user whose permission to "
                   "configure covers its name may";
        case Error::Kind::undeliverable:
            return "the broker's log of this moment names what it could not express; see \"A message that RabbitMQ "
                   "cannot hand over\" in docs/operations.md";
        case Error::Kind::set_aside_unread:
            return "look at the message in the catch-all queue (retryd parked list)";
        case Error::Kind::refusal_too_long:
            return "it is asked on a connection of its own from now on";
        case Error::Kind::other_server:
            return "see \"Other servers\" in docs/reference.md";
        case Error::Kind::head_blocks_channel:
            return "see \"Messages that harm the broker\" in docs/security.md";
        case Error::Kind::lost:
        case Error::Kind::never_consumed:
        case Error::Kind::cancelled:
        case Error::Kind::protocol:
            break;
    }
    return "the broker's log around this time says more";
}

std::string consequence(Error::Kind kind) {
    if (kind == Error::Kind::cancelled || kind == Error::Kind::deleted) {
        return "If the queue was deleted, what lay in it is gone, and until it is declared again the broker drops "
               "what is rejected; else rejected messages wait in it";
    }
    if (kind == Error::Kind::other_server) return "No rejected message is taken from there";
    return "Rejected messages wait in the error queue meanwhile, none is lost";
}

std::optional<Inequivalent> parse_inequivalent(std::string_view text) {
    constexpr std::string_view opening = "inequivalent arg '";
    constexpr std::string_view in_vhost = "' in vhost '";
    constexpr std::string_view received = "': received ";
    constexpr std::string_view current = " but current is ";
    constexpr auto none = std::string_view::npos;

    const auto start = text.find(opening);
    if (start == none) return std::nullopt;
    text.remove_prefix(start + opening.size());
    const auto argument_end = text.find("' for ");
    if (argument_end == none) return std::nullopt;
    Inequivalent found;
    found.argument = text.substr(0, argument_end);

    // A name may contain anything, also these very words: their last occurrence is the broker's.
    const auto values = text.rfind(received);
    const auto vhost = text.substr(0, values).rfind(in_vhost);
    const auto name = text.find('\'', argument_end + 1);
    const auto middle = text.rfind(current);
    if (values == none || vhost == none || name == none || middle == none || middle < values || name >= vhost) {
        return found;
    }
    found.name = text.substr(name + 1, vhost - name - 1);
    found.vhost = text.substr(vhost + in_vhost.size(), values - vhost - in_vhost.size());
    found.received = value_in(text.substr(values + received.size(), middle - values - received.size()));
    found.current = value_in(text.substr(middle + current.size()));
    return found;
}

/// RabbitMQ 4.3.6 says "INTERNAL_ERROR - timed out consuming from quorum queue 'q' in vhost '/': …", or "failed
/// consuming from …" where the queue's process is not there. 3.10.8 says INTERNAL_ERROR and no more, as both do over a
/// message that they cannot hand over; but by then it has waited for the queue for 65 s. Where the nodes of all members
/// are down it says so at once (3.10.8, {badmatch,{error,nodedown}}), which cannot be told from such a message: the
/// message may end the connection before the answer to the basic.consume is sent (3.10.8, 4.3.6).
bool is_consume_unanswered(int code, std::string_view text, core::Milliseconds waited) {
    constexpr core::Milliseconds longest_answer{20'000};
    if (code != core::reply_code::internal_error) return false;
    return waited >= longest_answer || text.starts_with("INTERNAL_ERROR - timed out consuming from quorum queue") ||
           text.starts_with("INTERNAL_ERROR - failed consuming from quorum queue");
}

Explanation explain_queue_refusal(const core::QueueSpec& queue, int code, std::string_view text) {
    const auto difference = parse_inequivalent(text);
    if (!difference) return {plain("declare queue " + core::quoted(queue.name), code, text), ""};
    const std::string& argument = difference->argument;
    const std::string vhost = vhost_option(difference->vhost);
    return {"queue " + core::quoted(queue.name) + " is there already with another " + core::safe_name(argument) + ": " +
                both_values(*difference, argument_text(queue.arguments, argument)),
            "Once rabbitmqctl list_queues" + vhost +
                " name messages shows that it is empty, delete it, and it is declared again (rabbitmqctl delete_queue" +
                vhost + ' ' + shell_word(queue.name) +
                "); or change the configuration to the value that the queue has"};
}

Explanation explain_exchange_refusal(const core::ExchangeSpec& exchange, int code, std::string_view text) {
    const auto difference = parse_inequivalent(text);
    if (!difference) return {plain("declare exchange " + core::quoted(exchange.name), code, text), ""};
    const std::string& argument = difference->argument;
    const std::string expected = argument == "type" ? exchange.type : argument_text(exchange.arguments, argument);
    const std::string way_out = exchange.name == core::return_exchange_name
                                    ? "All retryd daemons of a vhost share it: give them the same errors.exchange, or "
                                      "a vhost each; or delete the exchange if nobody uses it"
                                    : "Configure a name that is not taken, or delete the exchange if nobody uses it";
    return {"exchange " + core::quoted(exchange.name) + " is there already with another " + core::safe_name(argument) +
                ": " + both_values(*difference, expected),
            way_out};
}

Explanation explain_binding_refusal(const core::BindingSpec& binding, int code, std::string_view text) {
    if (code == core::reply_code::not_found && text.find("no exchange '") != std::string_view::npos) {
        return {"exchange " + core::quoted(binding.exchange) + " does not exist, so queue " +
                    core::quoted(binding.queue) + " cannot be bound to it and gets nothing from there",
                "Declare the exchange, or correct its name in the configuration"};
    }
    return {plain("bind queue " + core::quoted(binding.queue) + " to exchange " + core::quoted(binding.exchange), code,
                  text),
            ""};
}

Explanation explain_foreign_refusal(const core::ForeignExchange& exchange, int code, std::string_view text) {
    if (code == core::reply_code::not_found) {
        return {"exchange " + core::quoted(exchange.name) +
                    " does not exist: what should be parked there goes to the catch-all",
                "Declare the exchange, or correct `parked` in the configuration"};
    }
    return {explain_check_refusal("exchange", exchange.name, code, text), ""};
}

std::string explain_check_refusal(std::string_view kind, std::string_view name, int code, std::string_view text) {
    return plain("say whether " + std::string{kind} + ' ' + core::quoted(name) + " exists", code, text);
}

std::string explain_delete_refusal(std::string_view kind, std::string_view name, int code, std::string_view text) {
    return plain("delete " + std::string{kind} + ' ' + core::quoted(name), code, text);
}

std::string explain_no_answer(const std::string& what, const std::string& queue) {
    const std::string hangs = queue.empty() ? "" : "the process of that queue hangs, or ";
    const std::string hanging = queue.empty()
                                    ? ""
                                    : "; if all are there, rabbitmqctl list_unresponsive_queues -p VHOST shows which "
                                      "queues hang: restart the node of such a queue";
    return "the broker has not answered for " + core::format_duration(declare_timeout) + " when asked to " + what +
           ": " + hangs +
           "too few nodes of its cluster are there to agree. Until it is asked again, this counts as "
           "refused; everything else goes on. Start the nodes that are missing (rabbitmqctl cluster_status)" +
           hanging;
}

std::string explain_silent_error_queue(const std::string& queue) {
    return "the broker has not answered for " + core::format_duration(declare_timeout) +
           " what it was asked about the error queue " + core::quoted(queue) +
           ": its process hangs, or too few nodes of its cluster are there to agree. While that lasts, nothing comes "
           "from it: what is rejected is neither retried nor parked. Start the nodes that are missing (rabbitmqctl "
           "cluster_status); if all are there, rabbitmqctl list_unresponsive_queues -p VHOST shows whether it hangs: "
           "restart its node. retryd goes on by itself when it answers";
}

std::string explain_stuck_channel(const std::string& queue) {
    return "the broker answers nothing on the channel that consumes the error queue " + core::quoted(queue) +
           ", but does on others: as a rule it is busy with one message, as with headers that nest tens of thousands "
           "of levels deep, which may take it minutes. That one comes when the broker is through with it; the others "
           "come one at a time on further channels until a minute after the last such message, fewer a second than "
           "else. Nothing is lost. rabbitmqctl list_queues name messages_unacknowledged shows how much is stuck; "
           "docs/security.md says what helps: max_message_size for AMQP 1.0, and no strangers who may publish to work "
           "queues";
}

std::string explain_head_blocks_channel(const std::string& queue) {
    return "while the messages of the error queue " + core::quoted(queue) +
           " come one at a time, since RabbitMQ cannot hand over one of them, it answers nothing on the channel that "
           "consumes them: as a rule it is busy with another one, as with headers that nest tens of thousands of "
           "levels deep, which may take it minutes. That one is held on a connection of its own for so long";
}

std::string explain_ending_connection(const std::string& queue) {
    return "RabbitMQ answers nothing any more on the connection that consumes the error queue " + core::quoted(queue) +
           ", not even on a new channel: as a rule it ends the connection over a message that it cannot hand over, and "
           "waits until it has sent another one, whose headers nest tens of thousands of levels deep. Messages are "
           "consumed on another connection";
}

std::string explain_busy_channel(const std::string& queue, core::Milliseconds silence) {
    return "the broker has not answered for " + core::format_duration(silence) +
           " on any channel that consumes the error queue " + core::quoted(queue) +
           ", and nothing comes on them: it hangs, or each is busy with one message, as with headers that nest tens of "
           "thousands of levels deep, which may take it minutes. While that lasts, nothing is retried or parked, and "
           "nothing is lost. rabbitmqctl list_queues name messages_unacknowledged shows how much waits behind it; "
           "docs/security.md says what helps. retryd goes on by itself when it answers";
}

std::string explain_leaderless_error_queue(const std::string& queue) {
    return "the error queue " + core::quoted(queue) +
           " has no leader, or too few of its members are there to agree: it gives no answer to those that want to "
           "consume it. While that lasts, nothing comes from it: what is rejected is neither retried nor parked, and "
           "nothing is lost. " +
           find_leader(queue) + ". retryd goes on by itself when it answers";
}

std::string explain_error_queue_not_asked(const std::string& queue, const std::string& why) {
    return "the error queue " + core::quoted(queue) +
           " is consumed, but cannot be asked whether most of its members agree: " + why +
           ". Should it lose its leader or its majority, retryd notices that late, or never: nothing would come from "
           "it. That question takes a connection of its own ('retryd probe') with a channel: rabbitmqctl "
           "list_user_limits, list_vhost_limits and environment (connection_max) show the limits. retryd tries it "
           "again every few minutes";
}

std::string explain_unanswered_consume(const std::string& queue) {
    return "the error queue " + core::quoted(queue) +
           " has not let the broker consume it: it has no leader, or too few of its members are there to agree (" +
           find_leader(queue) + "). Until retryd consumes again, what is rejected is neither retried nor parked";
}

std::string explain_no_consumer(const std::string& queue) {
    return "the broker says that the error queue " + core::quoted(queue) +
           " has no consumer any more: either its leader does not answer (rabbitmq-queues quorum_status " +
           shell_word(queue) +
           " shows whether it has one; start the nodes that are missing, or restart the one where it hangs), or the "
           "broker has taken the consumer away without a word. Until retryd consumes again, what is rejected is "
           "neither retried nor parked";
}

Explanation explain_lack(const core::QueueSpec& queue, std::string_view argument, std::string_view text) {
    if (argument == "x-overflow") return {};  // it says what happens at a limit, and only a policy sets one
    const std::string vhost = parse_inequivalent(text).value_or(Inequivalent{}).vhost;
    const std::string lack = "queue " + core::quoted(queue.name) + " was made without " + std::string{argument};
    if (argument != "x-delivery-limit") return {lack, ""};
    if (is_error_queue(queue)) {
        return {lack +
                    ": on RabbitMQ 3 a message that the broker cannot hand over (see docs/operations.md) stops all "
                    "retries, on RabbitMQ 4 one that was in flight when 21 connections were lost is parked",
                policy_that_fixes_it(limit_error_queue_command(queue.name, vhost))};
    }
    return {lack + ": RabbitMQ 4 takes a message out of it that was given to a consumer 21 times",
            policy_that_fixes_it(limit_command(queue.name, vhost, core::high_delivery_limit))};
}

Explanation explain_older(const core::QueueSpec& queue, const core::QueueSpec::Older& older, std::string_view text) {
    const std::string vhost = parse_inequivalent(text).value_or(Inequivalent{}).vhost;
    const std::string older_limit =
        "queue " + core::quoted(queue.name) + " has x-delivery-limit " + std::to_string(older.value);
    if (is_error_queue(queue)) {
        return {older_limit +
                    ", as an earlier retryd made it: a message that the broker cannot hand over (see "
                    "docs/operations.md) would stop all retries",
                policy_that_fixes_it(limit_error_queue_command(queue.name, vhost))};
    }
    return {older_limit +
                ": up to 4.1.4 RabbitMQ writes to the log of such a queue every 5 s for ever, even while it is idle, "
                "so its disk fills slowly",
            "Upgrade RabbitMQ to 4.1.5 or 4.2; or, while nothing is rejected, once rabbitmqctl list_queues" +
                vhost_option(vhost) +
                " name messages shows that it is empty, delete it, and it is declared again (rabbitmqctl delete_queue" +
                vhost_option(vhost) + ' ' + shell_word(queue.name) + ')'};
}

std::string limit_error_queue_command(std::string_view queue, std::string_view vhost) {
    return limit_command(queue, vhost, core::error_delivery_limit);
}

std::string limit_source_command(std::string_view queue, std::string_view catch_all, std::string_view vhost) {
    return limit_command(queue, vhost, core::error_delivery_limit,
                         R"(, "dead-letter-exchange": "", "dead-letter-routing-key": )" + core::json_string(catch_all));
}

}  // namespace retryd::amqp
