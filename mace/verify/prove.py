"""Verify one property of a model: ask the questions that it comes to, replay what is found, keep what was proved.

In:  a model, a space, a property.    Out: a `Verdict`.
Promise: "proved" only when every question was refuted; "violated" only with inputs that the deployed model was asked
again; a limit, a doubt in the last bits, or a question that no oracle takes is "unknown".
Source: Karimi et al. 2020, section 3; pairs of inputs as one input of a product: Barthe, D'Argenio, Rezk 2004.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from mace.base.deadline import Deadline, TimeOverError, now, stoppable
from mace.base.figures import counted
from mace.errors import MaceError
from mace.solve.protocol import Limits, Refuted, Unknown
from mace.space.space import Space, check_space
from mace.tables.table import Label
from mace.verify import properties as kinds
from mace.verify.ask import ask
from mace.verify.cases import Attempt, Load, attempts
from mace.verify.product import NoProduct
from mace.verify.properties import Property, text_of
from mace.verify.proved import Evidence, evidence
from mace.verify.questions import Case, Rows
from mace.verify.robustness import robustness
from mace.verify.shrink import shrink
from mace.verify.structure import follows
from mace.verify.subject import Subject, simple
from mace.verify.verdict import Verdict, Violation

if TYPE_CHECKING:
    import pandas as pd

    from mace.certify.writer import Certificate


@stoppable()
def verdict_of(
    model: object,
    space: Space,
    property: Property | str,  # noqa: A002
    data: pd.DataFrame | None,
    timeout: float | None,
    memory_mb: int | None,
    load: Load,
) -> Verdict:
    """The verdict about one property; arguments as in `mace.verify`."""
    if isinstance(property, str):
        property = kinds.read(property)  # noqa: A001
    if not isinstance(property, get_args(Property)):
        raise MaceError(
            f"a property must be one of mace.verify's, or its text; got {type(property).__name__}",
            hint="For instance `monotone(Income, increasing)`.",
        )
    check_space(space)
    deadline = Deadline.asked(timeout)
    began = now()
    limits = Limits.asked(deadline, memory_mb)
    if isinstance(property, kinds.Robust):
        verdict = robustness(model, space, property, data, limits)
    else:
        subject = Subject(model, space)
        compiling = subject.explainer.warm()
        limits, began = replace(limits, deadline=deadline.later(compiling)), began + compiling
        plain = _plain_row(subject.space, data)
        verdict = _Run(subject, property, limits, plain, load).verdict()
    return replace(verdict, name=text_of(property), seconds=now() - began)


def _plain_row(space: Space, data: pd.DataFrame | None) -> dict[str, Any]:
    if data is not None and len(data):
        return space.row(data.iloc[0])
    axes = {feature.name: feature.axis(simple(feature)) for feature in space.features}
    return {name: space[name].show(axis, axis.start) for name, axis in axes.items()}


@dataclass
class _Run:
    """The proof of one property: what was asked for it by now, and what came of that."""

    subject: Subject
    given: Property
    limits: Limits
    plain: Mapping[str, Any]
    load: Load
    asked: int = 0
    refuted: int = 0
    oracles: list[str] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def verdict(self) -> Verdict:
        """Ask everything, up to the first violation."""
        reason = follows(self.subject, self.given)
        if reason is not None:
            return self._structural(reason)
        for attempt in attempts(self.subject, self.given, self.load, self.limits.deadline):
            # What an earlier attempt left open is asked again here.
            self.asked, self.refuted, self.certificates, self.doubts = 0, 0, [], []
            found = self._first(attempt)
            if found is not None:
                return self._found(*found)
            if not self.doubts and self.subject.not_followed:
                self.doubts.append(self.subject.not_followed)
            if not self.doubts:
                return self._held() if self.asked else self._structural(attempt.empty)
            if self.limits.deadline.over:
                break
        settled = f"{self.refuted} of {self.asked} questions were refuted"
        return self._done("unknown", f"{self.doubts[0]} ({settled})")

    def _first(self, attempt: Attempt) -> tuple[Rows, tuple[Label, ...]] | None:
        """The first rows that some question of an attempt finds, with what the deployed model says of them."""
        try:
            for case in attempt.cases:
                if self.limits.deadline.over:  # what is left would be made, and not asked
                    self.doubts.append(self.limits.deadline.why)
                    return None
                found = self.decide(case)
                if found is not None:
                    return found
        except NoProduct as error:
            self.doubts.append(error.message)
        except TimeOverError as over:
            self.doubts.append(str(over))
        return None

    def _found(self, rows: Rows, decisions: tuple[Label, ...]) -> Verdict:
        label = self.given.label if isinstance(self.given, kinds.Bounded) else None
        shown = Violation(rows, decisions, self.subject.space, label)
        # What was refuted before proves nothing about the property.
        self.certificates = []
        if isinstance(self.given, kinds.Reachable):
            return self._done("proved", "this input gets it", witness=shown, finding="reachable")
        finding = "reachable" if isinstance(self.given, kinds.Unreachable) else ""
        return self._done("violated", _broken_by(rows), violation=shown, finding=finding)

    def _held(self) -> Verdict:
        """Every question of an attempt was refuted."""
        count = f"{counted(self.refuted, 'question')} refuted"
        if isinstance(self.given, kinds.Reachable | kinds.Unreachable):
            why = f"no allowed input gets {self.given.label!r} ({count})"
            if isinstance(self.given, kinds.Unreachable):
                return self._done("proved", why, finding="not reachable")
            self.notes.append("`unreachable` asks for the opposite, which is proved")
            return self._done("violated", f"not reachable, which is proved: {why}", finding="not reachable")
        return self._done("proved", f"no allowed input breaks it ({count})")

    def _structural(self, reason: str) -> Verdict:
        if self.subject.not_followed:
            return Verdict("", "unknown", self.subject.not_followed, oracle="structure")
        note = "no certificate: it follows from the shape of the model, and certificates speak of its numbers"
        notes = (*self.subject.rules_of_changes, *self.subject.left_out, note)
        return Verdict("", "proved", reason, oracle="structure", notes=notes)

    def _done(self, status: Any, why: str, **more: Any) -> Verdict:
        assumed = (*self.subject.explainer.assumed, *self.subject.rules_of_changes)
        notes = [*assumed, *([] if self.subject.not_followed else self.subject.left_out), *self.notes]
        complete = len(self.certificates) == self.refuted
        return Verdict(
            "",
            status,
            why,
            certificates=tuple(self.certificates) if complete else (),
            asked=self.asked,
            refuted=self.refuted,
            oracle=", ".join(dict.fromkeys(self.oracles)),
            notes=tuple(dict.fromkeys(notes)),
            **more,
        )

    # ------------------------------------------------------------------------------------------ answers

    def decide(self, case: Case) -> tuple[Rows, tuple[Label, ...]] | None:
        """Rows that break the property, or None; then the case was refuted, or a doubt was noted."""
        self.asked += 1
        deadline = self.limits.deadline
        if deadline.over:
            self.doubts.append(deadline.why)
            return None
        outcome = ask(case, None, self.limits, self.breaks)
        self.oracles.append(outcome.oracle)
        if outcome.note:
            self.notes.append(outcome.note)
        if outcome.rows is not None:
            rows = shrink(outcome.rows, lambda candidate: self.breaks(case, candidate) is not None, self.plain)
            decisions = self.breaks(case, rows)
            assert decisions is not None
            return rows, decisions
        match outcome.reply:
            case Refuted(proof=proof):
                self.refuted += 1
                if outcome.refused:
                    self.notes.append(
                        f"the deployed model itself was asked about {counted(outcome.refused, 'point')} near a boundary"
                    )
                self._keep(evidence(outcome.question, proof, None, deadline))
            case Unknown(why=why):
                self.doubts.append(deadline.why if deadline.over else why)
        return None

    def breaks(self, case: Case, rows: Rows) -> tuple[Label, ...] | None:
        """What the deployed model says of allowed rows that break the property; None if they do not."""
        return case.broken(rows) if all(self.subject.allowed(row) for row in rows) else None

    def _keep(self, found: Evidence) -> None:
        if found.doubt:
            self.refuted -= 1
            self.doubts.append(found.doubt)
        if found.note:
            self.notes.append(found.note)
        if found.certificate is not None:
            self.certificates.append(found.certificate)


def _broken_by(rows: Rows) -> str:
    if len(rows) == 1:
        return "this input breaks it"
    differ = [name for name in rows[0] if rows[0][name] != rows[1][name]]
    return f"these two inputs, which differ in {', '.join(differ)}, break it"
