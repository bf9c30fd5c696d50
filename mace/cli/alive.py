"""A sign of life on stderr, where a command has said nothing for some seconds.

In:  a command at work.    Out: on a terminal one line that counts and is wiped away; elsewhere a line now and then.
"""

from __future__ import annotations

import sys
import threading
import time

from mace.base.deadline import stands
from mace.base.escape import one_line

PATIENCE = 1.0  # seconds of silence on a terminal; what Python takes to start comes before them
IN_A_LOG = 10.0  # and elsewhere
WIPE = "\r\x1b[2K"  # the line of a terminal that the cursor is on


class Alive:
    """Counts the seconds since somebody last said something; `doing` is what the command is at."""

    def __init__(self) -> None:
        self.doing = "at work"
        self._over, self._lock = threading.Event(), threading.Lock()
        self._began = self._last = 0.0
        self._shown = self._hushed = False

    def __enter__(self) -> Alive:
        self._began = self._last = time.perf_counter()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.spoke()

    def spoke(self) -> None:
        """Something is about to be said: what stands there is wiped away, and silence begins anew."""
        with self._lock:
            self._wipe()
            self._last = time.perf_counter()

    def hush(self) -> None:
        """From here on the command speaks for itself."""
        self._hushed = True
        self.spoke()

    def resume(self) -> None:
        """From here on it does not any more."""
        self._hushed = False
        self.spoke()

    def clear(self) -> None:
        """A bar that somebody draws is wiped away, for a line above it: it draws itself again below."""
        if self._hushed and sys.stderr.isatty():
            # rich, which draws the bar, stands before it and keeps what has no end yet.
            below = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
            below.write(WIPE)
            below.flush()

    def _watch(self) -> None:
        while not self._over.wait(0.25):
            self.tick(time.perf_counter())

    def tick(self, now: float) -> None:
        """Say what the command is at, if nothing was said for long enough."""
        with self._lock:
            patience = IN_A_LOG if not sys.stderr.isatty() else 0.9 if self._shown else PATIENCE
            if self._over.is_set() or self._hushed or now - self._last < patience:
                return
            self._last = now
            doing = "compiling, once on this machine" if stands() else one_line(self.doing)
            self._say(f"mace: {doing}, {round(now - self._began)} s")

    def _say(self, text: str) -> None:
        try:
            if sys.stderr.isatty():
                self._wipe()
                self._shown = True
                sys.stderr.write(text)
            else:
                sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except (OSError, ValueError):  # nobody reads it
            self._over.set()

    def _wipe(self) -> None:
        if self._shown:
            self._shown = False
            sys.stderr.write(WIPE)
            sys.stderr.flush()


alive = Alive()
"""Of this process: commands are not nested."""
