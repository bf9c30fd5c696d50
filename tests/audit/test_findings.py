"""What is planted is found, and what is found is proved; exports and commands say the same."""

from __future__ import annotations

import datetime
import json
import tracemalloc
from decimal import Decimal
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

import mace
from mace.audit import intervals
from mace.audit.cores import minimal
from mace.audit.export import read
from mace.audit.intervals import MANY, ROOM, estimate, share
from mace.audit.record import Record
from mace.cli import app
from mace.errors import FileError, GoalError, MaceError, RowError
from mace.proofs.check import check, load
from mace.report.read import read_audit
from tests.audit import faults


@pytest.fixture(scope="module")
def stuck(tmp_path_factory):
    """Women are refused whatever they do, and sex is fixed: a group without recourse, and a model that uses sex."""
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame) * (frame["Sex"] == "Male"))
    folder = tmp_path_factory.mktemp("certificates")
    rejected = frame[model.predict(faults.space().encode(frame)) == 0].head(30)
    audit = mace.audit(
        model,
        faults.space(),
        rejected,
        ["Sex"],
        goal=1,
        rules=["Debts <= 90"],
        n_jobs=2,
        background=frame,
        certificates=folder,
        protected=["Sex"],
        cores=6,
    )
    return model, rejected, audit, folder


def test_a_group_without_recourse_is_found_with_certificates(stuck):
    _, rejected, audit, folder = stuck
    groups = {line.group: line for line in audit.findings.no_recourse}
    women = (rejected["Sex"] == "Female").sum()
    assert groups["Female"].proved.value == 1.0
    assert groups["Female"].proved.of == women
    assert groups["Male"].proved.count == 0
    assert groups["Female"].proved.lower > groups["Male"].proved.upper
    assert audit.findings.statuses.certified.value == 1.0
    for record in audit.records:
        verdict = check(load(folder / record.certificate))
        assert verdict.accepted
        assert (folder / record.certificate).stat().st_size == record.certificate_bytes


def test_the_shared_part_leaves_certificates_as_explain_writes_them(stuck, tmp_path: Path):
    model, rejected, audit, folder = stuck
    record = audit.records[0]
    answer = mace.explain(model, faults.space(), rejected.iloc[0], goal=1, rules=["Debts <= 90"], background=rejected)
    if answer.witness is None:
        answer.certificate.save(tmp_path / "one.json.gz")
        assert load(folder / record.certificate) == load(tmp_path / "one.json.gz")
    assert load(folder / record.certificate)["statement"]["model"] == answer.certificate.data["statement"]["model"]


def test_what_blocks_the_group_is_its_sex_alone(stuck):
    _, _, audit, _ = stuck
    blocking = audit.findings.blocking
    assert blocking is not None
    assert blocking.examined == blocking.minimal == 6
    assert [(line.constraint, line.in_cores.value, line.opens.value) for line in blocking.constraints] == [
        ("Sex is fixed", 1.0, 1.0)
    ]


def test_decisions_that_rest_on_sex_are_found_and_replay(stuck):
    model, rejected, audit, _ = stuck
    (flips,) = audit.findings.flips
    assert flips.flips.count + flips.never.count == len(rejected)
    matrix = faults.space().encode(rejected)
    other = rejected.assign(Sex=rejected["Sex"].map({"Female": "Male", "Male": "Female"}))
    changed = model.predict(matrix) != model.predict(faults.space().encode(other))
    assert {example["row"] for example in flips.examples} == set(np.flatnonzero(changed))
    assert flips.flips.count > 0


def test_a_model_that_does_not_see_sex_never_flips_by_it():
    frame = faults.people()
    blind = frame.assign(Sex="Male")
    model = faults.forest(blind, faults.fair(frame))
    audit = mace.audit(model, faults.space(), frame, goal=1, limit=8, n_jobs=1, protected=["Sex"])
    (flips,) = audit.findings.flips
    assert (flips.flips.count, flips.never.count, flips.undecided) == (0, 8, 0)


