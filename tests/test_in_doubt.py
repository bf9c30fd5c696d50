"""Points that rounding leaves in doubt: the deployed model is asked, and what it refuses is excluded by name."""

from __future__ import annotations

import itertools
import json
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import ExtraTreeClassifier
from typer.testing import CliRunner

import mace
from mace import Feature, Space
from mace.certify.exclusions import without
from mace.certify.statement import same_statement
from mace.cli import app
from mace.errors import CertificateError, ModelError
from mace.explain.answer import Answer
from mace.explain.deployed.judge import Judge
from mace.problem.question import Question
from mace.solve.witnesses import same_leaves

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

SPACE = Space([Feature("a", "integer", 0, 5), Feature("b", "integer", 0, 5), Feature("c", "binary")])
ROWS = pd.DataFrame(list(itertools.product(range(6), range(6), range(2))), columns=SPACE.names, dtype=np.float64)


def soft_vote(seed: int) -> VotingClassifier:
    """Two members together weigh as much as the third, and all leaves are pure: ties."""
    members = [(f"m{k}", ExtraTreeClassifier(max_features=1, random_state=seed + k)) for k in range(3)]
    return VotingClassifier(members, voting="soft", weights=[1, 2, 3]).fit(ROWS.iloc[::3], np.arange(24) % 2)


def isolation(seed: int) -> IsolationForest:
    return IsolationForest(n_estimators=6, contamination=0.3, random_state=seed)


def few_bits(seed: int) -> MLPClassifier:
    """A network with many exact ties: the weights are whole multiples of 1/4."""
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings(action="ignore"):
        model = MLPClassifier((3,), max_iter=1, solver="lbfgs", random_state=0).fit(ROWS, np.arange(72) % 3)
    model.coefs_ = [rng.integers(-4, 5, size=w.shape) / 4 for w in model.coefs_]
    model.intercepts_ = [rng.integers(-4, 5, size=b.shape) / 4 for b in model.intercepts_]
    return model


def whole_weights(seed: int) -> LogisticRegression:
    rng = np.random.default_rng(seed)
    model = LogisticRegression().fit(ROWS, np.arange(72) % 2)
    model.coef_, model.intercept_ = rng.integers(-3, 4, size=(1, 3)) / 10, rng.integers(-6, 7, size=1) / 10
    return model


