"""All that is known of statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, as_rows, of_numbers
from mace.compilers.library import Categories, Library, Reader
from mace.compilers.statsmodels.formula import design_of, has_formula
from mace.compilers.statsmodels.reader import kind_of, names_of, read_results, with_constant
from mace.errors import UnreadableError


def _deployed(model: Any, given: Given) -> Deployed:
    """Classes where the probability of 1 is above one half, or the numbers that it predicts."""
    binary = kind_of(model) == "classes"
    if has_formula(model):
        try:
            names = tuple(map(str, design_of(model).step.feature_names_in_))
        except UnreadableError:  # it is given the frame all the same
            names = None
        return of_numbers(lambda frame: np.asarray(model.predict(frame)), names, binary=binary)

    def ask(frame: Any) -> Any:
        return np.asarray(model.predict(with_constant(model, as_rows(given(frame)))))

    return of_numbers(ask, names_of(model), binary=binary)


def _step_of(model: Any) -> Any:
    return design_of(model).step if has_formula(model) else None


def _products_of(model: Any) -> Any:
    return design_of(model).products if has_formula(model) else None


def _small(frame: Any, labels: Any) -> Any:
    import statsmodels.api as sm

    return sm.OLS(labels.astype(float), sm.add_constant(frame.astype(float))).fit()


_REFUSED = (
    "other functions of columns than `log`, `log1p` and `sqrt`, and products of two numbers, in a formula; offsets; "
    "other families and links"
)
_BINARY = Reader(read_results, "margin", _REFUSED)
_LINE = Reader(read_results, "margin", _REFUSED)
LIBRARY = Library(
    name="statsmodels",
    package="statsmodels",
    distributions={"statsmodels": ("statsmodels",)},
    extra="statsmodels",
    deployed=_deployed,
    readers={
        "statsmodels.discrete.discrete_model.BinaryResultsWrapper": _BINARY,
        "statsmodels.discrete.discrete_model.L1BinaryResultsWrapper": _BINARY,
        "statsmodels.genmod.generalized_linear_model.GLMResultsWrapper": _BINARY,
        "statsmodels.regression.linear_model.RegressionResultsWrapper": _LINE,
        "statsmodels.robust.robust_linear_model.RLMResultsWrapper": _LINE,
    },
    categories=Categories(_step_of),
    products=_products_of,
    makes_columns=has_formula,
    small=_small,
)
