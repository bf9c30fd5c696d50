"""A model as functions of its columns that can be bounded over boxes, and what it may decide there.

In:  what a reader found in a library's object; or a table that was read.
Out: `Enclosed`, and `possible`, `probabilities` and `numbers` over boxes of columns.
Promise: what is called impossible over a box, the library says of no row in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, Tight, joined, jumping, over
from mace.compilers.enclosures.functions import exponential, logistic, reciprocal, rectified
from mace.compilers.enclosures.ranges import UNSURE, Floats, Range
from mace.errors import GoalError, UnreadableError
from mace.tables.table import Bools, Compare, Decision, Ensemble, Label, Link, Network, Tree, decision_of

Function: TypeAlias = Callable[[Bounds], Bounds]
Bounding: TypeAlias = Callable[[Function, Range], Bounds | Tight]


@dataclass(frozen=True, eq=False)
class Enclosed:
    """A model.

    scores:    the columns -> what its decisions compare; of a model without classes the number that it predicts.
    decisions: one a class; none for a model without classes.
    probable:  the columns -> the probability of each class; None where that is not known.
    scoring:   the columns -> what the library calls its `decision_function`; None where that is not known.
    width:     about how many numbers are bounded at once, for each column.
    additive:  whether each score is a sum of functions of one column each.
    """

    name: str
    columns: int
    classes: tuple[Label, ...]
    scores: Function
    decisions: tuple[Decision, ...] = ()
    probable: Function | None = None
    scoring: Function | None = None
    width: int = 64
    additive: bool = False


class Leads(NamedTuple):
    """By how much scores lead others, for all that the decisions of a model compare.

    function: the columns -> the leads.    place: of each comparison among them.
    """

    function: Function
    place: dict[Compare, int]


def leads_of(model: Enclosed) -> Leads:
    """The leads of a model with classes."""
    compares = {c for decision in model.decisions for part in decision for c in part}
    sides = sorted({(c.plus, c.minus) for c in compares}, key=repr)

    def leads(given: Bounds) -> Bounds:
        found = model.scores(given)
        weights = np.zeros((found.error.shape[1], len(sides)))
        for place, (plus, minus) in enumerate(sides):
            for side, sign in ((plus, 1.0), (minus, -1.0)):
                if side is not None:
                    weights[side, place] += sign
        return found.affine(weights, np.zeros(len(sides)))

    return Leads(leads, {c: sides.index((c.plus, c.minus)) for c in compares})


def lenient(high: Floats) -> Floats:
    """The most that leads may be, if ones so close to each other may be made equal by an exponential."""
    return np.asarray(high + UNSURE * (1 + np.abs(high)))


def possible(model: Enclosed, columns: Range, bound: Bounding = over) -> Bools:
    """Which classes the model may decide for, over boxes of its columns; shape (boxes, classes).

    bound: how; by `of_boxes`, boxes of one row take less time.
    """
    leads = leads_of(model)
    high = lenient(bound(leads.function, columns).said.high)
    may = {c: ~(high[:, place] < c.than) for c, place in leads.place.items()}
    found = np.zeros((len(high), len(model.decisions)), dtype=np.bool_)
    for index, decision in enumerate(model.decisions):
        for part in decision:
            found[:, index] |= np.logical_and.reduce([may[c] for c in part], axis=0) if part else True
    return found


def probabilities(model: Enclosed, columns: Range, bound: Bounding = over) -> Range:
    """Bounds on the probabilities, shape (boxes, classes); raises GoalError where they are not known."""
    if model.probable is None:
        raise GoalError(f"the probabilities of {model.name} are not bounded over boxes")
    return bound(model.probable, columns).said


def numbers(model: Enclosed, columns: Range, bound: Bounding = over) -> Range:
    """Bounds on what a model without classes predicts, shape (boxes, 1)."""
    return bound(model.scores, columns).said


def largest(count: int) -> tuple[Decision, ...]:
    """The first of the largest of so many scores decides."""
    return tuple(
        (tuple(Compare(k, other, strict=other < k) for other in range(count) if other != k),) for k in range(count)
    )


def second(score: Bounds) -> Bounds:
    """The probabilities of two classes, of that of the second."""
    return score.affine(np.array([[-1.0, 1.0]]), np.array([1.0, 0.0]))


def softmax(scores: Bounds) -> Bounds:
    """The probabilities of several classes: 1 / (1 + the sum of exp of every other lead)."""
    count = scores.error.shape[1]
    found = []
    for k in range(count):
        weights = np.zeros((count, count - 1))
        for place, other in enumerate(j for j in range(count) if j != k):
            weights[other, place], weights[k, place] = 1.0, -1.0
        leads = scores.affine(weights, np.zeros(count - 1))
        if count == 2:
            found.append(logistic(leads.scaled(-1.0)))
        else:
            odds = exponential(leads)
            found.append(_of_leads(reciprocal(odds.affine(np.ones((count - 1, 1)), np.ones(1))), leads))
    return joined(found)


def _of_leads(share: Bounds, leads: Bounds) -> Bounds:
    """1 / (1 + the sum of exp of leads), no wider than the ends of these allow, however large their odds are.

    It changes by no more than a quarter of what the leads do.
    """
    most, least = (1 / (1 + np.exp(side).sum(axis=1, keepdims=True)) for side in leads.values)
    values = Range(np.fmax(share.values.low, least - 4 * UNSURE), np.fmin(share.values.high, most + 4 * UNSURE))
    error = leads.error.max(axis=1, keepdims=True) / 4 + 4 * UNSURE
    return replace(share, values=values, error=np.fmin(share.error, error))


# ------------------------------------------------------------------------------------------------- tables


def of_table(table: Ensemble | Network) -> Enclosed:
    """A model that was read; raises UnreadableError for one in float32, and for trees that test categories."""
    if table.dtype == "float32" and isinstance(table, Network):
        raise UnreadableError(f"{table.name} in float32 is not bounded over boxes")
    linear = isinstance(table, Network) and len(table.layers) == 1
    scores = _layers(table) if isinstance(table, Network) else _trees(table)
    if not table.classes:
        additive = linear and table.link is None
        return Enclosed(table.name, table.columns, (), _predicted(scores, table.link), additive=additive)
    decisions = tuple(decision_of(table, k) for k in range(len(table.classes)))
    return Enclosed(
        table.name, table.columns, table.classes, scores, decisions, _probable(scores, table), scores, additive=linear
    )


def _predicted(scores: Function, link: Link | None) -> Function:
    if link is None:
        return scores
    shift, unit = 0.0 if link.kind == "exp" else -1.0, _unit(link)

    def predicted(x: Bounds) -> Bounds:
        found = exponential(scores(x))
        rounded = replace(found, error=found.error + unit * found.said.size)
        return rounded.affine(np.ones((1, 1)), np.array([shift]))

    return predicted


def _unit(link: Link) -> float:
    """By what share an exponential in float32 errs beyond what all of them may."""
    return 2.0**-18 if link.dtype == "float32" else 0.0


def _probable(scores: Function, table: Ensemble | Network) -> Function | None:
    link = table.link
    if link is None or link.inside is not None:
        return None
    if link.kind == "fraction":
        return scores
    unit = _unit(link)
    if link.kind == "softmax":
        return lambda x: _erring(softmax(scores(x)), unit)
    if link.kind != "logistic":
        return None
    weights = np.zeros((table.outputs, 1))
    weights[link.score] = link.slope
    return lambda x: second(_erring(logistic(scores(x).affine(weights, np.array([link.shift]))), unit))


def _erring(found: Bounds, by: float) -> Bounds:
    """The same, of which the library's floats may lie that much further away."""
    return replace(found, error=found.error + by)


