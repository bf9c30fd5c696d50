"""The page about the population: what was asked, what was proved, what was found.

In:  an `Audit`.    Out: a `Page`, plain values for the template.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mace.audit.record import FAILURES, PROOFS
from mace.explain.answer import MEANING
from mace.present.drawing import cell, number, percent
from mace.report.displays import (
    MOST_FEATURES,
    MOST_GROUPS,
    MOST_MARKS,
    OUTCOMES,
    BoundsDisplay,
    DistanceDisplay,
    NoRecourseDisplay,
    RelianceDisplay,
    StatusDisplay,
)
from mace.report.parts import (
    NOT_KNOWN,
    Cell,
    Pair,
    Plot,
    Table,
    estimate_cell,
    goal_of,
    interval,
    plot_of,
    share_cell,
    share_words,
)

if TYPE_CHECKING:
    from mace.audit.findings import Findings
    from mace.audit.result import Audit

MOST_UNDECIDED = 60
MOST_CORES = 10
MOST_NOTES = 20


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the findings: words, plots, tables."""

    name: str
    title: str
    words: list[str] = field(default_factory=list)
    plots: list[Plot] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)


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
    proved: Section
    findings: list[Section]
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
        date=str(date) if date else _period(audit) or "not stated",
        summary=_summary(audit, findings),
        scope=_scope(audit),
        rules=[str(rule) for rule in about.get("rules", ())],
        restrictions=_restrictions(about),
        limits=_limits(about),
        proved=_proved(audit, findings),
        findings=[
            section
            for section in (
                _no_recourse(audit, findings),
                _distances(audit, findings),
                _bounds(audit),
                _reliance(audit, findings),
                _flips(findings),
                _forbidding(findings),
                _blocking(findings),
            )
            if section is not None
        ],
        assumptions=_assumptions(audit),
        digests=_digests(about),
        versions=_versions(about),
    )


