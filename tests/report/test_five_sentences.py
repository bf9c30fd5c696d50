"""The five sentences of an audit that was stopped half way and went on, each against a table made without the audit."""

from __future__ import annotations

import re
import statistics
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.report.read import read_audit
from mace.report.summary import five

ROWS = 30

pytestmark = pytest.mark.slow


def test_a_stopped_audit_says_so_and_its_sentences_are_those_of_the_table_once_it_went_on(tmp_path: Path):
    loans = mace.datasets.load("loans")
    space, rows = loans.space, loans.X.iloc[:500]
    forest = RandomForestClassifier(10, max_depth=4, random_state=3).fit(space.encode(rows), loans.y.iloc[:500])
    kept = tmp_path / "audit.sqlite"

    def stop(_: object, done: int, __: int) -> None:
        if done == ROWS // 2:
            raise KeyboardInterrupt

    asked = {"goal": 1, "groups": ["Sex"], "protected": ["Sex"], "limit": ROWS, "n_jobs": 1, "checkpoint": kept}
    with pytest.raises(KeyboardInterrupt):
        mace.audit(forest, space, rows, callback=stop, **asked)
    half = read_audit(kept)
    count = len(half.records)
    page = mace.report(half, tmp_path / "half.html").read_text(encoding="utf-8")
    assert ROWS // 2 <= count < ROWS
    assert f"<title>Unfinished audit of recourse: RandomForestClassifier ({count} of {ROWS} rows answered)" in page
    assert f"This audit is not finished: {count} of {ROWS} rows were answered" in page
    mace.audit(forest, space, rows, **asked)
    done = read_audit(kept)
    assert done.finished and "Unfinished" not in mace.report(done, tmp_path / "whole.html").read_text(encoding="utf-8")

    refused = np.flatnonzero(forest.predict(space.encode(rows)) == 0)[:ROWS]
    people = rows.iloc[refused]
    answers = [mace.Explainer(forest, space).explain(row, goal=1) for _, row in people.iterrows()]
    decided, stuck, farther, protected, open_ = (said.text for said in five(done))
    near = sum(answer.status == "optimal" for answer in answers)
    none = sum(answer.status == "infeasible" for answer in answers)
    assert near + none == ROWS and decided.startswith(f"{ROWS} rows were asked about, and all are decided with proof")
    assert ("Nobody is stuck" in stuck) if not none else stuck.startswith(f"{none:,} (")
    medians = {
        sex: statistics.median(a.distance for a, s in zip(answers, people.Sex, strict=True) if s == sex and a.distance)
        for sex in ("female", "male")
    }
    far, close = sorted(medians, key=medians.__getitem__, reverse=True)
    said = re.search(r"By Sex, (\w+) must go ([\d.]+) times as far as (\w+) at the median", farther)
    assert said and said.group(1, 3) == (far, close)
    assert float(said[2]) == pytest.approx(medians[far] / medians[close], rel=0.05)  # two figures are shown
    other = people.assign(Sex=people.Sex.map({"male": "female", "female": "male"}))
    flips = rows.index[refused[forest.predict(space.encode(other)) == 1]].tolist()
    named = f"{len(flips):,} decision{'s flip' if len(flips) > 1 else ' flips'} on Sex alone: row"
    assert protected.startswith(named if flips else "No decision is known to flip on Sex alone")
    assert all(str(label) in protected for label in flips[:5])
    assert open_.startswith("No row stayed open")
