"""What a worker is told once, what it is asked for each row, and how it answers.

In:  a `Task` (model, space, rules, distance, limits), then one `Query` after the other.
Out: a `Record` for each.
Promise: an answer depends on the task and the query only, not on the worker or on what it was asked before. Python's
own MemoryError and every MaceError become a record; what kills the process is recorded by whoever waits for it.
"""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mace.audit.digest import digest, frame_digest
from mace.audit.record import MAIN, Proof, Record
from mace.base.deadline import Deadline, TimeOverError
from mace.base.exact import as_written, text
from mace.base.values import for_json
from mace.errors import CertificateError, FileError, MaceError
from mace.explain.explainer import DistanceSpec, Explainer
from mace.problem.goals import Wanted
from mace.space.space import Change
from mace.tables.table import Formula

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.certificates import Writer
    from mace.explain.answer import Answer
    from mace.space.space import Space
    from mace.tables.table import Table

SEARCHING = 0.7  # of the time allowed, where a certificate is to be checked in the rest


@dataclass(frozen=True, slots=True)
class Query:
    """One row and what is asked of it.

    part:     the question's name, see `Record`.
    changes:  feature -> how it may change here, where that differs from the space.
    alone:    if given, only these features may change, in any direction and without rules.
    any_goal: ask for any other decision instead of the goal.
    core:     ask which rules and restrictions block the row, instead of the nearest counterfactual.
    """

    key: str
    row: int
    label: str
    values: dict[str, Any]
    part: str = MAIN
    changes: tuple[tuple[str, Change], ...] = ()
    alone: tuple[str, ...] = ()
    any_goal: bool = False
    core: bool = False


@dataclass(frozen=True)
class Task:
    """Everything that is the same for every row; arguments as in `mace.audit`."""

    model: object
    space: Space
    goal: Wanted | None
    distance: DistanceSpec
    weights: Mapping[str, object] | None
    rules: Sequence[str | Path]
    gap: object
    rgap: object
    oracle: str
    timeout: float | None
    memory: int | None
    background: pd.DataFrame | None
    certificates: Path | None = None
    check: bool = True

    @property
    def seconds(self) -> float | None:
        """After how long a query is stopped from outside, if nothing inside stopped it.

        Twice the time of the search, because a certificate may be checked after it, and some for reading and writing.
        """
        return None if self.timeout is None else self.timeout * (2 if self.certificates and self.check else 1) + 5.0

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs: the arguments; it reads the model itself."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @cached_property
    def explainer(self) -> Explainer:
        """The model, read."""
        return Explainer(
            self.model,
            self.space,
            background=self.background,
            rules=self.rules,
            distance=self.distance,
            weights=self.weights,
        )

    @cached_property
    def parts(self) -> dict[str, str]:
        """The digests that together are the question: what a checkpoint belongs to, by name."""
        explainer = self.explainer
        table = digest(explainer.table)
        deployed = digest(str(type(self.model)), None if explainer.pipeline is None else explainer.pipeline.columns)
        return {
            "model": digest(table, deployed),
            "space": digest(self.space),
            "rules": digest([(rule.source, rule.program) for rule in explainer.rules]),
            "goal": digest(self.goal),
            "distance": digest(explainer.distance),
            "limits": digest(_exact(self.gap), _exact(self.rgap), self.oracle, _number(self.timeout), self.memory),
            "background": digest(None if self.background is None else frame_digest(self.background)),
            "certificates": digest(self.certificates is not None and self.check, self.certificates is not None),
        }


def _exact(gap: object) -> str:
    """A gap as exact text; raises MaceError where it is no number >= 0."""
    number = as_written(gap or 0)
    if number < 0:
        raise MaceError("gap and rgap must be >= 0")
    return "usual" if gap is None else text(number)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


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
        """Do what is done once, before the clock of a query runs: read the rows, compile, write the model."""
        if self.explainer.background is not None:
            self.explainer.background.read()
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
            if query.core:
                from mace.audit.cores import core_of

                record = core_of(self.explainer, query, self.task, blank, deadline)
            else:
                record = self._explain(query, blank, deadline)
        except MemoryError:
            record = replace(blank, failure="memory", why=f"it wanted more than {self.task.memory} MB")
        except MaceError as error:
            record = replace(blank, failure="error", why=str(error))
        return replace(record, seconds=round(time.perf_counter() - began, 6))

    def _explain(self, query: Query, blank: Record, deadline: Deadline) -> Record:
        task = self.task
        checked = task.certificates is not None and task.check and query.part == MAIN
        answer = self._variant(query).explain(
            query.values,
            goal=None if query.any_goal else task.goal,
            gap=task.gap,
            rgap=task.rgap,
            oracle=task.oracle,
            timeout=deadline.share(SEARCHING) if checked else deadline,
            memory=task.memory,
        )
        nearest = answer.counterfactuals[0] if answer.counterfactuals else None
        record = replace(
            blank,
            status=answer.status,
            why=answer.why,
            decision=for_json(answer.decision),
            distance=answer.distance,
            lower_bound=None if answer.status == "infeasible" else answer.lower_bound,
            exact_distance=None if answer.exact_distance is None else text(answer.exact_distance),
            exact_lower_bound=None if answer.status == "infeasible" else text(answer.exact_lower_bound),
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
            made = solver_certificate(answer.question, lower, seconds, self.task.memory, deadline)
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
