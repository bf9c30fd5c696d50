"""Sums of absolute values of linear forms: the optimum is that of enumeration, and any multipliers bound it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.deadline import Deadline
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.problem.distance import DistanceProgram, norm
from mace.problem.objectives import Priority
from mace.problem.programs import rule_of
from mace.problem.question import Goal, Question
from mace.solve.conditions import Closed, Cut, close_or_cut
from mace.solve.forms.frame import FormsPart, Multipliers
from mace.solve.forms.prover import FormsOracle
from mace.solve.forms.simplex import Simplex
from mace.solve.protocol import Found, Limits, Refuted
from mace.space.axes import Axis, GridAxis, full, holds
from mace.tables.table import Compare, Ensemble, Tree
from tests.checkers import accepted_by_all
from tests.clocks import Ticking
from tests.levels import plain, random_forms, searched
from tests.reference import points

MIXED = [
    2,
    3,
    8,
    24,
    29,
    91,
]  # forests and linear models, with a rule, exclusions, few changes, a goal of several parts


def measured(seed: int) -> Question:
    """A random question with a random sum of forms as its distance."""
    question = plain(seed)
    return replace(question, distance=random_forms(seed, question))


@pytest.mark.parametrize("seed", MIXED)
def test_the_program_and_the_forms_are_the_same(seed: int) -> None:
    question = measured(seed)
    assert isinstance(question.distance, DistanceProgram)
    by_program = replace(question, distance=replace(question.distance, forms=None))
    for point in list(points(question))[::17]:
        assert question.distance_of(point) == by_program.distance_of(point)


@pytest.mark.parametrize("seed", MIXED)
def test_the_nearest_point_is_that_of_enumeration(seed: int) -> None:
    question = measured(seed)
    assert FormsOracle.accepts(question) is None
    level = searched(question, (Priority(question.distance, "closeness"),)).levels[0]
    found = [question.distance_of(p) for p in points(question) if question.obeys(p) and question.has_goal(p)]
    made = level.certificate
    assert accepted_by_all([made]) >= 1
    if not found:
        assert level.status == "infeasible"
        return
    assert level.status == "optimal"
    hair = min(found) + Fraction(1, 10**9)
    said = {**made.data["statement"], "claim": {"closer_than": str(hair)}}
    assert not Certificate({**made.data, "statement": said, "witness": None}).check().accepted
    assert level.exact_distance is not None
    assert level.exact_lower_bound <= min(found) <= level.exact_distance <= min(found) * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("seed", [*MIXED, 14, 62, 89, 124])
@pytest.mark.parametrize("known", [False, True])
def test_a_search_that_time_ends_anywhere_loses_no_box(seed: int, known: bool) -> None:
    question = measured(seed)
    found = {p: question.distance_of(p) for p in points(question) if question.obeys(p) and question.has_goal(p)}
    best = max(found, key=found.__getitem__) if known and found else None
    least = min(found.values(), default=None)
    for seconds in [*range(1, 20), 30, 60]:
        limits = Limits(Deadline.after(seconds, Ticking()))
        said = FormsOracle(question).ask(None, limits, best=best)
        if isinstance(said, Refuted):
            assert least is None
        elif least is not None:
            assert said.lower is None or said.lower <= least
            if isinstance(said, Found) and not said.why:
                assert question.distance_of(said.point) <= least * (1 + Fraction(1, 10**5))


@pytest.mark.parametrize("seed", MIXED)
def test_any_multipliers_give_a_bound(seed: int) -> None:
    question, rng = measured(seed), np.random.default_rng(seed)
    for part in range(len(question.goal.decision)):
        frame = FormsPart(question, part)
        for _ in range(10):
            box = tuple(_part(axis, rng) for axis in question.axes)
            prices = 0 if frame.trees is None else len(frame.trees.sides)
            by = Multipliers(
                rng.uniform(-1, 1, frame.forms), rng.exponential(2.0, len(frame.need)), rng.exponential(1.0, prices)
            )
            alone = replace(question, goal=replace(question.goal, decision=(question.goal.decision[part],)))
            inside = [p for p in points(question) if all(map(holds, box, p)) and alone.has_goal(p)]
            least = min((float(question.distance_of(p)) for p in inside), default=np.inf)
            assert frame.bound(box, by) <= least


def _part(axis: Axis, rng: np.random.Generator) -> tuple[int, int] | int:
    """A part of an axis."""
    side = full(axis)
    if isinstance(axis, GridAxis):
        low, high = sorted(int(rng.integers(axis.lower, axis.upper + 1)) for _ in range(2))
        return low, high
    assert isinstance(side, int)
    levels = [k for k in range(axis.count) if side >> k & 1]
    return sum(1 << int(k) for k in rng.permutation(levels)[: int(rng.integers(1, len(levels) + 1))])


@pytest.mark.parametrize("objective", ["closeness", {"closeness": 1, "changes": 0.5, "gower": 2}])
def test_closeness_before_a_linear_model_has_a_certificate(objective: str | dict[str, float]) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.integers(18, 79, 200), "job": rng.choice(["a", "b", "c"], 200)})
    rows["income"] = rows.age * 40.0 + rng.normal(0, 300, 200)
    space = mace.Space.from_frame(rows)
    good = (rows.income + 500 * (rows.job == "c") > 2300).astype(int)
    model = LogisticRegression(max_iter=2000).fit(space.encode(rows), good)
    refused = int(np.flatnonzero(model.predict(space.encode(rows)) == 0)[0])
    answer = mace.explain(model, space, rows.iloc[refused], goal=1, objectives=[objective], background=rows)
    assert (answer.status, answer.oracle) == ("optimal", "forms")
    assert not any("certificate" in note for note in answer.notes)
    assert accepted_by_all([answer.certificate]) >= 1
    assert answer.distance is not None
    assert 0 <= answer.distance - answer.lower_bound <= 2e-6 * answer.distance


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 10**12), Fraction(10**12)])
def test_a_row_on_the_boundary_is_as_near_as_floats_tell(unit: Fraction) -> None:
    """What floats tell apart is a part of what changes cost, in whatever unit, not of a distance of next to nothing."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((60, 2)), columns=["a", "b"])
    model = DecisionTreeClassifier(max_depth=1).fit(rows.to_numpy(), rows["a"] > 0.5)
    row = [float(model.tree_.threshold[0]), 0.3]
    space = mace.Space([mace.Feature("a", "real", 0, 1), mace.Feature("b", "real", 0, 1)])
    for parts in ({"closeness": unit}, {"closeness": unit, "changes": unit / 10**20}):
        explainer = mace.Explainer(model, space, objectives=[parts], background=rows)
        answer = explainer.explain(row)
        assert (answer.oracle, answer.status) == ("forms", "optimal")
        assert answer.exact_distance is not None
        assert 0 < answer.exact_distance < unit / 10**12
        far = explainer.explain([0.25, 0.3])
        assert far.status == "optimal"
        assert far.exact_distance is not None
        assert far.exact_distance - far.exact_lower_bound <= unit / 10**5


