"""What is sent home or parked again from the desk, with its progress, its end and its undoing."""
from selenium.webdriver.common.keys import Keys

from desk_answers import EMAIL, HOSTILE, ODD, SHOWN, done
from desk_case import PHONE, DeskTest
from night import night
from waiting import wait_until


class Replay(DeskTest):
    def test_a_replay_of_groups_with_progress_a_stop_and_its_outcome(self):
        self.open("#/parked")
        self.browser.await_text("#desk-view table", SHOWN, "the groups")
        self.click_all("#desk-view tbody input")
        self.browser.await_text(".bar", "412 messages in 2 groups chosen", "what is chosen")
        self.click("Replay …", "#desk")
        self.is_sound()
        self.paint("replay")
        self.set("Messages a second", "7", "dialog")
        self.press_in("Begin slowly, and get faster as long as they succeed", Keys.SPACE, "dialog")
        self.set("Stop after so many failures", "never", "dialog")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {**EMAIL, "rate": 7, "stop_after": "never", "ramp": True})
        self.await_closed()
        run = self.only_run()
        self.desk.runs[run]["progress"].update(doing="replayed", done=206, note="3 failed <b>\u202e")
        self.browser.await_text("#runs-list", "replayed 206 of 412 in email.parked, 3 failed <b>\\u202e", "how far it is, and what fails")
        self.assertEqual(self.browser.run("return document.querySelector('#runs-list progress').value"), 206)
        self.is_sound()
        self.paint("running")
        self.desk.finish(run, done(run, 370, 374, failed_again=4, ended_text="stopped: <i>4</i> failed"))
        self.browser.await_text("#runs-list", "370 of 374 sent home, 4 failed again", "what came of it")
        self.assertIn("stopped: <i>4</i> failed", self.browser.text("#runs-list"))
        # The second group begins when the first one is done.
        self.assertEqual(self.posted("parked/replay", 2), {**ODD, "rate": 7, "stop_after": "never", "ramp": True})
        second = self.only_run()
        self.browser.await_text("#runs-list", "running", "the second run")
        self.click("Stop", "#runs")
        wait_until(lambda: self.desk.stopped == [second], "it is told to stop")
        self.desk.finish(second, {**done(second, 3, 38), "ok": False}, state="stopped")
        self.browser.await_text("#runs-list", "3 of 38 sent home", "what came of it")
        self.browser.await_text("#runs-news", "Replay: stopped. 3 of 38 sent home", "that it is announced")

    @night
    def test_what_is_busy_is_said_in_the_dialog(self):
        self.open("#/parked")
        self.desk.faults["parked/replay"] = (409, "busy", "a drop works on email.parked: <b>wait</b>")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.browser.await_text("dialog [role=alert]", "a drop works on email.parked: <b>wait</b>", "why not")
        self.assertTrue(self.browser.run("return document.getElementById('ask').open"))

    @night
    def test_all_that_there_is_is_said_to_be_all(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        self.assertIn("Replay 412 messages", self.browser.text("dialog"))
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {"all": True, "rate": 50, "stop_after": 10})
        self.await_closed()
        self.click("Replay …", "#desk")
        self.click("More", "dialog")
        self.set("To another queue", HOSTILE.replace("\x07", ""), "dialog")
        self.press_in("Only try: nothing is sent", Keys.SPACE, "dialog")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay", 2), {"all": True, "rate": 50, "stop_after": 10, "to": HOSTILE.replace("\x07", ""), "dry_run": True})

    @night
    def test_a_replay_is_undone_as_long_as_it_waits(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.posted("parked/replay")
        run = self.only_run()
        self.desk.finish(run, done(run, 412, 412))
        self.click("Undo …", "#runs")
        self.browser.await_text("dialog", "7 messages wait on a rung and can be taken back.", "how many there are")
        self.assertEqual(self.desk.last("parked/undo"), {"run": run, "dry_run": True})
        self.click("Park it again", "dialog")
        wait_until(lambda: self.desk.last("parked/undo") == {"run": run}, "it is undone")
        undo = self.only_run()
        self.desk.finish(undo, {"ok": True, "done": 7, "rungs": [{"rung": "email.retry.1h", "selected": 7, "done": 7}], "notes": [], "not_seen": []})
        self.browser.await_text("#runs-list", "7 taken back", "what came of it")

    def test_what_waits_is_sent_home_or_parked(self):
        self.open("#/waiting")
        self.browser.await_text("#desk-view", SHOWN, "the rungs")
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

    def test_the_runs_of_others_are_seen(self):
        self.desk.begin("parked/drop", {"from": "email.parked", "all": True})
        self.open("#/runs")
        self.browser.await_text("#runs-list", "Delete: all of email.parked", "the run of another one")
        self.is_sound()
        run = self.only_run()
        self.desk.finish(run, done(run, 3, 4, refused=1))
        self.click("What came of it", "#runs")
        self.browser.await_text("#runs-list", "3 of 4 deleted, 1 refused", "what came of it")


@night
class PhoneReplay(Replay):
    look = PHONE
