"""The service in the machine: what is asked of it, and how an answer is waited for."""
import secrets
import subprocess
from typing import Callable

from machine import Machine
from steps import Step
from waiting import wait_until

CONFIG = "/etc/retryd/retryd.yaml"
HTTP = "127.0.0.1:9467"
# A word that stands nowhere else: wherever it turns up, the password has been given away.
PASSWORD = f"correct-horse-{secrets.randbelow(10 ** 9)}"
CONFIGURATION = """\
broker:
  uri: amqp://retryd@127.0.0.1:5672/{vhost}
  password_file: {password_file}
ladders:
  quick:
    delays: [{delay}, 1h]
queues:
  - match: {queue}
    ladder: quick
"""


class Unit:
    def __init__(self, machine: Machine, name: str):
        self.machine = machine
        self.name = name

    def shows(self, what: str) -> str:
        return self.machine.run("systemctl", "show", self.name, "--property", what, "--value")

    def pid(self) -> str:
        return self.shows("MainPID")

    def says(self, text: str) -> bool:
        """Whether `systemctl status` shows it."""
        return text in self.shows("StatusText")

    def await_connected(self, within: float = 30) -> None:
        wait_until(lambda: self.shows("ActiveState") == "active" and self.says("connected to 127.0.0.1"),
                   f"{self.name} is connected", within)

    def is_another_than(self, pid: str) -> bool:
        return self.pid() not in (pid, "0")

    def journal(self, *options: str) -> str:
        """Of this boot, without words of journalctl's own."""
        return self.machine.run("journalctl", "--quiet", "--no-pager", "--boot", "--unit", self.name, *options)


class Trial(Step):
    """A step on the booted machine."""
    machine: Machine
    retryd: Unit
    other: Unit  # retryd@other, an instance for a vhost of its own

    def expect(self, **properties: str) -> None:
        self.assertEqual({name: self.retryd.shows(name) for name in properties}, properties)

    def configure(self, delay: str = "500ms", more: str = f"http: {{listen: {HTTP}}}\n") -> None:
        """One work queue with a rung of that delay and a far one."""
        self.machine.write(CONFIG, more + CONFIGURATION.format(
            vhost="", queue="email", delay=delay,
            password_file="${CREDENTIALS_DIRECTORY:-/etc/credstore}/retryd.password"))

    def spoil_configuration(self) -> None:
        with open(self.machine.path(CONFIG), "a") as file:
            file.write("nonsense: 1\n")

    def traffic(self, *arguments: object) -> str:
        """See traffic.py; its last line."""
        return self.machine.run("traffic", *arguments).splitlines()[-1]

    def under_load(self, seconds: int, act: Callable[[], object]) -> None:
        """Rejects 2000 messages over so long and acts once a third of them is out; then all must come back."""
        command = self.machine.inside("traffic", "load", "email", 2000, seconds)
        with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True) as load:
            try:
                load.stdout.readline()
                act()
            except KeyboardInterrupt:
                load.kill()
                raise
            finally:
                told = load.communicate()[0].strip()
        self.assertEqual(load.returncode, 0, told)
        self.saw(told)
