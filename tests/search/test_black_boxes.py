"""Models that are only asked: nothing is called proved but what asking about every point proves."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

import mace
from mace.compilers import load_model
from mace.datasets import load
from mace.errors import ASKED, GoalError, MaceError, ModelError, UnreadableError
from mace.explain.answer import UNREAD
from mace.space.feature import Feature
from mace.space.space import Space

SMALL = Space(
    [
        Feature("a", "integer", 0, 5),
        Feature("b", "integer", 0, 9),
        Feature("c", "categorical", levels=["u", "v"]),
    ]
)
START = {"a": 1, "b": 1, "c": "u"}
FOUR = Space([Feature(f"x{k}", "real", 0, 1000) for k in range(4)])
WEIGHTS = np.array([5.0, 0.0, 1.0, 25.0, -5.0])
FIVE_START = (-0.04822564522107575, 2.0912726657731104, 5.368920447474639, 0.7460348559645964, 3.6228232398513613)
FIVE = Space(
    [Feature(f"x{k}", "real", -5, max(5, FIVE_START[2]) if k == 2 else 5) for k in range(5)],
    rules=["x2 <= 5 or x2 == start_x2"],
)


class Counting:
    """A function that counts the rows that it is asked about, and how often each."""

    def __init__(self, function: Any) -> None:
        self.function, self.seen = function, list[tuple[Any, ...]]()

    def __call__(self, rows: pd.DataFrame) -> Any:
        self.seen += list(rows.itertuples(index=False, name=None))
        return self.function(rows)


def sums(rows: pd.DataFrame) -> Any:
    return rows.sum(axis=1).to_numpy()


def near_500(rows: pd.DataFrame) -> Any:
    return np.abs(sums(rows) - 500) <= 10


@pytest.fixture(scope="module")
def loans() -> Any:
    data = load("loans")
    X = data.X.iloc[:400]
    return data, X, data.space.encode(X), data.y.iloc[:400]


def test_an_svc_with_a_radial_kernel_on_loans_is_only_asked(loans: Any) -> None:
    data, X, matrix, y = loans
    model = SVC(gamma="scale").fit(matrix, y)
    rejected = X[model.predict(matrix) != data.goal].iloc[0]
    answer = mace.explain(model, data.space, rejected, goal=data.goal, background=X, max_calls=300, random_state=1)
    assert answer.status == "bounded"
    assert answer.lower_bound == 0
    assert UNREAD in str(answer)
    assert answer.calls is not None
    assert answer.calls <= 300
    assert any("SVC with the kernel 'rbf' is not supported" in note for note in answer.notes)
    (found,) = answer.counterfactuals
    assert model.predict(data.space.encode(pd.DataFrame([found.values])))[0] == data.goal
    assert all(point.verdict == "proposed" for point in answer.trace)
    uppers = [float(point.upper or 0) for point in answer.trace]
    assert np.diff(uppers).max(initial=-1) <= 1e-9
    again = mace.explain(model, data.space, rejected, goal=data.goal, background=X, max_calls=300, random_state=1)
    assert again.counterfactuals == answer.counterfactuals


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(3),
        StackingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier(3))], cv=2),
    ],
    ids=["neighbours", "stacking"],
)
def test_estimators_that_no_reader_takes_are_proved_on_small_spaces(model: Any) -> None:
    every = pd.DataFrame([*itertools.product(range(6), range(10), "uv")], columns=["a", "b", "c"])
    y = np.where(every.a + every.b + 3 * (every.c == "v") > 9, "yes", "no")
    model.fit(SMALL.encode(every), y)
    answer = mace.explain(model, SMALL, START)
    good = every[model.predict(SMALL.encode(every)) == "yes"]
    distances = (abs(good.a - 1) / 5 + abs(good.b - 1) / 9 + (good.c != "u")) / 3
    assert answer.goal == "anything but 'no'" or answer.goal == "'yes'"
    assert answer.status == "optimal"
    assert answer.distance == answer.lower_bound == pytest.approx(distances.min(), abs=1e-12)
    assert any("rests on the model answering as it did" in note for note in answer.notes)
    with pytest.raises(MaceError, match="no certificate: the model is only asked"):
        _ = answer.certificate
    with pytest.raises(MaceError, match="needs a model that is read"):
        answer.menu()


@pytest.mark.parametrize("model", [KNeighborsClassifier(1), BaggingClassifier(KNeighborsClassifier(1))], ids=repr)
def test_what_needs_a_model_that_is_read_says_who_only_asks_it(model: Any) -> None:
    rows = pd.DataFrame([START, {**START, "b": 9}])
    model.fit(SMALL.encode(rows), ["no", "yes"])
    for asks in (
        lambda: mace.Explainer(model, SMALL),
        lambda: mace.audit(model, SMALL, rows, goal="yes"),
        lambda: mace.verify(model, SMALL, "monotone(b, increasing)"),
        lambda: mace.front(model, SMALL, START, goal="yes", objectives=["l1", "changes"]),
    ):
        with pytest.raises(MaceError) as raised:
            asks()
        assert raised.value.hint.count("`mace.explain`") == 1
        assert "over boxes" in raised.value.hint


@pytest.mark.parametrize("settings", [{}, {"constrained": ["a"]}, {"proposer": "swarm"}], ids=str)
def test_where_nothing_may_change_there_is_no_counterfactual(settings: Any) -> None:
    space = Space([Feature("a", "integer", 0, 5, change="fixed"), Feature("b", "real", 0, 1, change="fixed")])
    answer = mace.explain(lambda rows: rows.a > 3, space, {"a": 1, "b": 0.5}, goal=True, **settings)
    assert answer.status == "infeasible" and not answer.counterfactuals


def test_a_small_space_without_the_goal_is_infeasible_and_no_row_is_asked_about_twice() -> None:
    model = Counting(lambda rows: rows.a * rows.b > 45)
    answer = mace.explain(model, SMALL, START, goal=True)
    assert answer.status == "infeasible"
    assert len(model.seen) == len(set(model.seen)) == answer.calls == 120


def test_small_spaces_agree_with_a_model_that_is_read() -> None:
    every = pd.DataFrame([*itertools.product(range(6), range(10), "uv")], columns=["a", "b", "c"])
    model = RandomForestClassifier(4, random_state=0).fit(SMALL.encode(every), (every.a * every.b > 14).astype(int))
    for rules in ([], ["a <= 3 or c == 'v'"]):
        read = mace.explain(model, SMALL, START, goal=1, rules=rules)
        asked = mace.explain(model, SMALL, START, goal=1, rules=rules, oracle="search")
        assert (asked.status, asked.exact_distance) == (read.status, read.exact_distance)
        assert asked.exact_lower_bound == read.exact_lower_bound


def test_several_answers_differ_and_are_each_proved() -> None:
    answer = mace.explain(lambda rows: rows.a + rows.b >= 8, SMALL, START, goal=True, count=3, diversity="points")
    assert [c.status for c in answer.counterfactuals] == ["optimal"] * 3
    assert len({tuple(c.values.items()) for c in answer.counterfactuals}) == 3
    distances = [c.exact_distance for c in answer.counterfactuals]
    assert distances == sorted(distances)


def test_calls_are_limited_batched_and_never_repeated_but_for_the_answer() -> None:
    model = Counting(near_500)
    box = mace.BlackBox(model, batch=20)
    answer = mace.explain(box, FOUR, [100, 150, 1, 2], goal=True, max_calls=300)
    assert len(model.seen) == answer.calls <= 300
    again = [row for row in set(model.seen) if model.seen.count(row) > 1]
    assert len(again) <= 2
    assert "limit of calls (300)" in answer.why


@pytest.mark.parametrize(("most", "status"), [(1, "unknown"), (2, "unknown"), (9, "unknown")])
def test_very_few_calls_are_kept_to(most: int, status: str) -> None:
    model = Counting(lambda rows: sums(rows) > 3999)
    answer = mace.explain(model, FOUR, [0, 0, 0, 0], goal=True, max_calls=most)
    assert answer.status == status
    assert len(model.seen) == answer.calls <= most


def test_a_row_that_has_the_goal_already() -> None:
    answer = mace.explain(near_500, FOUR, [500, 0, 0, 0], goal=True)
    assert answer.status == "optimal"
    assert answer.distance == 0
    assert "the row has the goal already" in answer.notes


def test_a_model_that_answers_the_same_point_differently_is_said_so() -> None:
    seen: set[Any] = set()

    def moody(rows: pd.DataFrame) -> Any:
        """Accepts whatever it has not seen yet, but for the start."""
        cells = list(rows.itertuples(index=False, name=None))
        said = [bool(seen) and row not in seen for row in cells]
        seen.update(cells)
        return said

    answer = mace.explain(moody, FOUR, [1, 2, 3, 4], goal=True, max_calls=200)
    assert any("answered the same point differently" in note for note in answer.notes)
    assert answer.status == "unknown"
    seen.clear()
    small = mace.explain(moody, SMALL, START, goal=True)
    assert small.status == "unknown"
    assert small.lower_bound == 0
    assert "answered the same point differently" in small.why


def test_callback_gets_every_improvement() -> None:
    seen: list[Any] = []
    answer = mace.explain(near_500, FOUR, [100, 150, 1, 2], goal=True, max_calls=500, callback=seen.append)
    uppers = [bracket.upper for bracket in seen]
    assert len(uppers) > 1
    assert np.diff([float(upper) for upper in uppers]).max() <= 1e-9
    assert uppers[-1] == answer.exact_distance
    assert all(bracket.lower == 0 and bracket.status == "bounded" for bracket in seen)


# ------------------------------------------------------------------------------------------ levels of score


@pytest.mark.parametrize("seed", [0, 1])
def test_t1_by_tabu_is_exact_where_the_reference_is_near(seed: int) -> None:
    answer = mace.explain(near_500, FOUR, [100, 150, 1, 2], goal=True, max_calls=10_000, random_state=seed)
    assert answer.status == "bounded"
    assert answer.distance is not None
    assert math.sqrt(answer.distance) <= 0.24375  # of the reference, after 10,000 calls
    assert len(answer.counterfactuals[0].changes) == 1


def test_t3_has_its_confidence() -> None:
    box = mace.BlackBox(near_500, confidence=lambda rows: np.clip(np.abs(10 - np.abs(sums(rows) - 500)), 0, 1))
    answer = mace.explain(box, FOUR, [100] * 4, goal=True, confidence=0.9, max_calls=2_000)
    (found,) = answer.counterfactuals
    assert 490.9 <= sum(found.values.values()) <= 509.1
    assert math.sqrt(answer.distance or 1) == pytest.approx(0.15075, abs=2e-3)
    assert [level.name for level in answer.levels][:3] == [
        "goal missed by", "constrained features changed", "outputs in doubt",
    ]  # fmt: skip
    assert [level.value for level in answer.levels][:3] == [0, 0, 0]


def test_t4_ends_and_says_that_nothing_was_found_and_what_is_proved() -> None:
    narrow = Space([Feature(f"x{k}", "real", 0, 2, change="fixed" if k > 1 else "any") for k in range(4)])
    answer = mace.explain(sums, narrow, [1] * 4, goal="499 <= y <= 501", max_calls=500)
    assert answer.status == "unknown"
    assert "no counterfactual was found, and nothing is proved: the model is only asked" in str(answer)
    assert any("misses it by 493" in note for note in answer.notes)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_t5_by_tabu_moves_one_weight_where_the_reference_changes_four(seed: int) -> None:
    answer = mace.explain(
        lambda rows: rows.to_numpy() @ WEIGHTS, FIVE, FIVE_START, goal="y within 0.01 of 0", max_calls=30_000,
        random_state=seed,
    )  # fmt: skip
    assert answer.distance is not None
    assert math.sqrt(answer.distance) == pytest.approx(0.06726, abs=5e-6)
    assert list(answer.counterfactuals[0].changes) == ["x3"]


def test_targets_for_several_outputs() -> None:
    def both(rows: pd.DataFrame) -> Any:
        return np.column_stack([rows.x0 + rows.x1, rows.x2 > 300])

    box = mace.BlackBox(both, outputs=["total", "late"])
    answer = mace.explain(box, FOUR, [1, 2, 3, 4], goal=mace.Targets({"total": 400, "late": 1}, 0.05), max_calls=4_000)
    (found,) = answer.counterfactuals
    assert abs(found.values["x0"] + found.values["x1"] - 400) / 400 < 0.06
    assert found.values["x2"] > 300


def test_a_constrained_feature_changes_only_where_it_must() -> None:
    point = [100, 100, 100, 100]
    free = mace.explain(near_500, FOUR, point, goal=True, constrained=["x0", "x3"], max_calls=1_500)
    assert not {"x0", "x3"} & set(free.counterfactuals[0].changes)
    must = mace.explain(lambda rows: rows.x0 > 500, FOUR, point, goal=True, constrained="x0", max_calls=500)
    assert must.status == "unknown"
    assert must.levels[0].value == 0
    assert must.levels[1].value == 1


def test_of_points_that_are_equally_near_the_one_with_fewer_changes_is_the_answer() -> None:
    """Floats of one distance may differ: .1 + .7 is less than .8, and two changes stood before one."""
    space = mace.Space([*(mace.Feature(name, "integer", 0, 10) for name in "abc"), mace.Feature("d", "integer", 0, 1)])
    for whole in range(2, 11):
        for part in range(1, whole):

            def goal(rows: Any, whole: int = whole, part: int = part) -> Any:
                one = (rows.a == whole) & (rows.b == 0) & (rows.c == 0)
                return one | (rows.a == 0) & (rows.b == part) & (rows.c == whole - part)

            answer = mace.explain(goal, space, dict.fromkeys("abcd", 0), goal=True, constrained=["d"])
            assert answer.status == "optimal" and list(answer.counterfactuals[0].changes) == ["a"]
            assert [level.exact_lower_bound for level in answer.levels] == [0, 0, 0, Fraction(whole, 40), 1]


def test_a_small_space_with_constrained_features_is_settled_too() -> None:
    """It was only searched: bounded where the nearest point was proved, unknown where there is none."""
    free = mace.explain(lambda rows: rows.a + rows.b >= 5, SMALL, START, goal=True, constrained=["b"])
    every = mace.explain(lambda rows: rows.a + rows.b >= 5, SMALL, START, goal=True, rules=["b == start_b"])
    assert (free.status, every.status) == ("optimal", "optimal")
    assert free.exact_distance == every.exact_distance and "b" not in free.counterfactuals[0].changes
    assert [level.value for level in free.levels] == [0, 0, 0, pytest.approx(float(free.exact_distance)), 1]
    assert {level.status for level in free.levels} == {"optimal"}
    must = mace.explain(lambda rows: rows.b >= 8, SMALL, START, goal=True, constrained=["b"])
    assert must.status == "infeasible" and not must.counterfactuals
    assert [level.value for level in must.levels[:3]] == [0, 1, 0] and must.levels[4].value == 1
    assert any(note.startswith("the best point that was found has the goal with 1 constrained") for note in must.notes)


# ------------------------------------------------------------------------------------------ what goes wrong


def _broken(said: str) -> Any:
    raise ValueError(said)


@pytest.mark.parametrize(
    ("predict", "words"),
    [
        (lambda rows: [1.0], "must give one answer a row: it gave an array of shape"),
        (lambda rows: 1.0, "must give one answer a row: it gave 1.0 for"),
        (lambda rows: np.where(rows.x0 == 0, 1.0, np.nan), "gave NaN or None for a row"),
        (lambda rows: [None] * len(rows), "gave NaN or None for a row"),
        (lambda rows: rows.nothing, "raised AttributeError for 1 row: "),
        (lambda rows: _broken("names differ:\n- x"), "for 1 row: names differ: - x"),
        (lambda rows: [[1], [1, 2]], "gave lists of different lengths"),
        (lambda rows: np.zeros((len(rows), 2)), "has 2 outputs"),
        (lambda rows: [{"late": 1}] * len(rows), "gave {'late': 1} for a row"),
        (lambda rows: [np.zeros(2), None][:1] * len(rows), "has 2 outputs"),
        (lambda rows: sums(rows) + 1j, "for a row"),
        (lambda rows: [10**400] * len(rows), "the goal is about a number"),
        (lambda rows: ["late"] * len(rows), "is no goal|not a class|no other class"),
    ],
)
def test_what_a_function_gets_wrong_is_one_message(predict: Any, words: str) -> None:
    with pytest.raises(MaceError, match=words):
        mace.explain(predict, FOUR, [0, 1, 2, 3], goal="y >= 3", max_calls=50)


def test_classes_and_tolerances_may_come_from_pandas_and_as_fractions() -> None:
    told = mace.BlackBox(near_500, classes=pd.Series([False, True]))
    answer = mace.explain(told, FOUR, [0, 1, 2, 3], goal=True, max_calls=300)
    assert answer.goal == "True"
    with pytest.raises(MaceError, match="classes must be a list of them"):
        mace.BlackBox(near_500, classes=pd.DataFrame({"a": [1]}))
    assert str(mace.Targets({"y": 3}, tolerance=Fraction(1, 4))) == "y = 3, within 0.25"


@pytest.mark.parametrize(
    ("low", "high", "classes"),
    [
        ("False", "True", [False, True]),
        (np.False_, np.True_, [False, True]),
        (False, True, [0, 1]),
        (0.0, 1.0, [0, 1]),
        ("0", "1", [0, 1]),
        (0, 1, ["0", "1"]),
    ],
)
def test_decisions_are_the_classes_that_were_named_however_they_are_written(low: Any, high: Any, classes: Any) -> None:
    """ "False" was none of False and True: of the row nothing but both was wanted, and nothing was ever found."""
    box = mace.BlackBox(lambda rows: np.where(rows.x0 > 500, high, low), classes=classes)
    for goal in (None, classes[1]):
        answer = mace.explain(box, FOUR, [0, 1, 2, 3], goal=goal, max_calls=300)
        assert answer.decision == classes[0] and answer.counterfactuals[0].values["x0"] > 500, answer


@pytest.mark.parametrize("goal", [None, 1])
def test_a_decision_that_is_none_of_the_classes_is_said(goal: Any) -> None:
    """The answer was `unknown`: no decision ever had the goal, and nothing said why."""
    box = mace.BlackBox(lambda rows: np.where(rows.x0 > 500, 5, 0), classes=[0, 1])
    with pytest.raises(ModelError, match=r"gave 5 for a row, which is none of its classes\n.*\nIts classes are 0, 1"):
        mace.explain(box, FOUR, [0, 1, 2, 3], goal=goal, max_calls=300)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"proposer": ""}, "unknown proposer ''"),
        ({"max_calls": 0}, "max_calls must be a whole number > 0"),
        ({"max_calls": 2.5}, "max_calls must be a whole number > 0"),
        ({"max_calls": True}, "max_calls must be a whole number > 0"),
        ({"oracle": "z3"}, "needs a model that is read"),
        ({"together": True, "count": 2}, "need a model that is read"),
        ({"objectives": ["l1", "changes"]}, "need a model that is read"),
        ({"proposer": "pft"}, "it reads the trees of an ensemble"),
        ({"proposer": "mo"}, "there are none"),
        ({"confidence": 0.5}, "the goal asks for confidence"),
        ({"confidence": 2}, "a confidence lies between 0 and 1"),
        ({"constrained": ["z"]}, "there is no feature `z`"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"goal": mace.Targets({"y": 1}, confidence=0.5)}, "the goal asks for confidence"),
        ({"goal": 5}, "not a class"),
        ({"goal": "p(True) >= 0.5"}, "about probabilities, which the near_500 does not give"),
        ({"goal": "True by 0.5 in score"}, "scores of a model that is only asked are not known"),
    ],
)
def test_what_may_not_be_asked_is_one_message(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(MaceError, match=words):
        mace.explain(near_500, FOUR, [0, 1, 2, 3], **settings)


@pytest.mark.parametrize("value", [None, math.nan, -math.inf, 10**400, [1], b"x", 1j, np.float64("nan")])
def test_a_target_that_no_output_can_have_is_refused(value: Any) -> None:
    with pytest.raises(GoalError, match="the target of `y` must be a finite number, a truth or a text"):
        mace.Targets({"y": value})


def test_numbers_of_numpy_are_targets() -> None:
    given = mace.Targets({"y": np.int64(3), "z": np.bool_(True)}, np.float32(0.5), {"y": np.float32(0.25)})  # type: ignore[arg-type]
    assert given == mace.Targets({"y": 3, "z": True}, 0.5, {"y": 0.25})


def test_what_is_no_model_is_said() -> None:
    with pytest.raises(ModelError, match="a model is a function or has `predict`"):
        mace.explain(3, FOUR, [0, 1, 2, 3], oracle="search")
    with pytest.raises(ModelError, match="is a class, not a trained model"):
        mace.explain(SVC, FOUR, [0, 1, 2, 3])
    with pytest.raises(ModelError, match=r"not fitted|NotFittedError"):
        mace.explain(SVC(), FOUR, [0, 1, 2, 3], goal=1)
    with pytest.raises(GoalError, match="a model that predicts a number needs a goal"):
        mace.explain(lambda rows: sums(rows) * 1.0, FOUR, [0, 1, 2, 3])


@pytest.mark.parametrize(("factor", "words"), [(np.inf, "NaN"), (2.0, "outside of 0..1"), (-1.0, "outside of 0..1")])
def test_what_is_no_probability_meets_no_goal(factor: float, words: str) -> None:
    box = mace.BlackBox(near_500, lambda rows: [[factor, factor - factor]] * len(rows), classes=[False, True])
    with pytest.raises(ModelError, match=words):
        mace.explain(box, FOUR, [0, 1, 2, 3], goal="p(True) >= 0.5")


def test_what_a_proposer_raises_is_in_words() -> None:
    class Broken:
        name = "broken"

        def refusal(self, _: Any) -> None:
            return None

        def batches(self, *_: Any) -> Any:
            yield np.zeros((1, 4))
            raise KeyError("nothing")

    with pytest.raises(MaceError, match="the proposer 'broken' raised KeyError"):
        mace.explain(near_500, FOUR, [0, 1, 2, 3], proposer=Broken())


def test_goals_are_as_everywhere() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(0, 1000, (60, 4)), columns=FOUR.names)
    probable = KNeighborsClassifier(10).fit(X, (X.x0 > 500).astype(int))
    row = X[probable.predict(X) == 0].iloc[0]
    likely = mace.explain(probable, FOUR, row, goal="p(1) >= 0.8", background=X, max_calls=400)
    found = pd.DataFrame([likely.counterfactuals[0].values])
    assert probable.predict_proba(found)[0, 1] >= 0.8
    number = SVR().fit(X, X.x0 / 1000)
    high = mace.explain(number, FOUR, row, goal="y >= 0.5", background=X, max_calls=400)
    assert number.predict(pd.DataFrame([high.counterfactuals[0].values]))[0] >= 0.5
    labels = mace.BlackBox(lambda rows: np.where(rows.x0 > 500, "late", "soon"), classes=["late", "soon"])
    assert mace.explain(labels, FOUR, [1, 2, 3, 4], goal="not soon", max_calls=300).counterfactuals
    assert mace.explain(labels, FOUR, [1, 2, 3, 4], max_calls=300).goal in ("'late'", "anything but 'soon'")


def _asks_for_rows_as_they_are(model: Any, frame: pd.DataFrame) -> None:
    space = Space.from_frame(frame)
    for place in range(20):
        answer = mace.explain(model, space, frame.iloc[place])
        assert answer.decision == model.predict(frame.iloc[[place]])[0], frame.iloc[place].to_dict()


def _encoded(encoder: Any) -> Pipeline:
    columns = ColumnTransformer([("a", StandardScaler(), ["a"]), ("b", encoder, ["b"])])
    return make_pipeline(columns, SVC(C=10))


@pytest.mark.parametrize(
    "encoder", [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()], ids=lambda encoder: type(encoder).__name__
)
def test_a_pipeline_that_is_only_asked_is_given_texts_where_its_columns_have_the_names_of_the_encoded_ones(
    encoder: Any,
) -> None:
    """Two texts are encoded in one column of the same name: the pipeline was given 0 and 1, and failed."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 120), "b": rng.choice(["x", "y"], 120)})
    _asks_for_rows_as_they_are(_encoded(encoder).fit(frame, frame.a + 4 * (frame.b == "x").astype(int) > 5), frame)


