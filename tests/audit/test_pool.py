"""One query's end is never another's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from multiprocessing import spawn
from pathlib import Path

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.audit.pool import LocalRunner, WithoutMain, _undisturbed
from mace.audit.task import Query, Task
from mace.audit.worker import Worker
from mace.errors import MaceError, RowError
from mace.problem.goal_text import parse
from tests.audit import faults


def planted(frame, ages):
    """Rejected rows, some of whose ages are planted."""
    rows = frame.copy()
    for place, age in ages.items():
        rows.loc[place, "Age"] = age
    return rows


@pytest.mark.slow
def test_a_query_that_hangs_dies_or_eats_memory_is_recorded_and_the_rest_are_unharmed():
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), faults.Faulty)
    rejected = frame[model.predict(faults.space().encode(frame)) == 0].head(12).reset_index(drop=True)
    healthy = mace.audit(model, faults.space(), rejected, goal=1, rows="all", n_jobs=2, background=frame)
    assert {record.outcome for record in healthy.records} == {"optimal"}

    rows = planted(rejected, {2: faults.HANGS, 5: faults.CRASHES, 8: faults.EATS})
    audit = mace.audit(
        model, faults.space(), rows, goal=1, rows="all", n_jobs=2, background=frame, timeout=3.0, memory_mb=1500
    )
    assert [record.outcome for record in audit.records if record.row in (2, 5, 8)] == ["timeout", "crashed", "memory"]
    assert [v for v in faults.verdicts(audit) if v[0] not in (2, 5, 8)] == [
        v for v in faults.verdicts(healthy) if v[0] not in (2, 5, 8)
    ]
    assert "SIGSEGV" in audit.records[5].why
    assert audit.findings.statuses.unknown.count == 3
    assert audit.findings.no_recourse[0].proved.count == 0, "what was not decided is never counted as no recourse"
    assert audit.findings.no_recourse[0].undecided == 3


def task_of(model, frame, **more):
    settings = {
        "goal": frozenset([1]), "distance": "l1", "weights": None, "rules": (), "gap": None, "rgap": None,
        "oracle": "auto", "timeout": 20.0, "memory_mb": None, "background": None,
    }  # fmt: skip
    return Task(model, faults.space(), **(settings | more))


@pytest.mark.slow
def test_a_worker_that_is_killed_while_idle_is_replaced():
    frame = faults.people()
    runner = LocalRunner(task_of(faults.forest(frame, faults.fair(frame)), frame), 1)
    try:
        values = frame[faults.fair(frame) == 0].iloc[0].to_dict()
        runner.submit([Query("a", 0, "0", values)])
        first = runner.finished()[0]
        (pid,) = runner._pool._pool_manager.worker_manager.workers
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.5)
        runner.submit([Query("b", 0, "0", values)])
        assert runner.finished()[0].exact_distance == first.exact_distance
    finally:
        runner.close()


SCRIPT = """
import mace
from tests.audit import faults
frame = faults.people()
model = faults.forest(frame, faults.fair(frame))
audit = mace.audit(model, faults.space(), frame, goal=1, limit=3, n_jobs=1)
print("audited", len(audit.records))
"""


@pytest.mark.slow
def test_a_script_needs_no_main_guard(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    root = Path(__file__).parent.parent.parent
    environment = os.environ | {"PYTHONPATH": str(root)}
    run = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=120)
    assert run.stdout == "audited 3\n", run.stderr


def test_a_model_that_wants_processes_gets_threads_in_a_worker():
    from concurrent.futures import ThreadPoolExecutor

    from joblib.parallel import get_active_backend

    from mace.audit.pool import _one_thread

    with ThreadPoolExecutor(1) as other:  # what joblib is told holds for one thread
        other.submit(_one_thread).result()
        assert "Threading" in type(other.submit(get_active_backend).result()[0]).__name__


def test_a_model_that_cannot_be_sent_says_so():
    frame = faults.people()

    class Local(type(faults.forest(frame, faults.fair(frame)))):
        pass

    model = faults.forest(frame, faults.fair(frame), Local)
    with pytest.raises(MaceError, match="cannot be sent to another process"):
        mace.audit(model, faults.space(), frame, goal=1, limit=2, n_jobs=1)


def test_rows_that_the_space_does_not_take_are_records_and_no_answer_starts_from_them():
    good = pd.DataFrame({"a": range(8), "b": [0.0, 1.0] * 4})
    space = mace.Space([mace.Feature("a", "integer", 0, 7), mace.Feature("b", "real", 0, 1, step=1)])
    tree = DecisionTreeClassifier(random_state=0).fit(space.encode(good), good.a > 4)
    frame = good.astype(object)
    frame.loc[1, "b"], frame.loc[3, "a"], frame.loc[6, "a"] = float("nan"), 99, "x"
    task = Task(tree, space, parse("True", [False, True]), "l1", None, (), None, None, "auto", 20.0, None, frame)
    worker = Worker(task)
    worker.ready()
    assert list(worker.explainer.background.frame.index) == [0, 2, 4, 5, 7]
    asked = [worker.answer(Query(str(k), k, str(k), frame.loc[k].to_dict())) for k in (0, 1, 3)]
    assert [record.outcome for record in asked] == ["optimal", "error", "error"]
    with pytest.raises(RowError, match="row 3, column `a`"):
        mace.audit(tree, space, good, goal=True, background=frame, n_jobs=1)


def asked_rows():
    """A worker, and queries about rows that its model refuses."""
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame))
    worker = Worker(task_of(model, frame, background=frame))
    rejected = frame[model.predict(faults.space().encode(frame)) == 0].head(4)
    return worker, [Query(str(k), k, str(k), row) for k, row in enumerate(rejected.to_dict("records"))]


def test_answers_that_are_confirmed_together_are_those_that_are_confirmed_alone():
    worker, queries = asked_rows()
    alone = [replace(worker.answer(query), seconds=0.0) for query in queries]
    assert {record.outcome for record in alone} == {"optimal"}
    said = worker.explainer.judge.deployed
    sizes = []
    worker.explainer.judge.__dict__["deployed"] = replace(
        said, predict=lambda rows: sizes.append(len(rows)) or said.predict(rows)
    )
    assert [replace(record, seconds=0.0) for record in worker.answers(queries)] == alone
    assert sizes == [2 * len(queries)], "the row and its counterfactual, of all queries in one call"


def test_of_answers_that_are_confirmed_together_only_the_one_that_the_model_contradicts_fails():
    worker, queries = asked_rows()
    alone = [replace(worker.answer(query), seconds=0.0) for query in queries]
    said = worker.explainer.judge.deployed
    lied = worker.explainer.space.encode(pd.DataFrame([queries[1].values])).to_numpy()

    def lies(rows):
        return said.predict(rows) ^ (rows.to_numpy() == lied).all(axis=1)

    worker.explainer.judge.__dict__["deployed"] = replace(said, predict=lies)
    records = worker.answers(queries)
    assert records[1].failure == "error"
    assert "contradicts the numbers" in records[1].why
    assert [replace(r, seconds=0.0) for r in records[:1] + records[2:]] == alone[:1] + alone[2:]


def test_a_signal_while_a_process_is_told_what_to_do_is_raised_afterwards():
    told: list[str] = []

    def tell() -> None:
        with _undisturbed():
            signal.raise_signal(signal.SIGINT)
            told.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        tell()
    assert told and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_a_signal_came_upon_is_ended(monkeypatch):
    # The pool never heard of it, and it complained of semaphores that were gone: a traceback after Ctrl-C.
    prepare = spawn.get_preparation_data
    monkeypatch.setattr(spawn, "get_preparation_data", lambda name: signal.raise_signal(signal.SIGINT) or prepare(name))
    process = WithoutMain(target=time.sleep, args=(60,))
    with pytest.raises(KeyboardInterrupt):
        process.start()
    assert not process.is_alive()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_workers_are_deaf_to_what_a_terminal_sends_to_all():
    call = (
        "import signal, mace.audit.pool as pool; from multiprocessing import forkserver; pool._context(b'')\n"
        "print(open(f'/proc/{forkserver._forkserver._forkserver_pid}/status').read())\n"
        "print('own', signal.pthread_sigmask(signal.SIG_BLOCK, ()))"
    )
    said = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True).stdout
    blocked = int(re.search(r"SigBlk:\s*([0-9a-f]+)", said)[1], 16)
    assert blocked >> (signal.SIGINT - 1) & 1 and not blocked >> (signal.SIGTERM - 1) & 1 and "own set()" in said
