"""A parked message that is edited on the desk, and that nothing which was typed is lost."""
import base64
import copy

from selenium.webdriver.common.keys import Keys

from desk_answers import AT_MESSAGE, HANDLE, done, message
from desk_case import PHONE, DeskTest
from night import night


class Edit(DeskTest):
    def test_editing_sends_what_is_changed_and_nothing_else(self):
        self.open(AT_MESSAGE)
        self.click("Edit …", "#desk")
        self.is_sound()
        self.paint("edit")
        self.click("Cancel", "#desk")
        self.browser.await_text("#desk-view", "About this message", "the message as it was")
        self.click("Edit …", "#desk")
        self.click("Send changed message home", "#desk")
        self.browser.await_text("#desk-view [role=alert]", "Nothing is changed", "that there is nothing to do")
        self.browser.type_into("#edit-body", "mended")
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "body": "mended"})

    @night
    def test_headers_are_sent_back_exactly_with_what_is_changed(self):
        self.open(AT_MESSAGE)
        self.click("Edit …", "#desk")
        self.browser.type_into(".header-row textarea", "other")
        self.click("Add a header", "#desk")
        self.browser.press("new", Keys.TAB, Keys.TAB, "x")
        self.click("Send changed message home", "#desk")
        expected = copy.deepcopy(message()["editable_headers"])
        expected[0]["value"] = "other"
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "headers": expected + [{"name": "new", "type": "longstr", "value": "x"}]})

    @night
    def test_properties_and_removed_headers(self):
        self.open(AT_MESSAGE)
        self.click("Edit …", "#desk")
        self.click("Remove", ".header-row:nth-child(2)")
        self.click("Properties", "#desk")
        self.set("priority", "4", "#desk")
        self.press_in("content-type", Keys.DELETE, "#desk")
        self.set("To another queue", "elsewhere", "#desk")
        self.click("Send changed message home", "#desk")
        expected = copy.deepcopy(message()["editable_headers"])
        del expected[1]
        self.assertEqual(self.posted("parked/edit"), {"from": "email.parked", "message": HANDLE, "headers": expected, "properties": {"delivery-mode": 2, "priority": 4}, "to": "elsewhere"})

    @night
    def test_a_body_that_no_field_holds_exactly_is_edited_as_base64(self):
        self.desk.results["parked/message"] = message(b"one\r\ntwo")
        self.open(AT_MESSAGE)
        self.click("Edit …", "#desk")
        self.assertEqual(self.browser.run("return document.getElementById('edit-body').value"), base64.b64encode(b"one\r\ntwo").decode())
        self.browser.type_into("#edit-body", "AAE=")
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit")["body_base64"], "AAE=")

    def test_what_is_typed_outlives_a_run_that_ends_and_a_sign_in(self):
        self.open(AT_MESSAGE)
        self.click("Replay …", "#desk")
        self.click("Replay", "dialog")
        self.posted("parked/replay")
        self.await_closed()
        run = self.only_run()
        self.click("Edit …", "#desk")
        self.browser.type_into("#edit-body", "mended")
        self.desk.finish(run, done(run, 1, 1))
        self.browser.await_text("#runs-news", "Replay: done", "that the run has ended")
        self.desk.sign_out()
        self.click("Send changed message home", "#desk")
        self.browser.await_text("dialog", "Your session is over", "that it is over")
        self.sign_in()
        self.await_closed()
        self.assertEqual(len([at for at, _ in self.desk.posted if at == "parked/message"]), 1)
        self.click("Send changed message home", "#desk")
        self.assertEqual(self.posted("parked/edit")["body"], "mended")

    @night
    def test_a_dialog_that_is_typed_in_is_there_again_after_a_sign_in(self):
        self.open(AT_MESSAGE)
        self.click("Replay …", "#desk")
        self.set("Messages a second", "7", "dialog")
        self.desk.sign_out()
        self.click("Replay", "dialog")
        self.browser.await_text("dialog", "Your session is over", "that it is over")
        self.sign_in()
        self.browser.await_text("dialog h2", "Replay this message", "the dialog of before")
        self.click("Replay", "dialog")
        self.assertEqual(self.posted("parked/replay")["rate"], 7)


@night
class PhoneEdit(Edit):
    look = PHONE