def test_a_pipeline_of_encoded_columns_is_only_asked_about_these() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 120), "b": rng.choice(["x", "y"], 120)})
    space = Space.from_frame(frame)
    model = make_pipeline(StandardScaler(), SVC(C=10)).fit(space.encode(frame), frame.a % 3 == 0)
    answer = mace.explain(model, space, frame.iloc[0])
    assert answer.decision == model.predict(space.encode(frame.iloc[[0]]))[0]


def test_a_pipeline_that_is_only_asked_is_given_none_where_its_encoder_was() -> None:
    """It was given NaN, which an encoder that knows None ignores: the answer was about another row."""
    rng = np.random.default_rng(0)
    texts = pd.Series(rng.choice(["x", "y", "z", None], 200), dtype=object)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 200), "b": texts})
    encoder = OneHotEncoder(handle_unknown="ignore")
    for step in (encoder, make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)):
        _asks_for_rows_as_they_are(_encoded(step).fit(frame, frame.a + 4 * texts.isna().astype(int) > 5), frame)
    truths = frame.assign(b=pd.Series(rng.choice([True, False, None], 200), dtype=object))
    model = _encoded(OneHotEncoder(handle_unknown="ignore"))
    _asks_for_rows_as_they_are(model.fit(truths, truths.a + 4 * truths.b.isna().astype(int) > 5), truths)


