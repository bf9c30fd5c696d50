"""A shorter proof of a bound about trees that is known already.

In:  a question, the bound, and how many nodes the proof may have.
Out: a proof, or None where it would be longer, takes too long, or does not come about.
Promise: the proof is of the same bound; a checker judges it as any other.
How: in each region of the rules boxes are divided by look-ahead (`dividing`); what is left over there, because a rule,
an exclusion or the last bits decide, is a small box for the plain search.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from mace.base.deadline import Deadline, TimeOverError
from mace.problem.proof import Leaf, Proof, Split, preorder
from mace.problem.question import Question
from mace.solve.compiled import interruptible
from mace.solve.ensembles.arrays.cells import Grounded, ground, refusal
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.boxes.regions import DIVIDING, RegionNode, cut_into, divided, inside_of
from mace.solve.protocol import Gap
from mace.solve.witnesses import Witnesses

PLACES = 1000  # boxes that wait at once
BUDGET = 500  # boxes between two looks at the clock
MEMORY = 2**28  # bytes for boxes that wait
ROOM = 2**30  # for the plain search


def shorter(question: Question, claim: Fraction | None, most: int, deadline: Deadline) -> Proof | None:
    """A proof of at most so many nodes that no allowed point with the goal is closer than the claim (None: at all)."""
    if refusal(question) is not None:
        return None
    try:
        with interruptible(deadline):
            grounded = ground(question, deadline)
            whole = grounded.sides(grounded.ground.low, grounded.ground.high)
            root = divided(question, whole, deadline.share(DIVIDING))
            grounded = cut_into(grounded, question, root)
            for region in root.every():
                if region.open:
                    region.proof = again(question, inside_of(grounded, region.box), claim, most, deadline)
                    if region.proof is None:
                        return None
    except TimeOverError:
        return None
    proof = preorder(root, _closing)
    return proof if len(proof) <= most else None


def again(
    question: Question, grounded: Grounded, claim: Fraction | None, most: int, deadline: Deadline
) -> Proof | None:
    """The same of the box of the arrays."""
    from mace.solve.ensembles.arrays.walk import measure, new_box
    from mace.solve.ensembles.shortening import dividing
    from mace.solve.ensembles.shortening.leaves import reach

    axes, aim, limit = grounded.ground, grounded.aim, Bound(claim).scaled(grounded.scale)
    box = new_box(len(question.axes))
    box.low[:], box.high[:] = axes.low, axes.high
    measure(axes, box)
    reached = reach(axes, grounded.forest, box, limit, grounded.depth)
    leaves = len(reached.leaf)
    gain = np.ascontiguousarray(grounded.forest.gain[:, reached.leaf])
    tree = np.repeat(np.arange(len(reached.first) - 1), np.diff(reached.first))
    places = max(2, min(PLACES, MEMORY // (4 * leaves + 1)))
    waiting = dividing.new_waiting(places, box.low, box.high, leaves)
    written = dividing.new_written(max(1, most), len(question.axes))
    room = dividing.new_losses(axes, reached, len(gain))
    changes = -1 if question.most_changes is None else question.most_changes
    ended = dividing.PAUSED
    while ended == dividing.PAUSED:
        if deadline.over:
            return None
        ended = dividing.explore(
            axes, aim, reached, gain, tree, limit, changes, box, waiting, written, room, BUDGET
        )  # fmt: skip
    return _as_proof(question, grounded, claim, written, deadline) if ended == dividing.DONE else None


def _as_proof(
    question: Question, grounded: Grounded, claim: Fraction | None, written: object, deadline: Deadline
) -> Proof | None:
    """The nodes that were written, with what the plain search makes of the boxes left over; None where it fails."""
    from mace.solve.ensembles.shortening import dividing

    assert isinstance(written, dividing.Written)
    axes, proof = grounded.ground, Proof()
    leaves = {
        dividing.TREES: Leaf("trees"), dividing.DISTANCE: Leaf("distance"), dividing.CHANGES: Leaf("changes"),
    }  # fmt: skip
    used = int(written.size[0])
    nodes = (written.kind[:used].tolist(), written.axis[:used].tolist(), written.cut[:used].tolist())
    for kind, axis, cut, left in zip(*nodes, written.box[:used].tolist(), strict=True):
        if kind == dividing.SPLIT:
            proof.append(Split(axis, int(axes.at[axes.base[axis] + cut]) if axes.grid[axis] else 1 << cut))
        elif kind == dividing.OTHER:
            found = _searched(question, grounded.inside(written.low[left], written.high[left]), claim, deadline)
            if found is None:
                return None
            proof += found
        else:
            proof.append(leaves[kind])
    return proof


def _searched(question: Question, grounded: Grounded, claim: Fraction | None, deadline: Deadline) -> Proof | None:
    """What the plain search proves of a box; None where it comes to an end without a proof of the claim."""
    search = Plain(Witnesses(question), grounded, Terms(Bound(claim), None, Gap(), deadline, ROOM))
    closed = search.search() and search.point is None and search.doubtful() is None
    return search.proof() if closed else None


def _closing(region: RegionNode) -> Leaf:
    raise AssertionError(f"the region {region.box} has no proof")
