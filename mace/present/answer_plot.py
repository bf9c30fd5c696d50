"""An answer as a plot: every feature that changes, from where it is to where it would have to be.

In:  an `Answer`.    Out: an `AnswerDisplay`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.figures import Rounding, at_least, cell, number
from mace.errors import MaceError, RowError
from mace.present.drawing import BLUE, FAINT, GREY, INK, Display, plain, plain_each

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mace.explain.answer import Answer
    from mace.space.feature import Feature
    from mace.space.space import Space


@dataclass(frozen=True, slots=True)
class Change:
    """One changed feature; places lie in [0, 1], from the lower end of its range (or first level) to the upper."""

    name: str
    before: str
    after: str
    start: float
    end: float
    low: str
    high: str


class AnswerDisplay(Display):
    """The changes of one counterfactual, each on the range of its feature.

    changes: what changes, in the order of the space.
    title:   what was reached, and what was proved of it.
    After `plot`: `ax_`, `figure_`.
    """

    def __init__(self, changes: Sequence[Change], title: str) -> None:
        self.changes = list(changes)
        self.title = title

    @classmethod
    def from_answer(cls, answer: Answer, ax: Axes | None = None, *, which: int | None = None) -> AnswerDisplay:
        """Plot counterfactual number `which` of an answer, from 0, or all; raises MaceError if there is none."""
        if which is None and len(answer.counterfactuals) > 1:
            return cls.all_of(answer).plot(ax)
        which = which or 0
        if not 0 <= which < len(answer.counterfactuals):
            raise MaceError(
                f"there is no counterfactual {which} to plot: the answer is {answer.status} "
                f"and has {len(answer.counterfactuals)}"
            )
        return cls.of(answer, which).plot(ax)

    @classmethod
    def of(cls, answer: Answer, which: int = 0) -> AnswerDisplay:
        """The display, not drawn yet."""
        shown = answer.counterfactuals[which]
        rounding: Rounding = "nearest" if shown.exact_distance == shown.exact_lower_bound else "up"
        held = f"{answer.distance_name} distance {number(shown.exact_distance, rounding=rounding)}"
        if rounding == "up":
            held += f", lower bound {at_least(shown.exact_lower_bound, 6)}"
        return cls(changes_on(answer.space, shown.changes), f"{shown.status}: {held}")

    @classmethod
    def all_of(cls, answer: Answer) -> AnswerDisplay:
        """All counterfactuals one below the other, each change with the number of the one that it belongs to."""
        parts = [cls.of(answer, which) for which in range(len(answer.counterfactuals))]
        changes = [
            replace(change, name=f"{place}. {change.name}")
            for place, part in enumerate(parts, 1)
            for change in part.changes
        ]
        distances = ", ".join(number(found.distance) for found in answer.counterfactuals)
        return cls(changes, f"{len(parts)} ways: {answer.distance_name} distances {distances}")

    @property
    def height(self) -> float:  # type: ignore[override]
        """A row for each change."""
        return 0.35 + 0.62 * max(1, len(self.changes))

    @property
    def alt(self) -> str:
        """All changes in words."""
        return "; ".join(f"{c.name}: {c.before} to {c.after}" for c in self.changes) or "nothing changes"

    def _draw(self, ax: Axes) -> None:
        for place, change in enumerate(self.changes):
            ax.plot([0, 1], [place, place], color=FAINT, linewidth=4, solid_capstyle="round", zorder=1)
            if abs(change.end - change.start) > 0.02:
                style = {"arrowstyle": "-|>", "color": BLUE, "linewidth": 1.8, "shrinkA": 0, "shrinkB": 0}
                ax.annotate("", (change.end, place), (change.start, place), arrowprops=style, zorder=2)
            ax.plot([change.start], [place], "o", markersize=7, color="white", markeredgecolor=INK, zorder=3)
            ax.plot([change.end], [place], "D", markersize=6, color=BLUE, zorder=4)
            words = plain(f"{change.before} → {change.after}", 44)
            middle = (change.start + change.end) / 2
            side = "left" if middle < 1 / 3 else "right" if middle > 2 / 3 else "center"
            at = {"left": 0.0, "center": 0.5, "right": 1.0}[side]
            ax.text(at, place - 0.18, words, ha=side, va="bottom", fontsize="small")
            for at, side, end in ((0.0, "left", change.low), (1.0, "right", change.high)):
                ax.text(at, place + 0.17, plain(end), ha=side, va="top", fontsize="x-small", color=GREY)
        ax.set_ylim(max(1, len(self.changes)) - 0.45, -0.6)
        ax.set_yticks(range(len(self.changes)), plain_each(change.name for change in self.changes))
        ax.set_xlim(-0.03, 1.03)
        ax.set_xticks([])
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)


def changes_on(space: Space, changes: dict[str, Any]) -> list[Change]:
    """The changes (feature -> (before, after)) as places on the ranges of the space."""
    out = []
    for feature in space.features:
        if feature.name in changes:
            before, after = changes[feature.name]
            ends = (feature.lower, feature.upper) if feature.numeric else (feature.levels[0], feature.levels[-1])
            out.append(
                Change(
                    feature.name,
                    cell(before, feature.unit),
                    cell(after, feature.unit),
                    _place(feature, before),
                    _place(feature, after),
                    cell(ends[0], feature.unit),
                    cell(ends[1], feature.unit),
                )
            )
    return out


def _place(feature: Feature, value: Any) -> float:
    """Where a value lies on its feature's range, in [0, 1]; in the middle if that has no meaning."""
    try:
        read = feature.read(value)
    except RowError:
        return 0.5
    if read is None:
        return 0.5
    if not feature.numeric:
        return int(read) / max(1, len(feature.levels) - 1)
    low, high = feature.bounds()
    return float((Fraction(read) - low) / (high - low)) if high > low else 0.5