def test_calibrated_pipelines_are_only_asked() -> None:
    """They were refused, with the advice to give the space that was given."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 120), "b": rng.choice(["x", "y"], 120)})
    model = CalibratedClassifierCV(_encoded(OneHotEncoder()), cv=2)
    _asks_for_rows_as_they_are(model.fit(frame, frame.a + 4 * (frame.b == "x").astype(int) > 5), frame)


@pytest.mark.parametrize("given", ["array", "encoded"])
def test_a_number_that_stays_missing_is_given_as_nan(given: Any) -> None:
    """It was given as 0, and "infeasible" was called proved where a = 4 would do."""
    space = Space([Feature("a", "integer", 0, 5), Feature("b", "real", -1, 5, missing="keep")])

    def lacking(rows: Any) -> Any:
        a, b = np.asarray(rows, dtype=float).T
        return np.where(np.isnan(b) & (a > 3), "yes", "no")

    box = mace.BlackBox(lacking, given=given, classes=["no", "yes"])
    answer = mace.explain(box, space, {"a": 1, "b": None}, goal="yes")
    assert answer.status == "optimal" and answer.counterfactuals[0].values == {"a": 4, "b": None}


@pytest.mark.parametrize("asked", ["object", "encoded", "array"])
@pytest.mark.parametrize("kind", [SVC, GaussianProcessClassifier])
def test_columns_are_given_in_the_order_that_a_model_was_fitted_on(kind: Any, asked: Any) -> None:
    """The space encodes them in another: the library's own message came out, or that the columns are others; an array
    was taken for another row in silence."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 120), "b": rng.choice(["x", "y"], 120), "c": rng.integers(0, 9, 120)})
    space = Space.from_frame(frame[["c", "b", "a"]])
    encoded = Space.from_frame(frame).encode(frame)
    model = kind().fit(encoded, (frame.a + 4 * (frame.b == "x") > 6).astype(int))
    given = model if asked == "object" else mace.BlackBox(model.predict, classes=[0, 1], given=asked)
    for place in range(3):
        answer = mace.explain(given, space, frame.iloc[place], max_calls=None if kind is SVC else 300)
        assert answer.decision == model.predict(encoded.iloc[[place]])[0]
        found = Space.from_frame(frame).encode(pd.DataFrame([answer.counterfactuals[0].values]))
        assert model.predict(found)[0] != answer.decision


