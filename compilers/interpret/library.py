"""All that is known of interpret."""

from __future__ import annotations

from typing import Any

from mace.compilers.deployed import Deployed, Given, as_it_is, as_rows, asked
from mace.compilers.interpret.categories import made_up, step_of
from mace.compilers.interpret.reader import read_ebm
from mace.compilers.library import Categories, Library, Reader


def _deployed(model: Any, given: Given) -> Deployed:
    """It is handed frames if it knows the names of its columns."""
    names = tuple(map(str, model.feature_names_in_))
    known = None if all(made_up(name, place) for place, name in enumerate(names)) else names
    return asked(model, as_it_is if given is as_rows and known is not None else given, known)


def _small(frame: Any, labels: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    options: dict[str, Any] = {"outer_bags": 1, "max_rounds": 10, "interactions": 0, "n_jobs": 1}
    return ExplainableBoostingClassifier(**options).fit(frame, labels)


_REFUSED = "categories that are neither texts nor whole numbers"
_EBM = Reader(read_ebm, "exact; margin for probabilities and log links", _REFUSED)
LIBRARY = Library(
    name="interpret",
    package="interpret",
    distributions={"interpret": ("interpret-core", "interpret")},
    extra="interpret",
    deployed=_deployed,
    # The private ones are public in interpret.privacy, and defined beside the others.
    readers={
        f"{place}ExplainableBoosting{kind}": _EBM
        for place in (
            "interpret.glassbox.",
            "interpret.glassbox._ebm._ebm.DP",
        )
        for kind in ("Classifier", "Regressor")
    },
    categories=Categories(step_of),
    small=_small,
)
