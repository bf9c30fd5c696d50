"""Where compiled code lies on disk, and for which state of the sources.

In:  the name of a function, and what was compiled of it.    Out: files, in one folder a state of the sources.
Promise: a cache that cannot be written, is damaged, or was made from other sources, by other versions or on another
processor costs time and nothing else. No folder is read that others can have put code into. Nothing heavy is imported.

Why not numba's own cache: it raises where no folder can be written, fails on a damaged file, and keeps the code of a
function when only a function that it calls has changed. Here everything lies in one folder a state of the sources.
The first of these that can be written is used, and all of them are read: `NUMBA_CACHE_DIR` if it is set, the package's
own `__pycache__`, the user's cache folder, a private folder among the temporary files.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import numpy as np

from mace.base.files import write_whole

# The files, in this folder, that compiled functions are in or take names from.
SOURCES = (
    "ensembles/relaxation/ascent.py",
    "compatible.py",
    "ensembles/points/balls.py",
    "ensembles/boxes/book.py",
    "ensembles/arrays/best_leaves.py",
    "ensembles/arrays/cells.py",
    "ensembles/relaxation/cliques.py",
    "ensembles/additive/climbing.py",
    "ensembles/arrays/cuts.py",
    "ensembles/shortening/dividing.py",
    "ensembles/relaxation/exact_bound.py",
    "ensembles/relaxation/frame.py",
    "ensembles/means/functions.py",
    "ensembles/points/greedy.py",
    "ensembles/shortening/hoisting.py",
    "ensembles/boxes/inherited.py",
    "ensembles/additive/ladders.py",
    "ensembles/shortening/leaves.py",
    "ensembles/means/loop.py",
    "ensembles/additive/messages.py",
    "ensembles/relaxation/narrowing.py",
    "ensembles/relaxation/opening.py",
    "ensembles/relaxation/paths.py",
    "ensembles/additive/payments.py",
    "ensembles/means/pieces.py",
    "ensembles/shortening/pruning.py",
    "ensembles/boxes/search.py",
    "ensembles/boxes/separating.py",
    "ensembles/relaxation/sides.py",
    "ensembles/arrays/sweeping.py",
    "ensembles/relaxation/undecided.py",
    "ensembles/arrays/walk.py",
    "networks/aims.py",
    "networks/kernels.py",
    "networks/model.py",
    "networks/program.py",
    "networks/relax.py",
    "networks/simplex.py",
    "networks/trials.py",
)
FRESH = 0.5  # seconds for which a look at what is on disk counts
KEPT = 4  # states of the sources in one folder
OWN = "mace-smt"  # how folders that only this user may write begin


@cache
def digest() -> str | None:
    """The state of the sources and of what compiles them; None where that cannot be read."""
    found = hashlib.sha256()
    here = Path(__file__).parent
    try:
        for name in (*SOURCES, "native.py"):  # and by which options they are compiled
            found.update((here / name).read_bytes())
        of_numba = [metadata.version(name) for name in ("numba", "llvmlite")]
    except (OSError, metadata.PackageNotFoundError):
        return None
    versions = (sys.version, *of_numba, np.__version__, platform.machine())
    return "compiled-" + hashlib.sha256(found.digest() + repr(versions).encode()).hexdigest()[:16]


def folders() -> Iterator[Path]:
    """The folders that compiled code may lie in, the best first."""
    if named := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(named)
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):  # a user without a home
        usual = Path.home() / "Library" / "Caches" if sys.platform == "darwin" else Path.home() / ".cache"
        own = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
        folder = (Path(own) if own and Path(own).is_absolute() else usual) / OWN
        if _ours(folder):
            yield folder
    with suppress(OSError):  # no folder for temporary files
        folder = Path(tempfile.gettempdir()) / f"{OWN}-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        if _ours(folder):
            yield folder


def _ours(folder: Path) -> bool:
    """Whether nobody else can have put code into a folder, or it is not there yet."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return folder.is_dir() and not folder.is_symlink() and found.st_uid == os.getuid() and not found.st_mode & 0o022


def write(folder: Path, state: str, name: str, raw: bytes) -> None:
    """Write a file whole, and drop the oldest states when a new one begins; raises OSError or FileError."""
    home = begin(folder, state)
    write_whole(home / name, raw)
    _Listing.until = -math.inf


def begin(folder: Path, state: str) -> Path:
    """The folder of a state of the sources, made where it is not there; raises OSError."""
    home = folder / state
    if not home.is_dir():
        folder.mkdir(mode=0o700 if folder.name.startswith(OWN) else 0o777, parents=True, exist_ok=True)
        home.mkdir(exist_ok=True)
        old = sorted(folder.glob("compiled-*"), key=lambda one: one.stat().st_mtime)
        for one in old[:-KEPT]:
            shutil.rmtree(one, ignore_errors=True)
    return home


class _Listing:
    """The functions of which there was code on disk when that was last looked at."""

    names: frozenset[str] = frozenset()
    until = -math.inf  # on the system's clock: when to look again


def holds(name: str) -> bool:
    """Whether code of a function, for some types, is on disk."""
    if time.perf_counter() >= _Listing.until:
        state = digest()
        found = [folder / state for folder in folders()] if state is not None else []
        _Listing.names = frozenset(path.name.rpartition("-")[0] for home in found for path in home.glob("*.bin"))
        _Listing.until = time.perf_counter() + FRESH
    return name in _Listing.names


def lockable() -> Path | None:
    """A file beside the code that processes can lock while they make some; None where none can be kept."""
    state = digest()
    for folder in folders() if state is not None else ():
        path = folder / str(state) / "lock"
        with suppress(OSError):
            if not path.exists():
                begin(folder, str(state))
            path.open("ab").close()
            return path
    return None
