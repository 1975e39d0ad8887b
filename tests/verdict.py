#!/usr/bin/python3
"""The verdict of a run of CTest, from its JUnit file: how many test cases passed, the names of those that did not, and the
command that runs just these again. A layer's executable holds many cases and counts as many.

    verdict.py JUNIT_FILE PRESET

Its last line is "N passed, M failed", with what was skipped where something was."""
import pathlib
import re
import sys
import xml.etree.ElementTree as ET

# What Catch2 and unittest print of themselves at their end.
ALL_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)", re.M)
SOME_FAILED = re.compile(r"^test cases: *(\d+) .*", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*", re.M)


def cases_in(output):
    """How many cases a program ran, how many of them failed."""
    if match := ALL_PASSED.search(output):
        return int(match[1]), 0
    if match := SOME_FAILED.search(output):
        failed = re.search(r"(\d+) failed(?! as)", match[0])
        return int(match[1]), int(failed[1]) if failed else 0
    if match := UNITTEST.search(output):
        return int(match[1]), len(re.findall(r"^(?:FAIL|ERROR): ", output, re.M))
    return 1, 0


def main():
    file, preset = pathlib.Path(sys.argv[1]), sys.argv[2]
    if not file.exists():
        print("test: CTest did not come to its end: what it says stands above", file=sys.stderr)
        return 1
    passed = failed = skipped = 0
    failures, not_run = [], []
    for case in ET.parse(file).getroot().iter("testcase"):
        name, status = case.get("name"), case.get("status")
        fixture = re.search(r" (starts|ends|builds)$", name)
        count, bad = cases_in(case.findtext("system-out") or "")
        if status == "run":
            passed += 0 if fixture else count
        elif case.find("skipped") is not None and "SKIP" in ET.tostring(case.find("skipped"), "unicode"):
            skipped += 0 if fixture else 1
            if fixture:
                not_run.append(name)
        else:
            bad = max(bad, 1)
            failed += bad
            passed += max(count - bad, 0)
            failures.append(name)
    for name in not_run:
        print(f"test: {name}: not possible today, so what needs it was NOT tested; the reason is above", file=sys.stderr)
    if failures:
        print("\ntest: these failed:", *(f"  {name}" for name in failures), "run just these again:",
              f"  ctest --preset {preset} --rerun-failed", sep="\n", file=sys.stderr)
    if passed + failed == 0:
        print("test: nothing ran: that is a failure", file=sys.stderr)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
