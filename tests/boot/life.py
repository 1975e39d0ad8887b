"""What is shown of the service from its installation on, and what a year may bring."""
import json
import re
import time
from collections import Counter

from roots import PROJECT
from service import CONFIG, CONFIGURATION, HTTP, PASSWORD, Trial
from steps import done
from waiting import hold, wait_until

EMAIL = "http://127.0.0.1:15672/api/queues/%2F/email"
LOOK = '{"count": 9, "ackmode": "ack_requeue_true", "encoding": "auto"}'
INSTALL = ("apt-get", "-q", "install", "--yes", "--no-install-recommends")
EVERYTHING = {"configure": ".*", "write": ".*", "read": ".*"}
TO_RETRYD = {"dead-letter-exchange": "retryd.errors"}
# A classic queue may lose what it dead-letters; where every message is counted stands a quorum queue.
WORK_QUEUES = (("/", "email", {"x-queue-type": "quorum"},
                {**TO_RETRYD, "dead-letter-strategy": "at-least-once", "overflow": "reject-publish"}),
               ("other", "sms", {}, TO_RETRYD))
# With the policies that connect them, and retryd's user, whose password no command line shows.
DEFINITIONS = {
    "vhosts": [{"name": "/"}, {"name": "other"}],
    "users": [{"name": "guest", "password": "guest", "tags": "administrator"},
              {"name": "retryd", "password": PASSWORD, "tags": ""}],
    "permissions": [{"user": user, "vhost": vhost, **EVERYTHING}
                    for user in ("guest", "retryd") for vhost in ("/", "other")],
    "policies": [{"vhost": vhost, "name": "retryd", "pattern": f"^{name}$", "apply-to": "queues", "priority": 0,
                  "definition": policy} for vhost, name, _, policy in WORK_QUEUES],
    "queues": [{"name": name, "vhost": vhost, "durable": True, "auto_delete": False, "arguments": arguments}
               for vhost, name, arguments, _ in WORK_QUEUES]}


def readme_blocks(language: str) -> str:
    """The code in the README's "Five minutes" that is marked so, without its indentation."""
    readme = (PROJECT / "README.md").read_text()
    section = re.search(r"(?ms)^## Five minutes.*?(?=^## )", readme)[0]
    blocks = re.findall(rf"(?ms)^ *```{language}\n(.*?)^ *```$", section)
    return re.sub("(?m)^   ", "", "".join(blocks))


