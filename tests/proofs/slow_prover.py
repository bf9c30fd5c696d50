"""Proofs by halving every box until a rule without any search closes it: the reference that uses no oracle."""

from __future__ import annotations

from fractions import Fraction

from mace.problem.distance import Norm
from mace.problem.proof import Leaf, Proof, Split
from mace.problem.question import Question
from mace.space.axes import GridAxis, LevelAxis

Box = list[list[int]]


def slow_proof(question: Question, claim: Fraction | None) -> Proof:
    """A proof that nothing is closer than `claim` (None: nothing at all); sound or not, it is written to its end."""
    proof: Proof = []
    todo: list[Box] = [
        [a.levels() if isinstance(a, LevelAxis) else [*range(a.lower, a.upper + 1)] for a in question.axes]
    ]
    while todo:
        box = todo.pop()
        leaf = _leaf(question, box, claim)
        if leaf is not None:
            proof.append(leaf)
            continue
        j = max(range(len(box)), key=lambda k: len(box[k]))
        half = len(box[j]) // 2
        below, above = box[j][:half], box[j][half:]
        grid = isinstance(question.axes[j], GridAxis)
        proof.append(Split(j, below[-1] if grid else sum(1 << level for level in below)))
        todo += [[*box[:j], above, *box[j + 1 :]], [*box[:j], below, *box[j + 1 :]]]
    return proof


def _leaf(question: Question, box: Box, claim: Fraction | None) -> Leaf | None:
    assert isinstance(question.distance, Norm)
    deltas = [min(axis.delta(i) for i in side) for axis, side in zip(question.axes, box, strict=True)]
    if claim is not None and question.distance.of(deltas) >= claim:
        return Leaf("distance")
    away = sum(axis.start not in side for axis, side in zip(question.axes, box, strict=True))
    if question.most_changes is not None and away > question.most_changes:
        return Leaf("changes")
    if any(len(side) > 1 for side in box):
        return None
    point = tuple(side[0] for side in box)
    for k, rule in enumerate(question.rules):
        if not rule.holds(question.axes, point):
            return Leaf("rule", k)
    for k, region in enumerate(question.avoid):
        if question.excluded(region, point):
            return Leaf("avoid", k)
    return Leaf("cell")
