"""Missing values: what may happen to them, what that costs, and what an answer says of those that it took as given."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import CertificateError, ModelError, RowError, SpaceError
from mace.explain.explainer import Explainer
from mace.space.axes import GridAxis, LevelAxis
from mace.space.feature import Feature
from mace.space.file import dumps, loads
from mace.space.space import Space
from tests.checkers import accepted_by_all
from tests.marks import slow_unless
from tests.small_spaces import Measure, reachable

STAYS = '`a` is missing in this row and stays missing (missing="keep"); with missing="fill" it might be given a value'


def table(seed: int, rows: int = 120, gaps: float = 0.2) -> tuple[pd.DataFrame, Any]:
    """Three columns of small whole numbers with gaps, and a class that depends on both."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.integers(0, 5, (rows, 3)).astype(float), columns=list("abc"))
    gone = rng.random(X.shape) < gaps
    score = np.where(gone, rng.normal(0, 2, 3), X.to_numpy() * rng.normal(0, 1, 3)).sum(1) + rng.normal(0, 0.3, rows)
    return X.mask(gone), (score > np.median(score)).astype(int)


def space_of(word: Any, cost: Any = None, **more: Any) -> Space:
    cost = None if word == "keep" else cost
    return Space([Feature(n, "integer", 0, 4, missing=word, missing_cost=cost) for n in "abc"], **more)


def nearest(explainer: Explainer, row: Any) -> tuple[Fraction | None, int]:
    """The distance of the nearest point with another decision, by the model's own `predict` on all points."""
    question, decision = explainer.question(row)
    sides = [range(a.lower, a.upper + 1) if isinstance(a, GridAxis) else a.levels() for a in question.axes]
    points = [point for point in itertools.product(*sides) if question.obeys(point)]
    frame = pd.DataFrame([question.values(point) for point in points]).astype(float)
    said: Any = explainer.model.predict(frame)  # type: ignore[attr-defined]
    found = [question.distance_of(p) for p, label in zip(points, said.tolist(), strict=True) if label != decision]
    return min(found, default=None), len(points)


def test_a_menu_that_holds_a_missing_value_has_no_certificate_that_no_checker_reads() -> None:
    X, y = table(3)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, random_state=0).fit(X, y)
    lacking = X[X.a.isna() & (model.predict(X) == 0)].iloc[0]
    menu = mace.Explainer(model, space_of("fill")).menu(lacking, goal=1, safe=False)
    held = [answer for answer in menu.proofs() if any("is held missing" in note for note in answer.notes)]
    assert held and len(held) < len(list(menu.proofs()))
    for answer in menu.proofs():
        if answer not in held:
            assert answer.certificate.check().accepted
    with pytest.raises(CertificateError, match="is held missing"):
        _ = held[0].certificate


def test_background_rows_of_a_menu_lack_what_it_holds_missing() -> None:
    """Where "missing" alone is left of a feature, the ends of its values were asked for, and there are none."""
    X, y = table(3)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5, random_state=0).fit(X, y)
    lacking = X[X.a.isna() & (model.predict(X) == 0)].iloc[0]
    with_rows, without = (
        mace.Explainer(model, space_of("fill"), background=rows).menu(lacking, goal=1, safe=False) for rows in (X, None)
    )
    assert [(way.features, way.answer.exact_distance) for way in with_rows.ways] == [
        (way.features, way.answer.exact_distance) for way in without.ways
    ]


def fits() -> dict[str, Any]:
    """Models of trees that take NaN, by themselves and behind an imputer."""
    import lightgbm
    import xgboost

    small: dict[str, Any] = {"n_estimators": 4, "max_depth": 3, "n_jobs": 1, "random_state": 0}
    return {
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=7, min_samples_leaf=5),
        "LightGBM": lightgbm.LGBMClassifier(**small, min_child_samples=5, verbose=-1),
        "XGBoost": xgboost.XGBClassifier(**small),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": RandomForestClassifier(n_estimators=3, max_depth=4, random_state=0),
        "imputer": make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=5, random_state=0)),
        "indicator": make_pipeline(SimpleImputer(add_indicator=True), StandardScaler(),
                                   HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6, min_samples_leaf=5)),
    }  # fmt: skip