def _period(audit: Audit) -> str:
    """From the first question to the last answer, in UTC; "" where the records do not say."""
    if audit.period is None:
        return ""
    first, last = audit.period
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d, %H:%M}"
    begin = f"{first:%Y-%m-%d, %H:%M}"
    return f"{begin} UTC" if begin.endswith(end) else f"{begin} to {end} UTC"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _summary(audit: Audit, findings: Findings) -> list[str]:
    counts = findings.statuses.counts
    total = len(audit.records)
    out = [
        f"{_rows(total)} were asked about. For {counts.get('optimal', 0):,} the nearest counterfactual was "
        "found, with a "
        f"proof that none is nearer. For {counts.get('infeasible', 0):,} it was proved that nothing allowed "
        "reaches the "
        f"goal."
    ]
    open_rows = len(audit.undecided)
    if open_rows:
        out.append(
            f"{_rows(open_rows)} stayed open: {counts.get('bounded', 0):,} with a lower and an upper bound, "
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
            f"{_rows(by_solvers)}: the verdict rests on solvers. What they refuted was written, with what they say of "
            "it; no checker has accepted that, and it is not counted as certified."
        )
    out += _extremes(audit, findings)
    out += [
        f"{_rows(line.flips.count)} can get another decision by a change of {line.feature} and nothing else; for "
        f"{line.never.count:,} it is proved that this never happens, {line.undecided:,} stayed undecided."
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


def _scope(audit: Audit) -> list[Pair]:
    about = audit.about
    asked = {
        "rejected": "the rows that do not have the goal",
        "all": "every row",
    }.get(str(about.get("rows")), NOT_KNOWN)
    if about.get("limit") is not None:
        asked += f", the first {about['limit']:,} of them"
    return [
        Pair("Model", _of(about, "model")),
        Pair("Space of features", _of(about, "space")),
        Pair("Goal", goal_of(about)),
        Pair("Distance", _of(about, "distance")),
        Pair("Rows asked about", asked),
        Pair("Rows in the table", f"{about['frame_rows']:,}" if "frame_rows" in about else NOT_KNOWN),
        Pair("Rows in this report", f"{len(audit.records):,}"),
        Pair("Asked and answered", _period(audit) or NOT_KNOWN),
        Pair("Groups", ", ".join(audit.groups) or "none"),
        Pair("Protected features", ", ".join(audit.protected) or "none named"),
    ]


def _of(about: Mapping[str, Any], name: str, absent: str = "") -> str:
    if name not in about:
        return NOT_KNOWN
    return absent if about[name] is None and absent else str(about[name])


_MISSING = {
    "keep": "a missing value stays missing, and one that is there stays there",
    "fill": "a missing value may be given; one that is there stays there",
    "any": "a missing value may be given, and one that is there may become missing",
}


def _restrictions(about: Mapping[str, Any]) -> Table | None:
    words = {"fixed": "may not change", "increase": "may only grow", "decrease": "may only shrink"}
    rows = [(str(name), words.get(str(how), str(how))) for name, how in about.get("restrictions", {}).items()]
    rows += [(str(name), _MISSING[str(how)]) for name, how in about.get("missing", {}).items() if str(how) in _MISSING]
    return (
        Table("restrictions", "Features that may not change freely", ("Feature", "Restriction"), rows) if rows else None
    )


def _limits(about: Mapping[str, Any]) -> list[Pair]:
    seconds, memory = about.get("timeout_seconds"), about.get("memory_mb")
    return [
        Pair("Time for each answer", _limit(about, "timeout_seconds", f"{cell(seconds)} s")),
        Pair("Memory for each answer", _limit(about, "memory_mb", f"{cell(memory)} MB")),
        Pair("Oracle", _of(about, "oracle")),
    ]


def _limit(about: Mapping[str, Any], name: str, shown: str) -> str:
    return NOT_KNOWN if name not in about else "no limit" if about[name] is None else shown


def _proved(audit: Audit, findings: Findings) -> Section:
    statuses = findings.statuses
    total = len(audit.records)
    outcomes = Table(
        "outcomes",
        "How the rows ended",
        ("Outcome", "Rows#", "Share#", "What it means"),
        [
            (name, f"{count:,}", percent(count / total if total else None), MEANING.get(name) or FAILURES[name])
            for name, count in sorted(statuses.counts.items(), key=lambda item: list(OUTCOMES).index(item[0]))
        ],
    )
    proofs = Table(
        "proofs",
        "What the verdicts rest on",
        ("Proof", "Rows#", "What it means"),
        [(name, f"{count:,}", PROOFS[name]) for name, count in statuses.proofs.items()],
    )
    tables = [outcomes, proofs]
    if findings.notes:
        rows = [(note, f"{count:,}") for note, count in findings.notes[:MOST_NOTES]]
        tables.append(Table("notes", "What verdicts rest on, beside their proofs", ("Note", "Rows#"), rows))
    if audit.undecided:
        rest = len(audit.undecided) - MOST_UNDECIDED
        tables.append(
            Table(
                "undecided",
                "Rows without a proved verdict",
                ("Row", "Outcome", "Lower bound#", "Found at#", "Why"),
                [
                    (
                        record.label,
                        record.outcome,
                        "none" if record.lower_bound is None else number(record.lower_bound, 6, "down"),
                        "none" if record.distance is None else number(record.distance, 6, "up"),
                        record.why or "no reason recorded",
                    )
                    for record in audit.undecided[:MOST_UNDECIDED]
                ],
                f"{_rows(rest)} more are in the audit file." if rest > 0 else "",
            )
        )
    words = [
        f"Proved, that is optimal or infeasible: {share_words(statuses.proved)}.",
        f"Certified, that is with a certificate that the checker accepted: {share_words(statuses.certified)}.",
        f"Unknown, that is without any verdict: {share_words(statuses.unknown)}.",
        "Intervals are at 95%. A row that ran into a limit is never counted as proved.",
    ]
    plot = plot_of(StatusDisplay.of(audit), "plot-status", "Rows by outcome.")
    return Section("proved", "What was proved, and what was not", words, [plot], tables)


def _group(by: str, group: str) -> str:
    return group if by == "everyone" else f"{by}: {group}"


def _cut(count: int, most: int, what: str) -> str:
    return f" The first {most} of {count} {what}; the table has all." if count > most else ""


def _thin(audit: Audit) -> str:
    return f" Of more rows than {MOST_MARKS}, {MOST_MARKS} are drawn." if len(audit.records) > MOST_MARKS else ""


def _no_recourse(audit: Audit, findings: Findings) -> Section:
    lines = findings.no_recourse
    table = Table(
        "no-recourse-table",
        "Rows that provably have no recourse, by group",
        ("Group", "Rows#", "Proved to have none#", "Share#", "95% interval#", "Undecided#", "Share at most#"),
        [
            (
                _group(line.by, line.group),
                f"{line.proved.of:,}",
                f"{line.proved.count:,}",
                percent(line.proved.value),
                interval(line.proved),
                f"{line.undecided:,}",
                percent(line.at_most),
            )
            for line in lines
        ],
        "“At most” counts the undecided rows as if they had no recourse. Intervals: Wilson.",
    )
    plot = plot_of(
        NoRecourseDisplay.of(audit),
        "plot-no-recourse",
        "Dot: the share that is proved to have no recourse. Line: its 95% interval. Hollow triangle: the "
        "share if every "
        "undecided row had none." + _cut(len(lines), MOST_GROUPS, "groups"),
    )
    words = [
        "“No recourse” is a proof that nothing allowed reaches the goal, under the rules and restrictions above; it is "
        "never “none found”."
    ]
    return Section("no-recourse", "Who has no way out", words, [plot], [table])


def _distances(audit: Audit, findings: Findings) -> Section:
    lines = findings.distances
    table = Table(
        "distances-table",
        "Distance to the nearest counterfactual, by group",
        ("Group", "Proved#", "Left out#", "Median#", "Mean#", "Middle half#", "Farthest#"),
        [
            (
                _group(line.by, line.group),
                f"{line.count:,}",
                f"{line.left_out:,}",
                estimate_cell(line.median),
                estimate_cell(line.mean),
                f"{number(line.quantiles['q25'], 4)} to {number(line.quantiles['q75'], 4)}"
                if line.quantiles
                else "none",
                number(line.quantiles["max"], 4) if line.quantiles else "none",
            )
            for line in lines
        ],
        "Left out: rows without a proved verdict. Rows that provably have no recourse have no distance and are not in "
        "this table. Intervals: bootstrap.",
    )
    plot = plot_of(
        DistanceDisplay.of(audit),
        "plot-distances",
        "Strokes: one row each. Box: the middle half. Diamond and line: the median and its 95% interval."
        + _thin(audit)
        + _cut(len(lines), MOST_GROUPS, "groups"),
    )
    words = ["The distance of the nearest counterfactual, where it is proved that none is nearer."]
    return Section("distances", "Who has a harder way out", words, [plot], [table])


def _bounds(audit: Audit) -> Section:
    display = BoundsDisplay.of(audit)
    words = [
        f"{display.closed:,} of {_rows(len(display.bounds))} with a counterfactual have gap 0: what was found is the "
        f"nearest. {display.without:,} have neither a counterfactual nor a proof that there is none."
    ]
    plot = plot_of(
        display,
        "plot-bounds",
        "Circle: the nearest counterfactual found. Dot: the radius within which there is provably none. A bar between "
        "them is what is not known." + _thin(audit),
    )
    return Section("bounds", "How much is not known", words, [plot])


def _reliance(audit: Audit, findings: Findings) -> Section | None:
    lines = findings.reliance
    if not lines:
        return None
    table = Table(
        "reliance-table",
        "Features that the nearest counterfactuals found change",
        ("Feature", "Changed in#", "Raised#", "Lowered#", "Alone#", "Protected"),
        [
            (
                line.feature,
                share_cell(line.changed),
                *((f"{line.raised:,}", f"{line.lowered:,}") if line.raised or line.lowered else ("–", "–")),
                f"{line.alone:,}",
                "yes" if line.protected else "no",
            )
            for line in lines
        ],
        "Raised and lowered are counted for numbers only. Alone: nothing else changes.",
    )
    plot = plot_of(
        RelianceDisplay.of(audit),
        "plot-reliance",
        "Bar: share of the counterfactuals found that change the feature. Line: its 95% interval. Hatched: a protected "
        "feature." + _cut(len(lines), MOST_FEATURES, "features"),
    )
    words = ["Where several counterfactuals are equally near, one of them is counted."]
    if findings.on_protected is not None:
        words.append(f"On a protected feature rest {share_words(findings.on_protected)}.")
    return Section("reliance", "What the nearest changes rely on", words, [plot], [table])


def _flips(findings: Findings) -> Section | None:
    if not findings.flips:
        return None
    table = Table(
        "flips-table",
        "Decisions that are another when only this feature changes",
        ("Feature", "Flips#", "Never, proved#", "Undecided#", "For instance"),
        [
            (
                line.feature,
                share_cell(line.flips),
                share_cell(line.never),
                f"{line.undecided:,}",
                _instance(line.examples[0]) if line.examples else "none",
            )
            for line in findings.flips
        ],
        "Here the feature may change in any direction, nothing else may, and no rule holds. Each flip was confirmed by "
        "the deployed model.",
    )
    return Section("flips", "Decisions that rest on a protected feature alone", [], [], [table])


def _instance(example: Mapping[str, Any]) -> str:
    change = example.get("change")
    moved = f": {cell(change[0])} to {cell(change[1])}" if change else ""
    return f"row {example['label']}{moved}"


def _forbidding(findings: Findings) -> Section | None:
    if not findings.forbidding:
        return None
    table = Table(
        "forbidding-table",
        "What it costs when a protected feature may not change, or may only grow",
        ("Restriction", "Nearest found changes it#", "Every nearest breaks it#", "No recourse then#", "Undecided#",
         "Distance grows by#"),
        [
            (
                f"{line.feature} {'may not change' if line.how == 'fixed' else 'may only grow'}",
                share_cell(line.relies),
                share_cell(line.must),
                share_cell(line.blocked),
                f"{line.undecided:,}",
                estimate_cell(line.increase, as_percent=True),
            )
            for line in findings.forbidding
        ],
        "Shares are of the rows whose nearest counterfactual is proved. The growth is the mean over the rows that must "
        "then go farther and still can.",
    )  # fmt: skip
    return Section("forbidding", "The cost of leaving a protected feature alone", [], [], [table])


def _blocking(findings: Findings) -> Section | None:
    blocking = findings.blocking
    if blocking is None:
        return None
    rows: list[tuple[Cell, ...]] = [
        (line.constraint, share_cell(line.in_cores), share_cell(line.opens)) for line in blocking.constraints
    ]
    if blocking.model_alone:
        rows.append(("none: the model never gives the goal here", f"{blocking.model_alone:,} rows", ""))
    head = ("Rule or restriction", "In the cores of#", "Its removal alone opens a way for#")
    constraints = Table("blocking-table", "Rules and restrictions that block recourse", head, rows)
    rest = len(blocking.cores) - MOST_CORES
    cores = Table(
        "cores-table",
        "Most frequent cores",
        ("Together they block", "Rows#"),
        [("; ".join(core) or "nothing but the model", f"{count:,}") for core, count in blocking.cores[:MOST_CORES]],
        f"{rest:,} more kinds of core are in the audit file." if rest > 0 else "",
    )
    words = [
        "A core is a set of rules and restrictions that alone leaves a row without recourse. It is minimal "
        "if each one in "
        "it is needed; a row may have other cores.",
        f"Of {_rows(blocking.infeasible)} without recourse {blocking.examined:,} were examined: {blocking.minimal:,} "
        f"have a minimal core, {blocking.undecided:,} stayed undecided.",
    ]
    return Section("blocking", "What blocks recourse", words, [], [constraints, cores] if blocking.cores else [])


def _assumptions(audit: Audit) -> list[str]:
    out = [
        "“Nearest” is meant in the distance named above, on the ranges and steps that the space declares. Another "
        "distance, range or step has other answers.",
        "Rules and restrictions are taken as declared. What they allow may still be out of a person’s reach, "
        "and what one "
        "change brings about in other features is not modelled, unless a rule says so.",
        "The verdicts are about the model with the digest below, as its library computes it in floating "
        "point. They say "
        "nothing about another version, a retrained model, or steps of the decision outside the model.",
        "Intervals treat the audited rows as a random sample. If they were chosen otherwise, intervals do "
        "not speak of a "
        "population. Each interval stands for itself; they are not adjusted for how many there are.",
        "A proof that the checker accepted rests on the checker and on the reading of the model in the certificate. A "
        "proof that was kept or not checked rests on the prover that gave it. Where solvers answered, the verdict "
        "rests on them, and on the translation of the question into their language.",
    ]
    if audit.about.get("source") == "checkpoint":
        out.append(
            "This report was made from a checkpoint. It has equal rows once, may hold rows of several runs, and "
            "does not "
            "record everything that was asked."
        )
    return out


def _digests(about: Mapping[str, Any]) -> Table:
    found = {str(name): str(value) for name, value in (about.get("digests") or {}).items()}
    if "frame_sha256" in about:
        found["data (rows of the table)"] = str(about["frame_sha256"])
    rows = [(name, value) for name, value in sorted(found.items())] or [("model, data", NOT_KNOWN)]
    return Table("digests", "SHA-256 of everything that was asked", ("Part", "SHA-256"), rows)


def _versions(about: Mapping[str, Any]) -> list[Pair]:
    from mace.base.versions import MACE

    versions = about.get("versions")
    out = [Pair("mace, for the audit", _of(about, "mace"))]
    if isinstance(versions, Mapping):
        out += [Pair(str(name), str(value)) for name, value in versions.items()]
    return [*out, Pair("mace, for this report", MACE)]
