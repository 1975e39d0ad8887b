"""What the scripts in Python have in common: messages, steps and how they end, like say.sh for those in bash."""
import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, NoReturn

ME = Path(sys.argv[0]).name
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    """Cause, consequence, remedy; or nothing where the error was printed already."""


def say(text: str, me: str = ME) -> None:
    print(f"{me}: {text}", file=sys.stderr, flush=True)


def elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def output_of(*command: object, otherwise: Failed = Failed(), **options: Any) -> str:
    """What the command prints. A command that fails has printed why. On an interruption the command is terminated."""
    options = {"stdout": subprocess.PIPE, "text": True, **options}
    with subprocess.Popen(list(map(str, command)), **options) as process:
        try:
            said, _ = process.communicate()
        except BaseException:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            raise
    if process.returncode != 0:
        raise otherwise
    return (said or "").strip()


def step(label: str, log: Path, *command: object, **options: Any) -> None:
    """Runs the command: prints when it begins, what it is doing and when it ends; all of its output where it fails."""
    output_of(Path(__file__).parent / "step", ME, label, log, *command, **options)


def run(main: Callable[[], int]) -> NoReturn:
    """Ends with the exit code of main. Its `with` blocks are left before, also on a signal."""
    def end(number: int, _: object) -> NoReturn:
        for one in SIGNALS:
            signal.signal(one, signal.SIG_IGN)
        # Not SystemExit: unittest takes that for a test that failed.
        raise KeyboardInterrupt(130 if number == signal.SIGINT else 143)
    for one in SIGNALS:
        signal.signal(one, end)
    try:
        sys.exit(main())
    except Failed as failed:
        if failed.args:
            print("{}: {}\n  then: {}\n  do:   {}".format(ME, *failed.args), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt as ended:
        sys.exit(*ended.args)
