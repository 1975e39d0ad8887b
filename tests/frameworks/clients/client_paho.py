"""paho: a producer that speaks MQTT, which has no reject; pika rejects what it has published."""
import json
import urllib.parse

import paho.mqtt
import paho.mqtt.client
import pika
from scenario import MESSAGES, QUEUE, URI, body_of, on_command, ready, succeeds

TOPIC = "orders/made/by/mqtt"


def on_message(channel, method, properties, raw):
    given = {name: value for name, value in vars(properties).items() if name != "headers"}
    if succeeds(json.loads(raw), given, properties.headers, raw, exchange=method.exchange, key=method.routing_key,
                redelivered=method.redelivered):
        channel.basic_ack(method.delivery_tag)
    else:
        channel.basic_nack(method.delivery_tag, requeue=False)


def publish():
    for message in MESSAGES:
        producer.publish(TOPIC, json.dumps(body_of(message)), qos=1)


connection = pika.BlockingConnection(pika.URLParameters(URI))
channel = connection.channel()
channel.queue_declare(QUEUE, durable=True)
channel.queue_bind(QUEUE, "amq.topic", TOPIC.replace("/", "."))
channel.basic_qos(prefetch_count=10)
channel.basic_consume(QUEUE, on_message)
address = urllib.parse.urlparse(URI)
producer = paho.mqtt.client.Client()
producer.username_pw_set(address.path[1:] + ":guest", "guest")
producer.connect("127.0.0.2", address.port)
producer.loop_start()
on_command(publish)
ready(paho.mqtt.__version__)
channel.start_consuming()
