"""What the page says of a real daemon, and that it goes on saying it."""
import os
import re

import scene
from night import night
from page_case import EMAIL, HOSTILE, HOSTILE_SHOWN, INVOICE, PUSH, QUEUES, SMS, PageTest
from waiting import wait_until


class Numbers(PageTest):
    def agrees_with_the_broker(self):
        depths = self.broker.depths()
        for queue, delays in QUEUES:
            ladder = self.browser.ladders()[queue.replace(HOSTILE, HOSTILE_SHOWN)]
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
        self.browser.await_text("#waits", "8 messages wait for a retry, 2 parked", "the sums")
        self.assertIn("8 waiting", self.browser.text("#flow-words"))
        self.assertRegex(self.browser.text("#reasons tbody"), "attempts-exhausted.*2$")
        self.assertRegex(self.browser.text("#facts"), r"RabbitMQ \d+\.\d+")
        scene.paint("light-desktop")

    @night
    def test_a_while_after_the_last_failure_it_says_that_it_works(self):
        wait_until(lambda: self.daemon.status().get("failing") == [], "nothing fails any more", within=150)
        self.open()
        self.assertEqual(self.daemon.status()["faults"], [])
        self.browser.await_text("#word", re.compile("^Working$"), "that nothing fails any more")

    def test_it_updates_without_being_loaded_again(self):
        self.open()
        self.await_ladder(SMS, "3h", "0")
        self.browser.run("window.same = document.querySelector('#list h3')")
        self.broker.fail(SMS)
        self.addCleanup(self.broker.ask, "DELETE", self.broker.at(SMS + ".retry.3h") + "/contents")
        self.await_ladder(SMS, "3h", "1")
        self.assertTrue(self.browser.run("return window.same?.isConnected"))

    def test_what_fails_is_said_above_all(self):
        self.open()
        self.await_ladder(PUSH, "3h", "0")
        self.broker.fail(PUSH, 3)
        # The broker's count of what waits comes a moment later.
        self.browser.wait_for("""
            const row = [...document.querySelectorAll('#failing li')].find(each => each.querySelector('h3').textContent === arguments[0]);
            return /3 a minute.*next retry (in|within) 3 h/.test(row?.textContent)""", PUSH, what=f"{PUSH} fails, and its next retry is named")
        self.assertNotEqual(self.browser.run("return document.getElementById('verdict').className"), "good")
        self.broker.ask("DELETE", self.broker.at(PUSH + ".retry.3h") + "/contents")

    def test_the_day_is_drawn(self):
        day = self.daemon.history()
        self.assertEqual(day["interval_ms"], 60000)
        self.assertIn(EMAIL, [queue["work_queue"] for queue in day["failing"]])
        self.open()
        self.browser.await_text("#day-failing", EMAIL, "in which queue messages failed")
        self.assertTrue(self.browser.run("return document.querySelector('#day-charts path').hasAttribute('d')"))

    def test_which_broker_and_vhost_it_is_about_is_said(self):
        self.open()
        vhost = os.environ["RETRYD_TEST_VHOST"]
        self.browser.await_text("#where", f"vhost {vhost}", "the vhost")
        self.assertIn("127.0.0.1:", self.browser.text("#where"))
        self.assertIn(self.browser.text("#where"), self.browser.run("return document.title"))

    def test_names_of_queues_are_text_whatever_they_are(self):
        self.open()
        self.await_ladder(HOSTILE_SHOWN, "2h", "3")
        self.assertEqual(self.browser.run("return document.querySelectorAll('main img, main script').length"), 0)
        self.assertEqual(self.browser.console_messages(), [])

    def test_no_other_host_is_asked_and_nothing_is_on_the_console(self):
        self.browser.requests()
        self.open()
        self.browser.wait_for("return performance.getEntriesByType('resource').length >= 3", what="three answers")
        asked = [url for url in self.browser.requests() if not url.startswith("data:")]
        self.assertIn(self.daemon.url + "/status.json", asked)
        self.assertEqual([url for url in asked if not url.startswith(self.daemon.url + "/")], [])
        self.assertEqual(self.browser.console_messages(), [])
