"""Queries in processes of this machine, each of which may be killed without harm to the others.

In:  a task, sent to each process once; queries.
Out: records, as they come. A query that outlives its time, wants too much memory, or takes its process down is recorded
     as that, and a new process takes the place of the dead one.
Why Pebble: of the pools tried it alone keeps the other jobs when one process dies and another hangs.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import connection, spawn
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.audit.worker import Worker
from mace.base.deadline import alarm
from mace.errors import MaceError, ModelError

if TYPE_CHECKING:
    from pebble import ProcessPool

PATIENCE = 1.0  # seconds after which no further query of several is begun
COMPILING = 600.0  # seconds, longer than the clock of a query ever stands
_RINGS = hasattr(signal, "setitimer")  # whether a process can be told to end by itself, see `alarm`
GARBAGE = 20_000  # objects after which Python looks for cycles: rows make few, and objects by the hundred
REBUILDS = 3  # how often in a row a pool whose idle processes were killed is built anew


class Runner(Protocol):
    """Whoever answers queries: processes here, or workers elsewhere."""

    width: int
    together: int

    def submit(self, queries: Sequence[Query]) -> None:
        """Hand over at most `together` queries, which are answered in one go; `finished` gives their records in time.

        How a query ends is its own: where it takes others with it, or makes them wait, they are asked again alone.
        """

    def finished(self) -> list[Record]:
        """Wait until at least one query has ended, and give the records of all that have."""

    def close(self) -> None:
        """Stop everything, whatever it is doing."""


def dumps(task: Task) -> bytes:
    """The task as bytes; raises ModelError for a model that cannot be sent to another process."""
    try:
        return pickle.dumps(task, protocol=5)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise ModelError(
            f"the model cannot be sent to another process: {error}",
            hint="Define its class at the top level of a module that can be imported.",
        ) from None


class LocalRunner:
    """A pool of processes of this machine.

    processes: how many queries are answered at once.
    """

    def __init__(self, task: Task, processes: int) -> None:
        self.task = task
        self.width = processes
        self.together = 32
        self._payload = dumps(task)
        self._pool = start_pool(self._payload, task, processes)
        self._waiting: dict[Future[list[Record]], Sequence[Query]] = {}
        self._rebuilt = 0

    def submit(self, queries: Sequence[Query]) -> None:
        """See Runner."""
        while True:
            try:
                self._waiting[schedule(self._pool, queries, self.task)] = queries
                return
            except BrokenProcessPool as error:
                self._rebuild(error)

    def finished(self) -> list[Record]:
        """See Runner."""
        records: list[Record] = []
        while not records:
            done, _ = wait(self._waiting, return_when=FIRST_COMPLETED)
            for future in done:
                if future not in self._waiting:
                    continue  # submitted anew, with the whole pool
                try:
                    found = records_of(future, self._waiting[future], self.task)
                    self._rebuilt = 0
                    records += found
                    for query in self._waiting.pop(future)[len(found) :]:
                        self.submit([query])
                except BrokenProcessPool as error:
                    self._rebuild(error)
        return records

    def _rebuild(self, error: BaseException) -> None:
        """Ask again what a broken pool left; raises MaceError when pools break as soon as they are built."""
        self._rebuilt += 1
        if self._rebuilt > REBUILDS:
            raise MaceError(
                f"the worker processes end before they answer anything ({error})",
                hint="Their messages stand above. A model's class must be importable in a new process.",
            ) from None
        left = list(self._waiting.values())
        self.close()
        self._pool = start_pool(self._payload, self.task, self.width)
        for queries in left:
            self.submit(queries)

    def close(self) -> None:
        """See Runner."""
        self._waiting.clear()
        with contextlib.suppress(RuntimeError, OSError):
            self._pool.stop()
            self._pool.join()


def start_pool(payload: bytes, task: Task, processes: int) -> ProcessPool:
    """A pool whose processes each read the payload, which `dumps` made of the task."""
    from pebble import ProcessPool

    return ProcessPool(
        max_workers=processes,
        initializer=prepare,
        initargs=(payload, task.memory_mb),
        context=_context(payload),
    )


def schedule(pool: ProcessPool, queries: Sequence[Query], task: Task) -> Future[list[Record]]:
    """Hand queries to a pool; raises BrokenProcessPool if it has broken meanwhile."""
    limit = task.seconds
    if limit is not None and len(queries) > 1:
        limit += PATIENCE
    # Pebble's own limit runs on while the clock of the query stands: where there are alarms it is the second one.
    outside = limit if limit is None or not _RINGS else limit + COMPILING
    try:
        future: Future[list[Record]] = pool.schedule(answers, args=(queries, limit), timeout=outside)
    except RuntimeError as error:  # so Pebble says that the pool is broken
        raise BrokenProcessPool(str(error)) from error
    return future


def records_of(future: Future[list[Record]], queries: Sequence[Query], task: Task) -> list[Record]:
    """The records of the first queries; of several that failed together, of none.

    Raises BrokenProcessPool if that was not their doing.
    """
    if len(queries) == 1:
        return [_record_of(future, queries[0], task)]
    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception:  # noqa: BLE001  # whichever of them it was: each will be asked alone
        return []


def _record_of(future: Future[list[Record]], query: Query, task: Task) -> Record:
    """What became of a query that was asked alone; raises BrokenProcessPool if that was not the query's doing."""
    from pebble import ProcessExpired

    blank = Record(query.row, query.label, query.part, query.key)
    try:
        return future.result()[0]
    except BrokenProcessPool:
        raise
    except TimeoutError:
        return _stopped(blank, task)
    except ProcessExpired as error:
        code = int(error.exitcode or 0)
        if _RINGS and code == -signal.SIGALRM:
            return _stopped(blank, task)
        ending = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return replace(blank, failure="crashed", why=f"its process died ({ending})")
    except MemoryError:
        return replace(blank, failure="memory", why=f"it wanted more than {task.memory_mb} MB")
    except Exception as error:  # noqa: BLE001  # a fault in one query must not end the audit; it is recorded by name
        return replace(blank, failure="error", why=f"internal error: {type(error).__name__}: {error}")


