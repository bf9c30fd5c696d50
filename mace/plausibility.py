"""Rules of the world: conditions between features, written in the core language.

In:  a text such as `CapitalLoss == 0 or CapitalGain == 0`, or a whole program that returns true or false.
Out: a `Rule` over the axes of a question: exact on a point (`holds`), three-valued on a box (`can_hold`).
Features with levels are compared with texts (`Job == "Sales"`); binary features with levels 0 and 1, and others whose
levels are 0, 1, 2, .., are integers.
Source: Karimi et al. 2020, section 4.2, plausibility.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from mace.axes import Axis, Point
from mace.language import Program, inputs_from, parse_program, parse_rule, run
from mace.language.interval import can_be_true

if TYPE_CHECKING:
    from mace.space import Space


@dataclass(frozen=True)
class Rule:
    """A condition; `reads` maps each input's name to the index of its feature."""

    source: str
    program: Program
    reads: dict[str, int]

    def holds(self, axes: Sequence[Axis], point: Point) -> bool:
        """Whether a point obeys the rule, by the interpreter."""
        return bool(run(self.program, {name: axes[j].value(point[j]) for name, j in self.reads.items()}))

    def can_hold(self, box: dict[str, tuple[Fraction, Fraction]]) -> bool:
        """False only if no point of a box (input name -> closed interval) obeys the rule."""
        return can_be_true(self.program, box)
