"""A suite: many properties of one model in one TOML file.

    suite = 1
    timeout = 60            # seconds a property, unless it says otherwise

    [[property]]
    name = "more income never hurts"
    property = "monotone(Income, increasing)"
    timeout = 120

In:  the file.    Out: `Suite`; `run_suite`, a verdict for each property, in the order of the file.
Promise: a key that is not known, a value of another type or a property that cannot be read is a FileError that names
file and line. An error in one property (a feature that the space does not have) does not stop the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.deadline import LONGEST, Deadline, stoppable
from mace.base.escape import short
from mace.base.files import read_toml
from mace.base.suggestions import meant
from mace.errors import FileError, MaceError
from mace.verify.properties import Property, read, text_of
from mace.verify.run import verify
from mace.verify.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space

VERSION = 1
KEYS = {"suite": int, "timeout": (int, float), "property": list}
ENTRY = {"name": str, "property": str, "timeout": (int, float)}


@dataclass(frozen=True)
class Entry:
    """One property of a suite, and the line on which it stands."""

    name: str
    property: Property
    timeout: float | None
    line: int


@dataclass(frozen=True)
class Suite:
    """The properties of a file, in order."""

    path: Path
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Outcome:
    """What came of one entry; `error` where it could not be asked at all."""

    entry: Entry
    verdict: Verdict | None = None
    error: str = ""

    @property
    def status(self) -> str:
        """proved, violated, unknown or error."""
        return self.verdict.status if self.verdict is not None else "error"


def load(path: str | Path) -> Suite:
    """Read a suite; raises FileError."""
    path = Path(path)
    data, text = read_toml(path, "Give a suite file (TOML).")
    if data.get("suite") != VERSION:
        got = f"got {short(data['suite'])}" if "suite" in data else "and there is no `suite`"
        raise FileError(
            f"{path}:{_line(text, 'suite')}: expected `suite = {VERSION}`, {got}",
            hint="The number is the version of the format.",
        )
    _checked(data, KEYS, path, text, 0, "the suite")
    timeout = _seconds(data, path, text, 0, 60.0)
    entries = []
    starts = [
        number for number, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*property\s*\]\]", line)
    ]
    for number, given in enumerate(data.get("property", [])):
        start = starts[number] if number < len(starts) else 1
        if not isinstance(given, dict) or "property" not in given:
            raise FileError(f"{path}:{start}: a property needs `property`, its text")
        _checked(given, ENTRY, path, text, start, "a property")
        line = _line(text, "property", start)
        try:
            known = read(given["property"])
        except MaceError as error:
            raise FileError(f"{path}:{line}: {error.message}", shown=error.shown, hint=error.hint) from None
        entries.append(
            Entry(given.get("name") or text_of(known), known, _seconds(given, path, text, start, timeout), line)
        )
    if not entries:
        raise FileError(f"{path}: names no property", hint="Write a table [[property]] for each.")
    return Suite(path, tuple(entries))


def run_suite(
    model: object,
    space: Space,
    suite: Suite | str | Path,
    *,
    data: pd.DataFrame | None = None,
    timeout: float | None = None,
    memory_mb: int | None = 4096,
    load_model: Callable[[Path], object] | None = None,
    callback: Callable[[Entry], None] | None = None,
) -> list[Outcome]:
    """Verify every property of a suite.

    timeout: in place of what the file says; 0 for no limit, None for the file's own.
    callback: called before each property.
    Returns one outcome for each, in order. Raises FileError for the file, never for a single property. After Ctrl-C
    the properties that are left are not asked about any more: they are unknown, and say so.
    """
    known = suite if isinstance(suite, Suite) else load(suite)
    outcomes = []
    with stoppable():
        stopped = Deadline.asked(None)  # over once Ctrl-C came
        for entry in known.entries:
            if stopped.over:
                verdict = Verdict(text_of(entry.property), "unknown", f"{stopped.why} before it was asked")
                outcomes.append(Outcome(entry, verdict))
                continue
            if callback is not None:
                callback(entry)
            limit = entry.timeout if timeout is None else timeout or None
            try:
                verdict = verify(
                    model,
                    space,
                    entry.property,
                    data=data,
                    timeout=limit,
                    memory_mb=memory_mb,
                    load=load_model,
                )
                outcomes.append(Outcome(entry, verdict))
            except MaceError as error:
                outcomes.append(Outcome(entry, error=str(error)))
    return outcomes


def of_texts(texts: list[str], timeout: float | None) -> Suite:
    """A suite of the properties given on a command line."""
    found = [read(text) for text in texts]
    return Suite(Path("command line"), tuple(Entry(text_of(one), one, timeout, 0) for one in found))


def _checked(given: dict[str, Any], known: dict[str, Any], path: Path, text: str, start: int, what: str) -> None:
    for key, value in given.items():
        place = f"{path}:{_line(text, key, start)}"
        if key not in known:
            hint = meant(key, known, f"It may have {', '.join(known)}.")
            raise FileError(f"{place}: {what} has no key `{key}`", hint=hint)
        if not isinstance(value, known[key]) or isinstance(value, bool):
            wanted = known[key][-1] if isinstance(known[key], tuple) else known[key]
            raise FileError(f"{place}: `{key}` must be of type {wanted.__name__}, got {value!r}")


def _seconds(given: dict[str, Any], path: Path, text: str, start: int, usual: float | None) -> float | None:
    """0 stands for no limit."""
    if "timeout" not in given:
        return usual
    if not 0 <= given["timeout"] < LONGEST:
        raise FileError(f"{path}:{_line(text, 'timeout', start)}: `timeout` is a number of seconds >= 0 (0: no limit)")
    return float(given["timeout"]) or None


def _line(text: str, key: str, start: int = 0) -> int:
    """The line of the first `key =` after a line; that line itself if there is none."""
    for number, line in enumerate(text.splitlines(), 1):
        if number > start and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
            return number
    return max(start, 1)


__all__ = ["Entry", "Outcome", "Suite", "load", "of_texts", "run_suite"]
