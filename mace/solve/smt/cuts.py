"""Which values of a feature a test of a tree sends to the left.

In:  a tree's node, the column it tests (computed from a feature, perhaps through a chain of operations), an axis term.
Out: a mask of levels, or a list of index intervals, in order and apart from each other.
Promise: whether an index lies in them is what the model's own test says of the float64 that the model is given. Every
kind of column is taken: falling ones, ones with steps up and down, and sets of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mace.base.exact import to_float32
from mace.solve.smt.axes import GridTerm, LevelTerm
from mace.space.axes import GridAxis
from mace.space.columns import Column
from mace.tables.table import Ensemble, Tree

Interval = tuple[int, int]  # first and last index
Left = int | tuple[Interval, ...]  # a mask of levels, or intervals of indices


class Cuts:
    """The tests of one model on the axes of one question, remembered by column and threshold."""

    def __init__(self, model: Ensemble, columns: Sequence[Column], axes: Sequence[GridTerm | LevelTerm]) -> None:
        self.model, self.columns, self.axes = model, columns, axes
        self._known: dict[tuple[int, float, bool], Left] = {}

    def left(self, tree: Tree, node: int) -> Left:
        """What a node sends to the left, within the ball."""
        number = int(tree.column[node])
        axis = self.axes[self.columns[number].feature]
        if node in tree.members:
            return self._compute(tree, node, axis)
        key = (number, float(tree.threshold[node]), bool(tree.missing_left is not None and tree.missing_left[node]))
        if key not in self._known:
            self._known[key] = self._compute(tree, node, axis)
        return self._known[key]

    def _compute(self, tree: Tree, node: int, axis: GridTerm | LevelTerm) -> Left:
        column = self.columns[int(tree.column[node])]
        if isinstance(axis, LevelTerm):
            assert column.values is not None
            values = column.values
            return sum(1 << level for level in axis.levels if self.model.goes_left(tree, node, values[level]))
        ball = replace(axis.axis, lower=axis.lower, upper=axis.last, missing=None)
        found: list[Interval] = []
        for first, last in _pieces(column, ball):
            found += self._intervals(tree, node, column, replace(ball, lower=first, upper=last))
        if axis.may_lack:
            assert column.missing is not None
            if self.model.goes_left(tree, node, column.missing):
                found.append((axis.upper, axis.upper))
        return _merged(found)

    def _intervals(self, tree: Tree, node: int, column: Column, piece: GridAxis) -> list[Interval]:
        """Within a piece on which the column only rises or only falls."""
        single, strict = self.model.cast == "float32", self.model.test == "<"

        def seen(value: float) -> float:
            given = column.of(value)
            return to_float32(given) if single else given

        if node not in tree.members:
            threshold = float(tree.threshold[node])
            if strict:
                return _where(lambda value: seen(value) < threshold, piece, threshold)
            return _where(lambda value: seen(value) <= threshold, piece, threshold)
        found: list[Interval] = []
        for low, high in tree.members[node]:
            upper = _where(lambda value, high=high: seen(value) <= high, piece, high)  # type: ignore[misc]
            lower = _where(lambda value, low=low: seen(value) >= low, piece, low)  # type: ignore[misc]
            found += [
                (max(a, c), min(b, d)) for a, b in upper for c, d in lower if max(a, c) <= min(b, d)
            ]  # fmt: skip
        return found


def _where(passes: Callable[[float], bool], piece: GridAxis, guess: float) -> list[Interval]:
    """Where a test holds that changes its answer once at most."""
    first, last = (passes(piece.given(index)) for index in (piece.lower, piece.upper))
    if first and last:
        return [(piece.lower, piece.upper)]
    if first:
        return [(piece.lower, piece.cut(passes, guess))]
    if last:
        return [(piece.cut(lambda value: not passes(value), guess) + 1, piece.upper)]
    return []


def _pieces(column: Column, ball: GridAxis) -> list[Interval]:
    """Intervals of indices on which a column only rises or only falls: between the edges of its steps."""
    cuts: set[int] = set()
    for place, step in enumerate(column.chain):
        if step[0] == "steps":
            before = replace(column, chain=column.chain[:place])
            for edge in step[1][0]:
                for _, cut in _where(lambda value, b=before, e=edge: b.of(value) < e, ball, edge):  # type: ignore[misc]
                    cuts.add(cut)
                for _, cut in _where(lambda value, b=before, e=edge: b.of(value) >= e, ball, edge):  # type: ignore[misc]
                    cuts.add(cut)
    inner = sorted(cut for cut in cuts if ball.lower <= cut < ball.upper)
    return list(zip([ball.lower, *(cut + 1 for cut in inner)], [*inner, ball.upper], strict=True))


def _merged(intervals: list[Interval]) -> tuple[Interval, ...]:
    """The same indices, in order, neighbours joined."""
    found: list[Interval] = []
    for first, last in sorted(intervals):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def others(inside: tuple[Interval, ...], whole: Interval) -> tuple[Interval, ...]:
    """The indices of an interval that lie in none of these."""
    found, first = [], whole[0]
    for a, b in inside:
        if first < a:
            found.append((first, a - 1))
        first = b + 1
    if first <= whole[1]:
        found.append((first, whole[1]))
    return tuple(found)


def hull(inside: tuple[Interval, ...], whole: Interval) -> Interval | None:
    """The smallest interval around what lies in `whole`; None if nothing does."""
    cut = [(max(a, whole[0]), min(b, whole[1])) for a, b in inside]
    kept = [(a, b) for a, b in cut if a <= b]
    return (kept[0][0], kept[-1][1]) if kept else None
