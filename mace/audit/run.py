"""Ask about every row, keep what was answered, and ask what the findings need.

In:  a model, a space, a frame; which rows, which groups, which protected features; limits.
Out: an `Audit`: a record per row, in the order of the frame, and the findings.
Promise: every selected row has a record; a row that was not decided says why. The records do not depend on the number
of processes, on the machine that answered, or on whether the run was killed and resumed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mace.audit.certificates import whole
from mace.audit.digest import digest
from mace.audit.progress import Progress, Watch
from mace.audit.record import MAIN, Record
from mace.audit.store import Store
from mace.audit.task import FORMAT, Query, Task
from mace.base.deadline import Deadline
from mace.base.values import for_json
from mace.errors import FileError, GoalError, MaceError, RowError
from mace.explain.explainer import DistanceSpec, Explainer, GoalSpec
from mace.problem.goals import Classes, Wanted, wanted
from mace.report.plots import Plots
from mace.solve.protocol import memory_asked
from mace.space.space import Change, Space
from mace.tables.table import Formula

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.findings import Findings
    from mace.audit.pool import Runner

CHUNK = 2000  # rows whose decisions are asked for at once, while the first so many rejected ones are looked for


@dataclass(frozen=True)
class Audit(Plots):
    """The records of an audit and what they were asked under.

    records: one a row, in the order of the frame.
    extra:   records of the questions that findings ask ("fixed:Age", "flip:Sex", "core"), by part.
    groups:  name -> the group of each record.
    about:   what was asked, in plain values: digests, limits, versions, counts.
    """

    records: list[Record]
    extra: dict[str, list[Record]]
    groups: dict[str, list[str]]
    protected: tuple[str, ...]
    about: dict[str, Any]
    seed: int = 0
    asked: int = field(default=0, compare=False)

    @cached_property
    def findings(self) -> Findings:
        """What the records say together, each with numbers and intervals."""
        from mace.audit.findings import findings_of

        return findings_of(self)

    @property
    def undecided(self) -> list[Record]:
        """The rows without a proved verdict."""
        return [record for record in self.records if not record.proved]

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """When the first question was asked and the last one answered, in UTC; None if no record says so."""
        ends = [
            (datetime.fromisoformat(record.answered), record.seconds)
            for record in (*self.records, *(record for part in self.extra.values() for record in part))
            if record.answered
        ]
        if not ends:
            return None
        first = min(end - timedelta(seconds=seconds) for end, seconds in ends)
        return first.replace(microsecond=0), max(end for end, _ in ends)

    @property
    def settled(self) -> bool:
        """Whether every row, and every further question of the findings, has a proved verdict."""
        return not self.undecided and all(record.proved for part in self.extra.values() for record in part)

    def to_frame(self) -> pd.DataFrame:
        """The records as a frame, with a column per group; nested values are JSON texts."""
        from mace.audit.export import to_frame

        return to_frame(self)

    def save(self, path: str | Path) -> Path:
        """Write the records (.parquet, .csv, .jsonl) or the whole audit (.json). Raises FileError."""
        from mace.audit.export import save

        return save(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what was asked, the findings, and every record."""
        return {
            "about": self.about,
            "protected": list(self.protected),
            "seed": self.seed,
            "period": None if self.period is None else [moment.isoformat() for moment in self.period],
            "findings": self.findings.to_dict(),
            "groups": self.groups,
            "records": [record.to_dict() for record in self.records],
            "extra": {part: [record.to_dict() for record in records] for part, records in self.extra.items()},
        }

    def __str__(self) -> str:
        from mace.audit.show import as_text

        return as_text(self)

    def __rich__(self) -> Any:
        from mace.audit.show import as_rich

        return as_rich(self)


