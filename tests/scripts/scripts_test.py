#!/usr/bin/python3
"""What ./test and ./demo do when they are called wrongly, twice, or after one that was killed; and the verdict of a run."""
import os
import pathlib
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
SESSION = """
set -euo pipefail
me=demo project=$1
. "$project/scripts/lib/say.sh"
. "$project/scripts/lib/session.sh"
claim dev
echo "$work"
follow sleep 100
"""
CASE = '<testcase name="%s" status="%s">%s<system-out>%s</system-out></testcase>'
CTEST = """add_test("one; [x]" true)
add_test("two" false)
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, name, text):
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return self.folder / name


class Arguments(unittest.TestCase):
    def refused(self, *command):
        answer = run(PROJECT / command[0], *command[1:], timeout=60)
        self.assertEqual(64, answer.returncode, answer.stdout)
        return answer.stdout

    def test_what_ctest_would_ignore_is_refused(self):
        self.assertIn("-R 'parked'", self.refused("test", "parked"))
        self.assertIn("-R 'y'", self.refused("test", "--all", "-L", "unit", "y"))
        self.assertIn("-R 'x'", self.refused("test", "-j", "x"))
        self.assertIn("--wrong", self.refused("test", "--wrong"))
        self.assertIn("--label-regexp", self.refused("test", "--label-regexp", "unit"))
        self.assertIn("-R needs a value", self.refused("test", "-j", "4", "--rerun-failed", "-R"))
        self.assertIn("--timeout takes a whole number, not 'abc'", self.refused("test", "--timeout", "abc"))
        self.assertIn("until-fail:N", self.refused("test", "--repeat", "often"))

    def test_the_demo_takes_the_versions_it_can_play(self):
        for wrong in ["3.8"], ["4.0", "x"], ["4"], [""]:
            self.assertIn("only 3.10, 4.0 and 4.3", self.refused("demo", *wrong))
        self.refused("demo", "--wrong")

    def test_help_is_given_to_who_asks(self):
        for command in "demo", "test":
            answer = run(PROJECT / command, "--help", timeout=60)
            self.assertEqual(0, answer.returncode)
            self.assertIn(f"./{command}", answer.stdout)


class Session(Scratch):
    def setUp(self):
        super().setUp()
        (self.folder / "scripts").symlink_to(PROJECT / "scripts")
        self.environment = {**os.environ, "TMPDIR": str(self.folder) + "/"}  # a slash too many does no harm

    def start(self, bash="bash"):
        process = subprocess.Popen([bash, "-c", SESSION, "bash", self.folder], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process, process.stdout.readline().strip()

    def test_a_second_run_is_refused_at_once(self):
        first, work = self.start()
        second, said = self.start()
        self.assertIn(f"another ./demo (pid {first.pid}) works in build/dev", said)
        self.assertEqual(1, second.wait(60))
        self.assertTrue(os.path.exists(work))

    def test_what_a_killed_run_left_is_removed_by_the_next(self):
        first, work = self.start()
        deaf = subprocess.Popen(["setsid", "sh", "-c", "trap '' TERM; echo deaf; sleep 100; :"], env={**os.environ, "TMPDIR": work},
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(deaf.stdout.close)
        self.assertEqual("deaf\n", deaf.stdout.readline())
        first.kill()
        first.wait()
        second, said = self.start()
        self.assertIn(work, said)
        self.assertEqual(-9, deaf.wait(60))
        self.assertNotEqual(work, second.stdout.readline().strip())
        self.assertFalse(os.path.exists(work))

    def test_a_shell_whose_name_has_a_space_does_not_take_itself_for_a_killed_run(self):
        (self.folder / "a shell").symlink_to("/bin/bash")
        for _ in range(2):
            first, work = self.start(self.folder / "a shell")
            self.assertTrue(work.startswith(f"{self.folder}/retryd."), work)
            self.assertTrue(os.path.exists(work))
            first.terminate()
            first.wait(60)

    def test_a_locale_that_is_not_installed_is_not_complained_of_by_what_runs_in_it(self):
        self.environment["LC_ALL"] = "no_WHERE"
        answer = run("bash", "-c", '. "$1"; bash -c true', "bash", PROJECT / "scripts/lib/say.sh", env=self.environment)
        self.assertEqual(1, answer.stdout.count("setlocale"), answer.stdout)  # by the first one, before it can be helped

    def test_a_temporary_folder_that_cannot_be_written_to_is_named(self):
        self.environment["TMPDIR"] = str(self.folder / "missing")
        process, said = self.start()
        self.assertIn("mktemp", said)
        self.assertIn(f"nothing can be written to {self.folder}/missing", process.stdout.readline())
        self.assertEqual(1, process.wait(60))

    def test_the_number_of_another_process_is_no_owner_and_no_owner_is_no_run(self):
        namespace = os.readlink("/proc/self/ns/pid")
        reused = self.write("retryd.reused/owner", f"{os.getpid()} 1 {namespace}\n")
        strange = self.write("retryd.strange/file", "")
        elsewhere = self.write("retryd.elsewhere/owner", f"{os.getpid()} 1 pid:[1]\n")
        process, said = self.start()
        while said.startswith("sweep:"):
            said = process.stdout.readline()
        self.assertEqual([False, True, True], [file.exists() for file in (reused, strange, elsewhere)])

    def test_it_leaves_nothing(self):
        first, work = self.start()
        first.terminate()
        self.assertEqual(143, first.wait(60))
        self.assertFalse(os.path.exists(work))

    def test_a_project_that_cannot_be_written_to(self):
        self.write("build", "no folder")
        first, said = self.start()
        self.assertIn("nothing can be written to", said)
        self.assertEqual(1, first.wait(60))


class Interrupted(Scratch):
    def test_a_job_that_loses_the_first_signal_is_ended_by_a_second_one(self):
        lost = """. "$1/scripts/lib/say.sh"; . "$1/scripts/lib/session.sh"
            (trap 'trap - TERM' TERM; touch "$work/ready"; while :; do sleep 0.05; done) &
            until [[ -e $work/ready ]]; do sleep 0.05; done"""
        answer = run("bash", "-c", "me=test project=$1; " + lost, "bash", PROJECT, timeout=60,
                     env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual((0, []), (answer.returncode, [*self.folder.iterdir()]), answer.stdout)


class Mirror(Scratch):
    def judged(self, words):
        log = self.write("log", words)
        return run("bash", "-c", '. "$1" && no_mirror "$2"', "bash", PROJECT / "scripts/lib/root.sh", log).returncode

    def test_only_a_mirror_is_a_reason_to_skip(self):
        for words in ("Temporary failure resolving 'deb.debian.org'", "Could not connect to 127.0.0.1:1 (refused)",
                      "  404  Not Found [IP: 1.2.3.4 80]", "The following packages have unmet dependencies:"):
            self.assertEqual(0, self.judged(words), words)
        for words in ("Could not resolve host\nE: Write error - write (28: No space left on device)", "",
                      "tar: unexpected end of file", "E: You don't have enough free space in /var"):
            self.assertNotEqual(0, self.judged(words), words)


class Verdict(Scratch):
    def verdict(self, *cases):
        file = self.write("junit.xml", "<testsuite>%s</testsuite>" % "".join(CASE % case for case in cases))
        return run("/usr/bin/python3", PROJECT / "tests/verdict.py", file, "./test --all")

    def test_a_fixture_that_failed_says_why_and_what_needs_it_is_counted(self):
        waiting = [(f"case {number}", "notrun", '<skipped message="Fixture dependency failed"/>', "") for number in range(20)]
        answer = self.verdict(("b starts", "fail", "<failure/>", "boom"), ("good", "run", "", ""), *waiting)
        for text in "  boom\n", "  b starts\n", "and 20 more, since what they need", "  ./test --all --rerun-failed\n":
            self.assertIn(text, answer.stdout)
        self.assertNotIn("case 7", answer.stdout)
        self.assertEqual((1, "1 passed, 21 failed"), (answer.returncode, answer.stdout.splitlines()[-1]))

    def test_the_last_lines_of_what_failed_stand_beside_its_name(self):
        lines = "".join(f"line {number}\n\n" for number in range(40))
        answer = self.verdict(("bad", "fail", "<failure/>", lines), ("good", "run", "", "never shown"))
        self.assertIn("test: bad: its last lines:\n  line 28\n", answer.stdout)
        self.assertIn("  line 39\n\ntest: these failed:\n  bad\nrun just these again:\n", answer.stdout)
        self.assertNotIn("never shown", answer.stdout)

    def test_cases_count_and_what_was_skipped_is_said(self):
        skip = '<skipped message="SKIP_RETURN_CODE=77"/>'
        answer = self.verdict(("core", "run", "", "All tests passed (9 assertions in 7 test cases)"),
                              ("b starts", "notrun", skip, ""), ("b 1", "notrun", skip, ""))
        self.assertIn("b starts: not possible today", answer.stdout)
        self.assertEqual((0, "7 passed, 0 failed, 1 skipped"), (answer.returncode, answer.stdout.splitlines()[-1]))
        self.assertEqual(1, self.verdict(("b 1", "notrun", skip, "")).returncode)

    def test_what_failed_is_found_under_its_new_number(self):
        self.write("CTestTestfile.cmake", CTEST)
        run("ctest", cwd=self.folder)
        failed = self.folder / "Testing/Temporary/LastTestsFailed.log"
        self.assertEqual("2:two\n", failed.read_text())
        self.write("CTestTestfile.cmake", 'add_test("new" true)\n' + CTEST)
        again = ["/usr/bin/python3", PROJECT / "tests/verdict.py", "renumber", self.folder]
        self.assertEqual(0, run(*again).returncode)
        self.assertEqual("3:two\n", failed.read_text())
        failed.unlink()
        self.assertEqual(1, run(*again).returncode)


if __name__ == "__main__":
    unittest.main()