@pytest.mark.parametrize("names", [("f0", "f1"), ("Column_0", "Column_1")])
def test_columns_that_a_step_picks_by_name_are_called_so(names: Any) -> None:
    """They were taken for names that a library makes up, and the pipeline was given an array."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({names[0]: rng.integers(0, 9, 80), names[1]: rng.choice(["x", "y"], 80)})
    columns = ColumnTransformer([("n", "passthrough", [names[0]]), ("c", OneHotEncoder(), [names[1]])])
    space = Space([Feature(names[0], "integer", 0, 8), Feature(names[1], "categorical", levels=["x", "y"])])
    for last in (SVC(C=10), LogisticRegression()):
        model = make_pipeline(columns, last).fit(frame, frame[names[0]] > 4)
        assert mace.explain(model, space, {names[0]: 1, names[1]: "x"}).status == "optimal"


def _booster(kind: str, frame: pd.DataFrame, labels: Any) -> Any:
    """A booster over a frame with categories that no reader takes."""
    package = pytest.importorskip(kind.split()[0])
    match kind:
        case "xgboost":
            made = package.XGBClassifier(n_estimators=3, objective="binary:hinge", enable_categorical=True, n_jobs=1)
        case "lightgbm":
            made = package.LGBMClassifier(n_estimators=3, min_child_samples=5, linear_tree=True, verbose=-1, n_jobs=1)
        case _:
            settings: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
            made = package.CatBoostClassifier(3, one_hot_max_size=1, cat_features=["c"], **settings)
    return made.fit(frame, labels)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "catboost"])
def test_a_booster_of_categories_that_is_not_read_is_asked_about_them(kind: str) -> None:
    """They were given what the space encodes, or texts that were no categories; CatBoost's defaults are among them."""
    rng = np.random.default_rng(0)
    words = rng.choice(["u", "v", "w"], 200)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 200).astype(float), "c": words if kind == "catboost" else 0})
    if kind != "catboost":
        frame["c"] = pd.Categorical(words)
    model = _booster(kind, frame, (frame["a"] + 2 * (words == "u") > 3).astype(int))
    space = Space([Feature("a", "integer", 0, 5), Feature("c", "categorical", levels=["u", "v", "w"])])
    answer = mace.explain(model, space, {"a": 0, "c": "v"}, goal=1)
    assert answer.oracle == "search (every point)"
    points = pd.DataFrame(list(itertools.product(range(6), ["u", "v", "w"])), columns=["a", "c"]).astype({"a": float})
    asked = points if kind == "catboost" else points.assign(c=pd.Categorical(points["c"]))
    good = points[np.asarray(model.predict(asked)) == 1]
    assert answer.status == "optimal"
    assert answer.distance == pytest.approx(float(np.min(good["a"] / 10 + (good["c"] != "v") / 2)))


