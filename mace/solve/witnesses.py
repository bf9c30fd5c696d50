"""Which points an oracle may call found, and what becomes of those that rounding leaves in doubt.

In:  a question, and a `Replay` that asks the deployed model about one point, where the caller has one.
Out: `Witnesses.counts`; and the question with everything that the deployed model refused among its exclusions.
Promise: with a replay, nothing counts that the deployed model did not accept. What it refuses is excluded from the
question, so that a refutation holds for all other points, and is listed (`refused`): the claim of a certificate names
each exclusion, and the answer says how many there are. A refused point of a tree ensemble stands for all points that
reach the same leaf of every tree, for which the library computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from mace.base.exact import farthest_holding
from mace.problem.exclusions import Avoid, AvoidBox, AvoidPoint
from mace.problem.question import Question
from mace.solve.protocol import Replay
from mace.space.axes import Box, GridAxis, LevelAxis, Point, Side
from mace.tables.table import Ensemble, Tree

MOST_REFUSED = 1000


class Witnesses:
    """The points of one question that count as found."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.refused: list[Avoid] = []
        self.replay: Replay | None = None

    def counts(self, point: Point, *, exclude: bool = True) -> bool | None:
        """Whether an allowed point has the goal.

        exclude: whether a point that the deployed model refuses is excluded; then the answer is False, else None.
        Returns None where nobody can tell: rounding decides, and there is no replay, or too much was refused already.
        """
        if self.replay is None:
            return True if self.question.has_goal(point) else None
        if len(self.refused) >= MOST_REFUSED:
            return None
        if self.replay.accepts(point):
            return True
        if not exclude:
            return None
        alike = self.replay.by_leaves and isinstance(self.question.model, Ensemble)
        avoid = AvoidBox(same_leaves(self.question, point)) if alike else AvoidPoint(point)
        self.refuse([avoid])
        return False

    def refuse(self, avoided: Sequence[Avoid]) -> None:
        """Exclude what the deployed model refused from the question."""
        for avoid in avoided:
            self.question = self.question.away(avoid)
            self.refused.append(avoid)

    def tell(self, bounds: Callable[[], tuple[Fraction, Fraction | None]]) -> None:
        """Say how far the search is, where anybody hears it."""
        if self.replay is not None and self.replay.hearing is not None:
            self.replay.hearing.tell(bounds)

    @property
    def why(self) -> str:
        """What keeps a point in doubt."""
        if len(self.refused) >= MOST_REFUSED:
            return f"the deployed model refused {len(self.refused)} points near its boundary"
        return "rounding decides about a point so near to the boundary of the goal, and nobody can tell how"


class Witnessing:
    """What every oracle of one question has: the question as it stands, and what was refused."""

    def __init__(self, question: Question) -> None:
        self.witnesses = Witnesses(question)

    @property
    def question(self) -> Question:
        """The question, with what the deployed model refused among its exclusions."""
        return self.witnesses.question

    @property
    def refused(self) -> list[Avoid]:
        """What the deployed model refused."""
        return self.witnesses.refused

    def close(self) -> None:
        """End what the oracle holds outside this process; here, nothing."""


def same_leaves(question: Question, point: Point) -> Box:
    """A box around a point in which every tree answers each of its tests on the point's way alike."""
    model, row = question.model, question.row(point)
    assert isinstance(model, Ensemble)
    box: list[Side] = [a.allowed if isinstance(a, LevelAxis) else (a.lower, a.upper) for a in question.axes]
    for tree in model.trees:
        node = 0
        while tree.column[node] >= 0:
            column = question.columns[tree.column[node]]
            left = model.goes_left(tree, node, float(row[tree.column[node]]))
            box[column.feature] = _alike(question, tree, node, box[column.feature], point[column.feature], left)
            node = int(tree.left[node] if left else tree.right[node])
    return tuple(box)


def _alike(question: Question, tree: Tree, node: int, side: Side, index: int, left: bool) -> Side:
    """The part of an axis's side, around an index, on which one test answers as it does there."""
    model, column = question.model, question.columns[tree.column[node]]
    assert isinstance(model, Ensemble)
    axis = question.axes[column.feature]
    if isinstance(side, int):
        assert isinstance(axis, LevelAxis)
        levels = (level for level in axis.levels() if side >> level & 1)
        return sum(1 << level for level in levels if model.goes_left(tree, node, column.at(axis, level)) == left)
    assert isinstance(axis, GridAxis)
    if node in tree.members or any(step[0] == "steps" for step in column.chain):
        return (index, index)  # The test may change its answer more than once along the axis.

    def same(at: int) -> bool:
        return model.goes_left(tree, node, column.at(axis, at)) == left

    # The answer changes once at most on either side of the index.
    return farthest_holding(same, index, side[0]), farthest_holding(same, index, side[1])
