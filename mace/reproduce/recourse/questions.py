"""Figure 5: the distance that is known, and the seconds, against the number of questions asked.

The provers of trees and networks answer in one question; the solvers are asked question after question, each whether
there is a counterfactual within a radius, as the paper's algorithm does. So the figure is of the solvers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from mace.audit.record import Record
from mace.audit.several import Part
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.base.escape import json_text
from mace.base.exact import above, below, nearest, rounded_text
from mace.explain.explainer import Explainer
from mace.present.drawing import BLUE, ORANGE, Display
from mace.reproduce.entry import Entry
from mace.reproduce.recourse.printed import DATA, SOURCE
from mace.reproduce.recourse.setting import MODEL_NAMES, SETTING, Setting, proved, settings, trained
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Distance known and seconds taken after so many questions to the solvers"
ROWS = 10
GAP = "1e-3"
MODELS = ("tree", "logistic")
Trace: TypeAlias = Sequence[Sequence[float | None]]
NOTES = [
    "Only the solvers ask question after question; the provers that answer by default ask once. Rows are fewer than "
    "the paper's, and of two classes of models, since solvers are slower.",
]


@dataclass(frozen=True)
class BySolvers:
    """The solvers' bisection; the record's note holds its trace: of each question the upper bound and the seconds."""

    oracle: str = "smt"

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The record of one row."""
        answer = explainer.explain(
            query.values, goal=task.goal, gap=query.gap, oracle=self.oracle, timeout=deadline, memory_mb=task.memory_mb
        )
        trace = [[None if a.upper is None else nearest(a.upper), round(a.seconds, 6)] for a in answer.trace]
        return replace(
            blank,
            status=answer.status,
            why=answer.why,
            distance=answer.distance,
            lower_bound=None if answer.status == "infeasible" else answer.lower_bound,
            exact_distance=None if answer.exact_distance is None else rounded_text(answer.exact_distance, above),
            exact_lower_bound=None if answer.status == "infeasible" else rounded_text(answer.exact_lower_bound, below),
            oracle=answer.oracle,
            notes=[json_text(trace)],
        )


class Course(Display):
    """Mean distance known (left) and mean seconds (right) after so many questions."""

    height = 2.6

    def __init__(self, name: str, distances: Sequence[float], seconds: Sequence[float]) -> None:
        self.distances, self.seconds, self.title = list(distances), list(seconds), name

    @property
    def alt(self) -> str:
        """The ends in words."""
        return f"after {len(self.distances)} questions: distance {self.distances[-1]:.4g}, {self.seconds[-1]:.3g} s"

    def _draw(self, ax: Axes) -> None:
        asked = range(1, len(self.distances) + 1)
        ax.plot(asked, self.distances, "-o", color=BLUE, markersize=3)
        ax.set_xlabel("questions")
        ax.set_ylabel("mean distance", color=BLUE)
        ax.locator_params("x", integer=True, min_n_ticks=1)
        ax.set_xlim(0, len(asked) + 1)
        other = ax.twinx()
        other.spines.right.set_visible(True)
        other.plot(asked, self.seconds, "--s", color=ORANGE, markersize=2)
        other.set_ylabel("mean seconds", color=ORANGE)
        ax.set_ylim(0, 1.6 * max(self.distances) or 1)
        other.set_ylim(0, 1.2 * max(self.seconds) or 1)  # another share, so that flat lines do not hide one another


def run(work: Work) -> Reproduced:
    """Ask every chosen setting of the solvers; the course of the means."""
    figures, plots, rows, settled = [], [], 0, 0
    for cell in settings(work, ("l1",)):
        if cell.model not in MODELS:
            continue
        answered = _asked(work, cell)
        rows, settled = rows + len(answered), settled + proved(answered)
        traces = [trace for trace in map(trace_of, answered) if trace]
        if not traces:
            continue
        distances, seconds = course(traces)
        name = f"{cell.data}, {MODEL_NAMES[cell.model]}, {cell.norm}"
        plots.append(Course(name, distances, seconds))
        for place in dict.fromkeys((0, len(distances) // 4, len(distances) // 2, len(distances) - 1)):
            row = (name, str(place + 1))
            figures.append(Figure(row, "mean distance", distances[place], None, len(traces), proved(answered)))
            figures.append(Figure(row, "mean seconds", seconds[place], None, len(traces), proved(answered)))
    grid = Grid("After so many questions", ("setting", "questions"), figures, "", 5)
    return Reproduced("mace-figure-5", TITLE, f"{SOURCE}, figure 5", [grid], SETTING, NOTES, plots, rows, settled)


def trace_of(record: Record) -> Trace:
    """Of each question to the solvers the distance known and the seconds; of a row that needed none, its distance."""
    asked: Trace = json.loads(record.notes[0]) if record.notes else []
    return asked or ([(record.distance, record.seconds)] if record.distance is not None else [])


def course(traces: Sequence[Trace]) -> tuple[list[float], list[float]]:
    """Mean distance known and mean seconds after 1, 2, .. questions; an unknown distance counts as 1, the largest.

    A trace that has ended stays at its last distance.
    """
    longest = max(map(len, traces))
    distances, seconds = [], []
    for asked in range(1, longest + 1):
        known = [trace[min(asked, len(trace)) - 1][0] for trace in traces]
        distances.append(sum(1.0 if far is None else far for far in known) / len(traces))
        seconds.append(sum(float(step[1] or 0) for trace in traces for step in trace[:asked]) / len(traces))
    return distances, seconds


def _asked(work: Work, cell: Setting) -> list[Record]:
    test, table, space, model = trained(cell.data, cell.model)
    part = Part("solvers", gap=GAP, by=BySolvers())
    found = work.ask(
        f"mace-questions-{cell.data}-{cell.model}-{cell.norm}", model, space, test, 1, [part],
        limit=work.limit(ROWS), background=table, distance=cell.norm,
    )  # fmt: skip
    return found["solvers"]


ENTRY = Entry("mace-figure-5", TITLE, f"{SOURCE}, figure 5", run, (*DATA, *MODELS))
