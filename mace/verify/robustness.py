"""How far the nearest input with another decision is from a row, at least.

In:  a model, a space, a row, a radius or none.    Out: a `Verdict`.
Promise: as for `mace.explain`, with every feature free to change and the rules of the space in force.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.exact import below, nearest
from mace.base.figures import at_least, counted
from mace.errors import RowError
from mace.solve.protocol import Limits, Refuted, Unknown
from mace.solve.status import is_final
from mace.space.space import Space
from mace.tables.table import Label
from mace.verify.ask import ask
from mace.verify.properties import Robust
from mace.verify.proved import Evidence, evidence, evidence_of
from mace.verify.questions import Case, Rows
from mace.verify.subject import Subject
from mace.verify.verdict import Verdict, Violation

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.explainer import Explainer


def robustness(model: object, space: Space, given: Robust, data: pd.DataFrame | None, limits: Limits) -> Verdict:
    """Whether the decision of a row holds within the radius; without one, how far it is proved to hold."""
    from mace.explain.explainer import Explainer

    subject = Subject(model, space)
    explainer = Explainer(model, subject.space, distance=given.distance, background=data)
    limits = replace(limits, deadline=limits.deadline.later(explainer.warm()))
    row = subject.space.row(_row(given.row, data))
    if given.radius is None:
        verdict = _largest(subject, explainer, row, limits)
    else:
        verdict = _within(subject, explainer, row, given.radius, limits)
    return replace(verdict, notes=(*_as_it_is(subject, row), *verdict.notes))


def _as_it_is(subject: Subject, row: dict[str, Any]) -> list[str]:
    """What the claim says nothing about: inputs that lack another number than the row."""
    found = []
    for feature in subject.space.features:
        if feature.missing and feature.ordered:
            lacks = row[feature.name] is None or row[feature.name] != row[feature.name]
            found.append(f"`{feature.name}` {'stays missing' if lacks else 'does not become missing'} in this claim")
    return found


def _within(subject: Subject, explainer: Explainer, row: dict[str, Any], radius: Fraction, limits: Limits) -> Verdict:
    """Whether the decision of a row holds within a radius."""
    question, decision = explainer.question(row)

    def rows(point: Any) -> Rows:
        return row, subject.space.show(question.axes, point)

    def broken(pair: Rows) -> tuple[Label, ...] | None:
        said = subject.decisions(pair)
        return (said[0], said[1]) if said[0] != said[1] else None

    case = Case(question, rows, broken)
    reply, found, question, _, name, note = ask(case, radius, limits, lambda asked, pair: asked.broken(pair))
    notes: tuple[str, ...] = (note,) if note else ()
    if found is not None:
        decisions = broken(found)
        assert decisions is not None
        shown = Violation(found, decisions, subject.space)
        why = "a nearer input gets another decision"
        return Verdict("", "violated", why, shown, asked=1, oracle=name, notes=notes)
    if isinstance(reply, Unknown):
        why = reply.why + (f" (proved up to {nearest(reply.lower):.6g})" if reply.lower else "")
        return Verdict("", "unknown", why, asked=1, oracle=name, notes=notes)
    assert isinstance(reply, Refuted)
    found_proof = evidence(question, reply.proof, radius, limits.deadline)
    if found_proof.note:
        notes = (*notes, found_proof.note)
    if found_proof.doubt:
        return Verdict("", "unknown", found_proof.doubt, asked=1, oracle=name, notes=notes)
    certificates = () if found_proof.certificate is None else (found_proof.certificate,)
    why = f"every input closer than {nearest(radius):.6g} gets {decision!r}"
    return Verdict("", "proved", why, certificates=certificates, asked=1, refuted=1, oracle=name, notes=notes)


def _largest(subject: Subject, explainer: Explainer, row: dict[str, Any], limits: Limits) -> Verdict:
    room = None if limits.memory is None else limits.memory // 2**20
    answer = explainer.explain(row, timeout=limits.deadline, memory_mb=room)
    bounded = answer.status == "infeasible" or answer.exact_lower_bound > 0
    found = evidence_of(answer, limits.deadline) if bounded else Evidence()
    notes = [*answer.notes, *([found.note] if found.note else [])]
    if found.doubt:
        return Verdict("", "unknown", found.doubt, asked=1, oracle=answer.oracle, notes=tuple(notes))
    certificates = () if found.certificate is None else (found.certificate,)
    witness = None
    if answer.counterfactuals:
        other = answer.counterfactuals[0].values
        witness = Violation((row, other), tuple(subject.decisions([row, other])), subject.space)
    if answer.status == "infeasible":
        why = "every allowed input gets the same decision"
    else:
        why = f"every input closer than {at_least(answer.exact_lower_bound, 6)} gets {answer.decision!r}"
        if answer.exact_distance is not None:
            why += f"; at {nearest(answer.exact_distance):.6g} one does not"
    known = is_final(answer.status) or answer.exact_lower_bound > Fraction(0)
    return Verdict(
        "",
        "proved" if known else "unknown",
        why if known else answer.why,
        witness=witness,
        certificates=certificates,
        asked=1,
        refuted=1,
        oracle=answer.oracle,
        notes=tuple(notes),
        figures={} if answer.status == "infeasible" else {"radius": below(answer.exact_lower_bound)},
    )


def _row(given: Any, data: pd.DataFrame | None) -> Any:
    if isinstance(given, int) and not isinstance(given, bool):
        if data is None or not 0 <= given < len(data):
            rows = 0 if data is None else len(data)
            raise RowError(f"robust: there is no row {given}; the data has {counted(rows, 'row')}")
        return data.iloc[given]
    return given
