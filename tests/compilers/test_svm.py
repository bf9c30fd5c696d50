"""Support vector machines with a linear kernel decide as the library, whatever it makes of the last bits."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import mace
from mace import Feature, Space
from mace.compilers import read
from mace.errors import ModelError
from mace.tables.decide import class_of
from mace.tables.table import Network

EVERY = np.array(list(itertools.product(range(5), repeat=3)), dtype=np.float64)


def fitted(kind: str, classes: int, **options: Any) -> Any:
    import sklearn.svm

    rng = np.random.default_rng(1)
    X = EVERY[rng.integers(0, len(EVERY), 60)]
    score = X @ [1.0, -1.0, 0.5] + rng.normal(size=60)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)) if classes else score
    return getattr(sklearn.svm, kind)(kernel="linear", **options).fit(X, y)


@pytest.mark.parametrize(("kind", "classes"), [("SVC", 2), ("SVC", 3), ("NuSVC", 2), ("NuSVC", 3)])
def test_a_machine_decides_as_the_library(kind: str, classes: int) -> None:
    model = fitted(kind, classes)
    table: Any = read(model)
    rng = np.random.default_rng(2)
    weights = table.layers[0].weights @ table.layers[1].weights
    near = rng.normal(size=(60, 3))  # on the boundary of some pair
    pair = rng.integers(0, weights.shape[1], 60)
    rest = table.layers[1].bias[pair] + (near[:, 1:] * weights[1:, pair].T).sum(axis=1)
    near[:, 0] = -rest / weights[0, pair]
    rows = np.concatenate([EVERY, near, near + 1e-9, near - 1e-9])
    sure = 0
    for row, said in zip(rows, model.predict(rows).tolist(), strict=True):
        found = class_of(table, row)
        assert found is None or table.classes[found] == said
        sure += found is not None
    assert sure > len(EVERY)


@pytest.mark.parametrize("kind", ["SVR", "NuSVR"])
def test_a_regression_machine_predicts_within_its_margin(kind: str) -> None:
    model = fitted(kind, 0)
    table = read(model)
    assert isinstance(table, Network)
    assert np.abs(table.scores(EVERY)[:, 0] - model.predict(EVERY)).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 3])
def test_the_nearest_point_is_that_of_the_enumeration(classes: int) -> None:
    model = fitted("SVC", classes)
    space = Space([Feature(name, "integer", 0, 4) for name in "abc"])
    said = model.predict(EVERY)
    for row in EVERY[::31]:
        own = said[(row == EVERY).all(axis=1)][0]
        answer = mace.explain(model, space, dict(zip("abc", row.astype(int).tolist(), strict=True)))
        assert answer.status == "optimal", answer.why
        assert float(answer.exact_distance) == pytest.approx(np.abs(EVERY[said != own] - row).sum(axis=1).min() / 12)


def test_other_kernels_and_many_classes_are_refused() -> None:
    import sklearn.svm

    for kernel in ("rbf", "poly"):
        with pytest.raises(ModelError, match=kernel):
            read(sklearn.svm.SVC(kernel=kernel).fit(EVERY, EVERY[:, 0] > 2))
    with pytest.raises(ModelError, match="5 classes"):
        read(sklearn.svm.SVC(kernel="linear").fit(EVERY, EVERY[:, 0]))
    with pytest.raises(ModelError, match="not fitted"):
        read(sklearn.svm.SVC(kernel="linear"))
