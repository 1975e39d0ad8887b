"""A headless Chromium, and what the tests do with it. Most is said in Chromium's own protocol: what WebDriver does for a click
or a text takes three to five times the processor."""
import json
import os
import pathlib
import re
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from waiting import PATIENCE, wait_until

HERE = pathlib.Path(__file__).parent
# Chromium would keep a renderer ready for the next page, and the page before for who goes back: three processes begin where
# one is looked at, which was a quarter of all that these tests cost.
SWITCHES = """--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars
    --disable-features=SpareRendererForSitePerProcess,BackForwardCache""".split()
CONTRAST, ACCESS = ((HERE / name).read_text(encoding="utf-8") for name in ("contrast.js", "access.js"))

# In the page: to ask from here again and again costs much more.
WAIT = """
    const begin = performance.now();
    for (;;) {
        const waited = performance.now() - begin, seen = look();
        if (seen || waited > patience) return seen;
        await new Promise(go => setTimeout(go, Math.min(20 + waited / 10, 200)));
    }"""
# The middle of an element, as soon as it can be clicked there.
MIDDLE = """
    if (!found || found.disabled) return null;
    found.scrollIntoView({block: 'center', behavior: 'instant'});
    const box = [...found.getClientRects()].find(each => each.width && each.height);
    if (!box) return null;
    const at = {x: box.x + box.width / 2, y: box.y + box.height / 2};
    if (!found.contains(document.elementFromPoint(at.x, at.y))) return null;
    window.hit = false;
    addEventListener('click', event => {
        window.hit ||= found.contains(event.target) || !!event.target.closest(found.tagName)?.isEqualNode(found);
    }, {capture: true, once: true});
    return at;"""


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="retryd-chromium-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        for switch in SWITCHES + ["--user-data-dir=" + self.profile.name]:
            options.add_argument(switch)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def close(self):
        self.driver.quit()
        self.profile.cleanup()

    def tell(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    # ── What the page shows ──

    def run(self, script, *arguments):
        """What the script, a function's body, returns: anything but an element."""
        told = self.tell("Runtime.evaluate", returnByValue=True, awaitPromise=True,
                         expression=f"(async function () {{{script}\n}}).apply(null, {json.dumps(arguments)})")
        if "exceptionDetails" in told:
            raise AssertionError(f"{script}\n{told['exceptionDetails']}")
        return told["result"].get("value")

    def wait_for(self, script, *arguments, what, within=PATIENCE):
        """Waits until the script returns something true, and returns that."""
        deadline = time.monotonic() + within
        while True:
            # WebDriver's client waits for two minutes at most.
            patience = 1000 * max(0, min(20, deadline - time.monotonic()))
            seen = self.run(f"const look = () => {{{script}\n}}, patience = {patience};{WAIT}", *arguments)
            if seen:
                return seen
            if time.monotonic() >= deadline:
                raise AssertionError(f"{what}: not within {within} s")

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def shows(self, selector):
        return self.run("return document.querySelector(arguments[0]).checkVisibility({visibilityProperty: true, opacityProperty: true})", selector)

    def await_text(self, selector, wanted, what, within=PATIENCE):
        """`wanted`: what the text has in it, or a pattern, which JavaScript has to know."""
        pattern = wanted.pattern if isinstance(wanted, re.Pattern) else None
        try:
            self.wait_for("""
                const text = document.querySelector(arguments[0])?.textContent ?? '', [, wanted, isPattern] = arguments;
                return isPattern ? new RegExp(wanted, 'u').test(text) : text.includes(wanted)""",
                          selector, pattern or wanted, bool(pattern), what=what, within=within)
        except AssertionError:
            raise AssertionError(f"{selector} never showed {what}; it shows {self.text(selector)!r}") from None

    def ladders(self):
        """{work queue: {delay or 'parked': number}}, with the numbers as text."""
        return self.run("""
            return Object.fromEntries([...document.querySelectorAll('#list > li')].map(card => [
                card.querySelector('h3').textContent,
                Object.fromEntries([...card.querySelectorAll('tbody tr')].map(row =>
                    [row.cells[0].textContent, row.cells[2].textContent]))]))""")

    def width_needed(self):
        return self.run("return document.documentElement.scrollWidth")

    def low_contrasts(self):
        """A description of each text whose contrast with its background is below WCAG's AA."""
        return self.run(CONTRAST)

    def faults(self):
        """What is wrong with whatever is shown: it does not fit, cannot be read, has no name, or came out of a message as an
        element."""
        return self.run(f"""
            const poor = (() => {{{CONTRAST}\n}})(), bad = (() => {{{ACCESS}\n}})();
            const wide = document.documentElement.scrollWidth;
            if (wide > innerWidth) bad.push('it needs ' + wide + ' pixels of ' + innerWidth);
            for (const e of document.querySelectorAll('img, main script, iframe, object')) bad.push('an element: ' + e.outerHTML);
            return [...poor, ...bad]""")

    def accessible(self):
        """The accessibility tree, as (role, name, properties)."""
        nodes = self.tell("Accessibility.getFullAXTree")["nodes"]
        return [(node["role"]["value"], node.get("name", {}).get("value", ""),
                 {p["name"]: p["value"].get("value") for p in node.get("properties", [])})
                for node in nodes if not node.get("ignored") and "role" in node]

    def requests(self):
        """The addresses that were requested since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def console_messages(self):
        """What was written to the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    # ── What a person does ──

    def set_view(self, width=1200, height=900, theme="light", motion="reduce"):
        """What moves is drawn anew as long as it moves: half a processor for a picture that nobody looks at."""
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                          {"name": "prefers-reduced-motion", "value": motion}])

    def open(self, url):
        """Opens the page and waits until it has shown the first answer of the daemon. What the page before it wrote
        to the console, whose daemon may be gone, is forgotten."""
        self.driver.get("about:blank")
        self.console_messages()
        self.driver.get(url)
        self.await_text("#word", re.compile("^(?!Asking retryd …$)"), "a verdict")

    def click(self, find, *arguments, what):
        """With the mouse, in the middle of the element that the script `find` returns, as soon as it can be clicked. Again if
        the page has moved it away meanwhile."""
        def hit():
            at = self.wait_for(f"const found = (() => {{{find}\n}})();{MIDDLE}", *arguments, what=what)
            for event in ("mousePressed", "mouseReleased"):
                self.tell("Input.dispatchMouseEvent", type=event, button="left", clickCount=1, **at)
            return self.run("return window.hit")
        wait_until(hit, what)

    def click_at(self, selector):
        self.click("return document.querySelector(arguments[0])", selector, what=f"{selector} can be clicked")

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def type_into(self, selector, text):
        """Instead of what is there."""
        self.fill("return document.querySelector(arguments[0])", selector, text=text)

    def select(self, find, *arguments):
        """All that is in the field, as soon as it is there: a dialog may open only with an answer."""
        self.wait_for(f"const field = (() => {{{find}\n}})(); field?.focus(); field?.select(); return !!field", *arguments,
                      what=f"the field {arguments} is there")

    def fill(self, find, *arguments, text):
        self.select(find, *arguments)
        self.tell("Input.insertText", text=text)

    def picture(self, file, longest=2400):
        """Of the whole page."""
        width = self.run("return innerWidth")
        height = min(self.run("return document.documentElement.scrollHeight"), longest)
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.driver.save_screenshot(str(file))
