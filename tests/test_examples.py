"""Every example runs as a newcomer would run it, and prints what lies beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))
NEEDS_DATA = {"02_forest_on_adult", "06_pipeline_on_adult"}


def _cases() -> list:
    found = []
    for script in SCRIPTS:
        marks = [pytest.mark.slow, *([pytest.mark.data] if script.stem in NEEDS_DATA else [])]
        found.append(pytest.param(script, id=script.stem, marks=marks))
    return found


@pytest.mark.parametrize("script", _cases())
def test_an_example_prints_what_lies_beside_it(script):
    ran = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "COLUMNS": "120"},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == script.with_suffix(".out").read_text(encoding="utf-8")


def test_examples_are_numbered_without_a_gap():
    assert [script.stem[:2] for script in SCRIPTS] == [f"{n:02d}" for n in range(1, len(SCRIPTS) + 1)]
