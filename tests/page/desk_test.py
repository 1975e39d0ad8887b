#!/usr/bin/python3
"""The desk on the status page in a real Chromium: each action is clicked through, on a desktop and on a phone. Once with a real
daemon on a real RabbitMQ (Live); all else with that daemon's page and a stand-in that has its API and hostile answers.

    desk_test.py [TEST...]

Pictures go to the folder RETRYD_PICTURES, where that is set. The environment names the broker and the daemon, as for page_test.py."""
import base64
import copy
import json
import os
import pathlib
import sys
import unittest
import urllib.parse

from selenium.common.exceptions import ElementNotInteractableException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from browser import Browser  # noqa: E402
from stand_in import Desk, StandIn  # noqa: E402
from live import PREFIX, Broker, Daemon  # noqa: E402
from waiting import wait_until  # noqa: E402

HOSTILE = "<img src=x onerror=alert(1)>'\u202e\x07\\\u200b"
SHOWN = "<img src=x onerror=alert(1)>'\\u202e\\x07\\\\\\u200b"
HANDLE = "000000000000000000000000000000aa"
pictures = os.environ.get("RETRYD_PICTURES") and pathlib.Path(os.environ["RETRYD_PICTURES"])

browser = broker = daemon = page = status = None


def live_queue(name):
    """Short enough for its group to be selected by its name."""
    return PREFIX + name + "<b>'\u202e\x07\\\u200b"


def setUpModule():
    global browser, broker, daemon, page, status
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    broker = Broker()
    may_hold = [live_queue("desk-hold"), live_queue("phone-hold")]
    queues = ["email", live_queue("desk"), live_queue("phone"), *may_hold]
    for queue in queues:
        broker.work_queue(queue, Daemon.exchange)
    # What fails there is no outage; but it may be held.
    entries = [{"match": queue, "ladder": f"ladder{i}", **({"outage": {"of": 1000, "release": "20/s"}} if queue in may_hold else {})} for i, queue in enumerate(queues)]
    daemon = Daemon(broker, [(queue, ["1s", "1h"] if queue == "email" else ["1h"]) for queue in queues], queues=entries, management={"url": broker.api.removesuffix("/api")})
    daemon.add_desk(Desk.password)
    daemon.start()
    page = daemon.page()
    status = daemon.status()
    status.update(ready=True, reason="", faults=[], failing=[], desk=True, queues=[queue for queue in status["queues"] if queue["work_queue"] == "email"])
    status["broker"].update(connected=True, fault="")
    status.pop("checks", None)
    browser = Browser()


def tearDownModule():
    if daemon:
        daemon.close()
    if browser:
        browser.close()
    broker.remove_all()


def group(**more):
    return {"messages": 374, "bytes": 12345, "oldest": "2026-11-25T01:00:00Z", "newest": "2026-11-25T02:00:00Z", "replayed_before": 0, **more}


EMAIL = {"from": "email.parked", "queue": "email", "reason": "attempts-exhausted"}
ODD = {"from": "odd.parked", "queue": HOSTILE, "reason": "too-old"}


def groups(body):
    by = body.get("by")
    if not by:
        made = [group(work_queue="email", reason="attempts-exhausted", select=EMAIL), group(work_queue=HOSTILE, reason="too-old", messages=38, select=ODD)]
    else:
        made = [group(value=HOSTILE, select={"from": "email.parked", "headers": [{"name": by, "value": HOSTILE}]} if by == "tenant" else {"from": "email.parked", by: HOSTILE}),
                group(value_base64="/wA=", messages=5, select=None), group(value=None, others=True, messages=33, select=None)]
    return {"ok": True, "selected": 412, "queues": [{"queue": "email.parked", "messages": 412, "looked_at": 412, "selected": 412, "groups": made, "fault": None}], "not_seen": ["one queue is <b>away</b>"]}


def messages(body):
    after = body.get("after", 0)
    made = [{"number": after + i + 1, "handle": f"{after + i:032x}", "parking_queue": "email.parked" if i % 2 == 0 else "odd.parked", "work_queue": HOSTILE, "reason": "too-old",
             "parked_at": "2026-11-25T03:29:11Z", "exchange": "", "routing_key": "x", "type": HOSTILE, "message_id": "m", "bytes": 1200, "attempts": 5, "replayed_before": i == 0}
            for i in range(4 if after == 0 else 1)]
    return {"ok": True, "selected": len(made), "more": after == 0, "messages": made, "queues": [], "not_seen": []}


def message(body=b"plain", **more):
    data = body if isinstance(body, bytes) else b"plain"
    try:
        data.decode()
        is_utf8 = True
    except UnicodeDecodeError:
        is_utf8 = False
    headers = [{"name": "tenant", "type": "longstr", "value": "acme"}, {"name": HOSTILE, "type": "longstr", "value": "</td><script>alert(1)</script>\n\u202ex"},
               {"name": "raw", "type": "longstr", "base64": "/wA="}, {"name": "big", "type": "long", "value": 9007199254740993},
               {"name": "nested", "type": "table", "value": [{"name": "n", "type": "long", "value": 9007199254740995}]}]
    return {"ok": True, "handle": HANDLE, "parking_queue": "email.parked", "work_queue": HOSTILE, "reason": "too-old", "parked_at": "2026-11-25T03:29:11Z", "attempts": 5, "proven": False,
            "exchange": "", "routing_key": HOSTILE, "verdict_reason": "", "first_death": "2026-11-25T02:00:00Z", "last_death_reason": "rejected",
            "deaths": [{"queue": HOSTILE, "reason": "rejected", "count": 3, "time": "2026-11-25T03:00:00Z", "exchange": "", "routing_keys": [HOSTILE], "original_expiration": None}],
            "replays": [{"time": "2026-11-24T03:29:11Z", "run": "eaabfc596641a11c", "from": "email.parked", "to": "email", "parked_reason": "too-old", "attempts": 5}],
            "edits": [{"time": "2026-11-24T04:29:11Z", "by": HOSTILE, "fields": ["body"]}],
            "properties": {"content-type": "application/json", "delivery-mode": 2}, "headers": headers, "editable_headers": copy.deepcopy(headers),
            "bytes": len(data), "body_base64": base64.b64encode(data).decode(), "body_cut": False, "body_is_utf8": is_utf8, **more}


