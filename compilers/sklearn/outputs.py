"""A goal on one of several outputs, or on a weighted sum of them, as a model of its own.

In:  a linear regressor that predicts several numbers at once, and a weight for each of them; or a model that asks one
     model for each output, and which output is meant.
Out: `SumOfOutputs`, a model that predicts the sum; its table is the regressor's layer and one more. `OneOutput`, a
     model that predicts the one output; it is read as the model that it asks for it.
Promise: the sum may be added in any order, with or without fused multiply-add: the table is read within that margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mace.base.arguments import spelled_class
from mace.base.escape import short
from mace.compilers.library import is_a
from mace.compilers.sklearn.common import columns_of, fitted, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Floats, Layer, Network


@spelled_class
class OneOutput:
    """One output of a MultiOutputClassifier or MultiOutputRegressor: goals are then about it alone.

    model:  fitted; asks one model for each output; or a Pipeline that ends in such a model.
    output: its place, from 0.
    """

    def __init__(self, model: Any, output: int) -> None:
        self.model, self.output = model, output

    def __repr__(self) -> str:
        return f"OneOutput({name_of(self.model)}, {self.output!r})"

    def fit(self, X: Any, y: Any) -> OneOutput:
        """Fit the whole model to y, shape (rows, outputs)."""
        self.model.fit(X, y)
        return self

    @property
    def asked(self) -> Any:
        """The model that is asked for the output, behind the steps before; raises ModelError where there is none."""
        before = list(self.model.steps[:-1]) if is_a(self.model, "sklearn.pipeline.Pipeline") else []
        last = self.model.steps[-1][1] if before else self.model
        if not any(is_a(last, f"sklearn.multioutput.MultiOutput{kind}") for kind in ("Classifier", "Regressor")):
            raise ModelError(
                f"OneOutput is one of a MultiOutputClassifier or MultiOutputRegressor, and got {name_of(last)}",
                hint="Fit one model for each output; MultiOutputClassifier and MultiOutputRegressor do that.",
            )
        members = fitted(last, "estimators_")
        place = self.output
        if isinstance(place, bool) or not isinstance(place, (int, np.integer)) or not 0 <= place < len(members):
            raise ModelError(
                f"{name_of(last)} has {len(members)} outputs, and no output {short(place)}",
                hint=f"Outputs are counted from 0 to {len(members) - 1}.",
            )
        if not before:
            return members[int(place)]
        from sklearn.pipeline import Pipeline

        return Pipeline([*before, ("output", members[int(place)])])

    def predict(self, X: Any) -> Any:
        """The output for each row, shape (rows,)."""
        return self.asked.predict(X)

    def __getattr__(self, name: str) -> Any:
        if name in ("predict_proba", "classes_", "n_features_in_", "feature_names_in_"):
            return getattr(self.asked, name)
        raise AttributeError(name)


@spelled_class
class SumOfOutputs:
    """A weighted sum of a regressor's outputs: `500 <= total <= 700` is then a goal on all of them.

    regressor: predicts rows x outputs; LinearRegression, Ridge, Lasso, ElasticNet or another with `coef_`.
    weights:   one number an output; None: all 1.
    """

    def __init__(self, regressor: Any, weights: Sequence[float] | None = None) -> None:
        self.regressor, self.weights = regressor, weights

    def __repr__(self) -> str:
        return f"SumOfOutputs({name_of(self.regressor)}{'' if self.weights is None else f', {list(self.weights)}'})"

    def fit(self, X: Any, y: Any) -> SumOfOutputs:
        """Fit the regressor to y, shape (rows, outputs)."""
        self.regressor.fit(X, y)
        return self

    def predict(self, X: Any) -> Floats:
        """The sum for each row, shape (rows,)."""
        found = np.asarray(self.regressor.predict(X), dtype=np.float64)
        found = found.reshape(len(found), -1)
        return np.asarray(found @ self.factors(found.shape[1]))

    def factors(self, outputs: int) -> Floats:
        """The weights, shape (outputs,); raises ModelError where they are not that many finite numbers."""
        return np.ones(outputs) if self.weights is None else numbers(self, "weights", self.weights, (outputs,))

    @property
    def n_features_in_(self) -> int:
        """How many columns the regressor was fitted on."""
        return columns_of(self.regressor)

    @property
    def feature_names_in_(self) -> Any:
        """Their names; None if the regressor knows none."""
        return getattr(self.regressor, "feature_names_in_", None)


def read_sum(model: Any) -> Network:
    """The table: what the regressor adds up, then the weights."""
    regressor, columns = model.regressor, columns_of(model.regressor)
    if not hasattr(regressor, "coef_") or hasattr(regressor, "classes_"):
        raise UnreadableError(
            f"{name_of(model)} over a {name_of(regressor)} is not supported",
            hint="It reads linear regressors. Fit one model for each output, or ask it as a mace.BlackBox.",
        )
    coefficients = fitted(regressor, "coef_")
    shape = np.shape(coefficients)
    if len(shape) not in (1, 2):
        raise ModelError(f"{name_of(regressor)} is damaged: coef_ has shape {shape}")
    outputs = shape[0] if len(shape) == 2 else 1
    weights = numbers(regressor, "coef_", coefficients, (outputs, columns)).T.copy()
    bias = numbers(regressor, "intercept_", fitted(regressor, "intercept_"), (outputs,))
    return Network(
        layers=(
            Layer(weights, bias, "identity"),
            Layer(model.factors(outputs)[:, None].copy(), np.zeros(1), "identity"),
        ),
        columns=columns,
        rule="value",
        classes=(),
        name=f"{name_of(model)} of {name_of(regressor)}",
        dtype="float32" if getattr(coefficients, "dtype", None) == np.float32 else "float64",
    )
