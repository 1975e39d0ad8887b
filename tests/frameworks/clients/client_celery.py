"""Celery: a task that raises Reject(requeue=False), acknowledged late."""

import json
import os

import celery
import kombu
from celery.exceptions import Reject
from scenario import MESSAGES, QUEUE, URI, body_of, on_command, ready, succeeds

app = celery.Celery("orders", broker=URI)
DEAD = os.environ.get("FRAMEWORKS_DEAD")  # where the queue dead-letters to by itself
arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": DEAD} if DEAD else None
if DEAD:
    with app.connection_for_write() as connection:
        kombu.Queue(DEAD)(connection).declare()
app.conf.update(
    task_queues=[kombu.Queue(QUEUE, kombu.Exchange(""), routing_key=QUEUE, queue_arguments=arguments)], task_default_queue=QUEUE,
    task_acks_late=True, worker_hijack_root_logger=False, worker_redirect_stdouts=False, broker_connection_retry_on_startup=True)


@app.task(name="order.made", bind=True)
def made(self, order):
    request = self.request
    where = request.delivery_info
    properties = {name: value for name, value in request.properties.items() if name != "application_headers"}
    properties |= {"id": request.id, "args": request.args, "retries": request.retries}
    if not succeeds(order, properties, request.headers, None, exchange=where["exchange"], key=where["routing_key"],
                    redelivered=where["redelivered"]):
        raise Reject("not now", requeue=False)


# Where it is published to: by default the queue. kombu from 5.5 on lets what is delayed wait in queues of its own.
ROUTE = json.loads(os.environ.get("FRAMEWORKS_ROUTE", "{}")) or {"queue": QUEUE}


def publish():
    for message in MESSAGES:
        made.apply_async([body_of(message)], headers={"text": "grüße 👋", "integer": 42, "table": {"inner": {"deep": "x"}}},
                         **ROUTE)


@celery.signals.worker_ready.connect
def on_ready(**_):
    ready(celery.__version__)


on_command(publish)
app.worker_main(["worker", "--pool=solo", "--loglevel=CRITICAL", "--without-gossip", "--without-mingle", "--without-heartbeat"])
