"""Ask about every row, keep what was answered, and ask what the findings need.

In:  a `Request`.    Out: an `Audit`: a record per row, in the order of the frame, and what the findings rest on.
Promise: every selected row has a record; a row that was not decided says why. The records do not depend on the number
of processes, on the machine that answered, or on whether the run was killed and resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any

from mace.audit.certificates import EarlierCertificates
from mace.audit.digest import digest, frame_digest
from mace.audit.progress import Progress
from mace.audit.record import FORMAT, MAIN, Record
from mace.audit.request import Request
from mace.audit.result import Audit
from mace.audit.rows import choose, groups_of
from mace.audit.store import Store
from mace.audit.task import Query, Task
from mace.base.values import for_json, plain
from mace.base.versions import MACE, versions
from mace.certify import elaboration
from mace.compilers import extras
from mace.errors import MaceError
from mace.solve.protocol import jobs_asked
from mace.space.feature import Change

AT_ONCE = 0.5  # seconds of work that a process is handed at once: more than it costs to hand it over
MANY = 30  # rows: for fewer, each process may as well interpret

if TYPE_CHECKING:
    from mace.audit.pool import Runner


def answered(request: Request) -> Audit:
    """Ask about every row, and what the findings need beside it."""
    task = request.task()
    if request.background is not None and task.explainer.background is not None:
        task.explainer.background.read()  # what is wrong with it is said at once
    chosen = choose(task.explainer, request.frame, task.goal, request.rows, request.limit)
    named = groups_of(request.groups, request.frame, [place for place, _ in chosen])
    base = digest(FORMAT, sorted(task.parts.items()))
    labels = request.frame.index
    queries = [Query(digest(base, MAIN, values), place, _label(labels[place]), values) for place, values in chosen]
    with (
        Store(request.checkpoint, task.parts) as store,
        Progress(request.progress, request.callback) as progress,
        Dispatch(task, store, request, progress) as dispatch,
    ):
        plan = Audit([], {}, named, tuple(request.protected), _about(request, task, len(queries)), request.random_state)
        store.keep_plan(plan, [(query.key, query.row, query.label) for query in queries])
        records = dispatch.all(queries)
        numbers = not task.explainer.table.classes
        extra = {part: dispatch.all(more) for part, more in _further(request, base, queries, records, numbers)}
        done = replace(plan, records=records, extra=extra, asked=dispatch.count)
        store.keep_run(done)
    return done


def _label(name: object) -> str:
    """The name of a row in the frame's index, as it is read aloud: that of several levels without numpy's types."""
    return str(tuple(map(plain, name))) if isinstance(name, tuple) else str(name)


def _further(
    request: Request, base: str, queries: Sequence[Query], records: Sequence[Record], numbers: bool
) -> Iterator[tuple[str, list[Query]]]:
    """The questions of the findings: flips and costs for each protected feature, cores for rows without recourse.

    numbers: the model predicts a number, so that there is no other decision to ask for: a flip has the goal, and is
             asked of the rows that lack it.
    """

    def again(part: str, query: Query, **how: Any) -> Query:
        return replace(query, key=digest(base, part, query.values), part=part, **how)

    pairs = list(zip(queries, records, strict=True))
    for name in request.protected:
        part = f"flip:{name}"
        if request.flips:
            some = [q for q, r in pairs if r.failure != "error" and not (numbers and r.has_goal)]
            yield part, [again(part, query, alone=(name,), any_goal=not numbers) for query in some]
        # A nearest counterfactual that leaves the feature alone stays the nearest when the feature must stay.
        using = [query for query, record in pairs if name in record.changes]
        feature = request.space[name]
        directions: list[Change] = ["fixed"] if feature.change != "fixed" else []
        if feature.change == "any" and feature.ordered:
            directions.append("increase")
        for how in directions:
            yield f"{how}:{name}", [again(f"{how}:{name}", query, changes=((name, how),)) for query in using]
    blocked = [query for query, record in pairs if record.status == "infeasible"]
    cores = request.cores
    if blocked and cores > 0:
        import random

        drawn = blocked if len(blocked) <= cores else random.Random(request.random_state).sample(blocked, cores)
        yield "core", [again("core", query, core=True) for query in sorted(drawn, key=lambda q: q.row)]


class Dispatch:
    """Hands queries to a runner and records to the store; the runner is started when there is something to ask."""

    def __init__(self, task: Task, store: Store, request: Request, progress: Progress) -> None:
        self.task, self.store, self.request, self.progress = task, store, request, progress
        self.count = 0
        self._kept = None if task.certificates is None else EarlierCertificates(task.certificates)
        self._runner: Runner | None = None

    def all(self, queries: Sequence[Query]) -> list[Record]:
        """A record for each query, in their order; equal rows are asked once."""
        wanted: dict[str, Query] = {}
        for query in queries:
            wanted.setdefault(query.key, query)
        todo = [query for query in wanted.values() if self._open(query.key)]
        self.progress.begin(queries[0].part if queries else "", len(wanted), len(wanted) - len(todo))
        if todo:
            self._ask(todo)
        self.progress.end()
        return [replace(self.store.records[q.key], row=q.row, label=q.label) for q in queries]

    def _open(self, key: str) -> bool:
        known = self.store.records.get(key)
        if known is None:
            return True
        if self._kept is not None and known.part == MAIN:
            unwritten = known.proof == "kept"  # where certificates are asked for, each proof has one
            if unwritten or known.certificate and not self._kept.whole(known.certificate, known.certificate_sha256):
                return True
        return self.request.resume and (known.status == "unknown" or known.proof == "refused" or bool(known.failure))

    def _ask(self, todo: list[Query]) -> None:
        runner = self._runner = self._runner or self._start(len(todo))
        begun = waiting = 0
        pace = inf
        # Twice as many as the processes have in hand are handed over, so that none waits for this loop.
        while True:
            fair = (len(todo) - begun) // (2 * runner.width)
            size = max(1, min(runner.together, int(AT_ONCE / pace) if pace else runner.together, fair))
            while begun < len(todo) and waiting + size <= 2 * runner.width * size:
                some = todo[begun : begun + size]
                self.store.asked(query.key for query in some)
                runner.submit(some)
                begun += len(some)
                waiting += len(some)
            if not waiting:
                return
            finished = runner.finished()
            if finished:
                mean = sum(answer.seconds for answer in finished) / len(finished)
                pace = mean if pace == inf else (pace + mean) / 2  # the first ones are slow: code is read from disk
            for answer in finished:
                record = replace(answer, answered=datetime.now(UTC).isoformat(timespec="seconds"))
                waiting -= 1
                self.count += 1
                self.store.put(record)
                self.progress.step(record)

    def _start(self, queries: int) -> Runner:
        scheduler, processes = self.request.scheduler, jobs_asked(self.request.n_jobs)
        if scheduler is not None:
            try:
                from mace.audit.remote import DaskRunner
            except ImportError:
                raise MaceError("a scheduler needs Dask", hint="pip install 'mace-smt[dask]'.") from None
            return DaskRunner(self.task, scheduler)
        from mace.audit.pool import LocalRunner

        if queries >= MANY:
            self._compile()
        return LocalRunner(self.task, min(processes, queries))

    def _compile(self) -> None:
        """Put on disk what the processes would all compile."""
        from mace.solve.compiled import at_once

        at_once()
        self.task.explainer.warm(self.task.oracle)
        if self.task.certificates is not None:
            elaboration.warm(self.task.explainer.table)

    def __enter__(self) -> Dispatch:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            self._runner.close()


def _about(request: Request, task: Task, rows: int) -> dict[str, Any]:
    """What was asked, in plain values."""
    explainer = task.explainer
    return {
        "mace": MACE,
        "versions": {name: version for name, version in versions(extras()).items() if "not installed" not in version},
        "model": explainer.table.name,
        "space": task.space.name,
        "goal": None if task.goal is None else str(task.goal),
        "wanted": None if task.goal is None else task.goal.named(task.space.called),
        "distance": explainer.distance.name,
        "rules": [rule.source for rule in explainer.rules],
        "restrictions": {f.name: f.change for f in task.space.features if f.change != "any"},
        "features": {
            f.name: {"unit": f.unit, "range": for_json(f.bounds()[1] - f.bounds()[0])}
            for f in task.space.features
            if f.numeric
        },
        "weighted": bool(request.weights),
        "decisions": dict(task.space.decisions),
        "missing": {f.name: f.missing for f in task.space.features if f.missing},
        "rows": request.rows,
        "limit": request.limit,
        "frame_rows": len(request.frame),
        "frame_sha256": frame_digest(request.frame),
        "audited": rows,
        "timeout_seconds": task.timeout,
        "memory_mb": task.memory_mb,
        "oracle": task.oracle,
        "digests": task.parts,
    }
