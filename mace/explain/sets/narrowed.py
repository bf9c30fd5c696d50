"""Questions about one box of a question's space, and what is known of these as facts about the whole space."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from mace.certify.sets import Fact
from mace.problem.exclusions import AvoidBox
from mace.problem.proof import Bounds, Leaf, Split
from mace.problem.question import Question
from mace.space.axes import Box, GridAxis, Side, full
from mace.tables.table import Network


class Narrowed(NamedTuple):
    """A question about one box: `question` has narrower axes; `sides` says which, by axis."""

    whole: Question
    question: Question
    sides: dict[int, Side]

    def widened(self, fact: Fact) -> Fact:
        """The same fact about the whole space, from which all but the box is excluded."""
        question, proof = replace(fact.question, axes=self.whole.axes), fact.proof
        steps: list[tuple[Split, Leaf, bool]] = []
        for j, side in self.sides.items():
            axis = self.whole.axes[j]
            for gone, split, first in _cuts(axis_side=full(axis), side=side, j=j):
                box = tuple(full(a) if i != j else gone for i, a in enumerate(self.whole.axes))
                steps.append((split, Leaf("avoid", len(question.avoid)), first))
                question = question.away(AvoidBox(box))
        if proof is not None and isinstance(question.model, Network):
            proof = [Bounds(), *proof]
        for split, leaf, first in reversed(steps):
            if proof is not None:
                proof = [split, leaf, *proof] if first else [split, *proof, leaf]
        return Fact(question, fact.lower, proof, fact.unproved)


def narrow(question: Question, box: Box) -> Narrowed:
    """A question about a box alone."""
    axes, sides, avoid = list(question.axes), {}, []
    for j, (axis, side) in enumerate(zip(question.axes, box, strict=True)):
        if side == full(axis):
            continue
        if isinstance(axis, GridAxis) and axis.missing is not None:
            # "missing" lies above the largest value, so that such an axis keeps its ends.
            avoid += [
                tuple(full(a) if i != j else gone for i, a in enumerate(question.axes))
                for gone, _, _ in _cuts(full(axis), side, j)
            ]
            continue
        sides[j] = side
        if isinstance(axis, GridAxis):
            assert isinstance(side, tuple)
            axes[j] = replace(axis, lower=side[0], upper=side[1])
        else:
            assert isinstance(side, int)
            axes[j] = replace(axis, allowed=side)
    narrower = replace(question, axes=tuple(axes)).without(map(AvoidBox, avoid))
    return Narrowed(question, narrower, sides)


def _cuts(axis_side: Side, side: Side, j: int) -> list[tuple[Side, Split, bool]]:
    """What of an axis lies outside a side, the split that tells it apart, and whether it is the first child."""
    if isinstance(axis_side, int) or isinstance(side, int):
        assert isinstance(axis_side, int) and isinstance(side, int)
        gone = axis_side & ~side
        return [(gone, Split(j, side), False)] if gone else []
    found: list[tuple[Side, Split, bool]] = []
    if axis_side[0] < side[0]:
        found.append(((axis_side[0], side[0] - 1), Split(j, side[0] - 1), True))
    if side[1] < axis_side[1]:
        found.append(((side[1] + 1, axis_side[1]), Split(j, side[1]), False))
    return found
