"""One clock decides what is late."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mace
from mace.deadline import NEVER, Deadline, TimeOverError


class Hand:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_deadline_is_over_at_its_end_and_not_before() -> None:
    clock = Hand()
    deadline = Deadline.after(2.0, clock)
    assert deadline.left() == 2.0 and not deadline.over
    deadline.look("counting")
    clock.now += 2.0
    assert deadline.left() == 0.0 and deadline.over
    with pytest.raises(TimeOverError, match=r"^time limit \(2 s\), reached while counting$"):
        deadline.look("counting")


def test_no_part_ends_after_the_whole() -> None:
    clock = Hand()
    whole = Deadline.after(2.0, clock)
    assert whole.share(0.25).left() == 0.5
    assert whole.within(0.5).left() == 0.5
    assert whole.within(5.0).left() == whole.within(None).left() == 2.0
    clock.now += 3.0
    assert whole.share(0.5).over and whole.within(1.0).over
    assert whole.share(0.5).why == "time limit (2 s)"
    assert whole.later(2.0).left() == 1.0


def test_without_a_limit_nothing_is_ever_over() -> None:
    assert NEVER.left() is None and not NEVER.over and NEVER.share(0.5).left() is None
    NEVER.look()
    assert Deadline.after(None).within(None).left() is None


def test_nobody_else_reads_a_clock_to_decide_when_to_stop() -> None:
    """Elsewhere a clock only measures, and then it is `perf_counter`."""
    root = Path(mace.__file__).parent
    readers = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr == "monotonic":
                readers.add(path.relative_to(root).as_posix())
    assert readers == {"deadline.py"}
