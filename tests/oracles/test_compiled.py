"""Compiled code is ready before a question, kept where it can be, and never a reason to fail."""

from __future__ import annotations

import ast
import hashlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mace
from mace.base import deadline
from mace.certify import ready
from mace.solve import ahead, code_files, compiled, native, warm
from mace.tables.table import Ensemble, Layer, Network

PACKAGE = Path(mace.__file__).parent
ROOT = PACKAGE.parent

NOTHING_NEW = """
from mace.solve.compiled import at_once
at_once()
from mace.solve.ensembles.points import balls, greedy
from mace.solve.ensembles.boxes import book, search, separating
from mace.solve.ensembles.arrays import walk
from mace.solve.networks import aims, kernels, relax, simplex, trials
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Limits
from mace.solve.networks import search as networks_search
from mace.solve.warm import tightening, warm
from mace.tables.table import Ensemble
from tests.oracles.small_ensembles import random_question as random_ensemble
from tests.reference import random_question

def signatures():
    modules = (balls, book, greedy, search, separating, walk, aims, kernels, relax, simplex, trials)
    functions = {id(f): (n, len(f.signatures)) for m in modules for n, f in vars(m).items() if hasattr(f, "signatures")}
    return sorted(functions.values())

questions = [random_ensemble(seed) for seed in range(12)] + [random_question(seed, "network") for seed in range(12)]
for kind in ({type(question.model): question.model for question in questions}).values():
    warm(kind)
tightening()
networks_search.STALLED = 1  # what narrows hidden units is asked for as soon as may be
before = signatures()
assert before and aims.aims.signatures and trials.tried.signatures
for question in questions:
    oracle = EnsembleOracle(question) if isinstance(question.model, Ensemble) else NetworkOracle(question)
    oracle.ask(None, Limits.of(20.0))
assert signatures() == before, [pair for pair in signatures() if pair not in before]
"""


ELABORATION = """
from mace.solve.compiled import at_once
at_once()
from mace.certify import elaboration
from mace.certify.writer import certificate
from mace.solve.ensembles.shortening import pruning
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks import kernels
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits
from mace.tables.table import Ensemble
from tests.oracles.small_ensembles import random_question as random_ensemble
from tests.reference import random_question

def signatures():
    functions = [*vars(pruning).items(), *vars(kernels).items()]
    return sorted((n, len(f.signatures)) for n, f in functions if hasattr(f, "signatures"))

questions = [random_ensemble(seed) for seed in range(30)] + [random_question(seed, "network") for seed in range(8)]
for kind in ({type(question.model): question.model for question in questions}).values():
    elaboration.warm(kind)
before = signatures()
assert any(count for _, count in before)
written = 0
for question in questions:
    oracle = EnsembleOracle(question) if isinstance(question.model, Ensemble) else NetworkOracle(question)
    reply = oracle.ask(None, Limits.of(20.0))
    if reply.proof is None:
        continue
    found = isinstance(reply, Found)
    certificate(question, reply.lower if found else None, reply.point if found else None, reply.proof)
    written += 1
assert written > 10
assert signatures() == before, [pair for pair in signatures() if pair not in before]
"""


ALL_AHEAD = """
import importlib
from mace.certify.ready import KINDS
from mace.solve import code_files
from mace.solve.ahead import kind_of
from mace.solve.compiled import Function, at_once

at_once()
for make in KINDS.values():
    make()
modules = [f"mace.solve.{name.removesuffix('.py').replace('/', '.')}" for name in code_files.SOURCES]
functions = {f for m in modules if kind_of(m) for f in vars(importlib.import_module(m)).values() if type(f) is Function}
assert len(functions) > 150
left = {f.name for f in functions if not f.signatures and not code_files.holds(f"{f.name}-inner")}
assert not left, left
"""


