"""Functions compiled by numba once they are worth it, and kept on disk.

In:  a function of arrays and numbers.    Out: the same function, compiled for the types that it is called with.
Promise: a cache that cannot be written, is damaged, or was made from other sources, by other versions or on another
processor costs time and nothing else: what does not match its own digest is compiled again.

A new installation has nothing on disk, and compiling takes half a minute, where a small question takes a tenth of a
second even in Python. So functions that are not on disk are interpreted until a process has spent `PATIENCE` in them;
only then they are compiled, while the clock of all deadlines stands. The results are the same: numba's integers wrap
as numpy's do, and neither reorders sums.

Why not numba's own cache: it raises where no folder can be written, fails on a damaged file, and keeps the code of a
function when only a function that it calls has changed. Here everything lies in one folder a state of the sources.
The first of these that can be written is used, and all of them are read: `NUMBA_CACHE_DIR` if it is set, the package's
own `__pycache__`, the user's cache folder, a private folder among the temporary files.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core.registry import CPUDispatcher

from mace.base.deadline import standing
from mace.base.files import write_whole
from mace.errors import FileError

F = TypeVar("F", bound=Callable[..., Any])

# The files, in this folder, that compiled functions are in or take names from.
SOURCES = (
    "ensembles/ascent.py",
    "compatible.py",
    "ensembles/boxes.py",
    "ensembles/cells.py",
    "ensembles/cuts.py",
    "ensembles/greedy.py",
    "ensembles/inherited.py",
    "ensembles/means.py",
    "ensembles/pruning.py",
    "ensembles/search.py",
    "ensembles/walk.py",
    "networks/kernels.py",
    "networks/model.py",
    "networks/relax.py",
)
PATIENCE = 3.0  # CPU seconds, about a tenth of what compiling takes
KEPT = 4  # states of the sources in one folder
OWN = "mace-smt"  # how folders that only this user may write begin
log = logging.getLogger("mace.compiled")


def compiled(function: F) -> F:
    """Compile a function once it is worth it."""
    return _compiled(function, counting=True)


def lean(function: F) -> F:
    """The same for one that neither makes arrays nor returns any, and so need not count who holds those it is given.

    Counting takes longer than a small function itself: it is done for every array of every tuple, in every call.
    """
    return _compiled(function, counting=False)


def _compiled(function: F, *, counting: bool) -> F:
    njit: Any = numba.njit  # whose stubs know less than it takes
    made: Any = njit(_nrt=counting)(function)  # unsaid, it would be as in whoever calls the function
    if hasattr(made, "enable_caching"):  # not where NUMBA_DISABLE_JIT leaves the function as it is
        made.__class__ = _Function
        made._cache = Kept(function)
    return cast(F, made)


def at_once() -> None:
    """From now on compile before the first call: for whoever asks much, or measures."""
    _interpreting.patience = 0.0


class _Interpreting:
    """The time that this process has spent in interpreted functions."""

    def __init__(self) -> None:
        self.patience = PATIENCE
        self.spent = 0.0
        self.began: float | None = None  # when the outermost call under way began

    @property
    def over(self) -> bool:
        """Whether compiling is worth it now."""
        since = 0.0 if self.began is None else time.thread_time() - self.began
        return self.spent + since >= self.patience

    def call(self, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """Interpret a call; what it calls is asked again, so that a long call ends compiled."""
        if self.began is not None:
            return function(*given)
        self.began = time.thread_time()
        try:
            with np.errstate(all="ignore"):  # compiled code says nothing of infinities either
                return function(*given)
        finally:
            self.spent += time.thread_time() - self.began
            self.began = None


_interpreting = _Interpreting()


class _Function(CPUDispatcher):
    """A function of numba that is interpreted as long as it is neither on disk nor worth compiling."""

    _cache: Kept

    def __call__(self, *given: Any) -> Any:
        if self.overloads or _interpreting.over or self._cache.kept:
            return super().__call__(*given)
        return _interpreting.call(self.py_func, given)

    def compile(self, signature: Any) -> Any:
        with standing():
            return super().compile(signature)


class Kept:
    """What numba asks about one function: the code kept for given types, and to keep some."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"

    @cached_property
    def kept(self) -> bool:
        """Whether code for some types is on disk."""
        state = digest()
        return state is not None and any(any((one / state).glob(f"{self.name}-*.bin")) for one in folders())

    @property
    def cache_path(self) -> str | None:
        """The folder written to, for numba's statistics."""
        return None if (state := digest()) is None else str(next(folders(), Path()) / state)

    def load_overload(self, signature: object, context: Any) -> Any:
        """The code for a signature; None if it is not kept, or not whole."""
        context.refresh()
        state = digest()
        for folder in folders() if state is not None else ():
            path = folder / str(state) / self._file(signature, context.codegen())
            with suppress(OSError):
                raw = path.read_bytes()
                try:
                    if hashlib.sha256(raw[32:]).digest() == raw[:32]:
                        return _rebuilt(context, raw[32:])
                except Exception as error:  # noqa: BLE001  whatever is wrong with it, compiling makes it anew
                    log.debug("%s: %r", path, error)
                path.unlink()
        _announce()
        return None

    def save_overload(self, signature: object, result: Any) -> None:
        """Keep some code in the first folder that can be written."""
        state = digest()
        if state is None or any(not one.can_cache for one in result.lifted) or result.library.has_dynamic_globals:
            return
        try:
            code = _reduced(result)
        except Exception as error:  # noqa: BLE001  code that numba cannot write down is compiled each time
            log.debug("%s is not kept: %r", self.name, error)
            return
        for folder in folders():
            with suppress(OSError, FileError):
                _write(folder, state, self._file(signature, result.codegen), hashlib.sha256(code).digest() + code)
                return

    def _file(self, signature: object, code: Any) -> str:
        key = f"{signature} {code.magic_tuple()}"
        return f"{self.name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.bin"

    def enable(self) -> None:
        """Nothing: it is always on."""

    disable = flush = enable


