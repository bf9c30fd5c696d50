"""Random questions of several levels, and their optima by enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mace.explain.level import Level
from mace.explain.levels import by_priority
from mace.explain.search import Search, Searched
from mace.problem.distance import NearestRow, norm
from mace.problem.exclusions import AvoidNear
from mace.problem.objectives import Objective, Priority, Shortfall, read_objectives, value_of
from mace.problem.question import Question
from mace.solve.protocol import Limits
from mace.space.axes import LevelAxis
from mace.space.space import Space
from tests.reference import points, random_question

NAMES = ("l0", "l1", "linf", "changes", "cost", "gower", "sum", "l1 within 10%", "l1 within 0.05", "program")
CLOSE = Fraction(1, 10**6)  # of networks and solvers


class Believing:
    """What stands for the deployed model: the exact scores."""

    def confirms(self, question: Question, point: tuple[int, ...]) -> bool:
        return bool(question.has_goal(point))


def searched(question: Question, priorities: tuple[Priority, ...], oracle: str = "auto") -> Searched:
    """The answer by objectives in order of priority."""
    search = Search(None, lambda _: None, oracle, None, None, None)  # type: ignore[arg-type]
    return by_priority(search, question, priorities, Believing(), Limits.of(60.0))  # type: ignore[arg-type]


def spec(name: str, space: Space, rng: np.random.Generator) -> Any:
    if name == "cost":
        return Objective("cost", prices={f: int(rng.integers(0, 5)) for f in space.names}, relative=Fraction(1, 20))
    if name == "sum":
        return {"l1": 1, "changes": Fraction(1, 4)}
    if name == "program":
        feature = next((f for f in space.features if f.numeric), None)
        return "l0" if feature is None else f"return abs({feature.name} - 2) + 1\n"
    return name


def random_levels(seed: int, space: Space) -> tuple[Priority, ...]:
    """Two or three objectives."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(NAMES)[: int(rng.integers(2, 4))]
    return read_objectives([spec(str(name), space, rng) for name in names], space)


def random_rows(seed: int, question: Question) -> tuple[Priority, ...]:
    """Two or three objectives, of which one is the distance to the nearest of a few rows, allowed or not."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(int(rng.integers(1, 6))):
        row = []
        for axis in question.axes:
            if isinstance(axis, LevelAxis):
                row.append(int(rng.integers(axis.count)))
            else:
                row.append(int(rng.integers(axis.lower - 2, axis.last + 3)))
        rows.append(tuple(row))
    weights = tuple(Fraction(int(rng.integers(0, 4)), 2) for _ in question.axes)
    near = NearestRow(replace(norm("l1", len(question.axes)), weights=weights), tuple(rows))
    priorities = list(random_levels(seed, question.space))
    place = int(rng.integers(len(priorities)))
    share = Fraction(int(rng.integers(0, 2)), 5)
    priorities[place] = Priority(near, "plausibility", relative=share)
    return tuple(priorities)


def plain(seed: int, kind: str | None = None) -> Question:
    """A random question; none of its exclusions is measured by its distance, which is another one at each level."""
    question = random_question(seed, kind)
    return replace(question, avoid=tuple(a for a in question.avoid if not isinstance(a, AvoidNear)))


def enumerated(question: Question, priorities: tuple[Priority, ...]) -> list[Fraction]:
    """The optimum of every level, by looking at all points; empty where nothing has the goal."""
    left = [p for p in points(question) if question.obeys(p) and question.has_goal(p)]
    optima = []
    for priority in priorities if left else ():
        assert not isinstance(priority.of, Shortfall)
        values = {p: value_of(question, priority.of, p) for p in left}
        best = min(values.values())
        optima.append(best)
        left = [p for p in left if values[p] <= priority.held(best)]
    return optima


def compared(question: Question, priorities: tuple[Priority, ...], oracle: str = "auto") -> tuple[Level, ...]:
    """The levels, compared with enumeration; raises AssertionError."""
    found = searched(question, priorities, oracle)
    optima = enumerated(question, priorities)
    if not optima:
        assert found.bracket.status == "infeasible"
        return found.levels
    rough = oracle == "smt" or any(level.oracle == "smt" for level in found.levels)
    for level, priority, optimum in zip(found.levels, priorities, optima, strict=True):
        assert level.status == "optimal", level
        assert level.exact_lower_bound <= optimum * priority.unit, (level, optimum)
        if rough:  # a level that is open by a gap leaves more to the next
            break
        slack = Fraction(0) if level.oracle == "ensembles" else CLOSE
        assert level.exact_distance is not None
        assert abs(level.exact_distance / priority.unit - optimum) <= slack, (level, float(optimum))
    point = found.bracket.point
    assert point is not None
    assert question.obeys(point)
    assert question.has_goal(point)
    return found.levels


def certified(levels: tuple[Level, ...]) -> int:
    """How many levels have a certificate of the checker's; raises AssertionError where one is refused."""
    count = 0
    for level in levels:
        if level.proof is not None:
            verdict = level.certificate.check()  # type: ignore[union-attr]
            assert verdict.accepted, (level, verdict)
            count += 1
    return count
