"""The formula of a statsmodels result, as steps of scikit-learn before its coefficients.

In:  a result whose model was fitted from a formula.
Out: `design_of`: its columns without the intercept, in order, and a ColumnTransformer that makes them of a raw frame.
Promise: a term that is neither a column of numbers nor one of dummies (an interaction, a function, another contrast) is
a ModelError that names it. The steps are compared with the library's own `predict`, as those of any pipeline.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.sklearn.common import fitted
from mace.errors import ModelError

_NAME = r"""(?:[^\W\d]\w*|Q\((?:'[^'\\]+'|"[^"\\]+")\))"""
_PLAIN = re.compile(_NAME)
_DUMMIES = re.compile(rf"C\(\s*({_NAME})\s*(?:,.*)?\)", re.DOTALL)
_INTERCEPT = "Intercept"


class Design(NamedTuple):
    """A formula's columns.

    intercept: the place of the constant column; None without one.
    step:      makes the others of a raw frame, in their order.
    """

    intercept: int | None
    step: Any


def has_formula(model: Any) -> bool:
    """Whether the library makes the columns of a raw frame itself."""
    return getattr(model.model, "formula", None) is not None


def design_of(model: Any) -> Design:
    """See the module's docstring; raises ModelError."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    data = fitted(model.model, "data")
    spec: Any = getattr(data, "model_spec", None) or getattr(data, "design_info", None)
    if not hasattr(spec, "term_codings"):
        raise ModelError(
            f"the formula `{model.model.formula}` was read by something else than patsy, which is not supported",
            hint="Give the model a matrix with named columns.",
        )
    intercept, parts, tried = None, list[tuple[str, Any, list[str]]](), dict[str, list[Any]]()
    for term, codings in spec.term_codings.items():
        if not term.factors:
            intercept = spec.term_slices[term].start
            continue
        name, levels, drop = _column(spec, term, codings)
        how: Any = "passthrough"
        if levels:
            values = np.array(levels, dtype=object if isinstance(levels[0], str) else None)
            dropped = None if drop is None else np.array([levels[drop]], dtype=values.dtype)
            how = OneHotEncoder(categories=[values], drop=dropped, sparse_output=False)
        parts.append((f"term {len(parts)}", how, [name]))
        tried[name] = list(levels) or [0.0]
    if not parts:
        raise ModelError(f"the formula `{model.model.formula}` reads no column")
    most = max(map(len, tried.values()))
    frame = pd.DataFrame({name: [values[k % len(values)] for k in range(most)] for name, values in tried.items()})
    step = ColumnTransformer(parts, sparse_threshold=0.0).fit(frame)
    return Design(intercept, step)


def _column(spec: Any, term: Any, codings: Any) -> tuple[str, tuple[Any, ...], int | None]:
    """The column that a term is about, its levels (none for numbers), and the place of the one without a dummy."""
    shown = term.name()
    if len(term.factors) != 1 or len(codings) != 1:
        raise _no_column(shown, "is no column by itself")
    (factor,), (coding,) = term.factors, codings
    info = spec.factor_infos[factor]
    found = _PLAIN.fullmatch(factor.code) or (_DUMMIES.fullmatch(factor.code) if info.type == "categorical" else None)
    if found is None:
        raise _no_column(shown, "is a function of a column")
    name = found[found.re.groups]
    name = name[3:-2] if name.startswith("Q(") else name
    if info.type != "categorical":
        if info.num_columns != 1:
            raise _no_column(shown, "has several columns")
        return name, (), None
    matrix = np.asarray(coding.contrast_matrices[factor].matrix, dtype=np.float64)
    rest = np.flatnonzero(matrix.any(axis=1))
    plain = np.array_equal(matrix[rest], np.eye(matrix.shape[1]))
    if not plain or len(matrix) - len(rest) > 1:
        raise _no_column(shown, "has contrasts that are no dummies")
    base = [k for k in range(len(matrix)) if k not in rest.tolist()]
    return name, tuple(info.categories), base[0] if base else None


def _no_column(shown: str, why: str) -> ModelError:
    return ModelError(
        f"the term `{shown}` of the formula {why}, which is not supported",
        hint="Make it a column of the frame, and name that in the formula.",
    )