def test_a_file_of_what_is_not_read_says_how_it_is_asked(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    frame = pd.DataFrame({"a": range(6)})
    xgboost.XGBClassifier(n_estimators=2, objective="binary:hinge").fit(frame, [0, 0, 0, 1, 1, 1]).save_model(
        tmp_path / "model.json"
    )
    with pytest.raises(UnreadableError, match=r"Load it with its own library: `mace.explain` asks") as caught:
        load_model(tmp_path / "model.json")
    assert ASKED not in str(caught.value)


def test_a_scorecard_that_is_only_asked_decides_between_its_classes() -> None:
    """It has no `classes_`, and was taken for a regression, which has no classes."""
    optbinning = pytest.importorskip("optbinning")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 6, 200).astype(float), "b": rng.integers(0, 10, 200).astype(float)})
    process = optbinning.BinningProcess(["a", "b"])
    model = optbinning.Scorecard(process, LogisticRegression()).fit(frame, (frame["a"] + frame["b"] > 7).astype(int))
    space = Space([Feature("a", "integer", 0, 5), Feature("b", "integer", 0, 9)])
    read, only_asked = (
        mace.explain(model, space, {"a": 0, "b": 0}, goal=1, oracle=oracle) for oracle in ("auto", "search")
    )
    assert read.status == only_asked.status == "optimal" and read.distance == only_asked.distance


def test_what_a_table_cannot_say_of_a_booster_is_asked() -> None:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    frame = pd.DataFrame({"a": np.arange(40) % 6, "b": np.arange(40) // 4})
    labels = (frame["a"] + frame["b"] > 7).astype(int)
    zero = xgboost.XGBClassifier(n_estimators=2, missing=0, n_jobs=1)
    early = lightgbm.LGBMClassifier(n_estimators=2, pred_early_stop=True, min_child_samples=2, verbose=-1, n_jobs=1)
    for model in (zero, early):
        answer = mace.explain(model.fit(frame, labels), frame, frame.iloc[0], goal=1)
        assert answer.oracle == "search (every point)" and answer.status == "optimal"
