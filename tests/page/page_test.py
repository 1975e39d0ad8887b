#!/usr/bin/python3
"""The status page in a real Chromium, of a real daemon, on a real RabbitMQ with waiting and parked messages.

    page_test.py [TEST...]

Pictures of it go to the folder RETRYD_PICTURES, where that is set. The environment names the broker (tests/support/environment.h) and the daemon: RETRYD_TEST_BINARY, or RETRYD_BUILD with
src/retryd below it. It must be Debian's own python3: python3-selenium belongs to that."""
import os
import pathlib
import re
import sys
import unittest

from selenium.webdriver.common.keys import Keys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from browser import Browser  # noqa: E402
from stand_in import StandIn  # noqa: E402
from live import PREFIX, Broker, Daemon  # noqa: E402
from waiting import wait_until  # noqa: E402

EMAIL = PREFIX + "email"          # retried twice; waits for long on its second rung
INVOICE = PREFIX + "invoice"      # its only rung is short: its messages are parked soon
SMS = PREFIX + "sms"              # none of its messages has been rejected yet
HOSTILE = PREFIX + "<img src=x onerror=alert(1)>'\u202e\x07\x9b\\\u200b👩\u200d💻"
HOSTILE_SHOWN = PREFIX + "<img src=x onerror=alert(1)>'\\u202e\\x07\\u009b\\\\\\u200b👩\u200d💻"
QUEUES = [(EMAIL, ["1s", "1h"]), (INVOICE, ["1s"]), (SMS, ["3h"]), (HOSTILE, ["2h"])]

pictures = os.environ.get("RETRYD_PICTURES") and pathlib.Path(os.environ["RETRYD_PICTURES"])


broker = browser = daemon = None


def setUpModule():
    global broker, browser, daemon
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    broker = Broker()
    browser = Browser(watched=True)
    for queue, _ in QUEUES:
        broker.work_queue(queue, Daemon.exchange)
    daemon = Daemon(broker, QUEUES)
    daemon.start()
    waiting_messages()


def waiting_messages():
    """Five on the second rung of one queue, two of another parked, three of a third on their first rung."""
    broker.fail(EMAIL, 5)
    broker.reject(EMAIL, 5)
    broker.fail(INVOICE, 2)
    broker.reject(INVOICE, 2)
    broker.fail(HOSTILE, 3)
    wait_until(lambda: broker.depths().get(EMAIL + ".retry.1h") == 5, "five messages wait")
    wait_until(lambda: broker.depths().get(INVOICE + ".parked") == 2, "two messages are parked")


def tearDownModule():
    if daemon:
        daemon.close()
    if browser:
        browser.close()
    broker.remove_all()


class PageTest(unittest.TestCase):
    def setUp(self):
        browser.set_view()
        browser.console_messages()
        browser.requests()

    def open(self, **look):
        browser.set_view(**look)
        browser.open(daemon.url)

    def stand_in(self, change):
        """The daemon's page and its answer, with `change` made to the answer; nothing fails in it but what `change` says."""
        answer = daemon.status()
        answer["failing"] = []
        change(answer)
        server = StandIn(*daemon.page(), answer)
        self.addCleanup(server.close)
        return server

    def open_changed(self, change, history=None, **look):
        server = self.stand_in(change)
        if history:
            server.history.update(history)
        browser.set_view(**look)
        browser.open(server.url)
        return server

    def paint(self, name):
        if pictures:
            browser.picture(pictures / f"{name}.png")

    def await_ladder(self, queue, rung, number):
        return wait_until(lambda: browser.ladders().get(queue, {}).get(rung) == number,
                          f"{queue} shows {number} at {rung}")


