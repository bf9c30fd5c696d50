"""One clock decides what is late."""

from __future__ import annotations

import ast
from pathlib import Path

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace import deadline
from mace.deadline import NEVER, Deadline, TimeOverError
from mace.errors import MaceError
from mace.oracles import warm


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


class Time:
    """In place of the module `time` in `mace.deadline`."""

    def __init__(self, clock: Hand) -> None:
        self.monotonic = clock


def stump() -> tuple[DecisionTreeClassifier, mace.Space, dict[str, int]]:
    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    space = mace.Space.from_frame(frame)
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(frame), frame["age"] >= 40)
    return model, space, {"age": 30, "owns": 0}


def test_compiling_is_not_charged_to_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand()
    monkeypatch.setattr(deadline, "time", Time(clock))

    def slowly(table: object) -> float:
        clock.now += 100.0
        return 100.0

    monkeypatch.setattr(warm, "warm", slowly)
    model, space, row = stump()
    assert mace.explain(model, space, row, goal=True, timeout=2.0).status == "optimal"
    assert mace.verify(model, space, "reachable(True)", timeout=2.0).status == "proved"


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), True, "2"])
def test_a_timeout_is_a_number_of_seconds(timeout: object) -> None:
    model, space, row = stump()
    with pytest.raises(MaceError, match=r"^timeout must be a number of seconds > 0, or None for no limit; got"):
        mace.explain(model, space, row, goal=True, timeout=timeout)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match=r"^timeout must be a number of seconds > 0"):
        mace.verify(model, space, "reachable(True)", timeout=timeout)  # type: ignore[arg-type]
