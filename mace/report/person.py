"""The page about one person: what would have to be different, other ways, and how to check the proof.

In:  an `Audit` and the place of a row in it, or an `Answer`.    Out: a `Person`, plain values for the template.
Promise: the certificate is only called accepted if the checker accepted it, if it makes the claim that stands here,
and if the question in it begins at this person's values.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.audit.record import FAILURES, PROOFS
from mace.base.figures import cell, move, number
from mace.base.files import reason
from mace.base.suggestions import few
from mace.errors import CertificateError, FileError, RowError
from mace.explain.answer import MEANING, WITHIN, Answer
from mace.present.answer_plot import AnswerDisplay, changes_on
from mace.report.parts import Pair, Plot, ReportTable, goal_of, named, plot_of, units_of

if TYPE_CHECKING:
    from mace.audit.record import Record
    from mace.audit.result import Audit
    from mace.certify.record import SolverCertificate
    from mace.certify.writer import Certificate
    from mace.space.space import Space

SAVED = "certificate.json.gz"  # where the command for an answer expects its certificate


class Recheck(NamedTuple):
    """How a proof is checked once more.

    command: where mace is installed.    alone: with Python alone; "" where solvers have to be asked.
    """

    command: str
    alone: str


@dataclass(frozen=True, slots=True)
class Person:
    """All that the template shows of one person; `recheck` is None where no certificate was kept."""

    title: str
    verdict: list[str]
    bounds: list[Pair]
    changes: ReportTable | None
    now: ReportTable | None
    plot: Plot | None
    others: ReportTable | None
    blocked: list[str]
    proof: list[Pair]
    recheck: Recheck | None


def person_of(
    audit: Audit, who: int | Answer, space: Space | None = None, certificates: str | Path | None = None
) -> Person:
    """The page about a row of the audit or an answer; raises RowError if the audit has no such row."""
    if isinstance(who, Answer):
        return _of_answer(who)
    record = next((record for record in audit.records if record.row == who), None)
    if record is None:
        rows = few(record.row for record in audit.records) or "no rows"
        raise RowError(f"row {who} was not audited", hint=f"The audit has {rows}.")
    return _of_record(audit, record, space, certificates)


def _of_record(audit: Audit, record: Record, space: Space | None, folder: str | Path | None) -> Person:
    open_ = record.outcome == "optimal" and record.exact_distance != record.exact_lower_bound
    said = WITHIN if open_ else FAILURES[record.failure] if record.failure else MEANING[record.status]
    verdict = [f"{record.outcome.capitalize()} – {said}."]
    if record.why:
        verdict.append(f"Reason: {record.why}")
    verdict += [f"Note: {note}." for note in record.notes]
    proof, recheck = _proof_of_record(record, folder, space)
    changes = {name: (pair[0], pair[1]) for name, pair in record.changes.items()}
    plot = None
    if space is not None and changes and set(changes) <= set(space.names):
        title = f"What would have to change for row {record.label}"
        plot = plot_of(AnswerDisplay(changes_on(space, changes), title), "plot-person", _PLOT)
    return Person(
        title=f"One person: row {record.label}",
        verdict=verdict,
        bounds=[
            Pair(
                "Decision now",
                named(audit.about, cell(record.decision)) if record.decision is not None else "not recorded",
            ),
            Pair("Goal", goal_of(audit.about)),
            *_bounds(
                record.distance,
                record.lower_bound,
                record.exact_distance,
                record.exact_lower_bound,
                no_way_out=record.outcome == "infeasible",
            ),
        ],
        changes=_table(record.start, [changes], units_of(audit.about, space)) if changes else None,
        now=None if changes or not record.start else _now(record.start, units_of(audit.about, space)),
        plot=plot,
        others=_restricted(audit, record),
        blocked=_core(audit, record),
        proof=proof,
        recheck=recheck,
    )


_PLOT = "Circle: now. Diamond: what is needed. Each line is the range of its feature, or its levels from first to last."


def _bounds(
    distance: float | None, lower: float | None, exact: str | None, exact_lower: str | None, *, no_way_out: bool
) -> list[Pair]:
    if no_way_out:
        return [Pair("Distance", "none: it is proved that nothing allowed reaches the goal")]
    same = exact is not None and exact == exact_lower

    def shown(value: float | None, fraction: str | None, rounding: Any) -> str:
        if value is None:
            return "none"
        text = number(value, 6, "nearest" if same else rounding)
        return f"{text}, exactly {fraction}" if fraction and len(fraction) <= 60 and fraction != text else text

    return [
        Pair("Distance of what was found", shown(distance, exact, "up")),
        Pair("Provably none nearer than", shown(lower, exact_lower, "down")),
    ]


def _table(start: Mapping[str, Any], found: list[dict[str, tuple[Any, Any]]], units: Mapping[str, str]) -> ReportTable:
    """Before and after, changed features first; one column a counterfactual."""
    first = found[0]
    names = [name for name in start if name in first] + [name for name in first if name not in start]
    rows = [
        (name, cell(first[name][0], units.get(name, "")), cell(first[name][1], units.get(name, "")), move(*first[name]))
        for name in names
    ]
    rows += [(name, cell(value, units.get(name, "")), "same", "") for name, value in start.items() if name not in first]
    head = ("Feature", "Now", "Needed", "Change#")
    return ReportTable("before-after", "Before and after: all features, the ones that change first", head, rows)


def _now(start: Mapping[str, Any], units: Mapping[str, str]) -> ReportTable:
    """The values of a person for whom no change was found."""
    rows = [(name, cell(value, units.get(name, ""))) for name, value in start.items()]
    return ReportTable("now", "The values that were decided on", ("Feature", "Now"), rows)


def _restricted(audit: Audit, record: Record) -> ReportTable | None:
    """What the audit found for this row under further restrictions: other ways out, or proofs that there is none."""
    rows = []
    for part, records in audit.extra.items():
        how, _, feature = part.partition(":")
        if how not in ("fixed", "increase"):
            continue
        for other in records:
            if other.row == record.row:
                words = "may not change" if how == "fixed" else "may only grow"
                distance = "none" if other.distance is None else number(other.distance, 6, "up")
                rows.append((f"{feature} {words}", _moves(other.changes), distance, other.outcome))
    return _others(rows, "If") if rows else None


def _others(rows: Sequence[tuple[str, str, str, str]], first: str) -> ReportTable:
    return ReportTable("alternatives", "Other ways", (first, "Needed", "Distance#", "Verdict"), rows)


def _moves(changes: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {cell(a)} to {cell(b)}" for name, (a, b) in changes.items()) or "none found"


def _core(audit: Audit, record: Record) -> list[str]:
    """Which rules and restrictions block this row, if that was asked."""
    found = next((r for r in audit.extra.get("core", ()) if r.row == record.row and r.outcome == "infeasible"), None)
    return list(found.core) if found else []


_NOT_CHECKED = "not checked: what solvers said is asked again by the command below, given the model and the row"
_WHOSE = dict.fromkeys(("accepted", "unchecked", "refused"), "In the checker’s words") | {
    "solvers": "In the solvers’ words"
}


def _recheck(name: str, row: object, *, by_solvers: bool) -> Recheck:
    """How a certificate of this name is checked, about this row."""
    quoted = shlex.quote(name)
    if by_solvers:
        return Recheck(f"mace check {quoted} --model MODEL --data DATA --row {row}", "")
    return Recheck(f"mace check {quoted}", f"python -I -S proofs/check.py {quoted}")


def _proof_of_record(
    record: Record, folder: str | Path | None, space: Space | None
) -> tuple[list[Pair], Recheck | None]:
    said = [Pair("Proof", PROOFS[record.proof], refused=record.proof == "refused")]
    if record.proof_why:
        said.append(Pair(_WHOSE.get(record.proof, "Why"), record.proof_why))
    said.append(Pair("Digest of the question", record.key, code=True))
    if not record.certificate:
        return said, None
    name = record.certificate
    if Path(name).name != name:
        raise FileError(f"the audit names a certificate outside its folder: {name!r}")
    said.append(Pair("Certificate", name, code=True))
    if folder is not None:
        said += _check(record, Path(folder) / name, space)
    return said, _recheck(name, record.row, by_solvers=record.proof == "solvers")


def _check(record: Record, path: Path, space: Space | None) -> list[Pair]:
    """Check the certificate once more, and that it makes the claim of the record, about its row."""
    from mace.certify.begins import begins_at
    from mace.certify.record import load as load_solvers
    from mace.certify.writer import load

    found: Certificate | SolverCertificate
    try:
        raw = path.read_bytes()
        found = load_solvers(path) if record.proof == "solvers" else load(path)
    except (OSError, CertificateError) as error:
        why = reason(error).partition("\n")[0].removeprefix(f"{path}: ")
        raise FileError(
            f"{path}: the certificate of row {record.row} cannot be read ({why})",
            hint="The audit, run again with its checkpoint and --certificates, writes anew what is damaged.",
        ) from None
    claim = {"anywhere": True} if record.status == "infeasible" else {"closer_than": record.exact_lower_bound}
    solvers = record.proof == "solvers"
    words, refused = _NOT_CHECKED, False
    if not solvers:
        verdict = found.check()
        words, refused = str(verdict), not verdict.accepted
    made = found.data if solvers else found.data["statement"]
    if made.get("claim") != claim:
        words, refused = "refused: the certificate makes another claim than the audit", True
    elif not solvers and not refused and not begins_at(made.get("features", ()), record.start, space):
        words, refused = "refused: the certificate is about another row than the audit", True
    elif not solvers and not refused and not _witnessed(record, found.data, space):
        words, refused = "refused: the certificate's witness is another one than the audit's", True
    return [
        Pair("Digest of its statement", found.digest, code=True),
        Pair("SHA-256 of the file", hashlib.sha256(raw).hexdigest(), code=True),
        Pair("Checked again for this report", words, refused=refused),
    ]


def _witnessed(record: Record, data: dict[str, Any], space: Space | None) -> bool:
    """Whether what a record says of the nearest counterfactual is the witness of its certificate."""
    from mace.certify.begins import witnessed

    after = {name: moved[1] for name, moved in record.changes.items()}
    return witnessed(data, {**record.start, **after}, record.exact_distance, space)


def _of_answer(answer: Answer) -> Person:
    found = answer.counterfactuals
    infeasible = answer.status == "infeasible"
    values = answer.to_dict()
    others = [
        (f"{place}", _moves(c.changes), number(c.distance, 6, "up"), c.status)
        for place, c in enumerate(found[1:], start=2)
    ]
    proof, recheck = _proof_of_answer(answer)
    return Person(
        title="One person",
        verdict=[f"{answer.status.capitalize()} – {answer.meaning}."]
        + ([f"Reason: {answer.why}"] if answer.why else [])
        + [f"Note: {note}." for note in answer.notes],
        bounds=[
            Pair("Decision now", _named(answer, cell(values["decision"]))),
            Pair("Goal", answer.goal if answer.goal == answer.wanted else f"{answer.wanted} ({answer.goal})"),
            *_bounds(
                answer.distance,
                answer.lower_bound,
                values["exact_distance"],
                values["exact_lower_bound"],
                no_way_out=infeasible,
            ),
        ],
        changes=_table(answer.start, [found[0].changes], units_of({}, answer.space)) if found else None,
        now=None if found else _now(answer.start, units_of({}, answer.space)),
        plot=plot_of(AnswerDisplay.of(answer), "plot-person", _PLOT) if found and found[0].changes else None,
        others=_others(others, "Way") if others else None,
        blocked=[],
        proof=proof,
        recheck=recheck,
    )


def _named(answer: Answer, label: str) -> str:
    return named({"decisions": answer.space.decisions}, label)


def _proof_of_answer(answer: Answer) -> tuple[list[Pair], Recheck | None]:
    try:
        certificate = answer.certificate
    except CertificateError as error:
        return [Pair("Proof", error.message)], None
    verdict = certificate.check()
    refused = not answer.by_solvers and not verdict.accepted
    return [
        Pair("Digest of the certificate’s statement", certificate.digest, code=True),
        Pair("Checked for this report", str(verdict), refused=refused),
        Pair("To save it", f'answer.certificate.save("{SAVED}")', code=True),
    ], _recheck(SAVED, "ROW", by_solvers=answer.by_solvers)
