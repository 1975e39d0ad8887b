"""pika, with its blocking connection."""
import json

import pika
from scenario import HEADERS, MESSAGES, PROPERTIES, QUEUE, URI, body_of, on_command, ready, succeeds

HEADERS.pop("fraction")  # it writes none


def on_message(channel, method, properties, raw):
    given = {name: value for name, value in vars(properties).items() if name != "headers"}
    if succeeds(json.loads(raw), given, properties.headers, raw, exchange=method.exchange, key=method.routing_key,
                redelivered=method.redelivered):
        channel.basic_ack(method.delivery_tag)
    else:
        channel.basic_nack(method.delivery_tag, requeue=False)


def publish():
    for message in MESSAGES:
        channel.basic_publish("", QUEUE, json.dumps(body_of(message)), pika.BasicProperties(**PROPERTIES, headers=HEADERS))


connection = pika.BlockingConnection(pika.URLParameters(URI))
channel = connection.channel()
channel.queue_declare(QUEUE, durable=True)
channel.basic_qos(prefetch_count=10)
channel.basic_consume(QUEUE, on_message)
on_command(lambda: connection.add_callback_threadsafe(publish))
ready(pika.__version__)
channel.start_consuming()
