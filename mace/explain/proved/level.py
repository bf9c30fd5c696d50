"""One level of an answer: one objective, what it reached, and how little it could have reached.

Promise: `exact_lower_bound <= optimum <= exact_value`, the optimum being that of all points that keep to what earlier
levels allow. The floats are rounded outwards, so that nothing shown claims more than was proved.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.exact import shown_above, shown_below, text
from mace.explain.proved.bound import Proved
from mace.solve.status import Status

if TYPE_CHECKING:
    from mace.problem.proof import Proof
    from mace.problem.question import Question


ROUNDED = Fraction(1, 10**8)  # of a shortfall, relative where it is above 1: as near as bounds of networks come


@dataclass(frozen=True)
class Level(Proved):
    """One objective of several, in the order of priority.

    status:  "optimal", "bounded", "infeasible" or "unknown", of this level alone; `why` says which limit was reached.
    exact_value, exact_lower_bound: in people's units: changes, money, units of the goal. Certificates count in the
             measure that was minimised: of "changes" in shares of all features, of "cost" in shares of what it costs
             to change everything as far as it goes.
    claim:   of the certificate. Where it speaks of an earlier objective, it says that no point with a smaller value of
             this level keeps to what that one allows; where it speaks of a sum of both, no point with the goal has
             less of the sum, and what the earlier one allows, at its weight in the sum, is taken off.
    missing: whether it says how far the goal is missed.
    of_answer: the value at the counterfactual of the answer, which later levels may have moved within the tolerance.
    """

    name: str
    status: Status
    exact_distance: Fraction | None = field(repr=False)
    exact_lower_bound: Fraction = field(repr=False)
    of_answer: float | None = None
    why: str = ""
    oracle: str = ""
    seconds: float = field(default=0.0, repr=False, compare=False)
    question: Question | None = field(default=None, repr=False, compare=False)
    proof: Proof | None = field(default=None, repr=False, compare=False)
    unproved: str = field(default="", repr=False, compare=False)
    witness: tuple[int, ...] | None = field(default=None, repr=False, compare=False)
    claimed: Fraction | None = field(default=None, repr=False, compare=False)
    timeout: float | None = field(default=None, repr=False, compare=False)
    missing: bool = field(default=False, repr=False, compare=False)

    @property
    def claim(self) -> Fraction | None:
        """What the certificate says: nothing is closer than this; None for nothing at all."""
        return self.claimed

    @property
    def exact_value(self) -> Fraction | None:
        """What was reached, exact; None without a point."""
        return self.exact_distance

    @property
    def missed(self) -> bool:
        """Whether the goal cannot be met, and this is how nearly: by nothing, where a strict end is reached."""
        return self.missing and self.exact_value is not None and self.witness is None

    @property
    def least(self) -> bool:
        """Whether nothing is known to be possible below what was reached, but for what networks leave to rounding."""
        value = self.exact_value
        return value is not None and value - self.exact_lower_bound <= ROUNDED * max(Fraction(1), value)

    @property
    def value(self) -> float | None:
        """What was reached, rounded up if it must be rounded; None without a point."""
        return None if self.exact_value is None else shown_above(self.exact_value, self.exact_lower_bound)

    @property
    def lower_bound(self) -> float:
        """No point that earlier levels allow has less; rounded down if it must be rounded."""
        return shown_below(self.exact_lower_bound, self.exact_value)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "name": self.name,
            "status": self.status,
            "why": self.why,
            "value": self.value,
            "lower_bound": None if self.status == "infeasible" else self.lower_bound,
            "exact_value": None if self.exact_value is None else text(self.exact_value),
            "exact_lower_bound": None if self.status == "infeasible" else text(self.exact_lower_bound),
            "of_answer": self.of_answer,
        }
