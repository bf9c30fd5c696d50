"""The table of a random pipeline decides as the pipeline: on every point of its space, alone and in a batch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from mace.compilers.deployed import quiet
from mace.compilers.pipeline.reader import CompiledPipeline, compile_pipeline
from mace.tables.decide import decides
from mace.tables.table import Formula, decision_for
from tests.compilers.random_pipelines import MODELS, World, world
from tests.marks import exhaustive_from

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

LIBRARIES = {"xgboost": "xgboost", "lightgbm": "lightgbm"}


def may_say(compiled: CompiledPipeline, row: dict[str, Any], label: Any) -> bool:
    table = compiled.table
    assert not isinstance(table, Formula)
    if table.classes:
        return decides(table, decision_for(table, {label}), compiled.row(row)) is not False
    return bool(np.isclose(table.scores(compiled.row(row))[0], label, rtol=1e-6, atol=1e-6))


def disagreements(one: World) -> list[dict[str, Any]]:
    """The rows for which the library says what the table cannot."""
    compiled = compile_pipeline(one.model, one.space)
    with quiet():
        said = compiled.predict(compiled.frame(one.points)).tolist()
        alone = [compiled.predict(compiled.frame([row])).tolist()[0] for row in one.points[:3]]
    asked = [*zip(one.points, said, strict=True), *zip(one.points, alone, strict=False)]
    return [row for row, label in asked if not may_say(compiled, row, label)]


# `make fuzz` makes other pipelines of the same models.
@pytest.mark.parametrize("worlds", exhaustive_from(3, (2, 10)))
@pytest.mark.parametrize("name", MODELS)
def test_a_random_pipeline_is_followed_to_the_last_bit(name: str, worlds: int) -> None:
    for library in LIBRARIES:
        if library in name:
            pytest.importorskip(library, reason="an extra that is not installed")
    drawn = (world(np.random.default_rng(seed), name) for seed in range(5 * worlds + 10))
    found = list(itertools.islice((one for one in drawn if one is not None), worlds))
    assert len(found) == worlds
    for one in found:
        assert not disagreements(one), one.told
