"""The steps of a scikit-learn pipeline: what each one does to columns that are functions of one feature each.

In:  a fitted step, the columns that enter it, and whether they come as a sparse matrix.
Out: the columns that leave it, in the library's order.
Promise: a step that is not in `STEPS`, or is set in a way that mixes features or is not a function of known form, is
a ModelError that names the step, its class and what is supported. Nothing of scikit-learn is imported. What is said
here of a number is compared with the real step, bit for bit, by `pipeline.py`; of a feature with levels only its name
is followed, and the real steps are run on every level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mace.compilers.library import is_a, public_name
from mace.compilers.recoding import Recoding
from mace.errors import ModelError, UnreadableError
from mace.space.columns import Column, Step, apply


@dataclass(frozen=True)
class Traced:
    """A column on its way: the feature it comes from, and for a number what has happened to it.

    stored: after how many operations it entered the sparse matrix that holds it, which stores no zero that enters; None
            outside of one.
    """

    feature: int
    name: str
    numeric: bool
    chain: tuple[Step, ...] = ()
    stored: int | None = None

    def then(self, *steps: Step) -> Traced:
        """The column after more operations."""
        return replace(self, chain=(*self.chain, *steps)) if self.numeric else self

    def zero(self) -> Traced:
        """A new column that is 0 wherever this one is a number."""
        return replace(self, stored=None).then(("mul", 0.0), ("add", 0.0))  # -0.0 + 0.0 is 0.0

    def inside(self, *, sparse: bool, before: bool) -> Traced:
        """The column in what a step gives: in a sparse matrix or not, and so it was before."""
        if not sparse:
            return replace(self, stored=None)
        return self if before and self.stored is not None else replace(self, stored=len(self.chain))

    def column(self, name: str, *, absent_is_missing: bool = False) -> Column:
        """What the model is given: a number that its matrix does not store is missing, or 0."""
        chain = list(self.chain)
        if absent_is_missing and self.stored is not None:
            chain.insert(self.stored, ("nonzero", None))
        return Column(name, self.feature, None, _folded(chain))


def _folded(chain: Sequence[Step]) -> tuple[Step, ...]:
    """The same operations; those after bins are done to the few values of the bins."""
    out: list[Step] = []
    for step in chain:
        if out and out[-1][0] == "steps":
            edges, values = out[-1][1]
            with np.errstate(all="ignore"):
                out[-1] = ("steps", (edges, tuple(apply(step, np.array(values)).tolist())))
        else:
            out.append(step)
    return tuple(out)


@dataclass(frozen=True)
class At:
    """A fitted step by its name in the pipeline, and what enters it: columns, in a sparse matrix or not."""

    name: str
    step: Any
    columns: Sequence[Traced]
    sparse: bool

    def __str__(self) -> str:
        return f"step `{self.name}` ({type(self.step).__name__})"

    def each(self, steps: Callable[[int], list[Step]]) -> list[Traced]:
        """Every column after the operations for its place."""
        return [column.then(*steps(place)) for place, column in enumerate(self.columns)]


Handler: TypeAlias = Callable[[At], list[Traced]]


def _divided(at: At, scale: Any, place: int) -> list[Step]:
    """Sparse columns are multiplied by the rounded reciprocal, dense ones are divided."""
    if scale is None:
        return []
    value = float(scale[place])
    if not value > 0:
        raise ModelError(f"{at}: a scale is {value}, not above zero")
    return [("mul", 1.0 / value)] if at.sparse else [("div", value)]


def standard_scaler(at: At) -> list[Traced]:
    """(x - mean) / scale."""

    def steps(k: int) -> list[Step]:
        centre: list[Step] = [("sub", float(at.step.mean_[k]))] if at.step.with_mean else []
        return centre + _divided(at, at.step.scale_ if at.step.with_std else None, k)

    return at.each(steps)


def robust_scaler(at: At) -> list[Traced]:
    """(x - median) / range."""

    def steps(k: int) -> list[Step]:
        centre: list[Step] = [("sub", float(at.step.center_[k]))] if at.step.with_centering else []
        return centre + _divided(at, at.step.scale_ if at.step.with_scaling else None, k)

    return at.each(steps)


def max_abs_scaler(at: At) -> list[Traced]:
    """x / largest magnitude."""
    clip: list[Step] = [("clip", (-1.0, 1.0))] if getattr(at.step, "clip", False) else []
    return at.each(lambda k: _divided(at, at.step.scale_, k) + clip)


def min_max_scaler(at: At) -> list[Traced]:
    """x * scale + min."""
    low, high = at.step.feature_range
    clip: list[Step] = [("clip", (float(low), float(high)))] if at.step.clip else []
    if not (np.asarray(at.step.scale_) > 0).all():
        raise ModelError(f"{at}: a scale is not above zero")
    return at.each(lambda k: [("mul", float(at.step.scale_[k])), ("add", float(at.step.min_[k])), *clip])


def one_hot_encoder(at: At) -> list[Traced]:
    """A column a category, or group of rare ones, but for those that are dropped."""
    _no_numbers(at)
    out: list[Traced] = []
    for k, column in enumerate(at.columns):
        count = len(at.step.categories_[k])
        rare = getattr(at.step, "infrequent_categories_", None) if _groups(at.step) else None
        if rare is not None and rare[k] is not None:
            count -= len(rare[k]) - 1
        if at.step.drop_idx_ is not None and at.step.drop_idx_[k] is not None:
            count -= 1
        out += [column] * count
    return out


def ordinal_encoder(at: At) -> list[Traced]:
    """The number of the category."""
    _no_numbers(at)
    return list(at.columns)


def _groups(step: Any) -> bool:
    return getattr(step, "min_frequency", None) is not None or getattr(step, "max_categories", None) is not None


def _no_numbers(at: At) -> None:
    for column in at.columns:
        _no_number(at, column)


def _no_number(at: At, column: Traced) -> None:
    if column.numeric:
        raise ModelError(
            f"{at} encodes `{column.name}`, which the space declares as a number",
            hint="Declare the feature with levels (categorical or ordinal), or put it through a scaler.",
        )


def simple_imputer(at: At) -> list[Traced]:
    """What is there stays; what is missing is filled in; columns that were empty in training may be dropped."""
    _marks_nothing_present(at)
    every = at.step.keep_empty_features
    out = [column for k, column in enumerate(at.columns) if every or not _is_nan(at.step.statistics_[k])]
    if at.step.add_indicator:
        out += [at.columns[k].zero() for k in at.step.indicator_.features_]
    return out


def missing_indicator(at: At) -> list[Traced]:
    """1 where the value is missing: 0 for every number that is there."""
    _marks_nothing_present(at)
    return [at.columns[k].zero() for k in at.step.features_]


def _marks_nothing_present(at: At) -> None:
    marker = at.step.missing_values
    if isinstance(marker, (int, float)) and not _is_nan(marker):
        for column in at.columns:
            if column.numeric:
                raise ModelError(
                    f"{at} takes the number {marker} of `{column.name}` for a missing value",
                    hint="Use NaN for what is missing, in the frame and in the step.",
                )


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and value != value


def k_bins_discretizer(at: At) -> list[Traced]:
    """The number of the bin, or a column a bin."""
    out: list[Traced] = []
    for k, column in enumerate(at.columns):
        edges = tuple(map(float, at.step.bin_edges_[k][1:-1]))
        count = len(edges) + 1  # n_bins_ is 0 for a column that was constant in training, whose numbers are all in one
        codes = [tuple(map(float, range(count)))]
        if at.step.encode != "ordinal":
            codes = [tuple(float(b == bin_) for b in range(count)) for bin_ in range(count)]
        out += [column.then(("steps", (edges, code))) for code in codes]
    return out


def power_transformer(at: At) -> list[Traced]:
    """The power of Yeo and Johnson, or of Box and Cox, then (x - mean) / scale."""
    _dense(at)
    powers = [(at.step.method, float(exponent)) for exponent in at.step.lambdas_]
    made = replace(at, columns=at.each(lambda k: [("power", powers[k])]))
    return standard_scaler(replace(made, step=at.step._scaler)) if at.step.standardize else list(made.columns)


def quantile_transformer(at: At) -> list[Traced]:
    """What part of the training rows lies below the number, as it is or looked up in the normal distribution."""
    _dense(at)
    references = tuple(map(float, at.step.references_))
    normal = at.step.output_distribution == "normal"
    columns = [tuple(map(float, column)) for column in at.step.quantiles_.T]
    if not all(np.isfinite(column).all() for column in columns):
        raise ModelError(f"{at}: a quantile is not a number")
    return at.each(lambda k: [("quantile", (columns[k], references, normal))])


def _dense(at: At) -> None:
    if at.sparse:
        raise ModelError(f"{at} over a sparse matrix is not supported", hint="Give it a dense one.")


def target_encoder(at: At) -> list[Traced]:
    """A number a category, or of several classes a number for each."""
    _no_numbers(at)
    count = len(at.step.classes_) if at.step.target_type_ == "multiclass" else 1
    return [column for column in at.columns for _ in range(count)]


def category_encoder(at: At) -> list[Traced]:
    """What the fitted mapping has for a category: a number, or several columns in its place."""
    if getattr(at.step, "hierarchy", None) is not None:
        raise ModelError(f"{at} has a hierarchy of categories, which is not supported", hint="Fit it without.")
    names, encoded = list(at.step.feature_names_in_), set(at.step.cols)
    held = at.step.mapping
    several = {one["col"]: list(getattr(one["mapping"], "columns", [])) for one in held if isinstance(one, dict)}
    made: list[tuple[str, Traced]] = []
    for name, column in zip(names, at.columns, strict=True):
        if name in encoded:
            _no_number(at, column)
        made += [(str(one), column) for one in several.get(name) or [name]]
    leaving = list(map(str, at.step.get_feature_names_out()))
    kept = dict(made)  # columns that were constant in training may be dropped
    if len(kept) != len(made) or [one for one in kept if one in leaving] != leaving:
        raise ModelError(f"{at}: which column of `{', '.join(leaving)[:80]}` is made of which one was not followed")
    return [kept[one] for one in leaving]


def function_transformer(at: At) -> list[Traced]:
    """`log`, `log1p`, `sqrt` or the number itself."""
    if at.step.func is not None and at.step.kw_args:
        raise ModelError(f"{at} passes kw_args to its function, which is not supported")
    if at.step.func is None or _only_checks(at.step.func):
        return list(at.columns)
    for function, name in FUNCTIONS.items():
        if at.step.func is function:
            return [column.then((name, None)) for column in at.columns]  # type: ignore[arg-type]
    called = getattr(at.step.func, "__name__", repr(at.step.func))
    raise UnreadableError(
        f"{at} applies `{called}`, which is not supported",
        hint=f"Supported are None (nothing happens) and {', '.join('numpy.' + name for name in FUNCTIONS.values())}.",
    )


def _only_checks(function: Any) -> bool:
    """Whether a function is scikit-learn's own `check_array`, as histogram boosters put it before numbers."""
    inner = getattr(function, "func", None)
    return getattr(inner, "__name__", "") == "check_array" and inner.__module__ == "sklearn.utils.validation"


