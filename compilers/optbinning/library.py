"""All that is known of OptBinning."""

from __future__ import annotations

from typing import Any

from mace.compilers.deployed import Deployed, Given, as_it_is, asked
from mace.compilers.library import Categories, Library, Reader
from mace.compilers.optbinning.reader import read_scorecard, step_of


def _deployed(model: Any, _: Given) -> Deployed:
    """It looks its variables up by name, so it is always handed the frame."""
    return asked(model, as_it_is, tuple(model.binning_process_.variable_names))


LIBRARY = Library(
    name="OptBinning",
    package="optbinning",
    distributions={"optbinning": ("optbinning",)},
    extra="optbinning",
    deployed=_deployed,
    readers={
        "optbinning.Scorecard": Reader(
            read_scorecard, "margin", "estimators that are not linear; binning_transform_params"
        ),
    },
    categories=Categories(step_of),
    # The doctor does not ask it: it brings a solver that shares its process with no other.
)
