"""What the tests share, because it takes seconds to begin: each part begins when a test asks for it first."""
import contextlib
import functools
import os
import pathlib

from browser import Browser
from live import Broker

_ends = contextlib.ExitStack()
end = _ends.close
at_end = _ends.callback
pictures = os.environ.get("RETRYD_PICTURES") and pathlib.Path(os.environ["RETRYD_PICTURES"])


@functools.cache
def browser():
    made = Browser()
    at_end(made.close)
    return made


@functools.cache
def broker():
    made = Broker()
    at_end(made.remove_all)
    return made


def paint(name):
    """Where pictures are wanted: of the whole page."""
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
        browser().picture(pictures / f"{name}.png")
