"""A headless Chromium, and what the tests do with it."""
import json
import os
import pathlib
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from waiting import PATIENCE, wait_until

HERE = pathlib.Path(__file__).parent
# What moves on the page is drawn anew as long as it moves: half a processor for a picture that nobody looks at.
SWITCHES = """--headless --disable-gpu --disable-quic --no-first-run --disable-background-networking
    --disable-component-update --disable-sync --hide-scrollbars --force-prefers-reduced-motion""".split()


class Browser:
    def __init__(self, watched=False):
        """`watched`: keeps what is requested, for requests()."""
        self.profile = tempfile.TemporaryDirectory(prefix="retryd-chromium-", ignore_cleanup_errors=True)
        options = webdriver.ChromeOptions()
        for switch in SWITCHES + ["--user-data-dir=" + self.profile.name]:
            options.add_argument(switch)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.binary_location = "/usr/bin/chromium"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", **({"performance": "ALL"} if watched else {})})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)

    def close(self):
        self.driver.quit()
        self.profile.cleanup()

    def tell(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def set_view(self, width=1200, height=900, theme="light", motion="no-preference"):
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme},
                                                          {"name": "prefers-reduced-motion", "value": motion}])

    def open(self, url):
        """Opens the page and waits until it has shown the first answer of the daemon. What the page before it wrote
        to the console, whose daemon may be gone, is forgotten."""
        self.driver.get("about:blank")
        self.console_messages()
        self.driver.get(url + "/")
        self.await_text("#word", lambda text: text != "Asking retryd …", "a verdict")

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)", selector)

    def await_text(self, selector, wanted, what, within=PATIENCE):
        seen = [None]

        def look():
            seen[0] = self.text(selector)
            return wanted(seen[0]) if callable(wanted) else wanted in seen[0]
        try:
            wait_until(look, what, within)
        except AssertionError:
            raise AssertionError(f"{selector} never showed {what}; it shows {seen[0]!r}") from None

    def ladders(self):
        """What the page shows: {work queue: {delay or 'parked': number}}, with the numbers as text."""
        return self.run("""
            return Object.fromEntries([...document.querySelectorAll('#list > li')].map(card => [
                card.querySelector('h3').textContent,
                Object.fromEntries([...card.querySelectorAll('tbody tr')].map(row =>
                    [row.cells[0].textContent, row.cells[2].textContent]))]))""")

    def press(self, *keys):
        actions = webdriver.ActionChains(self.driver)
        actions.send_keys(*keys).perform()

    def type_into(self, selector, text):
        field = self.driver.find_element(By.CSS_SELECTOR, selector)
        field.send_keys(Keys.CONTROL, "a")
        field.send_keys(text)

    def width_needed(self):
        return self.run("return document.documentElement.scrollWidth")

    def low_contrasts(self):
        """A description of each text whose contrast with its background is below WCAG's AA."""
        return self.run((HERE / "contrast.js").read_text())

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

    def picture(self, file, longest=2400):
        """Of the whole page."""
        width = self.run("return innerWidth")
        height = min(self.run("return document.documentElement.scrollHeight"), longest)
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.driver.save_screenshot(str(file))