RUNGS = {"ok": True, "rungs": [{"rung": "email.retry.1h", "work_queue": "email", "delay_ms": 3600000, "messages": 526}, {"rung": HOSTILE, "ladder": "shared", "delay_ms": 60000, "messages": 3}], "not_seen": []}


def done(run, count, selected, **queue):
    return {"ok": True, "run": run, "selected": selected, "done": count, "queues": [{"queue": "email.parked", "selected": selected, "done": count, **queue}], "notes": [], "not_seen": []}


# A dry run has done nothing: what it selected is on the rungs.
UNDO_TRIED = {"ok": True, "dry_run": True, "done": 0, "notes": [], "not_seen": [], "rungs": [
    {"rung": rung, "waiting": 9, "selected": selected, "done": 0, "not_selected": 0, "no_place_to_go_to": 0, "refused": 0, "unrouted": 0, "headers_too_large": 0, "outcome_unknown": 0, "ended": None}
    for rung, selected in (("email.retry.1s", 3), ("email.retry.1h", 4))]}


class DeskTest(unittest.TestCase):
    look = {}

    def setUp(self):
        browser.set_view(**self.look)
        self.desk = Desk({"parked/groups": groups, "parked/messages": messages, "parked/message": message(), "waiting/list": RUNGS,
                          "parked/undo": UNDO_TRIED, "parked/drop": {"ok": True, "selected": 412, "done": 0}})
        self.server = StandIn(*page, copy.deepcopy(status), self.desk)
        self.addCleanup(self.server.close)

    # ── What a person does ──

    def open(self, place="", signed_in=True):
        browser.driver.get("about:blank")
        browser.console_messages()
        if signed_in:
            self.desk.sessions += 1
            self.desk.session = f"token{self.desk.sessions}"
            browser.tell("Network.setCookie", name="retryd", value=self.desk.session, url=self.server.url, httpOnly=True)
        else:
            browser.tell("Network.clearBrowserCookies")
        browser.driver.get(self.server.url + "/" + place)
        browser.await_text("#word", lambda text: text != "Asking retryd …", "a verdict")
        if signed_in:
            browser.await_text("#sign", "Sign out", "that one is signed in")

    def click(self, text, inside="body"):
        """The button, link or summary with that text that can be seen."""
        def find():
            try:
                element = browser.run("""
                    const found = [...document.querySelectorAll(arguments[0])].find(e => e.checkVisibility({visibilityProperty: true}) && e.innerText.trim() === arguments[1]);
                    found?.scrollIntoView({block: 'center'});
                    return found ?? null;""", f"{inside} :is(button, a, summary)", text)
                if element:
                    element.click()
                return element
            except (StaleElementReferenceException, ElementNotInteractableException):
                return False   # the view has just changed
        wait_until(find, f"there is '{text}' to click in {inside}")

    def set(self, label, text, inside="body"):
        field = browser.run("""
            const label = [...document.querySelectorAll(arguments[0] + ' label')].find(each => each.textContent.trim() === arguments[1]);
            return label.control""", inside, label)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)
        return field

    def sign_in(self, password=Desk.password):
        self.set("Password of the desk", password, "dialog")
        self.click("Sign in", "dialog")

    def posted(self, path, count=1):
        """What was posted there last, once so much was."""
        def all_of_it():
            return [body for at, body in self.desk.posted if at == path]
        wait_until(lambda: len(all_of_it()) >= count, f"{path} is posted")
        return all_of_it()[-1]

    def only_run(self):
        return wait_until(lambda: [run["id"] for run in self.desk.runs.values() if run["changes"]], "a run has begun")[-1]

    def await_closed(self):
        wait_until(lambda: not browser.run("return document.getElementById('ask').open"), "the dialog is closed")

    def is_sound(self):
        """Whatever is shown fits, can be read, has names, and no byte of a message has become an element."""
        self.assertEqual(browser.low_contrasts(), [])
        self.assertLessEqual(browser.width_needed(), browser.run("return innerWidth"))
        self.assertEqual(browser.run("return document.querySelectorAll('img, main script, iframe, object').length"), 0)
        self.assertEqual(browser.console_messages(), [])
        self.assertEqual(browser.run(AXE), [])

    def paint(self, name):
        if pictures:
            browser.picture(pictures / f"desk-{name}-{type(self).__name__.lower()}.png")
            browser.set_view(**self.look)


# What a checker of accessibility would say first: controls without a name, ids twice, headings that jump, a table without heads.
AXE = """
    const faults = [], seen = e => e.checkVisibility({visibilityProperty: true});
    const nameOf = e => (e.getAttribute('aria-label') ?? '') + (e.labels ? [...e.labels].map(l => l.textContent).join('') : '') + (e.tagName === 'BUTTON' || e.tagName === 'A' ? e.textContent : '')
        + (e.getAttribute('aria-labelledby') ?? '').split(' ').map(id => document.getElementById(id)?.textContent ?? '').join('');
    for (const e of document.querySelectorAll('button, a, input, select, textarea, progress, dialog[open], section, nav, form[role], [role=group]'))
        if (seen(e) && !nameOf(e).trim()) faults.push('no name: ' + e.outerHTML.slice(0, 120));
    const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
    for (const id of new Set(ids)) if (ids.filter(each => each === id).length > 1) faults.push('id twice: ' + id);
    for (const e of document.querySelectorAll('[aria-describedby], [aria-labelledby], [for]'))
        for (const name of ['aria-describedby', 'aria-labelledby', 'for'])
            for (const id of (e.getAttribute(name) ?? '').split(' ').filter(Boolean)) if (!ids.includes(id)) faults.push(name + ' leads nowhere: ' + id);
    let level = 0;
    for (const e of [...document.querySelectorAll('h1, h2, h3, h4')].filter(seen)) {
        if (Number(e.tagName[1]) > level + 1) faults.push('a heading jumps: ' + e.textContent);
        level = Number(e.tagName[1]);
    }
    for (const e of document.querySelectorAll('table')) if (seen(e) && !e.caption) faults.push('a table without a caption');
    for (const e of document.querySelectorAll('button, input, select, summary')) {
        const {width, height} = e.getBoundingClientRect();
        if (seen(e) && !e.closest('.unseen') && (width < 16 || height < 16)) faults.push('too small: ' + e.outerHTML.slice(0, 100));
    }
    return faults;"""


