"""The statement of a certificate: the question and the claim, in plain values.

In:  a Question, and a bound.    Out: the JSON object that proofs/FORMAT.md calls the statement, or why it cannot be
written.
Promise: the same question and bound give the same statement; what two statements differ in is named.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, assert_never

import numpy as np

from mace.base.cache import Kept, Recent
from mace.base.deadline import NEVER, Deadline
from mace.base.exact import magnitude
from mace.certify.models import float_text, float_texts, model_part
from mace.certify.numbers import canonical, text
from mace.certify.rules import expression_of
from mace.errors import CertificateError
from mace.problem.distance import DistanceProgram, NearestRow, Norm, is_measured
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.plausibility import from_row
from mace.problem.question import Question
from mace.proofs.reader import Unusable, denominator_within, forest_within
from mace.solve.ensembles.arrays.cuts import trees_of
from mace.space.axes import Axis, GridAxis, LevelAxis, Side
from mace.space.columns import Column
from mace.tables.members import are_whole
from mace.tables.table import Compare, Ensemble, Formula, Network, Table

FEW = 30  # axes: doubles as ends of their ranges, and as their weights, have too few digits for any limit
# Of distances, as powers of two: all prices are multiples of 2^-160, whatever they count in (FORMAT.md, 6.13).
SMALLEST, LARGEST = -100, 120
# Up to here no bit of a multiplier is lost, whatever it pays for; beyond, the dearest change must be small, too.
EXACT = 64
_TEXTS: Recent[tuple[tuple[float, ...], list[str]]] = Recent(1024)
_COLUMNS: Recent[tuple[tuple[Column, ...], Any]] = Recent(256)
_CERTIFIABLE: Kept[str | None] = Kept(1)  # an answer asks before it is returned, and its certificate once more


def certifiable(question: Question) -> str | None:
    """Why no certificate can be written for a question, whatever its answer; None if one can."""
    return _CERTIFIABLE.get(question, None, lambda: _certifiable(question))


def unwritable(question: Question) -> str | None:
    """Why no certificate can be written, of a question or of one for each of its rows; None if one can."""
    distance = question.distance
    if isinstance(distance, NearestRow) and distance.rows:
        question = from_row(question, distance, distance.rows[0])
    return certifiable(question)


def _certifiable(question: Question) -> str | None:
    if isinstance(question.model, Formula):
        return "the model is a program; certificates speak of trees, linear models and networks"
    if (reason := _unmeasured(question)) is not None:
        return reason
    if isinstance(question.model, Ensemble):
        for tree in question.model.trees:
            for node, members in tree.members.items():
                values = question.columns[tree.column[node]].values
                if values is None or not are_whole(members, question.model.seen(np.array(values)).tolist()):
                    return "a tree tests a number as if it were a category"
        if (reason := _unheld(question, question.model)) is not None:
            return reason
    if len(question.axes) > FEW and (reason := _uncounted(question)) is not None:
        return reason
    for axis in question.axes:
        if isinstance(axis, GridAxis) and axis.last < axis.lower:
            return f"`{axis.name}` is held missing, and the checker knows no number without a value"
        if isinstance(question.model, Network) and isinstance(axis, GridAxis) and axis.missing is not None:
            return f"`{axis.name}` may be missing or not, before a network"
    if (reason := _of_columns(question, "unwritten", lambda: _unwritten_column(question))) is not None:
        return str(reason)
    for rule in question.rules:
        try:
            expression_of(rule, question.axes)
        except CertificateError as error:
            return error.message
    return None


def _uncounted(question: Question) -> str | None:
    """Why the checker counts no distances over so many features: of its limits the one that wide data meet."""
    try:
        denominator_within(_features(question.axes, norm_of(question)[0]))
    except Unusable as error:
        return f"the checker takes no {error}, and {len(question.axes)} features have more; give real ones a `step`"
    return None


def _unheld(question: Question, model: Ensemble) -> str | None:
    """Why the checker does not hold a forest: it is too large."""

    def deep() -> list[int]:
        trees = trees_of(model)
        found = np.zeros(len(trees.roots), np.int64)
        for depth, row in enumerate(trees.rows, start=1):  # of the children of inner nodes
            tree = np.searchsorted(trees.roots, row, side="right") - 1
            found += 2 * depth * np.bincount(tree, minlength=len(found))
        return [int(depth) for depth in found]

    try:
        compares = sum(map(len, question.goal.decision))
        forest_within([tree.nodes for tree in model.trees], compares, len(question.axes), deep)
    except Unusable as error:
        return f"the checker takes no {error}, and this model has more; train fewer trees, or smaller ones"
    return None


def _unmeasured(question: Question) -> str | None:
    """Why no certificate can speak of a question's distance; None if one can."""
    distance = question.distance
    if isinstance(distance, NearestRow):
        return "the distance counts from the nearest of several rows, of which one question cannot speak"
    if not is_measured(distance):
        return "the distance is a program; certificates speak of mixtures of l0, l1 and linf, and of linear forms"
    if isinstance(distance, Norm):
        return _too_far_from_1(question.model, distance)
    if isinstance(question.model, Network) and (finest := distance.finest) and magnitude(finest) < SMALLEST:
        return (
            f"the sum makes distances of about 2^{magnitude(finest)}, and certificates of this model are for distances "
            f"from 2^{SMALLEST}; divide its weights by 2^{magnitude(finest)}"
        )
    if any(axis.missing is not None for axis in question.axes):
        return "the distance is one of linear forms, and a value may be missing"
    if any(isinstance(avoid, AvoidNear) for avoid in question.avoid):
        return "points near others are excluded, and the distance is one of linear forms"
    return None


