"""Rules hold on every oracle, those about the row's own values too, and helpers say what the data say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import mace
from mace import rules
from mace.certify.statement import certifiable
from mace.certify.writer import certificate
from mace.cli.inspection import describe_space
from mace.errors import ProgramError, SpaceError
from mace.problem.programs import rule_of
from mace.problem.proof import Phase, Split
from mace.solve.choice import choose
from mace.solve.driver import bracket_optimum
from mace.solve.networks.branch import Branching
from mace.solve.networks.nodes import Node
from mace.solve.protocol import Gap, Limits
from mace.solve.smt.oracle import SmtOracle
from mace.space.feature import Feature
from mace.space.space import Space
from tests.reference import nearest, points, random_question

FRAME = pd.DataFrame(
    {
        "number": [1, 2, 3, 4, 5, 6, 6],
        "level": ["low", "low", "low", "high", "high", "top", "top"],
        "job": ["IT", "IT", "Sales", "Sales", "IT", "Sales", "Sales"],
    }
)
SPACE = Space(
    [
        Feature("number", "integer", 0, 8),
        Feature("level", "ordinal", levels=["low", "high", "top"]),
        Feature("job", "categorical", levels=["IT", "Sales", "Law"]),
    ]
)
ROW = {"number": 3, "level": "low", "job": "IT"}


def allowed(text: str, row: dict[str, object] = ROW) -> set[tuple[object, ...]]:
    """The points of SPACE that obey a rule, in people's values."""
    axes = SPACE.axes(row)
    rule = rule_of(text, SPACE).at(axes)
    all_points = ((n, x, j) for n in range(9) for x in range(3) for j in range(3))
    return {(n, axes[1].value(x), axes[2].value(j)) for n, x, j in all_points if rule.holds(axes, (n, x, j))}


def of_rows(rows: list[tuple[int, str, str]]) -> set[tuple[object, ...]]:
    levels, jobs = ["low", "high", "top"], ["IT", "Sales", "Law"]
    return {(n, levels.index(x), jobs.index(j)) for n, x, j in rows}


EVERY = [(n, x, j) for n in range(9) for x in ("low", "high", "top") for j in ("IT", "Sales", "Law")]
LEVEL = {1: "low", 2: "low", 3: "low", 4: "high", 5: "high", 6: "top"}


@pytest.mark.parametrize("space", [None, SPACE], ids=["no space", "space"])
def test_a_feature_follows_another_as_in_the_data(space):
    text = rules.follows(FRAME, "level", "number", space)
    assert allowed(text) == of_rows([(n, x, j) for n, x, j in EVERY if LEVEL.get(n) == x])


@pytest.mark.parametrize("space", [None, SPACE], ids=["no space", "space"])
def test_only_seen_values_and_combinations_are_allowed(space):
    assert allowed(rules.seen(FRAME, "job", space=space)) == of_rows([e for e in EVERY if e[2] != "Law"])
    pairs = set(zip(FRAME.level, FRAME.job, strict=True))
    assert allowed(rules.seen(FRAME, "level", "job", space=space)) == of_rows([e for e in EVERY if e[1:] in pairs])
    triples = set(FRAME.itertuples(index=False, name=None))
    assert allowed(rules.seen(FRAME, "number", "level", "job", space=space)) == of_rows(
        [e for e in EVERY if e in triples]
    )


def test_rules_about_changes_compare_with_the_row():
    assert allowed(rules.rises_only_if("number", 'job == "Law"')) == of_rows(
        [(n, x, j) for n, x, j in EVERY if n <= 3 or j == "Law"]
    )
    assert allowed(rules.falls_only_if("number", "job != start_job")) == of_rows(
        [(n, x, j) for n, x, j in EVERY if n >= 3 or j != "IT"]
    )
    assert allowed(rules.changes_only_if("level", "number > start_number + 1")) == of_rows(
        [(n, x, j) for n, x, j in EVERY if x == "low" or n > 4]
    )
    assert allowed(rules.together("number", "job")) == of_rows(
        [(n, x, j) for n, x, j in EVERY if (n == 3) == (j == "IT")]
    )
    assert allowed('start_job == "IT" implies number == 5') == of_rows([e for e in EVERY if e[0] == 5])
    assert allowed('start_job == "Law" implies number == 5') == of_rows(EVERY)


