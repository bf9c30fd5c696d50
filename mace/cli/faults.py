"""What the system raises, in words: a disk that is full, a file that may not be read, memory that is not there.

In:  a command at work.    Out: a MaceError, or the end of the command, in place of what Python raised.
Promise: nothing that was printed is tried again at the end of the process; what is no fault of the system passes on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from mace.base.files import reason
from mace.errors import FileError, MaceError


class StoppedError(MaceError):
    """Somebody pressed Ctrl-C; the exit code is what shells give for that."""

    exit_code = 130


@contextmanager
def explained() -> Iterator[None]:
    """Turn what the system raises into words; what was printed is written out before this ends."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:  # typer would end without a word
        raise StoppedError("interrupted") from None
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