def _too_far_from_1(model: Table, distance: Norm) -> str | None:
    """Why multipliers that count distances are too small, or too large, for their format; None if they are not."""
    if not isinstance(model, Network):
        return None
    dearest = magnitude(distance.widest)
    most = LARGEST if dearest <= LARGEST else EXACT
    least = magnitude(distance.finest)  # of changes of a feature that is far cheaper than others
    if least >= SMALLEST and (distance.exponent <= most or len(model.layers) == 1):
        return None
    about = min(least, distance.exponent)
    return (
        f"the weights make distances of about 2^{about} (the largest 2^{dearest}), and certificates of this model are "
        f"for distances from 2^{SMALLEST} to 2^{most}; divide all weights by 2^{about}"
    )


def _unwritten_column(question: Question) -> str | None:
    """Why a column of a question cannot be written; None if all can."""
    for column, axis in ((column, question.axes[column.feature]) for column in question.columns):
        at_once = column.values is None and column.rounded_to == "float32"
        steps = isinstance(axis, GridAxis) and axis.grid.kind == "step"
        if at_once and (column.chain or not steps or isinstance(question.model, Network)):
            return (
                f"`{axis.name}` goes to float32 in one rounding, which the checker knows only of numbers with a step, "
                "before trees, that nothing else is done to"
            )
        for step in column.chain:
            if step[0] not in ("add", "sub", "mul", "div"):
                return f"the column `{column.name}` is computed by {step[0]!r}, which the checker does not know"
        values = column.values or ()
        if math.isnan(sum(values)) and any(map(math.isnan, values)):  # a sum is told at once, for each row and column
            return "a level is a missing value to the model"
    return None


def _of_columns(question: Question, what: str, make: Callable[[], Any]) -> Any:
    """What the columns of a question are written as, or why they are not: the rows of one space share both."""
    kinds = tuple(
        axis.count if isinstance(axis, LevelAxis) else (axis.grid.kind, axis.missing is None) for axis in question.axes
    )
    key = (what, id(question.columns), isinstance(question.model, Network), kinds)
    # With the columns, whose id is then no other's.
    return _COLUMNS.get(key, lambda: (question.columns, make()))[1]


def statement(
    question: Question, claim: Fraction | None, model: dict[str, Any] | None = None, deadline: Deadline = NEVER
) -> dict[str, Any]:
    """The question and the claim in plain values: "nothing closer than `claim`", or "nothing at all" for None.

    model: see `certificate`.

    Raises CertificateError if the question cannot be written, with the reason; TimeOverError.
    """
    reason = certifiable(question)
    if reason is not None:
        raise CertificateError(f"no certificate can be written: {reason}")
    assert not isinstance(question.model, Formula)
    norm, forms = norm_of(question)
    return {
        "features": _features(question.axes, norm),
        "columns": _of_columns(question, "written", lambda: _columns(question)),
        "model": model_part(question.model, deadline) if model is None else model,
        "goal": [[_compare(compare) for compare in part] for part in question.goal.decision],
        "distance": {"alpha": text(norm.alpha), "beta": text(norm.beta), "gamma": text(norm.gamma), **forms},
        "rules": [expression_of(rule, question.axes) for rule in question.rules],
        "avoid": [_avoid(avoid) for avoid in question.avoid],
        "most_changes": question.most_changes,
        "claim": {"anywhere": True} if claim is None else {"closer_than": text(claim)},
    }


