#!/usr/bin/python3
"""What real clients make of one failure where they also retry by themselves, or where a glob or a dead-letter exchange takes
in more than work queues: how many deliveries and copies without retryd, what `retryd doctor` finds, and with retryd no copy
more, or exactly as many as the finding says.

    storms_test.py CLASS         on the RabbitMQ that the environment names (tests/support/environment.h)

RETRYD_BUILD as for frameworks_test.py."""
import collections
import os
import pathlib
import sys
import tempfile
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
import installed  # noqa: E402
from clients import Client  # noqa: E402
from live import PREFIX, Broker, Daemon  # noqa: E402
from running import Running  # noqa: E402
from waiting import hold, wait_until  # noqa: E402

PATIENCE = 240.0
QUIET = 7.0  # seconds without anything new, after which a storm is over: the broker counts a quorum queue anew every 5
FAILS = [{"name": "order", "fails": 1_000_000}]
PARKED, CATCH_ALL = ".parked", PREFIX + "parked"


class Storm(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.broker = Broker()
        self.folder = tempfile.TemporaryDirectory(prefix="retryd-storms-")
        self.addCleanup(self.folder.cleanup)
        self.daemon = None

    def run_client(self, program, name=None, **more):
        """Until it consumes."""
        client = Client(name or program, program, "")
        one = Running(client, installed.all_of([client]), self.broker.uri, pathlib.Path(self.folder.name), FAILS, more)
        self.addCleanup(one.end)
        one.wait(lambda: one.of("ready"), f"{program} consumes", PATIENCE)
        return one

    def retryd(self, match, *delays, **sections):
        """Its configuration: nothing runs, and nothing is attached."""
        self.daemon = Daemon(self.broker, [(match, list(delays))], management={
            "url": os.environ["RETRYD_TEST_MANAGEMENT_URL"], "username": "guest", "password": "guest"}, **sections)
        self.addCleanup(self.daemon.close)

    def attach(self):
        self.daemon.start()
        attached, code = self.daemon.command("attach", "--apply")
        self.assertEqual(0, code, attached)
        return attached

    def findings(self):
        return {finding["code"]: finding for finding in self.daemon.command("doctor")[0]["findings"]}

    def finds(self, code):
        """The management API tells of a queue or a consumer a moment later."""
        return wait_until(lambda: self.findings().get(code), f"doctor finds {code}", PATIENCE, 0.5)

    def finds_no(self, code):
        wait_until(lambda: code not in self.findings(), f"doctor finds no {code}", PATIENCE, 0.5)

    def queue(self, name, **arguments):
        named = {"x-" + key.replace("_", "-"): value for key, value in arguments.items()}
        self.broker.ask("PUT", self.broker.at(name), {"durable": True, "arguments": named})

    def exchange(self, name, kind):
        self.broker.ask("PUT", f"/exchanges/{self.broker.vhost}/{name}", {"type": kind, "durable": True})

    def bind(self, source, destination, key, kind="q"):
        path = f"/bindings/{self.broker.vhost}/e/{source}/{kind}/{urllib.parse.quote(destination, safe='')}"
        self.broker.ask("POST", path, {"routing_key": key})

    def unbind(self, source, queue, key):
        key = urllib.parse.quote(key, safe="")
        self.broker.ask("DELETE", f"/bindings/{self.broker.vhost}/e/{source}/q/{queue}/{key}")

    def queues(self):
        return {queue["name"]: queue for queue in self.broker.ask("GET", f"/queues/{self.broker.vhost}")}

    def when_quiet(self, *clients, seconds=QUIET):
        """Once nothing has come for a while and nothing waits but what is put away: deliveries of all, what lies where."""
        count = lambda: (sum(len(one.of("delivery")) for one in clients), self.lies())
        before = [None]

        def is_quiet():
            before[0] = count()
            try:
                hold(lambda: count() == before[0], "nothing comes", seconds)
                return True
            except AssertionError:
                return False
        wait_until(is_quiet, "the storm is over", PATIENCE)
        return before[0]

    def lies(self):
        return {queue: depth for queue, depth in self.broker.depths().items() if depth}


class Symfony(Storm):
    """Its default retry_strategy publishes a copy to a queue of its own for each delay, and its worker rejects what failed."""
    LONGEST = 9.0  # seconds: its last delay is 4 s, and what is left over of 5 s

    def test_default_retry_multiplies_as_the_finding_says_and_without_it_nothing_does(self):
        queue, ours = "orders.symfony", "symfony.php"
        worker = self.run_client(ours, FRAMEWORKS_RETRIES="default")
        self.retryd(queue, "100ms x3")
        self.assertNotIn("retried-besides", self.findings())
        worker.publish()
        found = self.finds("retried-besides")  # while it waits for its retries, and nothing of retryd's is there yet
        self.assertEqual([queue], found["names"])
        self.assertIn("delivered 69 times and parked 35 times", found["consequence"])
        self.assertIn("max_retries: 0", found["remedy"])
        hints = self.daemon.command("attach")[0]["hints"]
        self.assertTrue(any("(retried-besides)" in hint for hint in hints), hints)
        self.assertEqual((4, {}), self.when_quiet(worker, seconds=self.LONGEST))  # without retryd
        self.attach()
        worker.publish()
        self.assertEqual((4 + 69, {queue + PARKED: 35}), self.when_quiet(worker, seconds=self.LONGEST))
        worker.end()
        worker = self.run_client(ours, "Symfony without")
        worker.publish()
        self.assertEqual((4, {queue + PARKED: 36}), self.when_quiet(worker))
        self.finds_no("retried-besides")  # its delay queues go 10 s after the last use


class FailureTransport(Storm):
    """Symfony's worker puts what has failed into its failure transport, and rejects it as well."""

    def test_left_out_it_is_retried_once_and_with_a_dead_letter_exchange_besides_it_multiplies_as_attach_says(self):
        queue, ours, failed = "orders.symfony", "symfony.php", "failed"
        worker = self.run_client(ours, FRAMEWORKS_DEAD=failed)
        worker.publish()
        self.assertEqual((1, {failed: 1}), self.when_quiet(worker))
        self.retryd(queue, "100ms x3", sources=[{"queue": failed, "dialect": "symfony"}])
        hints = self.daemon.command("attach")[0]["hints"]
        self.assertTrue(any("each failure twice" in hint and "failures: source" in hint for hint in hints), hints)
        missing = self.finds("no-dead-letter-exchange")
        self.assertIn("say failures: source in its entry if source 'failed' is its failure transport", missing["remedy"])
        self.assertIsNone(missing["command"])
        self.daemon.close()
        self.retryd(queue, "100ms x3", sources=[{"queue": failed, "dialect": "symfony"}],
                    queues=[{"match": queue, "ladder": "ladder0", "failures": "source"}])
        attached = self.attach()
        self.assertEqual(([], 1), (attached["hints"], attached["summary"]["by_source"]))
        self.assertIn(queue, attached["left_out"])
        self.finds_no("no-dead-letter-exchange")
        self.assertEqual((4, {queue + PARKED: 1}), self.when_quiet(worker))
        self.daemon.close()
        self.retryd(queue, "100ms x3", sources=[{"queue": failed, "dialect": "symfony"}])
        self.attach()
        wait_until(lambda: self.queues()[queue].get("policy"), "the policy is in effect on the work queue")
        worker.publish()
        self.assertEqual((4 + 15, {queue + PARKED: 1 + 16}), self.when_quiet(worker))


class Maxretry(Storm):
    """The handler of Kicks (Sneakers): the work queue dead-letters into a queue that sends back."""
    RETRIES = 5
    STEPS = 2

    def both(self, attempt=0, failures=0, seen=None):
        """What comes of a message that both retry, which x-death and retryd's headers count: a model."""
        seen = collections.Counter() if seen is None else seen
        seen["deliveries"] += 1
        if failures >= self.RETRIES:
            seen["error"] += 1
            return seen
        self.both(attempt, failures + 1, seen)
        after = attempt + failures + 1
        if after > self.STEPS:
            seen["parked"] += 1
        else:
            self.both(after, 0, seen)
        return seen

    def test_both_multiply_as_the_finding_says_and_with_oneshot_nothing_does(self):
        queue, ours = "orders.maxretry", "maxretry.rb"
        worker = self.run_client(ours)
        self.retryd(queue, f"100ms x{self.STEPS}")
        found = self.finds("retried-besides")
        self.assertEqual([queue], found["names"])
        self.assertIn("once retryd gets what is rejected", found["consequence"])
        self.assertIn("fixed-dead-letter-exchange", self.findings())
        worker.publish()
        alone = (self.RETRIES + 1, {queue + "-error": 1})
        self.assertEqual(alone, self.when_quiet(worker))
        self.daemon.close()
        self.retryd(queue, f"100ms x{self.STEPS}", errors={
            "exchange": Daemon.exchange, "queue": PREFIX + "errors", "bind": [{"exchange": queue + "-retry"}]})
        self.attach()
        found = self.finds("retried-besides")
        self.assertIn("up to 4 at the end of its ladder", found["consequence"])
        self.assertNotIn("sent-back-twice", self.findings())
        worker.publish()
        both = self.both()
        self.assertEqual(
            (alone[0] + both["deliveries"], {queue + "-error": 1 + both["error"], queue + PARKED: both["parked"]}),
            self.when_quiet(worker))
        worker.end()
        worker = self.run_client(ours, "Oneshot", FRAMEWORKS_ONESHOT="1")
        self.unbind(queue + "-retry", queue + "-retry", "#")
        before = self.lies()
        worker.publish()
        after = {**before, queue + PARKED: before[queue + PARKED] + 1}
        self.assertEqual((self.STEPS + 1, after), self.when_quiet(worker))


class Copies(Storm):
    """A dead-letter exchange that feeds another queue as well."""

    def test_copies_are_one_for_each_failure_as_the_finding_says_and_none_once_unbound(self):
        queue, looked_at, exchange = "orders.amqplib-fails", "looked.at", "orders.dead"
        self.exchange(exchange, "fanout")
        self.queue(queue, dead_letter_exchange=exchange)
        self.queue(looked_at)
        self.bind(exchange, looked_at, "")
        worker = self.run_client("amqplib-fails.js")
        worker.publish()
        self.assertEqual((1, {looked_at: 1}), self.when_quiet(worker))
        self.retryd(queue, "100ms x2", errors={
            "exchange": Daemon.exchange, "queue": PREFIX + "errors", "bind": [{"exchange": exchange}]})
        self.attach()
        found = self.finds("copied-elsewhere")
        self.assertIn(f"queue '{looked_at}'", found["cause"])
        self.assertIn("each failure of each message puts a copy there", found["consequence"])
        worker.publish()
        self.assertEqual((1 + 3, {looked_at: 1 + 3, queue + PARKED: 1}), self.when_quiet(worker))
        self.unbind(exchange, looked_at, "~")
        self.finds_no("copied-elsewhere")
        worker.publish()
        self.assertEqual((4 + 3, {looked_at: 4, queue + PARKED: 2}), self.when_quiet(worker))


class Celery(Storm):
    """kombu's queues for what is delayed, under a glob for all queues."""
    LEVELS = 28
    DELIVERY = "celery_delayed_delivery"

    def declare_delays(self, queue):
        """As kombu 5.6.2 does for quorum queues (kombu/transport/native_delayed_delivery.py)."""
        for level in range(self.LEVELS):
            self.exchange(f"celery_delayed_{level}", "topic")
        self.exchange(self.DELIVERY, "topic")
        for level in range(self.LEVELS):
            name, ahead = f"celery_delayed_{level}", "*." * (self.LEVELS - 1 - level)
            lower = f"celery_delayed_{level - 1}" if level else self.DELIVERY
            self.queue(name, queue_type="quorum", overflow="reject-publish", message_ttl=1000 * 2 ** level,
                       dead_letter_exchange=lower, dead_letter_strategy="at-least-once")
            self.bind(name, name, ahead + "1.#")
            self.bind(name, lower, ahead + "0.#", "e")
        self.bind(self.DELIVERY, queue, "#." + queue)

    def test_delays_under_a_glob_are_left_alone_and_found(self):
        queue = "orders.client_celery"
        countdown = ".".join(f"{2:0{self.LEVELS}b}") + "." + queue
        worker = self.run_client("client_celery.py", FRAMEWORKS_ROUTE=(
            f'{{"exchange": "celery_delayed_{self.LEVELS - 1}", "routing_key": "{countdown}"}}'))
        self.declare_delays(queue)
        worker.publish()
        self.assertEqual((1, {}), self.when_quiet(worker))
        self.retryd("*", "100ms x2")
        self.attach()
        before = set(self.queues())
        found = self.finds("plumbing-under-glob")
        delays = {f"celery_delayed_{level}" for level in range(self.LEVELS)}
        self.assertLessEqual(delays, set(found["names"]))
        self.assertNotIn(queue, found["names"])
        worker.publish()
        self.assertEqual((1 + 3, {queue + PARKED: 1}), self.when_quiet(worker))
        self.assertEqual({queue + PARKED}, {name for name in set(self.queues()) - before if ".retry." not in name})
        self.assertEqual([f"{queue}.retry.100ms"], [name for name in self.queues() if ".retry." in name])
        wait_until(lambda: self.queues()[queue].get("policy"), "the policy is in effect on the work queue")
        self.assertEqual([], [name for name in delays if self.queues()[name].get("policy")])


class NoAck(Storm):
    """Consumers without acks: nothing comes to retryd, and that is found."""

    def test_without_acks_nothing_comes_and_that_is_found(self):
        queue = "orders.nestjs-defaults"
        worker = self.run_client("nestjs-defaults.js")
        self.retryd(queue, "100ms x2")
        self.attach()
        self.assertEqual([queue], self.finds("no-ack-consumer")["names"])
        worker.publish()
        self.assertEqual((1, {}), self.when_quiet(worker))


class Requeues(Storm):
    """Consumers that requeue what fails: nothing comes to retryd, and that is found until they reject."""

    def test_endless_requeue_is_found_until_it_rejects(self):
        queue = "orders.amqplib-fails"
        self.queue(queue)
        worker = self.run_client("amqplib-fails.js", FRAMEWORKS_REQUEUES="1")
        self.retryd(queue, "100ms x2")
        self.attach()
        worker.publish()
        self.assertEqual([queue], self.finds("redelivery-loop")["names"])
        worker.end()
        worker = self.run_client("amqplib-fails.js", "rejects")
        self.assertEqual((3, {queue + PARKED: 1}), self.when_quiet(worker))
        self.finds_no("redelivery-loop")


class Moleculer(Storm):
    """Events with a TTL, for a node that is gone, under a glob for all queues."""

    def test_expired_events_under_a_glob_are_left_alone_and_found(self):
        listens = self.run_client("moleculer-events.js", FRAMEWORKS_LISTENS="mail")
        sends = self.run_client("moleculer-events.js", "sends", FRAMEWORKS_TO="mail")
        node, group = "MOL.EVENT.listens", "MOL.EVENTB.mail.orders.moleculer-events"
        sends.publish()
        self.assertEqual((2, {}), self.when_quiet(listens))
        listens.process.kill()
        self.retryd("*", "100ms x2")
        self.attach()
        found = self.finds("plumbing-under-glob")
        self.assertLessEqual({node, group}, set(found["names"]))
        self.assertNotIn("no-ack-consumer", self.findings())
        before = set(self.queues())
        sends.publish()
        self.was_published(node)
        self.was_published(group)
        self.assertEqual((2, {}), self.when_quiet(listens))
        self.assertEqual(before, set(self.queues()))
        self.assertEqual([], [name for name in (node, group) if self.queues()[name].get("policy")])

    def was_published(self, queue):
        """What is sent while nobody listens: it comes there, and is gone when its TTL is over."""
        published = lambda: self.queues()[queue].get("message_stats", {}).get("publish", 0) >= 2
        wait_until(published, f"an event comes to {queue}", PATIENCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
