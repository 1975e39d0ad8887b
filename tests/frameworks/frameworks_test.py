#!/usr/bin/python3
"""Real clients, unchanged, on a real RabbitMQ with a real daemon: each fails twice and succeeds, fails always and is parked,
and succeeds once its message has been replayed. What a delivery holds is compared with the first one, as the client saw it.

    frameworks_test.py VERSION [TEST...]         of RabbitMQ, which the environment names (tests/support/environment.h)

RETRYD_BUILD: the build with the daemon. RETRYD_FRAMEWORKS: only these clients, as their queues are called
(client_celery-source). It must be Debian's own python3, to which the libraries in Python belong. What was seen is written to
frameworks/VERSION.json in the build; table.py makes the table of docs/frameworks.md of that."""
import json
import os
import pathlib
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import clients  # noqa: E402
import installed  # noqa: E402
from live import PREFIX, Broker, Daemon  # noqa: E402
from running import Running, deliveries_of, is_parked, messages_of  # noqa: E402
from waiting import hold, wait_until  # noqa: E402

PATIENCE = 240.0  # seconds, for all clients to start, and for the messages of all to come back: two rungs of a second
LATER = 4         # seconds: the rung of what is to come back after 2

version = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1][0].isdigit() else "4.3"
broker = daemon = folder = None
running = {}
results = {}


def setUpModule():
    global broker, daemon, folder
    unittest.addModuleCleanup(end_all)
    folder = tempfile.TemporaryDirectory(prefix="retryd-frameworks-")
    wanted = clients.of_version(version)
    build = installed.all_of(wanted)
    broker = Broker()
    daemon = Daemon(broker, [], **configuration(wanted))
    for client in wanted:
        if not client.declares:
            broker.ask("PUT", broker.at(client.queue), {"durable": True, "arguments": {"x-queue-type": client.queue_type}})
    for client in wanted:
        running[client] = Running(client, build, broker.uri, pathlib.Path(folder.name))
    began = await_all(wanted, lambda one: one.of("ready"), "it consumes its queue")
    daemon.start()
    if len(began) == len(wanted):
        # On a busy machine the management API may not answer in time.
        wait_until(lambda: daemon.command("attach", "--apply")[1] == 0, "all queues are attached", PATIENCE)
    else:
        daemon.command("attach", "--apply")
    for client in began:
        running[client].publish()
    await_all(began, is_over, "its messages come back")


def configuration(wanted):
    return {
        "ladders": {"queue": {"delays": ["1s x2"]}, "headers": {"delays": ["1s x2"], "return": "headers"},
                    "verdict": {"delays": ["1s", f"{LATER}s"]}},
        "queues": [{"match": client.queue, "ladder": "verdict" if client.verdicts else client.returned,
                    "verdict": client.verdicts, "x_death": client.x_death} for client in wanted],
        "sources": [{"queue": client.dead, "dialect": client.dialect} for client in wanted if client.dialect],
        "management": {"url": os.environ["RETRYD_TEST_MANAGEMENT_URL"], "username": "guest", "password": "guest"},
    }


def await_all(those, condition, what):
    """Those for which it comes true, all within one time; of the others their own tests say why."""
    deadline = time.monotonic() + PATIENCE
    for client in those:
        one = running[client]
        try:
            one.wait(lambda one=one: condition(one), what, max(1.0, deadline - time.monotonic()))
        except AssertionError as error:
            results[client] = str(error)
    return [client for client in those if client not in results]


def is_over(one):
    return all(len(one.deliveries(each["name"])) >= deliveries_of(each) for each in messages_of(one.client))


def end_all():
    for one in running.values():
        one.end()
    if daemon:
        daemon.close()
    folder.cleanup()
    if running and "RETRYD_FRAMEWORKS" not in os.environ:
        installed.write_results(version, {
            client.name: {"version": one.version if one.of("ready") else "", "result": results.get(client, "not run")}
            for client, one in running.items()})


