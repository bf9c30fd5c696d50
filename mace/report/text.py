"""An audit as tables, on a terminal, in a notebook and as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mace.audit.record import FAILURES, PROOFS
from mace.base.figures import counted, size_of
from mace.present.tables import as_html as tables_as_html
from mace.present.tables import as_text, row, stacked, table
from mace.report.asked import held_protected
from mace.report.parts import goal_of

if TYPE_CHECKING:
    from mace.audit.findings import Findings
    from mace.audit.intervals import Estimate
    from mace.audit.result import Audit

MOST_FEATURES = 12
MOST_CORES = 5
MOST_NOTES = 12
MOST_ROWS = 20

__all__ = ["as_html", "as_rich", "as_text", "percent"]


def as_rich(audit: Audit) -> Any:
    """The tables as a rich renderable."""
    findings = audit.findings
    parts: list[Any] = [_statuses(audit, findings), _groups(findings)]
    if findings.notes:
        parts.append(_notes(findings))
    if findings.reliance:
        parts.append(_reliance(audit, findings))
    if findings.flips:
        parts.append(_flips(findings))
    if findings.forbidding:
        parts.append(_forbidding(findings))
    if findings.blocking is not None:
        parts += _blocking(findings)
    if audit.undecided:
        parts.append(_undecided(audit))
    return stacked(parts)


def as_html(audit: Audit) -> str:
    """The tables for a notebook."""
    return tables_as_html(as_rich(audit))


def _statuses(audit: Audit, findings: Findings) -> Any:
    statuses = findings.statuses
    about = audit.about
    asked = f"wanted: {goal_of(about)}, {about.get('distance')} distance"
    title = f"{counted(len(audit.records), 'row')}, {about.get('model')}, {asked}"
    if not audit.finished:
        title = f"UNFINISHED, {len(audit.records):,} of {about.get('planned'):,} rows answered: {title}"
    made = table(title, "outcome", "rows", "")
    for name, count in statuses.counts.items():
        row(made, name, count, FAILURES.get(name, ""))
    row(made, "proved", statuses.proved, "optimal or infeasible")
    size = f", {size_of(statuses.certificate_bytes)}" if statuses.certificate_bytes else ""
    if statuses.asked_for:
        lost = f"; {statuses.unwritten:,} could not be written" if statuses.unwritten else ""
        row(made, "certified", statuses.certified, f"the checker accepted a certificate{size}{lost}")
    else:
        row(made, "certified", "", "no certificates were asked for")
    row(made, "unknown", statuses.unknown, "no verdict")
    for name, count in statuses.proofs.items():
        row(made, f"proof {name}", count, PROOFS[name])
    return made


def _notes(findings: Findings) -> Any:
    made = table(f"what verdicts rest on, beside their proofs{_cut(findings.notes, MOST_NOTES)}", "", "rows")
    for note, count in findings.notes[:MOST_NOTES]:
        row(made, note, count)
    return made


def _cut(lines: Sequence[object], most: int) -> str:
    """What a title says where only the first lines are shown."""
    return f"; the first {most} of {len(lines):,}" if len(lines) > most else ""


def _groups(findings: Findings) -> Any:
    title = "recourse by group (shares: 95 % Wilson; distances: 95 % bootstrap)"
    known = not any(share.undecided for share in findings.no_recourse)
    more = () if known else ("undecided", "at most")
    made = table(title, "group", "no recourse, proved", *more, "median distance", "mean distance")
    for share, distance in zip(findings.no_recourse, findings.distances, strict=True):
        name = share.group if share.by == "everyone" else f"{share.by} = {share.group}"
        cells = () if known else (share.undecided, f"{share.at_most:.1%}")
        row(made, name, share.proved, *cells, distance.median, distance.mean)
    return made


def _reliance(audit: Audit, findings: Findings) -> Any:
    title = "features that the nearest counterfactuals change"
    held = held_protected(audit)
    if held:
        title += f"; by construction none rests on {', '.join(held)}, which may not change"
    if findings.on_protected is not None and len(held) < len(audit.protected):
        title += f"; a protected one: {findings.on_protected}"
    title += _cut(findings.reliance, MOST_FEATURES)
    made = table(title, "feature", "changed in", "raised", "lowered", "alone", "protected")
    for line in findings.reliance[:MOST_FEATURES]:
        row(made, line.feature, line.changed, line.raised, line.lowered, line.alone, "yes" if line.protected else "")
    return made


def _flips(findings: Findings) -> Any:
    made = table(
        "decisions that flip when only this changes", "feature", "flips", "never, proved", "undecided", "for instance"
    )
    for line in findings.flips:
        first = line.examples[0] if line.examples else None
        instance = f"row {first['label']}: {first['change'][0]} to {first['change'][1]}" if first else ""
        row(made, line.feature, line.flips, line.never, line.undecided, instance)
    return made


def _forbidding(findings: Findings) -> Any:
    made = table(
        "what it costs when a feature may not change, or may only grow",
        "feature",
        "nearest found changes it",
        "every nearest breaks it",
        "no recourse then",
        "undecided",
        "distance grows by",
    )
    for line in findings.forbidding:
        name = f"{line.feature} {'fixed' if line.how == 'fixed' else 'may only increase'}"
        row(made, name, line.relies, line.must, line.blocked, line.undecided, percent(line.increase))
    return made


def percent(value: Estimate) -> str:
    """A relative increase with its interval."""
    if value.value is None:
        return ""
    if value.lower is None or value.upper is None:
        return f"{value.value:.1%}"
    return f"{value.value:.1%} [{value.lower:.1%}, {value.upper:.1%}]"


def _blocking(findings: Findings) -> list[Any]:
    blocking = findings.blocking
    assert blocking is not None
    made = table(
        f"what blocks recourse: {blocking.examined} of {blocking.infeasible} rows without any examined, "
        f"{blocking.minimal} minimal cores, {blocking.undecided} undecided",
        "rule or restriction",
        "in the cores of",
        "its removal alone opens a way",
    )
    for line in blocking.constraints:
        row(made, line.constraint, line.in_cores, line.opens)
    if blocking.model_alone:
        row(made, "none: the model never gives the goal", blocking.model_alone, "")
    if not blocking.cores:
        return [made]
    cores = table(f"most frequent cores{_cut(blocking.cores, MOST_CORES)}", "together they block", "rows")
    for core, count in blocking.cores[:MOST_CORES]:
        row(cores, " and ".join(core) or "(nothing but the model)", count)
    return [made, cores]


def _undecided(audit: Audit) -> Any:
    rows = audit.undecided
    made = table(
        f"{counted(len(rows), 'row')} without a proved verdict"
        + (f", the first {MOST_ROWS}" if len(rows) > MOST_ROWS else ""),
        "row",
        "outcome",
        "why",
    )
    for record in rows[:MOST_ROWS]:
        row(made, record.label, record.outcome, record.why.replace("\n", ". "))
    return made
