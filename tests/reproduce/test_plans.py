"""The comparison of sequences runs, and its figures stand beside the paper's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mace.reproduce import plans, reproduce
from mace.reproduce.page import to_html

pytestmark = [pytest.mark.data, pytest.mark.slow]


def test_the_comparison_of_sequences_on_one_person() -> None:
    made = reproduce("cscf", rows=1, only=["german"], timeout=10)
    assert made.rows == 2
    cheapest = next(figure for figure in made.figures if figure.column == "mean")
    assert cheapest.row == ("german", "scf", "at most 2")
    assert cheapest.ours == pytest.approx(0.56, abs=0.01)
    assert cheapest.paper == 1.444


def test_what_the_published_search_leaves_on_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "PUBLISHED", replace(plans.PUBLISHED, population=60, generations=5))
    monkeypatch.setattr(plans, "CASES", ())
    made = reproduce("cscf", rows=1, only=["adult", "brkga"], timeout=60)
    ours = {figure.column: figure.ours for figure in made.figures}
    assert ours["mean of the least"] == pytest.approx(5.0597, rel=0.002)
    assert ours["mean"] >= ours["mean of the least"]
    assert ours["median of the gaps, %"] == ours["largest gap, %"] >= 0
    (plot,) = made.plots
    assert plot.alt.startswith("proved: 1 action cost")
    assert "<svg" in to_html(made)
