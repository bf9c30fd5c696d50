"""`mace.verify`: whether a property holds for every input. Nothing heavy is imported before the function is called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mace.base.arguments import checked
from mace.verify.properties import Property
from mace.verify.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space


@checked
def verify(
    model: object,
    space: Space,
    property: Property | str,  # noqa: A002
    *,
    data: pd.DataFrame | None = None,
    timeout: float | None = 60.0,
    memory_mb: int | None = 4096,
    load: Callable[[Path], object] | None = None,
) -> Verdict:
    """Whether a property holds for every input that the space allows.

    model:    as for `mace.explain`.
    space:    the inputs: all values that its features may take, under its rules; which features may change from a
              given row plays no part here.
    property: one of `mace.verify`'s properties, or its text.
    data:     rows for `robust(0)`, and for plain values in witnesses.
    timeout:  seconds for the whole property (None: no limit); memory_mb: MB for each solver.
    load:     reads the model that `equivalent` names by its file.
    Returns a Verdict. Raises a MaceError for a wrong model, space or property; a limit does not raise.
    """
    from mace.verify.prove import verdict_of

    return verdict_of(model, space, property, data, timeout, memory_mb, load)
