"""The proof of a search over boxes, as certificates hold it.

In:  the tree of boxes, with what closed each or the multipliers that are known of it; what is claimed.
Out: a `Proof` in preorder.
Promise: none is needed, since the checker evaluates the same multipliers; it finds no less than `FormsPart.bound`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import exact
from mace.problem import proof
from mace.problem.proof import Dual, Leaf, Priced, Prices, Proof, ProofNode, Split
from mace.solve.forms.frame import FINE, FormsPart, Multipliers
from mace.space.axes import Box


class PartBound(NamedTuple):
    """No point of a box with a part of the goal is nearer than `bound`, by these multipliers; infinite: none has it."""

    bound: float
    by: Multipliers | None


@dataclass(slots=True)
class Branch:
    """A box: what closes it, or where it is divided; else what is known of each part of the goal."""

    box: Box
    known: Sequence[PartBound] = ()
    leaf: Leaf | None = None
    cut: Split | None = None
    halves: Sequence[Branch | None] = field(default_factory=list)


def written(root: Branch, frames: Sequence[FormsPart], claim: Fraction | None) -> Proof | None:
    """The proof that no point with the goal is nearer than a claim, or exists; None where a box has no multipliers."""
    if claim is not None and claim <= 0:
        return [Leaf("distance")]
    found: list[ProofNode] = []
    todo: list[Branch | None] = [root]
    while todo:
        branch = todo.pop()
        if branch is None:
            found.append(Leaf("empty"))
        elif branch.leaf is not None:
            found.append(branch.leaf)
        elif branch.cut is not None:
            found.append(branch.cut)
            todo += reversed(branch.halves)
        else:
            parts = [_final(frame, branch.box, one, claim) for frame, one in zip(frames, branch.known, strict=True)]
            if None in parts:
                return None
            kept = [part for part in parts if part is not None]
            trees = [frame.trees for frame in frames]
            if trees[0] is None:
                found.append(Dual(tuple(_dual(by) for by in kept)))
            else:
                found.append(Priced(tuple(_prices(frame, by) for frame, by in zip(frames, kept, strict=True))))
    return found


def _final(frame: FormsPart, box: Box, known: PartBound, claim: Fraction | None) -> Multipliers | None:
    """The multipliers as the claim needs them: where no point has the part they prove any distance."""
    by = known.by
    if by is None or not math.isinf(known.bound):
        return None if claim is None else by
    by = by._replace(forms=np.zeros_like(by.forms))
    bound = frame.bound(box, by, jumps=False)
    if claim is None or math.isinf(bound):
        return by if bound > 0 else None
    return by.times(2.0 ** max(0, math.ceil(math.log2(float(claim) / bound)) + 1)) if bound > 0 else None


def _forms(by: Multipliers) -> tuple[int, ...]:
    return tuple(int(v * 2**FINE) for v in by.forms.tolist()) if by.forms.any() else ()


def _dual(by: Multipliers) -> proof.Multipliers:
    return proof.Multipliers(tuple(map(exact, by.goal.tolist())), {}, {}, {}, _forms(by))


def _prices(frame: FormsPart, by: Multipliers) -> Prices:
    trees = frame.trees
    assert trees is not None
    counts = (by.prices / by.unit).tolist()
    nodes = zip(trees.of.tolist(), trees.node.tolist(), counts, strict=True)
    priced = tuple((tree, node, int(count)) for tree, node, count in nodes if count)
    return Prices(tuple(map(exact, by.goal.tolist())), {}, exact(by.unit), priced, _forms(by))