def audit(
    model: object,
    space: Space,
    frame: pd.DataFrame,
    groups: Iterable[str] | Mapping[str, Sequence[object]] | None = None,
    *,
    goal: GoalSpec = None,
    rows: Literal["rejected", "all"] = "rejected",
    limit: int | None = None,
    distance: DistanceSpec = "l1",
    weights: Mapping[str, object] | None = None,
    rules: Sequence[str | Path] = (),
    gap: object = None,
    rgap: object = None,
    oracle: str = "auto",
    processes: int | None = None,
    timeout: float | None = 60.0,
    memory: int | None = 4096,
    background: pd.DataFrame | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    scheduler: str | None = None,
    certificates: str | Path | None = None,
    check: bool = True,
    protected: Sequence[str] = (),
    flips: bool = True,
    cores: int = 25,
    seed: int = 0,
    progress: bool | Watch | None = None,
) -> Audit:
    """Ask for the nearest counterfactual of every rejected row (or of every row), in parallel.

    model, space, goal, distance, weights, rules, gap, rgap, oracle: as in `mace.explain`.
    frame:      the rows, in the space's own columns; further columns may serve as groups.
    groups:     names of columns of `frame`, or name -> the group of each row of `frame`.
    rows:       "rejected": the rows that do not have the goal (which must then be given); "all": every row.
    limit:      only the first so many of them.
    processes:  how many queries at once on this machine; None: one per core.
    timeout:    seconds for each answer; a query that does not heed them is stopped a little later.
    memory:     MB by which a process may grow for one query; also the limit of each solver.
    background: rows that give first upper bounds; None: `frame`.
    checkpoint: an SQLite file that keeps every record. Queries that it holds are not asked again; with `resume`, those
                that were unknown or failed are.
    scheduler:  the address of a Dask scheduler whose workers answer instead of processes here.
    certificates: a folder for the certificate of each row and the file of their model; `check` checks each. Where
                solvers answered, what they refuted is written instead, and never counted as certified.
    protected:  features on which no decision should rest. For each the audit also asks which decisions flip when it
                alone changes (unless `flips` is False), and what it costs not to use it.
    cores:      for how many rows without recourse to ask which rules and restrictions block them.
    seed:       of the bootstrap and of the choice of rows for `cores`.
    progress:   None: a bar on stderr if it is a terminal; False: nothing; a function: called with each new record,
                how many are done, and how many there are.
    Returns an Audit. Raises a MaceError for wrong arguments or a checkpoint of another question; a row that cannot be
            asked is a record that says so.
    """
    if rows not in ("rejected", "all"):
        raise MaceError(f'rows must be "rejected" or "all", got {rows!r}')
    timeout, memory = Deadline.asked(timeout).seconds, memory_asked(memory)
    if processes is not None and (not isinstance(processes, int) or processes < 1):
        raise MaceError(f"processes must be a whole number >= 1, got {processes!r}")
    for name in protected:
        _ = space[name]
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise MaceError(f"limit must be a whole number >= 1, got {limit!r}")
    if resume and checkpoint is None:
        raise MaceError("there is nothing to resume without a checkpoint", hint="Name its file: --checkpoint.")
    if goal is None and rows == "rejected":
        raise GoalError("which rows are rejected depends on the goal", hint='Give goal=, or rows="all".')
    task = Task(
        model,
        space,
        None,
        distance,
        weights,
        tuple([rules] if isinstance(rules, (str, Path)) else rules),
        gap,
        rgap,
        oracle,
        timeout,
        memory,
        frame[space.names] if background is None and set(space.names) <= set(frame.columns) else background,
        _folder(certificates),
        check,
    )
    if goal is not None:
        explainer = task.explainer
        task = replace(task, goal=wanted(goal, explainer.table.classes))
        # What was read stays read.
        task.__dict__["explainer"] = explainer
    chosen = _choose(task.explainer, frame, task.goal, rows, limit)
    named = _groups(groups, frame, [place for place, _ in chosen])
    base = digest(FORMAT, sorted(task.parts.items()))
    queries = [Query(digest(base, MAIN, values), place, str(frame.index[place]), values) for place, values in chosen]
    with (
        Store(checkpoint, task.parts) as store,
        Progress(progress) as watch,
        _Asking(task, store, resume, watch, processes or os.cpu_count() or 1, scheduler) as asking,
    ):
        records = asking.all(queries)
        extra: dict[str, list[Record]] = {}
        for part, more in _further(task, base, queries, records, protected, flips, cores, seed):
            extra[part] = asking.all(more)
        about = _about(task, frame, records, limit=limit, rows=rows)
        done = Audit(records, extra, named, tuple(protected), about, seed, asking.count)
        store.keep_run(done)
    return done


