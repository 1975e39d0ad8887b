"""Who can use the page: with any theme, on a phone, by keyboard, with a screen reader."""
from selenium.webdriver.common.keys import Keys

import scene
from page_case import EMAIL, INVOICE, PageTest


class Use(PageTest):
    def test_what_to_type_can_be_copied(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        command = f"retryd parked list -c {self.daemon.config} --queue {INVOICE}"
        self.assertEqual(self.browser.texts("#todo code"), [command])
        self.browser.tell("Browser.grantPermissions", origin=self.daemon.url,
                          permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        self.browser.run("document.querySelector('#todo button').focus()")
        self.browser.press(Keys.ENTER)
        self.browser.await_text("#todo button", "Copied", "that it is copied")

    def test_both_themes_have_contrast(self):
        grounds = set()
        for theme in ("light", "dark"):
            with self.subTest(theme):
                self.open(theme=theme)
                self.await_ladder(INVOICE, "parked", "2")
                self.assertEqual(self.browser.low_contrasts(), [])
                grounds.add(self.browser.run("return getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(len(grounds), 2)

    def test_a_phone_shows_it_all_without_sideways_scrolling(self):
        self.open(width=360, height=740, theme="dark")
        self.await_ladder(INVOICE, "parked", "2")
        self.assertLessEqual(self.browser.width_needed(), 360)
        self.assertEqual(self.browser.low_contrasts(), [])
        scene.paint("dark-phone")

    def test_all_that_can_be_used_is_reached_by_tab_and_shows_it(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        usable = self.browser.run("""
            return [...document.querySelectorAll('a[href], button, input, summary')].filter(e => e.checkVisibility()).length""")
        seen = []
        for _ in range(usable):
            self.browser.press(Keys.TAB)
            what, style, width = self.browser.run("""
                const e = document.activeElement, s = getComputedStyle(e);
                return [e.id || e.className || e.textContent + e.ariaLabel, s.outlineStyle, parseFloat(s.outlineWidth)]""")
            seen.append(what)
            self.assertTrue(style != "none" and width >= 2, f"{what} shows no focus")
        self.assertEqual(len(set(seen)), usable, seen)
        self.assertEqual(seen[0], "skip")
        self.assertIn("filter", seen)

    def test_the_focus_stays_while_numbers_change(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        self.browser.run("document.querySelector('#todo button').focus(); window.held = document.activeElement")
        before = self.browser.run("return performance.getEntriesByType('resource').length")
        self.browser.wait_for("return performance.getEntriesByType('resource').length >= arguments[0] + 2", before, what="two answers")
        self.assertTrue(self.browser.run("return document.activeElement === window.held && held.isConnected"))

    def test_the_filter_finds(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        self.browser.type_into("#filter", "INVOI")
        self.assertEqual(list(self.browser.ladders()), [INVOICE])
        self.browser.await_text("#found", "1 of 5 queues", "how many it found")
        self.browser.type_into("#filter", "nothing like it")
        self.assertEqual(self.browser.ladders(), {})

    def test_a_screen_reader_finds_landmarks_headings_and_names(self):
        self.open()
        self.await_ladder(INVOICE, "parked", "2")
        tree = self.browser.accessible()
        roles = [role for role, _, _ in tree]
        for role in ("main", "banner", "contentinfo", "table", "list"):
            self.assertIn(role, roles)
        headings = [(properties.get("level"), name) for role, name, properties in tree if role == "heading"]
        self.assertEqual([name for level, name in headings if level == 1], ["retryd"])
        self.assertTrue([name for level, name in headings if level == 2 and ("Working" in name or "fail" in name)])
        for name in ("Where the messages are", "Parked, and why", "What waits on the ladders"):
            self.assertIn((2, name), headings)
        self.assertIn((3, EMAIL), headings)
        for role, name, _ in tree:
            if role in ("button", "link", "searchbox", "textbox", "image", "img", "table", "region"):
                self.assertTrue(name, f"a {role} has no name")
        # Only the verdict and what the filter found are announced, and no number that changes all the time.
        live = self.browser.texts("[role=status], [aria-live]")
        self.assertRegex(live[0], "Working|fail")
        self.assertEqual([text for text in live[1:] if text], [])

    def test_nothing_moves_for_who_wants_no_motion(self):
        count = "return document.getAnimations().length"
        self.open(motion="no-preference")
        self.assertGreater(self.browser.run(count), 0)
        self.open(motion="reduce")
        self.assertEqual(self.browser.run(count), 0)
