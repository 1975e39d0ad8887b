"""What is deleted on the desk: only after the number was typed, and only if there are so many."""
from selenium.webdriver.common.keys import Keys

from desk_answers import EMAIL, ODD, SHOWN, done, groups
from desk_case import PHONE, DeskTest
from night import night


class Delete(DeskTest):
    def test_deleting_asks_says_what_cannot_be_undone_and_wants_the_number(self):
        self.open("#/parked")
        self.click("Delete …", "#desk")
        self.assertIn("This cannot be undone", self.browser.text("dialog"))
        can_go = "return !document.querySelector('dialog button[type=submit]').disabled"
        self.assertFalse(self.browser.run(can_go))
        self.set("Type the number of messages", "411", "dialog")
        self.assertFalse(self.browser.run(can_go))
        self.browser.press(Keys.ENTER)
        self.browser.press(Keys.ESCAPE)
        self.await_closed()
        self.assertEqual([at for at, _ in self.desk.posted if at == "parked/drop"], [])
        self.assertEqual(self.browser.run("return document.activeElement.textContent"), "Delete …")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "412", "dialog")
        self.is_sound()
        self.paint("delete")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"all": True, "expected": 412})
        self.desk.finish(self.only_run(), None, state="failed", error="there are now 413 messages of these, not 412: nothing was dropped")
        self.browser.await_text("#runs-list", "there are now 413 messages of these, not 412: nothing was dropped", "why nothing was deleted")

    def test_a_dialog_that_opens_as_soon_as_another_is_closed_stays_as_it_is(self):
        self.open("#/parked")
        self.click("Delete …", "#desk")
        self.browser.run("""
            const dialog = document.getElementById('ask');
            const told = new Promise(done => dialog.addEventListener('close', done, {once: true}));
            dialog.close();
            [...document.querySelectorAll('#desk button')].find(each => each.innerText.trim() === 'Delete …').click();
            await told""")
        self.assertIn("This cannot be undone", self.browser.text("dialog"))

    @night
    def test_each_group_is_deleted_with_its_own_number(self):
        self.open("#/parked")
        self.browser.await_text("#desk-view table", SHOWN, "the groups")
        self.click_all("#desk-view tbody input")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "412", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {**EMAIL, "expected": 374})
        run = self.only_run()
        self.desk.finish(run, done(run, 374, 374))
        self.assertEqual(self.posted("parked/drop", 2), {**ODD, "expected": 38})

    @night
    def test_undeliverable_messages_are_counted_before_they_are_deleted(self):
        def with_one(body):
            made = groups(body)
            made["queues"][0]["undeliverable"] = [{"message_id": "u"}]
            return made
        self.desk.results["parked/groups"] = with_one
        self.desk.results["parked/drop"] = {"ok": True, "selected": 413, "done": 0}
        self.open("#/parked")
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("Delete …", "#desk")
        self.browser.await_text("dialog small", "413", "how many there are")
        self.set("Type the number of messages", "413", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop", 2), {"all": True, "expected": 413})

    @night
    def test_of_how_many_it_is_not_known_they_are_counted_before_they_are_deleted(self):
        self.open("#/list?queue=email")
        self.browser.await_text("#desk-title", "number 1 to 4", "the list")
        self.click("Delete …", "#desk")
        self.assertEqual(self.posted("parked/drop"), {"queue": "email", "dry_run": True})
        self.browser.await_text("dialog small", "412", "how many there are")
        self.set("Type the number of messages", "412", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop", 2), {"queue": "email", "expected": 412})


@night
class PhoneDelete(Delete):
    look = PHONE
