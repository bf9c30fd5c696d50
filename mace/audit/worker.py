"""What answers the queries of a task, one after the other.

In:  a `Task`, then one `Query` after the other.    Out: a `Record` for each.
Promise: an answer depends on the task and the query only, not on the worker or on what it was asked before. Python's
own MemoryError and every MaceError become a record; what kills the process is recorded by whoever waits for it.
"""

from __future__ import annotations

import contextlib
import copy
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from mace.audit.cores import core_of
from mace.audit.record import MAIN, Proof, Record
from mace.audit.rows import taken
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline, TimeOverError
from mace.base.exact import above, below, rounded_text
from mace.base.values import for_json
from mace.errors import CertificateError, FileError, MaceError, RowError
from mace.explain.explainer import Explainer
from mace.space.feature import Change
from mace.tables.table import Formula

if TYPE_CHECKING:
    from mace.audit.certificates import Writer
    from mace.explain.answer import Answer
    from mace.tables.table import Table


SEARCHING = 0.7  # of the time allowed, where a certificate is to be checked in the rest


class Worker:
    """Answers the queries of one task, one at a time."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.explainer = task.explainer
        self._variants: dict[tuple[object, ...], Explainer] = {}
        self._last_writer: Writer | None = None

    def _writer(self, table: Table) -> Writer:
        """The writer of certificates about a table; the last one is kept, since goals seldom change the table."""
        from mace.audit.certificates import Writer

        if self._last_writer is None or self._last_writer.table is not table:
            self._last_writer = Writer(table)
        return self._last_writer

    def ready(self) -> None:
        """Do what is done once, before the clock of a query runs: read the rows, compile, write the model.

        Rows that the space or the model does not take have records that say so; no answer starts from them.
        """
        try:
            if self.explainer.background is not None:
                self.explainer.background.read()
        except RowError:
            assert self.task.background is not None
            kept = taken(self.explainer, self.task.background)
            self.task = replace(self.task, background=kept if len(kept) else None)
            self.explainer = self.task.explainer
        self.explainer.ready(self.task.oracle)
        if self.task.certificates is not None and not isinstance(self.explainer.table, Formula):
            with contextlib.suppress(CertificateError):  # the answers will say so
                self._writer(self.explainer.table).ready()

    def answer(self, query: Query) -> Record:
        """The record of one query."""
        began = time.perf_counter()
        deadline = Deadline.after(self.task.timeout)
        blank = Record(query.row, query.label, query.part, query.key)
        try:
            if query.by is not None:
                record = query.by(self.explainer, query, self.task, blank, deadline)
            elif query.core:
                record = core_of(self.explainer, query, self.task, blank, deadline)
            else:
                record = self._explain(query, blank, deadline)
        except MemoryError:
            record = replace(blank, failure="memory", why=f"it wanted more than {self.task.memory_mb} MB")
        except MaceError as error:
            record = replace(blank, failure="error", why=str(error))
        return replace(record, seconds=round(time.perf_counter() - began, 6))

    def _explain(self, query: Query, blank: Record, deadline: Deadline) -> Record:
        task = self.task
        checked = task.certificates is not None and task.check and query.part == MAIN
        answer = self._variant(query).explain(
            query.values,
            goal=None if query.any_goal else task.goal,
            gap=task.gap if query.gap is None else query.gap,
            rgap=task.rgap,
            oracle=task.oracle,
            timeout=deadline.share(SEARCHING) if checked else deadline,
            memory_mb=task.memory_mb,
        )
        nearest = answer.counterfactuals[0] if answer.counterfactuals else None
        record = replace(
            blank,
            status=answer.status,
            why=answer.why,
            decision=for_json(answer.decision),
            distance=answer.distance,
            lower_bound=None if answer.status == "infeasible" else answer.lower_bound,
            exact_distance=None if answer.exact_distance is None else rounded_text(answer.exact_distance, above),
            exact_lower_bound=None if answer.status == "infeasible" else rounded_text(answer.exact_lower_bound, below),
            start={name: for_json(value) for name, value in answer.start.items()},
            changes={n: [for_json(a), for_json(b)] for n, (a, b) in nearest.changes.items()} if nearest else {},
            oracle=answer.oracle,
            notes=list(answer.notes),
        )
        return self._certify(answer, record, deadline)

    def _certify(self, answer: Answer, record: Record, deadline: Deadline) -> Record:
        """Write and check the certificate of the main question; for the others say that there is a proof."""
        if answer.proof is None:
            if self.task.certificates is not None and record.part == MAIN and answer.by_solvers:
                return self._record_solvers(answer, record, self.task.certificates, deadline)
            return replace(record, proof_why=answer.why or f"the oracle {answer.oracle!r} gave none that stands alone")
        if self.task.certificates is None or record.part != MAIN:
            return replace(record, proof="kept")
        try:
            assert answer.question is not None
            writer = self._writer(answer.question.model)
            deadline = deadline.later(writer.ready())  # a goal may change the table: this is done once for all rows
            short = writer.of(answer)
            name = f"{record.key[:20]}.json.gz"
            size = writer.save(short, self.task.certificates / name)
        except (CertificateError, FileError) as error:
            return replace(record, proof_why=error.message)
        proof, words = "unchecked", ""
        if self.task.check:
            proof, words = writer.check(short, deadline)
        made = replace(record, certificate=name, certificate_bytes=size, proof=cast(Proof, proof), proof_why=words)
        return _doubted(made) if proof == "refused" else made

    def _record_solvers(self, answer: Answer, record: Record, folder: Path, deadline: Deadline) -> Record:
        """Write what the solvers refuted, where the verdict rests on them, and what both say of it when asked again."""
        from mace.certify.record import SECONDS, SUFFIX, SolversDisagreeError, solver_certificate

        assert answer.question is not None
        lower = None if answer.status == "infeasible" else answer.exact_lower_bound
        # Three questions, one after the other, in the time that checking a certificate may take.
        left = deadline.left()
        seconds = SECONDS if left is None else left / 3
        try:
            made = solver_certificate(answer.question, lower, seconds, self.task.memory_mb, deadline)
            said = ", ".join(f"{solver} says {verdict}" for solver, verdict in made.data["verdicts"].items())
            if "unsat" not in made.data["verdicts"].values():
                return replace(record, proof_why=f"the question was not refuted once more: {said}")
            path = made.save(folder / f"{record.key[:20]}{SUFFIX}")
        except TimeOverError as over:
            return replace(record, proof_why=f"what the solvers refuted is not written: {over}")
        except SolversDisagreeError as error:
            return _doubted(replace(record, proof="refused", proof_why=error.message))
        except (CertificateError, FileError) as error:
            return replace(record, proof_why=error.message)
        size = path.stat().st_size
        return replace(record, certificate=path.name, certificate_bytes=size, proof="solvers", proof_why=said)

    def _variant(self, query: Query) -> Explainer:
        """The explainer with the query's own restrictions; the model and the background are read only once."""
        if not query.changes and not query.alone:
            return self.explainer
        name = (query.changes, query.alone)
        if name not in self._variants:
            _ = self.explainer.background  # before the copy, so that both have it
            variant = copy.copy(self.explainer)
            if query.alone:
                how: dict[str, Change] = {n: "any" if n in query.alone else "fixed" for n in self.task.space.names}
                variant.rules = ()
            else:
                how = dict(query.changes)
            variant.space = self.task.space.change(**how)
            self._variants[name] = variant
        return self._variants[name]


def _doubted(record: Record) -> Record:
    """A verdict whose certificate was refused is none; what stays is the witness, which the model itself confirmed."""
    found = bool(record.changes)
    return replace(
        record,
        status="bounded" if found else "unknown",
        why=f"its certificate was refused: {record.proof_why}",
        lower_bound=0.0 if found else None,
        exact_lower_bound="0" if found else None,
    )