def _layers(table: Network) -> Function:
    def scores(x: Bounds) -> Bounds:
        for layer in table.layers:
            x = x.affine(layer.weights, layer.bias)
            if layer.activation == "relu":
                x = rectified(x)
        return x

    return scores


def _trees(table: Ensemble) -> Function:
    if any(tree.members for tree in table.trees):
        raise UnreadableError(f"{table.name} tests categories, which is not bounded over boxes")
    size = np.abs(table.start) + sum(np.abs(tree.value[tree.column < 0]).max(axis=0) for tree in table.trees)
    unit = 2.0**-24 if table.dtype == "float32" else 2.0**-53
    error = (4 * (len(table.trees) + 4) * unit + UNSURE) * size + table.error
    swings = [_swings(tree) for tree in table.trees]

    def scores(x: Bounds) -> Bounds:
        seen = Range(*(table.seen(side) for side in x.said))
        blame = None if x.change is None else np.zeros((*seen.low.shape, table.outputs))
        low, high = np.tile(table.start, (len(x.error), 1)), np.tile(table.start, (len(x.error), 1))
        for tree, swing in zip(table.trees, swings, strict=True):
            least, most = _reached(table, tree, seen, swing, blame)
            low, high = low + least, high + most
        found = Range(low, high).wider(error)
        bounds = Range(found.low / table.divide, found.high / table.divide).rounded()
        return jumping(Bounds(bounds, np.broadcast_to(error / table.divide, low.shape)), x, scores, blame)

    return scores


