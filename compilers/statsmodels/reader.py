"""Read statsmodels' results: linear predictors, and the links of models for two classes.

In:  a result of Logit, Probit, Poisson, GLM (Gaussian with the identity, Binomial, any other family with a log link),
     OLS, WLS, GLS, QuantReg or RLM, fitted on a matrix or from a formula.
Out: a Network of one layer, without the constant column; its score is the linear predictor up to the order of
     summation.
Promise: another model, family or link is a ModelError that names it.
How the library decides: it only gives numbers. Those of a regression are the score; of two classes, p(1) = link(score),
and the class is 1 where that is above one half, as the wrappers of boosters have it. Half is reached within 2 units of
rounding of 0 by the logistic, normal and Cauchy distributions (checked against 0.15), and near log(log(2)) by the
complementary log-log.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from mace.compilers.sklearn.common import fitted, numbers
from mace.compilers.sklearn.turns import Turns, with_turns
from mace.compilers.statsmodels.formula import design_of, has_formula
from mace.errors import ModelError
from mace.tables.table import Layer, Link, Network, Table

NUMBERS = ("OLS", "WLS", "GLS", "GLSAR", "QuantReg", "RLM")
_HALF_AT_ZERO = ("Logit", "Probit", "Cauchy")
_TURN = math.log(math.log(2))
_UNIT = 2.0**-53


def kind_of(model: Any) -> Literal["number", "exponential", "classes"]:
    """What a result predicts; raises ModelError for models that are not read."""
    inner = fitted(model, "model")
    name = type(inner).__name__
    if name in NUMBERS:
        return "number"
    if name in ("Logit", "Probit"):
        return "classes"
    if name == "Poisson":
        return "exponential"
    if name != "GLM":
        raise _unsupported(name)
    family, link = type(inner.family).__name__, type(inner.family.link).__name__
    if family == "Gaussian" and link == "Identity":
        return "number"
    if family != "Binomial" and link == "Log":
        return "exponential"
    if family == "Binomial" and link in (*_HALF_AT_ZERO, "CLogLog", "LogLog"):
        return "classes"
    raise _unsupported(f"GLM of the family {family} with the link {link}")


def _unsupported(name: str) -> ModelError:
    return ModelError(
        f"statsmodels' {name} is not supported",
        hint="Supported are Logit, Probit, Poisson, OLS and its kin, and GLM: Binomial, Gaussian, and any log link.",
    )


def constant_of(model: Any) -> int | None:
    """The place of the constant column among a matrix's; None without one."""
    if has_formula(model):
        return design_of(model).intercept
    data = model.model.data
    place = getattr(data, "const_idx", None)
    if place is None:
        return None
    if not (np.asarray(model.model.exog)[:, place] == 1).all():
        raise ModelError("the constant column of the statsmodels model is not 1", hint="Use add_constant.")
    return int(place)


def names_of(model: Any) -> tuple[str, ...] | None:
    """The columns of the matrix without the constant one; None for an array, or a formula."""
    if has_formula(model) or not hasattr(model.model.data.orig_exog, "columns"):
        return None
    place = constant_of(model)
    return tuple(str(name) for k, name in enumerate(model.model.exog_names) if k != place)


def read_results(model: Any) -> Table:
    """The table of one result."""
    kind, inner = kind_of(model), model.model
    name = f"statsmodels {type(inner).__name__}"
    _refuse_shifted(inner)
    count = len(inner.exog_names)
    weights = numbers(model, "params", np.asarray(fitted(model, "params")), (count,))
    place = constant_of(model)
    bias = 0.0 if place is None else float(weights[place])
    rest = weights if place is None else np.delete(weights, place)
    if not len(rest):
        raise ModelError(f"{name} has no column but the constant one: it says the same of every input")
    layer = Layer(rest[:, None].copy(), np.array([bias]), "identity")
    if kind != "classes":
        return Network((layer,), len(rest), "value", (), name=name, link=Link("exp") if kind == "exponential" else None)
    link = type(inner.family.link).__name__ if type(inner).__name__ == "GLM" else type(inner).__name__
    table = Network(
        (layer,), len(rest), "sigmoid", (0, 1), name=name, link=Link("logistic") if link == "Logit" else None
    )
    if link in _HALF_AT_ZERO:
        return table
    # 1 - exp(-exp(s)) and exp(-exp(-s)) have a slope of 0.35 there, and err by some units of rounding.
    turn = _TURN if link == "CLogLog" else -_TURN
    return with_turns(table, Turns(one_first=False, places=(turn,), doubt=64 * _UNIT, link=None), 0, (0, 1), name)


def _refuse_shifted(inner: Any) -> None:
    """Raise for what `predict` would add to the score."""
    for what in ("offset", "exposure"):
        found = getattr(inner, what, None)
        if found is not None and np.any(np.asarray(found)):
            raise ModelError(
                f"a statsmodels model with an {what} is not supported", hint="Make it a column with a coefficient."
            )


def with_constant(model: Any, rows: Any) -> Any:
    """A matrix with its constant column, as `predict` wants it."""
    place = constant_of(model)
    return rows if place is None else np.insert(rows, place, 1.0, axis=1)
