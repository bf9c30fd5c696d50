"""Verdicts that were once wrong, refused by the checker, or no verdicts at all: each agrees with enumeration."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError, ModelError, ProgramError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify import bounded, equivalent, fair, holds, monotone, proved, reachable, robust
from mace.verify.subject import Subject


def square(low: int, high: int) -> tuple[Space, pd.DataFrame]:
    """Two whole numbers, and all their pairs."""
    space = Space([Feature("a", "integer", low, high), Feature("b", "integer", low, high)])
    sides = range(low, high + 1)
    return space, pd.DataFrame([(a, b) for a in sides for b in sides], columns=["a", "b"])


def truths(said: np.ndarray) -> dict[str, bool]:
    """What holds of the decisions over a square."""
    side = int(len(said) ** 0.5)
    table = said.reshape(side, side)
    return {
        "fair(a)": bool((table == table[0]).all()),
        "monotone(a, increasing)": bool((table[1:] >= table[:-1]).all()),
        "monotone(a, decreasing)": bool((table[1:] <= table[:-1]).all()),
    }


def agree(model: object, space: Space, said: np.ndarray) -> None:
    for text, true in truths(said).items():
        verdict = mace.verify(model, space, text)
        assert verdict.status == ("proved" if true else "violated"), text
        assert all(certificate.check().accepted for certificate in verdict.certificates)


def test_hidden_layers_without_relu_keep_that_in_the_product() -> None:
    space, X = square(0, 5)
    y = (X["a"] + X["b"] > 5).astype(int)
    for hidden, seed in (((1,), 0), ((2,), 1), ((4,), 1)):
        model = MLPClassifier(hidden, activation="identity", solver="lbfgs", random_state=seed)
        model.fit(space.encode(X), y)
        agree(model, space, model.predict(space.encode(X)))
    opposite = MLPClassifier(hidden, activation="identity", solver="lbfgs", random_state=seed)
    opposite.fit(space.encode(X), 1 - y)
    assert mace.verify(model, space, equivalent(opposite)).status == "violated"


def test_negative_inputs_of_a_float32_onnx_network_are_not_cut_off() -> None:
    onnx, onnxruntime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    space, X = square(-5, 2)
    for seed in (2, 9):
        rng = np.random.default_rng(seed)
        parts = [rng.normal(size=shape).astype("f") for shape in ((2, 4), 4, (4, 1), 1)]
        steps = [("Gemm", ["x", "0", "1"], "h"), ("Relu", ["h"], "a"), ("Gemm", ["a", "2", "3"], "s"),
                 ("Sigmoid", ["s"], "p")]  # fmt: skip
        made = onnx.helper.make_graph(
            [onnx.helper.make_node(kind, given, [out]) for kind, given, out in steps],
            "net",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2])],
            [onnx.helper.make_tensor_value_info("p", onnx.TensorProto.FLOAT, [None, 1])],
            [onnx.numpy_helper.from_array(part, str(number)) for number, part in enumerate(parts)],
        )
        model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        agree(model, space, (session.run(None, {"x": X.to_numpy("f")})[0].ravel() > 0.5).astype(int))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [BaggingClassifier, RandomForestClassifier])
def test_a_score_that_is_zero_everywhere_leaves_its_certificate_acceptable(kind) -> None:
    """With threads, and a power of two as the number of trees, the checker allows for a rounding of such a score."""
    space, X = square(0, 2)
    y = (X["b"] > 1).astype(int)
    for count in (2, 4):
        model = kind(n_estimators=count, n_jobs=2, random_state=0).fit(space.encode(X), y)
        agree(model, space, model.predict(space.encode(X)))


def test_a_violation_over_decimal_steps_is_json() -> None:
    space = Space([Feature("a", "integer", 0, 3), Feature("r", "real", 0.3, 2.0, step=0.1)])
    X = pd.DataFrame([(a, k / 10) for a in range(4) for k in range(3, 21)], columns=["a", "r"])
    model = DecisionTreeClassifier().fit(space.encode(X), (X["a"] > 1).astype(int))
    verdict = mace.verify(model, space, fair("a"))
    written = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert written["status"] == "violated" and written["violation"]["inputs"][0]["r"] == 0.3


def test_a_threshold_of_zero_is_moved_between_casts() -> None:
    space = Space([Feature("a", "integer", -3, 3)])
    X = pd.DataFrame({"a": [-1, 1] * 20})
    one = DecisionTreeClassifier().fit(space.encode(X), X["a"] > 0)
    other = HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=3).fit(space.encode(X), X["a"] > 0)
    assert one.tree_.threshold[0] == 0
    assert mace.verify(one, space, equivalent(other)).status == "proved"


def test_a_model_with_one_decision_everywhere_is_settled() -> None:
    space, X = square(0, 8)
    y = (np.random.default_rng(0).random(len(X)) < 0.1).astype(int)
    model = CalibratedClassifierCV(LogisticRegression(), method="isotonic", ensemble=False, cv=3)
    model.fit(space.encode(X), y)
    assert set(model.predict(space.encode(X))) == {0}
    for given in (fair("a"), monotone("a"), reachable(0), holds("a == other_a or f == other_f")):
        assert mace.verify(model, space, given).status == "proved"


def test_a_proof_that_the_checker_refuses_is_no_verdict(monkeypatch) -> None:
    space, X = square(0, 3)
    model = DecisionTreeClassifier().fit(space.encode(X), X["b"] > 1)
    assert mace.verify(model, space, fair("a")).status == "proved"
    monkeypatch.setattr(proved, "objection", lambda *_: "the checker refused the prover's proof (..)")
    for given in (fair("a"), mace.verify.robust({"a": 0, "b": 0}, "1/9"), mace.verify.robust({"a": 0, "b": 0})):
        verdict = mace.verify(model, space, given)
        assert verdict.status == "unknown" and verdict.why.startswith("the checker refused the prover's proof")


def test_a_verdict_without_certificates_says_why() -> None:
    space, X = square(0, 3)
    program = "if b > 1:\n    return 1\nreturn 0\n"
    line = LogisticRegression().fit(space.encode(X), X["b"] > 1)
    for model, given, why in (
        (program, fair("a"), "no certificate: the model is a program"),
        (line, monotone("b"), "no certificate: it follows from the shape of the model"),
    ):
        verdict = mace.verify(model, space, given)
        assert verdict.status == "proved" and not verdict.certificates
        assert any(note.startswith(why) for note in verdict.notes)


def test_the_sign_of_a_weight_settles_monotone_for_numbers() -> None:
    """Between equal numbers no bound on scores tells 0 from rounding."""
    space, X = square(0, 3)
    model = LinearRegression().fit(space.encode(X), X["b"] > 1)
    assert mace.verify(model, space, monotone("b")).status == "proved"
    assert mace.verify(model, space, monotone("b", "decreasing")).status == "violated"


def test_bounds_that_every_probability_breaks_are_violated() -> None:
    """Of one calibration by steps that every input lies beyond them was an error."""
    space, X = square(0, 3)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = CalibratedClassifierCV(tree, method="isotonic", cv=2, ensemble=False).fit(X, (3 * X["a"] + X["b"]) % 4 > 1)
    p = model.predict_proba(X)[:, 1]
    for low, high in ((0, float(p.min()) - 0.01), (float(p.max()) + 0.01, 1)):
        verdict = mace.verify(model, space, mace.verify.bounded(low, high, label=True))
        assert verdict.status == "violated"
    assert mace.verify(model, space, mace.verify.bounded(0.001, 0.999, label=True)).status == "proved"


def test_each_row_of_a_pair_is_replayed_alone(monkeypatch) -> None:
    # Beside another row the last bits of a prediction may be others, and equal numbers were called a violation.
    space, X = square(0, 3)
    model = LinearRegression().fit(space.encode(X), X["a"] - 2 * X["b"])
    sizes, own = set(), LinearRegression.predict
    subject = Subject(model, space)
    monkeypatch.setattr(LinearRegression, "predict", lambda self, X: sizes.add(len(X)) or own(self, X))
    assert len(subject.decisions([{"a": 0, "b": 0}, {"a": 1, "b": 0}])) == 2
    assert sizes == {1}


def test_levels_that_are_numbers_in_another_order_have_a_direction() -> None:
    # For networks it was refused, with a word about a rule that nobody wrote; trees were answered.
    space = Space([Feature("grade", "ordinal", levels=[3, 2, 1]), Feature("b", "integer", 0, 3)])
    X = pd.DataFrame([(g, b) for g in (3, 2, 1) for b in range(4)], columns=["grade", "b"])
    y = (X["b"] - X["grade"] > -1).astype(int)
    for model in (LogisticRegression(), DecisionTreeClassifier(), MLPClassifier((3,), solver="lbfgs", random_state=0)):
        model.fit(space.encode(X), y)
        said = model.predict(space.encode(X)).reshape(3, 4)
        for direction, step in (("increasing", 1), ("decreasing", -1)):
            true = bool((np.diff(said, axis=0) * step >= 0).all())
            verdict = mace.verify(model, space, monotone("grade", direction))
            assert verdict.status == ("proved" if true else "violated")


def test_a_rule_about_changes_of_a_row_leaves_out_no_input() -> None:
    # It was a KeyError, of the rule that the first example of a space has: `Age >= start_Age`.
    plain, X = square(0, 3)
    space = Space(plain.features, ["a >= start_a", "b >= start_b"])
    model = DecisionTreeClassifier(random_state=0).fit(plain.encode(X), X["a"] + X["b"] > 2)
    for given in (monotone("a"), fair("b"), holds("f == 1"), reachable(True), bounded(0, 0.5, "a > 1", True)):
        verdict = mace.verify(model, space, given)
        assert verdict.status == mace.verify(model, plain, given).status
        assert any("`a >= start_a` is about changes of a row" in note for note in verdict.notes)
    near = robust({"a": 2, "b": 1}, 0.4)  # is about a row: only more of both counts
    assert [mace.verify(model, known, near).status for known in (space, plain)] == ["proved", "violated"]
    for given in (holds("start_a == 1"), bounded(0, 0.5, "b > start_b", True)):
        with pytest.raises(ProgramError, match="compares with the row's own values, and here is no row"):
            mace.verify(model, plain, given)


def test_arguments_of_properties_that_say_nothing_or_come_of_numpy() -> None:
    space, X = square(0, 3)
    model = DecisionTreeClassifier().fit(space.encode(X), X["a"] > 1)
    with pytest.raises(MaceError, match="name a favourable class"):  # it was proved: "every class is favourable"
        monotone("a", favourable=[])
    assert type(robust(np.int64(3), 0.1).row) is int
    assert mace.verify(model, space, robust(np.flatnonzero(X["a"] == 3)[0], 0.1), data=X).status == "proved"


def test_whole_numbers_that_two_models_round_differently_are_not_said_to_be_missing() -> None:
    high = 2**60
    frame = pd.DataFrame({"n": np.array([high + k * 2**37 for k in range(4)] * 10, np.int64), "r": np.arange(40) / 40})
    frames = [ColumnTransformer([("kept", "passthrough", names)]) for names in (["n"], ["n", "r"])]
    trees = [make_pipeline(kept, DecisionTreeClassifier()).fit(frame, frame["n"] > high) for kept in frames]
    row = pd.DataFrame({"n": np.array([high + 2**36 + 1], np.int64), "r": [0.5]})
    assert [bool(tree.predict(row)[0]) for tree in trees] == [True, False]  # the second takes both for floats first
    space = Space([Feature("n", "integer", high, high + 2**38), Feature("r", "real", 0, 1, step="0.5")])
    for one, other in (trees, trees[::-1]):
        with pytest.raises(ModelError, match=r"whole numbers of `n` reach one of the models as float64"):
            mace.verify(one, space, equivalent(other))
