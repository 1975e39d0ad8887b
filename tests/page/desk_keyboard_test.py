"""The desk by keyboard and with a screen reader."""
from selenium.webdriver.common.keys import Keys

from desk_case import DeskTest


class Keyboard(DeskTest):
    def test_all_that_can_be_used_is_reached_and_shows_it(self):
        self.open("#/parked")
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.browser.run("document.body.focus()")
        seen = []
        for _ in range(40):
            self.browser.press(Keys.TAB)
            what, style, width = self.browser.run("""
                const e = document.activeElement, s = getComputedStyle(e);
                return [e === document.body ? '' : e.id || e.textContent + (e.ariaLabel ?? ''), s.outlineStyle, parseFloat(s.outlineWidth)]""")
            if not what or what in seen:
                break
            seen.append(what)
            self.assertTrue(style != "none" and width >= 2, f"{what} shows no focus")
        for wanted in ("Parked messages", "sign", "filter-queue", "Replay …", "Delete …", "email", "Show the messages one by one"):
            self.assertIn(wanted, seen)
        self.assertLess(seen.index("filter-queue"), seen.index("Replay …"))

    def test_a_dialog_keeps_the_focus_and_escape_gives_it_back(self):
        self.open("#/parked")
        self.click("Replay …", "#desk")
        for _ in range(12):
            self.browser.press(Keys.TAB)
            self.assertTrue(self.browser.run("return document.activeElement === document.body || document.getElementById('ask').contains(document.activeElement)"))
        self.browser.press(Keys.ESCAPE)
        self.await_closed()
        self.assertEqual(self.browser.run("return document.activeElement.textContent"), "Replay …")
        self.assertEqual([at for at, _ in self.desk.posted if at == "parked/replay"], [])

    def test_a_view_that_is_opened_gets_the_focus_at_its_title(self):
        self.open("#/parked")
        self.browser.await_text("#desk-title", "412 messages", "the groups")
        self.click("Waiting")
        self.browser.await_text("#desk-title", "Waiting on rungs", "the rungs")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "desk-title")
        tree = self.browser.accessible()
        self.assertEqual([name for role, name, properties in tree if role == "heading" and properties.get("level") == 1], ["retryd"])
        self.assertIn("status", [role for role, _, _ in tree])