class Installed(Trial):
    def test_the_package_installs_neither_enabled_nor_started(self):
        self.machine.run(*INSTALL, "/root/retryd.deb")
        self.expect(ActiveState="inactive", UnitFileState="disabled")
        self.saw(self.machine.run("retryd", "--version"))

    def test_the_units_are_sound_and_confined(self):
        units = ("retryd.service", "retryd@other.service")
        self.machine.run("systemd-analyze", "--man=no", "verify", *units)
        said = self.machine.run("systemd-analyze", "security", "--offline=true", "--threshold=15", "--no-pager", *units)
        level = re.search(r"level for retryd.service: ([0-9.]+)", said)[1]
        self.saw(f"verify is silent; exposure {level}, of at most 1.5")

    def test_the_readme_as_it_stands_brings_a_message_back(self):
        """Word for word, on a broker that has nothing but the work queue."""
        run = self.machine.run
        run("rabbitmq-plugins", "-q", "enable", "rabbitmq_management")
        run("curl", "-sS", "-u", "guest:guest", "-X", "PUT", EMAIL, "-d", '{"durable": true}')
        self.machine.write(CONFIG, readme_blocks("yaml"))
        self.machine.write("/root/five-minutes", readme_blocks("sh"))
        run("bash", "-e", "/root/five-minutes")
        run("curl", "-sS", "--fail", f"http://{HTTP}/readyz")
        wait_until(lambda: '"retryd-attempt":1' in run("curl", "-sS", "-u", "guest:guest", EMAIL + "/get", "-d", LOOK),
                   "the message is back, with retryd-attempt 1", 20)
        self.saw(f"{len(readme_blocks('sh').splitlines())} lines typed")
        run("systemctl", "disable", "--now", "retryd")
        run("sh", "-c", "rabbitmqctl -q stop_app && rabbitmqctl -q reset && rabbitmqctl -q start_app")

    def test_the_broker_takes_two_work_queues_and_their_policies(self):
        file = "/var/lib/rabbitmq/definitions.json"
        self.machine.write(file, json.dumps(DEFINITIONS))
        self.machine.run("rabbitmqctl", "-q", "import_definitions", file)
        self.machine.path(file).unlink()

    def test_it_starts_with_a_credential_as_nobody_special(self):
        for name in ("retryd.password", "retryd.other.password"):
            self.machine.write(f"/etc/credstore/{name}", PASSWORD + "\n", 0o600)
        self.configure(more="")
        self.machine.run("systemctl", "enable", "--now", "retryd")
        self.expect(ActiveState="active")
        self.retryd.await_connected()
        limits = self.machine.run("cat", f"/proc/{self.retryd.pid()}/limits")
        self.assertRegex(limits, r"(?m)^Max core file size *0 ")
        self.assertRegex(limits, r"(?m)^Max stack size *16777216 ")
        user = self.machine.run("ps", "-o", "user=", "-p", self.retryd.pid())
        self.assertNotEqual(user, "root")
        self.saw(f"{self.retryd.shows('StatusText')}, as user {user}; the password only in /etc/credstore")

    def test_messages_come_back(self):
        self.saw(self.traffic("load", "email", 50, 1))

    def test_a_good_file_is_reloaded_without_a_reconnect(self):
        pid = self.retryd.pid()
        self.configure("700ms")
        self.machine.run("systemctl", "reload", "retryd")
        wait_until(lambda: f" {HTTP} " in self.machine.run("ss", "-Hltn"), "http listens", 10)
        self.saw(self.traffic("load", "email", 20, 1))
        self.assertIn("email.retry.700ms", self.machine.run("rabbitmqctl", "-q", "list_queues", "name").splitlines())
        self.expect(MainPID=pid)

    def test_a_wrong_file_is_refused_and_the_former_stays_in_force(self):
        pid = self.retryd.pid()
        self.spoil_configuration()
        code = self.machine.code("systemctl", "reload", "retryd")
        if self.retryd.shows("Type") == "notify":  # else systemd sends the signal, and nothing tells it of a refusal
            self.assertNotEqual(code, 0)
        wait_until(lambda: self.retryd.says("is wrong and was not reloaded"), "the status says so", 10)
        self.expect(MainPID=pid)
        problem = self.retryd.journal("--priority", "err..err", "--output", "cat", "--lines", "1",
                                      "--grep", rf"^{CONFIG}:[0-9]+:[0-9]+: nonsense")
        self.traffic("load", "email", 20, 1)
        self.configure()
        self.machine.run("systemctl", "reload", "retryd")
        self.retryd.await_connected(10)
        self.assertFalse(self.retryd.says("is wrong"), "the status goes on about a file that is right")
        self.saw(f"systemctl reload ends with {code}; journal, err: {problem}")

    def test_a_start_with_a_wrong_file_fails_for_good(self):
        self.spoil_configuration()
        self.assertNotEqual(self.machine.code("systemctl", "restart", "retryd"), 0)
        # RestartSec is 2: by then it would have been started again.
        hold(lambda: self.retryd.shows("ActiveState") == "failed", "it has failed", 5)
        self.expect(ActiveState="failed", ExecMainStatus="78", NRestarts="0")
        self.configure()
        self.machine.run("systemctl", "start", "retryd")
        self.retryd.await_connected()
        self.saw("exit code 78, not started again in 5 s; with a right file it starts")

    def test_an_instance_serves_a_vhost_of_its_own_until_it_hangs(self):
        self.machine.write("/etc/retryd/other.yaml", CONFIGURATION.format(
            vhost="other", queue="sms", delay="500ms", password_file="/run/credentials/retryd@other.service/password"))
        self.machine.run("systemctl", "enable", "--now", "retryd@other")
        self.other.await_connected()
        self.saw(self.traffic("--vhost", "other", "load", "sms", 20, 1))
        self.machine.run("kill", "-STOP", self.other.pid())

    def test_killed_under_load_it_is_started_again_and_nothing_is_lost(self):
        before, pid = int(self.retryd.shows("NRestarts")), self.retryd.pid()
        self.under_load(9, lambda: self.machine.run("kill", "-KILL", pid))
        self.assertTrue(self.retryd.is_another_than(pid))
        self.saw(f"started again {int(self.retryd.shows('NRestarts')) - before} time by systemd")

    def test_stopped_under_load_it_ends_in_order_and_nothing_is_lost(self):
        def stop_and_start() -> None:
            began = time.monotonic()
            self.machine.run("systemctl", "stop", "retryd")
            self.expect(Result="success", ExecMainStatus="0")
            self.saw(f"ended with 0 after {time.monotonic() - began:.1f} s")
            self.machine.run("systemctl", "start", "retryd")
        self.under_load(9, stop_and_start)

    def test_the_journal_has_each_line_at_its_priority(self):
        should = {"started with": "6", "connected to": "6", "stopped": "6", "was not reloaded": "3", "nonsense": "3"}
        lines = [json.loads(line) for line in self.retryd.journal("--output", "json").splitlines()]
        own = [(line["PRIORITY"], line["MESSAGE"]) for line in lines if line.get("_COMM") == "retryd"]
        wrong = [(priority, text) for priority, text in own for begin, right in should.items()
                 if text.startswith(begin) and priority != right]
        self.assertEqual(wrong, [])
        count = Counter(priority for priority, _ in own)
        self.assertTrue(count["3"] and count["6"], count)
        self.saw(f"{count['3']} err, {count['4']} warning, {count['6']} info")

    def test_the_password_shows_nowhere(self):
        process = f"/proc/{self.retryd.pid()}"
        for command in (["journalctl", "--quiet", "--no-pager", "--output", "export"], ["systemctl", "show", "retryd"],
                        ["systemctl", "status", "--no-pager", "--lines", "100", "retryd"],
                        ["cat", f"{process}/cmdline", f"{process}/environ"]):
            self.assertFalse(PASSWORD in self.machine.run(*command), command)
        self.saw("not in the journal, the status, the command line or the environment")

    def test_the_watchdog_replaces_what_hangs(self):
        wait_until(lambda: self.other.shows("NRestarts") != "0", "the stopped process is replaced", 150)
        self.assertIn("Watchdog timeout", self.other.journal("--output", "cat"))
        self.other.await_connected()
        self.saw(self.traffic("--vhost", "other", "load", "sms", 20, 1))

    def test_messages_wait_while_the_broker_is_switched_off(self):
        self.machine.run("systemctl", "disable", "rabbitmq-server")
        self.saw(self.traffic("fail", "email", 50))


