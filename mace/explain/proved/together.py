"""K answers that were found together, as far as they were: the points, bounds on their sum, and its certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from mace.certify.sets import Fact, SetClaim, set_certificate
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.problem.diversity import Diversity
from mace.problem.exclusions import Avoid
from mace.problem.question import Question
from mace.solve.regions import Region
from mace.solve.status import Status
from mace.space.axes import Point


@dataclass
class Together:
    """A set, as far as it was found.

    regions: in the order in which a point belongs to the first that holds it; `rest`: the bound outside all of them,
             None where there is nothing.
    core:    where there is no set, conditions that suffice for that, and of which none can be left out.
    """

    question: Question
    diversity: Diversity
    count: int
    points: list[Point] = field(default_factory=list)
    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    status: Status = "unknown"
    why: str = ""
    regions: list[Region] = field(default_factory=list)
    rest: Fraction | None = Fraction(0)
    facts: list[Fact] = field(default_factory=list)
    refused: list[Avoid] = field(default_factory=list)
    known: list[Point] = field(default_factory=list)
    core: tuple[str, ...] = ()

    def certificate(self) -> Certificate:
        """The proof of the bound on the sum, or that there is no set; raises CertificateError."""
        if self.status != "infeasible" and self.diversity.soft:
            raise CertificateError("this answer has no certificate: what differences are worth is no distance")
        if self.status != "infeasible" and not self.lower and self.upper != 0:
            raise CertificateError("this answer has no certificate: nothing was proved of the sum")
        claim = None if self.status == "infeasible" else self.lower
        asked = SetClaim(self.count, self.diversity.hard, claim)
        if claim == 0:  # no sum is less, whatever the regions
            return set_certificate(self.question, asked, self.points, [], [], self.refused)
        boxes = [region.box for region in self.regions]
        return set_certificate(self.question, asked, self.points, boxes, self.facts, self.refused)

    def lower_of(self, point: Point) -> Fraction:
        """What bounds the region of a point."""
        found = [one.lower for one in self.regions if one.point == point and one.lower is not None]
        return max(found, default=Fraction(0))

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"count": self.count, "diversity": str(self.diversity), "core": list(self.core)}
