"""An application with troubles: sends a mail a second to the queue `email`, consumes them, rejects what it cannot deliver.

Every third mail fails at its first try, every tenth always. There is nothing of retryd in it: `requeue=False` is the way
to the dead-letter exchange, which a policy names.
"""
import itertools
import os

import pika

QUEUE = "email"
BETWEEN_MAILS = 1  # seconds

connection = pika.BlockingConnection(pika.URLParameters(os.environ["AMQP_URL"]))
channel = connection.channel()
numbers = itertools.count(1)
failed_once = set()


def send():
    body = "mail %d" % next(numbers)
    channel.basic_publish("", QUEUE, body, pika.BasicProperties(delivery_mode=2))
    connection.call_later(BETWEEN_MAILS, send)


def delivered(mail):
    """Whether the mail server took it, this time."""
    number = int(mail.split()[1])
    if number % 10 == 0:
        return False
    if number % 3 == 0 and mail not in failed_once:
        failed_once.add(mail)
        return False
    failed_once.discard(mail)
    return True


def on_mail(_, method, __, body):
    mail = body.decode()
    if delivered(mail):
        print(mail, "delivered")
        channel.basic_ack(method.delivery_tag)
    else:
        print(mail, "rejected")
        channel.basic_reject(method.delivery_tag, requeue=False)


channel.basic_qos(prefetch_count=10)
channel.basic_consume(QUEUE, on_mail)
send()
channel.start_consuming()