@pytest.mark.parametrize("unit", [Fraction(1, 10**9), Fraction(1, 10**25), Fraction(1, 10**45), Fraction(10**30)])
@pytest.mark.parametrize("made", [DecisionTreeClassifier(max_depth=3, random_state=0), LogisticRegression(C=10)])
def test_a_sum_counts_in_any_unit(made: LogisticRegression | DecisionTreeClassifier, unit: Fraction) -> None:
    """Sums of 1e-9 were nothing to the program, whose points were called optimal five times as far as the nearest; sums
    of 1e30 it did not end with.
    """
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.random((100, 3)), columns=["a", "b", "c"])
    model = made.fit(rows.to_numpy(), rows["a"] + 2 * rows["b"] - rows["c"] > 1)
    space = mace.Space([mace.Feature(name, "real", 0, 1) for name in rows])
    for row in rows.to_numpy().tolist()[:5]:
        first, other = (
            mace.explain(model, space, row, objectives=[{"closeness": factor, "changes": factor}], background=rows)
            for factor in (Fraction(1), unit)
        )
        assert (first.status, other.status, other.oracle) == ("optimal", "optimal", "forms")
        assert first.exact_distance is not None
        assert other.exact_distance is not None
        assert abs(other.exact_distance / unit - first.exact_distance) <= first.exact_distance / 10**6
        if made.__class__ is LogisticRegression and unit < Fraction(1, 2**100):
            with pytest.raises(CertificateError, match=r"from 2\^-100; divide its weights by 2\^-14"):
                _ = other.certificate
        else:
            assert other.certificate.check().accepted


def test_a_rule_of_two_numbers_is_cut_where_it_changes_its_mind() -> None:
    space = mace.Space([mace.Feature("gain", "integer", 0, 9000), mace.Feature("loss", "integer", 0, 4000)])
    leaf = Tree(*(np.array(x) for x in ([-1], [0.0], [0], [0], [[0.0]])))
    model, goal = (
        Ensemble((leaf,), 2, np.zeros(1), "positive", (0, 1)),
        Goal("", frozenset([1]), ((Compare(0, None),),)),
    )
    rule = rule_of("gain == 0 or loss == 0", space)
    question = Question(space, space.axes([0, 1500]), model, goal, norm("l1", 2), rules=(rule,))
    some, none = ((1, 9000), (1, 4000)), ((0, 9000), (0, 4000))
    assert close_or_cut(question, none, (1100, 1500), edges=True) == Cut(0, 0)
    assert close_or_cut(question, (some[0], none[1]), (1100, 1500), edges=True) == Cut(1, 0)
    assert close_or_cut(question, some, (1100, 1500), edges=True) == Closed("rule", 0)


def test_a_program_that_starts_where_it_ended_costs_what_one_from_anew_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        rows = csc_array(rng.integers(-3, 4, (6, 8)).astype(float))
        low = rng.integers(-9, 0, 6).astype(float)
        high = np.where(rng.random(6) < 0.4, low, np.inf)
        program = Simplex(rng.integers(-4, 5, 8).astype(float), rows, low, high)
        assert program.engine is not None
        for _ in range(4):
            bottom = rng.integers(-5, 2, 8).astype(float)
            top = bottom + rng.integers(0, 6, 8)
            one, other = program.solve(bottom, top), program._anew(bottom, top)
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                assert program.cost @ one.x == pytest.approx(program.cost @ other.x, abs=1e-6)
                for said in (one, other):  # weak duality, from these multipliers alone
                    rest = program.cost - said.duals @ rows
                    bound = np.minimum(rest * bottom, rest * top).sum()
                    bound += (np.where(said.duals > -1e-9, low, high) * said.duals).sum()
                    assert bound == pytest.approx(program.cost @ one.x, abs=1e-6)
