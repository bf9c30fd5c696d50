"""Figures by group are those of fairlearn's MetricFrame, and what a tracker logs is what it takes."""

from __future__ import annotations

import csv
import math
import re
from fractions import Fraction

import pytest

from mace.errors import MaceError, RowError
from tests.report import made


@pytest.fixture(scope="module")
def audit():
    records = [
        made.found(0, Fraction(1, 4)), made.found(1, Fraction(1, 2)), made.blocked(2), made.found(3, Fraction(1, 8)),
        made.failed(4), made.found(5, Fraction(1, 2), Fraction(1, 4)),
    ]  # fmt: skip
    groups = {"Sex": ["f", "f", "f", "m", "m", "m"], "Old <b>": ["y", "n", "y", "y", "n", "n"]}
    return made.audit(records=records, extra={}, groups=groups)


def test_each_group_has_its_figures(audit):
    found = audit.by_group("Sex")
    assert found.by_group.index.name == "Sex" and list(found.by_group.index) == ["f", "m"]
    f, m = found.by_group.loc["f"], found.by_group.loc["m"]
    assert (f["rows"], f["no_recourse"], f["undecided"], f["median_distance"]) == (3, 1 / 3, 0, 0.375)
    # A counterfactual that is not proved to be the nearest has no distance here, but changes.
    assert (m["no_recourse"], m["no_recourse_at_most"], m["mean_distance"], m["mean_changes"]) == (0, 2 / 3, 0.125, 1)
    assert (found.overall["rows"], found.overall["no_recourse"]) == (6, 1 / 6)


def test_groups_that_are_numbers_stand_in_their_order():
    records = [made.found(n, Fraction(1, n + 2)) for n in range(5)]
    audit = made.audit(records=records, extra={}, groups={"Age": ["10", "9", "None", "nan", "-2.5"]})
    in_order = ["-2.5", "9", "10", "None", "nan"]
    assert list(audit.by_group("Age").by_group.index) == in_order
    assert [line.group for line in audit.findings.no_recourse] == ["everyone", *in_order]


def test_differences_and_ratios_are_fairlearns(audit):
    found = audit.by_group("Sex")
    assert found.difference()["no_recourse"] == 1 / 3 and found.difference("to_overall")["no_recourse"] == 1 / 6
    assert found.ratio()["median_distance"] == pytest.approx(1 / 3)
    # 0.375 and 0.125 of 0.25: the farther one is 1/2.
    assert found.ratio("to_overall")["median_distance"] == 0.5
    assert found.group_max()["rows"] == found.group_min()["rows"] == 3
    with pytest.raises(MaceError, match="Did you mean 'to_overall'"):
        found.ratio("to_overal")


def test_several_groups_are_compared_in_all_combinations(audit):
    found = audit.by_group()
    assert list(found.by_group.index) == [("f", "n"), ("f", "y"), ("m", "n"), ("m", "y")]
    assert found.by_group.loc[("m", "n"), "undecided"] == 1 and math.isnan(
        found.by_group.loc[("m", "n"), "mean_distance"]
    )
    assert "<b>" not in found._repr_html_()


def test_groups_that_there_are_not_are_said_to_be_none(audit):
    with pytest.raises(RowError, match="Did you mean 'Sex'"):
        audit.by_group("sex")
    with pytest.raises(RowError, match="has no groups"):
        made.audit(records=[], extra={}, groups={}).by_group()


def test_a_tracker_gets_names_numbers_and_files_that_it_takes(audit, tmp_path):
    params, metrics, folder = audit.tracked(tmp_path / "files")
    names = [*params, *metrics]
    assert all(re.fullmatch(r"[A-Za-z0-9_\-./ ]{1,250}", name) for name in names) and len(set(names)) == len(names)
    assert all(isinstance(value, str) and len(value) <= 500 for value in params.values())
    assert all(isinstance(value, float) and math.isfinite(value) for value in metrics.values())
    assert metrics["rows/timeout"] == 1 and metrics["by_group/Sex/f/no_recourse"] == 1 / 3
    assert metrics["by_group/Old_b_/n/rows"] == 3
    assert {path.name for path in folder.iterdir()} == {"audit.json", "report.html", "by_group.csv"}
    assert next(csv.reader((folder / "by_group.csv").open()))[:3] == ["Sex", "Old <b>", "rows"]