INTERPRETED = """
import pathlib
from mace.solve import code_files, compiled
code_files.folders = lambda: iter([pathlib.Path({folder!r})])
compiled._interpreting.patience = 1e9

from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits, Refuted
from mace.certify.writer import certificate
from tests.oracles.small_ensembles import bounds, random_question as random_ensemble
from tests.reference import random_question

def accepted(question, reply):
    found = isinstance(reply, Found)
    lower, witness = (reply.lower, reply.point) if found else (None, None)
    assert certificate(question, lower, witness, reply.proof).check().accepted

for question in [random_ensemble(seed) for seed in range(25)]:
    possible, certain = bounds(question)
    reply = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(reply, Refuted) or question.distance_of(reply.point) == certain and reply.lower == possible
    assert isinstance(reply, Refuted) == (possible is None)
    accepted(question, reply)
for question in [random_question(seed, "network") for seed in range(8)]:
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, (Found, Refuted))
    accepted(question, reply)
assert not list(pathlib.Path({folder!r}).iterdir()), "something was compiled"
"""


def run(code: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_after_warming_no_question_compiles_or_loads_anything() -> None:
    run(NOTHING_NEW)


@pytest.mark.slow
def test_after_warming_no_certificate_compiles_or_loads_anything() -> None:
    run(ELABORATION)


@pytest.mark.slow
def test_a_new_installation_answers_as_all_points_do_and_compiles_nothing(tmp_path: Path) -> None:
    run(INTERPRETED.format(folder=str(tmp_path)))


def test_the_state_of_the_sources_covers_every_file_that_compiled_code_takes_names_from() -> None:
    needed = set()
    solve = PACKAGE / "solve"
    for path in solve.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        decorated = any(
            isinstance(node, ast.FunctionDef)
            and any(ast.unparse(d) in ("compiled", "lean") for d in node.decorator_list)
            for node in tree.body
        )
        if decorated:
            needed.add(path.relative_to(solve).as_posix())
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mace."):
                    needed.add(node.module.removeprefix("mace.solve.").replace(".", "/") + ".py")  # type: ignore[union-attr]
    assert needed - {"compiled.py", "mace/base/deadline.py"} == set(code_files.SOURCES)


def twice(number: int) -> int:
    return 2 * number


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("compiled-*/test_compiled.twice-*.bin"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(code_files, "folders", lambda: iter([tmp_path / "blocked", tmp_path]))
    monkeypatch.setattr(code_files._Listing, "until", -math.inf)  # what an earlier test wrote is not there
    (tmp_path / "blocked").write_text("a file where a folder is looked for")
    return tmp_path


def test_code_is_kept_in_the_first_folder_that_can_be_written_and_loaded_from_there(folder: Path) -> None:
    assert compiled.compiled(twice)(4) == 8
    assert len(kept(folder)) == 1
    again = compiled.compiled(twice)
    assert again(4) == 8
    assert sum(again.made.stats.cache_hits.values()) == 1 and not again.made.stats.cache_misses  # type: ignore[attr-defined]


def test_a_function_is_interpreted_until_it_is_worth_compiling(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert compiled._interpreting.over  # the tests ask much
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 10.0)
    made: Any = compiled.compiled(twice)
    assert made(4) == 8
    assert not made.signatures and not kept(folder)
    monkeypatch.setattr(compiled._interpreting, "spent", 2e9)
    assert made(4) == 8
    assert made.signatures and kept(folder)
    monkeypatch.setattr(compiled._interpreting, "spent", 0.0)
    again: Any = compiled.compiled(twice)
    assert again(4) == 8 and not again.signatures, "what is on disk is not read for a small question"
    monkeypatch.setattr(compiled._interpreting, "spent", 10.0)
    assert again(4) == 8 and again.signatures, "what is on disk is read long before it would be compiled"


def worth_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a new installation, in a process that has interpreted for long."""
    monkeypatch.setattr(compiled._interpreting, "patience", 1.0)
    monkeypatch.setattr(compiled._interpreting, "reading", 0.5)
    monkeypatch.setattr(compiled._interpreting, "spent", 2.0)


def test_a_function_is_interpreted_while_another_process_compiles_and_read_when_that_has_made_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worth_compiling(monkeypatch)
    monkeypatch.setattr(ahead, "under_way", lambda module: True)
    made: Any = compiled.compiled(twice)
    assert made(4) == 8 and not made.ready
    assert not made.signatures and not kept(folder)
    compiled.compiled(twice).made(4)  # as the other process does
    assert made(4) == 8 and made.ready
    assert sum(made.made.stats.cache_hits.values()) == 1


def test_no_process_is_started_for_what_is_there_and_waits_for_the_end_of_an_interpreted_call(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A climb through three million nodes began interpreted, and what it called was on disk for compiled callers."""
    monkeypatch.setattr(ahead, "under_way", lambda module: pytest.fail("nothing is to be compiled"))
    monkeypatch.setattr(code_files, "holds", lambda name: name.endswith("-inner"))
    inner: Any = compiled.compiled(twice)

    def climb(number: int) -> int:
        worth_compiling(monkeypatch)
        return inner(number)  # type: ignore[no-any-return]

    monkeypatch.setattr(compiled._interpreting, "patience", 1.0)
    monkeypatch.setattr(compiled._interpreting, "spent", 0.0)
    assert compiled._interpreting.call(climb, (4,)) == 8
    assert not inner.signatures


def test_a_function_is_compiled_here_when_the_other_process_ended_without_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worth_compiling(monkeypatch)
    monkeypatch.setattr(ahead, "under_way", lambda module: False)
    made: Any = compiled.compiled(twice)
    assert made(4) == 8
    assert made.signatures and kept(folder)


def test_a_process_is_started_once_for_each_kind_and_compiles_what_is_not_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    class Child:
        def __init__(self, command: list[str], **_: object) -> None:
            started.append(command)
            self.ended: int | None = None

        def poll(self) -> int | None:
            return self.ended

    monkeypatch.setattr(ahead.subprocess, "Popen", Child)
    monkeypatch.setattr(ahead, "_started", {})
    monkeypatch.setattr(ahead, "_works_until", {})
    assert ahead.under_way("mace.solve.ensembles.boxes.search") and ahead.under_way("mace.solve.ensembles.arrays.walk")
    assert ahead.under_way("mace.solve.networks.relax")
    assert [command[-2:] for command in started] == [[ahead.MADE_BY, "ensembles"], [ahead.MADE_BY, "networks"]]
    for child in ahead._started.values():
        child.ended = 1  # type: ignore[union-attr]
    monkeypatch.setattr(ahead, "_works_until", {})  # a look at a process counts for a moment
    assert not ahead.under_way("mace.solve.ensembles.boxes.search"), "it failed: nobody waits for it"
    assert not ahead.under_way("elsewhere")


def test_no_process_is_started_where_it_could_keep_nothing_or_there_is_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object, **__: object) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(ahead.subprocess, "Popen", none)
    monkeypatch.setattr(ahead, "_started", {})
    monkeypatch.setattr(ahead, "_works_until", {})
    assert not ahead.under_way("mace.solve.ensembles.boxes.search")
    monkeypatch.setattr(code_files, "folders", lambda: iter([Path("/proc/nothing/can/be/made/here")]))
    assert not ahead.under_way("mace.solve.networks.relax")
    with ahead.alone():
        pass


def test_nothing_is_said_of_a_process_that_outlives_the_one_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        monkeypatch.setattr(ahead, "_started", {"any": Reported(child)})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ahead._forget()
        assert not ahead._started and child.poll() is None
    assert not said


class Reported:
    """A process whose end is warned of as `subprocess` does it."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self.child = child

    def __del__(self) -> None:
        if self.child.returncode is None:
            warnings.warn("still running", ResourceWarning, stacklevel=1)


def test_what_is_compiled_ahead_is_said_of_every_file_of_a_search() -> None:
    assert ready.__name__ == ahead.MADE_BY
    modules = [f"mace.solve.{name.removesuffix('.py').replace('/', '.')}" for name in code_files.SOURCES]
    kinds = {module.rpartition(".")[2]: ahead.kind_of(module) for module in modules}
    of_no_search = {name for name, kind in kinds.items() if kind is None}
    assert of_no_search == {"best_leaves", "compatible"}
    assert set(filter(None, kinds.values())) == set(ready.KINDS)


@pytest.mark.slow
def test_every_function_of_a_search_is_compiled_ahead() -> None:
    run(ALL_AHEAD)


@pytest.mark.slow
def test_the_process_that_compiles_ahead_ends_well() -> None:
    for kind in ready.KINDS:  # the tests have compiled it before
        done = subprocess.run(
            [sys.executable, "-P", "-m", ahead.MADE_BY, kind], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False
        )
        assert done.returncode == 0


def test_what_compiled_functions_call_is_compiled_once_for_all_integers(folder: Path) -> None:
    inner = compiled.compiled(twice)

    def calls(number: int) -> int:
        return inner(number) + inner(1) + inner(2)  # type: ignore[no-any-return]

    assert compiled.compiled(calls)(4) == 14
    assert len(inner.signatures) == 1  # type: ignore[attr-defined]


def test_before_a_wide_network_nothing_is_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One relaxation of 200 hidden units takes seconds to minutes then, and no deadline ends it."""
    monkeypatch.setattr(compiled, "_interpreting", compiled._Interpreting())
    narrow = warm.about_layers().model
    assert isinstance(narrow, Network)
    warm.warm(narrow)
    assert compiled.interpreted()
    wide = Layer(np.ones((4, warm.WIDE)), np.ones(warm.WIDE), "relu")
    last = Layer(np.ones((warm.WIDE, 1)), np.ones(1), "identity")
    warm.warm(replace(narrow, layers=(wide, last)))
    assert not compiled.interpreted()


@pytest.mark.parametrize("there", [False, True])
def test_before_trees_with_many_leaves_what_is_on_disk_is_read_at_once(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = warm.about_trees().model
    assert isinstance(model, Ensemble)
    monkeypatch.setattr(compiled, "_interpreting", compiled._Interpreting())
    monkeypatch.setattr(code_files, "holds", lambda name: there)
    warm.warm(model)
    assert compiled.interpreted()
    monkeypatch.setattr(warm, "MANY", model.leaves)
    warm.warm(model)
    assert compiled.interpreted() != there


def test_threads_interpret_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 1e9)
    seen: list[object] = []

    def elsewhere() -> None:
        seen.append(compiled._interpreting.by_now == compiled._interpreting.spent)
        with np.errstate(all="raise"):
            seen.append(compiled.compiled(lambda: np.int64(2**62) * np.int64(4))())

    def here() -> None:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    compiled.compiled(here)()
    assert seen == [True, 0], "on its own clock, and with no word about infinities"


def test_interpreted_calls_end_with_a_deadline_where_they_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 1e9)
    looks: list[int] = []
    limit = deadline.Deadline.after(0.0)

    @compiled.compiled
    def one() -> None:
        looks.append(len(looks))

    @compiled.compiled
    def many() -> None:
        for _ in range(3):
            one()

    with pytest.raises(deadline.TimeOverError), compiled.interruptible(limit):
        many()
    assert not looks
    with compiled.interruptible(deadline.NEVER):
        many()
    many()
    assert len(looks) == 6, "and no longer outside"


