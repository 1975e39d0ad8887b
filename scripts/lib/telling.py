"""How the scripts in Python speak and end, as say.sh has it for the others."""
import contextlib
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable, NoReturn

ME = Path(sys.argv[0]).name
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failed(Exception):
    """Cause, consequence, remedy; or nothing where all has been said."""


def say(text: str, me: str = ME) -> None:
    print(f"{me}: {text}", file=sys.stderr, flush=True)


def elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def asked(*command: object, otherwise: Failed = Failed(), **options: Any) -> str:
    """What the command prints. Where it fails it has said why itself; where this is interrupted it tidies up."""
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
    """Tells when it begins, what it is doing, when it ends; all that it has said where it fails."""
    asked(Path(__file__).parent / "step", ME, label, log, *command, **options)


def run(main: Callable[[], int]) -> NoReturn:
    """Ends with main's code; what that holds in `with` is given back before, whatever ends it."""
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
