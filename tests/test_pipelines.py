"""Where people work: the action and the hook run what they say, and SARIF has what its schema requires."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from mace.cli import app
from tests.test_schemas import faults

ROOT = Path(__file__).parent.parent
SPACE = """mace_space = 1
[[feature]]
name = "Income"
kind = "integer"
lower = 0
upper = 100
"""
MODEL = "# Income: int in 0..100\nif Income > 50:\n    return 1\nreturn 0\n"
SUITE = """suite = 1

[[property]]
property = "monotone(Income, increasing)"
"""
BROKEN = '\n[[property]]\nname = "nobody is approved"\nproperty = "unreachable(1)"\n'
ANY: dict[str, Any] = {"additionalProperties": {}}
# The required properties of the OASIS schema of SARIF 2.1.0, and the enumerations, of what we write.
SARIF = {
    "type": "object", "required": ["version", "runs"], **ANY,
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": {
            "type": "object", "required": ["tool"], **ANY,
            "properties": {
                "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                "tool": {"type": "object", "required": ["driver"], "properties": {
                    "driver": {"type": "object", "required": ["name"], **ANY, "properties": {
                        "name": {"type": "string"},
                        "rules": {"type": "array", "items": {
                            "type": "object", "required": ["id"], "properties": {
                                "id": {"type": "string"}, "name": {"type": "string"},
                                "shortDescription": {"type": "object", "required": ["text"], **ANY},
                            }}}}}}},
                "results": {"type": "array", "items": {
                    "type": "object", "required": ["message"],
                    "properties": {
                        "ruleId": {"type": "string"}, "ruleIndex": {"type": "integer"},
                        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
                        "level": {"enum": ["none", "note", "warning", "error"]},
                        "message": {"type": "object", "required": ["text"], **ANY},
                        "properties": {"type": "object", **ANY},
                        "locations": {"type": "array", "items": {"type": "object", "properties": {
                            "physicalLocation": {"type": "object", "required": ["artifactLocation"], **ANY},
                        }}},
                    }}},
            }}},
    },
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("m.mace", MODEL), ("s.toml", SPACE), ("good.toml", SUITE), ("bad.toml", SUITE + BROKEN)):
        Path(name).write_text(text)
    return tmp_path


def test_the_hook_runs_and_sarif_has_what_its_schema_requires(folder):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["pass_filenames"] is False and hook["language"] == "python"
    given = "--model m.mace --space s.toml --suite {} --sarif out.sarif"
    command = shlex.split(hook["entry"])[1:]
    assert CliRunner().invoke(app, [*command, *shlex.split(given.format("good.toml"))]).exit_code == 0
    ran = CliRunner().invoke(app, [*command, *shlex.split(given.format("bad.toml"))])
    assert ran.exit_code == 10 and "nobody is approved" in ran.output
    log = json.loads(Path("out.sarif").read_text())
    assert faults(log, SARIF) == []
    results = log["runs"][0]["results"]
    assert [result["kind"] for result in results] == ["pass", "fail"]
    assert results[1]["locations"][0]["physicalLocation"]["region"]["startLine"] == 8


@pytest.mark.slow
def test_the_steps_of_the_action_run_as_a_script(folder):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    install, verify = action["runs"]["steps"]
    assert install["run"] == 'python -m pip install --quiet "$GITHUB_ACTION_PATH[solvers]"'
    given = {name: one.get("default", "") for name, one in action["inputs"].items()}
    given |= {"model": "m.mace", "space": "s.toml", "suite": "bad.toml"}
    env = {name: given[text.split("inputs.")[1].split()[0]] for name, text in verify["env"].items()}
    assert set(given) == {text.split("inputs.")[1].split()[0] for text in verify["env"].values()}
    Path("bin").mkdir()
    Path("bin/mace").write_text(f'#!/bin/sh\nexec {sys.executable} -m mace "$@"\n')
    Path("bin/mace").chmod(0o755)
    Path("step.sh").write_text(verify["run"])
    told = {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def step(**changes: str) -> subprocess.CompletedProcess[str]:
        Path("output").unlink(missing_ok=True)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"]
        have = {**os.environ, **env, **told, "PATH": path, "PYTHONPATH": str(ROOT)} | changes
        return subprocess.run(command, check=False, capture_output=True, text=True, env=have)

    ran = step()
    assert ran.returncode == 10, ran.stderr
    assert Path("output").read_text() == "sarif=mace.sarif\nexit-code=10\n"
    assert "proved: monotone(Income, increasing)" in Path("summary").read_text()
    assert len(json.loads(Path("mace.sarif").read_text())["runs"][0]["results"]) == 2
    # What could not be asked has written nothing: what lies there from before is no result of it.
    assert step(SUITE="none.toml").returncode == 2
    assert Path("output").read_text() == "exit-code=2\n" and not Path("mace.sarif").exists()
    assert "ended with exit code 2 and no verdict" in Path("summary").read_text()