def test_small_interpreted_functions_ask_now_and_then_whether_they_are_worth_compiling(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 1e9)
    asked: list[bool] = []
    waits = compiled.Function._waits
    monkeypatch.setattr(compiled.Function, "_waits", lambda self: asked.append(True) or waits(self))
    small: Any = compiled.compiled(twice)

    @compiled.compiled
    def many(times: int) -> int:
        return sum(small(k) for k in range(times))

    rounds = 4
    assert many(rounds * (compiled.UNASKED + 1)) == sum(2 * k for k in range(rounds * (compiled.UNASKED + 1)))
    begun = len(asked)
    assert 1 + rounds <= begun <= 6 + rounds, "ever more calls ask nothing"
    assert small(3) == small(3) == 6 and len(asked) == 2 + begun, "whoever calls from outside asks each time"


def test_long_interpreted_functions_ask_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # Fifteen pivots of four seconds each, of a linear program over 500 features, asked nobody what time it is.
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 1e9)
    hand = [0.0]
    monkeypatch.setattr(compiled.time, "thread_time", lambda: hand[0])
    monkeypatch.setattr(deadline.time, "monotonic", lambda: hand[0])

    @compiled.compiled
    def pivot() -> None:
        hand[0] += 4.0

    @compiled.compiled
    def pivots(rounds: int) -> None:
        for _ in range(rounds):
            pivot()

    with pytest.raises(deadline.TimeOverError), compiled.interruptible(deadline.Deadline.after(6.0)):
        pivots(15)
    assert hand[0] == 8.0