class Rebooted(Trial):
    def test_without_a_broker_it_boots_and_waits(self):
        self.expect(ActiveState="active", NRestarts="0")
        self.saw(self.retryd.shows("StatusText"))
        self.assertTrue(self.retryd.says("Connection refused"))

    def test_when_the_broker_returns_the_messages_do(self):
        self.machine.run("systemctl", "enable", "--now", "rabbitmq-server")
        self.retryd.await_connected(60)
        self.other.await_connected(60)
        self.saw(self.traffic("collect", "email", 50))

    def test_upgraded_under_load_it_is_restarted_and_nothing_is_lost(self):
        def upgrade() -> None:
            pid = self.retryd.pid()
            self.machine.run(*INSTALL, "/root/retryd-next.deb")
            self.assertTrue(self.retryd.is_another_than(pid), "not restarted")
            self.expect(ActiveState="active")
            self.saw("now " + self.machine.run("dpkg-query", "-W", "-f", "${Version}", "retryd"))
        self.under_load(12, upgrade)

    def test_removed_it_leaves_no_process_and_its_configuration(self):
        pid = self.retryd.pid()
        self.machine.run("apt-get", "-q", "remove", "--yes", "retryd")
        self.assertEqual(self.machine.code("kill", "-0", pid), 1, "the daemon still runs")
        self.assertEqual(self.machine.code("pgrep", "-x", "retryd"), 1, "an instance still runs")
        self.machine.run("test", "-e", CONFIG)

    def test_purged_it_leaves_nothing(self):
        # These are the operator's own.
        for name in ("credstore/retryd.password", "credstore/retryd.other.password", "retryd/other.yaml"):
            self.machine.path("/etc/" + name).unlink()
        self.machine.run("apt-get", "-q", "purge", "--yes", "retryd")
        places = "/etc /usr /var/lib /var/cache /run /lib/systemd".split()
        self.assertEqual(self.machine.run("find", *places, "-xdev", "-name", "*retryd*", "-not", "-path",
                                          "/var/lib/rabbitmq/*", "-not", "-name", "retryd-depends"), "")
        units = self.machine.inside("systemctl", "list-unit-files", "--no-legend", "retryd*")
        self.assertEqual(done(units).stdout, "")  # its code tells of none
