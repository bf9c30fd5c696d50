"""What the system raises, in words: a disk that is full, a file that may not be read, memory that is not there.

In:  a command at work.    Out: a MaceError, or the end of the command, in place of what Python raised.
Promise: nothing that was printed is tried again at the end of the process; what is no fault of the system passes on.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mace.base.exit_codes import INTERRUPTED, TERMINATED
from mace.base.files import reason
from mace.errors import FileError, MaceError

AGAIN = 0.02  # seconds, by when the finalizer has ended


class Terminated(KeyboardInterrupt):
    """SIGTERM came. Libraries let Ctrl-C pass where they swallow other exceptions, as Python's own compiler does."""

    came = False


class StoppedError(MaceError):
    """Somebody pressed Ctrl-C, or sent SIGTERM; the exit code is what shells give for that."""

    def __init__(self, by: KeyboardInterrupt, hint: str = "") -> None:
        ended = isinstance(by, Terminated)
        super().__init__("terminated" if ended else "interrupted", hint=hint)
        self.exit_code = TERMINATED if ended else INTERRUPTED


def terminate(number: int, frame: object) -> None:  # noqa: ARG001
    """What SIGTERM does, which a pipeline that is cancelled sends: everything is put away as after Ctrl-C."""
    Terminated.came = True
    raise Terminated


def unraisable(given: sys.UnraisableHookArgs) -> None:
    """What came in a finalizer, which Python forgets: a signal is sent once more, to where it can be raised."""
    if not issubclass(given.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(given)
        return
    number = signal.SIGTERM if issubclass(given.exc_type, Terminated) else signal.SIGINT
    again = threading.Timer(AGAIN, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()


def ready_streams() -> None:
    """Let everything be printed: a stream that is closed swallows it, and one that says it knows only ASCII gets UTF-8.

    Such a stream is a locale that nobody set, as Python and click take it; of other encodings what a stream cannot
    hold is written by its number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # the lowest number that is free is taken
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 -- it stays open
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            known = codecs.lookup(stream.encoding).name
            if known == "ascii":
                stream.reconfigure(encoding="utf-8")
            elif not known.startswith("utf"):
                stream.reconfigure(errors="backslashreplace")


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the system raises into words; what was printed is written out before this ends."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt as stop:  # typer would end without a word
        raise StoppedError(stop) from None
    except BrokenPipeError:  # Whoever read has seen enough.
        _forget_output()
        sys.exit(0)
    except OSError as error:
        _forget_output()
        where = error.filename if error.filename is not None else "the system says"
        raise FileError(f"{where}: {reason(error)}", hint="Is there room, and may it be read and written?") from None
    except MemoryError:
        raise MaceError("out of memory", hint="Ask about less at once, or on a larger machine.") from None


def _forget_output() -> None:
    """Drop what could not be printed, which Python would try to print once more at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
