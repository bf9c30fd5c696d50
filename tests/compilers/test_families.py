"""Each family: the compiled model says what the library's own `predict` says, on every row that was asked."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from mace.compilers import read
from mace.tables.table import Ensemble
from tests.compilers.families import EVERY, Family, asked, data, decisions, needed, scores

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


@pytest.mark.parametrize("family", EVERY, ids=lambda family: family.name)
def test_compiled_model_predicts_as_the_library(family: Family) -> None:
    if (package := needed(family)) is not None:
        pytest.importorskip(package, reason="an extra that is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = data(family)
        model = family.fit(X, y)
        table = read(model)
        assert isinstance(table, Ensemble)
        rows = asked(family, table, X)
        predicted = model.predict(rows).reshape(len(rows))
    found = scores(table, rows)
    for row, score in list(zip(rows, found, strict=True))[::500]:
        assert table.scores(row).tolist() == score.tolist()
    if family.classes:
        assert decisions(table, found) == predicted.tolist()
    else:
        assert np.array_equal(found[:, 0], predicted)
