"""Models that are only asked, and bounded over boxes: what that proves of one answer.

In:  a model without a table, its space, and one search of its nearest point.
Out: `enclosure_of`, what bounds the model; `bounded`, what bounding came to.
Promise: bounds that do not hold for what the model says of some rows are not used. What is proved rests on them: they
are computed in floats that are rounded outwards, and there is no certificate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline
from mace.base.figures import counted
from mace.base.values import plain
from mace.errors import MaceError
from mace.problem.distance import Norm
from mace.problem.goals import Margin, Probability
from mace.search.aims import Aim, GoalAim
from mace.search.blackbox import BlackBox, Calls
from mace.search.chart import Floats
from mace.search.protocol import Run, Task
from mace.solve.protocol import Gap
from mace.solve.status import Status
from mace.space.axes import Point
from mace.space.space import Space

if TYPE_CHECKING:
    from mace.compilers.enclosures.reader import Enclosure

BOXES = "bounds over "
COMPARED = 256  # rows at which bounds are compared with what the model says
NEAR = Fraction(1, 1000)  # enough, as a part of the distance, where the caller names no gap


class Said(NamedTuple):
    """What bounding came to: a point, what is proved of it, and why no more is."""

    point: Point | None
    status: Status
    lower: Fraction
    why: str
    note: str


def enclosure_of(model: Any, box: BlackBox, space: Space) -> Enclosure | None:
    """What bounds a model over boxes; None for one of which nothing is known but its answers."""
    if not box.graded:
        return None
    from mace.compilers.enclosures.reader import enclose

    try:
        return enclose(model, space, raw=box.given == "frame")
    except MaceError:
        return None


def takes(task: Task, aim: Aim, enclosure: Enclosure) -> bool:
    """Whether a question can be answered by bounds."""
    from mace.compilers.enclosures.reader import knows

    place = task.place
    if not isinstance(aim, GoalAim) or aim.least is not None or task.constrained:
        return False
    if about_probabilities(aim) and enclosure.model.probable is None:
        return False
    if any(axis.missing is not None or axis.lacks for axis in place.axes):
        return False
    return isinstance(place.distance, Norm) and knows(enclosure.columns, place.axes)


def about_probabilities(aim: Aim) -> bool:
    """Whether a goal speaks of probabilities."""
    return isinstance(aim, GoalAim) and isinstance(aim.wanted, (Probability, Margin))


def agrees(enclosure: Enclosure, calls: Calls, deadline: Deadline, *, likely: bool = False) -> bool:
    """Whether what the model says of some rows lies within its bounds. Raises TimeOverError.

    likely: what it says of probabilities, too.
    """
    from mace.search.boxes import at_once

    chart, size = calls.chart, at_once(enclosure)
    rows = chart.uniform(np.random.default_rng(0), COMPARED)
    matrix, said = chart.matrix(rows, enclosure.columns), calls.answers(rows)
    own = calls.probabilities(rows) if likely and enclosure.model.classes else None
    for first in range(0, len(rows), size):
        deadline.look("comparing the bounds with what the model says")
        part = slice(first, first + size)
        if not _agree(enclosure, matrix[part], said[part], None if own is None else own[part]):
            return False
    return True


def _agree(enclosure: Enclosure, matrix: Floats, said: NDArray[Any], own: Floats | None) -> bool:
    """The same of a few rows. said: what the model decides; own: its probabilities, where they are asked about.

    NaN bounds nothing, and disagrees with nothing.
    """
    from mace.compilers.enclosures.bounds import of_boxes
    from mace.compilers.enclosures.enclosed import numbers, possible, probabilities
    from mace.compilers.enclosures.ranges import Range

    model, points = enclosure.model, Range(matrix, matrix)
    if not model.classes:
        low, high = numbers(model, points, of_boxes)
        return not ((said < low[:, 0]) | (said > high[:, 0])).any()
    classes = possible(model, points, of_boxes)
    if not all(classes[row, model.classes.index(plain(label))] for row, label in enumerate(said)):
        return False
    if own is None:
        return True
    low, high = probabilities(model, points, of_boxes)
    return not ((own < low) | (own > high)).any()


class Boxes:
    """The search over boxes for one answer."""

    def __init__(self, run: Run, aim: Aim, enclosure: Enclosure, gap: Gap) -> None:
        from mace.search.boxes import BoxSearch

        assert isinstance(aim, GoalAim)
        self.run, self.enclosure, self.gap = run, enclosure, gap
        self.search = BoxSearch(run, enclosure, aim.wanted, gap)

    def bounded(self, deadline: Deadline, most: int | None = None, known: Point | None = None) -> Said:
        """What is proved until a deadline, or by so many boxes more.

        known: a point that has the goal.
        """
        if known is not None:
            self.search.know(known)
        self.search.descend(deadline)
        found = self.search.bounded(deadline, most)
        note = (
            f"{BOXES}{counted(found.boxes, 'box', 'boxes')} of rows: those of {self.enclosure.model.name} are computed "
            "in floats that are rounded outwards, without a table and without a certificate"
        )
        if found.lower is None:
            return Said(None, "infeasible", Fraction(0), "", note)
        if found.point is None:
            return Said(None, "unknown", found.lower, found.why, note)
        met = self.gap.met(found.lower, self.run.task.place.distance_of(found.point))
        return Said(found.point, "optimal" if met else "bounded", found.lower, "" if met else found.why, note)
