"""`python -m tests.held` of one family of each group; the command itself asks more rows of all."""

from __future__ import annotations

import warnings

import pytest

from tests.held import held, summed
from tests.held_families import GROUPS
from tests.roads import Family

SOME = {
    "wrappers": "voting-number", "means": "votes-forests-boosting", "softmax": "softmax-XGBoost",
    "boosters": "CatBoost-levels", "links": "LightGBM-Gamma", "results": "statsmodels-formula",
    "steps": "steps-PCA-logistic", "encoders": "encoders-Target", "machines": "NuSVC-2", "files": "PMML-general",
    "modules": "torch-3", "boxes": "boxes-votes",
}  # fmt: skip
FAMILIES = [family for group, name in SOME.items() for family in GROUPS[group] if family.name == name]


def test_every_group_has_a_family_here() -> None:
    assert set(SOME) == set(GROUPS) and len(FAMILIES) == len(GROUPS)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_says_what_its_library_says(family: Family) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = held(family, 220, 20, 1)
        except ImportError as error:
            pytest.skip(f"an extra that is not installed: {error.name}")
    assert found.seen.rows == 220 and found.ended.total() == 1
    assert summed("one", [found, None]).startswith("| one | 2 | 220 | ") and summed("one", [found]).endswith(" | 0 |")
