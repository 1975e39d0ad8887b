"""What happens to a message that a consumer rejects? Shown on a real RabbitMQ, and checked: the exit code is 0 only if
every message took the way that retryd promises. `./demo` prepares what this needs, and runs it.
"""
from __future__ import annotations

import inspect
import os
import re
import signal
import sys
import textwrap
import time
from pathlib import Path
from typing import Callable

import flaky
import scene
import screen
from chronicle import Chronicle
from clients import Clients
from mails import MAILS
from programs import Retryd, finish, rabbitmqctl

BETWEEN_MAILS = 0.5  # seconds, so that the eye can follow
PATIENCE = 60        # seconds: far longer than the ladder, in case the machine is busy


class Play:
    def __init__(self, retryd: Retryd, clients: Clients) -> None:
        self.retryd = retryd
        self.clients = clients
        self.chronicle: Chronicle

    def perform(self) -> bool:
        """True if all was as promised."""
        screen.say()
        screen.title("retryd: what happens to a message that a consumer rejects?")
        self.show_application()
        self.connect_retryd()
        self.send_mails()
        self.look_at_the_parked()
        self.replay()
        return self.count_and_judge()

    def show_application(self) -> None:
        screen.chapter("1  RabbitMQ and an application")
        self.clients.set_up_application()
        screen.say(f"RabbitMQ {os.environ['RETRYD_DEMO_BROKER_VERSION']} on {self.clients.address}, "
                   "started for this demo alone. An application uses it:\n\n"
                   f"  producer --> exchange {scene.EXCHANGE} (topic) -- {scene.BINDING} --> "
                   f"queue {scene.WORK_QUEUE} (quorum) --> consumer\n\n"
                   "The consumer rejects what it cannot deliver. It knows nothing of retryd:")
        screen.quote(source_of_consumer())
        screen.say("\nRabbitMQ throws away what is rejected. This is what retryd changes.")
        screen.pause()

    def connect_retryd(self) -> None:
        screen.chapter("2  retryd is put beside it")
        screen.say("One file: a rejected message waits 1 second, then 2, then 4 (a ladder), and then it is parked.")
        screen.command("cat retryd.yaml")
        screen.quote(scene.CONFIGURATION)
        screen.pause()
        screen.say()
        self.retryd.show("check")
        screen.pause()
        self.start_retryd()
        screen.say("\nAnd one policy on the broker. Producer, consumer and queue stay as they are.")
        screen.command(f"rabbitmqctl {scene.POLICY}")
        rabbitmqctl(scene.POLICY)
        screen.say("\nretryd has declared its queues: one for what is rejected (errors), one for each delay (a rung),\n"
                   "those where messages are parked, and detours for messages whose rung takes none.")
        screen.command("rabbitmqctl --silent list_queues name | sort")
        screen.quote("\n".join(queues()))
        screen.pause()

    def start_retryd(self) -> None:
        screen.say()
        self.retryd.start()
        if not self.turn_until(lambda: "consuming '" in self.retryd.log):
            raise RuntimeError("retryd does not say that it consumes")
        screen.quote(self.retryd.log)
        page = re.search(r"http://[^ ,\n]+", self.retryd.log)
        if not page:
            raise RuntimeError("retryd does not say where its status page is")
        screen.say("\nWhile this runs, a browser on this machine shows what waits and what is parked:\n"
                   f"  {screen.paint('bold', page.group())}")

    def send_mails(self) -> None:
        screen.chapter("3  Eight mails, and the consumer fails on five of them")
        screen.say("The time is counted from the first mail. A wait is measured at the consumer, from a rejection to\n"
                   "the next delivery. Which queue a mail has waited in, and its attempt, are among its headers.\n\n")
        self.chronicle = Chronicle()
        self.clients.begin(self.chronicle)
        for mail in MAILS:
            self.chronicle.sent(mail)
            self.clients.send(mail)
            self.turn_until(lambda: False, BETWEEN_MAILS)
        self.turn_until(self.chronicle.is_settled)
        screen.chapter("4  What became of them")
        self.chronicle.show_ways()
        screen.pause()

    def look_at_the_parked(self) -> None:
        screen.chapter("5  One is parked: a person looks at it")
        self.clients.watcher.close()  # it has acked nothing, so its messages go back to the queue
        self.retryd.show("parked list")
        screen.say()
        self.retryd.show(f"parked show --queue {scene.WORK_QUEUE}")
        screen.pause()

    def replay(self) -> None:
        screen.chapter("6  The bug in the consumer is fixed, and the message is sent back")
        self.clients.is_fixed = True
        replay = self.retryd.begin(f"parked replay --queue {scene.WORK_QUEUE}")
        is_back = self.turn_until(lambda: replay.poll() is not None and all(s.done for s in self.chronicle.stories))
        self.chronicle.expect(is_back, "the parked message did not come back in time")
        screen.quote(finish(replay))

    def count_and_judge(self) -> bool:
        exit_code = self.retryd.stop()
        screen.say(f"\nretryd is stopped with SIGTERM: exit code {exit_code}. What RabbitMQ has in its queues now:")
        self.chronicle.expect(exit_code == 0, "retryd should have ended with exit code 0")
        self.clients.consumer.close()
        counts = {queue: self.clients.count(queue) for queue in queues()}
        screen.quote("\n".join(f"{count}  {queue}" for queue, count in counts.items()))
        self.chronicle.expect(not any(counts.values()), "messages are left in these queues")
        screen.say()
        return self.chronicle.show_verdict()

    def turn_until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> bool:
        """Lets the clients work until the condition holds. False if that takes too long."""
        deadline = time.monotonic() + patience
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self.retryd.require_running()
            self.clients.turn(min(left, 0.1))
        return True


def source_of_consumer() -> str:
    """The part of it that receives a mail."""
    source = inspect.getsource(flaky.consume)
    return textwrap.dedent(source[source.index("    def on_mail"):source.index("\n\n")])


def queues() -> list[str]:
    return sorted(rabbitmqctl("--silent list_queues name").split())


def play() -> bool:
    folder, binary = Path(os.environ["RETRYD_DEMO_DIR"]), Path(os.environ["RETRYD_DEMO_BINARY"])
    with Retryd(binary, folder) as retryd:
        try:
            if Play(retryd, Clients(os.environ["RETRYD_DEMO_URI"])).perform():
                return True
        except Exception as error:
            screen.complaint(f"{type(error).__name__}: {error}")
        if retryd.log:
            screen.say("What retryd wrote:")
            screen.quote(retryd.log)
        return False


class Interrupted(BaseException):
    """On a signal: ends the demo, and with it all that it has started."""


def interrupt(number: int, _frame) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # a second signal is ignored
    raise Interrupted(number)


def main() -> int:
    if "RETRYD_DEMO_URI" not in os.environ:
        print("This needs a RabbitMQ of its own and a built retryd: run ./demo, which prepares both.", file=sys.stderr)
        return 1
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        return 0 if play() else 1
    except Interrupted as interrupted:
        print("demo: interrupted", file=sys.stderr)
        return 128 + interrupted.args[0]
    except BrokenPipeError:  # nobody looks any more: ./demo | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(main())
