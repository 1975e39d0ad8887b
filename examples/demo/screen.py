"""What the reader sees: at most 100 columns, with colours on a terminal only."""
from __future__ import annotations

import os
import sys
import textwrap
import time

WIDEST_QUOTE = 95
TO_READ = 2  # seconds

IS_TERMINAL = sys.stdout.isatty()
IS_COLOURED = IS_TERMINAL and not os.environ.get("NO_COLOR")
ESCAPES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "magenta": 35, "cyan": 36}


def paint(colour: str, text: str) -> str:
    return f"\x1b[{ESCAPES[colour]}m{text}\x1b[0m" if IS_COLOURED and colour in ESCAPES else text


def write(line: str = "") -> None:
    print(line, flush=True)


def title(text: str) -> None:
    write(paint("bold", text))


def chapter(heading: str) -> None:
    write()
    title(heading)
    write()


def say(text: str = "") -> None:
    """Lines of the narrator."""
    for line in text.splitlines() or [""]:
        write(f"   {line}".rstrip())


def command(text: str) -> None:
    """A command as a person would type it; several lines if it is long."""
    for number, line in enumerate(text.splitlines()):
        say(paint("dim", "> " if number else "$ ") + paint("bold", line))


def quote(text: str) -> None:
    """A file or the output of a command. Long lines are wrapped and keep their indent."""
    for line in text.splitlines():
        indent = line[:len(line) - len(line.lstrip())]
        for part in textwrap.wrap(line, WIDEST_QUOTE, subsequent_indent=indent, break_on_hyphens=False) or [""]:
            say(paint("dim", "|") + f" {part}")


def event(seconds: float, who: str, colour: str, what: str, details: str) -> None:
    """One event, with the time since the first mail."""
    say(paint("dim", f"{seconds:6.3f} s") + f"  {who:8}" + paint(colour, f"{what:11}") + details)


def complaint(text: str) -> None:
    say(paint("red", "WRONG: ") + text)


def pause() -> None:
    """Waits a moment for a reader, if the output is a terminal."""
    if IS_TERMINAL:
        time.sleep(TO_READ)
