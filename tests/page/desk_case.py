"""What the tests of the desk begin with: the page of a real daemon, whose answers come from a stand-in; those with the daemon's
own answers are in desk_live_test.py."""
import copy
import functools
import unittest


import scene
from desk_answers import RUNGS, UNDO_TRIED, groups, message, messages
from live import PREFIX, Daemon
from stand_in import Desk, StandIn
from waiting import wait_until

PHONE = {"width": 390, "height": 800, "theme": "dark"}


def live_queue(name):
    """Short enough for its group to be selected by its name."""
    return PREFIX + name + "<b>'\u202e\x07\\\u200b"


def live_queue_shown(name):
    return PREFIX + name + "<b>'\\u202e\\x07\\\\\\u200b"


@functools.cache
def daemon_with_desk():
    broker = scene.broker()
    may_hold = [live_queue("desk-hold"), live_queue("phone-hold")]
    queues = ["email", live_queue("desk"), live_queue("phone"), *may_hold]
    exchange = PREFIX + "desk-dlx"
    for queue in queues:
        broker.work_queue(queue, exchange)
    # What fails there is no outage; but it may be held.
    entries = [{"match": queue, "ladder": f"ladder{i}", **({"outage": {"of": 1000, "release": "20/s"}} if queue in may_hold else {})}
               for i, queue in enumerate(queues)]
    daemon = Daemon(broker, [(queue, ["1s", "1h"] if queue == "email" else ["1h"]) for queue in queues], queues=entries,
                    errors={"exchange": exchange, "queue": PREFIX + "desk-errors"}, management={"url": broker.api.removesuffix("/api")})
    scene.at_end(daemon.close)
    daemon.add_desk(Desk.password)
    daemon.start()
    return daemon


@functools.cache
def page_and_status():
    """Of that daemon, with the queue email alone and nothing wrong."""
    daemon = daemon_with_desk()
    status = daemon.status()
    status.update(ready=True, reason="", faults=[], failing=[], desk=True, queues=[queue for queue in status["queues"] if queue["work_queue"] == "email"])
    status["broker"].update(connected=True, fault="")
    status.pop("checks", None)
    return daemon.page(), status


class DeskTest(unittest.TestCase):
    look = {}

    @classmethod
    def setUpClass(cls):
        cls.browser, cls.broker, cls.daemon = scene.browser(), scene.broker(), daemon_with_desk()

    def setUp(self):
        self.browser.set_view(**self.look)
        page, status = page_and_status()
        self.desk = Desk({"parked/groups": groups, "parked/messages": messages, "parked/message": message(), "waiting/list": RUNGS,
                          "parked/undo": UNDO_TRIED, "parked/drop": {"ok": True, "selected": 412, "done": 0}})
        self.server = StandIn(*page, copy.deepcopy(status), self.desk)
        self.addCleanup(self.server.close)

    # ── What a person does ──

    def open(self, place="", signed_in=True):
        if signed_in:
            self.desk.sessions += 1
            self.desk.session = f"token{self.desk.sessions}"
            self.browser.tell("Network.setCookie", name="retryd", value=self.desk.session, url=self.server.url, httpOnly=True)
        else:
            self.browser.tell("Network.clearBrowserCookies")
        self.browser.open(self.server.url + "/" + place)
        if signed_in:
            self.browser.await_text("#sign", "Sign out", "that one is signed in")

    def click(self, text, inside="body"):
        """The button, link or summary with that text that can be seen."""
        self.browser.click("""
            return [...document.querySelectorAll(arguments[0])].find(e => e.checkVisibility({visibilityProperty: true}) && e.innerText.trim() === arguments[1])""",
                           f"{inside} :is(button, a, summary)", text, what=f"there is '{text}' to click in {inside}")

    def click_all(self, selector):
        for i in range(self.browser.run("return document.querySelectorAll(arguments[0]).length", selector)):
            self.click_nth(selector, i)

    def click_nth(self, selector, i):
        self.browser.click("return document.querySelectorAll(arguments[0])[arguments[1]]", selector, i, what=f"{selector}, {i} can be clicked")

    labelled = """return [...document.querySelectorAll(arguments[0] + ' label')].find(each => each.textContent.trim() === arguments[1])?.control"""

    def set(self, label, text, inside="body"):
        self.browser.fill(self.labelled, inside, label, text=text)

    def press_in(self, label, key, inside="body"):
        """With all that is in the field selected."""
        self.browser.select(self.labelled, inside, label)
        self.browser.press(key)

    def sign_in(self, password=Desk.password):
        self.set("Password of the desk", password, "dialog")
        self.click("Sign in", "dialog")

    # ── What comes of it ──

    def posted(self, path, count=1):
        """What was posted there last, once so much was."""
        def all_of_it():
            return [body for at, body in self.desk.posted if at == path]
        wait_until(lambda: len(all_of_it()) >= count, f"{path} is posted")
        return all_of_it()[-1]

    def only_run(self):
        return wait_until(lambda: [run["id"] for run in self.desk.runs.values() if run["changes"]], "a run has begun")[-1]

    def await_open(self):
        self.browser.wait_for("return document.getElementById('ask').open", what="the dialog is open")

    def await_closed(self):
        self.browser.wait_for("return !document.getElementById('ask').open", what="the dialog is closed")

    def is_sound(self):
        """Whatever is shown fits, can be read, has names, and no byte of a message has become an element."""
        self.assertEqual(self.browser.faults(), [])
        self.assertEqual(self.browser.console_messages(), [])

    def paint(self, name):
        scene.paint(f"desk-{name}-{'phone' if self.look else 'desktop'}")
        if scene.pictures:
            self.browser.set_view(**self.look)
