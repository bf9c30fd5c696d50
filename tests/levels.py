"""Random questions of several levels, and their optima by enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mace.certify.writer import Certificate
from mace.explain.nearest.levels import by_priority
from mace.explain.nearest.search import Search, Searched
from mace.explain.proved.level import Level
from mace.problem.closeness import text_of
from mace.problem.distance import Distance, DistanceProgram, NearestRow, Norm, norm
from mace.problem.exclusions import AvoidNear
from mace.problem.forms import Forms, FormsRule
from mace.problem.objectives import Objective, Priority, Shortfall, read_objectives, value_of
from mace.problem.programs import distance_program
from mace.problem.question import Question
from mace.problem.sums import summed
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


def random_forms(seed: int, question: Question) -> DistanceProgram:
    """A random sum of sizes of linear forms, as closeness is one."""
    rng, size = np.random.default_rng(seed), len(question.space.columns)
    weights = [[Fraction(int(rng.integers(-4, 5)), 4) + (1 if a == b else 0) for a in range(size)] for b in range(size)]
    forms = Forms(tuple(map(tuple, weights)), tuple(question.space.columns))
    return DistanceProgram(distance_program(text_of(question.space, weights), question.space), "closeness", forms)


def random_sum(seed: int, question: Question) -> Distance:
    """A weighted sum of some of: a sum of forms, changes, l1, and prices that are nothing like the others."""
    rng, parts = np.random.default_rng(seed), list[tuple[Fraction, Norm | DistanceProgram]]()
    if rng.random() < 0.7:
        parts.append((Fraction(int(rng.integers(1, 4)), 2), random_forms(seed, question)))
    for name in ("l0", "l1", "l1"):
        if not parts or rng.random() < 0.6:
            weights = tuple(Fraction(int(rng.integers(0, 5)), 2) for _ in question.axes[1:])
            part = replace(norm(name, len(question.axes)), weights=(Fraction(1), *weights))
            parts.append((Fraction(int(rng.integers(1, 5))), part))
    return summed(parts, question.space, "sum")[0]


def random_with_forms(seed: int, question: Question) -> tuple[Priority, ...]:
    """Two or three objectives, of which one is a sum of forms, before, between or after norms and the nearest row."""
    rng = np.random.default_rng(seed)
    known = random_rows(seed, question) if seed % 3 == 0 else random_levels(seed, question.space)
    norms = [one for one in known if not isinstance(one.of, DistanceProgram)][: int(rng.integers(1, 3))]
    forms = Priority(random_forms(seed, question), "closeness", relative=Fraction(int(rng.integers(0, 3)), 10))
    place = int(rng.integers(len(norms) + 1))
    return (*norms[:place], forms, *norms[place:])


def bounded_as_enumerated(question: Question, priorities: tuple[Priority, ...]) -> tuple[Level, ...]:
    """The levels, each compared with enumeration of what the ones before it allow at what they reached.

    Raises AssertionError. Every level that a prover answered has a certificate.
    """
    found = searched(question, priorities)
    left = [p for p in points(question) if question.obeys(p) and question.has_goal(p)]
    assert left or found.bracket.status == "infeasible"
    for level, priority in zip(found.levels, priorities, strict=False):
        assert level.proof is not None or level.oracle == "smt", level  # before networks of several layers
        if not left:
            break
        assert level.status == "optimal" and level.exact_distance is not None, level
        assert not isinstance(priority.of, Shortfall)
        values = {p: value_of(question, priority.of, p) for p in left}
        least, reached = min(values.values()) * priority.unit, level.exact_distance
        assert level.exact_lower_bound <= least <= reached, (level, float(least))
        rounded = level.oracle.startswith(("forms", "networks", "smt"))
        slack = Fraction(1, 10**5) if rounded else Fraction(0)
        assert reached - level.exact_lower_bound <= slack * max(reached, 1), (level, float(least))
        left = [p for p in left if values[p] <= priority.held(reached / priority.unit)]
    assert found.bracket.point in left if left else True
    return found.levels


def refused_by_a_hair(level: Level) -> int:
    """How many rules about forms were moved until one more point contradicts the certificate, which is then refused."""
    question = level.question
    assert question is not None
    data, count = level.certificate.to_dict(), 0  # type: ignore[union-attr]
    least = data["statement"]["claim"].get("closer_than")
    for k, rule in enumerate(question.rules):
        if not isinstance(rule, FormsRule):
            continue
        bare = replace(question, rules=(*question.rules[:k], *question.rules[k + 1 :]))
        against = [
            rule.value(bare.axes, p)
            for p in points(bare)
            if bare.obeys(p) and bare.has_goal(p) and (least is None or bare.distance_of(p) < Fraction(least))
        ]
        if against:
            (name, forms, _), most = data["statement"]["rules"][k], str(min(against))
            assert name in ("<", "<=")
            rules = [*data["statement"]["rules"]]
            rules[k] = ["<=", forms, ["c", most]]
            said = {**data["statement"], "rules": rules}
            assert not Certificate({**data, "statement": said, "witness": None}).check().accepted
            count += 1
    return count


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