def _reduced(result: Any) -> bytes:
    """The code that numba made, as numba itself writes it down."""
    dumps: Any = serialize.dumps
    return cast(bytes, dumps(result._reduce()))


def _rebuilt(context: Any, raw: bytes) -> Any:
    """What `_reduced` wrote; the folders are ours alone, see `folders`."""
    made: Any = compiler.CompileResult
    return made._rebuild(context, *pickle.loads(raw))  # noqa: S301


@cache
def digest() -> str | None:
    """The state of the sources and of what compiles them; None where the sources cannot be read."""
    found = hashlib.sha256()
    here = Path(__file__).parent
    try:
        for name in SOURCES:
            found.update((here / name).read_bytes())
    except OSError:
        return None
    versions = (sys.version, numba.__version__, llvmlite.__version__, np.__version__, platform.machine())
    return "compiled-" + hashlib.sha256(found.digest() + repr(versions).encode()).hexdigest()[:16]


def folders() -> Iterator[Path]:
    """The folders that compiled code may lie in, the best first."""
    config: Any = numba.config
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
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


def _write(folder: Path, state: str, name: str, raw: bytes) -> None:
    """Write a file whole, and drop the oldest states when a new one begins; raises OSError or FileError."""
    home = folder / state
    if not home.is_dir():
        folder.mkdir(mode=0o700 if folder.name.startswith(OWN) else 0o777, parents=True, exist_ok=True)
        home.mkdir(exist_ok=True)
        old = sorted(folder.glob("compiled-*"), key=lambda one: one.stat().st_mtime)
        for one in old[:-KEPT]:
            shutil.rmtree(one, ignore_errors=True)
    write_whole(home / name, raw)


@cache
def _announce() -> None:
    """Say, once a process, that something is compiled."""
    log.info("compiling, once on this machine: up to a minute")
