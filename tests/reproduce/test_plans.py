"""The comparison of sequences runs, and its figures stand beside the paper's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mace.audit.record import Record
from mace.plans.run import Planner
from mace.reproduce import plans, reproduce
from mace.reproduce.page import to_html

pytestmark = [pytest.mark.data, pytest.mark.slow]


def test_the_comparison_of_sequences_on_one_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "CASES", [case for case in plans.CASES if case.horizon == 2])
    asked = {"rows": 1, "only": ["german", "optima"], "timeout": 30, "folder": tmp_path, "n_jobs": 1}
    made = reproduce("cscf", **asked)  # type: ignore[arg-type]
    assert (made.rows, made.proved) == (1, 1)
    cheapest = next(figure for figure in made.figures if figure.column == "mean")
    assert cheapest.row == ("german", "scf", "at most 2")
    assert cheapest.ours == pytest.approx(0.56, abs=0.01)
    assert cheapest.paper == 1.444
    # What was answered is kept: nobody searches again.
    monkeypatch.setattr(Planner, "plan", lambda *_, **__: pytest.fail("asked again"))
    assert reproduce("cscf", **asked).figures == made.figures  # type: ignore[arg-type]


def test_what_the_published_search_leaves_on_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "PUBLISHED", replace(plans.PUBLISHED, population=60, generations=5))
    monkeypatch.setattr(plans, "CASES", [case for case in plans.CASES if case.method == "cscf"])
    made = reproduce("cscf", rows=1, only=["adult", "brkga"], timeout=60, n_jobs=1)
    ours = {figure.column: figure.ours for figure in made.figures}
    least, mean = ours["least there is"], ours["mean"]
    assert least == pytest.approx(5.0597, rel=0.002)
    assert mean is not None
    assert least is not None
    assert mean >= least
    assert ours["median gap, %"] == ours["largest gap, %"] == pytest.approx(100 * (mean / least - 1))
    (plot,) = made.plots
    assert plot.alt.startswith("proved: 1 action cost")
    assert "<svg" in to_html(made)


def test_of_means_that_a_person_raises_the_persons_plan_is_told() -> None:
    case = plans.Case("german", "scf", 2, 1.5, None, 2)
    records = [
        Record(n, str(n), "", "", "optimal", distance=cost, lower_bound=cost, notes=['[["wait"], 0.5]'])
        for n, cost in enumerate([1.0, 2.0, 9.0])
    ] + [Record(n, str(n), "", "", "infeasible") for n in range(3, plans.PERSONS)]
    (note,) = plans._dearest(case, records)
    assert "person 2, whose plan (wait) costs 9, proved" in note
    assert note.endswith("it is 1.5.")
    shares = {figure.column: figure.ours for figure in plans._costs(case, records)}
    assert (shares["mean"], shares["of as many as the paper has, the cheapest"]) == (4, 1.5)