def _swings(tree: Tree) -> Floats:
    """By how much the leaves below each node differ, shape (nodes, outputs)."""
    least, most = np.array(tree.value, dtype=np.float64), np.array(tree.value, dtype=np.float64)
    for node in reversed(_from_the_root(tree)):
        if tree.column[node] >= 0:
            both = [int(tree.left[node]), int(tree.right[node])]
            least[node], most[node] = least[both].min(axis=0), most[both].max(axis=0)
    return np.asarray(most - least)


def _from_the_root(tree: Tree) -> list[int]:
    """The nodes, each before those below it."""
    found = [0]
    for node in found:
        if tree.column[node] >= 0:
            found += [int(tree.left[node]), int(tree.right[node])]
    return found


def _reached(table: Ensemble, tree: Tree, seen: Range, swing: Floats, blame: Floats | None) -> tuple[Floats, Floats]:
    """The least and the largest that a tree may add over each box, shape (boxes, outputs).

    blame: to which the swings of the nodes that go both ways are added, by the column that they test; or None.
    """
    boxes = len(seen.low)
    least = np.full((boxes, table.outputs), np.inf)
    most = np.full((boxes, table.outputs), -np.inf)
    waiting = [(0, np.ones(boxes, dtype=np.bool_))]
    while waiting:
        node, here = waiting.pop()
        column, threshold = int(tree.column[node]), float(tree.threshold[node])
        if column < 0:
            least[here], most[here] = (
                np.minimum(least[here], tree.value[node]),
                np.maximum(most[here], tree.value[node]),
            )
            continue
        low, high = seen.low[:, column], seen.high[:, column]
        if table.test == "<=":
            ways = here & ~(low > threshold), here & ~(high <= threshold)
        else:
            ways = here & ~(low >= threshold), here & ~(high < threshold)
        if blame is not None:
            blame[:, column] += (ways[0] & ways[1])[:, None] * swing[node]
        for child, way in zip((tree.left[node], tree.right[node]), ways, strict=True):
            if way.any():
                waiting.append((int(child), way))
    return least, most


def same_classes(models: Sequence[Enclosed], what: str) -> tuple[Label, ...]:
    """The classes that all of some members know; raises UnreadableError where they differ."""
    if any(model.classes != models[0].classes for model in models):
        raise UnreadableError(f"{what}: its members know different classes")
    return models[0].classes