FUNCTIONS: dict[Any, str] = {np.log: "log", np.log1p: "log1p", np.sqrt: "sqrt"}


def selector(at: At) -> list[Traced]:
    """Some of the columns, unchanged."""
    return [at.columns[k] for k in at.step.get_support(indices=True)]


def recoding(at: At) -> list[Traced]:
    """The numbers of categories, as LightGBM and XGBoost make them."""
    for place in at.step.places or ():
        _no_number(at, at.columns[place])
    return list(at.step.followed(at.columns))


CATEGORY_ENCODERS = (
    "BackwardDifference", "BaseN", "Binary", "CatBoost", "Count", "GLMM", "Gray", "Helmert", "JamesStein",
    "LeaveOneOut", "MEstimate", "OneHot", "Ordinal", "Polynomial", "Quantile", "RankHot", "Sum", "Target", "WOE",
)  # fmt: skip
"""Of the package category_encoders: maps of one column each, once they are fitted."""

# Public class path -> what it does. As in READERS, a class may live anywhere inside the named package; a subclass
# may redefine `transform`, so it is not the class.
STEPS: dict[str, Handler] = {
    "sklearn.preprocessing.StandardScaler": standard_scaler,
    "sklearn.preprocessing.RobustScaler": robust_scaler,
    "sklearn.preprocessing.MinMaxScaler": min_max_scaler,
    "sklearn.preprocessing.MaxAbsScaler": max_abs_scaler,
    "sklearn.preprocessing.OneHotEncoder": one_hot_encoder,
    "sklearn.preprocessing.OrdinalEncoder": ordinal_encoder,
    "sklearn.preprocessing.KBinsDiscretizer": k_bins_discretizer,
    "sklearn.preprocessing.FunctionTransformer": function_transformer,
    "sklearn.preprocessing.PowerTransformer": power_transformer,
    "sklearn.preprocessing.QuantileTransformer": quantile_transformer,
    "sklearn.preprocessing.TargetEncoder": target_encoder,
    "sklearn.impute.SimpleImputer": simple_imputer,
    "sklearn.impute.MissingIndicator": missing_indicator,
    "sklearn.feature_selection.VarianceThreshold": selector,
    "sklearn.feature_selection.SelectKBest": selector,
    "sklearn.feature_selection.SelectFromModel": selector,
    **{f"category_encoders.{name}Encoder": category_encoder for name in CATEGORY_ENCODERS},
}
# What is asked for and not followed: why, and what to do instead.
UNREAD: dict[str, tuple[str, str]] = {
    "sklearn.preprocessing.PolynomialFeatures": (
        "A product of columns is a function of several features: it is bounded over boxes, without a certificate.",
        "Make the products that matter columns of the frame, and features of the space.",
    ),
    "sklearn.preprocessing.SplineTransformer": (
        "A spline rises and falls, so that a test of it is no test of the number: it is bounded over boxes, without a "
        "certificate.",
        "Use KBinsDiscretizer, or QuantileTransformer.",
    ),
    "sklearn.preprocessing.Normalizer": ("A row is divided by its own length.", "Scale columns: StandardScaler."),
    "sklearn.preprocessing.KernelCenterer": ("It sees distances to stored rows.", "Use a linear model, or trees."),
    "category_encoders.HashingEncoder": (
        "It counts hashes of all columns together.",
        "Use another encoder: OrdinalEncoder, or TargetEncoder.",
    ),
    "sklearn.impute.KNNImputer": ("What is filled in depends on other columns.", "Use SimpleImputer."),
    "sklearn.impute.IterativeImputer": ("What is filled in depends on other columns.", "Use SimpleImputer."),
}
PARTS = ("sklearn.pipeline.Pipeline", "sklearn.compose.ColumnTransformer", "sklearn.pipeline.FeatureUnion")


def is_pipeline(model: object) -> bool:
    """Whether a model is a scikit-learn Pipeline; imports nothing."""
    return is_a(model, "sklearn.pipeline.Pipeline")


def handler(step: object, name: str) -> Handler:
    """What a step does; raises ModelError for one that is not supported."""
    if isinstance(step, Recoding):  # no step that anyone writes, so not in the list
        return recoding
    for path, found in STEPS.items():
        if is_a(step, path):
            return found
    why, instead = next((advice for path, advice in UNREAD.items() if is_a(step, path)), ("", ""))
    raise UnreadableError(
        f"the step `{name}` of the pipeline, a {public_name(type(step))}, is not supported",
        hint=f"{why} {instead}"
        if why
        else "Supported are " + ", ".join([*STEPS, *PARTS]) + ', "passthrough" and "drop".',
    )
