"""What the programs `holds` have in common: they run their checks and print what each finds under its name."""
import sys
import traceback


def run(checks, names):
    """`checks`: by name, functions that give findings. `names`: those to run; none for all."""
    for name in names or checks:
        print("== " + name)
        try:
            for finding in checks[name]():
                print(finding)
        except Exception:  # what the other checks find is told all the same
            traceback.print_exc(file=sys.stdout)
