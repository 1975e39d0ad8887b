// The one exception type for broker and network faults: thrown only in amqp, caught only by the supervisor or at the
// top of a command.
#pragma once

#include <stdexcept>
#include <string>

namespace retryd::amqp {

class Error : public std::runtime_error {
  public:
    enum class Kind {
        unreachable,    // no connection: refused, unresolved, timed out, TLS failed
        refused_login,  // wrong credentials, no such vhost, no access to it
        lost,           // an established connection ended
        refused,        // the broker closed a channel or the connection with a reason (404, 403, 406 …)
        protocol,       // what came makes no sense
    };
    Error(Kind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
    Kind kind() const { return kind_; }

  private:
    Kind kind_;
};

}  // namespace retryd::amqp
