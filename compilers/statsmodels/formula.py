"""The formula of a statsmodels result, as steps of scikit-learn before its coefficients.

In:  a result whose model was fitted from a formula.
Out: `design_of`: its columns without the intercept, in order, and a ColumnTransformer that makes them of a raw frame;
     of a formula with interactions the columns that these multiply, and which.
Promise: a term that is neither a column of numbers nor a simple function of one (`FUNCTIONS` of pipelines) nor one of
dummies nor a product of these (a spline, another contrast) is an UnreadableError that names it: such a model is only
asked. The steps are compared with the library's own `predict`, as those of any pipeline.
How the library orders the columns of an interaction (patsy/build.py): those of its first factor change fastest.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.pipeline.steps import FUNCTIONS
from mace.compilers.sklearn.common import fitted
from mace.errors import ModelError, UnreadableError

_NAME = r"""(?:[^\W\d]\w*|Q\((?:'[^'\\]+'|"[^"\\]+")\))"""
_PLAIN = re.compile(_NAME)
_FUNCTION = re.compile(rf"(?:np|numpy)\.(\w+)\(\s*({_NAME})\s*\)")
_DUMMIES = re.compile(rf"C\(\s*({_NAME})\s*(?:,.*)?\)", re.DOTALL)


class Design(NamedTuple):
    """A formula's columns.

    intercept: the place of the constant column; None without one.
    step:      makes the others of a raw frame, in their order, or the columns that they are products of.
    products:  of a formula with interactions, the places of the columns that each of the others multiplies.
    """

    intercept: int | None
    step: Any
    products: tuple[tuple[int, ...], ...] | None = None


class _Factor(NamedTuple):
    """A column of the frame in a term.

    levels:   none for numbers.    kept: the places of those that have a dummy.
    function: of numbers; None for themselves.
    """

    name: str
    levels: tuple[Any, ...]
    kept: tuple[int, ...]
    function: Any = None

    @property
    def key(self) -> tuple[str, Any]:
        """What terms share."""
        return self.name, self.function


def has_formula(model: Any) -> bool:
    """Whether the library makes the columns of a raw frame itself."""
    return getattr(model.model, "formula", None) is not None


def design_of(model: Any) -> Design:
    """See the module's docstring; raises ModelError."""
    data = fitted(model.model, "data")
    spec: Any = getattr(data, "model_spec", None) or getattr(data, "design_info", None)
    if not hasattr(spec, "term_codings"):
        raise ModelError(
            f"the formula `{model.model.formula}` was read by something else than patsy, which is not supported",
            hint="Give the model a matrix with named columns.",
        )
    intercept, terms = None, list[tuple[_Factor, ...]]()
    for term, codings in spec.term_codings.items():
        if not term.factors:
            intercept = spec.term_slices[term].start
            continue
        terms += [_factors(spec, term, coding) for coding in codings]
    if not terms:
        raise ModelError(f"the formula `{model.model.formula}` reads no column")
    if all(len(factors) == 1 for factors in terms):
        return Design(intercept, _step([factor for (factor,) in terms]))
    base: dict[tuple[str, Any], _Factor] = {}
    for factor in itertools.chain(*terms):
        base.setdefault(factor.key, factor._replace(kept=tuple(range(len(factor.levels)))))
    ends = itertools.accumulate((max(len(factor.levels), 1) for factor in base.values()), initial=0)
    first = dict(zip(base, ends, strict=False))
    products: list[tuple[int, ...]] = []
    for factors in terms:
        places = [[first[factor.key] + k for k in factor.kept or (0,)] for factor in reversed(factors)]
        products += itertools.product(*places)
    return Design(intercept, _step(list(base.values())), tuple(products))


def _step(factors: list[_Factor]) -> Any:
    """The ColumnTransformer that makes these columns of a raw frame."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    parts: list[tuple[str, Any, list[str]]] = []
    for factor in factors:
        how: Any = "passthrough" if factor.function is None else FunctionTransformer(factor.function)
        if factor.levels:
            values = np.array(factor.levels, dtype=object if isinstance(factor.levels[0], str) else None)
            rest = [k for k in range(len(values)) if k not in factor.kept]
            dropped = values[rest] if rest else None
            how = OneHotEncoder(categories=[values], drop=dropped, sparse_output=False)
        parts.append((f"term {len(parts)}", how, [factor.name]))
    tried = {factor.name: list(factor.levels) or [1.0] for factor in factors}
    most = max(map(len, tried.values()))
    frame = pd.DataFrame({name: [values[k % len(values)] for k in range(most)] for name, values in tried.items()})
    return ColumnTransformer(parts, sparse_threshold=0.0).fit(frame)


def _factors(spec: Any, term: Any, coding: Any) -> tuple[_Factor, ...]:
    """The columns of the frame that a term multiplies, in one of its codings."""
    shown, found = term.name(), []
    for factor in coding.factors:
        info = spec.factor_infos[factor]
        named, function = _PLAIN.fullmatch(factor.code), None
        if named is None and info.type == "categorical":
            named = _DUMMIES.fullmatch(factor.code)
        elif named is None and (named := _FUNCTION.fullmatch(factor.code)):
            function = next((known for known, name in FUNCTIONS.items() if name == named[1]), None)
            named = named if function is not None else None
        if named is None:
            raise _no_column(shown, "is a function of a column")
        name = named[named.re.groups]
        name = name[3:-2] if name.startswith("Q(") else name
        if info.type != "categorical":
            if info.num_columns != 1:
                raise _no_column(shown, "has several columns")
            found.append(_Factor(name, (), (), function))
            continue
        matrix = np.asarray(coding.contrast_matrices[factor].matrix, dtype=np.float64)
        kept = np.flatnonzero(matrix.any(axis=1))
        plain = np.array_equal(matrix[kept], np.eye(matrix.shape[1]))
        if not plain or len(matrix) - len(kept) > 1:
            raise _no_column(shown, "has contrasts that are no dummies")
        found.append(_Factor(name, tuple(info.categories), tuple(kept.tolist())))
    if sum(not factor.levels for factor in found) > 1:
        raise _no_column(shown, "multiplies two numbers")
    return tuple(found)


def _no_column(shown: str, why: str) -> UnreadableError:
    return UnreadableError(
        f"the term `{shown}` of the formula {why}, which is not supported",
        hint="Make it a column of the frame, and name that in the formula.",
    )
