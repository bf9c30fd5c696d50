"""The comparison of sequences: the published heuristic's figures beside plans that are proved cheapest.

100 persons of Adult and of German, the published networks and worlds. "cscf" discounts by consequences, "scf" does not;
plans of two actions at most, and of any length. The heuristic itself is run for the first 20 persons, or for as many as
are asked for; its seed for person n is n.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from mace.audit.record import Record
from mace.audit.several import Part
from mace.datasets import Persons, load
from mace.plans.genetic import PUBLISHED
from mace.plans.task import movable
from mace.reproduce.entry import Entry
from mace.reproduce.plan_fronts import Fronts
from mace.reproduce.planned import Evolved, Fronted, Planned, points, told
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

SOURCE = "Naumann and Ntoutsi, Consequence-aware Sequential Counterfactual Generation, ECML PKDD 2021"
TITLE = "Sequences of actions: the least cost found by the published search, and the least cost there is"
PERSONS = 100
SEARCHED = 20  # persons for whom the published search is run again
SHOWN = 4  # of them, whose fronts are drawn
CLOSE = 0.001  # part of a cost that two plans may differ by


class Case(NamedTuple):
    """One line of the comparison: the data, the method, the most actions, and the paper's mean and median.

    found: for how many persons its search found a sequence; its figures are about them.
    """

    data: str
    method: str
    horizon: int | None
    mean: float
    median: float | None
    found: int

    @property
    def length(self) -> str:
        """The most actions, in words."""
        return "any" if self.horizon is None else f"at most {self.horizon}"

    @property
    def discount(self) -> bool:
        """Whether consequences count."""
        return self.method == "cscf"


CASES = (
    Case("adult", "scf", 2, 6.309, 5.408, 97),
    Case("adult", "scf", None, 6.379, 5.478, 97),
    Case("adult", "cscf", None, 4.628, None, 97),
    Case("german", "scf", 2, 1.444, 0.387, 96),
    Case("german", "scf", None, 1.426, 0.431, 96),
)
ABOVE = "a mean over all persons has those in it for whom the paper's search found nothing"
SETTING = [
    "The published persons, networks and worlds; parameters and states on a grid of 0.001. Ours are means over all "
    "persons who have a plan at all; a gap of 0.1 % between plan and bound counts as proved.",
    f"The published search with its own settings ({PUBLISHED.population} individuals, {PUBLISHED.generations} "
    "generations), plans of any length; the seed of each person is the person's number, from 0.",
]
NOTES = [
    "Of plans with consequences both figures are discounted costs; the paper gives no median of them.",
    "Ours are in float64 and with all steps exact; the paper rounds states to three digits and costs to four.",
]


class Done(NamedTuple):
    """What one data set adds to the result."""

    costs: list[Figure]
    proofs: list[Figure]
    searched: list[Figure]
    notes: list[str]
    plots: list[Fronts]
    records: list[Record]


def run(work: Work) -> Reproduced:
    """Plan for every person in every case, and run the published search beside."""
    made = [
        _data(load("cscf-adult") if name == "adult" else load("cscf-german"), name, work)
        for name in work.chosen(("adult", "german"))
    ]
    keys = ("data", "method", "length")
    grids = [
        Grid("Cost of a plan", keys, [f for one in made for f in one.costs], digits=3),
        Grid("What is proved of it", keys, [f for one in made for f in one.proofs], digits=3),
        Grid("The published search, run here", keys[:2], [f for one in made for f in one.searched], digits=3),
    ]
    records = [record for one in made for record in one.records]
    return Reproduced(
        "cscf", TITLE, f"{SOURCE}, section 5", [grid for grid in grids if grid.figures], SETTING,
        [note for one in made for note in one.notes] + NOTES, [plot for one in made for plot in one.plots],
        len(records), sum(record.proved for record in records),
    )  # fmt: skip


def _data(persons: Persons, name: str, work: Work) -> Done:
    done, parts = Done([], [], [], [], [], []), work.chosen(("optima", "brkga"))
    methods = work.chosen(("scf", "cscf"))
    for case in (case for case in CASES if case.data == name and case.method in methods):
        asked = work.limit(PERSONS)
        if "optima" not in parts:
            asked = min(asked, work.limit(SEARCHED)) if case.horizon is None else 0
        if not asked:
            continue
        records = _asked(persons, f"cscf-{name}", Part(*_part(case)), asked, work)
        if "optima" in parts:
            done.costs.extend(_costs(case, records))
            done.proofs.extend(_proofs(case, records))
            done.notes.extend(_dearest(case, records))
            done.records.extend(records)
        if "brkga" in parts and case.horizon is None:
            _search(persons, case, records, work, done)
    return done


def _part(case: Case) -> tuple[str, None, Planned]:
    return f"{case.method}, {case.length}", None, Planned(case.data, case.discount, case.horizon)


def _asked(persons: Persons, checkpoint: str, part: Part, limit: int, work: Work) -> list[Record]:
    found = work.ask(
        checkpoint, persons.model, movable(persons.space), persons.X, persons.goal, [part], limit=limit, rows="all",
        background=persons.X,
    )  # fmt: skip
    return found[part.name]


def _costs(case: Case, records: Sequence[Record]) -> list[Figure]:
    """Mean and median of the costs and of the lower bounds, over the persons who have a plan."""
    some = [record for record in records if record.distance is not None]
    costs, whole = sorted(_cost(record) for record in some), len(records) >= PERSONS
    cheapest = costs[: case.found] if whole else []

    def figure(column: str, values: Sequence[float], paper: float | None = None, middle: bool = False) -> Figure:
        ours = (statistics.median(values) if middle else statistics.fmean(values)) if values else None
        sure = sum(record.status == "optimal" for record in some)
        alike = None if ours is None or paper is None or middle or not whole else ours <= paper
        return Figure((case.data, case.method, case.length), column, ours, paper, len(values), sure, alike, ABOVE)

    return [
        figure("mean", costs, case.mean),
        figure("of as many as the paper has, the cheapest", cheapest, case.mean),
        figure("median", costs, case.median, middle=True),
        figure("mean of the bounds", [record.lower_bound or 0.0 for record in some]),
    ]


def _cost(record: Record) -> float:
    assert record.distance is not None
    return record.distance


def _gap(record: Record) -> float:
    """What is open between a plan and its bound, as a part of its cost."""
    cost = _cost(record)
    return (cost - (record.lower_bound or 0.0)) / cost if cost else 0.0


def _proofs(case: Case, records: Sequence[Record]) -> list[Figure]:
    """How many answers are final, and how far the bounds of the others are."""
    gaps = [_gap(record) for record in records if record.distance is not None]
    seconds = [told(record).seconds for record in records]
    final = sum(record.proved for record in records)

    def figure(column: str, ours: float | None) -> Figure:
        return Figure((case.data, case.method, case.length), column, ours, None, len(records), final)

    return [
        figure("persons", len(records)),
        figure("cheapest plan proved", sum(record.status == "optimal" for record in records)),
        figure("no plan, proved", sum(record.status == "infeasible" for record in records)),
        figure("proved, %", 100 * final / len(records)),
        figure("median gap, %", 100 * statistics.median(gaps) if gaps else None),
        figure("largest gap, %", 100 * max(gaps) if gaps else None),
        figure("median CPU s", statistics.median(seconds)),
        figure("most CPU s", max(seconds)),
    ]


def _dearest(case: Case, records: Sequence[Record]) -> list[str]:
    """Why our mean lies above the paper's, where it does: a word about the persons whom the paper leaves out."""
    some = sorted((record for record in records if record.distance is not None), key=_cost)
    if len(records) < PERSONS or len(some) <= case.found:
        return []
    mean = statistics.fmean(_cost(record) for record in some)
    last, among = some[-1], f"the cheapest {case.found}, as many as the paper's search found plans for"
    if mean <= case.mean:
        return []
    least = statistics.fmean(_cost(record) for record in some[: case.found])
    plan = ", ".join(told(last).actions)
    return [
        f"{case.data}, {case.method}, {case.length}: our mean over {len(some)} persons is above the paper's over "
        f"{case.found} because of person {last.row}, whose plan ({plan}) costs {_cost(last):.4g}"
        f"{', proved' if last.proved else ''}; of {among}, it is {least:.4g}."
    ]


