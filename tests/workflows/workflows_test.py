#!/usr/bin/python3
"""That GitHub takes the workflows, that what they run is there, and that they may do no more than they need."""
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../containers"))
import typos  # noqa: E402
import workflows  # noqa: E402
import yaml  # noqa: E402

TEXTS = workflows.texts()
# Maps whose keys are ours to choose, or an action's.
FREE = ("jobs", "matrix", "env", "with")


def each():
    """(name of the file, workflow)"""
    for name, text in TEXTS.items():
        yield name, workflows.parsed(text)


def each_step():
    """(name to tell, job, steps before it, step)"""
    for name, workflow in each():
        for job, before, step in workflows.steps(workflow):
            yield "%s, %s" % (name, step.get("name") or step.get("uses") or step.get("run")), job, before, step


class Workflows(unittest.TestCase):
    def test_those_that_there_are(self):
        self.assertEqual(["night.yml", "release.yml", "tests.yml"], list(TEXTS))

    def test_github_takes_them(self):
        for name, workflow in each():
            self.assertEqual([], workflows.refused(workflow), name)

    def test_no_misspelt_key_goes_unseen(self):
        for name, workflow in each():
            self.assertEqual([], list(typos.unseen(workflow, FREE, workflows.refused)), name)

    def test_what_they_run_is_there(self):
        for name, _, _, step in each_step():
            self.assertEqual([], list(workflows.missing_scripts(step.get("run", ""))), name)

    def test_what_they_run_is_sound_bash(self):
        for name, workflow in each():
            self.assertEqual("bash", workflow["defaults"]["run"]["shell"], name + ": in a container it would be sh")
        for name, _, _, step in each_step():
            checked = subprocess.run(["bash", "-n"], input=step.get("run", ""), stderr=subprocess.PIPE, text=True)
            self.assertEqual("", checked.stderr, name)

    def test_nothing_from_outside_is_pasted_into_a_script(self):
        for name, _, _, step in each_step():
            self.assertNotIn("${{", step.get("run", ""), name + ": pass it through env:, where it stays data")

    def test_what_expressions_name_is_there(self):
        for name, job, before, step in each_step():
            self.assertEqual([], list(workflows.unknown_names(job, before, step)), name)

    def test_every_job_ends_and_says_what_it_may(self):
        for name, workflow in each():
            self.assertEqual({}, workflow["permissions"], name)
            for job in workflow["jobs"].values():
                self.assertIn("timeout-minutes", job, name)
                self.assertIn("permissions", job, name)

    def test_who_may_write_runs_nothing_of_the_project(self):
        for name, job, _, step in each_step():
            if "write" in job.get("permissions", {}).values():
                self.assertNotIn("actions/checkout", step.get("uses", ""), name)

    def test_actions_are_pinned_by_their_commit(self):
        for name, text in TEXTS.items():
            for line in re.findall(r"uses:.*", text):
                self.assertRegex(line, r"^uses: actions/[a-z-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", name)

    def test_an_action_is_the_same_everywhere(self):
        used = {line for text in TEXTS.values() for line in re.findall(r"uses: (.*)", text)}
        self.assertEqual(len(used), len({line.split("@")[0] for line in used}), used)

    def test_a_bare_debian_gets_git_before_the_checkout_and_the_checkout_leaves_no_token(self):
        for name, _, before, step in each_step():
            if "actions/checkout" in step.get("uses", ""):
                installed = "".join(other.get("run", "") for other in before)
                self.assertRegex(installed, r"install .*\bca-certificates git\b", name)
                self.assertIs(False, step["with"]["persist-credentials"], name)


class Checks(unittest.TestCase):
    """That the checks above see what they are there for."""

    def test_a_script_that_is_missing_or_cannot_be_executed(self):
        for run, found in ((".ci/run", []), ("./test --all", []), ("cd x && scripts/package 12", []),
                           ("scripts/pakage 12", ["scripts/pakage is not there"]),
                           ("./tset", ["tset is not there"]),
                           ("CC=clang script/run || true", ["script/run is not there"]),
                           ("docs/tls.md", ["docs/tls.md cannot be executed"]),
                           ("build/made", ["build/made is not there"]),
                           ("cat docs/tsl.md", ["docs/tsl.md is not there"]),
                           ("cp build/made /var/x \"$HOME/y\" https://example.org/a", [])):
            with self.subTest(run=run):
                self.assertEqual(found, list(workflows.missing_scripts(run)))

    def test_a_key_that_stands_twice(self):
        text = TEXTS["tests.yml"]
        with self.assertRaisesRegex(yaml.YAMLError, "jobs stands twice"):
            workflows.parsed(text + text[text.index("jobs:"):])

    def test_a_name_that_nobody_gives(self):
        job = {"strategy": {"matrix": {"debian": []}}}
        step = {"with": {"key": "${{ matrix.system }} ${{ steps.a.outputs.b }}"}}
        giving = {"id": "a", "run": 'echo b=1 >>"$GITHUB_OUTPUT"'}
        self.assertEqual(["there is no system in the matrix"], list(workflows.unknown_names(job, [giving], step)))
        self.assertEqual(2, len(list(workflows.unknown_names(job, [], step))))


if __name__ == "__main__":
    unittest.main()