def test_no_deadline_comes_nearer_while_something_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    hand = [100.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: hand[0])
    # Put back at the end, so that no later test's clock is behind.
    monkeypatch.setattr(deadline._Standing, "state", (0.0, None))
    limit = deadline.Deadline.after(2.0)
    with deadline.standing():
        hand[0] += 1000.0
        assert limit.left() == 2.0
        with deadline.standing():
            hand[0] += 1000.0
    assert limit.left() == 2.0
    hand[0] += 1.5
    assert limit.left() == 0.5


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "nonsense"])
def test_damaged_code_is_compiled_again(folder: Path, damage: str) -> None:
    compiled.compiled(twice)(4)
    (path,) = kept(folder)
    whole = path.read_bytes()
    middle = len(whole) // 2
    nonsense = b"not a pickle"
    path.write_bytes(
        {
            "empty": b"",
            "cut": whole[:middle],
            "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "nonsense": hashlib.sha256(nonsense).digest() + nonsense,
        }[damage]
    )
    again = compiled.compiled(twice)
    assert again(4) == 8
    assert sum(again.made.stats.cache_misses.values()) == 1  # type: ignore[attr-defined]
    assert kept(folder) == [path]
    assert hashlib.sha256(path.read_bytes()[32:]).digest() == path.read_bytes()[:32]


