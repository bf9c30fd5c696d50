"""Fitted models of every supported class, and rows that lie where their decisions change."""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mace.compilers.thresholds import largest_passing
from mace.tables.margins import compare_slack, exact_margin, exact_scores, possible, surely
from mace.tables.table import Decision, Ensemble, Floats, Network, class_decision, decided


def tree(classes: int, **options: Any) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=classes, **options)


def extra_tree(classes: int) -> Any:
    from sklearn.tree import ExtraTreeClassifier

    return ExtraTreeClassifier(max_depth=6, class_weight="balanced", random_state=classes)


def forest(classes: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(12, max_depth=5, random_state=classes)


def pure_forest(classes: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=classes)


def small_forest(classes: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, max_depth=8, random_state=classes)


def extra_trees(classes: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(7, max_depth=6, class_weight="balanced", random_state=classes)


def logistic(classes: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000)


def ridge(classes: int) -> Any:
    from sklearn.linear_model import RidgeClassifier

    return RidgeClassifier()


def ridge_without_intercept(classes: int) -> Any:
    from sklearn.linear_model import RidgeClassifierCV

    return RidgeClassifierCV(fit_intercept=False)


def descent(classes: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(random_state=classes)


def perceptron(classes: int) -> Any:
    from sklearn.linear_model import Perceptron

    return Perceptron(random_state=classes)


def support_vectors(classes: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=classes, fit_intercept=False)


def relu_network(classes: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((10, 10), max_iter=60, random_state=classes)


def identity_network(classes: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier((6,), activation="identity", max_iter=60, random_state=classes)


def discriminant(classes: int) -> Any:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="svd" if classes == 2 else "lsqr")


def _on_magnitudes(kind: str) -> Any:
    """A naive Bayes classifier that is fitted on magnitudes, for counts are not negative; it decides for any rows."""
    import sklearn.naive_bayes

    def fit(self: Any, X: Any, y: Any) -> Any:
        return super(type(self), self).fit(np.abs(X), y)

    return type("OnMagnitudes", (getattr(sklearn.naive_bayes, kind),), {"fit": fit})


def multinomial(classes: int) -> Any:
    return _on_magnitudes("MultinomialNB")()


def complement(classes: int) -> Any:
    return _on_magnitudes("ComplementNB")(norm=classes == 3)


def one_vs_rest(classes: int) -> Any:
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.svm import LinearSVC

    return OneVsRestClassifier(LinearSVC(random_state=classes))


TREES: tuple[Callable[[int], Any], ...] = (tree, extra_tree, forest, pure_forest, extra_trees)
NETWORKS: tuple[Callable[[int], Any], ...] = (
    logistic, ridge, ridge_without_intercept, descent, perceptron, support_vectors, relu_network, identity_network,
    discriminant, multinomial, complement, one_vs_rest,
)  # fmt: skip


def sample(classes: int, dtype: str = "float64") -> tuple[NDArray[Any], NDArray[Any]]:
    """300 rows of 5 columns of different scales, and noisy labels; the first class is 0."""
    rng = np.random.default_rng(classes)
    rows = rng.normal(size=(300, 5)) * [1, 10, 0.1, 1000, 1] + [0, 5, 0, 300, 0]
    rows[:, 4] = np.round(rows[:, 4])
    score = rows[:, 0] + rows[:, 1] / 10 + rng.normal(size=300) / 2
    labels = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return rows.astype(dtype), labels


def fitted(make: Callable[[int], Any], classes: int, dtype: str = "float64") -> Any:
    """A model on the sample."""
    return trained(make(classes), *sample(classes, dtype))


def trained(model: Any, rows: NDArray[Any], labels: NDArray[Any]) -> Any:
    """A fitted model; whether it converged does not matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(rows, labels)


def data(name: str, rows: int, seed: int = 0) -> tuple[Floats, NDArray[np.int64]]:
    """Some rows of a real data set, categories as codes, and the target."""
    with gzip.open(Path(os.environ["MACE_DATA"]) / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        frame = pd.read_csv(file)
    frame = frame.sample(n=min(rows, len(frame)), random_state=seed)
    coded = [pd.factorize(frame[c])[0] if frame[c].dtype.kind not in "fiu" else frame[c] for c in frame.columns[:-1]]
    return np.column_stack(coded).astype(np.float64), frame.iloc[:, -1].to_numpy(dtype=np.int64)


def on_thresholds(table: Ensemble, rows: Floats, count: int, seed: int = 0) -> Floats:
    """Rows whose columns lie on, just below and just above thresholds, in float64 and in float32."""
    rng = np.random.default_rng(seed)
    near: dict[int, list[float]] = {column: [] for column in range(table.columns)}
    for one in table.trees:
        for column, threshold in zip(one.column.tolist(), one.threshold.tolist(), strict=True):
            if column >= 0:
                last = largest_passing(threshold, table.cast, table.test)
                rounded = float(np.float32(threshold))
                for value in (threshold, last, rounded):
                    near[column] += [value, float(np.nextafter(value, np.inf)), float(np.nextafter(value, -np.inf))]
                narrow = np.float32(threshold)
                near[column] += [float(np.nextafter(narrow, np.float32(s * np.inf))) for s in (1, -1)]
    found = rows[rng.integers(0, len(rows), count)].astype(np.float64)
    for row in found:
        for column, values in near.items():
            if values and rng.random() < 0.7:
                row[column] = values[rng.integers(0, len(values))]
    return found


TOGETHER = 35  # halvings after which two rows are still so far apart that a batch is decided as its rows are alone


def on_boundary(model: Any, rows: NDArray[Any], count: int, seed: int = 0) -> NDArray[Any]:
    """Pairs of rows as near to each other as their dtype allows that the model, asked alone, decides differently."""
    rng = np.random.default_rng(seed)
    decisions, pairs = model.predict(rows), list[NDArray[Any]]()
    while len(pairs) < (count + 1) // 2:
        pair = rng.integers(0, len(rows), 2)
        if decisions[pair[0]] != decisions[pair[1]]:
            pairs.append(pair)
    one, other = np.array(pairs).T
    low, high = rows[one], rows[other]
    for _ in range(TOGETHER):
        middle = (low + (high - low) / 2).astype(rows.dtype)
        same = (model.predict(middle) == decisions[one])[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    found = []
    for near, far, said in zip(low, high, decisions[one], strict=True):
        found += _neighbours(model, near, far, said)
    return np.array(found[:count])


def _neighbours(model: Any, low: NDArray[Any], high: NDArray[Any], said: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Halve the way between two rows, the first of which is decided as `said`, until nothing lies between them."""
    while True:
        middle = (low + (high - low) / 2).astype(low.dtype)
        if (middle == low).all() or (middle == high).all():
            return low, high
        low, high = (middle, high) if model.predict(middle[None])[0] == said else (low, middle)


def many_on_boundary(model: Any, rows: NDArray[Any], count: int, seed: int = 0) -> NDArray[Any]:
    """As `on_boundary`, all pairs at once: many rows, decided in batches."""
    rng = np.random.default_rng(seed)
    decisions = model.predict(rows)
    pairs = rng.integers(0, len(rows), (20 * count, 2))
    pairs = pairs[decisions[pairs[:, 0]] != decisions[pairs[:, 1]]][: count // 2]
    low, high, said = rows[pairs[:, 0]], rows[pairs[:, 1]], decisions[pairs[:, 0]]
    for _ in range(70):
        middle = (low + (high - low) / 2).astype(rows.dtype)
        same = (model.predict(middle) == said)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return np.concatenate([low, high])


def classes_decided(table: Ensemble | Network, scores: Floats) -> list[Any]:
    """Every class whose decision holds for these scores: exactly one."""
    return [
        label
        for index, label in enumerate(table.classes)
        if decided(class_decision(table.rule, table.outputs, index), scores)
    ]


def enclosure(table: Ensemble | Network, goal: Decision, row: Floats, bound: list[Fraction]) -> tuple[bool, bool]:
    """Whether the deployed model possibly and surely meets a goal, by exact scores and margins."""
    scores = exact_scores(table, row)
    pairs = [[(c, exact_margin(table, c, scores), compare_slack(table, c, bound)) for c in part] for part in goal]
    return (
        any(all(possible(*one) for one in part) for part in pairs),
        any(all(surely(*one) for one in part) for part in pairs),
    )


def bounds(rows: NDArray[Any]) -> list[Fraction]:
    """A bound on every column of the rows."""
    return [Fraction(float(value)) for value in np.abs(rows).max(axis=0)]
