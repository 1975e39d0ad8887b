// The one exception type for broker and network faults: thrown only in amqp. Caught where a connection may be lost
// without ending everything: in the supervisor, in the thread that counts messages, and in the commands.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace retryd::amqp {

class Error : public std::runtime_error {
  public:
    enum class Kind {
        unreachable,       // no connection: refused, unresolved, timed out
        insecure,          // TLS does not come about: a certificate is refused, or a file of broker.tls is of no use
        refused_login,     // wrong credentials, no such vhost, no access to it
        other_server,      // no RabbitMQ, or one that does not say which
        lost,              // an established connection ended
        never_consumed,    // it ended since the error queue has not answered: it has no leader, as a rule
        undeliverable,     // the broker ended the connection that consumes: it cannot hand over a message
        set_aside_unread,  // a message ended the connection, and was left to dead-lettering unread
        cancelled,         // the broker took the consumer of the error queue away
        deleted,           // what is needed was deleted between its declaration and its binding
        refused,           // the broker closed a channel or the connection with a reason (404, 403, 406 …)
        protocol,          // what came makes no sense
        refusal_too_long,  // the broker ended the connection, since its refusal did not fit the answer (amqp/aside.h)
        head_blocks_channel,  // we left the connection: one message kept the broker busy, and all others waited
    };
    /// `code` is AMQP's, where the broker closed the connection with one, and `words` what it said: "541
    /// INTERNAL_ERROR".
    Error(Kind kind, const std::string& text, int code = 0, std::string words = {})
        : std::runtime_error(text), kind_(kind), code_(code), words_(std::move(words)) {}
    Kind kind() const { return kind_; }
    int code() const { return code_; }
    const std::string& words() const { return words_; }

    /// The broker closed the connection because of something that was sent: AMQP's hard errors, 501 to 541.
    bool provoked() const { return code_ >= 501; }

  private:
    Kind kind_;
    int code_;
    std::string words_;
};

}  // namespace retryd::amqp
