"""Signing in to the desk and out, and what the end of a session does to who is at work."""
from desk_case import PHONE, DeskTest
from night import night
from waiting import wait_until


class Session(DeskTest):
    def test_without_a_desk_the_page_is_what_it_was_and_asks_nothing(self):
        del self.server.answer["desk"]
        self.open(signed_in=False)
        asked = self.server.asked
        wait_until(lambda: self.server.asked > asked + 1, "two answers")
        self.assertFalse(self.browser.shows("#desk-nav"))
        self.assertEqual(self.desk.asked, 0)
        self.assertIn("This page only looks.", self.browser.text("footer"))

    def test_signing_in_and_out(self):
        self.open(signed_in=False)
        self.browser.await_text("#sign", "Sign in", "that one can sign in")
        self.assertFalse(self.browser.shows("#desk-nav a[href='#/parked']"))
        self.click("Sign in")
        self.sign_in("wrong")
        self.browser.await_text("dialog [role=alert]", "That is not the password.", "that the password is wrong")
        self.assertEqual(self.browser.run("return document.getElementById('password').value"), "")
        self.browser.console_messages()   # Chromium tells of every 401
        self.is_sound()
        self.sign_in()
        self.await_closed()
        self.click("Parked messages")
        self.browser.await_text("#desk-title", "412 messages, 2 groups", "the groups")
        self.click("Sign out")
        self.browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertIsNone(self.desk.session)
        self.assertFalse(self.browser.shows("#desk"))
        self.assertTrue(self.browser.shows("#queues"))

    @night
    def test_the_end_of_a_session_is_told_and_one_goes_on_where_one_was(self):
        self.open("#/list?queue=email")
        self.browser.await_text("#desk-title", "number 1 to 4", "the list")
        self.desk.sign_out()
        self.click("Next 100")
        self.browser.await_text("dialog", "Your session is over", "that it is over")
        self.assertIn("Nothing that runs was stopped", self.browser.text("dialog"))
        self.paint("session-over")
        self.sign_in()
        self.browser.await_text("#desk-title", "number 5 to 5", "the place that one was on the way to")

    @night
    def test_who_waits_too_long_between_wrong_passwords_is_told(self):
        self.open("#/parked", signed_in=False)
        # Once the page has asked whether somebody is signed in: that is the same path.
        self.await_open()
        self.desk.faults["session"] = (429, "wait", "Too many wrong passwords: wait 8 s")
        self.sign_in()
        self.browser.await_text("dialog [role=alert]", "wait 8 s", "how long to wait")

    @night
    def test_a_token_of_before_is_renewed(self):
        self.open("#/parked")
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.desk.faults["parked/groups"] = (403, "csrf", "the token is another one")
        self.click("Show", "#desk")
        self.posted("parked/groups", 2)
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.assertEqual(self.browser.text("#desk-error"), "")


@night
class PhoneSession(Session):
    look = PHONE
