"""kombu, with its consumer mixin."""
import kombu
from kombu.mixins import ConsumerMixin
from scenario import HEADERS, MESSAGES, PROPERTIES, QUEUE, URI, body_of, on_command, ready, succeeds

QUEUES = [kombu.Queue(QUEUE, kombu.Exchange(QUEUE + ".exchange", type="topic"), routing_key="order.#", durable=True)]


class Worker(ConsumerMixin):
    def __init__(self, connection):
        self.connection = connection

    def get_consumers(self, consumer, channel):
        return [consumer(QUEUES, callbacks=[self.on_message], accept=["json"])]

    def on_consume_ready(self, connection, channel, consumers, **_):
        ready(kombu.__version__)

    @staticmethod
    def on_message(body, message):
        where = message.delivery_info
        given = {name: value for name, value in message.properties.items() if name != "application_headers"}
        if succeeds(body, given, message.headers, message.body, exchange=where["exchange"],
                    key=where["routing_key"], redelivered=where["redelivered"]):
            message.ack()
        else:
            message.reject()


def publish():
    properties = {name: value for name, value in PROPERTIES.items() if name not in ("content_type", "content_encoding")}
    with kombu.Connection(URI) as connection, connection.Producer(serializer="json") as producer:
        for message in MESSAGES:
            producer.publish(body_of(message), exchange=QUEUES[0].exchange, routing_key="order.made", declare=QUEUES,
                             headers=HEADERS, **properties)


on_command(publish)
with kombu.Connection(URI) as connection:
    Worker(connection).run()
