"""Points with the goal, where that is a sum of functions of one axis or two: one axis after another is moved; compiled.

In:  `SumTerms`, what each cell costs, and a point to start from.
Out: whether the point was moved to one with the goal, below a limit, as far as sums of rounded numbers say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.additive.ladders import SumTerms
from mace.solve.ensembles.additive.messages import FAR, class_of, partner_of, singles_of
from mace.solve.ensembles.arrays.cuts import Array


@compiled
def repaired(terms: SumTerms, cost: Array, active: Array, need: float, limit: float, point: Array) -> bool:
    """Whether a point, given by the places of its cells, was moved to one with the goal at a cost below a limit.

    One axis after the other is moved to where most is gained for the cost, or the goal is reached most cheaply; then
    back to where it is kept more cheaply.
    """
    axes = len(point)
    worth = np.empty(len(cost))
    total, paid = sum_at(terms, point), 0.0
    for j in range(axes):
        paid += float(cost[point[j]])
    for _ in range(4 * axes):
        if total >= need:
            break
        rate, dearest, axis, to, done = 0.0, FAR, -1, -1, False
        for j in range(axes):
            worth_on(terms, j, point, worth)
            for i in range(terms.first[j], terms.first[j + 1]):
                gained, dearer = worth[i] - worth[point[j]], float(cost[i]) - float(cost[point[j]])
                if not active[i] or gained <= 0 or paid + dearer >= limit:
                    continue
                if total + gained >= need:
                    if dearer < dearest:
                        dearest, axis, to, done = dearer, j, i, True
                elif not done and gained / max(dearer, 1.0) > rate:
                    rate, axis, to = gained / max(dearer, 1.0), j, i
        if axis < 0:
            return False
        worth_on(terms, axis, point, worth)
        total += worth[to] - worth[point[axis]]
        paid += float(cost[to]) - float(cost[point[axis]])
        point[axis] = to
    moved = True
    while moved:
        moved = False
        for j in range(axes):
            worth_on(terms, j, point, worth)
            best = point[j]
            for i in range(terms.first[j], terms.first[j + 1]):
                if active[i] and cost[i] < cost[best] and total + worth[i] - worth[point[j]] >= need:
                    best = i
            if best != point[j]:
                total += worth[best] - worth[point[j]]
                paid += float(cost[best]) - float(cost[point[j]])
                point[j] = best
                moved = True
    return total >= need and paid < limit


@lean
def worth_on(terms: SumTerms, j: int, point: Array, worth: Array) -> None:
    """What each cell of an axis adds to the goal, the others being those of a point."""
    singles = singles_of(terms)
    for i in range(terms.first[j], terms.first[j + 1]):
        worth[i] = terms.whole[i]
    for n in range(terms.near[j], terms.near[j + 1]):
        ladder = terms.ladder[n]
        p, first = (ladder - singles) // 2, (ladder - singles) % 2 == 0
        two = partner_of(ladder, singles)
        width = terms.begin[singles + 2 * p + 2] - terms.begin[singles + 2 * p + 1]
        of = terms.on[two]
        b = class_of(terms, two, of, point[of]) - terms.begin[two]
        for i in range(terms.first[j], terms.first[j + 1]):
            a = class_of(terms, ladder, j, i) - terms.begin[ladder]
            worth[i] += terms.entry[terms.table[p] + (a * width + b if first else b * width + a)]


@lean
def sum_at(terms: SumTerms, point: Array) -> Any:
    """What a point adds up to, trees without a test aside."""
    total = 0.0
    for j in range(len(point)):
        total += terms.whole[point[j]]
    singles = singles_of(terms)
    for p in range(len(terms.table) - 1):
        one, two = singles + 2 * p, singles + 2 * p + 1
        j, i = terms.on[one], terms.on[two]
        a = class_of(terms, one, j, point[j]) - terms.begin[one]
        b = class_of(terms, two, i, point[i]) - terms.begin[two]
        total += terms.entry[terms.table[p] + a * (terms.begin[two + 1] - terms.begin[two]) + b]
    return total
