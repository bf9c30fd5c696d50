"""Random models of every kind against enumeration: a few of the problems that `make fuzz` asks without end."""

from __future__ import annotations

import pytest

from tests.fuzz.verify_questions import verify_names, verify_problem

KINDS = len(verify_names())


@pytest.mark.parametrize("seed", range(0, KINDS, 4))
def test_verdicts_about_a_random_model_agree_with_enumeration(seed: int) -> None:
    verify_problem(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(20))
def test_verdicts_about_more_random_models_agree_with_enumeration(block: int) -> None:
    for seed in range(1000 + KINDS * block, 1000 + KINDS * (block + 1)):
        verify_problem(seed)
