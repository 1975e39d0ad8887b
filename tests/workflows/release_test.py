#!/usr/bin/python3
"""That scripts/release and release.yml publish what they should: on a copy of the project, with packages of straw and a
`gh` that only writes down what it is asked."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import workflows  # noqa: E402

RELEASE = workflows.parsed(workflows.texts()["release.yml"])
FILES = ["CMakeLists.txt", "CHANGELOG.md", "scripts/release", "scripts/lib/script.py"]
CHANGES = """# Changes

## 1.2.3 — 2026-11-22

News: [logs](docs/logs.md), [web](https://a/docs/).

- An item.

## 1.2.2 — 2026-10-01

Older.
"""
GH = '#!/bin/sh\nprintf "%s\\n" "$@" >asked\nprintf %s "$GH_TOKEN" >token\n'


def line_of(step_name):
    return next(step["run"] for _, _, step in workflows.steps(RELEASE) if step.get("name") == step_name)


class Release(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        for name in FILES:
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(workflows.PROJECT, name), self.path(name))
        self.write("CMakeLists.txt", re.sub(r"VERSION \d+\.\d+\.\d+", "VERSION 1.2.3", self.read("CMakeLists.txt")))
        self.write("CHANGELOG.md", CHANGES)
        self.write("bin/gh", GH)
        os.chmod(self.path("bin/gh"), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_step(self, step_name, tag="v1.2.3", folder=""):
        """As GitHub would run it; what it says if it fails, nothing if it does not."""
        environment = {"PATH": self.path("bin") + ":/usr/bin:/bin", "GITHUB_REF_NAME": tag, "GH_TOKEN": "a token",
                       "GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "some/where"}
        ran = subprocess.run(["bash", "--noprofile", "--norc", "-euo", "pipefail", "-c", line_of(step_name)],
                             cwd=self.path(folder), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        return ran.stdout if ran.returncode else ""

    def package(self):
        for number in 12, 13:
            for ending in "deb", "spdx.json":
                name = "build/package/retryd_1.2.3-1~deb%d_amd64.%s" % (number, ending)
                self.write(name, "%s of %d" % (ending, number))

    def test_the_tag_is_the_version_and_the_newest_of_the_changelog(self):
        check = "Compare the tag with the version and the CHANGELOG"
        self.assertEqual("", self.run_step(check))
        for tag in "v1.2.4", "1.2.3", "v1.2.3-rc1":
            self.assertIn("the tag is %s, the version in CMakeLists.txt is 1.2.3" % tag, self.run_step(check, tag))
        for heading in "## 1.2.3 — unreleased", "## 1.2.4 — 2026-11-22", "## 1.2.30 — 2026-11-22", "## 1.2.3":
            self.write("CHANGELOG.md", CHANGES.replace("## 1.2.3 — 2026-11-22", heading))
            self.assertIn("heading of the CHANGELOG is '%s'" % heading, self.run_step(check))
        self.write("CHANGELOG.md", "# Changes\n")
        self.assertIn("the CHANGELOG has no heading", self.run_step(check))

    def test_what_is_published(self):
        self.package()
        self.write("build/package/retryd_1.2.2-1~deb12_amd64.deb", "an older one")
        self.assertEqual("", self.run_step("Gather what is published"))
        shutil.copytree(self.path("build/release"), self.path("release"))
        self.assertEqual("", self.run_step("Compare the checksums", folder="release"))
        self.assertEqual("", self.run_step("Publish", folder="release"))
        files = ["retryd_1.2.3-1.deb%d_amd64.%s" % (number, ending) for ending in ("deb", "spdx.json")
                 for number in (12, 13)]
        self.assertEqual(["release", "create", "v1.2.3", "--repo", "some/where", "--verify-tag",
                          "--title", "retryd 1.2.3", "--notes-file", "notes.md", *files, "SHA256SUMS"],
                         self.read("release/asked").splitlines())
        self.assertEqual("a token", self.read("release/token"))
        summed = re.findall(r"(?m)^[0-9a-f]{64}  (.*)$", self.read("release/SHA256SUMS"))
        self.assertEqual(sorted(files), sorted(summed))
        self.assertEqual("deb of 13", self.read("release/" + files[1]))
        links = "News: [logs](https://github.com/some/where/blob/v1.2.3/docs/logs.md), [web](https://a/docs/).\n"
        self.assertEqual(links + "\n- An item.\n\n", self.read("release/notes.md"))

    def test_what_was_changed_on_the_way_is_not_published(self):
        self.package()
        self.assertEqual("", self.run_step("Gather what is published"))
        self.write("build/release/retryd_1.2.3-1.deb12_amd64.deb", "another")
        self.assertIn("FAILED", self.run_step("Compare the checksums", folder="build/release"))

    def test_nothing_is_gathered_where_something_is_missing(self):
        gather = "Gather what is published"
        self.assertIn("there is no package of 1.2.3", self.run_step(gather))
        self.package()
        os.remove(self.path("build/package/retryd_1.2.3-1~deb13_amd64.spdx.json"))
        self.assertIn("deb13_amd64.spdx.json", self.run_step(gather))
        self.package()
        self.write("CHANGELOG.md", "# Changes\n")
        self.assertIn("the CHANGELOG has no heading", self.run_step(gather))
        self.write("CHANGELOG.md", CHANGES)
        self.assertEqual("", self.run_step(gather))
        self.assertIn("is there already", self.run_step(gather))


if __name__ == "__main__":
    unittest.main()
