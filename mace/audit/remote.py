"""Queries on the workers of a Dask cluster; each still in a process of its own that may be killed.

In:  the address of a scheduler; otherwise as `mace.audit.pool`.
Out: records, as they come. The task is sent to each worker once, also to one that joins later; what a worker held when
     it died, the scheduler gives to another.
The workers need mace in the same version. Certificates come back as bytes, the file of their model
with the first of them: no shared folder is needed.
This module needs Dask; it is imported only when a scheduler is named.
"""

from __future__ import annotations

import multiprocessing
import pickle
import tempfile
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distributed import Client, WorkerPlugin, as_completed, get_worker
from distributed.comm import parse_address
from distributed.comm.addressing import parse_host_port

from mace.audit.certificates import model_of
from mace.audit.pool import REBUILDS, dumps, records_of, schedule, start_pool
from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.escape import short
from mace.base.files import write_whole
from mace.errors import MaceError

if TYPE_CHECKING:
    from pebble import ProcessPool

PATIENCE = "10s"  # until a scheduler has to have answered
RETRIES = 3  # how often a task is given to another worker after one that died with it


class DaskRunner:
    """The workers of a cluster; raises MaceError if no scheduler answers, or if it has no workers."""

    def __init__(self, task: Task, scheduler: str) -> None:
        self.task = task
        self._name = f"mace-audit-{uuid.uuid4().hex}"
        try:
            _check_address(scheduler)
            self._client: Any = Client(scheduler, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise MaceError(
                f"no Dask scheduler answers at {short(scheduler)} ({error})",
                hint="Give the address that it prints when it starts, such as tcp://127.0.0.1:8786.",
            ) from None
        threads = self._client.nthreads()
        if not threads:
            self._client.close()
            raise MaceError(f"the Dask scheduler at {scheduler!r} has no workers")
        self.width = sum(threads.values())
        self.together = 1
        self._client.register_plugin(Pool(dumps(task)), name=self._name)
        self._done: Any = as_completed(loop=self._client.loop)
        self._waiting: dict[str, tuple[Any, Query]] = {}
        self._models: frozenset[str] = frozenset()  # the files of models that came back

    def submit(self, queries: Sequence[Query]) -> None:
        """See Runner."""
        (query,) = queries
        # Not pure: a query that is asked again must not be answered from what the cluster remembers.
        future = self._client.submit(ask, self._name, query, self._models, pure=False, retries=RETRIES)
        self._waiting[future.key] = (future, query)
        self._done.add(future)

    def finished(self) -> list[Record]:
        """See Runner."""
        future = next(self._done)
        _, query = self._waiting.pop(future.key)
        if future.status == "finished":
            record: Record
            files: dict[str, bytes]
            record, files = future.result()
            if self.task.certificates is not None:
                for name, raw in files.items():
                    write_whole(self.task.certificates / name, raw)
                self._models |= files.keys() - {record.certificate}
            return [record]
        blank = Record(query.row, query.label, query.part, query.key)
        error = future.exception() if future.status == "error" else RuntimeError(f"the task is {future.status}")
        why = f"Dask: {type(error).__name__}: {error}"
        # A worker died with this task again and again, though every query has a process of its own.
        if type(error).__name__ == "KilledWorker":
            return [replace(blank, failure="crashed", why=why)]
        return [replace(blank, failure="error", why=why)]

    def close(self) -> None:
        """See Runner."""
        self._client.cancel([future for future, _ in self._waiting.values()])
        self._client.unregister_worker_plugin(self._name)
        self._client.close()


def _check_address(scheduler: str) -> None:
    """Raise ValueError for an address without a port, of which Dask's client says so and then fails once more."""
    scheme, location = parse_address(scheduler)
    if scheme in ("tcp", "tls"):
        parse_host_port(location)


# --- in the Dask worker ----------------------------------------------------------------------------------------------


def ask(name: str, query: Query, models: frozenset[str]) -> tuple[Record, dict[str, bytes]]:
    """The record of a query, and the files of its certificate by name; without those of models that are known."""
    pool = get_worker().plugins[name]
    assert isinstance(pool, Pool)
    return pool.ask(query, models)


class Pool(WorkerPlugin):  # type: ignore[misc]  # distributed has no types
    """Killable processes in a Dask worker, as many as it has threads."""

    def __init__(self, payload: bytes) -> None:
        self.payload = payload

    def setup(self, worker: Any) -> None:
        """Called by Dask once in each worker."""
        # Dask's own workers are daemons, which may have no children unless told otherwise.
        multiprocessing.current_process().daemon = False
        self.threads = int(worker.state.nthreads)
        self.lock = threading.Lock()
        self.pool: ProcessPool | None = None
        # Dask clears what a killed worker has left in its folder; nobody would clear it elsewhere.
        self.folder = tempfile.TemporaryDirectory(prefix="mace-audit-", dir=worker.local_directory)
        task: Task = pickle.loads(self.payload)  # noqa: S301  # written by `dumps` in the client
        self.task = replace(task, certificates=task.certificates and Path(self.folder.name))
        self.payload = dumps(self.task)

    def teardown(self, worker: Any) -> None:  # noqa: ARG002  # Dask's own signature
        """Called by Dask when the audit is over."""
        with self.lock:
            if self.pool is not None:
                self.pool.stop()
                self.pool.join()
                self.pool = None
        self.folder.cleanup()

    def ask(self, query: Query, models: frozenset[str]) -> tuple[Record, dict[str, bytes]]:
        """Answer in a process of the pool; the pool is built anew if its idle processes were killed."""
        for _ in range(REBUILDS):
            with self.lock:
                pool = self.pool = self.pool or start_pool(self.payload, self.task, self.threads)
            try:
                (record,) = records_of(schedule(pool, [query], self.task), [query], self.task)
            except BrokenProcessPool:
                with self.lock:
                    self.pool = None if self.pool is pool else self.pool
                continue
            return record, self._files(record, models)
        raise MaceError("the worker processes end before they answer anything")

    def _files(self, record: Record, models: frozenset[str]) -> dict[str, bytes]:
        """The model's file first: a certificate is never without it."""
        if not record.certificate:
            return {}
        file = Path(self.folder.name) / record.certificate
        certificate = file.read_bytes()
        file.unlink()
        model = model_of(certificate)
        needed = {} if model is None or model in models else {model: file.with_name(model).read_bytes()}
        return {**needed, record.certificate: certificate}
