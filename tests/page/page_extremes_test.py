"""The page of a daemon that has nothing, or very much, and while nobody looks."""
import re

from night import night
from page_case import EMAIL, HOSTILE, HOSTILE_SHOWN, PageTest
from waiting import wait_until


class Extremes(PageTest):
    def test_the_day_shows_what_is_known_of_it(self):
        history = {"now": 1764000000000, "retried": [10] * 700 + [50] * 5, "parked": [0] * 705, "dropped": [1] * 705,
                   "failing": [{"work_queue": HOSTILE, "failures": [3, 4]}]}
        self.open_changed(lambda answer: None, history=history, width=360)
        self.browser.await_text("#day-charts", "Retried 7,250", "the sum of the day")
        self.assertIn("peak 250 in five minutes", self.browser.text("#day-charts"))
        self.assertIn(HOSTILE_SHOWN + " 7", self.browser.text("#day-failing"))
        self.assertLessEqual(self.browser.width_needed(), 360)
        self.assertEqual(self.browser.low_contrasts(), [])
        self.assertEqual(self.browser.console_messages(), [])

    @night
    def test_an_empty_daemon_says_what_will_come(self):
        def empty(answer):
            answer.update(queues=[], ladders=[], parked_by_reason=[])
            answer["catch_all"]["messages"] = None
            answer["rates"].update(retried=[], parked=[], dropped=[])
        self.open_changed(empty, width=360)
        self.assertIn("Nothing waits for a retry, nothing parked", self.browser.text("#waits"))
        self.assertIn("No work queue yet", self.browser.text("#left-out"))
        self.assertLessEqual(self.browser.width_needed(), 360)
        self.assertEqual(self.browser.console_messages(), [])

    def test_a_thousand_queues_stay_usable(self):
        def multiply(answer):
            model = next(q for q in answer["queues"] if q["work_queue"] == EMAIL)
            def queue(i):
                rungs = [{**rung, "messages": i % 7 if i < 100 else 0} for rung in model["rungs"]]
                return {**model, "work_queue": f"tenant-{i:04}", "rungs": rungs, "parked": {"queue": f"p{i}", "messages": 0}}
            answer.update(queues=[queue(i) for i in range(1000)], queues_left_out=17)
        self.open_changed(multiply, width=360)
        self.assertLessEqual(len(self.browser.ladders()), 24)
        self.assertRegex(self.browser.text("#rest summary"), r"^9\d\d quiet queues")
        self.assertIn("17 more are left out", self.browser.text("#left-out"))
        self.assertLessEqual(self.browser.width_needed(), 360)
        self.assertLess(self.browser.run("return document.querySelectorAll('*').length"), 3000)
        self.browser.click_at("#more")
        self.assertEqual(len(self.browser.ladders()), 48)
        self.browser.type_into("#filter", "tenant-0999")
        self.assertEqual(list(self.browser.ladders()), ["tenant-0999"])

    @night
    def test_a_long_name_fits_a_phone(self):
        def lengthen(answer):
            answer["queues"][0]["work_queue"] = "x" * 255
            answer["queues"][0]["parked"] = {"queue": "y" * 255, "messages": 3}
        self.open_changed(lengthen, width=360)
        self.assertLessEqual(self.browser.width_needed(), 360)

    def test_nothing_is_asked_while_nobody_looks(self):
        server = self.open_changed(lambda answer: None)
        self.browser.run("""
            Object.defineProperty(document, 'hidden', {configurable: true, get: () => window.away});
            window.away = true; document.dispatchEvent(new Event('visibilitychange'))""")
        asked = server.asked
        # The age goes on; by then two more answers would have come.
        self.browser.await_text("#age", re.compile("seen ([6-9]|[1-5][0-9]) s ago"),
                                "an age of six seconds or more", within=60)
        self.assertLessEqual(server.asked, asked + 1)  # one may have been under way
        asked = server.asked
        self.browser.run("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
        wait_until(lambda: server.asked > asked, "it is asked again")
