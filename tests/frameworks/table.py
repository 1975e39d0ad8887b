#!/usr/bin/python3
"""The table clients × versions of RabbitMQ × result in docs/frameworks.md, between its two marks.

    table.py write     of the results that the runs left in the build, RETRYD_BUILD (frameworks/VERSION.json)
    table.py check     whether the table has the clients and versions that are tried, and npm's versions of their packages"""
import json
import pathlib
import sys

import clients
import installed

PAGE = installed.HERE.parent.parent / "docs" / "frameworks.md"
BEGIN, END = "<!-- tried: begin -->\n", "<!-- tried: end -->\n"


def table_of(results):
    """`results`: by version of RabbitMQ, by client. It is a failure that is told, never left out."""
    lines = ["| client | its version | " + " | ".join(f"RabbitMQ {version}" for version in clients.ALL) + " |",
             "|---|---|" + "---|" * len(clients.ALL)]
    for client in clients.CLIENTS:
        own = {version: results[version][client.name] for version in client.versions}
        versions = sorted({one["version"] for one in own.values()})
        cells = [verdict_of(own.get(version)) for version in clients.ALL]
        lines.append(f"| {client.name} | {client.source} {', '.join(versions)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def verdict_of(result):
    if result is None:
        return "–"
    return "passed" if result["result"] == "passed" else "**failed**"


def parts():
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    table, end, after = rest.partition(END)
    assert begin and end, f"{PAGE} has no marks for the table"
    return before, table, after


def write():
    results = {version: json.loads((installed.folder() / f"{version}.json").read_text(encoding="utf-8"))
               for version in clients.ALL}
    before, _, after = parts()
    PAGE.write_text(before + BEGIN + table_of(results) + END + after, encoding="utf-8")


def check():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in parts()[1].splitlines()[2:]]
    wanted = []
    packages = json.loads((installed.HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for client, row in zip(clients.CLIENTS, rows):
        version = packages[f"node_modules/{client.source}"]["version"] if client.from_npm else row[1].rpartition(" ")[2]
        cells = ["passed" if one in client.versions else "–" for one in clients.ALL]
        wanted.append([client.name, f"{client.source} {version}", *cells])
    assert rows == wanted and len(rows) == len(clients.CLIENTS), (
        f"{PAGE} does not have what is tried: run ctest --test-dir BUILD -L frameworks, then build the target "
        f"frameworks-table\n{rows}\n{wanted}")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]]()
