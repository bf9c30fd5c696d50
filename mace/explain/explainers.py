"""Which explainer a model gets, one that reads it or one that only asks it; and the answer for one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from mace.base.deadline import Deadline, stoppable
from mace.errors import MaceError, UnreadableError
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.explain.reading.inferred import inferred
from mace.problem.distance import DistanceError
from mace.problem.objectives import DistanceSpec, ObjectiveSpec
from mace.search.blackbox import BlackBox
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.unread.explainer import Unread


def explainer_of(
    model: object, space: Space | pd.DataFrame | NDArray[Any], oracle: str = "auto", *,
    background: pd.DataFrame | None = None, rules: Sequence[str | Path] = (), distance: DistanceSpec = "l1",
    weights: Mapping[str, object] | None = None, objectives: Sequence[ObjectiveSpec] | None = None,
) -> Explainer | Unread:  # fmt: skip
    """The explainer of a model: it is read, unless no reader takes it or the oracle is "search".

    Raises what `Explainer` raises; for a model that is only asked also where it is asked for objectives.
    """
    shared: dict[str, Any] = {"background": background, "rules": rules, "distance": distance, "weights": weights}
    note = "" if oracle == "search" else 'the model is a function, which is only asked (oracle "search")'
    if oracle != "search" and not _function(model):
        try:
            return Explainer(model, space, objectives=objectives, **shared)
        except UnreadableError as error:
            if oracle != "auto":
                raise
            note = f'{error.message}: the model is only asked (oracle "search")'
    if isinstance(model, (str, Path)):
        raise MaceError("a program is read, not searched", hint='Leave out oracle="search".')
    if objectives is not None:
        raise DistanceError(
            "objectives in order of priority need a model that is read",
            hint="Of a model that is only asked, the distance comes first, then the number of changes.",
        )
    notes = [note] if note else []
    if not isinstance(space, Space):
        if not hasattr(space, "shape"):
            return Explainer(model, space, **shared)  # raises
        frame, space, assumed = inferred(model, space)
        notes += assumed
        shared["background"] = frame if background is None else background
    from mace.explain.unread.explainer import Unread

    return Unread(model, space, notes=notes, **shared)


def explain_row(
    model: object, space: Space | pd.DataFrame | NDArray[Any], x: object, oracle: str, read: Mapping[str, Any],
    asked: Mapping[str, Any], *,
    background: pd.DataFrame | None, rules: Sequence[str | Path], distance: DistanceSpec,
    weights: Mapping[str, object] | None, objectives: Sequence[ObjectiveSpec] | None, **settings: Any,
) -> Answer:  # fmt: skip
    """`mace.explain`: the answer for one row.

    read, asked: settings for models that are read, and for those that are only asked; `settings` are for both.
    """
    with stoppable():
        deadline = Deadline.asked(settings.pop("timeout"))
        explainer = explainer_of(
            model, space, oracle, background=background, rules=rules, distance=distance, weights=weights,
            objectives=objectives,
        )  # fmt: skip
        row = explainer.space.row(x)
        if not isinstance(explainer, Explainer):
            found: Answer = explainer.explain(row, oracle=oracle, timeout=deadline, **settings, **read, **asked)
            return found
        if len(asked["constrained"]) or asked["confidence"] is not None:
            raise MaceError(
                "`constrained` and `confidence` are for models that are only asked",
                hint='Use objectives, a goal such as `p(good) >= 0.9`, or oracle="search".',
            )
        return explainer.explain(row, oracle=oracle, timeout=deadline, **settings, **read)


def _function(model: object) -> bool:
    """Whether a model is a function or a `BlackBox`, rather than an object with `predict`."""
    if isinstance(model, BlackBox):
        return True
    from mace.compilers.registry import registered

    plain = callable(model) and not isinstance(model, type) and not callable(getattr(model, "predict", None))
    return plain and registered(model) is None  # PyTorch's modules are called
