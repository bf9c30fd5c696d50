"""One clock decides what is late."""

from __future__ import annotations

import ast
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base import deadline
from mace.base.deadline import NEVER, Deadline, Pace, TimeOverError
from mace.errors import MaceError
from mace.explain.proved import bound
from mace.problem.exclusions import AvoidNear
from mace.problem.proof import Leaf
from mace.problem.question import Question
from mace.solve import background, warm
from mace.solve.driver import pull_back
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.shortening import shorter
from mace.solve.protocol import Found, Limits, Unknown
from mace.space.axes import Point
from tests.clocks import Hand, Ticking, Time


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
    assert readers == {"base/deadline.py"}


def test_the_clock_stands_until_the_last_thread_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand()
    monkeypatch.setattr(deadline, "time", Time(clock))
    monkeypatch.setattr(deadline._Standing, "state", (0.0, None))
    limit = Deadline.after(20.0)
    with ExitStack() as later:
        with deadline.standing():
            later.enter_context(deadline.standing())
        clock.now += 1000.0
        assert limit.left() == 20.0
    clock.now += 5.0
    assert limit.left() == 15.0


def test_a_pace_is_how_much_more_passes_than_this_process_works(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, worked = Hand(), Hand()
    monkeypatch.setattr(deadline.time, "process_time", worked)
    pace = Pace(Deadline.after(9.0, clock))
    assert pace() == 1.0  # nothing has happened
    clock.now, worked.now = clock.now + 3.0, worked.now + 2.0
    assert pace() == 1.5
    worked.now += 8.0  # several threads, or the clock has stood
    assert pace() == 1.0
    clock.now += 100.0  # it has waited
    assert pace() == Pace.MOST


def test_an_alarm_stands_while_the_clock_stands_and_an_outer_one_waits_for_the_inner_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, wound = Hand(), list[float]()
    monkeypatch.setattr(deadline, "time", Time(clock))
    monkeypatch.setattr(deadline._Standing, "state", (0.0, None))
    monkeypatch.setattr(deadline.signal, "setitimer", lambda _, seconds: wound.append(seconds))
    with deadline.alarm(20.0):
        clock.now += 5.0
        with deadline.standing():
            clock.now += 1000.0
        clock.now += 1.0
        with deadline.alarm(2.0):
            clock.now += 1.5
        with deadline.alarm(None):
            pass
    assert wound == [20.0, 0.0, 15.0, 2.0, 0.0, 12.5, 0.0]
    with deadline.standing():
        pass
    assert len(wound) == 7, "the clock of somebody else's alarm is left alone"


def stump() -> tuple[DecisionTreeClassifier, mace.Space, dict[str, int]]:
    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    space = mace.Space.from_frame(frame)
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(frame), frame["age"] >= 40)
    return model, space, {"age": 30, "owns": 0}


def test_compiling_is_not_charged_to_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand()
    monkeypatch.setattr(deadline, "time", Time(clock))

    def slowly(table: object, *, whole: bool) -> float:
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


def test_background_rows_are_read_up_to_the_deadline_and_later_from_there_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "CHUNK", 10)
    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    space = mace.Space.from_frame(frame)
    rows = background.Background(space, frame, lambda part: (part["age"] >= 40).to_numpy())
    assert len(rows.read(Deadline.after(0.0, Hand())).values) == 0
    assert list(rows.nearest(question(), lambda said: said)) == []
    assert len(rows.read(Deadline.after(2.5, Ticking())).values) == 20
    assert rows.read().decisions.tolist() == [False] * 20 + [True] * 20  # type: ignore[union-attr]
    assert rows.values[:, 0].tolist() == list(range(20, 60))


def question() -> Question:
    model, space, row = stump()
    return mace.Explainer(model, space).question(row, True)[0]


def test_a_first_bound_is_pulled_back_up_to_the_deadline() -> None:
    asked = question()
    far = (asked.axes[0].upper, 1)  # type: ignore[union-attr]
    assert pull_back(asked, far, lambda point: True) == (40, 0)
    clock = Hand()
    calls: list[Point] = []

    def confirm(point: Point) -> bool:
        calls.append(point)
        clock.now += 1.0
        return True

    stopped = pull_back(asked, far, confirm, Deadline.after(2.0, clock))
    assert len(calls) == 2 and stopped in calls


@pytest.mark.parametrize("oracle", ["ensembles", "z3"])
@pytest.mark.parametrize("seconds", [1, 5, 20, 60])
def test_an_answer_in_too_little_time_claims_no_more_than_is_proved(
    oracle: str, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, space, row = stump()
    explainer = mace.Explainer(model, space)
    best = explainer.explain(row, goal=True)
    monkeypatch.setattr(deadline, "time", Time(Ticking()))
    found = explainer.explain(row, goal=True, oracle=oracle, timeout=seconds)
    assert found.exact_lower_bound <= best.exact_lower_bound
    if found.status != "optimal":
        assert f"time limit ({seconds} s)" in found.why


def test_a_shorter_proof_is_looked_for_only_in_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    model, space, row = stump()
    explained = replace(mace.explain(model, space, row, goal=True, timeout=2.0), proof=[Leaf("distance")])
    monkeypatch.setattr(bound, "LONG_PROOF", 0)
    searched: list[float | None] = []

    def again(question: object, claim: object, most: int, deadline: Deadline) -> None:
        searched.append(deadline.left())

    monkeypatch.setattr(shorter, "shorter", again)
    assert replace(explained, seconds=0.5).short_proof(Deadline.after(9.0, Hand())) is explained.proof
    assert replace(explained, seconds=0.5).short_proof(Deadline.after(1.0, Hand())) is explained.proof
    assert replace(explained, seconds=2.5).short_proof() is explained.proof
    assert searched == [1.5, 1.0]


def test_cuts_around_an_excluded_ball_end_with_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """In many features there are thousands of them."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(100, 8)))
    frame.columns = list("abcdefgh")
    space = mace.Space([mace.Feature(name, "real", 0, 1) for name in frame])
    tree = DecisionTreeClassifier(random_state=0).fit(space.encode(frame), frame.a + frame.b > 1)
    question = mace.Explainer(tree, space).question(frame.iloc[0] * 0, True)[0]
    found = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(found, Found)
    splits, split = list[int](), Plain._split
    monkeypatch.setattr(Plain, "_split", lambda *given: splits.append(1) or split(*given))
    around = question.away(AvoidNear(found.point, Fraction(1, 8)))
    late = EnsembleOracle(around).ask(None, Limits(Deadline.after(20.0, Ticking())))
    assert isinstance(late, Unknown) and late.lower is not None
    assert 0 < len(splits) < 20