def same_statement(data: Any, question: Question) -> list[str]:
    """How the statement of a certificate (its dict) differs from a question, the claim aside; empty if it does not."""
    found = data.get("statement") if isinstance(data, dict) else None
    if not isinstance(found, dict):
        return ["this is no certificate: it has no statement"]
    # By way of the text, so that both sides hold lists and plain numbers.
    expected = json.loads(canonical(statement(question, None)))
    differences: list[str] = []
    for key, value in expected.items():
        if key == "claim" or found.get(key) == value:
            continue
        other = found.get(key)
        if key == "features" and isinstance(other, list) and len(other) == len(value):
            differences += [f"feature `{a['name']}` differs" for a, b in zip(value, other, strict=True) if a != b]
        elif key == "model" and isinstance(other, dict):
            differences += [f"the model differs in `{part}`" for part in value if other.get(part) != value[part]]
            differences += [f"the model has {part}" for part in other if part not in value]
        else:
            differences.append(f"`{key}` differs: {_short(other)} in the certificate, {_short(value)} in the question")
    return differences


# --- parts of the statement ------------------------------------------------------------------------------------------


def norm_of(question: Question) -> tuple[Norm, dict[str, Any]]:
    """The norm in a question's distance, and what else a statement says of it."""
    distance = question.distance
    if isinstance(distance, Norm):
        return distance, {}
    assert isinstance(distance, DistanceProgram) and distance.forms is not None
    by_axis, once = distance.forms.by_axis(question.axes), distance.forms.jumps(question.axes)
    forms = [
        [
            text(rows[0][i]) if isinstance(axis, GridAxis) else [text(row[i]) for row in rows]
            for axis, rows in zip(question.axes, by_axis, strict=True)
        ]
        + [text(constant) for constant in distance.forms.constants[i : i + 1]]
        for i in range(len(by_axis[0][0]))
    ]
    nothing, one = Fraction(0), Fraction(1)
    if any(once):
        return Norm(one, nothing, nothing, once), {"forms": forms}
    return Norm(nothing, nothing, nothing, (one,) * len(question.axes)), {"forms": forms}


def _features(axes: Sequence[Axis], norm: Norm) -> list[dict[str, Any]]:
    return [_feature(axis, weight) for axis, weight in zip(axes, norm.weights, strict=True)]


def _feature(axis: Axis, weight: Fraction) -> dict[str, Any]:
    match axis:
        case GridAxis(grid=grid):
            return {
                "name": axis.name,
                "weight": text(weight),
                "kind": "grid",
                "grid": grid.kind,
                "step": text(Fraction(grid.step)),
                "extra": None if grid.extra is None else text(grid.extra),
                "lower": int(axis.lower),
                "upper": int(axis.last),
                "start": int(axis.start),
                "scale": text(Fraction(axis.scale)),
                **_missing(axis, allowed=axis.may_lack),
            }
        case LevelAxis():
            return {
                "name": axis.name,
                "weight": text(weight),
                "kind": "levels",
                "count": axis.count,
                "allowed": int(axis.allowed),
                "start": int(axis.start),
                "ordered": bool(axis.ordered),
                **_missing(axis),
            }
        case _:
            assert_never(axis)


def _missing(axis: Axis, **more: bool) -> dict[str, Any]:
    """The field of an axis on which "missing" has a place."""
    return {} if axis.missing is None else {"missing": {"cost": text(axis.missing_cost), **more}}


def _columns(question: Question) -> list[list[Any]]:
    """All columns; certificates share them."""
    return [_column(column, question.axes[column.feature]) for column in question.columns]


def _column(column: Column, axis: Axis) -> list[Any]:
    """The feature, a float for each level, and the operations on a number; where there are levels, they are applied.

    Where the number goes to float32 in one rounding, "float32" in the place of operations. Where it may be missing, a
    float for that.
    """
    values = column.values
    if values is not None:
        # The values stay beside their texts, so that no others have their identity meanwhile.
        texts = _TEXTS.get(id(values), lambda: (values, float_texts(values)))[1]
        return [column.feature, texts, []]
    chain: list[Any] | str = [
        [step[0], float_text(step[1])] for step in column.chain if isinstance(step[1], (int, float))
    ]
    if column.rounded_to == "float32":
        chain = "float32"
    if axis.missing is None or column.missing is None:
        return [column.feature, None, chain]
    return [column.feature, None, chain, float_text(column.missing)]


def _compare(compare: Compare) -> list[Any]:
    return [compare.plus, compare.minus, float_text(compare.than), bool(compare.strict)]


def _avoid(avoid: Avoid) -> dict[str, Any]:
    match avoid:
        case AvoidPoint(point=point):
            return {"point": [int(i) for i in point]}
        case AvoidChanges(features=features):
            return {"changes": [int(j) for j in features]}
        case AvoidNear(point=point, radius=radius):
            return {"near": [int(i) for i in point], "radius": text(radius)}
        case AvoidBox(box=box):
            return {"box": [side_text(side) for side in box]}
        case _:
            assert_never(avoid)


def side_text(side: Side) -> list[int] | int:
    """A side of a box as a span."""
    return list(map(int, side)) if isinstance(side, tuple) else int(side)


def _short(value: Any) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else shown[:57] + "..."
