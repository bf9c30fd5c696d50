"""Encoders of category_encoders in a pipeline: every level, one that training had not, and missing values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mace.compilers.pipeline.reader import compile_raw
from mace.errors import ModelError
from mace.space.space import Space
from mace.tables.decide import class_of
from tests.held_families import ENCODED, FOREST, behind_encoder
from tests.roads import frame_of

pytest.importorskip("category_encoders")
SPACE = Space(ENCODED)
POINTS = [
    dict(zip(SPACE.names, point, strict=True))
    for point in itertools.product(
        (0, 2, 3, 5), ("north", "east", "south", "new", None), (0.0, 1000.0, 3000.0), ("low", "middle", "high")
    )
]


def fitted(name: str) -> Any:
    rng = np.random.default_rng(3)
    rows = [POINTS[int(k)] for k in rng.integers(0, len(POINTS), 90)]
    y = np.array([(row["age"] > 2) + (row["region"] == "east") + rng.random() > 1.2 for row in rows]).astype(int)
    return behind_encoder(name, FOREST)(frame_of(SPACE, rows, True), y, rng)


@pytest.mark.parametrize("name", ["OneHot", "Count"])
def test_a_table_says_what_the_pipeline_says(name: str) -> None:
    model = fitted(name)
    found = compile_raw(model, SPACE)
    assert found is not None
    said = model.predict(frame_of(SPACE, POINTS, True)).tolist()
    for point, label in zip(POINTS, said, strict=True):
        place = class_of(found.table, found.row(point))
        assert place is None or found.table.classes[place] == label


def test_what_counts_hashes_of_all_columns_is_refused() -> None:
    with pytest.raises(ModelError, match="HashingEncoder"):
        compile_raw(fitted("Hashing"), SPACE)