def test_where_nothing_can_be_written_code_is_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_files, "folders", lambda: iter([Path("/proc/nothing/can/be/made/here")]))
    for _ in range(2):
        made = compiled.compiled(twice)
        assert made(4) == 8
        assert sum(made.made.stats.cache_misses.values()) == 1  # type: ignore[attr-defined]


def test_a_state_of_the_sources_that_is_long_past_is_dropped(folder: Path) -> None:
    for number in range(6):
        old = folder / f"compiled-{number}"
        old.mkdir()
        os.utime(old, (number, number))
    compiled.compiled(twice)(4)
    expected = [*(f"compiled-{number}" for number in (3, 4, 5)), code_files.digest()]
    assert sorted(path.name for path in folder.glob("compiled-*")) == sorted(expected)


@pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are those of Unix")
def test_code_is_not_read_from_a_folder_that_others_can_write_or_have_put_there(tmp_path: Path) -> None:
    own = tmp_path / code_files.OWN
    assert code_files._ours(own)
    code_files.write(own, "compiled-state", "name", b"code")
    assert code_files._ours(own) and own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)
    assert not code_files._ours(own)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    assert not code_files._ours(tmp_path / "link")
    (tmp_path / "file").write_text("")
    assert not code_files._ours(tmp_path / "file")


@pytest.mark.parametrize("home", [None, "/proc/nothing", "/dev/null", ""])
def test_without_a_home_there_is_still_a_folder(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = list(code_files.folders())
    assert found[0] == PACKAGE / "solve" / "__pycache__"
    assert found[-1].parent == tmp_path


def test_it_is_said_once_that_something_is_compiled(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    native.announce.cache_clear()
    with caplog.at_level("INFO", logger="mace.compiled"):
        for _ in range(2):
            compiled.compiled(twice)(4)
            shutil.rmtree(kept(folder)[0].parent)
    said = "compiling its searches, once on this machine: this takes a minute or two"
    assert [record.message for record in caplog.records] == [said]
