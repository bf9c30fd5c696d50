"""The README's code prints what the README shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize(
    "number",
    [0, pytest.param(1, marks=[pytest.mark.slow, pytest.mark.data])],
    ids=["ten lines", "pipeline"],
)
def test_the_code_prints_what_stands_below_it(number):
    code, shown = SHOWN[number]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_the_quickstart_has_ten_lines():
    code, _ = SHOWN[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10
