#!/usr/bin/python3
"""Messages that a framework has put away, recorded from the library itself: each as it was published, and as it lies in the
framework's dead-letter queue, the way `retryd parked export` writes them. tests/commands/recorded_failures_test.cpp reads them.

    tests/support/with-broker DIR tests/recordings/record.py celery|dramatiq FILE

RETRYD_TEST_BINARY: the retryd that exports. The library has to be one that this python3 can import."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))
from live import Broker  # noqa: E402
from waiting import wait_until  # noqa: E402

QUEUE = "shop"


def exported(broker, queue, folder):
    """Lines of JSON. The queue passes for a catch-all: retryd exports what is parked."""
    config, file = folder / "retryd.yaml", folder / f"{queue}.ndjson"
    config.write_text(json.dumps({
        "broker": {"uri": broker.uri}, "ladders": {"none": {"delays": ["1s"]}},
        "queues": [{"match": "no.such.queue", "ladder": "none"}], "parking": {"catch_all": queue}}), encoding="utf-8")
    subprocess.run([os.environ["RETRYD_TEST_BINARY"], "parked", "export", file, "--from", queue, "-c", config,
                    "--despite-delivery-limit"], check=True)
    return file.read_text(encoding="utf-8").splitlines()


def server(broker):
    return broker.ask("GET", "/overview")["rabbitmq_version"]


class Celery:
    """One task rejects, another one is tried again by Celery until its retries are used up: with acks_late, and
    acks_on_failure_or_timeout=False, Celery rejects it then."""
    dead = QUEUE + ".dead"

    def __init__(self, uri):
        import celery
        import kombu
        from celery.exceptions import Reject
        self.version = f"Celery {celery.__version__}, kombu {kombu.__version__}"
        work = kombu.Queue(QUEUE, kombu.Exchange(""), routing_key=QUEUE, queue_arguments={
            "x-dead-letter-exchange": "", "x-dead-letter-routing-key": self.dead})
        self.app = app = celery.Celery("shop", broker=uri)
        app.conf.update(task_queues=[work], task_default_queue=QUEUE, task_acks_late=True, worker_hijack_root_logger=False)
        with app.connection_for_write() as connection:
            kombu.Queue(self.dead)(connection).declare()

        @app.task(name="shop.refuse")
        def refuse(order):
            raise Reject("no stock", requeue=False)

        @app.task(name="shop.pay", autoretry_for=(ValueError,), max_retries=2, default_retry_delay=0,
                  acks_on_failure_or_timeout=False)
        def pay(order, note=""):
            raise ValueError("no stock")

        self.tasks = refuse, pay

    def publish(self):
        refuse, pay = self.tasks
        refuse.apply_async([{"id": 1, "name": "Zoë"}], headers={"tenant": "acme", "level": 3}, priority=5, expires=86400)
        pay.apply_async([{"id": 2}], {"note": "2 + 2"}, shadow="payment")

    def work(self):
        self.app.worker_main(["worker", "--pool=solo", "--loglevel=WARNING", "--without-gossip", "--without-mingle",
                              "--without-heartbeat"])


class Dramatiq:
    """One actor fails at once and is not tried again, another one until its retries are used up, and one is not known."""
    dead = "default.XQ"
    queue = "default"

    def __init__(self, uri):
        import dramatiq
        from dramatiq.brokers.rabbitmq import RabbitmqBroker
        from dramatiq.middleware import Retries
        self.version = f"Dramatiq {dramatiq.__version__}"
        self.dramatiq = dramatiq
        self.broker = broker = RabbitmqBroker(url=uri, middleware=[Retries()])
        dramatiq.set_broker(broker)
        broker.declare_queue("default", ensure=True)

        @dramatiq.actor(max_retries=0, broker=broker)
        def refuse(order):
            raise ValueError("no stock")

        @dramatiq.actor(max_retries=2, min_backoff=1, max_backoff=1, broker=broker)
        def pay(order, note=""):
            raise ValueError("no stock")

        self.actors = refuse, pay

    def publish(self):
        refuse, pay = self.actors
        refuse.send_with_options(args=({"id": 1, "name": "Zoë"},), broker_priority=5)
        pay.send({"id": 2}, note="2 + 2")
        self.broker.enqueue(self.dramatiq.Message(queue_name="default", actor_name="unknown", args=(3,), kwargs={}, options={}))

    def work(self):
        import time
        self.dramatiq.Worker(self.broker, worker_timeout=100, worker_threads=1).start()
        while True:
            time.sleep(3600)


def main(what, target):
    broker = Broker()
    library = {"celery": Celery, "dramatiq": Dramatiq}[what](broker.uri)
    if target == "work":
        library.work()
    queue = getattr(library, "queue", QUEUE)
    library.publish()
    with tempfile.TemporaryDirectory() as folder:
        published = exported(broker, queue, pathlib.Path(folder))
        worker = subprocess.Popen([sys.executable, __file__, what, "work"])
        try:
            wait_until(lambda: broker.depths().get(library.dead) == len(published), "all have failed", 120)
        finally:
            worker.kill()
            worker.wait()
        dead = exported(broker, library.dead, pathlib.Path(folder))
    head = {"recorded": f"{library.version}, RabbitMQ {server(broker)}", "by": f"tests/recordings/record.py {what}"}
    pathlib.Path(target).write_text("\n".join([json.dumps(head), *published, *dead]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