def _stopped(blank: Record, task: Task) -> Record:
    """The record of a query that outlived its time."""
    limit = task.seconds or 0.0
    return replace(blank, failure="timeout", why=f"stopped after {limit:g} s", seconds=limit)


# --- in the worker process -------------------------------------------------------------------------------------------

_worker: Worker | None = None


def prepare(payload: bytes, memory: int | None) -> None:
    """Read the task, once in the life of a process, and set its limits."""
    global _worker  # the one thing that a process of the pool keeps
    _end_with_parent()
    _one_thread()
    _worker = Worker(pickle.loads(payload))  # noqa: S301  # written by `dumps` in the parent
    _worker.ready()
    gc.freeze()  # the model and its checker's stay; nobody has to look through them again and again
    gc.set_threshold(GARBAGE, 20, 20)
    _limit(memory)


def answers(queries: Sequence[Query], seconds: float | None) -> list[Record]:
    """The records of the first queries, as many as are begun before others would wait too long.

    seconds: after so many of the queries' own clock, which stands while code is compiled, the process ends.
    """
    assert _worker is not None
    with alarm(seconds):
        return _worker.answers(queries, PATIENCE)


def _limit(memory: int | None) -> None:
    """Let the process grow by so many MB beyond what the model and the libraries take now; no core file if it dies."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory is None:
        return
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        return  # no /proc: what the process has mapped already is not known, and a limit below it would kill it
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + memory * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))


def _one_thread() -> None:
    """As many queries as processes run at once; threads of linear algebra inside them would only be in the way.

    Nor does `predict` of a model with `n_jobs` start processes of its own, whose folders nobody would remove.
    """
    with contextlib.suppress(ImportError):
        from joblib import parallel_config
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)
        parallel_config("threading")


def _end_with_parent() -> None:
    """A killed audit must leave no process behind that goes on computing: no worker, and no solver of a worker."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    grouped = hasattr(os, "setpgid")
    if grouped:
        os.setpgid(0, 0)  # Solvers that a query starts are in this group too.

    def watch() -> None:
        connection.wait([parent.sentinel])
        if grouped:
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# --- starting processes ----------------------------------------------------------------------------------------------

# A clean process that has imported what workers need is forked for each; Windows starts every one anew.
PRELOADED = ["mace.audit.pool", "pandas", "sklearn.ensemble"]
_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_Process: Any = type(cast(Any, multiprocessing.get_context(_METHOD)).Process())
_starting = threading.Lock()


@contextlib.contextmanager
def _undisturbed() -> Iterator[list[int]]:
    """A signal that comes meanwhile is raised at the end: a process that is told half of what to do complains.

    Gives the list of signals that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # others are not interrupted
        yield came
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda got, _: came.append(got)) for number in numbers}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if came:
            signal.raise_signal(came[0])


def _run_forkserver() -> None:
    """Start the server that forks workers deaf to Ctrl-C, which a terminal sends to all: this process ends them."""
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # which unblocks it
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what is started now starts with it
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


class WithoutMain(_Process):  # type: ignore[misc]
    """A process that does not import the caller's script a second time.

    multiprocessing imports it so that what is defined there can be called. Here all that is called is mace's own, and
    a script without `if __name__ == "__main__"` would start its audit again in every process.
    """

    def start(self) -> None:
        """Start, with the script left out of what the new process is told to prepare."""
        original = spawn.get_preparation_data

        def without_main(name: str) -> dict[str, object]:
            data: dict[str, object] = original(name)
            return {key: value for key, value in data.items() if not key.startswith("init_main")}

        with _starting, _undisturbed() as came:
            spawn.get_preparation_data = without_main
            try:
                super().start()
            finally:
                spawn.get_preparation_data = original
            if came:  # the pool will not hear of it: left alone, it complains of what this process takes away
                self.kill()
                self.join()


class _Context:
    """The start method's own context, with processes `WithoutMain`."""

    Process = WithoutMain

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _context(payload: bytes) -> Any:
    context: Any = multiprocessing.get_context(_METHOD)
    if _METHOD == "forkserver":
        context.set_forkserver_preload(PRELOADED)
        _run_forkserver()
    # A model whose class is defined in the script needs the script; then it needs its guard too, as Python says.
    return context if b"__main__" in payload else _Context(context)
