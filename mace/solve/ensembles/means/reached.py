"""The scores that a tree ensemble can have nearer to the start than a radius.

In:  a Question about an Ensemble under a Norm, and a radius.
Out: the least and the largest sum of each score, shape (outputs,), over all allowed points within the radius.
Promise: every tree may take any of its leaves that lies in the ball by itself, so the sums are bounds; they are those
of floats, and the caller allows for rounding.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.question import Question
from mace.solve.ensembles.arrays.cells import Forest, ground
from mace.solve.ensembles.arrays.terms import Bound
from mace.solve.ensembles.many_levels import within
from mace.tables.table import Ensemble, Floats


class Sums(NamedTuple):
    """The least and the largest sum of each score, divided as the model's are."""

    low: Floats
    high: Floats


def sums_within(question: Question, radius: Fraction, deadline: Deadline) -> Sums:
    """See the module's docstring."""
    found = [_sums_within(one, radius, deadline) for one in within(question, radius)]
    return Sums(np.min([one.low for one in found], axis=0), np.max([one.high for one in found], axis=0))


def _sums_within(question: Question, radius: Fraction, deadline: Deadline) -> Sums:
    """The same of a question with few levels."""
    from mace.solve.ensembles.arrays import walk

    model = question.model
    assert isinstance(model, Ensemble)
    grounded = ground(question, deadline)
    axes = grounded.ground
    box = walk.new_box(len(question.axes))
    box.low[:], box.high[:] = axes.low, axes.high
    walk.measure(axes, box)
    limit = Bound(radius, inclusive=True).scaled(grounded.scale)
    forest = walk.shrink(axes, grounded.forest, box, limit, walk.new_stack(grounded.depth))
    return sums_of(model, grounded.forest, forest)


def sums_of(model: Ensemble, whole: Forest, forest: Forest) -> Sums:
    """The sums of what is left of a forest."""
    leaves = np.flatnonzero(forest.test[:, 0] < 0)
    # The trees follow one another, and each keeps a leaf at least.
    begins = np.searchsorted(leaves, forest.roots)
    values = whole.value[forest.leaf[leaves]]
    low = model.start + np.minimum.reduceat(values, begins, axis=0).sum(axis=0)
    high = model.start + np.maximum.reduceat(values, begins, axis=0).sum(axis=0)
    return Sums(low / model.divide, high / model.divide)
