"""A model file that holds plain data: what was read of it, and the same model made by its library.

In:  the path of a model file, and its checked content.
Out: a `ModelFile`: its content, its table, and `deployed`, the library's own `predict`; where the library is not
     installed, the emulation of the table, and `note` says so.
Promise: no library is imported to read a file, and none ever sees its bytes: `loaded` hands the library a file that
the library's folder wrote of the checked content, after the table was made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, as_rows, decide
from mace.errors import ModelError
from mace.tables.table import Formula, Table


@dataclass(frozen=True, slots=True)
class Format:
    """What can be made of the content of a file.

    package:  the library that it is of, by the name to import.
    read:     content -> table; raises ModelError.
    load:     content -> the library's own object; raises ImportError without the library.
    deployed: that object, how rows are handed to it, and the table -> the model as its users call it.
    """

    package: str
    read: Callable[[Any], Table]
    load: Callable[[Any], Any]
    deployed: Callable[[Any, Given, Table], Deployed]


@dataclass(frozen=True)
class ModelFile:
    """A model file that holds plain data, and its checked content; `assumed`: what its user said that is not in it."""

    path: Path
    format: Format
    content: Any
    assumed: str = ""

    def table(self) -> Table:
        """Its table; raises ModelError."""
        return self._table

    @cached_property
    def _table(self) -> Table:
        return self.format.read(self.content)

    def loaded(self) -> Any:
        """The library's own object; raises ImportError without the library, ModelError where it does not take it."""
        self.table()  # What no table can be made of reaches no library.
        try:
            return self.format.load(self.content)
        except ImportError:
            raise
        except Exception as error:  # every library raises its own kinds
            raise ModelError(
                f"the {self.format.package} that is installed does not take {self.path.name}: {_first_line(error)}",
                hint="Was it saved by a newer version?",
            ) from error

    def deployed(self, given: Given) -> Deployed:
        """The model as its users call it; raises ModelError."""
        try:
            loaded = self.loaded()
        except ImportError as error:
            return self._emulated(str(error.name))
        return replace(self.format.deployed(loaded, given, self.table()), assumed=self.assumed)

    def _emulated(self, lacking: str) -> Deployed:
        table = self.table()
        assert not isinstance(table, Formula)
        note = f"{lacking} is not installed: the answer is confirmed by mace's own emulation of {self.path.name} only"
        return Deployed(
            lambda frame: np.array([decide(table, row) for row in as_rows(frame)]), None, note, assumed=self.assumed
        )


def _first_line(error: Exception) -> str:
    """The first line of what a library said."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
