"""The desk with a real daemon and RabbitMQ: the daemon's own answers, from its own broker."""
import base64
import json
import urllib.parse

from desk_answers import HOSTILE, SHOWN
from desk_case import PHONE, DeskTest, live_queue, live_queue_shown
from night import night
from waiting import wait_until


class Live(DeskTest):
    name = "desk"

    def setUp(self):
        self.browser.set_view(**self.look)
        self.browser.tell("Network.clearBrowserCookies")

    def fail_one(self, queue, body):
        headers = {"tenant": HOSTILE, "</td><script>alert(1)</script>": "</td><script>alert(1)</script>\n\u202ex"}
        self.broker.ask("POST", f"/exchanges/{self.broker.vhost}/amq.default/publish", {
            "routing_key": queue, "payload": base64.b64encode(body).decode(), "payload_encoding": "base64", "properties": {"headers": headers, "content_type": "application/json"}})
        self.broker.reject(queue)

    def await_waiting(self, queue, messages):
        def waiting():
            rungs = self.daemon.command("waiting", "list")[0]["rungs"]
            return sum(rung["messages"] for rung in rungs if rung["rung"] == queue + ".retry.1h") == messages
        wait_until(waiting, f"{messages} wait for their retry")

    def await_outcome(self, words):
        self.browser.await_text("#runs-list", words, f"'{words}'")

    def test_each_action_with_a_real_daemon_and_broker(self):
        queue, shown = live_queue(self.name), live_queue_shown(self.name)
        for body in (b'{"n": 12345678901234567890, "<script>": "</script>\xe2\x80\xae"}', b"\xff\x00", b"third"):
            self.fail_one(queue, body)
        self.await_waiting(queue, 3)
        self.browser.open(self.daemon.url + "/#/waiting")
        self.await_open()
        self.sign_in()
        self.browser.await_text("#desk-title", "Waiting on rungs: 3 messages", "what waits")
        self.click("Park …", "#desk-view tbody")
        self.click("Park", "dialog")
        self.await_outcome("3 parked")
        self.click("Parked messages")
        self.browser.await_text("#desk-title", "3 messages, 1 group", "the groups")
        self.assertIn(shown, self.browser.text("#desk-view table"))
        self.is_sound()
        self.click(shown, "#desk-view")
        self.browser.await_text("#desk-title", "number 1 to 3", "its messages")
        self.browser.click_at("#desk-view tbody a")
        self.browser.await_text("#desk-title", "A message of " + shown, "the first message")
        view = self.browser.text("#desk-view")
        for words in ("</td><script>alert(1)</script>\n\\u202ex", SHOWN.replace("\\\\", "\\"), "12345678901234567890", "by-hand", "written by retryd"):
            self.assertIn(words, view)
        self.is_sound()
        self.click("Edit …", "#desk")
        self.browser.type_into("#edit-body", "mended")
        self.click("Send changed message home", "#desk")
        self.await_outcome("1 of 1 sent home, changed: body")
        got, = self.broker.ask("POST", self.broker.at(queue) + "/get", {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"})
        self.assertEqual(got["payload"], "mended")
        self.assertIn("retryd-edited", got["properties"]["headers"])
        self.click("Parked messages")
        self.browser.await_text("#desk-title", "2 messages, 1 group", "what is left")
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.await_outcome("2 of 2 sent home")
        self.broker.reject(queue, 2)
        self.await_waiting(queue, 2)
        self.click("Undo …", "#runs")
        self.browser.await_text("dialog", "2 messages wait on a rung and can be taken back.", "how many there are")
        self.click("Park it again", "dialog")
        self.await_outcome("2 taken back")
        self.browser.await_text("#desk-title", "2 messages, 1 group", "that they are parked again")
        self.browser.click_at("#desk-view thead input")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "2", "dialog")
        self.click("Delete for good", "dialog")
        self.await_outcome("2 of 2 deleted")
        self.browser.await_text("#desk-view", "Nothing is parked.", "that nothing is left")
        self.click("Sign out")
        self.browser.await_text("#sign", "Sign in", "that one is signed out")
        self.assertEqual(self.browser.console_messages(), [])
        audited = [json.loads(line) for line in self.daemon.audit().splitlines()]
        changed = [line["action"] for line in audited if line["event"] == "end" and line["outcome"] == "done" and line["messages"]]
        for action in ("waiting park", "parked edit", "parked replay", "parked undo", "parked drop"):
            self.assertIn(action, changed)

    def test_a_work_queue_is_held_and_released_with_a_real_daemon_and_broker(self):
        queue = live_queue(self.name + "-hold")
        self.browser.open(self.daemon.url + "/#/queue/" + urllib.parse.quote(queue, safe=""))
        self.browser.await_text("#sign", "Sign in", "that one can sign in")
        self.click("Sign in")
        self.sign_in()
        self.await_closed()
        self.click("Hold …", "#list")
        self.click("Hold", "dialog")
        self.await_closed()
        self.browser.await_text("#list .hold", "by the desk since", "that it is held")
        self.fail_one(queue, b"held")
        self.browser.await_text("#list .hold", "holding: 1 message since", "that one is held")
        self.is_sound()
        self.click("Release …", "#list")
        self.click("Release", "dialog")
        self.await_closed()
        self.await_outcome("goes home now: 1 message, at first 20 a second")
        got, = wait_until(lambda: self.broker.ask("POST", self.broker.at(queue) + "/get", {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}), "it comes home")
        self.assertEqual((got["payload"], got["properties"]["headers"]["retryd-attempt"]), ("held", 0))
        audited = [json.loads(line) for line in self.daemon.audit().splitlines()]
        self.assertEqual([(line["action"], line["event"]) for line in audited if line["request"] == {"queue": queue}],
                         [("queue hold", "begin"), ("queue hold", "end"), ("queue release", "begin"), ("queue release", "end")])


@night
class PhoneLive(Live):
    look = PHONE
    name = "phone"