class Live(PageTest):
    def agrees_with_the_broker(self):
        depths = broker.depths()
        for queue, delays in QUEUES:
            ladder = browser.ladders()[queue.replace(HOSTILE, HOSTILE_SHOWN)]
            right = {delay: str(depths[f"{queue}.retry.{delay}"]) for delay in delays}
            right["parked"] = str(depths[queue + ".parked"])
            if any(ladder[place] != messages for place, messages in right.items()):
                return False
        return True

    def test_numbers_agree_with_the_broker(self):
        self.open()
        self.await_ladder(EMAIL, "1h", "5")
        self.await_ladder(INVOICE, "parked", "2")
        self.await_ladder(HOSTILE_SHOWN, "2h", "3")
        # The count of a quorum queue reaches the broker's list a moment later.
        wait_until(self.agrees_with_the_broker, "the page agrees with the broker")
        browser.await_text("#word", lambda text: text == "Working", "that nothing fails any more", within=150)
        browser.await_text("#waits", "8 messages wait for a retry, 2 parked", "the sums")
        self.assertIn("8 waiting", browser.text("#flow-words"))
        self.assertRegex(browser.text("#reasons tbody"), "attempts-exhausted.*2$")
        self.assertRegex(browser.text("#facts"), r"RabbitMQ \d+\.\d+")
        self.paint("light-desktop")

    def test_it_updates_without_being_loaded_again(self):
        self.open()
        self.await_ladder(SMS, "3h", "0")
        browser.run("window.same = document.querySelector('#list h3')")
        broker.fail(SMS)
        self.addCleanup(broker.ask, "DELETE", broker.at(SMS + ".retry.3h") + "/contents")
        self.await_ladder(SMS, "3h", "1")
        self.assertTrue(browser.run("return window.same?.isConnected"))

    def test_what_fails_is_said_above_all(self):
        self.open()
        self.await_ladder(SMS, "3h", "0")
        broker.fail(SMS, 3)
        self.addCleanup(broker.ask, "DELETE", broker.at(SMS + ".retry.3h") + "/contents")
        named = "#failing li h3"
        wait_until(lambda: SMS in browser.texts(named), "the work queue that fails is named", 30)

        def row():
            return browser.texts("#failing li")[browser.texts(named).index(SMS)]
        self.assertRegex(row(), "3 a minute")
        # The broker's count of what waits comes a moment later.
        wait_until(lambda: re.search("next retry (in|within) 3 h", row()), "the next retry is named", 30)
        self.assertNotEqual(browser.run("return document.getElementById('verdict').className"), "good")

    def test_the_day_is_drawn(self):
        day = daemon.history()
        self.assertEqual(day["interval_ms"], 60000)
        self.assertIn(EMAIL, [queue["work_queue"] for queue in day["failing"]])
        self.open()
        browser.await_text("#day-failing", EMAIL, "in which queue messages failed")
        self.assertTrue(browser.run("return document.querySelector('#day-charts path').hasAttribute('d')"))

    def test_which_broker_and_vhost_it_is_about_is_said(self):
        self.open()
        vhost = os.environ["RETRYD_TEST_VHOST"]
        browser.await_text("#where", f"vhost {vhost}", "the vhost")
        self.assertIn("127.0.0.1:", browser.text("#where"))
        self.assertIn(browser.text("#where"), browser.run("return document.title"))

    def test_names_of_queues_are_text_whatever_they_are(self):
        self.open()
        self.await_ladder(HOSTILE_SHOWN, "2h", "3")
        self.assertEqual(browser.run("return document.querySelectorAll('main img, main script').length"), 0)
        self.assertEqual(browser.console_messages(), [])

    def test_no_other_host_is_asked_and_nothing_is_on_the_console(self):
        self.open()
        wait_until(lambda: browser.run("return performance.getEntriesByType('resource').length") >= 3, "three answers")
        asked = [url for url in browser.requests() if not url.startswith("data:")]
        self.assertIn(daemon.url + "/status.json", asked)
        self.assertEqual([url for url in asked if not url.startswith(daemon.url + "/")], [])
        self.assertEqual(browser.console_messages(), [])

    def test_what_to_type_can_be_copied(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        command = f"retryd parked list -c {daemon.config} --queue {INVOICE}"
        self.assertEqual(browser.texts("#todo code"), [command])
        browser.tell("Browser.grantPermissions", origin=daemon.url,
                          permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        browser.run("document.querySelector('#todo button').focus()")
        browser.press(Keys.ENTER)
        browser.await_text("#todo button", "Copied", "that it is copied")

    def test_both_themes_have_contrast(self):
        grounds = set()
        for theme in ("light", "dark"):
            with self.subTest(theme):
                self.open(theme=theme)
                self.await_ladder(INVOICE, "parked", "2")
                self.assertEqual(browser.low_contrasts(), [])
                grounds.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(grounds), 2)

    def test_a_phone_shows_it_all_without_sideways_scrolling(self):
        self.open(width=360, height=740, theme="dark")
        self.await_ladder(INVOICE, "parked", "2")
        self.assertLessEqual(browser.width_needed(), 360)
        self.assertEqual(browser.low_contrasts(), [])
        self.paint("dark-phone")

    def test_all_that_can_be_used_is_reached_by_tab_and_shows_it(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        usable = browser.run("""
            return [...document.querySelectorAll('a[href], button, input, summary')].filter(e => e.checkVisibility()).length""")
        seen = []
        for _ in range(usable):
            browser.press(Keys.TAB)
            what, style, width = browser.run("""
                const e = document.activeElement, s = getComputedStyle(e);
                return [e.id || e.className || e.textContent + e.ariaLabel, s.outlineStyle, parseFloat(s.outlineWidth)]""")
            seen.append(what)
            self.assertTrue(style != "none" and width >= 2, f"{what} shows no focus")
        self.assertEqual(len(set(seen)), usable, seen)
        self.assertEqual(seen[0], "skip")
        self.assertIn("filter", seen)

    def test_the_focus_stays_while_numbers_change(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        browser.run("document.querySelector('#todo button').focus(); window.held = document.activeElement")
        before = browser.run("return performance.getEntriesByType('resource').length")
        wait_until(lambda: browser.run("return performance.getEntriesByType('resource').length") >= before + 2, "two answers")
        self.assertTrue(browser.run("return document.activeElement === window.held && held.isConnected"))

    def test_the_filter_finds(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        browser.type_into("#filter", "INVOI")
        self.assertEqual(list(browser.ladders()), [INVOICE])
        browser.await_text("#found", "1 of 4 queues", "how many it found")
        browser.type_into("#filter", "nothing like it")
        self.assertEqual(browser.ladders(), {})

    def test_a_screen_reader_finds_landmarks_headings_and_names(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        tree = browser.accessible()
        roles = [role for role, _, _ in tree]
        for role in ("main", "banner", "contentinfo", "table", "list"):
            self.assertIn(role, roles)
        headings = [(properties.get("level"), name) for role, name, properties in tree if role == "heading"]
        self.assertEqual([name for level, name in headings if level == 1], ["retryd"])
        self.assertTrue([name for level, name in headings if level == 2 and ("Working" in name or "fail" in name)])
        for name in ("Where the messages are", "Parked, and why", "What waits on the ladders"):
            self.assertIn((2, name), headings)
        self.assertIn((3, EMAIL), headings)
        for role, name, _ in tree:
            if role in ("button", "link", "searchbox", "textbox", "image", "img", "table", "region"):
                self.assertTrue(name, f"a {role} has no name")
        # Only the verdict and what the filter found are announced, and no number that changes all the time.
        live = browser.texts("[role=status], [aria-live]")
        self.assertRegex(live[0], "Working|fail")
        self.assertEqual([text for text in live[1:] if text], [])

    def test_nothing_moves_for_who_wants_no_motion(self):
        count = "return document.getAnimations().length"
        self.open()
        self.assertGreater(browser.run(count), 0)
        self.open(motion="reduce")
        self.assertEqual(browser.run(count), 0)


class Trouble(PageTest):
    def test_a_daemon_that_is_gone_is_said_and_its_last_picture_stays(self):
        self.open()
        self.await_ladder(EMAIL, "1h", "5")
        daemon.stop()
        self.addCleanup(lambda: daemon.process.poll() is None or daemon.start())
        browser.await_text("#word", "retryd does not answer", "that it is gone")
        browser.await_text("#age", lambda text: text.startswith("last answer "), "the age of the picture")
        self.assertEqual(browser.ladders()[EMAIL]["1h"], "5")
        self.assertTrue(browser.run("return document.body.classList.contains('stale')"))
        self.paint("no-daemon")
        daemon.start()
        browser.await_text("#word", "Working", "that it is back")
        self.assertFalse(browser.run("return document.body.classList.contains('stale')"))

    def test_a_broker_that_is_gone_is_said_with_what_comes_of_it(self):
        self.open()
        broker.control("stop")
        try:
            browser.await_text("#word", "Not connected to the broker", "that it is gone")
            self.assertIn("retryd tries again by itself", browser.text("#means"))
            self.assertIn("not connected", browser.text("#facts"))
            self.assertEqual(browser.low_contrasts(), [])
            self.paint("no-broker")
        finally:
            broker.control("start")
        browser.await_text("#word", "Working", "that it is back", 120)


class StandInTest(PageTest):
    def test_a_blocked_broker_is_said_with_the_remedy(self):
        def block(answer):
            answer.update(ready=False, reason="blocked")
            answer["broker"].update(blocked=True, blocked_reason="low on disk")
        self.open_changed(block)
        self.assertEqual(browser.text("#word"), "The broker takes no messages")
        self.assertIn("low on disk", browser.text("#means"))
        self.assertIn("free memory or disk", browser.text("#means"))

    def test_faults_come_with_their_text_and_go(self):
        server = self.open_changed(lambda answer: answer["faults"].append({"since": answer["now"], "text": "cause; <b>remedy</b>"}))
        self.assertEqual(browser.texts("#faults li span"), ["cause; <b>remedy</b>"])
        self.assertIn("with 1 fault", browser.text("#word"))
        server.answer["faults"] = []
        browser.await_text("#word", lambda text: text == "Working", "that it is healed")
        self.assertTrue(browser.run("return document.getElementById('faults').hidden"))

    def failing(self, **more):
        return {"work_queue": HOSTILE, "state": "wholly", "failures": 312, "minutes": [2, 3, 250, 312], "came_back": 298, "failed_again": 298,
                "next_due_ms": 400000, "due_at_most": False, "messages": 1204, "consumers": 0, "acked": 0, **more}

    def test_a_queue_that_fails_wholly_is_never_green(self):
        server = self.open_changed(lambda answer: answer.update(failing=[self.failing()]))
        self.assertEqual(browser.text("#word"), HOSTILE_SHOWN + " fails wholly")
        self.assertEqual(browser.run("return document.getElementById('verdict').className"), "bad")
        row = browser.text("#failing li")
        for words in (HOSTILE_SHOWN, "312 a minute", "up from 85 a minute in the 3 minutes before", "next retry in 7 min", "298 of 298 retries",
                      "1,204 ready in it, no consumer", "none was acked", "start its consumers"):
            self.assertIn(words, row)
        self.assertIn("⚠ 1 failing", browser.run("return document.title"))
        self.assertEqual(browser.low_contrasts(), [])
        server.answer["failing"] = [self.failing(state="unknown", came_back=None, failed_again=None, acked=None, next_due_ms=None)]
        browser.await_text("#word", "Working; messages fail in ", "that it is not known how many")
        self.assertEqual(browser.run("return document.getElementById('verdict').className"), "fair")
        self.assertIn("no retry waits", browser.text("#failing li"))
        self.assertLessEqual(browser.width_needed(), 1200)
        server.answer["failing"] = [self.failing(state="partly", acked=7)]
        browser.await_text("#word", lambda text: text == "Working", "that others get through")
        self.assertIn("7 were acked", browser.text("#failing li"))
        server.answer["failing"] = []
        wait_until(lambda: browser.run("return document.getElementById('failing').hidden"), "it is over")

    def test_faults_do_not_hide_that_a_queue_fails_and_a_detour_is_not_green(self):
        def trouble(answer):
            answer["failing"] = [self.failing()]
            answer["faults"] = [{"since": answer["now"], "code": "refused", "text": "broken"}]
        server = self.open_changed(trouble)
        self.assertEqual(browser.text("#word"), "Working, with 1 fault; " + HOSTILE_SHOWN + " fails wholly")
        server.answer.update(failing=[], faults=[])
        server.answer["detours"][0]["messages"] = 4
        browser.await_text("#word", "Working, and 4 messages take a detour", "the detour")
        self.assertEqual(browser.run("return document.getElementById('verdict').className"), "bad")

    def test_on_a_phone_what_is_wrong_comes_before_the_drawing(self):
        self.open_changed(lambda answer: answer.update(failing=[self.failing()]), width=360)
        order = browser.run("""
            const all = [...document.querySelectorAll('*')];
            return ['verdict', 'failing', 'faults', 'flow', 'rates', 'day', 'queues'].map(id => all.indexOf(document.getElementById(id)))""")
        self.assertEqual(order, sorted(order))
        self.assertLess(browser.run("return document.getElementById('failing').getBoundingClientRect().top"),
                        browser.run("return document.getElementById('flow').getBoundingClientRect().top"))
        self.assertLessEqual(browser.width_needed(), 360)
        self.paint("failing-phone")

    def test_a_finding_comes_with_its_remedy_and_its_command_can_be_copied(self):
        finding = {"code": "x", "severity": "problem", "since": 1, "cause": "<b>cause</b>", "consequence": "so", "remedy": "do <i>this</i>",
                   "command": "retryd attach --apply", "names": ["a", "b"]}
        self.open_changed(lambda answer: answer.update(checks={"checked": answer["now"], "findings": [finding]}))
        self.assertEqual(browser.texts("#faults li span")[0], "<b>cause</b>, and 1 other")
        self.assertIn("Remedy: do <i>this</i>", browser.text("#faults li"))
        self.assertEqual(browser.text("#faults li code"), "retryd attach --apply")
        browser.run("document.querySelector('#faults button').click()")
        browser.await_text("#faults button", lambda text: text in ("Copied", "Selected"), "that it is copied")

    def test_the_day_shows_what_is_known_of_it(self):
        history = {"now": 1764000000000, "retried": [10] * 700 + [50] * 5, "parked": [0] * 705, "dropped": [1] * 705,
                   "failing": [{"work_queue": HOSTILE, "failures": [3, 4]}]}
        self.open_changed(lambda answer: None, history=history, width=360)
        browser.await_text("#day-charts", "Retried 7,250", "the sum of the day")
        self.assertIn("peak 250 in five minutes", browser.text("#day-charts"))
        self.assertIn(HOSTILE_SHOWN + " 7", browser.text("#day-failing"))
        self.assertLessEqual(browser.width_needed(), 360)
        self.assertEqual(browser.low_contrasts(), [])
        self.assertEqual(browser.console_messages(), [])

    def test_an_outage_is_said_with_what_is_held_and_goes(self):
        def hold(answer):
            answer["outages"] = [
                {"work_queue": HOSTILE, "queue": "web.a.held", "state": "holding", "by_hand": False, "messages": 12400,
                 "since": answer["now"], "text": "holding: 12,400 messages since 14:02"},
                {"work_queue": "quiet", "queue": "quiet.held", "state": "none", "by_hand": False, "messages": 0,
                 "since": None, "text": ""}]
        server = self.open_changed(hold)
        self.assertEqual(browser.texts("#outages li span"), [HOSTILE_SHOWN + ": holding: 12,400 messages since 14:02"])
        self.assertEqual(browser.text("#word"), "Working, and holding the messages of 1 work queue")
        self.assertIn("12,400 held", browser.text("#waits"))
        server.answer["outages"][0].update(state="none", text="", messages=0)
        browser.await_text("#word", lambda text: text == "Working", "that it is over")
        self.assertTrue(browser.run("return document.getElementById('outages').hidden"))

    def test_an_empty_daemon_says_what_will_come(self):
        def empty(answer):
            answer.update(queues=[], ladders=[], parked_by_reason=[])
            answer["catch_all"]["messages"] = None
            answer["rates"].update(retried=[], parked=[], dropped=[])
        self.open_changed(empty, width=360)
        self.assertIn("Nothing waits for a retry, nothing parked", browser.text("#waits"))
        self.assertIn("No work queue yet", browser.text("#left-out"))
        self.assertLessEqual(browser.width_needed(), 360)
        self.assertEqual(browser.console_messages(), [])

    def test_a_thousand_queues_stay_usable(self):
        def multiply(answer):
            model = next(q for q in answer["queues"] if q["work_queue"] == EMAIL)
            def queue(i):
                rungs = [{**rung, "messages": i % 7 if i < 100 else 0} for rung in model["rungs"]]
                return {**model, "work_queue": f"tenant-{i:04}", "rungs": rungs, "parked": {"queue": f"p{i}", "messages": 0}}
            answer.update(queues=[queue(i) for i in range(1000)], queues_left_out=17)
        self.open_changed(multiply, width=360)
        self.assertLessEqual(len(browser.ladders()), 24)
        self.assertRegex(browser.text("#rest summary"), r"^9\d\d quiet queues")
        self.assertIn("17 more are left out", browser.text("#left-out"))
        self.assertLessEqual(browser.width_needed(), 360)
        self.assertLess(browser.run("return document.querySelectorAll('*').length"), 3000)
        browser.run("document.getElementById('more').click()")
        self.assertEqual(len(browser.ladders()), 48)
        browser.type_into("#filter", "tenant-0999")
        self.assertEqual(list(browser.ladders()), ["tenant-0999"])

    def test_a_long_name_fits_a_phone(self):
        def lengthen(answer):
            answer["queues"][0]["work_queue"] = "x" * 255
            answer["queues"][0]["parked"] = {"queue": "y" * 255, "messages": 3}
        self.open_changed(lengthen, width=360)
        self.assertLessEqual(browser.width_needed(), 360)

    def test_nothing_is_asked_while_nobody_looks(self):
        server = self.open_changed(lambda answer: None)
        browser.run("""
            Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.away});
            window.away = true; document.dispatchEvent(new Event('visibilitychange'))""")
        asked = server.asked
        # The age goes on; by then two more answers would have come.
        browser.await_text("#age", lambda text: any(f"seen {age} s ago" in text for age in range(6, 60)),
                           "an age of six seconds or more", within=60)
        self.assertLessEqual(server.asked, asked + 1)  # one may have been under way
        asked = server.asked
        browser.run("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
        wait_until(lambda: server.asked > asked, "it is asked again")

    def test_an_answer_that_is_not_retryds_is_said(self):
        server = self.open_changed(lambda answer: None)
        server.answer = ["something else"]
        browser.await_text("#means", "is not retryd", "that the answer is odd")


if __name__ == "__main__":
    del PageTest  # only its children are tests
    unittest.main(verbosity=2)
