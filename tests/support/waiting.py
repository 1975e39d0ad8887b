"""Waits for a condition, instead of sleeping for as long as it might take."""
import time

PATIENCE = 60.0  # seconds, for what takes one or two, on a machine that is busy


def wait_until(condition, what, within=PATIENCE, pause=0.05):
    """Waits until the condition returns something true, and returns that; fails with `what` and the last value. The longer
    it has waited, the less often it looks."""
    start = time.monotonic()
    deadline = start + within
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise AssertionError(f"{what}: not within {within} s (last: {answer!r})")
        time.sleep(max(pause, min(0.4, (time.monotonic() - start) / 20)))


def hold(condition, what, seconds, pause=0.2):
    """Checks that the condition holds for this time: fails at once when it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not condition():
            raise AssertionError(f"{what}: no longer so")
        time.sleep(pause)
