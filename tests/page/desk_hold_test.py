"""Work queues that are held and released on the desk."""
from selenium.webdriver.common.keys import Keys

from desk_answers import HOSTILE, SHOWN
from desk_case import PHONE, DeskTest
from night import night


class Hold(DeskTest):
    def held(self, state, text, **more):
        """The next answers of the daemon say that of the queue email."""
        self.server.answer["outages"] = [{"work_queue": "email", "queue": "email.held", "state": state, "by_hand": False, "messages": 12, "since": None, "text": text, **more}]

    def may_hold(self):
        for queue in self.server.answer["queues"]:
            queue["may_hold"] = True
        self.held("none", "", messages=0)

    buttons = "[...document.querySelectorAll(arguments[0] + ' .needs-desk button')].filter(e => e.checkVisibility()).map(e => e.textContent)"

    def can(self, inside):
        return self.browser.run("return " + self.buttons, inside)

    def await_can(self, inside, *wanted):
        self.browser.wait_for(f"return {self.buttons}.join() === arguments[1]", inside, ",".join(wanted), what=f"{wanted or 'nothing'} to click")

    def end_hold(self, action, **result):
        run = self.only_run()
        self.desk.finish(run, {"ok": True, "queue": "email", "held_queue": "email.held", "messages": 12, "notes": ["what follows from <b>that</b>"], **result})
        self.await_closed()
        self.browser.await_text("#runs-list", f"{action}: work queue email", "the run")
        self.browser.await_text("#runs-list", "what follows from <b>that</b>", "what follows")

    def test_a_work_queue_is_held_and_released_by_keyboard(self):
        self.may_hold()
        self.open("#/queue/email")
        self.await_can("#list", "Hold …")
        self.is_sound()
        self.browser.run("document.querySelector('#list .needs-desk button').focus()")
        self.browser.press(Keys.ENTER)
        self.browser.await_text("dialog", "its attempt unspent", "what follows")
        for words in ("What fails in email from now on is held in email.held", "A restart of retryd forgets it", "hold: true", "Only this retryd knows of it"):
            self.assertIn(words, self.browser.text("dialog"))
        self.is_sound()
        self.paint("hold")
        self.browser.press(Keys.ENTER)
        self.assertEqual(self.posted("queue/hold"), {"queue": "email"})
        self.held("holding", "holding: 12 messages since 14:02, by the desk since 14:02", by_hand=True, desk_since=1)
        self.end_hold("Hold", state="holding")
        self.browser.await_text("#list .hold", "by the desk since 14:02. Until it is released here. A restart of retryd forgets it.", "since when")
        self.assertEqual(self.can("#list"), ["Release …"])
        self.assertEqual(self.can("#outages"), ["Release …"])
        self.assertEqual(self.browser.run("return document.activeElement.getAttribute('aria-label')"), "Release: email")
        self.is_sound()
        self.paint("held")
        self.browser.press(Keys.ENTER)
        self.browser.await_text("dialog", "12 held messages go home to email now", "what follows")
        self.assertIn("What fails again spends an attempt.", self.browser.text("dialog"))
        self.is_sound()
        self.paint("release")
        self.browser.press(Keys.ENTER)
        self.assertEqual(self.posted("queue/release"), {"queue": "email"})
        self.held("releasing", "releasing: 12 messages left, 50 a second")
        self.end_hold("Release", state="releasing", per_second=50)
        self.browser.await_text("#list .hold", "releasing: 12 messages left, 50 a second", "how fast")
        self.assertEqual(self.can("#list"), ["Hold …"])
        self.is_sound()

    @night
    def test_an_outage_is_released_beside_what_waits_and_a_refusal_is_said_in_the_dialog(self):
        self.may_hold()
        self.held("holding", "holding: 12 messages since 14:02, next in 2 s", work_queue=HOSTILE, queue=HOSTILE + ".held")
        self.open("#/waiting")
        self.browser.await_text("#desk-view .held", SHOWN + ": holding: 12 messages", "what is held")
        self.assertEqual(self.can("#desk-view"), ["Hold …", "Release …"])
        self.is_sound()
        self.paint("waiting-held")
        self.click("Release …", "#desk-view")
        self.assertIn("12 held messages go home to " + SHOWN, self.browser.text("dialog"))
        self.click("Release", "dialog")
        self.assertEqual(self.posted("queue/release"), {"queue": HOSTILE})
        self.desk.finish(self.only_run(), None, "failed", error="nothing was done: <b>no</b> entry\u202e")
        self.browser.await_text("dialog [role=alert]", "nothing was done: <b>no</b> entry\\u202e", "why not")
        self.is_sound()
        self.click("Cancel", "dialog")
        self.await_closed()
        self.server.answer["outages"] = []
        self.await_can("#desk-view")

    @night
    def test_what_the_entry_holds_is_not_released_here_and_who_is_not_signed_in_sees_no_button(self):
        self.may_hold()
        self.held("holding", "holding: 12 messages, by hand", by_hand=True)
        self.open("#/queue/email")
        self.browser.await_text("#outages", "Its entry says hold: true. To release it, take that out and reload.", "how it ends")
        self.assertEqual(self.can("body"), [])
        self.is_sound()
        self.held("holding", "holding: 12 messages since 14:02")
        self.await_can("#list", "Hold …", "Release …")
        self.click("Sign out")
        self.browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertEqual(self.can("body"), [])
        self.browser.await_text("#outages", "email: holding: 12 messages", "that it is still said")
        del self.server.answer["outages"]
        for queue in self.server.answer["queues"]:
            del queue["may_hold"]
        self.open("#/queue/email")
        self.browser.await_text("#list", "email", "the queue")
        self.assertEqual(self.can("body"), [])


@night
class PhoneHold(Hold):
    look = PHONE
