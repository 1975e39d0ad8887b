"""Qpid Proton: AMQP 1.0, where the queue is there already."""
import json

import proton
from proton.handlers import MessagingHandler
from proton.reactor import ApplicationEvent, Container, EventInjector
from scenario import MESSAGES, QUEUE, URI, VERDICTS, body_of, on_command, ready, succeeds
from urllib.parse import urlsplit

SOURCE = urlsplit(URI)
ADDRESS = "/queues/" + QUEUE
PROPERTIES = ("id", "correlation_id", "content_type", "durable", "priority", "reply_to", "group_id", "ttl", "subject")


class Client(MessagingHandler):
    def __init__(self):
        super().__init__(prefetch=10, auto_accept=False)
        self.opened = 0

    def on_start(self, event):
        self.container = event.container
        connection = event.container.connect(
            f"amqp://{SOURCE.username}:{SOURCE.password}@{SOURCE.hostname}:{SOURCE.port}", virtual_host="vhost:" + SOURCE.path[1:],
            allowed_mechs="PLAIN", reconnect=False)
        event.container.create_receiver(connection, ADDRESS)
        self.sender = event.container.create_sender(connection, ADDRESS)
        event.container.selectable(injector)

    def on_link_opened(self, event):
        self.opened += 1
        if self.opened == 2:
            ready(".".join(map(str, (proton.VERSION_MAJOR, proton.VERSION_MINOR))))

    def on_publish(self, event):
        for each in MESSAGES:
            self.sender.send(proton.Message(
                body=json.dumps(body_of(each)).encode(), inferred=True, durable=True, priority=3, id="message",
                correlation_id="correlation", content_type="application/json", reply_to="/queues/answers", group_id="group",
                properties={"text": "grüße 👋", "integer": 42, "fraction": 1.5, "yes": True, "no": False}))

    def on_message(self, event):
        message, delivery = event.message, event.delivery
        raw = bytes(message.body)
        body = json.loads(raw)
        properties = {name: getattr(message, name) for name in PROPERTIES}
        if succeeds(body, {**properties, "annotations": annotations_of(message)}, message.properties, raw):
            self.accept(delivery)
        elif body["name"] in VERDICTS:
            delivery.local.undeliverable = True
            delivery.local.annotations = {proton.symbol(name): value for name, value in VERDICTS[body["name"]].items()}
            self.settle(delivery, proton.Delivery.MODIFIED)
        else:
            self.reject(delivery)

    def on_transport_error(self, event):
        raise SystemExit(str(event.transport.condition))


def annotations_of(message):
    return dict(message.annotations or {})


injector = EventInjector()
on_command(lambda: injector.trigger(ApplicationEvent("publish")))
Container(Client()).run()
