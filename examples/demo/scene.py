"""The queues and the policy on the broker, and the configuration of retryd."""
from __future__ import annotations

import flaky

EXCHANGE = "mail"
BINDING = "email.#"
WORK_QUEUE = flaky.QUEUE
PARKING_QUEUE = WORK_QUEUE + ".parked"
LADDER = (1, 2, 4)  # seconds

# The address comes from the environment, so that the file contains no password; the status page uses any free port.
CONFIGURATION = f"""\
broker:
  uri: ${{RETRYD_DEMO_URI}}
ladders:
  quick:
    delays: [{", ".join(f"{delay}s" for delay in LADDER)}]
queues:
  - match: {WORK_QUEUE}
    ladder: quick
http:
  listen: 127.0.0.1:0
"""

# Arguments for rabbitmqctl, as a shell reads them.
POLICY = f"""\
set_policy retryd '^{WORK_QUEUE}$' '{{"dead-letter-exchange": "retryd.errors",
    "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"}}' --apply-to queues"""


def rung(delay: int) -> str:
    """The queue in which a message waits that long."""
    return f"{WORK_QUEUE}.retry.{delay}s"