def test_linear_relations_and_implications_mean_what_they_say():
    assert allowed(rules.linear({"number": 0.5, "level": -1}, ">=", "1/2")) == of_rows(
        [(n, x, j) for n, x, j in EVERY if n / 2 - ["low", "high", "top"].index(x) >= 0.5]
    )
    assert allowed(rules.implies('job == "Law"', 'level == "top"')) == of_rows(
        [(n, x, j) for n, x, j in EVERY if j != "Law" or x == "top"]
    )


def test_a_dependence_that_the_data_break_is_an_error():
    with pytest.raises(SpaceError, match="`job` does not follow `level`"):
        rules.follows(FRAME, "job", "level")
    with pytest.raises(SpaceError, match="no column `jobs`"):
        rules.seen(FRAME, "jobs")
    with pytest.raises(SpaceError, match="compares by"):
        rules.linear({"number": 1}, "~", 3)


def test_a_rule_about_the_row_says_nothing_without_one():
    with pytest.raises(ProgramError, match="here is no row"):
        rule_of("number >= start_number", SPACE).can_hold({"number": (Fraction(0), Fraction(1))})


def random_rule(question, rng) -> str:
    """A rule of the kinds that this file builds, over the features of a random question."""
    features = list(question.space.features)
    one, two = (features[int(k)] for k in rng.choice(len(features), 2, replace=False))
    moved = rng.choice(["changes", "rises", "falls", "together", "linear", "seen", "follows"])
    other = f"{two.name} {rng.choice(['==', '!='])} start_{two.name}"
    if moved == "changes":
        return rules.changes_only_if(one.name, other)
    if moved in ("rises", "falls") and one.kind != "categorical":
        return (rules.rises_only_if if moved == "rises" else rules.falls_only_if)(one.name, other)
    if moved == "together":
        return rules.together(one.name, two.name)
    if moved == "linear" and "categorical" not in (one.kind, two.kind):
        return rules.linear({one.name: 2, two.name: "-1/2"}, str(rng.choice(["<=", ">="])), int(rng.integers(-3, 8)))
    every = list(points(question))
    picked = [every[int(k)] for k in rng.choice(len(every), min(len(every), 12), replace=False)]
    frame = pd.DataFrame([question.values(point) for point in picked])
    if moved == "follows":
        frame = frame.drop_duplicates(two.name)
        return rules.follows(frame, one.name, two.name, question.space)
    return rules.seen(frame, one.name, two.name, space=question.space)


def with_rule(seed: int, kind: str | None = None):
    question = random_question(seed, kind, extras=False)
    rng = np.random.default_rng(seed)
    rule = rule_of(random_rule(question, rng), question.space).at(question.axes)
    most = [None, 1, 2][int(rng.integers(3))]
    return replace(question, rules=(rule,), most_changes=most)


def check(seed: int, oracle_of, gap: Fraction, kind: str | None = None) -> None:
    question = with_rule(seed, kind)
    best = nearest(question)
    oracle = oracle_of(question)
    try:
        found = bracket_optimum(question, oracle, question.has_goal, gap=Gap(gap), limits=Limits.of(600.0, 4 * 2**30))
    finally:
        oracle.close()
    if best is None:
        assert found.status == "infeasible", (question.rules[0].source, found.why)
    else:
        assert found.upper is not None, (question.rules[0].source, found.why)
        assert found.lower <= best[0] <= found.upper <= found.lower + gap, question.rules[0].source
    if found.proof is not None and certifiable(question) is None:
        lower = None if found.status == "infeasible" else found.lower
        verdict = certificate(question, lower, found.point, found.proof).check()
        assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("kind", ["forest", "boosting", "linear", "network"])
def test_provers_keep_rules_as_enumeration_does(kind):
    for seed in range(5000, 5012):
        check(seed, lambda question: choose(question).oracle, Fraction(1, 10**9), kind)


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(12))
def test_provers_keep_more_rules(block):
    for seed in range(6000 + 10 * block, 6010 + 10 * block):
        check(seed, lambda question: choose(question).oracle, Fraction(1, 10**9))


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
def test_solvers_keep_rules_as_enumeration_does(solver):
    for seed in range(5000, 5005):
        check(seed, lambda question: SmtOracle(question, solvers=(solver,)), Fraction(0), "forest")