def fitted(model: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return model.fit(ROWS, rng.integers(0, 3, len(ROWS)))


MODELS = {
    "isolation forest": lambda seed: fitted(isolation(seed), seed),
    "soft vote": soft_vote,
    "few bits": few_bits,
    "whole weights": whole_weights,
    "AdaBoost": lambda seed: fitted(AdaBoostClassifier(n_estimators=5, random_state=seed), seed),
    "boosting": lambda seed: fitted(GradientBoostingClassifier(n_estimators=3, max_depth=2, random_state=seed), seed),
}


def expected(model: Any, space: Space, start: dict[str, Any], present: Any) -> Fraction | None:
    """The l1 distance of the nearest row with another decision, the model asked about one row at a time."""
    best = None
    for row in itertools.product(*(range(int(f.bounds()[1]) + 1) if f.numeric else (0, 1) for f in space.features)):
        said = model.predict(pd.DataFrame([row], columns=space.names, dtype=np.float64))[0]
        if said != present:
            far = sum(
                Fraction(abs(value - int(start[f.name])), 3 * (int(f.bounds()[1]) if f.numeric else 1))
                for f, value in zip(space.features, row, strict=True)
            )
            best = far if best is None or far < best else best
    return best


def agrees(answer: Answer, distance: Fraction | None, told: object) -> None:
    if distance is None:
        assert answer.status == "infeasible", (told, answer.why)
    else:
        assert answer.status == "optimal", (told, answer.why)
        assert answer.exact_distance == answer.exact_lower_bound == distance, told
    if answer.proof is not None:
        verdict = answer.certificate.check()
        assert verdict.accepted, (told, verdict.reason)


@pytest.mark.parametrize("name", MODELS)
def test_what_rounding_leaves_in_doubt_is_decided_by_the_deployed_model(name: str) -> None:
    in_doubt = 0
    for seed in range(6):
        model = MODELS[name](seed)
        for place in (7, 40):
            start = ROWS.iloc[place].to_dict()
            answer = mace.explain(model, SPACE, start)
            agrees(answer, expected(model, SPACE, start, answer.decision), (seed, place))
            in_doubt += any("in doubt" in note for note in answer.notes)
    assert in_doubt or name in ("AdaBoost", "boosting")


@pytest.mark.parametrize("name", ["soft vote", "few bits", "whole weights"])
def test_the_solvers_ask_the_deployed_model_too(name: str) -> None:
    for seed in range(3):
        model = MODELS[name](seed)
        start = ROWS.iloc[40].to_dict()
        answer = mace.explain(model, SPACE, start, oracle="z3", gap=0)
        agrees(answer, expected(model, SPACE, start, answer.decision), seed)


def test_a_refused_point_of_a_tree_ensemble_stands_for_all_that_reach_its_leaves() -> None:
    # Between two thresholds lie 2^50 floats that are one to the trees; one by one there would be no end.
    space = Space([Feature("a", "real", 0.0, 5.0), Feature("b", "real", 0.0, 5.0), Feature("c", "binary")])
    excluded = 0
    for seed in range(12):
        model = MODELS["isolation forest"](seed)
        answer = mace.explain(model, space, ROWS.iloc[7].to_dict())
        assert answer.status in ("optimal", "infeasible"), answer.why
        verdict = answer.certificate.check()
        assert verdict.accepted, verdict.reason
        regions = answer.certificate.to_dict()["statement"]["avoid"]
        assert all(set(region) == {"box"} for region in regions)
        excluded += len(regions)
        if regions:
            assert "excluded region" in verdict.claim
            assert any("reaches the same leaves" in note for note in answer.notes)
    assert excluded


def test_all_points_of_the_box_reach_the_leaves_of_its_point() -> None:
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(ROWS, np.arange(72) % 3)
    explainer = mace.Explainer(model, SPACE)
    question, _ = explainer.question(ROWS.iloc[0].to_dict())
    points = list(itertools.product(range(6), range(6), range(2)))
    leaves = {point: tuple(t.tree_.apply(np.float32([point]))[0] for t in model.estimators_) for point in points}
    larger = 0
    for point in points:
        box = same_leaves(question, point)
        inside = [
            other
            for other in points
            if all(s[0] <= i <= s[1] if isinstance(s, tuple) else s >> i & 1 for s, i in zip(box, other, strict=True))
        ]
        assert point in inside
        assert all(leaves[other] == leaves[point] for other in inside)
        larger += len(inside) > 1
    assert larger


def test_sums_beside_a_million_of_millions_are_asked_too() -> None:
    # Quarters beside 10^15: the points within the rounding margin of the boundary are not all one point.
    space = Space([Feature("a", "integer", 10**15, 10**15 + 6), Feature("b", "integer", 0, 6)])
    rows = pd.DataFrame([(10**15 + a, b) for a in range(7) for b in range(7)], columns=["a", "b"], dtype=np.float64)
    model = LogisticRegression().fit(rows, (rows["b"] > 3).astype(int))
    model.coef_, model.intercept_ = np.array([[1.0, 0.25]]), np.array([-(10.0**15) - 3])
    answer = mace.explain(model, space, {"a": 10**15, "b": 0})
    said = {(a, b): model.predict(pd.DataFrame([(10**15 + a, b)], columns=["a", "b"], dtype=np.float64))[0]
            for a in range(7) for b in range(7)}  # fmt: skip
    near = min(Fraction(a + b, 12) for (a, b), label in said.items() if label != answer.decision)
    agrees(answer, near, answer)


@pytest.mark.parametrize("name", ["isolation forest", "soft vote", "few bits", "whole weights"])
def test_a_certificate_is_about_its_question_with_what_the_model_refused_and_nothing_else(name: str) -> None:
    excluded = 0
    for seed in range(6):
        explainer = mace.Explainer(MODELS[name](seed), SPACE)
        question, _ = explainer.question(ROWS.iloc[7].to_dict())

        def differences(data: Any, question: Question = question, judge: Judge = explainer.judge) -> list[str]:
            listed = data["statement"]["avoid"]
            return same_statement(data, without(question, listed, lambda point: judge.confirms(question, point)))

        answer = explainer.explain(ROWS.iloc[7].to_dict())
        if answer.witness is None:
            continue
        data = answer.certificate.to_dict()
        regions = data["statement"]["avoid"]
        assert differences(data) == []
        assert bool(same_statement(data, question)) == bool(regions)
        excluded += len(regions)
        data["statement"]["avoid"] = [*regions, {"point": [int(i) for i in answer.witness]}]
        with pytest.raises(CertificateError, match="has the goal"):
            differences(data)
    assert excluded


def test_mace_check_asks_the_model_about_what_a_certificate_leaves_out(tmp_path: Path) -> None:
    joblib.dump(MODELS["isolation forest"](0), tmp_path / "model.joblib")
    SPACE.save(tmp_path / "space.toml")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    about = ["--model", tmp_path / "model.joblib", "--trust-pickle", "--space", tmp_path / "space.toml"]
    about += ["--data", tmp_path / "rows.csv", "--row", "7"]
    file = tmp_path / "proof.json"

    def ran(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(app, [*map(str, arguments)])
        return done.exit_code, done.output

    assert ran("explain", *about, "--certificate", file)[0] == 0
    data = json.loads(file.read_text())
    assert data["statement"]["avoid"]
    code, said = ran("check", file, *about)
    assert (code, said.count("the statement is the one of this model")) == (0, 1), said
    data["statement"]["avoid"].append({"point": data["witness"]["point"]})
    data["witness"] = None  # the claim without its own witness is true, and says less
    file.write_text(json.dumps(data))
    assert ran("check", file)[0] == 0
    code, said = ran("check", file, *about)
    assert (code, said.count("it excludes a point at which the model has the goal")) == (10, 1), said


def test_what_a_model_refuses_against_its_own_numbers_is_not_left_out() -> None:
    model = RandomForestClassifier(5, random_state=0).fit(ROWS, ROWS["a"] + ROWS["b"] > 4)
    explainer = mace.Explainer(model, SPACE)
    question, _ = explainer.question({"a": 0, "b": 0, "c": 0})
    assert question.has_goal((5, 5, 0))
    model.fit(ROWS, ROWS["a"] + ROWS["b"] > 11)  # after it was read: now nothing has the goal
    with pytest.raises(ModelError, match="contradicts the numbers that were read"):
        without(question, [{"point": [5, 5, 0]}], lambda point: explainer.judge.confirms(question, point))
