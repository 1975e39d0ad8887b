"""The life of a package in a fresh Debian without a running systemd: installation, upgrade, removal, installation again,
purge."""
import re
import shutil
from pathlib import Path

import roots
from steps import done
from script import Failed, output_of, say

CONFIG = "etc/retryd/retryd.yaml"
UNITS = "/usr/lib/systemd/system"
WANTS = "/etc/systemd/system/multi-user.target.wants"
INSTALL = "apt-get install --yes --no-install-recommends"
KEEP = "-o Dpkg::Options::=--force-confold"

# What has to be true, and the command that succeeds if it is; after a colon, what the command prints is shown too.
TRIAL = {
    "apt's lists are fresh": "apt-get update",
    "man and what it needs": f"{INSTALL} man-db",
    # The package's scripts print nothing: only the package manager's own lines are allowed.
    "it installs, without a word":
        f"{INSTALL} /work/retryd.deb >/work/apt 2>&1 || {{ cat /work/apt; exit 1; }}; "
        "! sed -n '/^Setting up retryd/,$p' /work/apt | "
        "grep -vE '^(Setting up|Processing triggers|Installing new version) '",
    "retryd --version:": "retryd --version",
    "retryd check: the configuration that came along is right": "retryd check",
    "all of it is as it was packed": "dpkg --verify retryd",
    "anybody can read the configuration": f"test \"$(stat --format '%a %U' /{CONFIG})\" = '644 root'",
    "man retryd:": "man -w retryd && man retryd >/dev/null",
    "man retryd.yaml:": "man -w retryd.yaml && man retryd.yaml >/dev/null",
    "completion is there": ". /usr/share/bash-completion/completions/retryd && complete -p retryd",
    "the unit is there, and not enabled": f"test -e {UNITS}/retryd.service -a ! -e {WANTS}/retryd.service",
    "it is enabled, as systemctl does it, and its configuration changed":
        f"mkdir -p {WANTS}; ln -s {UNITS}/retryd.service {WANTS}/retryd.service; "
        f"ln -s {UNITS}/retryd@.service {WANTS}/retryd@shop.service; echo '# the operator' >>/{CONFIG}",
    "it is upgraded": f"{INSTALL} {KEEP} /work/next.deb; dpkg-query -W -f '${{Version}}' retryd | grep '+next$'",
    "the changed configuration is kept, the new one lies beside it":
        f"tail -n 1 /{CONFIG} | grep '# the operator' && tail -n 1 /{CONFIG}.dpkg-dist | grep '# a new line'",
    "it is still enabled": f"test -L {WANTS}/retryd.service",
    "it is removed": "apt-get remove --yes retryd",
    "the program and the units are gone, the configuration stays":
        f"test ! -e /usr/bin/retryd -a ! -e {UNITS}/retryd.service -a -e /{CONFIG}",
    "it comes back": f"{INSTALL} {KEEP} /work/retryd.deb",
    "it is enabled as before": f"test -L {WANTS}/retryd.service",
    "it is purged": "apt-get purge --yes retryd",
    "nothing is left of it":
        "find / -xdev '(' -path /work -o -path /proc -o -path /tmp -o -path /var/log -o -path /var/cache ')' -prune -o "
        "-name '*retryd*' -print >/work/left; cat /work/left; test ! -s /work/left",
}


def successor(package: Path, unpacked: Path, to: Path, line: str = "") -> None:
    """The same package, but a later one; its configuration ends with the line, as that of the next version might."""
    output_of("dpkg-deb", "--raw-extract", package, unpacked)
    control, config = unpacked / "DEBIAN/control", unpacked / CONFIG
    control.write_text(re.sub("(?m)^Version: .*", r"\g<0>+next", control.read_text()))
    config.write_text(config.read_text() + line)
    output_of("sh", "-c", "find etc usr -type f -exec md5sum {} + >DEBIAN/md5sums", cwd=unpacked)
    output_of("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", unpacked, to)
    roots.remove(unpacked)


def try_package(debian: str, package: Path, work: Path) -> None:
    """On a copy of that Debian's plain root, which is thrown away."""
    seen = work / f"try-{debian}"
    seen.mkdir()
    shutil.copy(package, seen / "retryd.deb")
    successor(package, seen / "unpacked", seen / "next.deb", "# a new line\n")
    root = roots.copy(roots.plain_root(debian), work / f"root-{debian}")
    for label, command in TRIAL.items():
        tried = done(roots.in_root(root, seen, "bash", "-ec", command))
        if tried.returncode != 0:
            say(tried.stdout + tried.stderr)
            raise Failed(f"not so: {label}", "the package must not be published", "read the output above")
        say(f"{label} {tried.stdout.strip()}" if label.endswith(":") else label, "try-package")
    roots.remove(root)