@pytest.mark.parametrize("name", slow_unless(lambda name: name in ("tree", "XGBoost"), fits()))
def test_every_word_is_answered_exactly_and_certified_as_by_all_points(name: str) -> None:
    model = fits()[name]
    counts = {"filled": 0, "lost": 0}
    for seed, (word, cost, norm) in enumerate(
        [("keep", None, "l1"), ("fill", None, "l1"), ("any", "1/3", "l1"), ("any", None, "linf"), ("fill", "0.4", "l0"),
         ("any", "0.05", {"l0": 0.3, "l1": 0.4, "linf": 0.3})]
    ):  # fmt: skip
        X, y = table(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explainer = Explainer(model.fit(X, y), space_of(word, cost), distance=norm)
        assert explainer.table.name  # a pipeline or the model itself
        for row in X.iloc[:4].to_dict("records"):
            expected, _ = nearest(explainer, row)
            answer = explainer.explain(row)
            assert answer.exact_distance == expected and answer.oracle == "ensembles"
            assert answer.status == ("infeasible" if expected is None else "optimal")
            assert answer.certificate.check().accepted
            for before, after in answer.counterfactuals[0].changes.values() if answer.counterfactuals else ():
                counts["filled"] += before is None
                counts["lost"] += after is None
                assert word != "keep" or None not in (before, after)
    assert all(counts.values()), counts


@pytest.mark.parametrize("solver", ["z3", "cvc5"])
@pytest.mark.parametrize("name", slow_unless(lambda name: name == "XGBoost", ["XGBoost", "indicator"]))
def test_solvers_agree(name: str, solver: str) -> None:
    for seed, (word, cost) in enumerate([("fill", "1/3"), ("any", "0.4")]):
        X, y = table(seed)
        explainer = Explainer(fits()[name].fit(X, y), space_of(word, cost), distance={"l1": 0.5, "linf": 0.5})
        for row in X.iloc[:2].to_dict("records"):
            expected, _ = nearest(explainer, row)
            answer = explainer.explain(row, oracle=solver, gap="1e-9")
            assert answer.status == ("infeasible" if expected is None else "optimal")
            if expected is not None:
                assert answer.exact_distance is not None and answer.exact_lower_bound <= expected
                assert expected <= answer.exact_distance <= expected + Fraction(1, 10**9)


@pytest.mark.parametrize("name", slow_unless(lambda name: name == "indicator", ["imputer", "indicator"]))
@pytest.mark.parametrize("word", slow_unless(lambda word: word == "any", ["fill", "any"]))
def test_linear_models_are_left_to_the_solvers(name: str, word: str) -> None:
    first = SimpleImputer(add_indicator=name == "indicator")
    for seed in range(2):
        X, y = table(seed)
        model = make_pipeline(first, StandardScaler(), LogisticRegression()).fit(X, y)
        explainer = Explainer(model, space_of(word, "0.3"))
        for row in [{"a": None, "b": None, "c": 1}, {"a": 4, "b": None, "c": 0}]:
            expected, _ = nearest(explainer, row)
            answer = explainer.explain(row, gap="1e-9")
            assert answer.oracle == "smt" and answer.status == ("infeasible" if expected is None else "optimal")
            if expected is not None:
                assert answer.exact_distance is not None
                assert answer.exact_lower_bound <= expected <= answer.exact_distance
                assert answer.exact_distance - expected <= Fraction(1, 10**9)


def test_an_answer_says_which_missing_value_it_took_as_given() -> None:
    # It was frozen silently, and the answer said "infeasible (proved)".
    X = pd.DataFrame({"a": [np.nan] * 20 + [1.0] * 20 + [3.0] * 20, "b": [0.0, 1.0] * 30})
    y = [0] * 40 + [1] * 20
    model = DecisionTreeClassifier().fit(X, y)

    def asked(word: Any, **more: Any) -> mace.Answer:
        space = Space([Feature("a", "integer", 0, 4, missing=word, **more), Feature("b", "binary")])
        return mace.explain(model, space, {"a": None, "b": 0})

    for word in ("keep", True):
        answer = asked(word)
        assert answer.status == "infeasible" and answer.notes == [STAYS]
        assert STAYS in str(answer) and STAYS in answer.to_dict()["notes"] and "stays missing" in answer._repr_html_()
    for word in ("fill", "any"):
        answer = asked(word)
        assert (answer.status, answer.exact_distance, answer.notes) == ("optimal", Fraction(1, 2), [])
        assert answer.counterfactuals[0].changes["a"][0] is None
        assert "missing" in str(answer)
    assert asked("fill", missing_cost="1/4").exact_distance == Fraction(1, 8)
    fixed = asked("fill", change="fixed")
    assert fixed.status == "infeasible" and not fixed.notes  # it was declared so


@pytest.mark.parametrize("oracle", ["auto", "z3"])
@pytest.mark.parametrize("distance", ["l0", "l1", "linf", {"l0": 0.5, "l1": 0.5}])
def test_a_change_that_is_declared_free_costs_nothing_in_any_norm(oracle: str, distance: Any) -> None:
    # The prover for ensembles charged it as a change under l0, and called the next point the nearest.
    X = pd.DataFrame([(n, m) for n in (0, 1, 2) for m in (0.0, 1.0, np.nan)], columns=["n", "m"])
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, X.m != 1)
    features = [Feature("n", "integer", 0, 2), Feature("m", "integer", 0, 1, missing="any", missing_cost=0)]
    for start, goal in ((1, True), (None, False)):
        answer = mace.explain(model, Space(features), {"n": 1, "m": start}, goal=goal, distance=distance, oracle=oracle)
        assert (answer.status, answer.exact_distance, answer.exact_lower_bound) == ("optimal", 0, 0)
        assert oracle != "auto" or answer.certificate.check().accepted