# What retryd adds, and what the broker adds to all that was dead-lettered: on its way back by the rung. The reason that a
# consumer has given stays with what was parked for it.
ADDED = ("retryd-", "x-death", "x-first-death-", "x-last-death-", "x-delivery-count", "x-acquired-count",
         "x-opt-deaths", "x-opt-retry-reason")


def of_user(headers):
    """The same for annotations of AMQP 1.0 among the properties."""
    return {name: of_user(value) if "annotations" in name else value
            for name, value in headers.items() if not name.startswith(ADDED)}


class Scenario(unittest.TestCase):
    """One test a client is made of this, below."""
    client = None
    maxDiff = None

    def setUp(self):
        self.one = running[self.client]
        if self.client in results:
            self.fail(results[self.client])
        results[self.client] = "failed"

    def scenario(self):
        self.messages = messages_of(self.client)
        self.parked = [message for message in self.messages if is_parked(message)]
        self.each_came_as_often_as_it_failed()
        self.are_parked()
        self.replayed()
        for message in self.messages:
            self.nothing_changed(self.one.deliveries(message["name"]))
        if self.client.verdicts:
            self.came_later()
        self.no_copy_is_left()
        results[self.client] = "passed"

    def each_came_as_often_as_it_failed(self):
        for message in self.messages:
            came = self.one.deliveries(message["name"])
            self.assertEqual([n >= message["fails"] for n in range(deliveries_of(message))],
                             [one["success"] for one in came], message["name"])

    def are_parked(self):
        where = self.client.queue + ".parked"
        wait_until(lambda: broker.depths().get(where) == len(self.parked), f"{self.parked} in {where}", PATIENCE / 4)
        listed, _ = daemon.command("parked", "list", "--from", where)
        self.assertEqual(["attempts-exhausted", *["consumer-verdict"] * self.client.verdicts],
                         sorted(group["reason"] for queue in listed["queues"] for group in queue["groups"]), listed)

    def replayed(self):
        daemon.command("parked", "replay", "--from", self.client.queue + ".parked", "--all")
        for message in self.parked:
            came = lambda name=message["name"]: self.one.deliveries(name)
            self.one.wait(lambda: len(came()) > deliveries_of(message), f"{message} comes again", PATIENCE / 4)
            self.assertTrue(came()[-1]["success"])

    def came_later(self):
        first, second = self.one.deliveries("later")
        self.assertGreater(second["at"] - first["at"], LATER - 0.5)
        self.assertEqual([], [name for part in ("properties", "headers") for name in json.dumps(second[part]).split('"')
                              if name.startswith("x-opt-retry")])

    def nothing_changed(self, deliveries):
        first = deliveries[0]
        for delivery in deliveries[1:]:
            for part in ("body", "raw"):
                self.assertEqual(first[part], delivery[part], part)
            for part in ("properties", "headers"):
                self.assertEqual(of_user(first[part]), of_user(delivery[part]), part)
            if "key" in delivery:
                self.assertFalse(delivery["redelivered"])
                self.assertEqual(self.came_by(first), (delivery["exchange"], delivery["key"]))
        self.assertEqual([], [name for name in first["headers"] if name.startswith("retryd-")])

    def came_by(self, first):
        return ("", self.client.queue) if self.client.returned == "queue" else ("retryd.return", first["key"])

    def no_copy_is_left(self):
        # Not those of a client that is called alike: orders.rascal-republish.
        ours = (self.client.queue + ".", PREFIX)
        nothing = lambda: not any(depth for queue, depth in broker.depths().items() if (queue + ".").startswith(ours))
        wait_until(nothing, "nothing of it is left in any queue", PATIENCE / 4)
        hold(nothing, "nothing of it comes again", 1.5)
        self.assertEqual(len(self.parked) + sum(map(deliveries_of, self.messages)), len(self.one.of("delivery")))


def load_tests(loader, tests, pattern):
    suite = unittest.TestSuite()
    for client in clients.of_version(version):
        name = "test_" + client.own.replace("-", "_")
        case = type("Scenario", (Scenario,), {"client": client, name: Scenario.scenario})
        suite.addTest(case(name))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
