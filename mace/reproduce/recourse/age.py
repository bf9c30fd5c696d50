"""Tables 4 and 7: the cost of not using age, on the forest of Adult.

For each distance the share of rows whose nearest counterfactual changes (lowers) age, and how much farther the nearest
one is that leaves age alone (does not lower it), for the provers and for MO. "Found" counts the counterfactuals that
were found, as the paper does; "must" those rows of which it is proved that no nearest one obeys. Nearest
counterfactuals are seldom unique under l0 and linf: what is found there depends on ties, what every nearest one must
do does not.
Source: Karimi et al. 2020, tables 4 (main text) and 7 (appendix), rows "MACE (epsilon = 1e-5)", whose figures are
taken from their reprint in Karimi's dissertation (tables 2.4 and A.2).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mace.audit.findings import forbidding_of
from mace.audit.record import Record
from mace.audit.result import Audit
from mace.audit.run import audit
from mace.audit.several import Part
from mace.reproduce.entry import Entry
from mace.reproduce.methods import Proposing
from mace.reproduce.recourse.printed import NORMS, SOURCE
from mace.reproduce.recourse.setting import ROWS, SETTING, trained
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work
from mace.space.feature import Change

FEATURE = "Age"


class Printed(NamedTuple):
    """What the paper prints of a method and a distance, in percent."""

    found: float
    farther: float


class AgeTable(NamedTuple):
    """One of the two tables: what it forbids, when a change breaks that, and what the paper prints."""

    name: str
    title: str
    how: Change
    verb: str
    breaks: Callable[[Any, Any], bool]
    ours: dict[str, Printed]
    mo: dict[str, Printed]


TABLE_4 = AgeTable(
    "mace-table-4", "What age is worth: counterfactuals that change it, forest of Adult", "fixed", "changes age",
    lambda before, after: after != before,
    {"l0": Printed(13.2, 9.0), "l1": Printed(20.4, 100.3), "linf": Printed(84.4, 32.8)},
    {"l0": Printed(78.8, 50.9), "l1": Printed(92.0, 245.7), "linf": Printed(95.6, 193.3)},
)  # fmt: skip
TABLE_7 = AgeTable(
    "mace-table-7", "What youth is worth: counterfactuals that lower age, forest of Adult", "increase", "lowers age",
    lambda before, after: after < before,
    {"l0": Printed(3.6, 0.0), "l1": Printed(7.4, 61.3), "linf": Printed(34.2, 13.9)},
    {"l0": Printed(24.6, 29.7), "l1": Printed(34.6, 94.6), "linf": Printed(34.2, 66.6)},
)  # fmt: skip


def run(work: Work, table: AgeTable) -> Reproduced:
    """Ask for each distance: free, and with the restriction; the provers' figures and MO's beside the paper's."""
    figures: list[Figure] = []
    notes: list[str] = []
    rows = settled = 0
    for norm in work.chosen(NORMS):
        done = audited(work, norm)
        records, again = done.records, {record.row: record for record in done.extra[f"{table.how}:{FEATURE}"]}
        final = sum(record.proved for record in records) + sum(record.proved for record in again.values())
        rows, settled = rows + len(records) + len(again), settled + final
        figures += _figures("ours", norm, table, records, again, table.ours[norm])
        must = forbidding_of(records, list(again.values()), FEATURE, table.how, 0)
        known = max(len(records), 1)
        column, farther = f"{table.verb}, %", "then farther by, %"
        increase = must.increase.value
        figures += [
            Figure(("ours, must", norm), column, 100 * must.must.count / known, None, len(records), final),
            Figure(
                ("ours, must", norm),
                farther,
                None if increase is None else 100 * increase,
                None,
                must.must.count,
                final,
            ),
        ]
        free, restricted = _of_mo(work, norm, table)
        figures += _figures("MO", norm, table, free, restricted, table.mo[norm])
        notes += _ways(norm, table, records, again)
    grid = Grid(f"{table.title} (in brackets: the paper's)", ("method", "distance"), figures, "%", 1)
    said = f"{SOURCE}, table {table.name[-1]}"
    return Reproduced(table.name, table.title, said, [grid], SETTING, notes, (), rows, settled)


def audited(work: Work, norm: str) -> Audit:
    """The audit of one distance, with age as its protected feature."""
    test, _, space, forest = trained("adult", "forest")
    done = audit(
        forest, space, test, goal=1, limit=work.limit(ROWS), distance=norm, protected=[FEATURE], flips=False, cores=0,
        checkpoint=work.checkpoint(f"mace-age-{norm}"), resume=work.resume and work.folder is not None,
        n_jobs=work.n_jobs, scheduler=work.scheduler, timeout=work.timeout, memory_mb=work.memory_mb,
        progress=work.progress,
    )  # fmt: skip
    work.say(f"mace-age-{norm}: {len(done.records)} rows")
    return done


def _of_mo(work: Work, norm: str, table: AgeTable) -> tuple[list[Record], dict[int, Record]]:
    """MO over the test split: free, and with the restriction."""
    test, _, space, forest = trained("adult", "forest")
    found = []
    for name, of in (("free", space), (table.how, space.change(**{FEATURE: table.how}))):
        parts = [Part("MO", by=Proposing("mo"))]
        asked = work.ask(
            f"mace-age-mo-{name}-{norm}", forest, of, test, 1, parts,
            limit=work.limit(ROWS), background=test, distance=norm,
        )  # fmt: skip
        found.append(asked["MO"])
    return found[0], {record.row: record for record in found[1]}


def _figures(
    method: str, norm: str, table: AgeTable, records: Sequence[Record], again: dict[int, Record], paper: Printed
) -> list[Figure]:
    """How many counterfactuals break the restriction, and the mean of restricted / free distance - 1 over these."""
    known = [record for record in records if record.exact_distance is not None]
    found = [r for r in known if FEATURE in r.changes and table.breaks(*r.changes[FEATURE])]
    ratios = [float(_ratio(r, again[r.row]) - 1) for r in found if again[r.row].exact_distance is not None]
    final = sum(record.proved for record in records)
    share = 100 * len(found) / max(len(known), 1)
    farther = 100 * sum(ratios) / len(ratios) if ratios else None
    return [
        Figure((method, norm), f"{table.verb}, %", share, paper.found, len(known), final),
        Figure((method, norm), "then farther by, %", farther, paper.farther, len(ratios), final),
    ]


def _ratio(free: Record, restricted: Record) -> Fraction:
    assert free.exact_distance is not None and restricted.exact_distance is not None
    return Fraction(restricted.exact_distance) / Fraction(free.exact_distance)  # a rejected row has to move


def _ways(norm: str, table: AgeTable, records: Sequence[Record], again: dict[int, Record]) -> list[str]:
    """Through which features the rows that may no longer be made younger go, where that costs nothing."""
    if table is not TABLE_7 or norm != "l0":
        return []
    found = [r for r in records if FEATURE in r.changes and table.breaks(*r.changes[FEATURE])]
    same = [r for r in found if again[r.row].exact_distance == r.exact_distance]
    through = Counter(name for r in same for name in again[r.row].changes)
    most = ", ".join(f"{count} through {name}" for name, count in through.most_common(4))
    return [
        f"l0 makes {len(found)} rows younger; {len(same)} of them are as near without it{f': {most}' if most else ''}. "
        "(The paper: 18 rows, all as near, 5 through work class, 4 through education level.)"
    ]


def _run_4(work: Work) -> Reproduced:
    return run(work, TABLE_4)


ENTRY = Entry(TABLE_4.name, TABLE_4.title, f"{SOURCE}, table 4", _run_4, NORMS)
