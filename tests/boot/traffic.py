#!/usr/bin/python3
"""Messages for the service under trial: a producer and a flaky consumer, which rejects what comes for the first time.

    traffic load QUEUE COUNT SECONDS   sends so many over so long, and waits until all of them came back
    traffic fail QUEUE COUNT           sends and rejects them, and waits for none
    traffic collect QUEUE COUNT        waits until so many came back

--vhost NAME before the command. A line when a third is out; one at the end: how many were sent, came back, are lost,
came back twice. The exit code is 1 where any is lost: not back, and none other has come back for 200 seconds.
"""
import sys
import time

import pika

PATIENCE = 200  # seconds: RabbitMQ repeats a return that it has no confirm for after 180


class Traffic:
    def __init__(self, vhost, queue, takes_back):
        credentials = pika.PlainCredentials("guest", "guest")
        self.connection = pika.BlockingConnection(
            pika.ConnectionParameters("127.0.0.1", 5672, vhost, credentials, heartbeat=0))
        self.out = self.connection.channel()
        self.out.confirm_delivery()
        self.channel = self.connection.channel()
        self.channel.basic_qos(prefetch_count=200)
        self.queue = queue
        self.sent = 0
        self.rejected = 0
        self.returned = set()
        self.twice = 0
        self.takes_back = takes_back  # else what comes back stays in its queue
        self.progress = time.monotonic()
        self.channel.basic_consume(queue, self.work)

    def work(self, channel, delivery, properties, body):
        self.progress = time.monotonic()
        if "retryd-attempt" not in (properties.headers or {}):
            self.rejected += 1
            channel.basic_reject(delivery.delivery_tag, requeue=False)
            return
        if not self.takes_back:
            return
        self.twice += body in self.returned
        self.returned.add(body)
        channel.basic_ack(delivery.delivery_tag)

    def send(self, count, seconds):
        began = time.monotonic()
        for number in range(count):
            self.out.basic_publish("", self.queue, b"message %d" % number, pika.BasicProperties(delivery_mode=2))
            self.sent += 1
            if self.sent == count // 3:
                print("a third is out", flush=True)
            ahead = began + seconds * self.sent / count - time.monotonic()
            self.connection.process_data_events(time_limit=max(ahead, 0))

    def turn_until(self, done):
        self.progress = time.monotonic()
        while not done() and time.monotonic() - self.progress < PATIENCE:
            self.connection.process_data_events(time_limit=0.1)


def main(arguments):
    vhost = "/"
    if arguments and arguments[0] == "--vhost":
        vhost = arguments[1]
        arguments = arguments[2:]
    command, queue, count = arguments[0], arguments[1], int(arguments[2])
    began = time.monotonic()
    traffic = Traffic(vhost, queue, command != "fail")
    if command != "collect":
        traffic.send(count, float(arguments[3]) if command == "load" else 0)
    if command == "fail":
        traffic.turn_until(lambda: traffic.rejected >= count)
        traffic.connection.close()
        print(f"{traffic.rejected} rejected")
        return traffic.rejected != count
    traffic.turn_until(lambda: len(traffic.returned) >= count)
    lost = count - len(traffic.returned)
    print(f"{count} rejected, {len(traffic.returned)} came back, {lost} lost, {traffic.twice} twice, "
          f"in {time.monotonic() - began:.1f} s")
    return lost != 0


sys.exit(main(sys.argv[1:]))
