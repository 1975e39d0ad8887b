#!/usr/bin/python3
"""Takes away what ./test and ./demo left when they were killed: their temporary folders, what they keep in memory, and all
processes that they have started, brokers too. Every process of a run has the run's folder as TMPDIR, those of sudo, too.

    sweep.py dead FOLDER   of all those in FOLDER whose owner is dead
    sweep.py end FOLDER    of the one that has FOLDER
    sweep.py kill FOLDER   the processes of that one alone

The file `owner` of a folder: the number of the process, when it was started (another one may have got the number since),
the namespace of its number (a container that shares this /tmp)."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def stat_of(pid):
    """The parent of a process and when it was started, which is a number and, as in the file, a text."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, ""
    return int(fields[1]), fields[19]


def is_dead(folder):
    try:
        pid, start, namespace = (folder / "owner").read_text().split()
        ours = folder.stat().st_uid in (os.geteuid(), int(os.environ.get("SUDO_UID", -1)))
        return ours and namespace == os.readlink("/proc/self/ns/pid") and stat_of(pid)[1] != start
    except (OSError, ValueError):
        return False


def ancestors():
    pid, line = os.getpid(), set()
    while pid:
        line.add(pid)
        pid = stat_of(pid)[0]
    return line


def processes_of(folder):
    mark, spared = f"TMPDIR={folder}".encode(), ancestors()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) not in spared:
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)
            except OSError:  # it has ended, or is another user's
                pass


def kill_all(folder):
    """Until two looks find none: one that is killed may have just started another one, and a process that is in the middle of
    an exec has no environment for a moment."""
    deadline = time.monotonic() + 20
    empty = 0
    while empty < 2 and time.monotonic() < deadline:
        found = list(processes_of(folder))
        empty = 0 if found else empty + 1
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.1)


def remove(folder):
    kill_all(folder)
    found = [*Path("/dev/shm").glob(f"{folder.name}-*"), folder]
    for one in found:
        # Where "/" is no mount point, the root of a broker is seen outside of its namespace.
        for mounted in [*one.glob("root"), *one.glob("*/root")]:
            if os.path.ismount(mounted):
                subprocess.run(["umount", "--lazy", mounted], check=False)
    subprocess.run(["rm", "-rf", "--one-file-system", *found], check=False)


def main():
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "kill":
        return kill_all(folder)
    if action == "end":
        return remove(folder)
    for dead in filter(is_dead, folder.glob("retryd.*")):
        print(f"sweep: a run was killed: removing its processes and {dead}", file=sys.stderr, flush=True)
        remove(dead)


if __name__ == "__main__":
    main()
