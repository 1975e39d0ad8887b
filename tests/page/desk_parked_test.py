"""What is parked, as the desk shows it: in groups, filtered, and one by one to choose from."""
from selenium.webdriver.common.keys import Keys

from desk_answers import HOSTILE, SHOWN, done
from desk_case import PHONE, DeskTest
from night import every_run
from waiting import wait_until


class Parked(DeskTest):
    def test_groups_by_all_that_they_can_be_grouped_by(self):
        self.open("#/parked")
        self.browser.await_text("#desk-view table", SHOWN, "the hostile queue, as text")
        self.assertIn("one queue is <b>away</b>", self.browser.text(".notes"))
        self.assertEqual(self.desk.last("parked/groups"), {})
        self.is_sound()
        self.paint("groups")
        for by in ("queue", "reason", "type", "exchange"):
            self.browser.run("""const by = document.getElementById('filter-by'); by.value = arguments[0]; by.dispatchEvent(new Event('change', {bubbles: true}))""", by)
            wait_until(lambda by=by: self.desk.last("parked/groups") == {"by": by}, f"groups by {by}")
            self.browser.await_text("#desk-view table", "(all further values)", "the groups")
        self.browser.run("""const by = document.getElementById('filter-by'); by.value = '*'; by.dispatchEvent(new Event('change', {bubbles: true}))""")
        self.browser.press("tenant", Keys.ENTER)
        wait_until(lambda: self.desk.last("parked/groups") == {"by": "tenant"}, "groups by a header")
        self.browser.wait_for("return [...document.querySelectorAll('#desk-view tbody a')].some(link => link.href.includes('header=tenant'))", what="the groups by a header")
        self.browser.await_text("#desk-view table", "bytes /wA=", "a value that is no text")
        enabled = self.browser.run("return [...document.querySelectorAll('#desk-view tbody input')].map(box => !box.disabled)")
        self.assertEqual(enabled, [True, False, False])
        self.click(SHOWN, "#desk-view")
        wait_until(lambda: self.desk.posted[-1][0] == "parked/messages", "the list of that group")
        self.assertEqual(self.desk.last("parked/messages"), {"from": "email.parked", "headers": [{"name": "tenant", "value": HOSTILE}], "limit": 100})

    def test_filters_are_what_is_posted(self):
        self.open("#/parked")
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("More filters", "#desk")
        self.set("Work queue", "em*")
        self.set("Older than", "2h")
        self.set("Header", "tenant=a=b")
        self.click("Show", "#desk")
        wait_until(lambda: self.desk.last("parked/groups") == {"queue": "em*", "older_than": "2h", "headers": [{"name": "tenant", "value": "a=b"}]}, "the filter")

    def test_messages_are_chosen_one_by_one_over_pages(self):
        self.open("#/list?queue=email")
        self.browser.await_text("#desk-view table", SHOWN, "the list")
        self.is_sound()
        self.paint("list")
        for i in (0, 1, 2):
            self.click_nth("#desk-view tbody input", i)
        self.browser.await_text(".bar", "3 messages chosen", "how many are chosen")
        self.browser.click_at("#desk-view thead input")
        self.browser.await_text(".bar", "4 messages chosen", "that all are chosen")
        self.click_nth("#desk-view tbody input", 3)
        self.browser.await_text(".bar", "3 messages chosen", "how many are chosen")
        self.click("Delete …", "#desk")
        self.set("Type the number of messages", "3", "dialog")
        self.click("Delete for good", "dialog")
        self.assertEqual(self.posted("parked/drop"), {"from": "email.parked", "messages": [f"{0:032x}", f"{2:032x}"], "expected": 2})
        self.browser.await_text("#runs-list", "Delete: 2 messages of email.parked", "how many are deleted")
        run = self.only_run()
        self.desk.finish(run, done(run, 2, 2))
        self.assertEqual(self.posted("parked/drop", 2), {"from": "odd.parked", "messages": [f"{1:032x}"], "expected": 1})
        self.click("Next 100")
        self.browser.await_text("#desk-title", "number 5 to 5", "the second page")
        self.assertEqual(self.desk.last("parked/messages"), {"queue": "email", "after": 4, "limit": 100})
        self.click("From the beginning")
        self.browser.await_text("#desk-title", "number 1 to 4", "the first page")


@every_run("test_groups_by_all_that_they_can_be_grouped_by")
class PhoneParked(Parked):
    look = PHONE
