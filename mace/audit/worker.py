"""What answers the queries of a task, one after the other.

In:  a `Task`, then one `Query` after the other.    Out: a `Record` for each.
Promise: an answer depends on the task and the query only, not on the worker or on what it was asked before. Python's
own MemoryError and every MaceError become a record; what kills the process is recorded by whoever waits for it.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mace.audit.cores import core_of
from mace.audit.record import MAIN, Proof, Record
from mace.audit.rows import taken
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline, TimeOverError, now
from mace.base.exact import above, below, rounded_text
from mace.base.values import for_json
from mace.errors import CertificateError, FileError, MaceError, RowError
from mace.explain.deployed.confirmation import Unsettled
from mace.explain.explainer import Explainer
from mace.explain.nearest.assemble import WRITTEN_LATER
from mace.solve.compiled import read_at_once
from mace.space.feature import Change
from mace.tables.table import Formula, Label

if TYPE_CHECKING:
    from mace.audit.certificates import Writer
    from mace.explain.answer import Answer
    from mace.tables.table import Table


SEARCHING = 0.7  # of the time allowed, where a certificate is to be checked in the rest


@dataclass
class _Open:
    """A query that is being answered: its clock, which began so many seconds ago, and what it has taken so far."""

    query: Query
    blank: Record
    deadline: Deadline
    began: float
    record: Record
    answer: Answer | None = None
    place: int = -1  # among the answers that are confirmed together
    seconds: float = 0.0


class Worker:
    """Answers the queries of one task, one after the other."""

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
        read_at_once()
        self.explainer.warm(self.task.oracle)
        if self.task.certificates is not None and not isinstance(self.explainer.table, Formula):
            with contextlib.suppress(CertificateError):  # the answers will say so
                self._writer(self.explainer.table).ready()

    def answer(self, query: Query) -> Record:
        """The record of one query."""
        return self.answers([query])[0]

    def answers(self, queries: Sequence[Query], patience: float = inf) -> list[Record]:
        """The records of queries, of which the deployed model is asked about all points together.

        patience: seconds after which no further one is begun: fewer records are then returned, of the first ones.
        """
        began = now()
        unsettled = Unsettled() if len(queries) > 1 else None
        open_: list[_Open] = []
        for query in queries:
            if open_ and now() - began > patience:
                break
            blank = Record(query.row, query.label, query.part, query.key)
            one = _Open(query, blank, Deadline.after(self.task.timeout), now(), blank)
            open_.append(one)
            self._within(one, partial(self._begin, one, unsettled))
            one.seconds = now() - one.began
        asked = now()
        decisions = None if unsettled is None else unsettled.settle()
        share = (now() - asked) / len(open_)
        for one in open_:
            again = now()
            one.deadline = one.deadline.later(again - one.began - one.seconds - share)
            if one.answer is not None:
                self._within(one, partial(self._end, one, decisions))
            one.seconds += share + now() - again
        return [replace(one.record, seconds=round(one.seconds, 6)) for one in open_]

    def _within(self, one: _Open, step: Callable[[], Record]) -> None:
        """Take a step towards a record; what it fails with is the record."""
        try:
            one.record = step()
        except MemoryError:
            one.answer, why = None, f"it wanted more than {self.task.memory_mb} MB"
            one.record = replace(one.blank, failure="memory", why=why)
        except MaceError as error:
            one.answer, one.record = None, replace(one.blank, failure="error", why=str(error))

    def _begin(self, one: _Open, unsettled: Unsettled | None) -> Record:
        """The record of a query, but for its certificate where an answer was found."""
        query = one.query
        if query.by is not None:
            return query.by(self.explainer, query, self.task, one.blank, one.deadline)
        if query.core:
            return core_of(self.explainer, query, self.task, one.blank, one.deadline)
        explainer = self._variant(query)
        explainer.unsettled = unsettled
        one.answer = self._explain(explainer, query, one.deadline)
        one.place = len(unsettled or ()) - 1
        return self._recorded(one.answer, one.blank)

    def _end(self, one: _Open, decisions: Sequence[Label | MaceError] | None) -> Record:
        """The record with its certificate, once the model has confirmed the answer."""
        assert one.answer is not None
        if decisions is not None:
            said = decisions[one.place]
            if isinstance(said, MaceError):
                raise said
            one.record = replace(one.record, decision=for_json(said))
        return self._certify(one.answer, one.record, one.deadline)

    def _explain(self, explainer: Explainer, query: Query, deadline: Deadline) -> Answer:
        task = self.task
        checked = task.certificates is not None and task.check and query.part == MAIN
        return explainer.explain(
            query.values,
            goal=None if query.any_goal else task.goal,
            gap=task.gap if query.gap is None else query.gap,
            rgap=task.rgap,
            oracle=task.oracle,
            timeout=deadline.share(SEARCHING) if checked else deadline,
            memory_mb=task.memory_mb,
        )

    @staticmethod
    def _recorded(answer: Answer, blank: Record) -> Record:
        """What an answer says, its certificate aside."""
        if answer.status != "infeasible" and inf in (answer.distance, answer.lower_bound):
            raise MaceError(
                "its distance is beyond the largest float, which no record holds", hint="Use smaller weights."
            )
        nearest = answer.counterfactuals[0] if answer.counterfactuals else None
        return replace(
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
            notes=[note for note in answer.notes if note != WRITTEN_LATER],  # an audit writes it at once, or never
        )

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
            raw = writer.save(short, self.task.certificates / name)
        except CertificateError as error:
            return replace(record, proof_why=error.message)
        except FileError as error:
            return _unwritten(record, error)
        proof, words = "unchecked", ""
        if self.task.check:
            proof, words = writer.check(short, deadline)
        made = replace(record, **_file(name, raw), proof=cast(Proof, proof), proof_why=words)
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
        except CertificateError as error:
            return replace(record, proof_why=error.message)
        except FileError as error:
            return _unwritten(record, error)
        return replace(record, **_file(path.name, path.read_bytes()), proof="solvers", proof_why=said)

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


def _file(name: str, raw: bytes) -> dict[str, Any]:
    """What a record says of the file of its certificate."""
    sha256 = hashlib.sha256(raw).hexdigest()
    return {"certificate": name, "certificate_bytes": len(raw), "certificate_sha256": sha256}


def _unwritten(record: Record, error: FileError) -> Record:
    """A verdict whose certificate finds no room: that is tried again by the next run (`Dispatch`)."""
    note = "its certificate could not be written: the same command, once there is room, tries again"
    return replace(record, proof="kept", proof_why=error.message, notes=[*record.notes, note])


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