def _further(
    task: Task,
    base: str,
    queries: Sequence[Query],
    records: Sequence[Record],
    protected: Sequence[str],
    flips: bool,
    cores: int,
    seed: int,
) -> Iterator[tuple[str, list[Query]]]:
    """The questions of the findings: flips and costs for each protected feature, cores for rows without recourse."""

    def again(part: str, query: Query, **how: Any) -> Query:
        return replace(query, key=digest(base, part, query.values), part=part, **how)

    pairs = list(zip(queries, records, strict=True))
    for name in protected:
        part = f"flip:{name}"
        if flips:
            yield part, [again(part, q, alone=(name,), any_goal=True) for q, r in pairs if r.failure != "error"]
        # A nearest counterfactual that leaves the feature alone stays the nearest when the feature must stay.
        using = [query for query, record in pairs if name in record.changes]
        feature = task.space[name]
        directions: list[Change] = ["fixed"] if feature.change != "fixed" else []
        if feature.change == "any" and (feature.numeric or feature.kind == "ordinal"):
            directions.append("increase")
        for how in directions:
            yield f"{how}:{name}", [again(f"{how}:{name}", query, changes=((name, how),)) for query in using]
    blocked = [query for query, record in pairs if record.status == "infeasible"]
    if blocked and cores > 0:
        import random

        some = blocked if len(blocked) <= cores else random.Random(seed).sample(blocked, cores)
        yield "core", [again("core", query, core=True) for query in sorted(some, key=lambda q: q.row)]


class _Asking:
    """Hands queries to a runner and records to the store; the runner is started when there is something to ask."""

    def __init__(
        self, task: Task, store: Store, resume: bool, watch: Progress, processes: int, scheduler: str | None
    ) -> None:
        self.task, self.store, self.resume, self.watch = task, store, resume, watch
        self.processes, self.scheduler = processes, scheduler
        self.count = 0
        self._runner: Runner | None = None

    def all(self, queries: Sequence[Query]) -> list[Record]:
        """A record for each query, in their order; equal rows are asked once."""
        wanted: dict[str, Query] = {}
        for query in queries:
            wanted.setdefault(query.key, query)
        todo = [query for query in wanted.values() if self._open(query.key)]
        self.watch.begin(queries[0].part if queries else "", len(wanted), len(wanted) - len(todo))
        if todo:
            self._ask(todo)
        self.watch.end()
        return [replace(self.store.records[q.key], row=q.row, label=q.label) for q in queries]

    def _open(self, key: str) -> bool:
        known = self.store.records.get(key)
        if known is None:
            return True
        if known.certificate and self.task.certificates and not whole(self.task.certificates / known.certificate):
            return True
        return self.resume and (known.status == "unknown" or known.proof == "refused" or bool(known.failure))

    def _ask(self, todo: list[Query]) -> None:
        runner = self._runner = self._runner or self._start(len(todo))
        left = iter(todo)
        waiting = 0
        # Twice as many as there are processes are handed over, so that none waits for this loop.
        while True:
            batch = list(islice(left, 2 * runner.width - waiting))
            self.store.asked(query.key for query in batch)
            for query in batch:
                runner.submit(query)
            waiting += len(batch)
            if not waiting:
                return
            for answer in runner.finished():
                record = replace(answer, answered=datetime.now(UTC).isoformat(timespec="seconds"))
                waiting -= 1
                self.count += 1
                self.store.put(record)
                self.watch.step(record)

    def _start(self, queries: int) -> Runner:
        if self.scheduler is not None:
            try:
                from mace.audit.remote import DaskRunner
            except ImportError:
                raise MaceError("a scheduler needs Dask", hint="pip install 'mace-smt[dask]'.") from None
            return DaskRunner(self.task, self.scheduler)
        from mace.audit.pool import LocalRunner

        self.task.explainer.ready(self.task.oracle)  # so that processes find on disk what they would all compile
        return LocalRunner(self.task, min(self.processes, queries))

    def __enter__(self) -> _Asking:
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            self._runner.close()


