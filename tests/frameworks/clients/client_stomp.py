"""stomp.py: a producer and a consumer that speak STOMP. A NACK with `requeue:false` rejects."""
import json
import threading
import urllib.parse

import stomp
from scenario import MESSAGES, QUEUE, URI, body_of, on_command, ready, succeeds

DESTINATION = "/amq/queue/" + QUEUE
# Of the delivery, not of the message.
OF_DELIVERY = ("ack", "destination", "message-id", "redelivered", "subscription")

address = urllib.parse.urlparse(URI)
connection = stomp.Connection12([("127.0.0.3", address.port)], vhost=address.path[1:], heartbeats=(0, 0))


class Handling(stomp.ConnectionListener):
    def on_message(self, frame):
        given = {name: value for name, value in frame.headers.items() if name not in OF_DELIVERY}
        ours = {name: given.pop(name) for name in list(given) if name.startswith(("x-", "retryd-"))}
        if succeeds(json.loads(frame.body), given, ours, frame.body):
            connection.ack(frame.headers["ack"])
        else:
            connection.nack(frame.headers["ack"], requeue="false")


def publish():
    for message in MESSAGES:
        connection.send(DESTINATION, json.dumps(body_of(message)), "application/json", persistent="true", priority="3",
                        **{"correlation-id": "correlation", "reply-to": "answers", "amqp-message-id": "message", "type": "order",
                           "app-id": "shop", "text": "grüße 👋", "integer": "42"})


connection.set_listener("", Handling())
connection.connect("guest", "guest", wait=True)
connection.subscribe(DESTINATION, id="orders", ack="client-individual", headers={"prefetch-count": "10"})
ready(".".join(map(str, stomp.__version__)))
on_command(publish)
threading.Event().wait()
