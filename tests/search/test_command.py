"""`mace explain` on models that no reader takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import joblib
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from mace.cli import app
from mace.datasets import load
from mace.errors import MaceError


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    loans = load("loans")
    X, y = loans.space.encode(loans.X.iloc[:300]), loans.y.iloc[:300]
    joblib.dump(KNeighborsClassifier(5).fit(X, y), folder / "neighbours.joblib")
    joblib.dump(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), folder / "tree.joblib")
    return folder


def run(files: Path, model: str, *options: str) -> Any:
    command = ["explain", "--model", str(files / model), "--trust-pickle", "--data", "loans", "--row", "1", *options]
    return CliRunner().invoke(app, command)


def test_a_model_that_no_reader_takes_is_asked(files: Path) -> None:
    ran = run(files, "neighbours.joblib", "--max-calls", "300", "--random-state", "3", "--format", "json")
    assert ran.exit_code == 5, ran.output
    said = json.loads(ran.stdout)
    assert said["status"] in ("bounded", "unknown")
    assert said["lower_bound"] == 0
    assert said["calls"] <= 300
    assert "nothing is proved: the model is only asked" in said["meaning"]


def test_a_proposer_beside_the_prover_changes_no_verdict(files: Path) -> None:
    alone, beside = (
        json.loads(run(files, "tree.joblib", "--format", "json", *options).stdout)
        for options in ([], ["--proposer", "tabu", "--max-calls", "500"])
    )
    assert (alone["status"], alone["exact_distance"]) == (beside["status"], beside["exact_distance"])
    assert alone["exact_lower_bound"] == beside["exact_lower_bound"]


def test_what_does_not_fit_is_one_message(files: Path) -> None:
    for options, words in (
        (["--proposer", "guess"], "unknown proposer 'guess'"),
        (["--max-calls", "0"], "--max-calls must be a whole number > 0"),
        (["--objective", "l1", "--objective", "changes"], "need a model that is read"),
    ):
        ran = run(files, "neighbours.joblib", *options)
        assert isinstance(ran.exception, MaceError)
        assert words in str(ran.exception)
