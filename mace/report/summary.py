"""An audit in five sentences, each with a link to its evidence on the page.

In:  an `Audit`.    Out: how many were asked and decided; who is stuck; who must go farther, and by how much; which
decisions rest on a protected feature; what is not proved.
Promise: a sentence counts what the table that it links to counts; where the audit did not ask, it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mace.base.figures import cell, counted, number, percent
from mace.base.suggestions import some
from mace.report.asked import held_protected

if TYPE_CHECKING:
    from mace.audit.findings import Flips
    from mace.audit.intervals import Estimate
    from mace.audit.result import Audit

MOST_ROWS = 5  # that a sentence names


class Said(NamedTuple):
    """A sentence, and the name of the section that has its evidence."""

    text: str
    evidence: str


def five(audit: Audit) -> list[Said]:
    """The five sentences."""
    return [_decided(audit), _stuck(audit), _farther(audit), _protected(audit), _open(audit)]


def _decided(audit: Audit) -> Said:
    counts, total = audit.findings.statuses.counts, len(audit.records)
    if not total and audit.finished:
        return Said(f"No row was asked about{_whose(audit)}.", "proved")
    begin = f"{counted(total, 'row was', 'rows were')} asked about"
    if not audit.finished:
        begin = f"This audit is not finished: {total:,} of {counted(audit.about['planned'], 'row')} were answered"
    decided = counts.get("optimal", 0) + counts.get("infeasible", 0)
    how_many = "all" if decided == total and total else f"{decided:,}"
    nearest, none = counts.get("optimal", 0), counts.get("infeasible", 0)
    whose = "each" if nearest == total else f"{nearest:,}"
    gaps = [
        r.distance - r.lower_bound for r in audit.records if r.outcome == "optimal" and r.distance and r.lower_bound
    ]
    within = f" (within a gap of {number(max(gaps), 2, 'up')})" if any(gaps) else ""
    parts = [f"for {whose} the nearest change that is enough{within}"] if nearest else []
    parts += [f"for {none:,} that no change is enough"] if none else []
    proved = f": {', '.join(parts)}" if parts else ""
    return Said(f"{begin}, and {how_many} are decided with proof{proved}.", "proved")


def _whose(audit: Audit) -> str:
    """Why no row was asked about, where that is known."""
    rows = audit.about.get("frame_rows")
    if rows is None:
        return ""
    return (
        f": {counted(rows, 'row is', 'rows are')} in the table, and none lacks the goal" if rows else ": there is none"
    )


def _stuck(audit: Audit) -> Said:
    if not audit.records:
        return Said("Who is stuck is not said: no row was answered.", "no-recourse")
    everyone = next(line for line in audit.findings.no_recourse if line.by == "everyone")
    if not everyone.proved.count:
        who, all_of = ("Nobody", "everyone has") if audit.finished else ("Nobody of those answered", "all of them have")
        none = f"{who} is proved to be stuck" if audit.undecided else f"{who} is stuck: {all_of} a way out"
        return Said(f"{none}.", "no-recourse")
    text = f"{everyone.proved.count:,} ({percent(everyone.proved.value)}) provably have no way out"
    for by in audit.groups:
        lines = [line for line in audit.findings.no_recourse if line.by == by and line.proved.value is not None]
        low, high = min(lines, key=lambda one: one.proved.value or 0), max(lines, key=lambda one: one.proved.value or 0)
        if low.proved.value != high.proved.value:
            text += (
                f"; by {by} the share lies between {percent(low.proved.value)} ({low.group}) "
                f"and {percent(high.proved.value)} ({high.group})"
            )
    blocking = audit.findings.blocking
    if blocking is not None and blocking.constraints:
        first = blocking.constraints[0]
        text += f". What blocks most often is “{first.constraint}”, in {first.in_cores.count:,} of"
        text += f" {counted(first.in_cores.of, 'row')} examined"
    return Said(f"{text}.", "no-recourse")


def _farther(audit: Audit) -> Said:
    said = []
    for by in audit.groups:
        lines = [line for line in audit.findings.distances if line.by == by and line.median.value is not None]
        if len(lines) < 2:
            continue
        low, high = (choose(lines, key=lambda one: one.median.value or 0) for choose in (min, max))
        near, far = low.median.value, high.median.value
        if near is None or far is None or near == far:
            said.append(f"by {by} all groups must go equally far at the median")
        elif near > 0:
            said.append(
                f"by {by}, {high.group} must go {number(far / near, 2)} times as far as {low.group} at the median"
                f"{_in_units(audit, near, far)}{_unsure(low.median, high.median)}"
            )
    if not said:
        without = "no groups were compared" if not audit.groups else "too few in the groups have a proved distance"
        return Said(f"Who must go farther is not said: {without}.", "distances")
    text = "; ".join(said)
    return Said(f"{text[0].upper()}{text[1:]}.", "distances")


def _unsure(low: Estimate, high: Estimate) -> str:
    """That the intervals of two medians overlap, or that a group is too small for one."""
    if low.upper is None or high.lower is None:
        return ", but a group is too small for an interval"
    return ", but the intervals of the two medians overlap" if high.lower <= low.upper else ""


def _in_units(audit: Audit, near: float, far: float) -> str:
    """Two distances as amounts of the number that is changed most often, which alone would be as far."""
    known = audit.about.get("features") or {}
    relied = (line.feature for line in audit.findings.reliance if isinstance(known.get(line.feature), dict))
    name = next((name for name in relied if known[name].get("range")), None)
    count = len(next((record.start for record in audit.records if record.start), {}))
    if name is None or audit.about.get("distance") != "l1" or audit.about.get("weighted") or not count:
        return ""
    # The distance l1 is the mean over all features of the changes in shares of their ranges.
    whole, unit = count * float(known[name]["range"]), str(known[name].get("unit", ""))
    amounts = [cell(float(number(part * whole, 2).replace(",", "")), unit) for part in (far, near)]
    return f" (as far as {amounts[0]} of {name} alone, against {amounts[1]})"


def _protected(audit: Audit) -> Said:
    if not audit.protected:
        return Said("Whether decisions rest on a protected feature was not asked: none was named.", "scope")
    said = [_flip(line) for line in audit.findings.flips]
    unasked = [name for name in audit.protected if name not in {line.feature for line in audit.findings.flips}]
    if unasked:
        said.append(
            f"whether a decision rests on {' or '.join(unasked)} alone was not asked{'' if audit.finished else ' yet'}"
        )
    held = held_protected(audit)
    if held:
        said.append(f"by construction no change uses {' or '.join(held)}, which may not change")
    text = "; ".join(said)
    return Said(f"{text[0].upper()}{text[1:]}.", "flips" if audit.findings.flips else "scope")


def _flip(line: Flips) -> str:
    count, never = line.flips.count, f"{line.never.count:,} never do, proved"
    if line.undecided:
        never += f"; {line.undecided:,} are not decided"
    if not count:
        return f"no decision is known to flip on {line.feature} alone ({never})"
    rows = _named([str(example["label"]) for example in line.examples])
    verb = "decision flips" if count == 1 else "decisions flip"
    return f"{count:,} {verb} on {line.feature} alone: {rows} ({never})"


def _named(labels: Sequence[str]) -> str:
    return f"row{'s' if len(labels) > 1 else ''} {some(labels, MOST_ROWS)}"


def _open(audit: Audit) -> Said:
    statuses, said = audit.findings.statuses, []
    if audit.undecided:
        bounded = statuses.counts.get("bounded", 0)
        said.append(
            f"{counted(len(audit.undecided), 'row')} stayed open: {bounded:,} with a lower and an upper bound, "
            f"{len(audit.undecided) - bounded:,} without a verdict"
        )
    else:
        said.append("no row that was answered stayed open" if not audit.finished else "no row stayed open")
    if not audit.finished:
        said.append(f"{counted(audit.about['planned'] - len(audit.records), 'row was', 'rows were')} not asked about")
    if not statuses.asked_for:
        said.append("no certificates were asked for, so that the proofs rest on the provers alone")
    else:
        without = len(audit.records) - statuses.certified.count
        has = "has" if without == 1 else "have"
        one = f"{counted(without, 'row')} {has} no certificate that the checker accepted"
        each = "each" if audit.finished else "each that was answered"
        said.append(one if without else f"the checker accepted a certificate for {each}")
        if by_solvers := statuses.proofs.get("solvers", 0):
            said.append(f"{counted(by_solvers, 'row rests', 'rows rest')} on solvers, which no checker has confirmed")
    text = "; ".join(said)
    return Said(f"{text[0].upper()}{text[1:]}.", "undecided" if audit.undecided else "proved")
