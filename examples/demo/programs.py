"""The programs that the demo runs: the daemon of retryd, its commands, and rabbitmqctl."""
from __future__ import annotations

import os
import shlex
import signal
import subprocess
from pathlib import Path

import scene
import screen

PATIENCE = 60  # seconds, for any program to end


def start(command: list[str], folder: Path, output: int) -> subprocess.Popen:
    """Starts a process that ends with the demo at the latest, even if the demo is killed."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *command], cwd=folder, text=True,
                            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


def finish(program: subprocess.Popen) -> str:
    """Waits until it has ended and returns its output. Raises where it fails."""
    written = program.communicate(timeout=PATIENCE)[0]
    if program.returncode != 0:
        raise RuntimeError(f"{shlex.join(program.args)} failed with code {program.returncode}: {written}")
    return written


def rabbitmqctl(arguments: str) -> str:
    """Runs rabbitmqctl on the broker of the demo; the arguments are split as by a shell."""
    command = shlex.split(os.environ["RETRYD_CTL"]) + shlex.split(arguments)
    return finish(start(command, Path.cwd(), subprocess.PIPE))


class Retryd:
    """The daemon, which ends with the `with` block, and the commands that a person types beside it."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.binary = binary
        self.folder = folder
        self.daemon: subprocess.Popen | None = None

    def __enter__(self) -> Retryd:
        (self.folder / "retryd.yaml").write_text(scene.CONFIGURATION)
        return self

    def __exit__(self, *_) -> None:
        if self.daemon:
            self.daemon.kill()
            self.daemon.wait()

    def start(self) -> None:
        with open(self.folder / "retryd.log", "w") as log:
            self.daemon = start(self._typed("run"), self.folder, log.fileno())

    def stop(self) -> int:
        """Stops it like systemd, and returns its exit code."""
        self.daemon.send_signal(signal.SIGTERM)
        return self.daemon.wait(PATIENCE)

    def require_running(self) -> None:
        if self.daemon and self.daemon.poll() is not None:
            raise RuntimeError(f"retryd has ended by itself, with exit code {self.daemon.returncode}")

    @property
    def log(self) -> str:
        path = self.folder / "retryd.log"
        return path.read_text() if path.exists() else ""

    def begin(self, arguments: str) -> subprocess.Popen:
        return start(self._typed(arguments), self.folder, subprocess.PIPE)

    def show(self, arguments: str) -> None:
        screen.quote(finish(self.begin(arguments)))

    def _typed(self, arguments: str) -> list[str]:
        """Runs a command and shows it as a person would type it."""
        screen.command(f"retryd {arguments} -c retryd.yaml")
        return [str(self.binary), *shlex.split(arguments), "-c", "retryd.yaml"]