@pytest.mark.exhaustive
@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize("block", range(4))
def test_solvers_keep_more_rules(block, solver):
    for seed in range(6000 + 10 * block, 6010 + 10 * block):
        check(seed, lambda question: SmtOracle(question, solvers=(solver,)), Fraction(0))


def test_explain_takes_rules_about_the_row():
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6, 7, 8], "b": [1, 8, 2, 7, 3, 6, 4, 5]})
    model = DecisionTreeClassifier().fit(frame, (frame.a > 4).astype(int))
    space = Space.from_frame(frame)
    free = mace.explain(model, space, frame.iloc[2], goal=1)
    assert free.counterfactuals[0].changes.keys() == {"a"}
    bound = mace.explain(model, space, frame.iloc[2], goal=1, rules=[rules.rises_only_if("a", "b >= start_b + 3")])
    assert bound.status == "optimal"
    assert bound.counterfactuals[0].values == {"a": 5, "b": 5}
    assert bound.certificate.check().accepted
    alone = mace.explain(
        model, space, frame.iloc[2], goal=1, rules=[rules.rises_only_if("a", "b >= start_b + 3")], most_changes=1
    )
    assert alone.status == "infeasible"


def test_a_linear_model_is_divided_where_a_rule_of_two_numbers_changes_its_mind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bounds = {"gain": (0, 99999), "loss": (0, 4356), "hours": (1, 99), "age": (17, 90)}
    space = Space([Feature(name, "integer", *ends) for name, ends in bounds.items()], rules=["gain == 0 or loss == 0"])
    model = LogisticRegression().fit([[0] * 4, [1] * 4], [0, 1])
    model.coef_, model.intercept_ = np.array([[0.00032, 0.00065, 0.029, 0.0233]]), np.array([-3.8492])
    divided, candidates = [0], Branching.candidates

    def counted(branching: Branching, node: Node, missing: float) -> list[Split | Phase]:
        divided[0] += 1
        return candidates(branching, node, missing)

    monkeypatch.setattr(Branching, "candidates", counted)
    answer = mace.explain(model, space, {"gain": 0, "loss": 2042, "hours": 40, "age": 43}, goal=1)
    assert (answer.status, answer.oracle) == ("optimal", "networks")
    assert divided[0] < 40


def test_what_a_rule_knows_of_indices_is_of_axes_on_whose_grids_they_mean_the_same():
    space = Space([Feature("a", "real", 0.0, 2.0, step="0.5"), Feature("b", "integer", 0, 9)])
    rule = rule_of("a + b <= 2", space)
    rows = [{"a": a, "b": 1} for a in (0.5, 0.7, 1.5, 0.7, 1.1)]  # off the steps a start is one more value
    for row in rows:
        axes = space.axes(row)
        held = [rule.holds(axes, (k, axes[1].start)) for k in range(axes[0].lower, axes[0].upper + 1)]
        assert held == [axes[0].value(k) + 1 <= 2 for k in range(axes[0].lower, axes[0].upper + 1)]
    level = Space([Feature("a", "integer", 3, 7), Feature("b", "integer", 0, 9)])
    alike = rule_of("a == 3", level)
    assert [alike.holds(level.axes({"a": 3, "b": 0}), (k, 0)) for k in (3, 4)] == [True, False]


@pytest.mark.parametrize("text", ["nobody >= 3", "number >= >= 3", "number >= 3; return", "return nobody"])
def test_a_wrong_rule_of_a_space_file_names_the_file(text, tmp_path):
    file = tmp_path / "loan.toml"
    replace(SPACE, rules=[text]).save(file)
    space = Space.load(file)
    read = LogisticRegression().fit(SPACE.encode(FRAME), FRAME["number"] > 3)
    for model in (lambda rows: rows["number"] > 5, read):
        with pytest.raises(ProgramError, match=r"loan.toml: <rule>:1:"):
            mace.explain(model, space, ROW, goal=True)
    with pytest.raises(ProgramError, match=r"loan.toml: <rule>:1:"):
        describe_space(space)
    with pytest.raises(ProgramError) as caught:  # of rules that stand elsewhere the file knows nothing
        mace.explain(lambda rows: rows["number"] > 5, space.change(rules=[text]), ROW, goal=True)
    assert "loan.toml" not in str(caught.value)