@pytest.mark.parametrize("feature", [
    Feature("m", "ordinal", levels=["lo", "hi"], missing="any", missing_cost=0),
    Feature("m", "categorical", levels=["lo", "hi"], missing="any", missing_cost=0, encoding="codes"),
    Feature("m", "integer", 0, 1, missing="any", missing_cost=0),
], ids=lambda feature: feature.kind)  # fmt: skip
@pytest.mark.parametrize("name", ["tree", "line"])
def test_a_change_that_is_declared_free_is_no_change_to_an_objective_and_one_to_a_limit(
    feature: Feature, name: str
) -> None:
    # The nearest point of a box was one that moved for nothing where the start lay in it, and no limit allowed it.
    space = Space([Feature("n", "integer", 0, 2), feature])
    known = list(range(2)) if feature.numeric else ["lo", "hi"]
    rows = pd.DataFrame(itertools.product([0, 1, 2], [*known, None]), columns=["n", "m"]).astype({"m": object})
    if name == "line" and feature.numeric:
        return  # it takes no missing number
    codes = rows["m"].map(known.index, na_action="ignore").astype(float)
    X = pd.DataFrame({"n": rows["n"].astype(float), "m": codes if feature.numeric else codes.fillna(2.0)})
    y = rows["m"].notna() & (rows["m"] != known[0]) if name == "tree" else X["n"] - X["m"] > 0
    model = (DecisionTreeClassifier(random_state=0) if name == "tree" else LogisticRegression(C=1e3)).fit(X, y)
    for start in ({"n": 1, "m": None}, {"n": 1, "m": known[name == "tree"]}):
        for objectives in (["changes", "l1"], ["l1", "changes"], ["l0", "linf", "l1"]):
            answer = mace.explain(model, space, start, objectives=objectives)
            assert answer.status == "optimal" and {level.value for level in answer.levels} == {0}
            assert list(answer.counterfactuals[0].changes) == ["m"]
        assert mace.explain(model, space, start, most_changes=0).status == "infeasible"
        near: dict[str, Any] = {"objectives": ["plausibility"], "background": rows}
        for oracle in ("auto", "z3"):  # from a row, the limit counted what costs something alone
            answer = mace.explain(model, space, start, most_changes=0, oracle=oracle, **near)
            assert answer.status == "infeasible"
        both = mace.explain(model, space, start, count=2, **near)
        assert len({tuple(one.changes) for one in both.counterfactuals}) == len(both.counterfactuals)
        front = mace.front(model, space, start, objectives=["l1", "changes"])
        assert [[level.value for level in point.levels] for point in front.points] == [[0, 0]]