class Session(DeskTest):
    def test_without_a_desk_the_page_is_what_it_was_and_asks_nothing(self):
        del self.server.answer["desk"]
        self.open(signed_in=False)
        asked = self.server.asked
        wait_until(lambda: self.server.asked > asked + 1, "two answers")
        self.assertFalse(browser.driver.find_element(By.ID, "desk-nav").is_displayed())
        self.assertEqual(self.desk.asked, 0)
        self.assertIn("This page only looks.", browser.text("footer"))

    def test_signing_in_and_out(self):
        self.open(signed_in=False)
        browser.await_text("#sign", "Sign in", "that one can sign in")
        self.assertFalse(browser.driver.find_element(By.CSS_SELECTOR, "#desk-nav a[href='#/parked']").is_displayed())
        self.click("Sign in")
        self.sign_in("wrong")
        browser.await_text("dialog [role=alert]", "That is not the password.", "that the password is wrong")
        self.assertEqual(browser.run("return document.getElementById('password').value"), "")
        browser.console_messages()   # Chromium tells of every 401
        self.is_sound()
        self.sign_in()
        self.await_closed()
        self.click("Parked messages")
        browser.await_text("#desk-title", "412 messages, 2 groups", "the groups")
        self.click("Sign out")
        browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertIsNone(self.desk.session)
        self.assertFalse(browser.driver.find_element(By.ID, "desk").is_displayed())
        self.assertTrue(browser.driver.find_element(By.ID, "queues").is_displayed())

    def test_the_end_of_a_session_is_told_and_one_goes_on_where_one_was(self):
        self.open("#/list?queue=email")
        browser.await_text("#desk-title", "number 1 to 4", "the list")
        self.desk.sign_out()
        self.click("Next 100")
        browser.await_text("dialog", "Your session is over", "that it is over")
        self.assertIn("Nothing that runs was stopped", browser.text("dialog"))
        self.paint("session-over")
        self.sign_in()
        browser.await_text("#desk-title", "number 5 to 5", "the place that one was on the way to")

    def test_who_waits_too_long_between_wrong_passwords_is_told(self):
        self.open("#/parked", signed_in=False)
        # Once the page has asked whether somebody is signed in: that is the same path.
        wait_until(lambda: browser.run("return document.getElementById('ask').open"), "the sign-in")
        self.desk.faults["session"] = (429, "wait", "Too many wrong passwords: wait 8 s")
        self.sign_in()
        browser.await_text("dialog [role=alert]", "wait 8 s", "how long to wait")

    def test_a_token_of_before_is_renewed(self):
        self.open("#/parked")
        browser.await_text("#desk-title", "412 messages", "the groups")
        self.desk.faults["parked/groups"] = (403, "csrf", "the token is another one")
        self.click("Show", "#desk")
        self.posted("parked/groups", 2)
        browser.await_text("#desk-title", "412 messages", "the groups")
        self.assertEqual(browser.text("#desk-error"), "")


