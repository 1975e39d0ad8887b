"""What the page says when something is wrong."""
import re

import scene
from night import night
from page_case import EMAIL, HOSTILE, HOSTILE_SHOWN, PageTest


class Trouble(PageTest):
    def test_a_daemon_that_is_gone_is_said_and_its_last_picture_stays(self):
        self.open()
        self.await_ladder(EMAIL, "1h", "5")
        self.daemon.stop()
        self.addCleanup(lambda: self.daemon.process.poll() is None or self.daemon.start())
        self.browser.await_text("#word", "retryd does not answer", "that it is gone")
        self.browser.await_text("#age", re.compile("^last answer "), "the age of the picture")
        self.assertEqual(self.browser.ladders()[EMAIL]["1h"], "5")
        self.assertTrue(self.browser.run("return document.body.classList.contains('stale')"))
        scene.paint("no-daemon")
        self.daemon.start()
        self.browser.await_text("#word", "Working", "that it is back")
        self.assertFalse(self.browser.run("return document.body.classList.contains('stale')"))

    @night
    def test_a_broker_that_is_gone_is_said_with_what_comes_of_it(self):
        self.open()
        self.broker.control("stop")
        try:
            self.browser.await_text("#word", "Not connected to the broker", "that it is gone")
            self.assertIn("retryd tries again by itself", self.browser.text("#means"))
            self.assertIn("not connected", self.browser.text("#facts"))
            self.assertEqual(self.browser.low_contrasts(), [])
            scene.paint("no-broker")
        finally:
            self.broker.control("start")
        self.browser.await_text("#word", "Working", "that it is back", 120)

    def test_a_blocked_broker_is_said_with_the_remedy(self):
        def block(answer):
            answer.update(ready=False, reason="blocked")
            answer["broker"].update(blocked=True, blocked_reason="low on disk")
        self.open_changed(block)
        self.assertEqual(self.browser.text("#word"), "The broker takes no messages")
        self.assertIn("low on disk", self.browser.text("#means"))
        self.assertIn("free memory or disk", self.browser.text("#means"))

    def test_faults_come_with_their_text_and_go(self):
        server = self.open_changed(lambda answer: answer["faults"].append({"since": answer["now"], "text": "cause; <b>remedy</b>"}))
        self.assertEqual(self.browser.texts("#faults li span"), ["cause; <b>remedy</b>"])
        self.assertIn("with 1 fault", self.browser.text("#word"))
        server.answer["faults"] = []
        self.browser.await_text("#word", re.compile("^Working$"), "that it is healed")
        self.assertTrue(self.browser.run("return document.getElementById('faults').hidden"))

    def failing(self, **more):
        return {"work_queue": HOSTILE, "state": "wholly", "failures": 312, "minutes": [2, 3, 250, 312], "came_back": 298, "failed_again": 298,
                "next_due_ms": 400000, "due_at_most": False, "messages": 1204, "consumers": 0, "acked": 0, **more}

    def test_a_queue_that_fails_wholly_is_never_green(self):
        server = self.open_changed(lambda answer: answer.update(failing=[self.failing()]))
        self.assertEqual(self.browser.text("#word"), HOSTILE_SHOWN + " fails wholly")
        self.assertEqual(self.browser.run("return document.getElementById('verdict').className"), "bad")
        row = self.browser.text("#failing li")
        for words in (HOSTILE_SHOWN, "312 a minute", "up from 85 a minute in the 3 minutes before", "next retry in 7 min", "298 of 298 retries",
                      "1,204 ready in it, no consumer", "none was acked", "start its consumers"):
            self.assertIn(words, row)
        self.assertIn("⚠ 1 failing", self.browser.run("return document.title"))
        self.assertEqual(self.browser.low_contrasts(), [])
        server.answer["failing"] = [self.failing(state="unknown", came_back=None, failed_again=None, acked=None, next_due_ms=None)]
        self.browser.await_text("#word", "Working; messages fail in ", "that it is not known how many")
        self.assertEqual(self.browser.run("return document.getElementById('verdict').className"), "fair")
        self.assertIn("no retry waits", self.browser.text("#failing li"))
        self.assertLessEqual(self.browser.width_needed(), 1200)
        server.answer["failing"] = [self.failing(state="partly", acked=7)]
        self.browser.await_text("#word", re.compile("^Working$"), "that others get through")
        self.assertIn("7 were acked", self.browser.text("#failing li"))
        server.answer["failing"] = []
        self.browser.wait_for("return document.getElementById('failing').hidden", what="it is over")

    @night
    def test_faults_do_not_hide_that_a_queue_fails_and_a_detour_is_not_green(self):
        def trouble(answer):
            answer["failing"] = [self.failing()]
            answer["faults"] = [{"since": answer["now"], "code": "refused", "text": "broken"}]
        server = self.open_changed(trouble)
        self.assertEqual(self.browser.text("#word"), "Working, with 1 fault; " + HOSTILE_SHOWN + " fails wholly")
        server.answer.update(failing=[], faults=[])
        server.answer["detours"][0]["messages"] = 4
        self.browser.await_text("#word", "Working, and 4 messages take a detour", "the detour")
        self.assertEqual(self.browser.run("return document.getElementById('verdict').className"), "bad")

    @night
    def test_on_a_phone_what_is_wrong_comes_before_the_drawing(self):
        self.open_changed(lambda answer: answer.update(failing=[self.failing()]), width=360)
        order = self.browser.run("""
            const all = [...document.querySelectorAll('*')];
            return ['verdict', 'failing', 'faults', 'flow', 'rates', 'day', 'queues'].map(id => all.indexOf(document.getElementById(id)))""")
        self.assertEqual(order, sorted(order))
        self.assertLess(self.browser.run("return document.getElementById('failing').getBoundingClientRect().top"),
                        self.browser.run("return document.getElementById('flow').getBoundingClientRect().top"))
        self.assertLessEqual(self.browser.width_needed(), 360)
        scene.paint("failing-phone")

    def test_a_finding_comes_with_its_remedy_and_its_command_can_be_copied(self):
        finding = {"code": "x", "severity": "problem", "since": 1, "cause": "<b>cause</b>", "consequence": "so", "remedy": "do <i>this</i>",
                   "command": "retryd attach --apply", "names": ["a", "b"]}
        self.open_changed(lambda answer: answer.update(checks={"checked": answer["now"], "findings": [finding]}))
        self.assertEqual(self.browser.texts("#faults li span")[0], "<b>cause</b>, and 1 other")
        self.assertIn("Remedy: do <i>this</i>", self.browser.text("#faults li"))
        self.assertEqual(self.browser.text("#faults li code"), "retryd attach --apply")
        self.browser.click_at("#faults button")
        self.browser.await_text("#faults button", re.compile("^(Copied|Selected)$"), "that it is copied")

    def test_an_outage_is_said_with_what_is_held_and_goes(self):
        def hold(answer):
            answer["outages"] = [
                {"work_queue": HOSTILE, "queue": "web.a.held", "state": "holding", "by_hand": False, "messages": 12400,
                 "since": answer["now"], "text": "holding: 12,400 messages since 14:02"},
                {"work_queue": "quiet", "queue": "quiet.held", "state": "none", "by_hand": False, "messages": 0,
                 "since": None, "text": ""}]
        server = self.open_changed(hold)
        self.assertEqual(self.browser.texts("#outages li span"), [HOSTILE_SHOWN + ": holding: 12,400 messages since 14:02"])
        self.assertEqual(self.browser.text("#word"), "Working, and holding the messages of 1 work queue")
        self.assertIn("12,400 held", self.browser.text("#waits"))
        server.answer["outages"][0].update(state="none", text="", messages=0)
        self.browser.await_text("#word", re.compile("^Working$"), "that it is over")
        self.assertTrue(self.browser.run("return document.getElementById('outages').hidden"))

    def test_an_answer_that_is_not_retryds_is_said(self):
        server = self.open_changed(lambda answer: None)
        server.answer = ["something else"]
        self.browser.await_text("#means", "is not retryd", "that the answer is odd")
