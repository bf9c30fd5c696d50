"""The comparison of sequences: the published heuristic's figures beside plans that are proved cheapest.

100 persons of Adult and of German, the published networks and worlds. "cscf" discounts by consequences, "scf" does not;
plans of two actions at most, and of any length. The heuristic itself is run where `--only brkga` asks for it.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import NamedTuple

from mace.datasets import Persons, load
from mace.plans.genetic import PUBLISHED, search
from mace.plans.result import Plan
from mace.plans.run import Planner
from mace.plans.task import task_of
from mace.reproduce.entry import Entry
from mace.reproduce.plan_fronts import Fronts
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

SOURCE = "Naumann and Ntoutsi, Consequence-aware Sequential Counterfactual Generation, ECML PKDD 2021"
TITLE = "Sequences of actions: the least cost found by the published search, and the least cost there is"
PERSONS = 100
SHOWN = 4  # persons whose fronts are drawn


class Case(NamedTuple):
    """One line of the comparison: the data, the method, the most actions, and the mean and median that were found."""

    data: str
    method: str
    horizon: int | None
    mean: float
    median: float | None


# Of the persons for whom a sequence was found: 97 on Adult, 96 on German.
CASES = (
    Case("adult", "scf", 2, 6.309, 5.408),
    Case("adult", "scf", None, 6.379, 5.478),
    Case("adult", "cscf", None, 4.628, None),
    Case("german", "scf", 2, 1.444, 0.387),
    Case("german", "scf", None, 1.426, 0.431),
)
ABOVE = "the paper's mean leaves out the persons for whom its search found nothing"
SETTING = [
    "The published persons, networks and worlds; parameters and states on a grid of 0.001. Ours are means over all "
    "persons who have a plan at all; a gap of 0.1 % between plan and bound counts as proved.",
]
NOTES = [
    "Of plans with consequences both figures are discounted costs; the paper gives no median of them.",
    "Ours are in float64 and with all steps exact; the paper rounds states to three digits and costs to four.",
]


def run(work: Work) -> Reproduced:
    """Plan for every person in every case."""
    began, figures, plots, asked, proved = time.perf_counter(), list[Figure](), list[Fronts](), 0, 0
    for name in work.chosen(("adult", "german")):
        persons = load("cscf-adult") if name == "adult" else load("cscf-german")
        planner = Planner(persons.model, persons.space, persons.world)
        for case in (case for case in CASES if case.data == name):
            plans = _plans(planner, persons, case, work)
            figures += _figures(case, plans)
            asked += len(plans)
            proved += sum(plan.status in ("optimal", "infeasible") for plan in plans)
            work.say(f"{name}, {case.method}, {_length(case)}: {len(plans)} persons")
        if "brkga" in work.only:
            beside = _heuristic(planner, persons, work)
            figures += beside.figures
            plots += beside.plots
    grid = Grid("Cost of a plan", ("data", "method", "length"), figures, digits=3)
    seconds = time.perf_counter() - began
    return Reproduced("cscf", TITLE, f"{SOURCE}, section 5", [grid], SETTING, NOTES, plots, asked, proved, seconds)


def _length(case: Case) -> str:
    return "any" if case.horizon is None else f"at most {case.horizon}"


def _plans(planner: Planner, persons: Persons, case: Case, work: Work) -> list[Plan]:
    discount = case.method == "cscf"
    return [
        planner.plan(row, goal=persons.goal, horizon=case.horizon, discount=discount, timeout=work.timeout)
        for row in persons.X.head(work.limit(PERSONS)).to_dict("records")
    ]


def _figures(case: Case, plans: list[Plan]) -> list[Figure]:
    """Mean and median of the costs and of the lower bounds, over the persons who have a plan."""
    some = [plan for plan in plans if plan.cost is not None]
    row = (case.data, case.method, _length(case))
    sure = sum(plan.status == "optimal" for plan in some)
    costs = [float(plan.cost) for plan in some if plan.cost is not None]
    bounds = [plan.lower_bound for plan in some]

    mean = statistics.fmean(costs) if costs else None

    def figure(column: str, ours: float | None, paper: float | None = None) -> Figure:
        return Figure(row, column, ours, paper, len(some), sure)

    return [
        figure("mean", mean, case.mean)._replace(
            alike=None if mean is None or len(plans) < PERSONS else mean <= case.mean, why=ABOVE
        ),
        figure("median", statistics.median(costs) if costs else None, case.median),
        figure("mean of the bounds", statistics.fmean(bounds) if bounds else None),
        figure("persons with a plan", float(len(some))),
        figure("persons without, proved", float(sum(plan.status == "infeasible" for plan in plans))),
    ]


class Beside(NamedTuple):
    """What the published search gives, run here, and its fronts beside the proved ones for the first persons."""

    figures: list[Figure]
    plots: list[Fronts]


def _heuristic(planner: Planner, persons: Persons, work: Work) -> Beside:
    """The published search, run here for plans of any length, and what it leaves on the table; seed n for person n."""
    name, pairs, plots, missed = persons.name.removeprefix("cscf-"), [], list[Fronts](), 0
    method = "cscf" if name == "adult" else "scf"
    rows = persons.X.head(work.limit(PERSONS)).to_dict("records")
    for seed, row in enumerate(rows):
        task = task_of(planner.explainer, planner.world, row, persons.goal, None, method == "cscf")
        front = search(task, replace(PUBLISHED, seed=seed))
        least = planner.plan(row, goal=persons.goal, discount=method == "cscf", timeout=work.timeout)
        if front and least.cost is not None:
            pairs.append((float(front[0].plan.cost), least.cost))
        missed += least.cost is not None and not front
        if seed < SHOWN:
            proved = planner.front(row, goal=persons.goal, discount=method == "cscf", timeout=work.timeout)
            plots.append(Fronts(f"{name}, person {seed}: what fewer actions cost", proved, front))
    row_name, some = (name, f"{method}, BRKGA here", "any"), len(pairs)

    def figure(column: str, ours: float | None) -> Figure:
        return Figure(row_name, column, ours, None, some)

    gaps = [(found - least) / least for found, least in pairs if least]
    figures = [
        figure("mean", statistics.fmean(found for found, _ in pairs) if pairs else None),
        figure("mean of the least", statistics.fmean(least for _, least in pairs) if pairs else None),
        figure("median of the gaps, %", 100 * statistics.median(gaps) if gaps else None),
        figure("largest gap, %", 100 * max(gaps) if gaps else None),
        figure("off by more than 0.1 %, persons", float(sum(gap > 0.001 for gap in gaps))),
        figure("a plan exists, none found, persons", float(missed)),
    ]
    return Beside(figures, plots)


ENTRY = Entry("cscf", TITLE, SOURCE, run, ("adult", "german", "brkga"))
