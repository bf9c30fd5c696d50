"""What a row gets by the standard: a class or a number, in exact arithmetic; None where scorers may differ.

In:  a `Content`, and a row of raw values.
Out: `decide`: a label, None where a tie or rounding decides between classes; of a model without classes a number.
     `probabilities`, of each class.
Promise: this follows the file, node by node. It shares with `reader.py`, whose table is compared with it on adversarial
rows, what the file says (`content.py`) and what fields and predicates are, nothing else. Rows without a prediction
raise NoResultError. Sums are exact; what any scorer adds in doubles, in any order (or in single precision, where the
file asks some of them for that), lies within the doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mace.base.exact import UNIT_ROUNDOFF, UNIT_ROUNDOFF_32, exact, nearest
from mace.compilers.pmml.content import Content, Number, PmmlNode, Scores, Sum, Tree, Value, Votes
from mace.compilers.pmml.fields import NoResultError
from mace.compilers.pmml.predicates import Row

_SQUASHED = 8
"""Units of rounding from the boundary within which an exponential, or another libm, may have a say."""


class Exact(NamedTuple):
    """A sum without rounding, and how far a scorer's own may lie from it."""

    value: Fraction
    doubt: Fraction


def leaf_of(tree: Tree, row: Row) -> PmmlNode:
    """The node that predicts for a row; raises NoResultError."""
    if tree.root.predicate.holds(row) is not True:
        raise NoResultError("a tree does not take the row")
    node = tree.root
    while node.below:
        found = _next(tree, node, row)
        if found is None:
            break
        if found is node:  # none of those below takes it
            if not tree.last:
                raise NoResultError("no branch of a tree takes the row")
            break
        node = found
    if node.inner is not None:
        return leaf_of(node.inner, row)
    if node.score is None:
        raise NoResultError("a tree has no prediction for the row")
    return node


def _next(tree: Tree, node: PmmlNode, row: Row) -> PmmlNode | None:
    """The node below that takes a row; the node itself if none does; None to stay for what is missing."""
    for below in node.below:
        said = below.predicate.holds(row)
        if said:
            return below
        if said is None:
            match tree.strategy:
                case "lastPrediction":
                    return None
                case "nullPrediction":
                    raise NoResultError("a value is missing")
                case "defaultChild":
                    if node.default is None:
                        raise NoResultError("a value is missing")
                    return node.below[node.default]
                case "none":
                    continue
    return node


def number_of(number: Number, row: Row) -> float:
    """The number that a field is; raises NoResultError."""
    value = number.field.of(row[number.field.source.name])
    if not isinstance(value, float) or not math.isfinite(value):
        raise NoResultError(f"`{number.field.source.name}` is missing")
    return value


def sum_of(total: Sum, row: Row, unit: Fraction) -> Exact:
    """A sum of a row."""
    value, size = total.start, abs(total.start)
    for term, by in total.terms:
        found = number_of(term, row) if isinstance(term, Number) else leaf_of(term, row).score
        assert found is not None
        value += exact(found) * by
        size += abs(exact(found) * by)
    rounded = len(total.terms) > 1 or total.start != 0 or any(by != 1 for _, by in total.terms) or unit > UNIT_ROUNDOFF
    return Exact(value, (len(total.terms) + 1) * unit * size if rounded else Fraction(0))


def decide(content: Content, row: Row) -> Any:
    """See the module's docstring."""
    unit, model = _unit(content), content.model
    match model:
        case Value(sum=total, exponential=exponential):
            value = nearest(sum_of(total, row, unit).value)
            return value if not exponential else math.exp(value) if value < 709 else math.inf
        case Votes():
            place = _voted(model, len(content.classes), row, unit)
        case Scores(sums=sums):
            found = [sum_of(one, row, unit) for one in sums]
            if len(found) == 1:
                doubt = found[0].doubt + _SQUASHED * unit
                place = None if abs(found[0].value) <= doubt else int(found[0].value > 0)
            else:
                place = _largest([one._replace(doubt=one.doubt + _SQUASHED * unit) for one in found])
    return None if place is None else content.classes[place]


def _voted(model: Votes, classes: int, row: Row, unit: Fraction) -> int | None:
    """The class that most trees vote for, or whose mean is the largest."""
    if len(model.members) == 1:
        score = leaf_of(model.members[0][0], row).score
        assert isinstance(score, int)
        return score
    found = votes_of(model, classes, row)
    size = sum(found, Fraction(0))
    whole = not model.shares and all(weight == 1 for _, weight in model.members)
    doubt = Fraction(0) if whole else (2 * len(model.members) + 2) * unit * size
    return _largest([Exact(one, doubt) for one in found])


def votes_of(model: Votes, classes: int, row: Row) -> list[Fraction]:
    """The votes of each class, or the weighted sum of its shares."""
    total = [Fraction(0)] * classes
    for tree, weight in model.members:
        leaf = leaf_of(tree, row)
        if model.shares and not leaf.shares:
            raise NoResultError("a leaf has no probabilities")
        assert isinstance(leaf.score, int)
        held = leaf.shares if model.shares else [float(place == leaf.score) for place in range(classes)]
        total = [one + weight * exact(more) for one, more in zip(total, held, strict=True)]
    return total


def _largest(found: Sequence[Exact]) -> int | None:
    """The place of the largest; None if another one may be as large."""
    best = max(range(len(found)), key=lambda place: found[place].value)
    ahead = (
        found[best].value - one.value > found[best].doubt + one.doubt
        for place, one in enumerate(found) if place != best
    )  # fmt: skip
    return best if all(ahead) else None


def probabilities(content: Content, row: Row) -> list[float] | None:
    """Those of the classes; None where the standard gives none that a link knows."""
    model = content.model
    if isinstance(model, Votes):
        if len(model.members) == 1:
            return list(leaf_of(model.members[0][0], row).shares) or None
        total, weight = votes_of(model, len(content.classes), row), sum(by for _, by in model.members)
        return [nearest(one / weight) for one in total]
    if isinstance(model, Scores) and model.link in ("logit", "softmax"):
        found = [nearest(sum_of(one, row, _unit(content)).value) for one in model.sums]
        found = [0.0, *found] if len(found) == 1 else found
        powers = [math.exp(one - max(found)) for one in found]
        return [one / sum(powers) for one in powers]
    return None


def _unit(content: Content) -> Fraction:
    return UNIT_ROUNDOFF_32 if content.single else UNIT_ROUNDOFF
