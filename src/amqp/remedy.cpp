#include "amqp/remedy.h"

namespace retryd::amqp {

std::string remedy(Error::Kind kind) {
    switch (kind) {
        case Error::Kind::unreachable:
            return "check that the broker runs and that broker.uri names it";
        case Error::Kind::insecure:
            return "the files of broker.tls are read anew each time, and what the broker sends, `openssl s_client "
                   "-showcerts "
                   "-connect HOST:PORT` shows";
        case Error::Kind::refused_login:
            return "check who retryd logs in as (`retryd check`), and that this user may use the vhost";
        case Error::Kind::refused:
            return "until that is mended no message is retried. The broker's words say what it refused: a "
                   "permission of the user, or a queue or exchange that is there with other arguments";
        case Error::Kind::lost:
        case Error::Kind::cancelled:
        case Error::Kind::protocol:
            break;
    }
    return "the broker's log around this time says more";
}

std::string consequence(Error::Kind kind) {
    if (kind == Error::Kind::cancelled) {
        return "If the queue was deleted, what lay in it is gone, and until it is declared again the broker drops "
               "what is rejected; else rejected messages wait in it";
    }
    return "Rejected messages wait in the error queue meanwhile, none is lost";
}

}  // namespace retryd::amqp
