"""A plan as people see it: a table of steps for a terminal (rich), a notebook (HTML) and plain text, and a plot.

Every name and value is escaped; costs are shown to six digits, bounds as they were proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line
from mace.base.exact import nearest
from mace.base.figures import at_least, cell, counted
from mace.errors import MaceError
from mace.present.html import grid
from mace.present.words import COLORS, bracketed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import RenderableType

    from mace.plans.plan_front import PlanFront
    from mace.plans.population import PlanAudit
    from mace.plans.result import Plan, PlanStep

SHARES = ("no plan", "no plan at most", "undecided")
NOTHING = "nothing to do: the row has the goal already"
HEAD = ("step", "action", "changes", "effort", "discount", "cost")


def _number(value: Fraction) -> str:
    return f"{nearest(value):.6g}"


def _changes(step: PlanStep) -> str:
    return "; ".join(f"{one_line(name)}: {cell(a)} -> {cell(b)}" for name, (a, b) in step.changes.items())


def _discount(step: PlanStep) -> str:
    """The discount, and where it came from."""
    if step.discount == 1:
        return "·"
    why = ", ".join(f"{one_line(a)} -> {one_line(b)}: {_number(factor)}" for a, b, factor in step.sources)
    return f"{_number(step.discount)} ({why})"


def _rows(plan: Plan) -> list[tuple[str, ...]]:
    return [
        (str(n), one_line(s.action), _changes(s), _number(s.effort), _discount(s), _number(s.cost))
        for n, s in enumerate(plan.steps, 1)
    ]


def bounds(plan: Plan) -> str:
    """One sentence: status, cost and lower bound."""
    why = f": {one_line(plan.why)}" if plan.why else ""
    if plan.status == "infeasible":
        return f"infeasible ({plan.meaning})"
    if plan.exact_cost is None:
        some = plan.exact_lower_bound > 0
        least = f"; none costs less than {at_least(plan.exact_lower_bound)}" if some else ""
        return f"{plan.status} ({plan.meaning}{why}){least}"
    held = bracketed("cost", plan.exact_cost, plan.exact_lower_bound)
    return f"{plan.status} ({plan.meaning}{why}): {held}"


def _first(of: Plan | PlanAudit) -> str:
    actions = "action" if of.horizon == 1 else "actions"
    return f"wanted: {one_line(of.wanted)}; at most {of.horizon} {actions} of the world {one_line(of.world)}"


def as_text(plan: Plan) -> str:
    """Plain text."""
    lines = [_first(plan)]
    rows = [HEAD, *_rows(plan)]
    if plan.steps:
        lines += _aligned(rows)
    elif plan.exact_cost == 0:
        lines.append(NOTHING)
    lines += [bounds(plan), *(f"note: {one_line(note)}" for note in plan.notes)]
    return "\n\n".join(["\n".join(lines), *(as_text(other) for other in plan.others)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def front_as_text(front: PlanFront) -> str:
    """A line for each point of a front."""
    counted = "actions" if front.by == "steps" else f"actions {one_line(front.by)}"
    title = "by Gower's distance of start and end" if front.by == "gower" else f"by the number of {counted}"
    rows = [("at most", "cost", "at least", "status", "actions in order")]
    for most, plan in front.points:
        cost = "·" if plan.cost is None else f"{plan.cost:.6g}"
        least = "·" if plan.status == "infeasible" else at_least(plan.exact_lower_bound, 6)
        rows.append((f"{most:.6g}", cost, least, plan.status, ", ".join(one_line(s.action) for s in plan.steps) or "·"))
    return "\n".join([f"wanted: {one_line(front.points[0].plan.wanted)}; {title}", *_aligned(rows)])


def audit_as_text(audit: PlanAudit) -> str:
    """The shares of an audit of plans, of all rows and by group."""
    rows = [("", *map(str, audit.table.columns))]
    for name, figures in audit.table.to_dict("index").items():
        rows.append((one_line(str(name)), *(_figure(str(key), value) for key, value in figures.items())))
    left = [f"not finished: {one_line(audit.why)}"] if audit.why else []
    return "\n".join([_first(audit), *left, *_aligned(rows)])


def _figure(name: str, value: float) -> str:
    """A figure of the table of an audit: shares in per cent, whole numbers as they are."""
    if value != value:
        return "·"
    return f"{value:.1%}" if name in SHARES else f"{value:.6g}"


def as_rich(plan: Plan) -> RenderableType:
    """For a rich console."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(_first(plan), style="bold")]
    if plan.steps:
        table = Table(box=None, pad_edge=False)
        for name in HEAD:
            table.add_column(name, overflow="fold")
        for row in _rows(plan):
            table.add_row(*(Text(cell) for cell in row))
        parts.append(table)
    elif plan.exact_cost == 0:
        parts.append(Text(NOTHING))
    parts.append(Text(bounds(plan), style=COLORS[plan.status]))
    parts += [Text(f"note: {one_line(note)}", style="dim") for note in plan.notes]
    parts.append(Text(f"{counted(plan.searched, 'box', 'boxes')}, {plan.seconds:.3f} s", style="dim"))
    return Group(*parts, *(as_rich(other) for other in plan.others))


def as_html(plan: Plan) -> str:
    """For a notebook; every value is escaped."""
    table = grid(HEAD, _rows(plan)) or (f"<p>{NOTHING}</p>" if plan.exact_cost == 0 else "")
    notes = "".join(f"<br>note: {escape(one_line(note))}" for note in plan.notes)
    others = "".join(as_html(other) for other in plan.others)
    return f"<div><p>{escape(_first(plan))}</p>{table}<p>{escape(bounds(plan))}{notes}</p></div>{others}"


class PlanDisplay:
    """Every feature that a plan changes, over its steps, each on its own range. After `plot`: `ax_`, `figure_`."""

    ax_: Any
    figure_: Any

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def from_plan(cls, plan: Plan, ax: Axes | None = None) -> PlanDisplay:
        """Plot a plan; raises MaceError if it has no steps, or if matplotlib is not installed."""
        if not plan.steps:
            raise MaceError(f"there are no steps to plot: the plan is {plan.status}")
        return cls(plan).plot(ax)

    @property
    def alt(self) -> str:
        """The plot in words."""
        return "; ".join(f"step {n}, {s.action}: {_changes(s)}" for n, s in enumerate(self.plan.steps, 1))

    def plot(self, ax: Axes | None = None) -> PlanDisplay:
        """Draw into `ax`, or into a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise MaceError("matplotlib is not installed", hint='pip install "mace-smt[report]"') from None
        from mace.present.answer_plot import changes_on

        plan = self.plan
        if ax is None:
            _, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
        states = [plan.start, *(step.state for step in plan.steps)]
        changed = [name for name in plan.start if any(state[name] != plan.start[name] for state in states)]
        for name in changed:
            places = [changes_on(plan.space, {name: (plan.start[name], state[name])})[0].end for state in states]
            ax.plot(range(len(states)), places, marker="o", label=name)
        ax.set_xticks(range(len(states)), ["start", *(f"{n} {s.action}" for n, s in enumerate(plan.steps, 1))])
        ax.set_ylabel("place on the feature's range")
        ax.set_ylim(-0.03, 1.03)
        ax.legend(fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
