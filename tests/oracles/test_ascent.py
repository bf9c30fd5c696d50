"""Dual ascent beside a linear program solver: how much of the relaxation's optimum the prices reach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from mace import Explainer, Feature, Space
from mace.problem.question import Question
from mace.solve.ensembles import prover
from mace.solve.ensembles.relaxation import branching
from mace.solve.ensembles.relaxation.ascent import Climbed
from mace.solve.ensembles.relaxation.branching import Branching
from mace.solve.ensembles.relaxation.frame import Active, RelaxationArrays, on_side
from mace.solve.protocol import Limits

pytestmark = pytest.mark.slow  # models of ten classes are fitted, and linear programs of thousands of rows solved

Entries = list[tuple[int, int, float]]


def optimum(frame: RelaxationArrays, active: Active) -> float:
    """That of the relaxation as a linear program: shares of leaves, then of pieces; nothing else of ascent is read."""
    leaves, trees, axes = len(active.leaf), len(active.first) - 1, len(frame.grid)
    pieces = [p for j in range(axes) for p in range(active.begin[j], active.end[j])]
    place = {p: leaves + k for k, p in enumerate(pieces)}
    one: Entries = [(t, k, 1.0) for t in range(trees) for k in range(active.first[t], active.first[t + 1])]
    one += [(trees + j, place[p], 1.0) for j in range(axes) for p in range(active.begin[j], active.end[j])]
    most: Entries = [(r, k, 1.0) for k in range(leaves) for r in active.row[active.at[k] : active.at[k + 1]].tolist()]
    for r, row in enumerate(active.number.tolist()):
        of_axis = range(active.begin[frame.axis[row]], active.end[frame.axis[row]])
        most += [(r, place[p], -1.0) for p in of_axis if on_side(frame, row, p)]
    rows, limits = len(active.number), [0.0] * len(active.number)
    for c, need in enumerate(frame.need.tolist()):
        gain = frame.gain[c][active.leaf].astype(float)
        most += [(rows + c, int(k), -gain[k] / abs(gain).max()) for k in np.flatnonzero(gain)]
        limits.append(-need / abs(gain).max())
    cost = np.concatenate([np.zeros(leaves), frame.part[pieces] / 2.0**40])
    equal, upper = (_matrix(entries, len(cost)) for entries in (one, most))
    return float(linprog(cost, upper, limits, equal, np.ones(trees + axes), method="highs-ipm").fun)


def _matrix(entries: Entries, columns: int) -> coo_array:
    row, column, value = zip(*entries, strict=True)
    return coo_array((value, (row, column)), shape=(max(row) + 1, columns))


def first_boxes(question: Question, monkeypatch: pytest.MonkeyPatch) -> Branching:
    """The search by the relaxation as it stands before its first box is divided."""
    met: list[Branching] = []

    class Met(Exception):  # noqa: N818  no fault
        pass

    def prepare(self: Branching) -> None:
        met.append(self)
        raise Met

    monkeypatch.setattr(Branching, "_prepare", prepare)
    with pytest.raises(Met):
        prover.EnsembleOracle(question).ask(None, Limits())
    return met[0]


@pytest.mark.parametrize(
    "model", [HistGradientBoostingClassifier(max_iter=15, random_state=0), RandomForestClassifier(30, max_depth=5,
              random_state=0)], ids=["boosting", "forest"],
)  # fmt: skip
def test_ascent_reaches_most_of_the_optimum_towards_one_of_ten_classes(
    model: HistGradientBoostingClassifier | RandomForestClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of nine comparisons each tree of a boosted model makes a difference to one or to all, and most trees of the
    ball to none: the multipliers moved far too much, and ascent ended with nothing."""
    rows, target = load_digits(return_X_y=True)
    model.fit(rows[:500], target[:500])
    space = Space([Feature(f"x{k}", "integer", 0, 16) for k in range(64)])
    row = next(row for row in rows[500:] if model.predict(row[None])[0] == 3)
    monkeypatch.setattr(prover, "PATIENCE", 0)
    question = Explainer(model, space, distance="l1").question(row, 8)[0]
    search = first_boxes(question, monkeypatch)
    relaxation, root, limit = search.relaxations[0], search.root, search.host.limit
    assert root is not None and len(relaxation.compares) == 9
    active = relaxation.open(root.low, root.high, limit)
    most, none = optimum(relaxation.framed, active), relaxation.nothing()
    start = Climbed(0.0, *map(np.zeros, (len(none.prices), 9, len(none.shares), len(none.lines), 0, 0)))
    for effort, part in ((branching.GLANCE, 0.8), (branching.FIRST, 0.95)):
        climbed = relaxation.climb(active, start, effort, limit).value
        assert part * most <= climbed / 2.0**40 <= most * (1 + 1e-6)
