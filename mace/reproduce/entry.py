"""An entry of `mace reproduce`: a name, where it is from, and the function that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mace.reproduce.result import Reproduced
from mace.reproduce.work import Work


class Entry(NamedTuple):
    """One table or figure.

    name:   what the command line calls it.
    title:  what it shows.
    source: the paper, and which of its tables.
    run:    from the settings of a run to the result.
    words:  what `--only` may name: data sets, models, methods.
    """

    name: str
    title: str
    source: str
    run: Callable[[Work], Reproduced]
    words: tuple[str, ...] = ()
