"""Compile in a process of its own, so that no question waits for code while its clock runs.

In:  the module of a function that it is worth compiling.    Out: whether that is under way; code, on disk.
Promise: one process of a machine compiles at a time, where files can be locked, and it outlives whoever started it:
what it has made is read by the next one. Where nothing can be kept, or no process be started, nothing is under way.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from mace.solve import code_files

MADE_BY = "mace.certify.ready"  # which knows what is needed: provers, and what writes their proofs

FRESH = 0.1  # seconds for which a look at a process counts: interpreted functions ask at every call

_lock = threading.Lock()
_started: dict[str, subprocess.Popen[bytes] | None] = {}  # of each kind; None: it could not be
_works_until: dict[str, float] = {}  # of each kind, on the system's clock: when to look again


def kind_of(module: str) -> str | None:
    """The kind of search that a module's functions are for; None where they are for none."""
    of_trees = "mace.solve.ensembles."
    if module.startswith(f"{of_trees}means."):
        return "means"
    if module.startswith(of_trees):
        return None if module == f"{of_trees}arrays.best_leaves" else "ensembles"  # which plans alone ask for
    return "networks" if module.startswith("mace.solve.networks.") else None


def under_way(module: str) -> bool:
    """Whether a process compiles what a module's functions are for; it is started at the first call."""
    kind = kind_of(module)
    if kind is None:
        return False
    if time.perf_counter() < _works_until.get(kind, 0.0):
        return True
    with _lock:
        if kind not in _started:
            _started[kind] = _start(kind)
        child = _started[kind]
        works = child is not None and child.poll() is None
        _works_until[kind] = time.perf_counter() + FRESH if works else 0.0
        return works


def _start(kind: str) -> subprocess.Popen[bytes] | None:
    """Begin to compile for a kind of search."""
    if code_files.lockable() is None or not sys.executable:
        return None
    from mace.solve.native import announce_ahead

    announce_ahead()
    # The package is looked for where this process looks; -P: but not in the folder that it happens to stand in.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(Path(place or ".").resolve()) for place in sys.path)}
    command = [sys.executable, "-P", "-W", "ignore", "-m", MADE_BY, kind]
    nowhere = subprocess.DEVNULL
    with suppress(OSError):
        return subprocess.Popen(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, env=environment, start_new_session=True
        )
    return None


@atexit.register
def _forget() -> None:
    """Let go of processes that outlive this one, as they should: Python warns of each, whatever the user's filters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        _started.clear()


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process compiles ahead, where files can be locked."""
    path = code_files.lockable()
    if path is None:
        yield
        return
    with path.open("ab") as file:
        _take(file)
        yield


def _take(file: IO[bytes]) -> None:
    """Lock a file until it is closed."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
