"""An application with occasional failures: sends a mail a second to the queue `email`, consumes them, rejects what it cannot deliver.

Every third mail fails at the first attempt, every tenth always. It contains nothing of retryd: with `requeue=False` the
broker sends the mail to the dead-letter exchange, which a policy names.
"""
import itertools
import os

import pika

QUEUE = "email"
BETWEEN_MAILS = 1  # seconds


def consume(channel, deliver):
    """Calls `deliver` with each mail; it returns whether the mail server accepted it."""
    def on_mail(channel, method, properties, body):
        if deliver(properties, body):
            channel.basic_ack(method.delivery_tag)
        else:
            channel.basic_reject(method.delivery_tag, requeue=False)

    channel.basic_qos(prefetch_count=10)
    channel.basic_consume(QUEUE, on_mail)


def main():
    connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
    channel = connection.channel()
    numbers = itertools.count(1)
    failed_once = set()

    def send():
        body = "mail %d" % next(numbers)
        channel.basic_publish("", QUEUE, body, pika.BasicProperties(delivery_mode=2))
        connection.call_later(BETWEEN_MAILS, send)

    def is_taken(number):
        if number % 10 == 0:
            return False
        if number % 3 == 0 and number not in failed_once:
            failed_once.add(number)
            return False
        failed_once.discard(number)
        return True

    def deliver(_, body):
        mail = body.decode()
        taken = is_taken(int(mail.split()[1]))
        print(mail, "delivered" if taken else "rejected")
        return taken

    consume(channel, deliver)
    send()
    channel.start_consuming()


if __name__ == "__main__":
    main()