def _folder(path: str | Path | None) -> Path | None:
    if path is None:
        return None
    folder = Path(path).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be used as a folder for certificates ({error})") from None
    return folder


def _choose(
    explainer: Explainer, frame: pd.DataFrame, goal: Wanted | None, rows: str, limit: int | None
) -> list[tuple[int, dict[str, Any]]]:
    """Places and values of the rows to ask about; a row that the model cannot decide on is one of them."""
    chosen: list[tuple[int, dict[str, Any]]] = []
    missing = [name for name in explainer.space.names if name not in frame.columns]
    if missing:
        raise RowError(f"the frame has no column `{missing[0]}`", hint=f"It has {', '.join(map(str, frame))}.")
    for begin in range(0, len(frame), CHUNK):
        part = frame.iloc[begin : begin + CHUNK]
        values = part[explainer.space.names].to_dict("records")
        have = [False] * len(part) if rows == "all" or goal is None else _have(explainer, part, goal)
        for offset, (row, has) in enumerate(zip(values, have, strict=True)):
            if has:
                continue
            chosen.append((begin + offset, {str(name): for_json(value) for name, value in row.items()}))
            if limit is not None and len(chosen) >= limit:
                return chosen
    return chosen


def _have(explainer: Explainer, part: pd.DataFrame, goal: Wanted) -> list[bool]:
    """Which rows have the goal already; a row that is not in the space has not, and is asked about to say so."""
    if isinstance(goal, Classes) and not isinstance(explainer.table, Formula):
        try:
            return [label in goal.labels for label in explainer.decisions(part).tolist()]
        except RowError:
            pass  # at least one of them; which, the rows themselves say
    found = []
    for place in range(len(part)):
        try:
            question, _ = explainer.question(part.iloc[place], goal)
            found.append(explainer.judge.meets(question, question.start))
        except RowError:
            found.append(False)
    return found


def _groups(
    groups: Iterable[str] | Mapping[str, Sequence[object]] | None, frame: pd.DataFrame, places: list[int]
) -> dict[str, list[str]]:
    if groups is None:
        return {}
    if isinstance(groups, str):
        groups = [groups]
    if not isinstance(groups, Mapping):
        absent = [name for name in groups if name not in frame.columns]
        if absent:
            raise RowError(
                f"groups: the frame has no column `{absent[0]}`", hint=f"It has {', '.join(map(str, frame))}."
            )
        groups = {name: frame[name].tolist() for name in groups}
    out: dict[str, list[str]] = {}
    for name, given in groups.items():
        labels = list(given)
        if len(labels) != len(frame):
            raise RowError(f"groups: `{name}` has {len(labels)} entries, the frame has {len(frame)} rows")
        out[str(name)] = [str(for_json(labels[place])) for place in places]
    return out


def _about(
    task: Task, frame: pd.DataFrame, records: Sequence[Record], *, limit: int | None, rows: str
) -> dict[str, Any]:
    from mace.audit.digest import frame_digest
    from mace.base.versions import MACE, versions

    explainer = task.explainer
    return {
        "mace": MACE,
        "versions": {name: version for name, version in versions().items() if "not installed" not in version},
        "model": explainer.table.name,
        "space": task.space.name,
        "goal": None if task.goal is None else str(task.goal),
        "distance": explainer.distance.name,
        "rules": [rule.source for rule in explainer.rules],
        "restrictions": {f.name: f.change for f in task.space.features if f.change != "any"},
        "missing": {f.name: f.missing for f in task.space.features if f.missing},
        "rows": rows,
        "limit": limit,
        "frame_rows": len(frame),
        "frame_sha256": frame_digest(frame),
        "audited": len(records),
        "timeout_seconds": task.timeout,
        "memory_mb": task.memory,
        "oracle": task.oracle,
        "digests": task.parts,
    }
