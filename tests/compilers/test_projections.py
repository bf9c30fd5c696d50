"""PCA before a linear model or a network: the pipeline decides as its table, over the raw columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace import Feature, Space
from mace.compilers.pipeline.reader import compile_pipeline
from mace.errors import ModelError
from mace.tables.decide import class_of
from mace.tables.table import Network
from tests.compilers.pipelines import random_rows

NAMES = ["a", "b", "c", "d"]
SPACE = Space([Feature(name, "integer", 0, 3) for name in NAMES])


def people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 4, size=(150, 4)), columns=NAMES)
    return frame, (frame["a"] + frame["b"] - frame["c"] + rng.normal(size=150) > 1.5).astype(int)


def piped(last: Any, *before: Any, **options: Any) -> Any:
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    frame, good = people()
    return make_pipeline(*before, PCA(3, **options), last).fit(frame, good)


@pytest.mark.parametrize("kind", ["LogisticRegression", "Ridge", "MLPClassifier"])
@pytest.mark.parametrize("scaled", [False, True])
def test_a_projection_is_one_more_layer(kind: str, scaled: bool) -> None:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    last = {"LogisticRegression": LogisticRegression(), "Ridge": Ridge(),
            "MLPClassifier": MLPClassifier((4,), max_iter=30, random_state=0)}[kind]  # fmt: skip
    model = piped(last, *([StandardScaler()] if scaled else []))
    found = compile_pipeline(model, SPACE)
    table = found.table
    assert isinstance(table, Network) and table.columns == 4
    rows = random_rows(SPACE, 120)
    for row, said in zip(rows, model.predict(found.frame(rows)).tolist(), strict=True):
        if kind == "Ridge":
            assert table.scores(found.row(row))[0] == pytest.approx(said, abs=1e-12)
        else:
            known = class_of(table, found.row(row))
            assert known is None or table.classes[known] == said


@pytest.mark.slow
def test_the_nearest_point_before_a_projection_is_that_of_the_enumeration() -> None:
    import itertools

    from sklearn.linear_model import LogisticRegression

    model = piped(LogisticRegression())
    every = pd.DataFrame(list(itertools.product(range(4), repeat=4)), columns=NAMES)
    said = model.predict(every)
    for place in (0, 77, 200):
        row = every.iloc[place]
        answer = mace.explain(model, SPACE, row.to_dict())
        expected = (every[said != said[place]] - row).abs().sum(axis=1).min() / 12
        assert answer.status == "optimal" and float(answer.exact_distance) == pytest.approx(expected)
        assert answer.certificate.check().accepted


def test_whitening_and_projections_before_trees_are_refused() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    for model, what in ((piped(LogisticRegression(), whiten=True), "whitening"),
                        (piped(DecisionTreeClassifier()), "sums of columns")):  # fmt: skip
        with pytest.raises(ModelError, match=what):
            compile_pipeline(model, SPACE)
