"""`mace plan` and `mace inspect --world`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from mace.cli import app

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


def test_a_world_is_inspected(tmp_path: Path) -> None:
    code, printed = run("inspect", "--data", "loans", "--world", "loans", "--format", "json")
    assert code == 0
    assert len(json.loads(printed)["world"]["actions"]) == 7
    code, printed = run("inspect", "--space", "loans", "--world", "loans")
    assert code == 0
    assert "find a guarantor" in printed
