"""Tests that are steps of one sequence: the methods run in the order in which they are written, and each prints a line."""
import subprocess
import sys
import time
import unittest
from typing import Any, Callable, Sequence

from script import elapsed, say

COMMAND_DEADLINE = 600  # seconds, for any one command


def done(command: Sequence[object]) -> subprocess.CompletedProcess:
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace", timeout=COMMAND_DEADLINE, check=False)


def checked(command: Sequence[object]) -> str:
    """What the command prints; fails with all of its output where the exit code is not 0."""
    ended = done(command)
    if ended.returncode != 0:
        words = " ".join(map(str, command))
        raise AssertionError(f"exit code {ended.returncode} of: {words}\n{ended.stdout}{ended.stderr}")
    return ended.stdout.strip()


class Step(unittest.TestCase):
    """Its line is the name of the method; `saw` adds details to it."""

    def __init__(self, name: str):
        super().__init__(name)
        self.label = name.removeprefix("test_").replace("_", " ")
        self.seen: list[str] = []
        self.saw = self.seen.append


class StepResults(unittest.TestResult):
    """The formats take the line of a step and, if it has passed, how long it took."""

    def __init__(self, me: str, passed: str, failed: str, after_failure: Callable[[], str] = str):
        super().__init__()
        self.me, self.passed_as, self.failed_as, self.after_failure = me, passed, failed, after_failure
        self.passed = self.failed = 0

    def take(self, case: type[Step], **given: Any) -> None:
        """Runs the steps of that class, each with `given` as its attributes."""
        for name in vars(case):
            if name.startswith("test_"):
                step = case(name)
                vars(step).update(given)
                self.began = time.monotonic()
                step.run(self)

    def addSuccess(self, test: Step) -> None:
        self.passed += 1
        text = ": ".join([test.label, *["; ".join(test.seen)] * bool(test.seen)])
        say(self.passed_as.format(text, elapsed(time.monotonic() - self.began)), self.me)

    def addFailure(self, test: Step, error: Any) -> None:
        self.failed += 1
        print(self._exc_info_to_string(error, test) + self.after_failure(), file=sys.stderr)
        say(self.failed_as.format(test.label), self.me)

    addError = addFailure

    def addSkip(self, test: Step, reason: str) -> None:
        say(reason, self.me)

    def verdict(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"
