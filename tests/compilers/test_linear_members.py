"""Linear scores that stand in other classes than linear models: what they refuse, and what counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier

from mace.compilers import read
from mace.errors import ModelError
from mace.tables.decide import decides
from mace.tables.table import Ensemble, Network, decided, decision_of
from tests.compilers import cases

rng = np.random.default_rng(0)
COUNTS = rng.integers(0, 5, size=(120, 4)).astype(float)
KINDS = np.digitize(COUNTS[:, 0] + COUNTS[:, 1] / 2, [2, 4])


def thresholded(classes: int) -> Any:
    return FixedThresholdClassifier(LogisticRegression(), threshold=0.3)


@pytest.mark.parametrize(
    ("make", "classes"),
    [
        *((make, classes) for make in cases.NETWORKS[-4:] for classes in (2, 3)),
        (thresholded, 2),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_linear_scores_decide_11_000_rows_as_the_library(make: Any, classes: int) -> None:
    model, (rows, _) = cases.fitted(make, classes), cases.sample(classes)
    table: Any = read(model)
    assert isinstance(table, Network)
    plain = rows[rng.integers(len(rows), size=10_000)] + rng.normal(size=(10_000, rows.shape[1])) * rows.std(axis=0)
    asked = np.concatenate([plain, cases.many_on_boundary(model, plain, 1000)])
    assert len(asked) == 11_000
    said, bound = model.predict(asked), cases.bounds(asked)
    scores, open_ = table.scores(asked), 0
    every = [decision_of(table, index) for index in range(classes)]
    for row, label, score in zip(asked, said, scores, strict=True):
        if decided(every[table.classes.index(label)], score):
            continue
        open_ += 1  # Only the order of summation may explain it.
        held = [cases.enclosure(table, decision, row, bound) for decision in every]
        for index, (possible, sure) in enumerate(held):
            assert possible if table.classes[index] == label else not sure
    assert open_ <= 1000


@pytest.mark.parametrize("threshold", [0.0, 2.0, 0.1, float(np.float32(0.1))])
def test_bernoulli_compares_with_its_threshold_to_the_last_bit(threshold: float) -> None:
    model = BernoulliNB(binarize=threshold).fit(COUNTS, KINDS)
    table: Any = read(model)
    assert isinstance(table, Ensemble)
    near = np.array([threshold, np.nextafter(threshold, 9), np.nextafter(threshold, -9), float(np.float32(threshold))])
    rows = near[rng.integers(len(near), size=(200, 4))]
    for row, said in zip(rows, model.predict(rows), strict=True):
        held = [decides(table, decision_of(table, index), row) for index in range(3)]
        assert held[table.classes.index(said)] is not False
        assert True not in [one for index, one in enumerate(held) if table.classes[index] != said]
    assert len(set(model.predict(rows))) > 1


def test_bernoulli_without_a_threshold_is_linear() -> None:
    model = BernoulliNB(binarize=None).fit((COUNTS > 2).astype(float), KINDS)
    table = read(model)
    assert isinstance(table, Network)
    rows = rng.random((50, 4))
    assert np.allclose([table.scores(row) for row in rows], model.predict_joint_log_proba(rows))


def test_the_scores_of_naive_bayes_are_its_joint_logarithms() -> None:
    for model in (MultinomialNB(), ComplementNB(), ComplementNB(norm=True), MultinomialNB(fit_prior=False)):
        table: Any = read(model.fit(COUNTS, KINDS))
        rows = rng.normal(size=(50, 4))
        assert np.allclose([table.scores(row) for row in rows], model.predict_joint_log_proba(rows))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (MultinomialNB(alpha=0, force_alpha=True), "a probability of 0 or 1"),
        (BernoulliNB(alpha=0, force_alpha=True), "a probability of 0 or 1"),
        (OneVsRestClassifier(DecisionTreeClassifier()), "over a DecisionTreeClassifier is not supported"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_no_linear_score_is_refused_by_name(model: Any, message: str) -> None:
    held = COUNTS.copy()
    held[KINDS == 0, 3] = 0
    with pytest.raises(ModelError, match=message):
        read(model.fit(held, KINDS))


def test_one_class_only_and_several_labels_are_refused_by_name() -> None:
    with pytest.raises(ModelError, match="knows one class only"):
        read(ComplementNB().fit(COUNTS, KINDS * 0))
    several = np.stack([KINDS == 0, KINDS == 1], axis=1).astype(int)
    with pytest.raises(ModelError, match="several labels a row"):
        read(OneVsRestClassifier(LogisticRegression()).fit(COUNTS, several))


def test_a_damaged_model_is_named() -> None:
    model: Any = MultinomialNB().fit(COUNTS, KINDS)
    model.class_log_prior_ = np.zeros(2)
    with pytest.raises(ModelError, match="class_log_prior_ has shape"):
        read(model)
    model = OneVsRestClassifier(LinearDiscriminantAnalysis()).fit(COUNTS, KINDS)
    model.estimators_ = model.estimators_[:2]
    with pytest.raises(ModelError, match="2 members for 3 classes"):
        read(model)