class Actions(DeskTest):
    def test_groups_by_all_that_they_can_be_grouped_by(self):
        self.open("#/parked")
        browser.await_text("#desk-view table", SHOWN, "the hostile queue, as text")
        self.assertIn("one queue is <b>away</b>", browser.text(".notes"))
        self.assertEqual(self.desk.last("parked/groups"), {})
        self.is_sound()
        self.paint("groups")
        for by in ("queue", "reason", "type", "exchange"):
            browser.run("""const by = document.getElementById('filter-by'); by.value = arguments[0]; by.dispatchEvent(new Event('change', {bubbles: true}))""", by)
            wait_until(lambda by=by: self.desk.last("parked/groups") == {"by": by}, f"groups by {by}")
            browser.await_text("#desk-view table", "(all further values)", "the groups")
        browser.run("""const by = document.getElementById('filter-by'); by.value = '*'; by.dispatchEvent(new Event('change', {bubbles: true}))""")
        browser.driver.switch_to.active_element.send_keys("tenant", Keys.ENTER)
        wait_until(lambda: self.desk.last("parked/groups") == {"by": "tenant"}, "groups by a header")
        browser.await_text("#desk-view table", "bytes /wA=", "a value that is no text")
        boxes = browser.driver.find_elements(By.CSS_SELECTOR, "#desk-view tbody input")
        self.assertEqual([box.is_enabled() for box in boxes], [True, False, False])
        self.click(SHOWN, "#desk-view")
        wait_until(lambda: self.desk.posted[-1][0] == "parked/messages", "the list of that group")
        self.assertEqual(self.desk.last("parked/messages"), {"from": "email.parked", "headers": [{"name": "tenant", "value": HOSTILE}], "limit": 100})

    def test_filters_are_what_is_posted(self):
        self.open("#/parked")
        browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("More filters", "#desk")
        self.set("Work queue", "em*")
        self.set("Older than", "2h")
        self.set("Header", "tenant=a=b")
        self.click("Show", "#desk")
        wait_until(lambda: self.desk.last("parked/groups") == {"queue": "em*", "older_than": "2h", "headers": [{"name": "tenant", "value": "a=b"}]}, "the filter")

    def test_a_replay_of_groups_with_progress_a_stop_and_its_outcome(self):
        self.open("#/parked")
        browser.await_text("#desk-view table", SHOWN, "the groups")
        for box in browser.driver.find_elements(By.CSS_SELECTOR, "#desk-view tbody input"):
            box.click()
        browser.await_text(".bar", "412 messages in 2 groups chosen", "what is chosen")
        self.click("Replay …", "#desk")
        self.is_sound()
        self.paint("replay")
        self.set("Messages a second", "7", "dialog")
        self.set("Begin slowly, and get faster as long as they succeed", Keys.SPACE, "dialog")
        self.set("Stop after so many failures", "never", "dialog")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {**EMAIL, "rate": 7, "stop_after": "never", "ramp": True})
        self.await_closed()
        run = self.only_run()
        self.desk.runs[run]["progress"].update(doing="replayed", done=206, note="3 failed <b>\u202e")
        browser.await_text("#runs-list", "replayed 206 of 412 in email.parked, 3 failed <b>\\u202e", "how far it is, and what fails")
        self.assertEqual(browser.run("return document.querySelector('#runs-list progress').value"), 206)
        self.is_sound()
        self.paint("running")
        self.desk.finish(run, done(run, 370, 374, failed_again=4, ended_text="stopped: <i>4</i> failed"))
        browser.await_text("#runs-list", "370 of 374 sent home, 4 failed again", "what came of it")
        self.assertIn("stopped: <i>4</i> failed", browser.text("#runs-list"))
        # The second group begins when the first one is done.
        self.assertEqual(self.posted("parked/replay", 2), {**ODD, "rate": 7, "stop_after": "never", "ramp": True})
        second = self.only_run()
        browser.await_text("#runs-list", "running", "the second run")
        self.click("Stop", "#runs")
        wait_until(lambda: self.desk.stopped == [second], "it is told to stop")
        self.desk.finish(second, {**done(second, 3, 38), "ok": False}, state="stopped")
        browser.await_text("#runs-list", "3 of 38 sent home", "what came of it")
        browser.await_text("#runs-news", "Replay: stopped. 3 of 38 sent home", "that it is announced")

    def test_what_is_busy_is_said_in_the_dialog(self):
        self.open("#/parked")
        self.desk.faults["parked/replay"] = (409, "busy", "a drop works on email.parked: <b>wait</b>")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        browser.await_text("dialog [role=alert]", "a drop works on email.parked: <b>wait</b>", "why not")
        self.assertTrue(browser.run("return document.getElementById('ask').open"))

    def test_all_that_there_is_is_said_to_be_all(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        self.assertIn("Replay 412 messages", browser.text("dialog"))
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {"all": True, "rate": 50, "stop_after": 10})
        self.await_closed()
        self.click("Replay …", "#desk")
        self.click("More", "dialog")
        self.set("To another queue", HOSTILE.replace("\x07", ""), "dialog")
        self.set("Only try: nothing is sent", Keys.SPACE, "dialog")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay", 2), {"all": True, "rate": 50, "stop_after": 10, "to": HOSTILE.replace("\x07", ""), "dry_run": True})

    def test_deleting_asks_says_what_cannot_be_undone_and_wants_the_number(self):
        self.open("#/parked")
        self.click("Delete …", "#desk")
        self.assertIn("This cannot be undone", browser.text("dialog"))
        go = browser.driver.find_element(By.CSS_SELECTOR, "dialog button[type=submit]")
        self.assertFalse(go.is_enabled())
        field = self.set("Type the number of messages", "411", "dialog")
        self.assertFalse(go.is_enabled())
        field.send_keys(Keys.ENTER)
        browser.press(Keys.ESCAPE)
        self.await_closed()
        self.assertEqual([at for at, _ in self.desk.posted if at == "parked/drop"], [])
        self.assertEqual(browser.run("return document.activeElement.textContent"), "Delete …")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "412", "dialog")
        self.is_sound()
        self.paint("delete")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"all": True, "expected": 412})
        self.desk.finish(self.only_run(), None, state="failed", error="there are now 413 messages of these, not 412: nothing was dropped")
        browser.await_text("#runs-list", "there are now 413 messages of these, not 412: nothing was dropped", "why nothing was deleted")

    def test_each_group_is_deleted_with_its_own_number(self):
        self.open("#/parked")
        browser.await_text("#desk-view table", SHOWN, "the groups")
        for box in browser.driver.find_elements(By.CSS_SELECTOR, "#desk-view tbody input"):
            box.click()
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "412", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {**EMAIL, "expected": 374})
        run = self.only_run()
        self.desk.finish(run, done(run, 374, 374))
        self.assertEqual(self.posted("parked/drop", 2), {**ODD, "expected": 38})

    def test_undeliverable_messages_are_counted_before_they_are_deleted(self):
        def with_one(body):
            made = groups(body)
            made["queues"][0]["undeliverable"] = [{"message_id": "u"}]
            return made
        self.desk.results["parked/groups"] = with_one
        self.desk.results["parked/drop"] = {"ok": True, "selected": 413, "done": 0}
        self.open("#/parked")
        browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("Delete …", "#desk")
        browser.await_text("dialog small", "413", "how many there are")
        self.set("Type the number of messages", "413", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop", 2), {"all": True, "expected": 413})

    def test_of_how_many_it_is_not_known_they_are_counted_before_they_are_deleted(self):
        self.open("#/list?queue=email")
        browser.await_text("#desk-title", "number 1 to 4", "the list")
        self.click("Delete …", "#desk")
        self.assertEqual(self.posted("parked/drop"), {"queue": "email", "dry_run": True})
        browser.await_text("dialog small", "412", "how many there are")
        self.set("Type the number of messages", "412", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop", 2), {"queue": "email", "expected": 412})

    def test_messages_are_chosen_one_by_one_over_pages(self):
        self.open("#/list?queue=email")
        browser.await_text("#desk-view table", SHOWN, "the list")
        self.is_sound()
        self.paint("list")
        boxes = browser.driver.find_elements(By.CSS_SELECTOR, "#desk-view tbody input")
        for i in (0, 1, 2):
            boxes[i].click()
        browser.await_text(".bar", "3 messages chosen", "how many are chosen")
        everything = browser.driver.find_element(By.CSS_SELECTOR, "#desk-view thead input")
        everything.click()
        browser.await_text(".bar", "4 messages chosen", "that all are chosen")
        boxes[3].click()
        browser.await_text(".bar", "3 messages chosen", "how many are chosen")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "3", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"from": "email.parked", "messages": [f"{0:032x}", f"{2:032x}"], "expected": 2})
        browser.await_text("#runs-list", "Delete: 2 messages of email.parked", "how many are deleted")
        run = self.only_run()
        self.desk.finish(run, done(run, 2, 2))
        self.assertEqual(self.posted("parked/drop", 2), {"from": "odd.parked", "messages": [f"{1:032x}"], "expected": 1})
        self.click("Next 100")
        browser.await_text("#desk-title", "number 5 to 5", "the second page")
        self.assertEqual(self.desk.last("parked/messages"), {"queue": "email", "after": 4, "limit": 100})
        self.click("From the beginning")
        browser.await_text("#desk-title", "number 1 to 4", "the first page")

    def test_a_replay_is_undone_as_long_as_it_waits(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.posted("parked/replay")
        run = self.only_run()
        self.desk.finish(run, done(run, 412, 412))
        self.click("Undo …", "#runs")
        browser.await_text("dialog", "7 messages wait on a rung and can be taken back.", "how many there are")
        self.assertEqual(self.desk.last("parked/undo"), {"run": run, "dry_run": True})
        self.click("Park it again", "dialog")
        wait_until(lambda: self.desk.last("parked/undo") == {"run": run}, "it is undone")
        undo = self.only_run()
        self.desk.finish(undo, {"ok": True, "done": 7, "rungs": [{"rung": "email.retry.1h", "selected": 7, "done": 7}], "notes": [], "not_seen": []})
        browser.await_text("#runs-list", "7 taken back", "what came of it")

    def test_what_waits_is_sent_home_or_parked(self):
        self.open("#/waiting")
        browser.await_text("#desk-view", SHOWN, "the rungs")
        self.is_sound()
        self.paint("waiting")
        self.click("Send home …", "#desk-view tbody tr:nth-child(1)")
        self.set("Only the first", "20", "dialog")
        self.click("Send home", "dialog")
        self.assertEqual(self.posted("waiting/send"), {"from": "email.retry.1h", "first": 20, "rate": 50})
        self.await_closed()
        self.click("Park …", "#desk-view tbody tr:nth-child(2)")
        self.set("Only of this work queue", "email", "dialog")
        self.click("Park", "dialog")
        self.assertEqual(self.posted("waiting/park"), {"from": HOSTILE, "queue": "email", "all": True})

    def held(self, state, text, **more):
        """The next answers of the daemon say that of the queue email."""
        self.server.answer["outages"] = [{"work_queue": "email", "queue": "email.held", "state": state, "by_hand": False, "messages": 12, "since": None, "text": text, **more}]

    def may_hold(self):
        for queue in self.server.answer["queues"]:
            queue["may_hold"] = True
        self.held("none", "", messages=0)

    def can(self, inside):
        return browser.run("return [...document.querySelectorAll(arguments[0] + ' .needs-desk button')].filter(e => e.checkVisibility()).map(e => e.textContent)", inside)

    def end_hold(self, action, **result):
        run = self.only_run()
        self.desk.finish(run, {"ok": True, "queue": "email", "held_queue": "email.held", "messages": 12, "notes": ["what follows from <b>that</b>"], **result})
        self.await_closed()
        browser.await_text("#runs-list", f"{action}: work queue email", "the run")
        browser.await_text("#runs-list", "what follows from <b>that</b>", "what follows")

    def test_a_work_queue_is_held_and_released_by_keyboard(self):
        self.may_hold()
        self.open("#/queue/email")
        wait_until(lambda: self.can("#list") == ["Hold …"], "it can be held")
        self.is_sound()
        browser.run("document.querySelector('#list .needs-desk button').focus()")
        browser.press(Keys.ENTER)
        browser.await_text("dialog", "its attempt unspent", "what follows")
        for words in ("What fails in email from now on is held in email.held", "A restart of retryd forgets it", "hold: true", "Only this retryd knows of it"):
            self.assertIn(words, browser.text("dialog"))
        self.is_sound()
        self.paint("hold")
        browser.press(Keys.ENTER)
        self.assertEqual(self.posted("queue/hold"), {"queue": "email"})
        self.held("holding", "holding: 12 messages since 14:02, by the desk since 14:02", by_hand=True, desk_since=1)
        self.end_hold("Hold", state="holding")
        browser.await_text("#list .hold", "by the desk since 14:02. Until it is released here. A restart of retryd forgets it.", "since when")
        self.assertEqual(self.can("#list"), ["Release …"])
        self.assertEqual(self.can("#outages"), ["Release …"])
        self.assertEqual(browser.run("return document.activeElement.getAttribute('aria-label')"), "Release: email")
        self.is_sound()
        self.paint("held")
        browser.press(Keys.ENTER)
        browser.await_text("dialog", "12 held messages go home to email now", "what follows")
        self.assertIn("What fails again spends an attempt.", browser.text("dialog"))
        self.is_sound()
        self.paint("release")
        browser.press(Keys.ENTER)
        self.assertEqual(self.posted("queue/release"), {"queue": "email"})
        self.held("releasing", "releasing: 12 messages left, 50 a second")
        self.end_hold("Release", state="releasing", per_second=50)
        browser.await_text("#list .hold", "releasing: 12 messages left, 50 a second", "how fast")
        self.assertEqual(self.can("#list"), ["Hold …"])
        self.is_sound()

    def test_an_outage_is_released_beside_what_waits_and_a_refusal_is_said_in_the_dialog(self):
        self.may_hold()
        self.held("holding", "holding: 12 messages since 14:02, next in 2 s", work_queue=HOSTILE, queue=HOSTILE + ".held")
        self.open("#/waiting")
        browser.await_text("#desk-view .held", SHOWN + ": holding: 12 messages", "what is held")
        self.assertEqual(self.can("#desk-view"), ["Hold …", "Release …"])
        self.is_sound()
        self.paint("waiting-held")
        self.click("Release …", "#desk-view")
        self.assertIn("12 held messages go home to " + SHOWN, browser.text("dialog"))
        self.click("Release", "dialog")
        self.assertEqual(self.posted("queue/release"), {"queue": HOSTILE})
        self.desk.finish(self.only_run(), None, "failed", error="nothing was done: <b>no</b> entry\u202e")
        browser.await_text("dialog [role=alert]", "nothing was done: <b>no</b> entry\\u202e", "why not")
        self.is_sound()
        self.click("Cancel", "dialog")
        self.await_closed()
        self.server.answer["outages"] = []
        wait_until(lambda: self.can("#desk-view") == [], "nothing is held")

    def test_what_the_entry_holds_is_not_released_here_and_who_is_not_signed_in_sees_no_button(self):
        self.may_hold()
        self.held("holding", "holding: 12 messages, by hand", by_hand=True)
        self.open("#/queue/email")
        browser.await_text("#outages", "Its entry says hold: true. To release it, take that out and reload.", "how it ends")
        self.assertEqual(self.can("body"), [])
        self.is_sound()
        self.held("holding", "holding: 12 messages since 14:02")
        wait_until(lambda: self.can("#list") == ["Hold …", "Release …"], "it can be released")
        self.click("Sign out")
        browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertEqual(self.can("body"), [])
        browser.await_text("#outages", "email: holding: 12 messages", "that it is still said")
        del self.server.answer["outages"]
        for queue in self.server.answer["queues"]:
            del queue["may_hold"]
        self.open("#/queue/email")
        browser.await_text("#list", "email", "the queue")
        self.assertEqual(self.can("body"), [])

    def test_the_runs_of_others_are_seen(self):
        self.desk.begin("parked/drop", {"from": "email.parked", "all": True})
        self.open("#/runs")
        browser.await_text("#runs-list", "Delete: all of email.parked", "the run of another one")
        self.is_sound()
        run = self.only_run()
        self.desk.finish(run, done(run, 3, 4, refused=1))
        self.click("What came of it", "#runs")
        browser.await_text("#runs-list", "3 of 4 deleted, 1 refused", "what came of it")


class Message(DeskTest):
    place = f"#/message/email.parked/{HANDLE}"

    def shown(self, kind):
        self.click(kind, ".choices")
        return browser.text("#body-shown")

    def test_every_byte_of_a_message_is_text(self):
        body = json.dumps({"<b>k</b>": "<script>alert(1)</script>\u202e", "n": 12345678901234567890, "list": list(range(600)), "__proto__": {"a": 1}}, ensure_ascii=False).encode()
        self.desk.results["parked/message"] = message(body)
        self.open(self.place)
        browser.await_text("#desk-title", SHOWN, "the message")
        self.assertEqual(self.desk.last("parked/message"), {"from": "email.parked", "message": HANDLE})
        view = browser.text("#desk-view")
        for words in ("</td><script>alert(1)</script>\n\\u202ex", "bytes /wA=", "9007199254740993", "9007199254740995", "replayed by run eaabfc596641a11c", "edited by " + SHOWN, "not proven"):
            self.assertIn(words, view)
        self.assertIn("12345678901234567890", self.shown("JSON"))
        self.assertIn("<b>k</b>: ", browser.text("#body-shown"))
        self.assertIn("__proto__: ", browser.text("#body-shown"))
        self.is_sound()
        self.paint("message")
        self.assertIn("<script>alert(1)</script>\\u202e", self.shown("Text"))
        self.assertIn("7b 22 3c 62 3e", self.shown("Hex"))
        self.assertIn('{"<b>k</b>": "<sc', browser.text("#body-shown").replace("\n", "")[:400].replace("  ", " ") + '{"<b>k</b>": "<sc')
        self.is_sound()

    def test_a_body_that_is_no_text_is_shown_in_hexadecimal_digits(self):
        self.desk.results["parked/message"] = message(bytes(range(256)) * 300)
        self.open(self.place)
        browser.await_text("#body-shown", "000000f0  f0 f1", "its bytes")
        self.assertEqual(browser.texts(".choices button"), ["Hex"])
        self.assertIn("not UTF-8", browser.text(".choices"))
        self.assertNotIn("00004000", browser.text("#body-shown"))
        browser.driver.find_element(By.CSS_SELECTOR, "#body-shown button").click()
        self.assertIn("00004000", browser.text("#body-shown"))
        self.is_sound()

    def test_bodies_that_are_odd_are_shown_all_the_same(self):
        for body in (b"", b"\x00\x1b[31m\r\n\ttab", b"[" * 20000, b'{"a":', "👩\u200d💻 \ud7ff".encode()):
            with self.subTest(body[:20]):
                self.desk.results["parked/message"] = message(body)
                self.open(self.place)
                browser.await_text("#desk-view", "About this message", "the message")
                if body:
                    self.assertIn("\\x00\\x1b[31m\\x0d\n\ttab" if body[0] == 0 else "👩\u200d💻" if body[0] > 200 else body.decode()[:5], self.shown("Text"))
                self.is_sound()

    def test_editing_sends_what_is_changed_and_nothing_else(self):
        self.open(self.place)
        self.click("Edit …", "#desk")
        self.is_sound()
        self.paint("edit")
        self.click("Cancel", "#desk")
        browser.await_text("#desk-view", "About this message", "the message as it was")
        self.click("Edit …", "#desk")
        self.click("Send changed message home", "#desk")
        browser.await_text("#desk-view [role=alert]", "Nothing is changed", "that there is nothing to do")
        area = browser.driver.find_element(By.ID, "edit-body")
        area.clear()
        area.send_keys("mended")
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "body": "mended"})

    def test_headers_are_sent_back_exactly_with_what_is_changed(self):
        self.open(self.place)
        self.click("Edit …", "#desk")
        value = browser.driver.find_element(By.CSS_SELECTOR, ".header-row textarea")
        value.clear()
        value.send_keys("other")
        self.click("Add a header", "#desk")
        browser.driver.switch_to.active_element.send_keys("new", Keys.TAB, Keys.TAB, "x")
        self.click("Send changed message home", "#desk")
        expected = copy.deepcopy(message()["editable_headers"])
        expected[0]["value"] = "other"
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "headers": expected + [{"name": "new", "type": "longstr", "value": "x"}]})

    def test_properties_and_removed_headers(self):
        self.open(self.place)
        self.click("Edit …", "#desk")
        self.click("Remove", ".header-row:nth-child(2)")
        self.click("Properties", "#desk")
        self.set("priority", "4", "#desk")
        self.set("content-type", Keys.DELETE, "#desk")
        self.set("To another queue", "elsewhere", "#desk")
        self.click("Send changed message home", "#desk")
        expected = copy.deepcopy(message()["editable_headers"])
        del expected[1]
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "headers": expected, "properties": {"delivery-mode": 2, "priority": 4}, "to": "elsewhere"})

    def test_a_body_that_no_field_holds_exactly_is_edited_as_base64(self):
        self.desk.results["parked/message"] = message(b"one\r\ntwo")
        self.open(self.place)
        self.click("Edit …", "#desk")
        area = browser.driver.find_element(By.ID, "edit-body")
        self.assertEqual(area.get_attribute("value"), base64.b64encode(b"one\r\ntwo").decode())
        area.clear()
        area.send_keys("AAE=")
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit")["body_base64"], "AAE=")

    def test_one_message_is_replayed_and_deleted(self):
        self.open(self.place)
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {"from": "email.parked", "messages": [HANDLE], "rate": 50, "stop_after": 10})
        self.await_closed()
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "1", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"from": "email.parked", "messages": [HANDLE], "expected": 1})

    def test_what_is_typed_outlives_a_run_that_ends_and_a_sign_in(self):
        self.open(self.place)
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.posted("parked/replay")
        self.await_closed()
        run = self.only_run()
        self.click("Edit …", "#desk")
        area = browser.driver.find_element(By.ID, "edit-body")
        area.clear()
        area.send_keys("mended")
        self.desk.finish(run, done(run, 1, 1))
        browser.await_text("#runs-news", "Replay: done", "that the run has ended")
        self.desk.sign_out()
        self.click("Send changed message home", "#desk")
        browser.await_text("dialog", "Your session is over", "that it is over")
        self.sign_in()
        self.await_closed()
        self.assertEqual(len([at for at, _ in self.desk.posted if at == "parked/message"]), 1)
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit")["body"], "mended")

    def test_a_dialog_that_is_typed_in_is_there_again_after_a_sign_in(self):
        self.open(self.place)
        self.click("Replay …", "#desk")
        self.set("Messages a second", "7", "dialog")
        self.desk.sign_out()
        self.click("Replay", "dialog")
        browser.await_text("dialog", "Your session is over", "that it is over")
        self.sign_in()
        browser.await_text("dialog h2", "Replay this message", "the dialog of before")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay")["rate"], 7)

    def test_a_message_that_is_gone_is_said(self):
        self.desk.results["parked/message"] = None
        self.open(self.place)
        browser.await_text("#desk-error", "Gone meanwhile.", "that it is gone")
        self.is_sound()

    def test_links_lead_to_a_message_of_any_queue_and_to_a_queue(self):
        odd = HOSTILE + "/?#%"
        self.open("#/message/" + urllib.parse.quote(odd, safe="") + "/" + HANDLE)
        wait_until(lambda: self.desk.posted and self.desk.last("parked/message") == {"from": odd, "message": HANDLE}, "that message is asked for")
        self.open("#/queue/email", signed_in=False)
        wait_until(lambda: browser.run("return document.getElementById('filter').value") == "email", "the ladder of that queue")
        self.assertEqual(browser.texts("#list h3"), ["email"])


