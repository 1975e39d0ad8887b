#!/usr/bin/python3
"""How many instructions a message costs, counted by callgrind, and how many allocations: the same number on every run,
however busy the machine is.

    count.py PROGRAM              each case against its limit
    count.py PROGRAM --measured   only the figures, as tests/instructions/measured keeps them

A limit is what was measured with that compiler on that processor (tests/instructions/measured), plus 3 %. Without such a
measurement the instructions are printed and not judged. Exit code 1 where a limit is exceeded, or where a case does not
allocate exactly what tests/instructions/cases.cpp says."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

MARGIN = 1.03
MEASURED = pathlib.Path(__file__).parent / "measured"


def count(program, folder):
    """Runs the program, with callgrind's dumps in that folder. Returns what it prints of its cases."""
    # The environment is on the stack, and the C library chooses its routines by the processor: both are kept the same.
    environment = {"PATH": os.environ["PATH"], "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-ERMS,-FSRM"}
    return subprocess.run(["valgrind", "--tool=callgrind", "--collect-atstart=no", f"--callgrind-out-file={folder}/dump",
                           program], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def totals(folder):
    """By case, the instructions that callgrind counted."""
    counted = {}
    for dump in pathlib.Path(folder).glob("dump.*"):
        text = dump.read_text(encoding="utf-8")
        case = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.M)
        total = re.search(r"^totals: (\d+)", text, re.M)
        if case and total:
            counted[case[1]] = int(total[1])
    return counted


def limits(machine):
    """By case; None where nobody has measured with this compiler on this processor."""
    file = MEASURED / machine
    if not file.exists():
        print(f"nobody has measured with {machine}: the instructions are not judged", file=sys.stderr)
        return None
    return {case: int(int(number) * MARGIN) for case, number in map(str.split, file.read_text().splitlines())}


def main():
    program, only_figures = sys.argv[1], "--measured" in sys.argv[2:]
    with tempfile.TemporaryDirectory(prefix="retryd-") as folder:
        said = count(program, folder).splitlines()
        counted = totals(folder)
    limit_of = limits(next(line[2:] for line in said if line.startswith("# ")))
    all_within = True
    for line in said:
        if line.startswith("#"):
            continue
        case, messages, allocations, expected = line.split()
        instructions = counted[case] // int(messages)
        if only_figures:
            print(case, instructions)
            continue
        limit = None if limit_of is None else limit_of.get(case, 0)
        within = (limit is None or instructions <= limit) and allocations == expected
        all_within &= within
        print(f"{case:<28} {instructions:7} instructions a message, limit {limit if limit is not None else 'none':>7}  "
              f"{allocations:>4} allocations a thousand, expected {expected:>4}  {'passed' if within else 'OVER'}")
    return 0 if all_within else 1


if __name__ == "__main__":
    sys.exit(main())
