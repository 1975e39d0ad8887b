"""One booted Debian: a container of systemd-nspawn with its own systemd, processes and network."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import roots
from steps import checked, done
from script import Failed
from waiting import wait_until

BOOT_DEADLINE = 120  # seconds
BOOTS_AGAIN = 133    # how nspawn ends when what it held asked for a reboot, and nobody else does it
ON_SYSTEMD = os.path.exists("/run/systemd/system")
# A systemd of 256 or later wants the second version of control groups, and takes the first one where it is told to.
OLD_GROUPS = "SYSTEMD_CGROUP_ENABLE_LEGACY_FORCE"
# On a system that systemd runs, nspawn asks that for a control group; elsewhere it stays in the script's.
OPTIONS = ["--quiet", "--boot", "--register=no", "--private-network", "--console=pipe", "--link-journal=no",
           *["--keep-unit"] * (not ON_SYSTEMD), f"{OLD_GROUPS}=1"]


class Machine:
    """Boots a copy of the root, which may be changed."""

    def __init__(self, root: Path, folder: Path):
        self.root = roots.copy(root, folder)
        self.console = folder.parent / "console.log"
        self.nspawn: subprocess.Popen | None = None
        self.leader = 0  # its systemd, as this system numbers it
        for name, text in {"hostname": "retryd-trial\n", "resolv.conf": "", "machine-id": "",
                           "hosts": "127.0.0.1 localhost retryd-trial\n::1 localhost\n"}.items():
            self.write(f"/etc/{name}", text)

    def close(self) -> None:
        """Whatever it is doing."""
        if self.nspawn:
            for child in self.children():
                os.kill(child, signal.SIGKILL)
            self.nspawn.wait()
        roots.remove(self.root)

    def children(self) -> list[int]:
        """Of nspawn: the leader, and before it what makes it. None once it has ended."""
        file = Path(f"/proc/{self.nspawn.pid}/task/{self.nspawn.pid}/children")
        return list(map(int, file.read_text().split())) if self.nspawn.poll() is None else []

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text)
        self.path(name).chmod(mode)

    def inside(self, *command: object) -> list[object]:
        return ["nsenter", "--target", self.leader, "--all", "--", *command]

    def run(self, *command: object) -> str:
        return checked(self.inside(*command))

    def code(self, *command: object) -> int:
        return done(self.inside(*command)).returncode

    def boot(self) -> None:
        """Returns when nothing is being started any more."""
        with open(self.console, "ab") as console:
            self.nspawn = subprocess.Popen(
                ["systemd-nspawn", f"--directory={self.root}", *OPTIONS], stdin=subprocess.DEVNULL, stdout=console,
                stderr=console, start_new_session=True, env={**os.environ, OLD_GROUPS: "1"})
        self.await_booted()

    def await_booted(self) -> None:
        try:
            wait_until(self.has_booted, "the machine runs", BOOT_DEADLINE)
        except AssertionError:
            print(self.console.read_text(errors="replace")[-3000:], file=sys.stderr)
            raise Failed(f"the machine did not boot within {BOOT_DEADLINE} s", "nothing was tried in it",
                         "its last words are above") from None

    def has_booted(self) -> bool:
        assert self.nspawn.poll() is None
        for child in self.children():
            if os.path.exists(f"/proc/{child}/root/run/systemd/private"):
                self.leader = child
                state = done(self.inside("systemctl", "is-system-running", "--wait")).stdout.strip()
                return state in ("running", "degraded")
        return False

    def reboot(self) -> None:
        """As an operator does it. nspawn boots it again by itself, or ends for whoever started it."""
        former = Path(f"/proc/{self.leader}")
        self.code("systemctl", "reboot")
        wait_until(lambda: not former.exists(), "the machine goes down", BOOT_DEADLINE)
        if ON_SYSTEMD:
            return self.await_booted()
        code = self.nspawn.wait(BOOT_DEADLINE)
        if code != BOOTS_AGAIN:
            raise Failed(f"the machine ended with code {code}, not to boot again", "the trial ends", "see above")
        return self.boot()
