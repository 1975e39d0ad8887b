"""The clients of RabbitMQ: a producer, the flaky consumer, and one that watches the parking queue. None of them contains
anything of retryd."""
from __future__ import annotations

import pika
from pika import BasicProperties

import flaky
import scene
from chronicle import Chronicle
from mails import Mail


class Clients:
    """One connection, with a channel for each of them."""

    def __init__(self, uri: str) -> None:
        parameters = pika.URLParameters(uri)
        self.address = f"{parameters.host}:{parameters.port}"
        self.connection = pika.BlockingConnection(parameters)
        self.producer = self.connection.channel()
        self.producer.confirm_delivery()
        self.consumer = self.connection.channel()
        self.watcher = self.connection.channel()
        self.is_fixed = False

    def set_up_application(self) -> None:
        """An exchange and a work queue, as an application has them."""
        self.producer.exchange_declare(scene.EXCHANGE, "topic", durable=True)
        self.producer.queue_declare(scene.WORK_QUEUE, durable=True, arguments={"x-queue-type": "quorum"})
        self.producer.queue_bind(scene.WORK_QUEUE, scene.EXCHANGE, scene.BINDING)

    def begin(self, chronicle: Chronicle) -> None:
        """The consumer and the watcher begin to consume; the chronicle is told what they receive."""
        def deliver(properties: BasicProperties, body: bytes) -> bool:
            story = chronicle.story_of(properties)
            chronicle.came(story, properties, body)
            if len(story.rejections) < story.mail.failures and not self.is_fixed:
                chronicle.rejected(story)
                return False
            chronicle.done(story)
            return True

        def see_parked(_channel, _method, properties: BasicProperties, body: bytes) -> None:
            chronicle.parked(chronicle.story_of(properties), properties, body)

        flaky.consume(self.consumer, deliver)
        self.watcher.basic_consume(scene.PARKING_QUEUE, see_parked)

    def send(self, mail: Mail) -> None:
        """Returns when the broker has confirmed it; raises where it does not, or where no queue takes it."""
        self.producer.basic_publish(scene.EXCHANGE, mail.routing_key, mail.body, mail.properties, mandatory=True)

    def turn(self, seconds: float) -> None:
        """Handles what comes within this time."""
        self.connection.process_data_events(seconds)

    def count(self, queue: str) -> int:
        """The number of messages in it now. (What `rabbitmqctl list_queues` shows of a quorum queue is up to 5 s old.)"""
        return self.producer.queue_declare(queue, passive=True).method.message_count
