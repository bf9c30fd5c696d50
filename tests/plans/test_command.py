"""`mace plan` and `mace inspect --world`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mace.cli import app
from mace.errors import MaceError

WORLD = "action save:\n    parameter months: int in [1, 12]\n    Savings = Savings + 300 * months\n    cost months\n"


def run(*words: str) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(words))
    return found.exit_code, found.stdout


def test_a_plan_is_printed_and_an_impossible_one_is_told_by_the_exit_code(tmp_path: Path) -> None:
    world, model = tmp_path / "saving.mace", tmp_path / "rich.mace"
    world.write_text(WORLD)
    model.write_text("return 1 if Savings >= 1500 else 0\n")
    typed = ["plan", "--data", "loans", "--model", str(model), "--world", str(world), "--row", "0", "--format", "json"]
    code, printed = run(*typed)
    told = json.loads(printed)
    assert code == 0
    assert told["status"] == "optimal"
    assert [step["action"] for step in told["steps"]] in ([], ["save"])
    model.write_text("return 1 if Savings >= 150001 else 0\n")
    code, printed = run(*typed, "--must-exist")
    assert code == 10
    assert json.loads(printed)["status"] == "infeasible"
    drawn = tmp_path / "plan.svg"
    done = CliRunner().invoke(app, [*typed, "--plot", str(drawn)])
    assert (done.exit_code, drawn.exists()) == (0, False)
    assert "plan.svg is not written: the plan has no step to draw (infeasible)" in done.stderr


@pytest.mark.parametrize("more", [["--plot", "a.svg"], ["--certificate", "a.json"], ["--count", "2"], ["--must-exist"]])
def test_a_front_takes_no_option_about_one_plan(more: list[str], tmp_path: Path) -> None:
    typed = [
        "plan",
        "--data",
        "loans",
        "--model",
        str(tmp_path / "no.mace"),
        "--world",
        "loans",
        "--front",
        "steps",
        *more,
    ]
    done = CliRunner().invoke(app, typed)
    assert isinstance(done.exception, MaceError)
    assert f"{more[0]} is about one plan, and --front finds several" in str(done.exception)


@pytest.mark.parametrize("front", [[], ["--front", "steps"]])
def test_how_many_points_belongs_to_a_front_by_gower(front: list[str], tmp_path: Path) -> None:
    typed = ["plan", "--data", "loans", "--model", str(tmp_path / "no.mace"), "--world", "loans", "--points", "3"]
    done = CliRunner().invoke(app, [*typed, *front])
    assert "--points is about a front by gower" in str(done.exception)


def test_a_world_is_inspected(tmp_path: Path) -> None:
    code, printed = run("inspect", "--data", "loans", "--world", "loans", "--format", "json")
    assert code == 0
    assert len(json.loads(printed)["world"]["actions"]) == 7
    code, printed = run("inspect", "--space", "loans", "--world", "loans")
    assert code == 0
    assert "find a guarantor" in printed


def test_a_plan_is_certified_and_checked(tmp_path: Path) -> None:
    from joblib import dump
    from sklearn.tree import DecisionTreeClassifier

    import mace

    loans = mace.datasets.load("loans")
    model, world, file = tmp_path / "tree.joblib", tmp_path / "saving.mace", tmp_path / "plan.json"
    dump(DecisionTreeClassifier(max_depth=2).fit(loans.space.encode(loans.X), loans.y), model)
    world.write_text(WORLD)
    typed = ["--data", "loans", "--model", str(model), "--trust-pickle", "--world", str(world), "--row", "0"]
    code, printed = run("plan", *typed, "--certificate", str(file))
    assert code == 0
    assert f"certificate written to {file}" in printed and "plan.certify()" not in printed  # that is done
    code, printed = run("check", str(file))
    assert code == 0
    assert printed.startswith("accepted: no plan of at most 1 action")
    code, _ = run("check", str(file), "--model", str(model), "--trust-pickle", "--data", "loans", "--row", "0")
    assert code != 0