def test_a_note_is_only_given_where_the_value_is_read() -> None:
    X, y = table(0, gaps=0.0)
    X["b"] = 1.0
    X.loc[0, "b"] = np.nan
    model = make_pipeline(SimpleImputer(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
    assert not mace.explain(model, space_of("keep"), {"a": 1, "b": None, "c": 1}).notes


def test_words_mean_the_same_for_every_kind() -> None:
    for word, given, lost in (("keep", 1, 0), (True, 1, 0), ("fill", 4, 0), ("any", 4, 1)):
        for kind in ("categorical", "ordinal"):
            feature = Feature("k", kind, levels=["x", "y", "z"], missing=word)  # type: ignore[arg-type]
            start, other = feature.axis(None), feature.axis("y")
            assert isinstance(start, LevelAxis) and isinstance(other, LevelAxis)
            assert len(start.levels()) == given and len(other.levels()) == 3 + lost
        number = Feature("n", "integer", 0, 2, missing=word)
        start = number.axis(None)
        assert (len(start.levels()) if isinstance(start, LevelAxis) else start.upper - start.lower + 1) == given
        other = number.axis(1)
        assert isinstance(other, GridAxis) and other.upper - other.lower + 1 == 3 + lost


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
@pytest.mark.parametrize("word", ["keep", "fill", "any"])
@pytest.mark.parametrize("name", ["tree", "line"])
def test_levels_that_a_row_has_no_place_for_are_no_levels_of_its_columns(kind: Any, word: Any, name: str) -> None:
    # An ordinal that has a value, and may not lose it, has an axis without the last level, which is "missing".
    levels = ["low", "middle", "high"]
    space = Space([Feature("a", "integer", 0, 4), Feature("o", kind, levels=levels, missing=word, encoding="one-hot")])
    rows = pd.DataFrame(itertools.product(range(5), [*levels, None]), columns=["a", "o"])
    y = (rows["a"] + rows["o"].map(levels.index, na_action="ignore").fillna(-1) > 2).astype(int)
    last = {"tree": DecisionTreeClassifier(random_state=0), "line": LogisticRegression()}[name]
    explainer, far = Explainer(last.fit(space.encode(rows), y), space), Measure("l1", None)
    reached = rows[last.predict(space.encode(rows)) == 1].astype(object).where(rows.notna(), None).to_dict("records")
    for start in ({"a": 0, "o": "low"}, {"a": 1, "o": "middle"}, {"a": 0, "o": None}):
        answer = explainer.explain(start, goal=1)
        allowed = [row for row in reached if row["o"] in reachable(space["o"], start["o"])]
        assert answer.status == "optimal"
        assert answer.exact_distance == min(far.between(space, start, row) for row in allowed)
        accepted_by_all([answer.certificate])


def test_what_is_given_or_lost_costs_what_is_declared() -> None:
    for kind, more in (("integer", {"lower": 0, "upper": 3}), ("ordinal", {"levels": list("wxyz")}),
                       ("categorical", {"levels": list("wxyz")})):  # fmt: skip
        for cost, delta in ((None, 1), ("0.3", Fraction(3, 10)), (0, 0)):
            feature = Feature("f", kind, missing="any", missing_cost=cost, **more)  # type: ignore[arg-type]
            value = 2 if feature.numeric else "y"
            gone, there = feature.axis(None), feature.axis(value)
            for axis, start in ((gone, None), (there, value)):
                every = range(5) if isinstance(axis, LevelAxis) else range(axis.lower, axis.upper + 1)
                turned = [index for index in every if (feature.show(axis, index) is None) != (start is None)]
                assert {axis.delta(index) for index in turned} == {delta}


def test_a_direction_does_not_bind_what_is_filled_in() -> None:
    grow = Feature("n", "integer", 0, 5, missing="any", change="increase")
    start, other = grow.axis(None), grow.axis(3)
    assert isinstance(start, GridAxis) and (start.lower, start.last, start.may_lack) == (0, 5, True)
    assert isinstance(other, GridAxis) and (other.lower, other.upper, other.may_lack) == (3, 5, False)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"missing": "sometimes"}, "missing 'sometimes' is not one of keep, fill, any"),
        ({"missing": "keep", "missing_cost": 1}, "`missing_cost` is what giving a missing value costs"),
        ({"missing_cost": 1}, "`missing_cost` is what giving a missing value costs"),
        ({"missing": "fill", "missing_cost": 2}, "`missing_cost` must be a number in 0..1"),
        ({"missing": "fill", "missing_cost": "much"}, "`missing_cost` must be a finite number"),
    ],
)
def test_a_wrong_declaration_says_what_is_wrong(more: Any, words: str) -> None:
    with pytest.raises(SpaceError, match=words.replace("..", r"\.\.")):
        Feature("n", "integer", 0, 5, **more)


