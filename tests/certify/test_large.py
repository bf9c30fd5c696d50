"""Forests that are too large for the checker: the answer says so, and no file is written that nobody reads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from mace import Answer, Space, explain
from mace.audit.certificates import Writers
from mace.certify import writer
from mace.errors import CertificateError
from mace.proofs import reader


def answer(trees: int = 4) -> Answer:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    model = RandomForestClassifier(trees, random_state=0).fit(frame, frame.a + frame.b * frame.c > 0)
    return explain(model, Space.from_frame(frame), frame[~model.predict(frame)].iloc[0], goal=True)


def spans(made: Answer) -> int:
    """What the checker counts of the sides of leaves."""
    trees = made.certificate.data["statement"]["model"]["trees"]
    return sum(min(reader.depths(tree), 3 * len(tree["column"])) for tree in trees)


@pytest.mark.parametrize("limit", ["MAX_NODES", "MAX_SPANS", "MAX_HELD"])
def test_the_answer_says_what_the_checker_would(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = answer()
    nodes = sum(tree.nodes for tree in fits.question.model.trees)
    most = {"MAX_NODES": nodes, "MAX_SPANS": spans(fits), "MAX_HELD": nodes}[limit]  # one comparison
    made = fits.certificate
    monkeypatch.setattr(reader, limit, most)
    assert answer().certificate.check().accepted and made.check().accepted and not answer().notes
    monkeypatch.setattr(reader, limit, most - 1)
    verdict = made.check()
    assert verdict.unusable and f"more than {most - 1} " in str(verdict)
    again = answer()
    assert again.status == "optimal" and again.distance == fits.distance
    assert any(verdict.reason in note for note in again.notes)
    with pytest.raises(CertificateError, match=f"{verdict.reason}, and this model has more"):
        again.certificate  # noqa: B018  # it is made where it is asked for


def test_a_deep_tree_counts_its_axes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a path that tests an axis again and again the checker keeps one side."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": np.arange(200.0)})
    model = ExtraTreesClassifier(2, random_state=0).fit(frame, rng.random(200) < 0.5)
    goal = not model.predict(frame.iloc[:1])[0]
    made = explain(model, Space.from_frame(frame), frame.iloc[0], goal=bool(goal)).certificate
    trees = made.data["statement"]["model"]["trees"]
    nodes = sum(len(tree["column"]) for tree in trees)
    assert sum(map(reader.depths, trees)) > nodes
    for most, accepted in ((nodes, True), (nodes - 1, False)):
        monkeypatch.setattr(reader, "MAX_SPANS", most)
        assert made.check().accepted == accepted
        again = explain(model, Space.from_frame(frame), frame.iloc[0], goal=bool(goal))
        assert bool(again.notes) != accepted


@pytest.mark.parametrize("limit", ["MAX_BYTES", "MAX_VALUES"])
def test_a_text_that_no_checker_reads_is_not_written(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = answer()
    raw = writer.canonical(made.certificate.data)
    counts = {"MAX_BYTES": len(raw), "MAX_VALUES": raw.count(b",") + raw.count(b"[") + raw.count(b"{")}
    monkeypatch.setattr(reader, limit, counts[limit])
    for name in ("one.json", "one.json.gz"):
        assert reader.load(made.certificate.save(tmp_path / name)) == json.loads(raw)
        (tmp_path / name).unlink()
    monkeypatch.setattr(reader, limit, counts[limit] - 1)
    for name in ("one.json", "one.json.gz"):
        with pytest.raises(CertificateError, match=f"more than {counts[limit] - 1} .*, which no checker reads"):
            made.certificate.save(tmp_path / name)
    monkeypatch.setattr(reader, limit, 100)
    with pytest.raises(CertificateError, match=r"more than 100 .*, which no checker reads"):
        Writers().save(made, tmp_path / "shared.json.gz")
    assert not list(tmp_path.iterdir())
