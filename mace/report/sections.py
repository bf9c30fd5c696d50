"""The findings of an audit as sections of its page: words, plots, tables.

In:  an `Audit` and its findings.    Out: a `Section` each; None where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mace.audit.record import FAILURES, PROOFS
from mace.base.figures import cell, counted, number, percent
from mace.explain.answer import MEANING
from mace.report.asked import held_protected
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
    name_of,
)
from mace.report.multiples import MOST_PANELS, ReachDisplay
from mace.report.parts import (
    Cell,
    Plot,
    ReportTable,
    estimate_cell,
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
    tables: list[ReportTable] = field(default_factory=list)


def proved(audit: Audit, findings: Findings) -> Section:
    """How the rows ended, what the verdicts rest on, and the rows that stayed open."""
    statuses = findings.statuses
    total = len(audit.records)
    outcomes = ReportTable(
        "outcomes",
        "How the rows ended",
        ("Outcome", "Rows#", "Share#", "What it means"),
        [
            (name, f"{count:,}", percent(count / total if total else None), MEANING.get(name) or FAILURES[name])
            for name, count in sorted(statuses.counts.items(), key=lambda item: list(OUTCOMES).index(item[0]))
        ],
    )
    proofs = ReportTable(
        "proofs",
        "What the verdicts rest on",
        ("Proof", "Rows#", "What it means"),
        [(name, f"{count:,}", PROOFS[name]) for name, count in statuses.proofs.items()],
    )
    tables = [outcomes, proofs]
    if findings.notes:
        rows = [(note, f"{count:,}") for note, count in findings.notes[:MOST_NOTES]]
        more = len(findings.notes) - MOST_NOTES
        said = f"{more:,} more notes are in the audit file." if more > 0 else ""
        tables.append(ReportTable("notes", "What verdicts rest on, beside their proofs", ("Note", "Rows#"), rows, said))
    if audit.undecided:
        rest = len(audit.undecided) - MOST_UNDECIDED
        tables.append(
            ReportTable(
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
                f"{counted(rest, 'row')} more are in the audit file." if rest > 0 else "",
            )
        )
    words = [
        f"Proved, that is optimal or infeasible: {share_words(statuses.proved)}.",
        f"Certified, that is with a certificate that the checker accepted: {share_words(statuses.certified)}."
        if statuses.asked_for
        else "No certificates were asked for: the verdicts rest on the provers alone.",
        f"Unknown, that is without any verdict: {share_words(statuses.unknown)}.",
        "Intervals are at 95%. A row that ran into a limit is never counted as proved.",
    ]
    plot = plot_of(StatusDisplay.of(audit), "plot-status", "Rows by outcome.")
    return Section("proved", "What was proved, and what was not", words, [plot], tables)


def _cut(count: int, most: int, what: str) -> str:
    return f" The first {most} of {count} {what}; the table has all." if count > most else ""


def _thin(audit: Audit) -> str:
    return f" Of more rows than {MOST_MARKS}, {MOST_MARKS} are drawn." if len(audit.records) > MOST_MARKS else ""


def no_recourse(audit: Audit, findings: Findings) -> Section:
    """The share of each group that provably has no recourse."""
    lines = findings.no_recourse
    table = ReportTable(
        "no-recourse-table",
        "Rows that provably have no recourse, by group",
        ("Group", "Rows#", "Proved to have none#", "Share#", "95% interval#", "Undecided#", "Share at most#"),
        [
            (
                name_of(line.by, line.group),
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
        "Dot: the share that is proved to have no recourse. Line: its 95% interval. Hollow triangle: the share if "
        "every undecided row had none." + _cut(len(lines), MOST_GROUPS, "groups"),
    )
    words = [
        "“No recourse” is a proof that nothing allowed reaches the goal, under the rules and restrictions of this "
        "audit; it is never “none found”."
    ]
    return Section("no-recourse", "Who has no way out", words, [plot], [table])


def distances(audit: Audit, findings: Findings) -> Section:
    """The proved distances of each group."""
    lines = findings.distances
    table = ReportTable(
        "distances-table",
        "Distance to the nearest counterfactual, by group",
        ("Group", "Proved#", "Left out#", "Median#", "Mean#", "Middle half#", "Farthest#"),
        [
            (
                name_of(line.by, line.group),
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


def reach(audit: Audit) -> Section | None:
    """For which share of each group a change of a given size is enough."""
    if not audit.groups:
        return None
    display = ReachDisplay.of(audit)
    plot = plot_of(
        display,
        "plot-reach",
        "Blue: the share of the group’s rows for which a change of at most this size is enough. Grey: of all rows. "
        "Orange: not known."
        + (f" {counted(display.beyond, 'row')} need more than the axes show." if display.beyond else "")
        + _cut(len(display.groups), MOST_PANELS, "groups"),
    )
    words = [
        "A lower curve: this group has to change more. Where it ends below 100%, the rest has no way out"
        f"{', or is not decided' if audit.undecided else ''}."
    ]
    return Section("reach", "Group by group", words, [plot])


def bounds(audit: Audit) -> Section:
    """Lower and upper bound of every row."""
    display = BoundsDisplay.of(audit)
    by_more = f" by more than {number(display.gap, 2, 'up')}" if display.gap else ""
    words = [
        f"Of {display.proved:,} of {counted(len(display.bounds), 'row')} with a counterfactual it is proved that "
        f"nothing is nearer{by_more}. {display.without:,} have neither a counterfactual nor a proof that there is none."
    ]
    plot = plot_of(
        display,
        "plot-bounds",
        "Circle: the nearest counterfactual found. Dot: the radius within which there is provably none. A bar between "
        "them is what is not known." + _thin(audit),
    )
    return Section("bounds", "How much is not known", words, [plot])


def reliance(audit: Audit, findings: Findings) -> Section | None:
    """The features that the nearest counterfactuals change."""
    lines = findings.reliance
    if not lines:
        return None
    table = ReportTable(
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
    held = held_protected(audit)
    if held:
        words.append(f"By construction none of them changes {' or '.join(held)}, which the space does not allow.")
    if findings.on_protected is not None and len(held) < len(audit.protected):
        words.append(f"On a protected feature rest {share_words(findings.on_protected)}.")
    return Section("reliance", "What the nearest changes rely on", words, [plot], [table])


def flips(findings: Findings) -> Section | None:
    """Decisions that flip when a protected feature alone changes."""
    if not findings.flips:
        return None
    table = ReportTable(
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


def forbidding(findings: Findings) -> Section | None:
    """What it costs to leave a protected feature alone."""
    if not findings.forbidding:
        return None
    table = ReportTable(
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


def blocking(findings: Findings) -> Section | None:
    """The rules and restrictions that block recourse."""
    blocking = findings.blocking
    if blocking is None:
        return None
    rows: list[tuple[Cell, ...]] = [
        (line.constraint, share_cell(line.in_cores), share_cell(line.opens)) for line in blocking.constraints
    ]
    if blocking.model_alone:
        rows.append(("none: the model never gives the goal here", counted(blocking.model_alone, "row"), ""))
    head = ("Rule or restriction", "In the cores of#", "Its removal alone opens a way for#")
    constraints = ReportTable("blocking-table", "Rules and restrictions that block recourse", head, rows)
    rest = len(blocking.cores) - MOST_CORES
    cores = ReportTable(
        "cores-table",
        "Most frequent cores",
        ("Together they block", "Rows#"),
        [("; ".join(core) or "nothing but the model", f"{count:,}") for core, count in blocking.cores[:MOST_CORES]],
        f"{rest:,} more kinds of core are in the audit file." if rest > 0 else "",
    )
    words = [
        "A core is a set of rules and restrictions that alone leaves a row without recourse. It is minimal if each "
        "one in it is needed; a row may have other cores.",
        f"Of {counted(blocking.infeasible, 'row')} without recourse {blocking.examined:,} were examined: "
        f"{blocking.minimal:,} have a minimal core, {blocking.undecided:,} stayed undecided.",
    ]
    return Section("blocking", "What blocks recourse", words, [], [constraints, cores] if blocking.cores else [])
