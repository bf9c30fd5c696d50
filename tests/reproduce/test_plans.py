"""The comparison of sequences runs, and its figures stand beside the paper's."""

from __future__ import annotations

import pytest

from mace.reproduce import reproduce

pytestmark = [pytest.mark.data, pytest.mark.slow]


def test_the_comparison_of_sequences_on_one_person() -> None:
    made = reproduce("cscf", rows=1, only=["german"], timeout=10)
    assert made.rows == 2
    cheapest = next(figure for figure in made.figures if figure.column == "mean")
    assert cheapest.row == ("german", "scf", "at most 2")
    assert cheapest.ours == pytest.approx(0.56, abs=0.01)
    assert cheapest.paper == 1.444
