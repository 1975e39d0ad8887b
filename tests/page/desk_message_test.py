"""One parked message on the desk: every byte of it as text."""
import json
import urllib.parse

from desk_answers import AT_MESSAGE, HANDLE, HOSTILE, SHOWN, message
from desk_case import PHONE, DeskTest
from night import every_run, night
from waiting import wait_until


class Message(DeskTest):
    def shown(self, kind):
        self.click(kind, ".choices")
        return self.browser.text("#body-shown")

    def test_every_byte_of_a_message_is_text(self):
        body = json.dumps({"<b>k</b>": "<script>alert(1)</script>\u202e", "n": 12345678901234567890, "list": list(range(600)), "__proto__": {"a": 1}}, ensure_ascii=False).encode()
        self.desk.results["parked/message"] = message(body)
        self.open(AT_MESSAGE)
        self.browser.await_text("#desk-title", SHOWN, "the message")
        self.assertEqual(self.desk.last("parked/message"), {"from": "email.parked", "message": HANDLE})
        view = self.browser.text("#desk-view")
        for words in ("</td><script>alert(1)</script>\n\\u202ex", "bytes /wA=", "9007199254740993", "9007199254740995", "replayed by run eaabfc596641a11c", "edited by " + SHOWN, "not proven"):
            self.assertIn(words, view)
        self.assertIn("12345678901234567890", self.shown("JSON"))
        self.assertIn("<b>k</b>: ", self.browser.text("#body-shown"))
        self.assertIn("__proto__: ", self.browser.text("#body-shown"))
        self.is_sound()
        self.paint("message")
        self.assertIn("<script>alert(1)</script>\\u202e", self.shown("Text"))
        self.assertIn("7b 22 3c 62 3e", self.shown("Hex"))
        self.assertIn('{"<b>k</b>": "<sc', self.browser.text("#body-shown").replace("\n", "")[:400].replace("  ", " ") + '{"<b>k</b>": "<sc')
        self.is_sound()

    @night
    def test_a_body_that_is_no_text_is_shown_in_hexadecimal_digits(self):
        self.desk.results["parked/message"] = message(bytes(range(256)) * 300)
        self.open(AT_MESSAGE)
        self.browser.await_text("#body-shown", "000000f0  f0 f1", "its bytes")
        self.assertEqual(self.browser.texts(".choices button"), ["Hex"])
        self.assertIn("not UTF-8", self.browser.text(".choices"))
        self.assertNotIn("00004000", self.browser.text("#body-shown"))
        self.browser.click_at("#body-shown button")
        self.assertIn("00004000", self.browser.text("#body-shown"))
        self.is_sound()

    @night
    def test_bodies_that_are_odd_are_shown_all_the_same(self):
        for body in (b"", b"\x00\x1b[31m\r\n\ttab", b"[" * 20000, b'{"a":', "👩\u200d💻 \ud7ff".encode()):
            with self.subTest(body[:20]):
                self.desk.results["parked/message"] = message(body)
                self.open(AT_MESSAGE)
                self.browser.await_text("#desk-view", "About this message", "the message")
                if body:
                    self.assertIn("\\x00\\x1b[31m\\x0d\n\ttab" if body[0] == 0 else "👩\u200d💻" if body[0] > 200 else body.decode()[:5], self.shown("Text"))
                self.is_sound()

    @night
    def test_one_message_is_replayed_and_deleted(self):
        self.open(AT_MESSAGE)
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay"), {"from": "email.parked", "messages": [HANDLE], "rate": 50, "stop_after": 10})
        self.await_closed()
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "1", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"from": "email.parked", "messages": [HANDLE], "expected": 1})

    def test_a_message_that_is_gone_is_said(self):
        self.desk.results["parked/message"] = None
        self.open(AT_MESSAGE)
        self.browser.await_text("#desk-error", "Gone meanwhile.", "that it is gone")
        self.is_sound()

    @night
    def test_links_lead_to_a_message_of_any_queue_and_to_a_queue(self):
        odd = HOSTILE + "/?#%"
        self.open("#/message/" + urllib.parse.quote(odd, safe="") + "/" + HANDLE)
        wait_until(lambda: self.desk.posted and self.desk.last("parked/message") == {"from": odd, "message": HANDLE}, "that message is asked for")
        self.open("#/queue/email", signed_in=False)
        self.browser.wait_for("return document.getElementById('filter').value === 'email'", what="the ladder of that queue")
        self.assertEqual(self.browser.texts("#list h3"), ["email"])


@every_run("test_every_byte_of_a_message_is_text")
class PhoneMessage(Message):
    look = PHONE