def test_a_file_holds_the_words() -> None:
    space = Space(
        [
            Feature("a", "integer", 0, 4, missing="fill", missing_cost="1/3"),
            Feature("b", "real", 0.0, 1.0, missing=True),
            Feature("c", "categorical", levels=["x", "y"], missing="any"),
            Feature("d", "binary"),
        ]
    )
    assert loads(dumps(space), Space) == space
    assert 'missing = "fill"' in dumps(space) and 'missing = "keep"' in dumps(space)
    assert loads(dumps(space).replace('"keep"', "true"), Space) == space


def test_a_frame_s_gaps_are_given_the_words_that_are_told() -> None:
    frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": [1, 2, 3], "c": ["x", None, "y"]})

    def words(space: Space) -> list[Any]:
        return [feature.missing for feature in space.features]

    assert words(Space.from_frame(frame)) == ["keep", False, "keep"]
    assert words(Space.from_frame(frame, missing="fill")) == ["fill", False, "fill"]
    assert words(Space.from_frame(frame, missing={"a": "any", "b": "fill"})) == ["any", "fill", "keep"]
    assert words(Space.from_frame(frame, missing={"a": False})) == [False, False, "keep"]
    for argument in ("fixed", "increase", "decrease", "categorical"):
        with pytest.raises(SpaceError, match=f"^{argument}: there is no column `z`"):
            mace.Space.from_frame(frame, **{argument: ["z"]})
    with pytest.raises(SpaceError, match="missing: there is no column `z`"):
        Space.from_frame(frame, missing={"z": "any"})


