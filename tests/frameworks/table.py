#!/usr/bin/python3
"""The table clients × versions of RabbitMQ × result in docs/frameworks.md, between its two marks.

    table.py write     of the results that the runs left in the build, RETRYD_BUILD (frameworks/VERSION.json); ends with 77,
                       "skipped", where one of them could not be run
    table.py check     whether the table has the clients and versions that are tried, and npm's versions of their packages"""
import itertools
import json
import sys

import clients
import installed

PAGE = installed.HERE.parent.parent / "docs" / "frameworks.md"
BEGIN, END = "<!-- tried: begin -->\n", "<!-- tried: end -->\n"


def table_of(results):
    """`results`: by version of RabbitMQ, by client. It is a failure that is told, never left out."""
    rows = []
    for client in clients.CLIENTS:
        own = {version: results[version][client.name] for version in client.versions}
        versions = sorted({one["version"] for one in own.values()} - {""})
        rows.append(row_of(client, ", ".join(versions), [verdict_of(own.get(version)) for version in clients.ALL]))
    rows += [not_had_row(*each) for each in clients.NOT_HAD]
    head = ["client", "its version", *(f"RabbitMQ {version}" for version in clients.ALL), "why not"]
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head), *rows])


def row_of(client, version, cells):
    return [client.name, f"{client.source} {version}", *cells, client.why]


def not_had_row(name, why):
    return [name, "neither in npm nor in Debian", *["–"] * len(clients.ALL), why]


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
    files = {version: installed.folder() / f"{version}.json" for version in clients.ALL}
    missing = [version for version, file in files.items() if not file.exists()]
    if missing:
        print(f"nothing was seen on RabbitMQ {', '.join(missing)}: the table is left as it was")
        sys.exit(77)
    results = {version: json.loads(file.read_text(encoding="utf-8")) for version, file in files.items()}
    before, _, after = parts()
    PAGE.write_text(before + BEGIN + table_of(results) + END + after, encoding="utf-8")


def check():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in parts()[1].splitlines()[2:]]
    wanted = []
    packages = json.loads((installed.HERE / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    for client, row in zip(clients.CLIENTS, rows):
        version = packages[f"node_modules/{client.source}"]["version"] if client.from_npm else row[1].rpartition(" ")[2]
        wanted.append(row_of(client, version, ["passed" if one in client.versions else "–" for one in clients.ALL]))
    wanted += [not_had_row(*each) for each in clients.NOT_HAD]
    assert rows == wanted, (
        f"{PAGE} does not have what is tried: build the target frameworks-table, which tries it and writes it\n"
        + "\n".join(f"is: {row}\nto be: {one}" for row, one in itertools.zip_longest(rows, wanted) if row != one))


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]]()
