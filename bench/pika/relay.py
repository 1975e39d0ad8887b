"""The dead-letter recipe of the articles, in Python with pika, done properly.

What is rejected waits in a queue with a TTL; the attempt is counted in a header of its own, since RabbitMQ 4 does not
count on in a republished x-death. Publications are mandatory, persistent and confirmed, deliveries are acked after the
confirm, many with one ack. SelectConnection, because the confirms of a BlockingConnection are waited for one by one.

    python3 relay.py CONFIG.json
"""
import json
import signal
import sys

import pika

ATTEMPT = "x-retry-attempt"
NOT_TO_TRAVEL = ("x-death", "x-first-death-", "x-last-death-")


def next_headers(headers, attempt):
    """An old x-death must not travel: 3.x would count on in it and take some returns for a cycle."""
    kept = {name: value for name, value in headers.items() if not name.startswith(NOT_TO_TRAVEL)}
    kept[ATTEMPT] = attempt
    return kept


class Relay:
    def __init__(self, config):
        self.config = config
        self.consuming = None
        self.publishing = None
        self.confirmed = set()  # beyond `acked`
        self.acked = 0
        self.flushing = False
        self.leaving = False
        parameters = pika.URLParameters(config["uri"])
        # Two connections: an alarm of the broker stops reading from the one that publishes, acks included.
        self.outlet = pika.SelectConnection(parameters, on_open_callback=self.on_outlet, on_close_callback=self.fail)
        self.loop = self.outlet.ioloop
        self.intake = pika.SelectConnection(
            parameters, on_open_callback=self.on_intake, on_close_callback=self.fail, custom_ioloop=self.loop
        )

    def fail(self, *why):
        # Nothing is lost: what was not acked is delivered again.
        sys.exit(0 if self.leaving else "the relay cannot go on: %s" % (why,))

    def on_outlet(self, connection):
        connection.channel(on_open_callback=self.on_publishing)

    def on_intake(self, connection):
        connection.channel(on_open_callback=self.on_consuming)

    def on_publishing(self, channel):
        self.publishing = channel
        channel.add_on_close_callback(self.fail)
        channel.add_on_return_callback(self.fail)
        channel.confirm_delivery(self.on_confirm, callback=lambda _: self.begin())

    def on_consuming(self, channel):
        self.consuming = channel
        channel.add_on_close_callback(self.fail)
        channel.add_on_cancel_callback(self.fail)
        channel.basic_qos(prefetch_count=self.config["prefetch"], callback=lambda _: self.begin())

    def begin(self):
        if self.publishing and self.consuming and not self.consuming.consumer_tags:
            self.consuming.basic_consume(self.config["errors"], self.on_message)

    def on_message(self, _channel, _deliver, properties, body):
        # One publication for each delivery, in their order: the n-th confirm settles the n-th delivery.
        headers = properties.headers or {}
        attempt = headers.get(ATTEMPT, 0) + 1
        exchange, key = self.place(headers.get("x-death"), attempt)
        properties.headers = next_headers(headers, attempt)
        properties.expiration = None
        properties.delivery_mode = 2
        self.publishing.basic_publish(exchange, key, body, properties, mandatory=True)

    def place(self, deaths, attempt):
        delays = self.config["delays"]
        if not deaths or attempt > len(delays):
            return "", self.config["parking"]
        rung, queue, delay = self.config["rung"], deaths[0]["queue"], delays[attempt - 1]
        return (
            rung["exchange"].replace("{delay}", delay),
            rung["key"].replace("{queue}", queue).replace("{delay}", delay),
        )

    def on_confirm(self, frame):
        if not isinstance(frame.method, pika.spec.Basic.Ack):
            self.fail("the broker refused a publication")
        tag = frame.method.delivery_tag
        if frame.method.multiple:
            self.confirmed.update(range(self.acked + 1, tag + 1))
        else:
            self.confirmed.add(tag)
        if not self.flushing:
            self.flushing = True
            self.loop.add_callback(self.flush)

    def flush(self):
        """One ack for all that are confirmed so far in this turn of the loop."""
        self.flushing = False
        before = self.acked
        while self.acked + 1 in self.confirmed:
            self.acked += 1
            self.confirmed.remove(self.acked)
        if self.acked > before:
            self.consuming.basic_ack(self.acked, multiple=True)

    def run(self):
        signal.signal(signal.SIGTERM, lambda *_: self.loop.add_callback_threadsafe(self.leave))
        self.loop.start()

    def leave(self):
        self.leaving = True
        self.flush()
        self.intake.close()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        Relay(json.load(file)).run()


main()
