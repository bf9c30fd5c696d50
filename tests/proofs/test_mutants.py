"""Changes of the kernel that no vector notices are recorded with reasons; soundness.md names them; no others come."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.mutation.kernel import FILES, PROOFS, SOUNDNESS, Runner, all_changes, reasons, recorded, with_table


def test_what_is_recorded_is_a_change_of_the_kernel() -> None:
    for name, keys in recorded().items():
        found = Counter(c.key for c in all_changes(ast.parse((PROOFS / "kernel" / f"{name}.py").read_text("utf-8"))))
        assert Counter(keys) <= found, Counter(keys) - found


def test_each_survivor_has_a_reason_and_stands_in_the_document() -> None:
    assert all(reason for why in reasons().values() for reason in why)
    text = SOUNDNESS.read_text("utf-8")
    assert with_table(text) == text, "python -m tests.mutation.kernel --table writes it anew"


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """What is said of the vectors is found out once for all files; whatever is noticed is enough."""
    return Runner(tmp_path_factory.mktemp("mutants") / "kept.json", verdicts=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FILES if name in recorded()])
def test_a_sample_of_other_changes_is_noticed(name: str, runner: Runner) -> None:
    known = set(recorded()[name])
    _, survivors = runner.file(name, lambda found: [change for change in found if change.key not in known][7::47])
    assert not survivors, [change.key for change in survivors]
