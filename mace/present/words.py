"""Answers in sentences, and every public object in one line.

In:  answers, spaces.    Out: texts; of HTML every value is escaped.
Promise: what stands in a sentence stands in the answer; nothing is rounded so that it says more.
"""

from __future__ import annotations

from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line
from mace.base.figures import DIGITS, at_least, at_most, cell, number
from mace.present.html import grid

if TYPE_CHECKING:
    from mace.explain.answer import Answer
    from mace.solve.status import Status
    from mace.space.feature import Feature
    from mace.space.space import Space

COLORS: dict[Status, str] = {"optimal": "green", "infeasible": "magenta", "bounded": "yellow", "unknown": "red"}
"""Of the line that says how an answer or a plan ended, on a terminal."""


def change(name: str, unit: str, before: Any, after: Any) -> str:
    """One change of a feature in words: `Income from 25,300 to 30,000 EUR a year`."""
    name = one_line(name)
    if before is None:
        return f"{name} given: {cell(after, unit)}"
    if after is None:
        return f"{name} no longer given, where it is {cell(before, unit)}"
    return f"{name} from {cell(before)} to {cell(after, unit)}"


def sentences(answer: Answer, which: int = 0) -> list[str]:
    """One sentence for each change of a counterfactual, in the order of the space."""
    if not 0 <= which < len(answer.counterfactuals):
        return []
    changes = answer.counterfactuals[which].changes
    found = [feature for feature in answer.space.features if feature.name in changes]
    return [change(feature.name, feature.unit, *changes[feature.name]) for feature in found]


def decision(answer: Answer) -> str:
    """What the decision is, and what was wanted."""
    if answer.decision is None:
        return f"wanted: {one_line(answer.wanted)}"
    return f"decision: {one_line(answer.space.called(answer.decision))}, wanted: {one_line(answer.wanted)}"


def chance(value: float, name: str) -> str:
    """A number of the model: a probability in percent, or a predicted number."""
    return f"{value:.1%}" if name.startswith("p(") else number(value)


def bracketed(what: str, upper: Fraction, lower: Fraction) -> str:
    """The two bounds of something, and what is between them."""
    if upper == lower:
        return f"{what} = lower bound = {number(upper, DIGITS)}, gap 0"
    return f"{what} {at_most(upper)}, lower bound {at_least(lower)}, gap {number(upper - lower, 2, 'up')}"


def short(answer: Answer) -> str:
    """An answer in one line."""
    said = "; ".join(sentences(answer)[:4]) or ("nothing changes" if answer.counterfactuals else "")
    if answer.distance is not None:
        said += f"; {answer.distance_name} distance {answer.distance:.6g}"
        if answer.status == "bounded":
            said += f", none below {at_least(answer.exact_lower_bound, 6)}"
    more = len(answer.counterfactuals) - 1
    return f"Answer({answer.status}: {said or answer.meaning}{f'; and {more} more' if more > 0 else ''})"


def preformatted(text: str) -> str:
    """A text as a notebook shows it."""
    return f"<pre>{escape(text)}</pre>"


def space_html(space: Space) -> str:
    """The features of a space as a table."""
    head = ("Feature", "Kind", "Values", "May change", "Unit")
    table = grid(head, ([one_line(value) for value in _row(feature)] for feature in space.features))
    rules = "".join(f"<li><code>{escape(one_line(rule))}</code></li>" for rule in space.rules)
    return f"<div><p>{escape(repr(space))}</p>{table}<ul>{rules}</ul></div>"


def _row(feature: Feature) -> tuple[str, ...]:
    if feature.numeric:
        values = f"{cell(feature.lower)} to {cell(feature.upper)}"
    else:
        values = ", ".join(cell(level) for level in feature.levels if level is not None)
    return feature.name, feature.kind, values, feature.change, feature.unit
