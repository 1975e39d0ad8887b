#!/usr/bin/python3
"""The tests of the status page and of the desk on it, in a real Chromium, with a real daemon on a real RabbitMQ.

    run.py page|desk           what every run of ./test runs of them
    run.py page|desk --night   what only ./test --all runs, besides
    run.py TEST...             a file of this folder, a class or a test in it: desk_hold_test, desk_hold_test.Hold

Pictures go to the folder RETRYD_PICTURES, where that is set. The environment names the broker (tests/support/environment.h) and
the daemon: RETRYD_TEST_BINARY, or RETRYD_BUILD with src/retryd below it. It must be Debian's own python3: python3-selenium
belongs to that."""
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "support")]
import night  # noqa: E402
import scene  # noqa: E402


def each(suite):
    for test in suite:
        yield from each(test) if isinstance(test, unittest.TestSuite) else [test]


def chosen(words):
    loader = unittest.defaultTestLoader
    if words and words[0] in ("page", "desk"):
        at_night = words[1:] == ["--night"]
        files = sorted(HERE.glob(words[0] + "_*_test.py"))
        found = each(loader.loadTestsFromNames([file.stem for file in files]))
        return unittest.TestSuite(test for test in found if night.is_for_the_night(test) == at_night)
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    return loader.loadTestsFromNames([word.removesuffix(".py") for word in words])


if __name__ == "__main__":
    try:
        ended = unittest.TextTestRunner(verbosity=2).run(chosen(sys.argv[1:]))
    finally:
        scene.end()
    sys.exit(0 if ended.wasSuccessful() and ended.testsRun else 1)
