// What stands on the stage, as text.
#pragma once

#include <string>

namespace retryd::demo {

/// Definitions as rabbitmqctl imports them: what an application has on its broker.
inline const std::string application = R"({
  "exchanges": [{"name": "mail", "vhost": "/", "type": "topic", "durable": true,
                 "auto_delete": false, "internal": false, "arguments": {}}],
  "queues": [{"name": "email", "vhost": "/", "durable": true, "auto_delete": false,
              "arguments": {"x-queue-type": "quorum"}}],
  "bindings": [{"source": "mail", "vhost": "/", "destination": "email", "destination_type": "queue",
                "routing_key": "email.#", "arguments": {}}]
}
)";

/// retryd.yaml. The delays are those of `ladder`. The address is taken from the environment, so that no password stands
/// in the file; the status page takes any port that is free.
inline const std::string configuration = R"(broker:
  uri: ${RETRYD_DEMO_URI}
ladders:
  quick:
    delays: [1s, 2s, 4s]
queues:
  - match: email
    ladder: quick
http:
  listen: 127.0.0.1:0
)";

/// Arguments of rabbitmqctl, for a shell.
inline const std::string policy =
    R"(set_policy retryd '^email$' '{"dead-letter-exchange": "retryd.errors",
    "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"}' --apply-to queues)";

/// Arguments of retryd, for a shell.
inline const std::string replay = "parked replay --queue email";

}  // namespace retryd::demo