def test_a_rule_that_reads_a_value_holds_nowhere_without_it() -> None:
    X, y = table(3)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    row = {"a": None, "b": 2, "c": 1}
    with pytest.raises(RowError, match="the rule `a <= b` reads `a`, which is missing in this row"):
        mace.explain(model, space_of("keep"), row, rules=["a <= b"])
    with pytest.raises(RowError, match="reads `a`, which is missing in this row"):
        mace.explain(model, space_of("fill"), row, rules=["a >= start_a"])
    explainer = Explainer(model, space_of("any"), rules=["a <= b"])
    for start in (row, {"a": 1, "b": 2, "c": None}):
        expected, _ = nearest(explainer, start)
        answer = explainer.explain(start)
        assert answer.exact_distance == expected
        assert answer.certificate.check().accepted
        for found in answer.counterfactuals:
            assert found.values["a"] is not None and found.values["b"] is not None
    given = explainer.explain(row).notes
    assert "`a` is missing in this row and must be given a value: the rule `a <= b` reads it" in given
    assert "`b` may not become missing here: the rule `a <= b` reads it" in given


def test_what_a_rule_reads_of_the_start_alone_may_be_lost() -> None:
    # Its loss was ruled out, "the model needs its value", and the answer was farther, or there was none.
    X, y = table(3)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    reads = "start_a + start_b + start_c >= 0"
    plain, ruled = (Explainer(model, space_of("any", "0.1"), rules=rules) for rules in ([], [reads]))
    lost = 0
    for start in ({"a": a, "b": b, "c": c} for a in (0, 2, 4) for b in (0, 2, 4) for c in (0, 1)):
        expected, answer = plain.explain(start), ruled.explain(start)
        assert (answer.status, answer.exact_distance) == (expected.status, expected.exact_distance)
        lost += any(None in found.values.values() for found in answer.counterfactuals)
    assert lost


def test_a_distance_that_reads_a_value_is_defined_nowhere_without_it() -> None:
    X, y = table(3)
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    far = "d = abs(a - start_a) / 4\nreturn d"
    with pytest.raises(RowError, match="the distance reads `a`, which is missing in this row"):
        mace.explain(model, space_of("fill"), {"a": None, "b": 2, "c": 1}, distance=far)
    answer = mace.explain(model, space_of("any"), {"a": 1, "b": 2, "c": 1}, distance=far)
    assert answer.status in ("optimal", "infeasible")
    assert "`a` may not become missing here: the distance reads it" in answer.notes


def test_a_number_on_the_float_grid_is_given_at_one_price() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((200, 2)) * 1000, columns=["income", "debt"]).mask(rng.random((200, 2)) < 0.15)
    y = (X["income"].fillna(300) - X["debt"].fillna(600) > 0).astype(int)
    model = HistGradientBoostingClassifier(max_iter=12).fit(X, y)
    for word, cost in (("fill", None), ("any", "0.05")):
        features = [Feature(n, "real", 0.0, 1000.0, missing=word, missing_cost=cost) for n in X.columns]  # type: ignore[arg-type]
        explainer = Explainer(model, Space(features), background=X)
        changed = set()
        for row in X[X.isna().any(axis=1)].iloc[:3].to_dict("records"):
            answer = explainer.explain(row)
            assert answer.status == "optimal" and answer.exact_distance == answer.exact_lower_bound
            assert answer.certificate.check().accepted
            changed |= {name for name, (before, _) in answer.counterfactuals[0].changes.items() if before is None}
        assert changed or word == "fill"


def test_later_answers_keep_away_from_earlier_ones_that_lack_a_value() -> None:
    X, y = table(5)
    model = HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5).fit(X, y)
    explainer = Explainer(model, space_of("any", "0.3"))
    for diversity in ("features", "points", "0.2"):
        for row in ({"a": 1, "b": None, "c": 3}, {"a": 2, "b": 2, "c": 0}):
            answer = explainer.explain(row, count=4, diversity=diversity)
            assert answer.status == "optimal"
            question, decision = explainer.question(row)
            if diversity == "0.2":
                kept = [tuple(f.values.items()) for f in answer.counterfactuals]
                assert len(set(kept)) == len(kept)
            said = explainer.decisions(pd.DataFrame([f.values for f in answer.counterfactuals], dtype=object))
            assert all(label != decision for label in said.tolist())
            distances = [f.exact_distance for f in answer.counterfactuals]
            assert distances == sorted(distances) and question.obeys(question.start)


