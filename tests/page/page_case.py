"""What the tests of the status page begin with: a real daemon on a real RabbitMQ, with messages that wait and that are parked.
States of it that are hard to reach come from a stand-in, which has the daemon's page and its answer with something changed."""
import functools
import unittest

import scene
from live import PREFIX, Daemon
from stand_in import StandIn
from waiting import wait_until

EMAIL = PREFIX + "email"          # retried twice; waits for long on its second rung
INVOICE = PREFIX + "invoice"      # its only rung is short: its messages are parked soon
SMS = PREFIX + "sms"              # none of its messages has been rejected yet
PUSH = PREFIX + "push"            # nor of these
HOSTILE = PREFIX + "<img src=x onerror=alert(1)>'\u202e\x07\x9b\\\u200b👩\u200d💻"
HOSTILE_SHOWN = PREFIX + "<img src=x onerror=alert(1)>'\\u202e\\x07\\u009b\\\\\\u200b👩\u200d💻"
QUEUES = [(EMAIL, ["1s", "1h"]), (INVOICE, ["1s"]), (SMS, ["3h"]), (PUSH, ["3h"]), (HOSTILE, ["2h"])]


@functools.cache
def daemon_with_messages():
    broker = scene.broker()
    for queue, _ in QUEUES:
        broker.work_queue(queue, Daemon.exchange)
    daemon = Daemon(broker, QUEUES)
    scene.at_end(daemon.close)
    daemon.start()
    make_them_fail(broker)
    return daemon


def make_them_fail(broker):
    """Five on the second rung of one queue, two of another parked, three of a third on their first rung."""
    broker.fail(EMAIL, 5)
    broker.reject(EMAIL, 5)
    broker.fail(INVOICE, 2)
    broker.reject(INVOICE, 2)
    broker.fail(HOSTILE, 3)
    wait_until(lambda: broker.depths().get(EMAIL + ".retry.1h") == 5, "five messages wait")
    wait_until(lambda: broker.depths().get(INVOICE + ".parked") == 2, "two messages are parked")


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser, cls.broker, cls.daemon = scene.browser(), scene.broker(), daemon_with_messages()

    def setUp(self):
        self.browser.set_view()
        self.browser.console_messages()

    def open(self, **look):
        self.browser.set_view(**look)
        self.browser.open(self.daemon.url + "/")

    def stand_in(self, change):
        """The daemon's page and its answer, with `change` made to the answer; nothing fails in it but what `change` says."""
        answer = self.daemon.status()
        answer["failing"] = []
        change(answer)
        server = StandIn(*self.daemon.page(), answer)
        self.addCleanup(server.close)
        return server

    def open_changed(self, change, history=None, **look):
        server = self.stand_in(change)
        if history:
            server.history.update(history)
        self.browser.set_view(**look)
        self.browser.open(server.url + "/")
        return server

    def await_ladder(self, queue, rung, number):
        self.browser.wait_for("""
            const card = [...document.querySelectorAll('#list > li')].find(each => each.querySelector('h3').textContent === arguments[0]);
            const row = [...card?.querySelectorAll('tbody tr') ?? []].find(each => each.cells[0].textContent === arguments[1]);
            return row?.cells[2].textContent === arguments[2]""", queue, rung, number, what=f"{queue} shows {number} at {rung}")
