"""The workflows of GitHub in .github/workflows, as data and as text."""
import json
import os
import re

import jsonschema
import yaml

PROJECT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
FOLDER = os.path.join(PROJECT, ".github/workflows")
with open(os.path.join(PROJECT, "tests/workflows/schema/workflow.json"), encoding="utf-8") as opened:
    VALIDATOR = jsonschema.Draft7Validator(json.load(opened))


class Loader(yaml.SafeLoader):
    """YAML as GitHub reads it: `on` is a word, and a key stands once."""

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, "%s stands twice" % key, node.start_mark)
        return super().construct_mapping(node, deep)


BOOLEAN = "tag:yaml.org,2002:bool"
Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in resolvers if tag != BOOLEAN]
                                  for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()}
Loader.add_implicit_resolver(BOOLEAN, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))


def texts():
    """Of each workflow, by the name of its file."""
    found = {}
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            found[name] = file.read()
    return found


def parsed(text):
    return yaml.load(text, Loader)


def refused(workflow):
    """What GitHub would not take, a line for each."""
    return ["%s: %s" % (".".join(map(str, error.absolute_path)) or "the whole", error.message)
            for error in map(deepest, VALIDATOR.iter_errors(workflow))]


def deepest(error):
    """Where none of several forms fits: what is wrong with the one in which the fault lies deepest."""
    while error.context:
        error = max(error.context, key=lambda one: (len(one.absolute_path), one.validator == "additionalProperties"))
    return error


def steps(workflow):
    """(job, the steps before it, step) of each."""
    for job in workflow["jobs"].values():
        for number, step in enumerate(job["steps"]):
            yield job, job["steps"][:number], step


COMMAND = r"(?:^|&&|\|\|?|;|\$\(|\b(?:then|do|else|if|exec|sudo|xargs|nice|env|bash|sh)\s)\s*(?:\w+=\S*\s+)*"
OUTPUT = "build/"  # what is made first


def missing_scripts(run):
    """What it calls, or names, that is not in the project: by a path, since what is in PATH is a matter of Debian."""
    run = run.replace("\\\n", " ")
    called = {os.path.normpath(path) for path in re.findall(COMMAND + r"([\w.][\w.-]*/[\w./-]+)", run, flags=re.M)}
    named = {os.path.normpath(path) for path in re.findall(r"(?<![\w./$~{}-])([\w.][\w.-]*(?:/[\w.-]+)+)", run)}
    for path in sorted(called | named):
        whole = os.path.join(PROJECT, path)
        if path.startswith(OUTPUT) and path not in called:
            continue
        if not os.path.exists(whole):
            yield "%s is not there" % path
        elif path in called and not (os.path.isfile(whole) and os.access(whole, os.X_OK)):
            yield "%s cannot be executed" % path


def unknown_names(job, before, step):
    """What an expression names and nobody provides: GitHub would put nothing in its place."""
    for expression in re.findall(r"\$\{\{(.*?)\}\}", json.dumps(step)):
        for identifier, output in re.findall(r"\bsteps\.([\w-]+)\.outputs\.([\w-]+)", expression):
            sources = [other.get("run", "") for other in before if other.get("id") == identifier]
            if not any(re.search(r"\b%s=.*GITHUB_OUTPUT" % output, run) for run in sources):
                yield "no step %s before it gives %s" % (identifier, output)
        for name in re.findall(r"\bmatrix\.([\w-]+)", expression):
            if name not in job.get("strategy", {}).get("matrix", {}):
                yield "there is no %s in the matrix" % name
