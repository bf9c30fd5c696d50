"""Changes of the kernel that no vector notices are recorded; soundness.md counts them; no others come."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.mutation.kernel import FILES, PROOFS, Runner, all_changes, recorded


def test_what_is_recorded_is_a_change_of_the_kernel() -> None:
    for name, keys in recorded().items():
        found = Counter(c.key for c in all_changes(ast.parse((PROOFS / "kernel" / f"{name}.py").read_text("utf-8"))))
        assert Counter(keys) <= found, Counter(keys) - found


def test_the_list_of_survivors_is_as_long_as_soundness_says() -> None:
    said = re.findall(r"^\| `(\w+)\.py` \| \d+ \| (\d+) \|", (PROOFS / "soundness.md").read_text("utf-8"), re.MULTILINE)
    assert dict(said) == {name: str(len(keys)) for name, keys in recorded().items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name in recorded()])
def test_a_sample_of_other_changes_is_noticed(name: str, tmp_path: Path) -> None:
    known = set(recorded()[name])
    runner = Runner(tmp_path / "kept.json")
    _, survivors = runner.file(name, lambda found: [change for change in found if change.key not in known][7::23])
    assert not survivors, [change.key for change in survivors]
