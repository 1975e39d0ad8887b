#!/usr/bin/python3
"""The verdict of a run of CTest, from its JUnit file: how many test cases passed, the names of those that did not, and the
command that runs just these again. A layer's executable holds many cases and counts as many.

    verdict.py JUNIT_FILE AGAIN          AGAIN: the command of the run, to which --rerun-failed is added
    verdict.py renumber BUILD_FOLDER     CTest keeps the numbers of what failed, which the next build may give to others

Its last line is "N passed, M failed", with what was skipped where something was."""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

# What Catch2 and unittest print of themselves at their end.
ALL_PASSED = re.compile(r"^All tests passed \(.* in (\d+) test cases?\)", re.M)
SOME_FAILED = re.compile(r"^test cases: *(\d+) .*", re.M)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*", re.M)
LINES_OF_FIXTURE = 30
# Of each of the first few that failed: enough to see why where only the end of a log is kept.
LINES_OF_TEST, TESTS_SHOWN = 12, 5


def say(*lines):
    print(*lines, sep="\n", file=sys.stderr, flush=True)


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


def tell_failures(failures, fixtures, waiting, again):
    for name, output in fixtures.items():
        say(f"\ntest: {name}: this went wrong:", *(f"  {line}" for line in output.splitlines()[-LINES_OF_FIXTURE:]))
    for name, output in [*failures.items()][:TESTS_SHOWN]:
        lines = [line for line in output.splitlines() if line.strip()]
        say(f"\ntest: {name}: its last lines:", *(f"  {line[:200]}" for line in lines[-LINES_OF_TEST:]))
    say("\ntest: these failed:", *(f"  {name}" for name in [*fixtures, *failures]))
    if waiting:
        say(f"  and {waiting} more, since what they need did not start")
    say("run just these again:", f"  {again} --rerun-failed")


def judge(file, again):
    if not file.exists():
        say("test: CTest did not come to its end: what it says stands above")
        return 1
    passed = failed = skipped = waiting = 0
    failures, fixtures = {}, {}
    for case in ET.parse(file).getroot().iter("testcase"):
        name, status, output = case.get("name"), case.get("status"), case.findtext("system-out") or ""
        fixture = re.search(r" (starts|ends|builds)$", name)
        count, bad = cases_in(output)
        reason = case.find("skipped")
        reason = "" if reason is None else ET.tostring(reason, "unicode")
        if status == "run":
            passed += 0 if fixture else count
        elif "SKIP" in reason and not bad:  # so many assertions may fail that their number is the code of a skip
            skipped += 0 if fixture else 1
            if fixture:
                say(f"test: {name}: not possible today, so what needs it was NOT tested; the reason is above")
        else:
            bad = max(bad, 1)
            failed += bad
            passed += max(count - bad, 0)
            if fixture and status == "fail":
                fixtures[name] = output
            elif "ixture dependency failed" in reason:
                waiting += 1
            else:
                failures[name] = output
    if failed:
        tell_failures(failures, fixtures, waiting, again)
    if passed + failed == 0:
        say("test: nothing ran: that is a failure")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if passed and not failed else 1


def renumber(build):
    file = build / "Testing/Temporary/LastTestsFailed.log"
    failed = {line.partition(":")[2] for line in file.read_text().splitlines()} if file.exists() else set()
    listed = subprocess.run(["ctest", "--test-dir", build, "-N"], stdout=subprocess.PIPE, text=True, check=True).stdout
    now = [f"{number}:{name}\n" for number, name in re.findall(r"^ *Test +#(\d+): (.*?)$", listed, re.M) if name in failed]
    if not now:
        say("test: nothing failed the last time: there is nothing to run again")
        return 1
    file.write_text("".join(now))
    return 0


def main():
    if sys.argv[1] == "renumber":
        return renumber(pathlib.Path(sys.argv[2]))
    return judge(pathlib.Path(sys.argv[1]), sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
