"""Debian's root file systems for the scripts in Python: those that root.sh makes, and what is made from them; kept in
$RETRYD_CACHE/roots. They are not written to: copy one first."""
import contextlib
import fcntl
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Iterator

from script import Failed, output_of, step

PROJECT = Path(__file__).resolve().parent.parent.parent
ROOTS = Path(os.environ.get("RETRYD_CACHE") or "/var/cache/retryd") / "roots"
SUITES = {"12": "bookworm", "13": "trixie"}
DEBIAN_ROOT = PROJECT / "scripts/lib/debian-root"


def as_root() -> None:
    """Starts the script again through sudo when it was not started by root."""
    os.umask(0o022)  # what root makes is for its caller to read
    if os.geteuid() != 0:
        if not shutil.which("sudo"):
            raise Failed("this needs root, and there is no sudo here", "nothing was done", "run it as root")
        # glibc takes TMPDIR away from sudo itself.
        temporary = [f"TMPDIR={folder}"] if (folder := os.environ.get("TMPDIR")) else []
        os.execvp("sudo", ["sudo", "--preserve-env=RETRYD_CACHE,http_proxy,https_proxy", *temporary, "--", *sys.argv])


def need(tools: str, consequence: str, remedy: str) -> None:
    for tool in tools.split():
        if not shutil.which(tool):
            raise Failed(f"{tool} is not installed", consequence, remedy)


def plain_root(debian: str) -> Path:
    """A Debian without additional packages."""
    return Path(output_of(DEBIAN_ROOT, "plain", debian))


def broker_root(rabbitmq: str) -> Path:
    return Path(output_of(PROJECT / "scripts/broker", "root", rabbitmq))


def in_root(root: Path, folder: Path, *command: object) -> list[object]:
    """The command line that runs the command in that root, with the folder as /work and the host's network."""
    return [DEBIAN_ROOT, "in", root, folder, *command]


def prepared_root(origin: Path, name: str, label: str, *command: object, otherwise: Failed) -> Path:
    """A copy of `origin` in which the command has been run, with the project as /work. In an existing copy the command is
    run again, to bring it up to date. Of two processes at once the second waits for the first."""
    root, partial = ROOTS / name, ROOTS / f".{name}.partial"
    with open(ROOTS / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        there = root if root.exists() else copy(origin, partial)
        step(label, ROOTS / f".{name}.log", *in_root(there, PROJECT, *command), otherwise=otherwise)
        if there == partial:
            partial.rename(root)
    return root


def copy(root: Path, to: Path) -> Path:
    remove(to)
    output_of("cp", "--archive", "--reflink=auto", root, to)
    return to


def remove(folder: Path) -> None:
    """Does not touch what is mounted in it."""
    output_of("rm", "-rf", "--one-file-system", folder)


@contextlib.contextmanager
def workspace(name: str) -> Iterator[Path]:
    work = Path(tempfile.mkdtemp(prefix=f"{name}."))
    try:
        yield work
    finally:
        remove(work)
