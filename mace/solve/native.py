"""What numba makes of a function, kept on disk; imported only where something is compiled, or read from there.

In:  a function, and the name that it is kept under.    Out: numba's dispatcher of it.
Promise: code that is not whole is compiled again (`mace.solve.compiled` knows when this is worth it).
"""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import compiler, serialize, types
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from mace.base.deadline import standing
from mace.errors import FileError
from mace.solve import code_files

log = logging.getLogger("mace.compiled")


def dispatcher(function: Callable[..., Any], name: str, *, counting: bool, inner: bool = False) -> Any:
    """The function as numba compiles it at a call; as it is where NUMBA_DISABLE_JIT leaves it so.

    inner: for calls by compiled functions alone. What unpacks Python's arguments is then left out: of tuples of many
    arrays that is more code than most functions.
    """
    njit: Any = numba.njit  # whose stubs know less than it takes
    # Unsaid, `_nrt` would be as in whoever calls the function. Nobody takes its address, which is what "cfunc" is for.
    # While it runs other threads run too: no two searches share an array that either changes.
    made: Any = njit(_nrt=counting, nogil=True, no_cpython_wrapper=inner, no_cfunc_wrapper=True)(function)
    if hasattr(made, "enable_caching"):
        made.__class__ = _Inner if inner else _Dispatcher
        made._cache = KeptCode(f"{name}-inner" if inner else name)
    return made


class _Dispatcher(CPUDispatcher):
    """A dispatcher whose compiling, and reading from disk, counts against no question's time limit."""

    def compile(self, signature: Any) -> Any:
        with standing():
            return super().compile(signature)


class _Inner(_Dispatcher):
    """A dispatcher of a function that only compiled functions call."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Once for any integer, not again for each that a caller writes out."""
        return super().get_call_template(tuple(map(types.unliteral, args)), kws)


class KeptCode:
    """What numba asks about one function: the code kept for given types, and to keep some."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def cache_path(self) -> str | None:
        """The folder written to, for numba's statistics."""
        return None if (state := code_files.digest()) is None else str(next(code_files.folders(), Path()) / state)

    def load_overload(self, signature: object, context: Any) -> Any:
        """The code for a signature; None if it is not kept, or not whole."""
        rtsys.initialize(context)  # which kept code calls; all else that numba knows is loaded where it compiles
        state = code_files.digest()
        for folder in code_files.folders() if state is not None else ():
            path = folder / str(state) / self._file(signature, context.codegen())
            with suppress(OSError):
                raw = path.read_bytes()
                try:
                    if hashlib.sha256(raw[32:]).digest() == raw[:32]:
                        return _rebuilt(context, raw[32:])
                except Exception as error:  # noqa: BLE001  whatever is wrong with it, compiling makes it anew
                    log.debug("%s: %r", path, error)
                path.unlink()
        announce()
        return None

    def save_overload(self, signature: object, result: Any) -> None:
        """Keep some code in the first folder that can be written."""
        state = code_files.digest()
        if state is None or any(not one.can_cache for one in result.lifted) or result.library.has_dynamic_globals:
            return
        try:
            code = _reduced(result)
        except Exception as error:  # noqa: BLE001  code that numba cannot write down is compiled each time
            log.debug("%s is not kept: %r", self.name, error)
            return
        for folder in code_files.folders():
            with suppress(OSError, FileError):
                code_files.write(
                    folder, state, self._file(signature, result.codegen), hashlib.sha256(code).digest() + code
                )
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
    """What `_reduced` wrote; the folders are ours alone, see `code_files.folders`."""
    made: Any = compiler.CompileResult
    return made._rebuild(context, *pickle.loads(raw))  # noqa: S301


@cache
def announce() -> None:
    """Say, once a process, that something is compiled."""
    log.info("compiling its searches, once on this machine: this takes a minute or two")


@cache
def announce_ahead() -> None:
    """Say, once a process, that another one compiles."""
    log.info("compiling its searches in the background, once on this machine: until then they are slower")