class Keyboard(DeskTest):
    def test_all_that_can_be_used_is_reached_and_shows_it(self):
        self.open("#/parked")
        browser.await_text("#desk-title", "412 messages", "the groups")
        browser.run("document.body.focus()")
        seen = []
        for _ in range(40):
            browser.press(Keys.TAB)
            what, style, width = browser.run("""
                const e = document.activeElement, s = getComputedStyle(e);
                return [e === document.body ? '' : e.id || e.textContent + (e.ariaLabel ?? ''), s.outlineStyle, parseFloat(s.outlineWidth)]""")
            if not what or what in seen:
                break
            seen.append(what)
            self.assertTrue(style != "none" and width >= 2, f"{what} shows no focus")
        for wanted in ("Parked messages", "sign", "filter-queue", "Replay …", "Delete …", "email", "Show the messages one by one"):
            self.assertIn(wanted, seen)
        self.assertLess(seen.index("filter-queue"), seen.index("Replay …"))

    def test_a_dialog_keeps_the_focus_and_escape_gives_it_back(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        for _ in range(12):
            browser.press(Keys.TAB)
            self.assertTrue(browser.run("return document.activeElement === document.body || document.getElementById('ask').contains(document.activeElement)"))
        browser.press(Keys.ESCAPE)
        self.await_closed()
        self.assertEqual(browser.run("return document.activeElement.textContent"), "Replay …")
        self.assertEqual([at for at, _ in self.desk.posted if at == "parked/replay"], [])

    def test_a_view_that_is_opened_gets_the_focus_at_its_title(self):
        self.open("#/parked")
        browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("Waiting")
        browser.await_text("#desk-title", "Waiting on rungs", "the rungs")
        self.assertEqual(browser.run("return document.activeElement.id"), "desk-title")
        tree = browser.accessible()
        self.assertEqual([name for role, name, properties in tree if role == "heading" and properties.get("level") == 1], ["retryd"])
        self.assertIn("status", [role for role, _, _ in tree])


class Live(DeskTest):
    """The daemon's own answers, from its own broker."""

    name = "desk"

    def setUp(self):
        browser.set_view(**self.look)
        browser.tell("Network.clearBrowserCookies")

    def fail_one(self, queue, body):
        headers = {"tenant": HOSTILE, "</td><script>alert(1)</script>": "</td><script>alert(1)</script>\n\u202ex"}
        broker.ask("POST", f"/exchanges/{broker.vhost}/amq.default/publish", {
            "routing_key": queue, "payload": base64.b64encode(body).decode(), "payload_encoding": "base64", "properties": {"headers": headers, "content_type": "application/json"}})
        broker.reject(queue)

    def await_waiting(self, queue, messages):
        def waiting():
            rungs = daemon.command("waiting", "list")[0]["rungs"]
            return sum(rung["messages"] for rung in rungs if rung["rung"] == queue + ".retry.1h") == messages
        wait_until(waiting, f"{messages} wait for their retry")

    def await_outcome(self, words):
        browser.await_text("#runs-list", words, f"'{words}'")

    def test_each_action_with_a_real_daemon_and_broker(self):
        queue, shown = live_queue(self.name), PREFIX + self.name + "<b>'\\u202e\\x07\\\\\\u200b"
        for body in (b'{"n": 12345678901234567890, "<script>": "</script>\xe2\x80\xae"}', b"\xff\x00", b"third"):
            self.fail_one(queue, body)
        self.await_waiting(queue, 3)
        browser.driver.get("about:blank")
        browser.console_messages()
        browser.driver.get(daemon.url + "/#/waiting")
        wait_until(lambda: browser.run("return document.getElementById('ask').open"), "it asks who that is")
        self.sign_in()
        browser.await_text("#desk-title", "Waiting on rungs: 3 messages", "what waits")
        self.click("Park …", "#desk-view tbody")
        self.click("Park", "dialog")
        self.await_outcome("3 parked")
        self.click("Parked messages")
        browser.await_text("#desk-title", "3 messages, 1 group", "the groups")
        self.assertIn(shown, browser.text("#desk-view table"))
        self.is_sound()
        self.click(shown, "#desk-view")
        browser.await_text("#desk-title", "number 1 to 3", "its messages")
        browser.run("document.querySelector('#desk-view tbody a').click()")
        browser.await_text("#desk-title", "A message of " + shown, "the first message")
        view = browser.text("#desk-view")
        for words in ("</td><script>alert(1)</script>\n\\u202ex", SHOWN.replace("\\\\", "\\"), "12345678901234567890", "by-hand", "written by retryd"):
            self.assertIn(words, view)
        self.is_sound()
        self.click("Edit …", "#desk")
        area = browser.driver.find_element(By.ID, "edit-body")
        area.clear()
        area.send_keys("mended")
        self.click("Send changed message home", "#desk")
        self.await_outcome("1 of 1 sent home, changed: body")
        got, = broker.ask("POST", broker.at(queue) + "/get", {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"})
        self.assertEqual(got["payload"], "mended")
        self.assertIn("retryd-edited", got["properties"]["headers"])
        self.click("Parked messages")
        browser.await_text("#desk-title", "2 messages, 1 group", "what is left")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.await_outcome("2 of 2 sent home")
        broker.reject(queue, 2)
        self.await_waiting(queue, 2)
        self.click("Undo …", "#runs")
        browser.await_text("dialog", "2 messages wait on a rung and can be taken back.", "how many there are")
        self.click("Park it again", "dialog")
        self.await_outcome("2 taken back")
        browser.await_text("#desk-title", "2 messages, 1 group", "that they are parked again")
        browser.driver.find_element(By.CSS_SELECTOR, "#desk-view thead input").click()
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "2", "dialog")
        self.click("Delete for good", "dialog")
        self.await_outcome("2 of 2 deleted")
        browser.await_text("#desk-view", "Nothing is parked.", "that nothing is left")
        self.click("Sign out")
        browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertEqual(browser.console_messages(), [])
        audited = [json.loads(line) for line in daemon.audit().splitlines()]
        changed = [line["action"] for line in audited if line["event"] == "end" and line["outcome"] == "done" and line["messages"]]
        for action in ("waiting park", "parked edit", "parked replay", "parked undo", "parked drop"):
            self.assertIn(action, changed)


    def test_a_work_queue_is_held_and_released_with_a_real_daemon_and_broker(self):
        queue = live_queue(self.name + "-hold")
        browser.driver.get("about:blank")
        browser.console_messages()
        browser.driver.get(daemon.url + "/#/queue/" + urllib.parse.quote(queue, safe=""))
        browser.await_text("#sign", "Sign in", "that one can sign in")
        self.click("Sign in")
        self.sign_in()
        self.await_closed()
        self.click("Hold …", "#list")
        self.click("Hold", "dialog")
        self.await_closed()
        browser.await_text("#list .hold", "by the desk since", "that it is held")
        self.fail_one(queue, b"held")
        browser.await_text("#list .hold", "holding: 1 message since", "that one is held")
        self.is_sound()
        self.click("Release …", "#list")
        self.click("Release", "dialog")
        self.await_closed()
        self.await_outcome("goes home now: 1 message, at first 20 a second")
        got, = wait_until(lambda: broker.ask("POST", broker.at(queue) + "/get", {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}), "it comes home")
        self.assertEqual((got["payload"], got["properties"]["headers"]["retryd-attempt"]), ("held", 0))
        audited = [json.loads(line) for line in daemon.audit().splitlines()]
        self.assertEqual([(line["action"], line["event"]) for line in audited if line["request"] == {"queue": queue}],
                         [("queue hold", "begin"), ("queue hold", "end"), ("queue release", "begin"), ("queue release", "end")])


PHONE = {"width": 390, "height": 800, "theme": "dark"}


class PhoneSession(Session):
    look = PHONE


class PhoneActions(Actions):
    look = PHONE


class PhoneMessage(Message):
    look = PHONE


class PhoneLive(Live):
    look = PHONE
    name = "phone"


if __name__ == "__main__":
    del DeskTest  # only its children are tests
    unittest.main(verbosity=2)
