"""The project's files, and schemas to hold them against."""
import json
import os
import re
import sys

import jsonschema
import yaml

PROJECT = os.path.abspath(sys.argv[1])
PORT = 9467  # of metrics and health


def path_of(name):
    return os.path.join(PROJECT, name)


def text_of(name):
    with open(path_of(name), encoding="utf-8") as file:
        return file.read()


def yaml_of(name):
    return yaml.safe_load(text_of(name))


def version():
    return re.search(r"project\(retryd VERSION (\S+)", text_of("CMakeLists.txt")).group(1)


def schema_of(name):
    return json.loads(text_of("tests/containers/schemas/" + name))


def against(schema, value):
    """What the schema refuses, a text for each."""
    for error in jsonschema.Draft7Validator(schema).iter_errors(value):
        yield "%s: %s" % (".".join(str(step) for step in error.absolute_path) or "the whole", error.message)