def test_a_number_flips_where_sex_alone_brings_it_into_the_goal():
    frame = faults.people()
    earned = frame["Income"] + 30 * (frame["Sex"] == "Male")
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(faults.space().encode(frame), earned)
    rows = frame.iloc[:20]
    audit = mace.audit(model, faults.space(), rows, goal="y >= 70", rows="all", n_jobs=1, protected=["Sex"])
    (flips,) = audit.findings.flips
    other = rows.assign(Sex=rows["Sex"].map({"Female": "Male", "Male": "Female"}))
    now, then = (model.predict(faults.space().encode(some)) >= 70 for some in (rows, other))
    assert flips.undecided == 0
    assert flips.flips.of == (~now).sum()
    assert {example["row"] for example in flips.examples} == set(np.flatnonzero(~now & then))
    assert flips.flips.count > 0


def test_the_cost_of_forbidding_a_feature_is_what_explaining_without_it_says():
    frame = faults.people()
    older = (frame["Age"] + frame["Income"] > 100).astype(int)
    model = faults.forest(frame, older)
    space = faults.space(Age="any")
    audit = mace.audit(model, space, frame, goal=1, limit=10, n_jobs=2, protected=["Age"], flips=False)
    fixed = {line.how: line for line in audit.findings.forbidding}["fixed"]
    explainer = mace.Explainer(model, space.change(Age="fixed"), background=frame)
    farther, must = [], 0
    for record in audit.records:
        answer = explainer.explain(frame.iloc[record.row], goal=1)
        if answer.status == "infeasible" or answer.distance > record.distance:
            must += 1
            if answer.distance is not None:
                farther.append(answer.distance / record.distance - 1)
    assert fixed.must.count == must > 0
    assert fixed.increase.value == (pytest.approx(np.mean(farther)) if farther else None)


def test_a_core_is_minimal():
    blocked = [{"a", "b"}, {"c"}]  # the ways to be blocked
    blank = Record(0, "0", "core", "k")
    record = minimal(blank, ["a", "b", "c"], lambda kept: "blocked" if any(s <= kept for s in blocked) else "open")
    assert (record.core, record.opens, record.core_minimal) == (["c"], [], True)
    record = minimal(blank, ["a", "b"], lambda kept: "blocked" if {"a", "b"} <= kept else "open")
    assert (record.core, record.opens) == (["a", "b"], ["a", "b"])
    record = minimal(blank, ["a", "b"], lambda kept: "blocked" if len(kept) == 2 else "unknown")
    assert (record.core, record.opens, record.core_minimal) == (["a", "b"], [], False)


