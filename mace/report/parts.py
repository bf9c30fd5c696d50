"""What a page of the report is made of: tables and plots, as plain values for the template."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from mace.base.figures import number, percent
from mace.base.values import name_of
from mace.present.drawing import to_svg

if TYPE_CHECKING:
    from mace.audit.intervals import Estimate, Share
    from mace.present.drawing import Display
    from mace.space.space import Space


_QUOTED = re.compile(r"""(['"])(.*?)\1""")
NOT_KNOWN = "not recorded in this audit file"
# A cell with a second, smaller line is a pair.
Cell: TypeAlias = str | tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """The first cell of a row names it; a column is to the right if its name ends with `#`, which is not shown."""

    name: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    @property
    def columns(self) -> list[tuple[str, str]]:
        """Name and class of each column."""
        return [(name.removesuffix("#"), "number" if name.endswith("#") else "words") for name in self.head]


@dataclass(frozen=True, slots=True)
class Plot:
    """An SVG element with its caption; the table beside it has the same numbers."""

    name: str
    svg: Any
    caption: str


@dataclass(frozen=True, slots=True)
class Pair:
    """A term and what it stands for; `code` if it is to be copied letter by letter.

    refused: it says that the checker did not accept a certificate.
    """

    term: str
    value: str
    code: bool = False
    refused: bool = False


def plot_of(display: Display, name: str, caption: str) -> Plot:
    """The display as a part of the page."""
    from markupsafe import Markup

    return Plot(name, Markup(to_svg(display, name)), caption)  # noqa: S704  escaped by the writer of the SVG


def called(about: Mapping[str, Any], label: object) -> str:
    """What people call a decision, as the audit has it; else the decision itself."""
    names, text = about.get("decisions") or {}, str(label)
    name = name_of(label, names)
    return str(names.get(text.strip("'\""), text) if name is None else name)


def named(about: Mapping[str, Any], label: object) -> str:
    """What people call a decision, and the model's own label where it is another: `approved (1)`."""
    name = called(about, label)
    return name if name == str(label) else f"{name} ({label})"


def goal_of(about: Mapping[str, Any]) -> str:
    """The goal in words, from what the audit says of itself: `approved (1)`."""
    goal, wanted = about.get("goal", NOT_KNOWN), about.get("wanted")
    if isinstance(goal, str) and wanted is not None:
        return str(wanted) if wanted == _QUOTED.sub(r"\2", goal) else f"{wanted} ({goal})"
    if isinstance(goal, list):
        return ", ".join(named(about, label) for label in goal)
    return "any other decision" if goal is None else named(about, goal)


def units_of(about: Mapping[str, Any], space: Space | None) -> dict[str, str]:
    """The units of the features: those of the space, or else of the audit."""
    features = about.get("features") or {}
    units = {name: str(said.get("unit", "")) for name, said in features.items() if isinstance(said, dict)}
    return units if space is None else units | {feature.name: feature.unit for feature in space.features}


def share_words(share: Share) -> str:
    """A share in a sentence: how many of how many, and the interval."""
    if share.value is None:
        return "none of 0"
    return f"{percent(share.value)} ({share.count:,} of {share.of:,}; 95% interval {interval(share)})"


def share_cell(share: Share) -> Cell:
    """A share in a table, the interval below it."""
    if share.value is None:
        return "none of 0"
    return f"{percent(share.value)} ({share.count:,} of {share.of:,})", f"95%: {interval(share)}"


def interval(share: Share) -> str:
    """The interval of a share alone."""
    return f"{percent(share.lower)} to {percent(share.upper)}"


def estimate_cell(found: Estimate, *, as_percent: bool = False) -> Cell:
    """A statistic in a table, its interval below it."""

    def shown(value: float) -> str:
        return percent(value, exact=True) if as_percent else number(value, 4)

    if found.value is None:
        return "none"
    if found.lower is None or found.upper is None:
        return shown(found.value), "too few for an interval"
    return shown(found.value), f"95%: {shown(found.lower)} to {shown(found.upper)}"
