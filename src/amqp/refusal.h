// Faults of the broker in an operator's words: what it refused and why, what follows from it, and the way out.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "amqp/error.h"
#include "core/topology.h"

namespace retryd::amqp {

/// What is so, with what follows from it, and the way out.
struct Explanation {
    std::string cause;
    std::string remedy;  // may be empty
    /// Both.
    std::string line() const;
    bool empty() const { return cause.empty(); }
};

/// What an operator can do about a fault of the broker or the network.
std::string remedy(Error::Kind kind);
/// The same, where its text says more.
std::string remedy(const Error& error);
/// "publishing" or "consuming", and the broker's words.
std::string explain_closed_channel(std::string_view what, std::string_view text);

/// What becomes of rejected messages meanwhile.
std::string consequence(Error::Kind kind);

/// A queue or exchange that is there already, with something different about it.
struct Inequivalent {
    std::string argument;  // x-message-ttl, type, durable …
    /// What follows is empty where the answer was cut: it is a short string, 255 bytes at most.
    std::string name;
    std::string vhost;
    std::string received;  // a value as text, or "none"
    std::string current;
};

/// From the text of a 406, the same on 3.8 to 4.3; nothing for any other refusal.
std::optional<Inequivalent> parse_inequivalent(std::string_view text);

/// Whether a connection was closed for want of an answer of a quorum queue to a basic.consume, as of one without a
/// leader. `waited`: for that answer, as long as none has come; 0 where none is owed.
bool is_consume_unanswered(int code, std::string_view text, core::Milliseconds waited);

// `code` and `text` are the broker's.

Explanation explain_queue_refusal(const core::QueueSpec& queue, int code, std::string_view text);
Explanation explain_exchange_refusal(const core::ExchangeSpec& exchange, int code, std::string_view text);
Explanation explain_binding_refusal(const core::BindingSpec& binding, int code, std::string_view text);
/// An exchange to park in.
Explanation explain_foreign_refusal(const core::ForeignExchange& exchange, int code, std::string_view text);
/// `kind`: queue or exchange.
std::string explain_check_refusal(std::string_view kind, std::string_view name, int code, std::string_view text);
std::string explain_delete_refusal(std::string_view kind, std::string_view name, int code, std::string_view text);

/// For a step that was not answered within declare_timeout. `what`: "declare queue 'q'"; `queue`: the one that it asks,
/// empty where it asks none.
std::string explain_no_answer(const std::string& what, const std::string& queue);
/// A channel that consumes that queue answers nothing, while others do.
std::string explain_stuck_channel(const std::string& queue);
/// Why its connection is left while messages come one at a time.
std::string explain_head_blocks_channel(const std::string& queue);
/// Why its connection is left while messages come on many channels.
std::string explain_ending_connection(const std::string& queue);
/// None that consumes that queue answers anything for so long.
std::string explain_busy_channel(const std::string& queue, core::Milliseconds silence);
/// As explain_no_answer() for the error queue while it is consumed.
std::string explain_silent_error_queue(const std::string& queue);
/// For an error queue of which nothing is answered that its members have to agree on, while it is consumed.
std::string explain_leaderless_error_queue(const std::string& queue);
/// For an error queue that cannot be asked for a further consumer while it is consumed; `why`: the broker's words.
std::string explain_error_queue_not_asked(const std::string& queue, const std::string& why);
/// For an error queue over which the broker ended the connection, since it did not answer a basic.consume.
std::string explain_unanswered_consume(const std::string& queue);
/// For an error queue that is consumed although the broker says that it has no consumer.
std::string explain_no_consumer(const std::string& queue);

/// For a queue that does without an optional argument; `text` is the refusal of the attempt with it. Empty where
/// nothing follows from it.
Explanation explain_lack(const core::QueueSpec& queue, std::string_view argument, std::string_view text);
/// For a queue that an earlier retryd made with that value, which does harm on this broker; `text` is the refusal of
/// the attempt with the one that is wanted.
Explanation explain_older(const core::QueueSpec& queue, const core::QueueSpec::Older& older, std::string_view text);

/// The command that gives the error queue the limit at which what RabbitMQ cannot hand over is moved to the catch-all.
std::string limit_error_queue_command(std::string_view queue, std::string_view vhost);
/// The same for a source that is a quorum queue.
std::string limit_source_command(std::string_view queue, std::string_view catch_all, std::string_view vhost);

}  // namespace retryd::amqp
