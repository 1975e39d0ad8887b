#!/usr/bin/python3
"""Plays docker/compose.yaml with the images that scripts/container has built: the same files, names and ports. It is
started in a network and a tree of processes of its own, with which all ends. Usage: scene.py WORK VERSION"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from unittest import skipUnless

PROJECT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(PROJECT / folder) for folder in ("scripts/lib", "tests/support")]
from script import run  # noqa: E402
from steps import Step, StepResults, checked, done  # noqa: E402
from waiting import wait_until  # noqa: E402

WORK, VERSION = Path(sys.argv[1]), sys.argv[2]
COMPOSE = PROJECT / "docker/compose"
HOSTS = WORK / "hosts"
NOBODY = "65532"


def start(out: Path, *command: object) -> subprocess.Popen:
    with open(out, "wb") as file:
        return subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=file, stderr=file)


class Image:
    """Its commands see its own files read-only, and those that are mounted: source and target, a line each."""

    def __init__(self, name: str, mounted: str = ""):
        self.about = json.loads((WORK / f"{name}.json").read_text())
        files = WORK / f"{name}.files"
        files.write_text(mounted)
        self.prefix = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                       PROJECT / "scripts/lib/in-image", self.about["root"], self.about["User"], files, HOSTS]
        self.out = WORK / f"{name}.out"
        self.container: subprocess.Popen | None = None

    def runs(self, *command: str) -> subprocess.CompletedProcess:
        """In a container of its own."""
        return done([*self.prefix, *command])

    def start(self, *environment: str) -> None:
        """The image's own command."""
        command = [*(self.about["Entrypoint"] or []), *(self.about["Cmd"] or [])]
        self.container = start(self.out, *self.prefix, "env", *environment, *command)

    def first_process(self) -> Path:
        """The container's process 1, in /proc."""
        pid = self.container.pid
        return Path("/proc") / Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]


class Scene(Step):
    retryd: Image
    flaky: Image

    def get(self, url: str) -> subprocess.CompletedProcess:
        return self.retryd.runs("curl", "--fail", "--silent", url)

    def is_healthy(self) -> bool:
        """As the image itself asks; CMD comes before it, as the format wants it."""
        return self.retryd.runs(*self.retryd.about["Healthcheck"]["Test"][1:]).returncode == 0

    def is_ready(self) -> bool:
        """The check that compose.yaml has in its place."""
        return self.get("http://127.0.0.1:9467/readyz").returncode == 0

    def await_counted(self, outcome: str, within: float) -> None:
        """What Prometheus would see."""
        line = rf'(?m)^retryd_messages_total\{{.*outcome="{outcome}".* [1-9]'
        wait_until(lambda: re.search(line, self.get("http://127.0.0.1:9467/metrics").stdout), line, within)

    def await_in_prometheus(self, question: str, answer: str, within: float) -> None:
        wait_until(lambda: answer in self.get(f"http://127.0.0.1:9090/api/v1/{question}").stdout, answer, within)

    def test_retryd_check_takes_the_configuration(self):
        checked([*self.retryd.prefix, "retryd", "check"])

    def test_a_container_that_does_not_run_is_not_healthy(self):
        self.assertFalse(self.is_healthy())

    def test_without_a_broker_retryd_is_healthy(self):
        self.retryd.start()
        wait_until(self.is_healthy, "it is healthy", 10)

    def test_and_not_ready(self):
        self.assertFalse(self.is_ready())

    def test_it_runs_as_nobody_without_capabilities_on_a_root_that_is_read_only(self):
        process = self.retryd.first_process()
        status = dict(re.findall(r"(?m)^(\w+):[ \t]+(\S*)", (process / "status").read_text()))
        self.assertEqual((status["Uid"], int(status["CapEff"], 16), status["NoNewPrivs"]), (NOBODY, 0, "1"))
        mounts = map(str.split, (process / "mountinfo").read_text().splitlines())
        self.assertEqual({mount[5].split(",")[0] for mount in mounts if mount[4] == "/"}, {"ro"})

    def test_it_becomes_ready_when_the_broker_has_come(self):
        broker = PROJECT / "scripts/broker"
        checked([broker, "start", VERSION, WORK / "broker", "--port", 5672])
        # As the image does it: the definitions are read when it starts.
        shutil.copy(COMPOSE / "definitions.json", WORK / "broker/node/definitions.json")
        with open(WORK / "broker/node/rabbitmq.conf", "a") as file:
            print("load_definitions = /mnt/definitions.json", file=file)
        checked([broker, "restart", WORK / "broker"])
        wait_until(self.is_ready, "it is ready", 40)

    def test_a_rejected_mail_comes_back(self):
        url = re.search(r'AMQP_URL: "([^"]*)"', (PROJECT / "docker/compose.yaml").read_text())[1]
        self.flaky.start(f"AMQP_URL={url}")
        way = r"(?ms)^mail 3 rejected$.*^mail 3 delivered$"
        wait_until(lambda: re.search(way, self.flaky.out.read_text()), "mail 3 is rejected, and then delivered", 40)

    def test_retries_are_counted(self):
        self.await_counted("retried", 10)

    @skipUnless(shutil.which("prometheus"), "no prometheus here: nobody scrapes retryd")
    def test_prometheus_reaches_retryd(self):
        """With its files at the places that compose.yaml gives them; it sees the names, too."""
        folder = WORK / "prometheus"
        folder.mkdir()
        shutil.copy(COMPOSE / "prometheus.yaml", folder / "prometheus.yml")
        shutil.copy(PROJECT / "config/monitoring/alerts.yaml", folder / "retryd-alerts.yaml")
        checked(["mount", "--bind", HOSTS, "/etc/hosts"])
        start(WORK / "prometheus.out", "prometheus", f"--config.file={folder}/prometheus.yml",
              f"--storage.tsdb.path={folder}/data", "--web.listen-address=127.0.0.1:9090")
        self.await_in_prometheus('query?query=up%7Bjob="retryd"%7D', '"1"]', 30)

    @skipUnless(shutil.which("prometheus"), "no prometheus here: nobody knows the alerts")
    def test_prometheus_has_the_alerts(self):
        self.await_in_prometheus("rules", '"name":"RetrydDown"', 10)

    def test_what_always_fails_is_parked(self):
        self.await_counted("parked", 60)

    def test_once_it_is_connected_retryd_has_nothing_to_complain_of(self):
        _, connected, after = self.retryd.out.read_text().partition(" connected to ")
        self.assertTrue(connected)
        self.assertNotRegex(after.partition("\n")[2], " (warning|error) ")

    def test_sigterm_ends_it_with_0(self):
        os.kill(int(self.retryd.first_process().name), signal.SIGTERM)
        self.assertEqual(self.retryd.container.wait(15), 0)

    def test_and_then_it_is_not_healthy(self):
        self.assertFalse(self.is_healthy())


def main() -> int:
    checked(["ip", "link", "set", "lo", "up"])
    HOSTS.write_text("127.0.0.1 localhost rabbitmq retryd prometheus\n")
    retryd = Image("retryd", f"{COMPOSE}/retryd.yaml /etc/retryd/retryd.yaml\n"
                             f"{COMPOSE}/retryd.password /run/secrets/retryd_password\n")
    flaky = Image("flaky")
    results = StepResults("container", "passed: {}", "FAILED: {}")
    results.take(Scene, retryd=retryd, flaky=flaky)
    if results.failed:
        print(*(log.read_text(errors="replace") for log in WORK.glob("*.out")), file=sys.stderr)
    print(results.verdict())
    return 0 if results.passed and not results.failed else 1


run(main)
