"""The page about the population: what was asked, what was proved, what was found.

In:  an `Audit`.    Out: a `Page`, plain values for the template.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mace.present.drawing import number, percent
from mace.report import asked, sections
from mace.report.parts import Pair, Table, counted_rows, share_words

if TYPE_CHECKING:
    from mace.audit.findings import Findings
    from mace.audit.result import Audit


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template shows of the population."""

    title: str
    date: str
    summary: list[str]
    scope: list[Pair]
    rules: list[str]
    restrictions: Table | None
    limits: list[Pair]
    proved: sections.Section
    findings: list[sections.Section]
    assumptions: list[str]
    digests: Table
    versions: list[Pair]


def page_of(audit: Audit, title: str | None, date: str | datetime.date | None) -> Page:
    """The page; a date is shown as it is given, or as the audit has it."""
    about = audit.about
    findings = audit.findings
    model = str(about["model"]) if "model" in about else "a model"
    return Page(
        title=title or f"Audit of recourse: {model}",
        date=str(date) if date else asked.period(audit) or "not stated",
        summary=_summary(audit, findings),
        scope=asked.scope(audit),
        rules=[str(rule) for rule in about.get("rules", ())],
        restrictions=asked.restrictions(about),
        limits=asked.limits(about),
        proved=sections.proved(audit, findings),
        findings=[
            section
            for section in (
                sections.no_recourse(audit, findings),
                sections.distances(audit, findings),
                sections.bounds(audit),
                sections.reliance(audit, findings),
                sections.flips(findings),
                sections.forbidding(findings),
                sections.blocking(findings),
            )
            if section is not None
        ],
        assumptions=_assumptions(audit),
        digests=asked.digests(about),
        versions=asked.versions(about),
    )


def _summary(audit: Audit, findings: Findings) -> list[str]:
    counts = findings.statuses.counts
    total = len(audit.records)
    out = [
        f"{counted_rows(total)} were asked about. For {counts.get('optimal', 0):,} the nearest counterfactual was "
        f"found, with a proof that none is nearer. For {counts.get('infeasible', 0):,} it was proved that nothing "
        "allowed reaches the goal."
    ]
    open_rows = len(audit.undecided)
    if open_rows:
        out.append(
            f"{counted_rows(open_rows)} stayed open: {counts.get('bounded', 0):,} with a lower and an upper bound, "
            f"{open_rows - counts.get('bounded', 0):,} without a verdict. They are counted beside every share below."
        )
    else:
        out.append("No row stayed open.")
    out.append(
        f"{share_words(findings.statuses.certified)} of the rows have a certificate that the independent "
        "checker accepted."
        if findings.statuses.certified.count
        else "No row has a certificate that the checker accepted: the proofs rest on the provers alone."
    )
    if by_solvers := findings.statuses.proofs.get("solvers", 0):
        out.append(
            f"{counted_rows(by_solvers)}: the verdict rests on solvers. What they refuted was written, with what they "
            "say of it; no checker has accepted that, and it is not counted as certified."
        )
    out += _extremes(audit, findings)
    out += [
        f"{counted_rows(line.flips.count)} can get another decision by a change of {line.feature} and nothing else; "
        f"for {line.never.count:,} it is proved that this never happens, {line.undecided:,} stayed undecided."
        for line in findings.flips
    ]
    return out


def _extremes(audit: Audit, findings: Findings) -> list[str]:
    """For each way to group the rows, the groups between which the shares and the distances lie."""
    out = []
    for by in audit.groups:
        shares = {g.group: g.proved.value for g in findings.no_recourse if g.by == by and g.proved.value is not None}
        medians = {g.group: g.median.value for g in findings.distances if g.by == by and g.median.value is not None}
        said = []
        for name, found, shown in (
            ("share that provably has no way out", shares, percent),
            ("median distance", medians, lambda value: number(value, 4)),
        ):
            if len(found) > 1:
                low, high = min(found, key=lambda g: found[g]), max(found, key=lambda g: found[g])
                said.append(
                    f"{name}: {shown(found[low])} in every group"
                    if found[low] == found[high]
                    else f"{name}: from {shown(found[low])} ({low}) to {shown(found[high])} ({high})"
                )
        if said:
            counted = " Undecided rows are not in these numbers." if audit.undecided else ""
            out.append(f"By {by}, {'; '.join(said)}.{counted} The intervals stand with the findings.")
    return out


def _assumptions(audit: Audit) -> list[str]:
    out = [
        "“Nearest” is meant in the distance named above, on the ranges and steps that the space declares. Another "
        "distance, range or step has other answers.",
        "Rules and restrictions are taken as declared. What they allow may still be out of a person’s reach, and what "
        "one change brings about in other features is not modelled, unless a rule says so.",
        "The verdicts are about the model with the digest below, as its library computes it in floating point. They "
        "say nothing about another version, a retrained model, or steps of the decision outside the model.",
        "Intervals treat the audited rows as a random sample. If they were chosen otherwise, intervals do not speak of "
        "a population. Each interval stands for itself; they are not adjusted for how many there are.",
        "A proof that the checker accepted rests on the checker and on the reading of the model in the certificate. A "
        "proof that was kept or not checked rests on the prover that gave it. Where solvers answered, the verdict "
        "rests on them, and on the translation of the question into their language.",
    ]
    if audit.about.get("source") == "checkpoint":
        out.append(
            "This report was made from a checkpoint. It has equal rows once, may hold rows of several runs, and does "
            "not record everything that was asked."
        )
    return out
