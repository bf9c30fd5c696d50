"""The command line: JSON or tables on stdout, progress on stderr (on a terminal only), one message per mistake.

`main` is the entry point. The commands are imported by it, so that Ctrl-C ends in one line while they are.
"""

from __future__ import annotations

import gc
import io
import logging
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from mace.base.exit_codes import INTERNAL, INTERRUPTED
from mace.cli.alive import alive
from mace.cli.faults import StoppedError, Terminated, explained, ready_streams, terminate, unraisable
from mace.errors import MaceError

if TYPE_CHECKING:
    import typer

    app: typer.Typer

YOUNG = 400_000  # objects; libraries that a command imports (with scikit-learn half as many) live as long as it does


def main() -> None:
    """Entry point: every mistake becomes one message on stderr and an exit code."""
    ready_streams()
    gc.set_threshold(YOUNG)  # else the import of libraries is interrupted 400 times, for a seventh of its time
    _say_what_is_compiled()
    try:
        with explained(), alive:
            signal.signal(signal.SIGTERM, terminate)
            if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as `mace` was imported
                signal.signal(signal.SIGINT, signal.default_int_handler)
            sys.unraisablehook = unraisable
            from mace.cli.commands import SHORT, application

            # Of a command that is there the others need not be known.
            code = application([one for one in sys.argv[1:2] if one in SHORT] or SHORT)(standalone_mode=False)
            if code == INTERRUPTED:  # a signal while it read what was typed, of which typer says no word
                raise StoppedError(Terminated() if Terminated.came else KeyboardInterrupt())
            gc.freeze()  # Python's end would visit every object of a model, for most of a second, in silence
            sys.exit(code)
    except MaceError as error:
        _listen_no_more()
        _say(f"mace: {error}")
        sys.exit(error.exit_code)
    except Exception as error:
        _listen_no_more()
        if hasattr(error, "show") and hasattr(error, "exit_code"):  # of the parser of the command line
            shown = io.StringIO()
            error.show(shown)
            _say(shown.getvalue().replace("Value error, ", ""), nl=False)  # what checks values calls it so
            sys.exit(error.exit_code)
        if os.environ.get("MACE_DEBUG"):
            raise
        _say(
            f"mace: internal error: {type(error).__name__}: {error}\n"
            "This is a fault of mace, not of yours. Set MACE_DEBUG=1 for the traceback, and please report it."
        )
        sys.exit(INTERNAL)


def __getattr__(name: str) -> Any:
    """`app`, the command line with all commands, made when somebody asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from mace.cli.commands import application

    globals()["app"] = made = application()
    return made


def _listen_no_more() -> None:
    """All is put away: from here on a signal ends the process, where it would be raised in the middle of a message."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _say(text: object, *, nl: bool = True) -> None:
    """Say on stderr how it ended, whatever was imported by then."""
    from mace.cli.output import say

    say(text, err=True, nl=nl)


def _say_what_is_compiled() -> None:
    """Put on stderr that something is compiled: it takes longer than most questions, and happens once."""

    def emit(record: logging.LogRecord) -> None:
        alive.clear()
        _say(f"mace: {record.getMessage()}")

    handler = logging.Handler()
    handler.emit = emit  # type: ignore[method-assign]
    log = logging.getLogger("mace.compiled")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
