"""A client that runs, and what it has said so far."""
import json
import os
import subprocess
import threading
import time

from waiting import wait_until

ATTEMPTS = 3  # deliveries that a ladder of two rungs allows
MESSAGES = [{"name": "once", "fails": 0}, {"name": "twice", "fails": 2}, {"name": "always", "fails": ATTEMPTS}]
# Of who can say more than that it has failed: by the name of the message, what it says.
VERDICTS = {"later": {"x-opt-retry-after": 2}, "never": {"x-opt-retry": "never", "x-opt-retry-reason": "no such customer"}}


def messages_of(client):
    return MESSAGES + [{"name": name, "fails": 1} for name in VERDICTS if client.verdicts]


def deliveries_of(message):
    """How often it comes before anything is replayed."""
    return 1 if message["name"] == "never" else min(message["fails"] + 1, ATTEMPTS)


def is_parked(message):
    return message["fails"] >= deliveries_of(message)


class Running:
    """`messages`: instead of those of the scenario; `more`: for its environment."""

    def __init__(self, client, build, uri, folder, messages=None, more=None):
        self.client = client
        self.events = []
        self.errors = open(folder / (client.queue + ".stderr"), "w+", encoding="utf-8", errors="replace")
        self.process = subprocess.Popen(
            client.command(build), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, "FRAMEWORKS_URI": uri, "FRAMEWORKS_QUEUE": client.queue,
                 "FRAMEWORKS_MESSAGES": json.dumps(messages or messages_of(client)),
                 "FRAMEWORKS_VERDICTS": json.dumps(VERDICTS), "NODE_PATH": str(build / "node_modules"),
                 "PYTHONDONTWRITEBYTECODE": "1", **({"FRAMEWORKS_DEAD": client.dead} if client.dialect else {}), **(more or {})})
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            try:
                self.events.append({**json.loads(line), "at": time.monotonic()})
            except json.JSONDecodeError:
                self.events.append({"said": line})

    def of(self, kind):
        return [event for event in self.events if kind in event]

    def deliveries(self, name):
        return [event for event in self.of("delivery") if event["delivery"] == name]

    def wait(self, condition, what, within):
        """Ends early if the client does, and tells what it wrote."""
        try:
            wait_until(lambda: condition() or self.process.poll() is not None, what, within)
            assert condition(), f"{what}: it ended with {self.process.poll()}"
        except AssertionError as error:
            raise AssertionError(f"{self.client.name}: {error}\n{self.told()}") from None

    def told(self):
        with open(self.errors.name, encoding="utf-8", errors="replace") as errors:
            return "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in self.events) + errors.read()[-4000:]

    @property
    def version(self):
        return self.of("ready")[0]["version"]

    def publish(self):
        self.process.stdin.write("publish\n")
        self.process.stdin.flush()

    def end(self):
        try:
            self.process.stdin.close()
            self.process.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.reader.join(5)
        self.process.stdout.close()
        self.errors.close()
