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
    compare(family)


THREADED = ("HistGradientBoostingClassifier-3-categories", "LGBMClassifier-2", "XGBClassifier-2")


@pytest.mark.parametrize("family", [family for family in EVERY if family.name in THREADED], ids=lambda one: one.name)
def test_and_so_where_the_library_predicts_in_several_threads(family: Family) -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    pytest.importorskip(needed(family) or "sklearn.ensemble", reason="an extra that is not installed")
    with threadpool_limits(3):  # the Makefile gives the tests one
        assert 3 in [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "openmp"]
        compare(family)


def compare(family: Family) -> None:
    """The compiled model beside the library, on all rows that are asked."""
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