def test_intervals_are_those_of_the_textbook():
    wilson = share(1, 10)
    assert (wilson.lower, wilson.upper) == pytest.approx((0.0178762, 0.4041500), abs=1e-6)
    values = np.random.default_rng(0).normal(10, 2, 200).tolist()
    mean = estimate(values, "mean", 7)
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(200)
    assert (mean.lower, mean.upper) == pytest.approx((mean.value - half, mean.value + half), abs=0.06)
    assert estimate(values, "median", 7) == estimate(values, "median", 7)
    assert estimate([3.0, 3.0, 3.0], "median", 0).lower == 3.0
    assert estimate([], "mean", 0).value is None


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_interval_of_many_values_takes_little_memory_and_is_nearly_the_corrected_one(
    statistic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each value left out once was an array of 27,000 times 27,000 numbers, of 18 GB with those made of it."""
    values = np.random.default_rng(0).exponential(size=2 * MANY)
    tracemalloc.start()
    found = estimate(values, statistic, 7)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5 * 8 * ROOM  # indices, what they choose, and the statistic's own copies
    some = values[:500]
    corrected = estimate(some, statistic, 7)
    monkeypatch.setattr(intervals, "MANY", 10)
    monkeypatch.setattr(intervals, "ROOM", 10_000)
    plain = estimate(some, statistic, 7)
    assert found.lower is not None and found.upper is not None and found.lower < found.value < found.upper
    assert corrected.lower is not None and corrected.upper is not None
    assert plain.lower is not None and plain.upper is not None
    width = corrected.upper - corrected.lower
    assert abs(plain.lower - corrected.lower) < 0.2 * width
    assert abs(plain.upper - corrected.upper) < 0.2 * width


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json", ".parquet"])
def test_an_export_reads_back_as_it_was(stuck, tmp_path: Path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    _, _, audit, _ = stuck
    records, groups = read(audit.save(tmp_path / f"rows{suffix}"))
    assert records == audit.records
    assert groups == audit.groups
    assert json.loads(json.dumps(audit.to_dict(), allow_nan=False)) == audit.to_dict()


def test_an_export_of_an_unknown_kind_is_refused(stuck, tmp_path: Path):
    with pytest.raises(FileError, match=r"End it with one of .parquet, .csv, .jsonl, .json"):
        stuck[2].save(tmp_path / "rows.xls")


def test_a_row_outside_the_space_is_a_record_that_says_so():
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame))
    frame.loc[1, "Age"] = 200
    audit = mace.audit(model, faults.space(), frame, goal=1, rows="all", limit=3, n_jobs=1, background=faults.people())
    assert [record.outcome for record in audit.records] == ["optimal", "error", "optimal"]
    assert "lies outside its range" in audit.records[1].why
    assert "row" in str(audit)


@pytest.mark.parametrize(
    "levels",
    [
        [pd.Interval(0, 1), pd.Interval(1, 2)],
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01")],
        [Decimal("0.10"), Decimal("0.20")],
        [b"a", b"b"],
        [(1, 2), (3, 4)],
    ],
    ids=lambda levels: type(levels[0]).__name__,
)
def test_levels_of_any_kind_are_audited_as_they_are_explained(levels: list[object], tmp_path: Path):
    ages = pd.Series(range(20, 40), dtype=object).map(Decimal)  # as databases give numbers
    frame = pd.DataFrame({"Age": ages, "Part": pd.Series([levels[place % 2] for place in range(20)], dtype=object)})
    space = mace.Space([mace.Feature("Age", "integer", 18, 99), mace.Feature("Part", "categorical", levels=levels)])
    model = faults.RandomForestClassifier(2, random_state=0).fit(space.encode(frame), [0, 1] * 10)
    frame.index = pd.MultiIndex.from_product([["a", "b"], range(10)])

    def asked() -> mace.Audit:
        return mace.audit(model, space, frame, goal=1, limit=2, n_jobs=1, checkpoint=tmp_path / "a.sqlite")

    one = asked()
    for record in one.records:
        alone = mace.explain(model, space, frame.iloc[record.row], goal=1)
        assert (record.outcome, record.exact_distance) == ("optimal", str(alone.exact_distance))
        assert record.label == f"('a', {record.row})"
    again = asked()
    assert again.asked == 0 and again.records == one.records == read_audit(tmp_path / "a.sqlite").records


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({}, GoalError, "which rows are rejected depends on the goal"),
        ({"goal": 1, "rows": "some"}, MaceError, "rows must be"),
        ({"goal": 1, "n_jobs": 0}, MaceError, "n_jobs"),
        ({"goal": 1, "limit": 0}, MaceError, "limit"),
        ({"goal": 1, "groups": ["Race"]}, RowError, "no column `Race`"),
        ({"goal": 7}, GoalError, "7"),
    ],
)
def test_wrong_arguments_are_clear_errors(settings, error, message):
    frame = faults.people()
    with pytest.raises(error, match=message):
        mace.audit(faults.forest(frame, faults.fair(frame)), faults.space(), frame, **settings)


def test_the_command_prints_writes_and_ends_with_a_code(tmp_path: Path):
    frame = faults.people()
    joblib.dump(faults.forest(frame, faults.fair(frame)), tmp_path / "model.joblib")
    faults.space().save(tmp_path / "space.toml")
    frame.to_csv(tmp_path / "people.csv", index=False)
    common = [
        "audit", "--model", str(tmp_path / "model.joblib"), "--trust-pickle", "--space", str(tmp_path / "space.toml"),
        "--data", str(tmp_path / "people.csv"), "--goal", "1", "--groups", "Sex", "--limit", "5", "--n-jobs", "1",
        "--checkpoint", str(tmp_path / "a.sqlite"), "--certificates", str(tmp_path / "certificates"),
        "--out", str(tmp_path / "rows.csv"),
    ]  # fmt: skip
    run = CliRunner().invoke(app, common)
    assert run.exit_code == 0, run.output
    assert "recourse by group" in run.stdout
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 5
    again = CliRunner().invoke(app, [*common, "--format", "json", "--resume"])
    said = json.loads(again.stdout[again.stdout.index("{") :])
    assert said["findings"]["statuses"]["certified"]["share"] == 1.0
    assert len(list((tmp_path / "certificates").iterdir())) == 5 + 1  # and the model