def test_trees_that_grow_too_large_by_what_may_be_missing_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from mace.compilers.pipeline import filled as pipeline_filled

    X, y = table(1)
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    monkeypatch.setattr(pipeline_filled, "MOST_NODES", 20)
    with pytest.raises(ModelError, match="become more than 20 nodes where values may be given"):
        Explainer(model, space_of("fill"))
    Explainer(model, space_of("keep"))


def test_a_model_that_takes_no_missing_value_says_so_of_a_row_and_loses_none() -> None:
    X, y = table(1, gaps=0.0)
    model = GradientBoostingClassifier(n_estimators=3).fit(X, y)
    with pytest.raises(RowError, match="the value is missing, and the model does not take that"):
        mace.explain(model, space_of("any"), {"a": None, "b": 1, "c": 1})
    answer = mace.explain(model, space_of("any"), {"a": 1, "b": 1, "c": 1})
    assert "`a` may not become missing here: the model needs its value" in answer.notes


@pytest.mark.parametrize("missing", ["keep", "fill"])
@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_a_level_that_may_be_missing_has_no_place_in_the_certificate_of_a_row_that_has_it(
    kind: Any, missing: Any
) -> None:
    space = Space([Feature("a", "integer", 0, 6), Feature("b", kind, levels=["x", "y", "z"], missing=missing)])
    X = pd.DataFrame({"a": range(7), "b": ["x", "y", None, "x", "y", "z", None]})
    model = DecisionTreeClassifier(max_depth=3).fit(space.encode(X), X.a > 3)
    for b in ("y", None):
        certificate = mace.explain(model, space, {"a": 1, "b": b}, goal=True).certificate
        assert accepted_by_all([certificate]) > 0


def test_in_a_frame_nan_is_a_missing_level_as_none_is() -> None:
    space = Space(
        [Feature("a", "integer", 0, 6, missing=True), Feature("b", "categorical", levels=["x"], missing=True)]
    )
    X = pd.DataFrame({"a": range(4), "b": ["x", np.nan, None, "x"]}, dtype=object)
    model = DecisionTreeClassifier(max_depth=2).fit(space.encode(X), [0, 0, 1, 1])
    assert mace.explain(model, space, {"a": 0, "b": "x"}, goal=1, background=X).status == "optimal"


@pytest.mark.parametrize("fitted", [DecisionTreeClassifier(max_depth=5, random_state=0), LogisticRegression()])
def test_levels_that_are_numbers_reach_a_model_that_was_fitted_on_the_frame_as_what_they_are(fitted: Any) -> None:
    """Declared without an encoding they were given as 0, 1, ..: wrong optima were proved, or that there is no way."""
    gone = isinstance(fitted, DecisionTreeClassifier)
    grades, flags, sizes = [1, 2, 5, 9], [5, 7], range(6)
    space = Space(
        [
            Feature("grade", "ordinal", levels=grades),
            Feature("flag", "binary", levels=flags, missing="any" if gone else False),
            Feature("size", "integer", 0, 5),
        ]
    )
    points = list(itertools.product(grades, [*flags, None] if gone else flags, sizes))
    X = pd.DataFrame(points, columns=["grade", "flag", "size"]).astype(float)
    said = fitted.fit(X, X.grade + 2 * (X.flag == 7) - X.flag.isna() + X["size"] / 4 > 5).predict(X)
    places = {point: (grades.index(point[0]) / 3, point[1], point[2] / 5) for point in points}

    def far(a: Any, b: Any) -> float:
        return (abs(places[a][0] - places[b][0]) + (a[1] != b[1]) + abs(places[a][2] - places[b][2])) / 3

    for k in range(0, len(points), 7):
        x = dict(zip(X.columns, points[k], strict=True))
        least = min(far(points[k], one) for one, other in zip(points, said, strict=True) if other != said[k])
        assert mace.explain(fitted, space, x).distance == pytest.approx(least)
