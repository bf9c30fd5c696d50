"""An audit says which verdicts rest on values that are missing and stay missing, and that this may be what blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.audit.export import read
from mace.report.make import to_html
from mace.report.read import read_audit
from mace.space.feature import Feature
from mace.space.space import Space

NOTE = '`a` is missing in this row and stays missing (missing="keep"); with missing="fill" it might be given a value'


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> tuple[mace.Audit, Path]:
    X = pd.DataFrame({"a": [np.nan] * 20 + [1.0] * 20 + [3.0] * 20, "b": [0.0, 1.0] * 30})
    model = DecisionTreeClassifier().fit(X, [0] * 40 + [1] * 20)
    space = Space([Feature("a", "integer", 0, 4, missing="keep"), Feature("b", "binary")], ["b == 0 or b == 1"])
    file = tmp_path_factory.mktemp("audit") / "audit.sqlite"
    return mace.audit(model, space, X.iloc[[0, 1, 25]], goal=1, n_jobs=1, checkpoint=file), file


def test_each_record_keeps_the_notes_of_its_answer(audit: tuple[mace.Audit, Path], tmp_path: Path) -> None:
    made, checkpoint = audit
    assert [record.status for record in made.records] == ["infeasible", "infeasible", "optimal"]
    assert [record.notes for record in made.records] == [[NOTE], [NOTE], []]
    for name in ("audit.csv", "audit.jsonl", "audit.parquet"):
        made.save(tmp_path / name)
        assert read(tmp_path / name)[0] == made.records
    assert read_audit(checkpoint).records[0].notes == [NOTE]


def test_terminal_and_page_count_them(audit: tuple[mace.Audit, Path]) -> None:
    made, _ = audit
    assert made.findings.notes == [(NOTE, 2)] and made.about["missing"] == {"a": "keep"}
    assert "stays missing" in str(made)
    page = to_html(made, 0)
    assert "a missing value stays missing, and one that is there stays there" in page
    assert page.count("stays missing (missing=") == 2  # in the table of all rows, and on the page about this one
    assert "Note: `a` is missing" in page
    assert "Note: `a` is missing" not in to_html(made, 2)


def test_what_stays_missing_is_named_where_it_blocks(audit: tuple[mace.Audit, Path]) -> None:
    # Such rows were counted as blocked by the model alone.
    made, _ = audit
    blocking = made.findings.blocking
    assert blocking is not None and blocking.model_alone == 0
    assert [(core, count) for core, count in blocking.cores] == [(("a stays missing",), 2)]
    assert all(record.opens == ["a stays missing"] for record in made.extra["core"])