def _search(persons: Persons, case: Case, optima: Sequence[Record], work: Work, done: Done) -> None:
    """The published search, and what it leaves on the table; the fronts of the first persons."""
    limit = min(work.limit(SEARCHED), PERSONS)
    part = Part(f"{case.method}, brkga", None, Evolved(case.data, case.discount, PUBLISHED))
    patient = replace(work, timeout=None)  # however long its generations take
    found = _asked(persons, f"cscf-{case.data}-brkga", part, limit, patient)
    done.searched.extend(_left(case, found, optima))
    fronts = _asked(
        persons, f"cscf-{case.data}", Part(f"{case.method}, fronts", None, Fronted(case.data, case.discount)),
        min(limit, SHOWN), work,
    )  # fmt: skip
    done.plots.extend(
        Fronts(
            f"{case.data}, {case.method}, person {record.row}: what fewer actions cost",
            points(record),
            points(heuristic),
        )
        for record, heuristic in zip(fronts, found, strict=False)
    )


def _left(case: Case, found: Sequence[Record], optima: Sequence[Record]) -> list[Figure]:
    """The figures of the published search beside the least costs of the same persons."""
    least = {record.row: record.distance for record in optima if record.distance is not None}
    pairs = [(one.distance, least[one.row]) for one in found if one.distance is not None and one.row in least]
    missed = sum(one.distance is None for one in found if one.row in least)
    gaps = [(cost - low) / low for cost, low in pairs if low]
    above = sum(gap > CLOSE for gap in gaps)
    mean = statistics.fmean(cost for cost, _ in pairs) if pairs else None
    low = statistics.fmean(low for _, low in pairs) if pairs else None
    every = statistics.fmean(least.values()) if len(optima) >= PERSONS else None
    whole = mean / low * every if mean is not None and low and every is not None else None

    def figure(column: str, ours: float | None, paper: float | None = None) -> Figure:
        return Figure((case.data, case.method), column, ours, paper, len(found))

    return [
        figure("persons", len(found)),
        figure("mean", mean),
        figure("least there is", low),
        figure("above it, %", 100 * (mean / low - 1) if mean is not None and low else None),
        figure("as much above all persons' least", whole, case.mean),
        figure("median gap, %", 100 * statistics.median(gaps) if gaps else None),
        figure("largest gap, %", 100 * max(gaps) if gaps else None),
        figure("missed, persons", missed),
        figure("above by 0.1 % or more, persons", above),
        figure("missed or above, %", 100 * (missed + above) / max(1, missed + len(pairs))),
    ]


ENTRY = Entry("cscf", TITLE, SOURCE, run, ("adult", "german", "scf", "cscf", "optima", "brkga"))
