"""K answers at once: the least sum of distances under conditions on every two, by branch and bound over regions.

In:  a question, a `Diversity`, and `Search`, which finds the nearest point of a question.
Out: `Together` (`mace.explain.proved.together`): the points, bounds on the sum, and the facts that bound it.
Promise: every set of K points that meets the conditions has a sum of at least `lower`; `points` is one with `upper`.

The space is bounded region by region: the nearest point of all, then the nearest outside a box around it, and so on,
in order of distance. The least sum of bounds over regions that go together (`mace.solve.regions`) bounds every set.
Where it takes the rest of the space, one more region is looked for; where the nearest points of regions that go
together do not go together themselves, a part in which they clash is cut off, and what is left of the region is
bounded anew. So the list grows only as far as the bound needs: for sets of changed features it is K questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from mace.base.deadline import TimeOverError
from mace.certify.sets import Fact
from mace.explain.proved.together import Together
from mace.explain.sets.narrowed import Narrowed, narrow
from mace.problem.distance import Norm
from mace.problem.diversity import Diversity
from mace.problem.exclusions import AvoidBox
from mace.problem.question import Question
from mace.solve.driver import Bracket
from mace.solve.protocol import Gap, Limits
from mace.solve.regions import (
    Held,
    Region,
    apart_beyond,
    around,
    changing_alike,
    cheapest,
    closer,
    dearest,
    fixed,
    held,
    may_meet,
    most_worth,
    single,
)
from mace.space.axes import Box, Point, overlap, whole, within


class InRegion(NamedTuple):
    """What was found for one region: its bracket, the question as it was answered, the gap that counts as closed."""

    bracket: Bracket
    question: Question
    gap: Gap


class Choosing:
    """One search for a set.

    nearest: finds and bounds the nearest point of a question, given points that have the goal, and a distance below
             which none of the question's has it.
    feasible: whether any set will do, not the one with the least sum.
    """

    def __init__(
        self,
        question: Question,
        diversity: Diversity,
        count: int,
        nearest: Callable[[Question, Sequence[Point], Fraction], InRegion],
        limits: Limits,
        *,
        known: Iterable[Point] = (),
        feasible: bool = False,
    ) -> None:
        self.found = Together(question, diversity, count, known=list(known))
        self.question, self.diversity, self.count = question, diversity, count
        self.nearest, self.limits, self.feasible = nearest, limits, feasible
        self.gap = Gap()
        self.boxes: dict[Box, int] = {}  # by number
        self.met: dict[tuple[int, int], bool] = {}  # of two numbers, the first one not larger
        self.worth: dict[tuple[Box, Box], Fraction] = {}
        self.everywhere = whole(question.axes)
        pairs = count * (count - 1) // 2
        self.found.lower -= pairs * self.most_worth(self.everywhere, self.everywhere)
        self.held: dict[Box, Held] = {}
        self.fit: dict[tuple[Point, Point], bool] = {}

    def meet(self, one: Box, other: Box) -> bool:
        """Whether points of two regions may stand in one set."""
        for box in (one, other):
            if box not in self.held:
                self.held[box] = held(self.question.axes, box)
        return may_meet(self.question, self.diversity, one, other, (self.held[one], self.held[other]))

    def most_worth(self, one: Box, other: Box) -> Fraction:
        """What the differences of points of two boxes are worth at most."""
        if not self.diversity.soft:
            return Fraction(0)
        if (one, other) not in self.worth:
            worth = most_worth(self.question, self.diversity, one, other)
            self.worth[one, other] = self.worth[other, one] = worth
        return self.worth[one, other]

    def fits(self, one: Point, other: Point) -> bool:
        """Whether two points may stand in one set."""
        if (one, other) not in self.fit:
            self.fit[one, other] = self.fit[other, one] = self.diversity.fits(self.question, one, other)
        return self.fit[one, other]

    def run(self) -> Together:
        """The set with the least sum, or as much of it as the limits allow."""
        found = self.found
        if found.known:
            self.improve()
        # Invariant: a set with a sum below `lower` meets no conditions; `points` is one with the sum `upper`.
        try:
            self.greedily()
            while not found.why and not (self.feasible and found.points):
                chosen = self.choice()
                if chosen is None:
                    found.lower = found.lower if found.upper is None else found.upper
                    found.status = "infeasible" if found.upper is None else "optimal"
                    return found
                found.lower = max(found.lower, self.least_of(chosen))
                if found.upper is not None and self.gap.met(found.lower, found.upper):
                    found.status = "optimal"
                    return found
                self.expand(chosen)
        except TimeOverError as error:
            found.why = str(error)
        found.status = "unknown" if found.upper is None else "bounded"
        return found

    def lower_of(self, k: int) -> Fraction:
        """The bound of a region; of the rest for the number after the last."""
        lower = self.found.rest if k == len(self.found.regions) else self.found.regions[k].lower
        assert lower is not None
        return lower

    def box(self, k: int) -> Box:
        """The box of a region; of the rest everything."""
        return self.everywhere if k == len(self.found.regions) else self.found.regions[k].box

    def least_of(self, chosen: Sequence[int]) -> Fraction:
        """The least sum of points of some regions, less what their differences are worth at most."""
        off = (self.most_worth(self.box(j), self.box(k)) for n, j in enumerate(chosen) for k in chosen[:n])
        return sum((self.lower_of(k) for k in chosen), Fraction(0)) - sum(off, Fraction(0))

    def greedily(self) -> None:
        """Where answers must be far apart: a first set, each point the nearest outside a box around those before it.

        Boxes in which no two points are so far apart say little of that: by them alone a first set might be met late.
        """
        found, asked, apart = self.found, self.question, self.diversity.apart
        if apart is None or not isinstance(asked.distance, Norm):
            return
        for _ in range(self.count):
            said = self.nearest(asked.without(found.refused), found.known, Fraction(0)).bracket
            found.refused += [avoid for avoid in said.refused if avoid not in found.refused]
            if said.point is None:
                return
            if said.point not in found.known:
                found.known.append(said.point)
            boxes = [apart_beyond(asked, apart, said.point)]
            if self.diversity.features or self.diversity.values:
                boxes += around(asked, self.diversity, said.point)
            asked = asked.without(map(AvoidBox, boxes))
        self.improve()

    def choice(self) -> list[int] | None:
        """Regions that go together, with the least sum of bounds, below that of the known set; None without any."""
        found = self.found
        numbers = [k for k, region in enumerate(found.regions) if region.lower is not None]
        goes = [0] * len(numbers)
        places = [self.boxes.setdefault(found.regions[k].box, len(self.boxes)) for k in numbers]
        for n, one in enumerate(places):
            for m in range(n + 1):
                pair = (one, places[m]) if one < places[m] else (places[m], one)
                if pair not in self.met:
                    self.met[pair] = self.meet(found.regions[numbers[n]].box, found.regions[numbers[m]].box)
                if self.met[pair]:
                    goes[n] |= 1 << m
                    goes[m] |= 1 << n
        if found.rest is not None:  # which goes with all
            goes = [mask | 1 << len(numbers) for mask in goes] + [(2 << len(numbers)) - 1]
            numbers.append(len(found.regions))
        bounds = [self.lower_of(k) for k in numbers]
        worth = [[self.most_worth(self.box(j), self.box(k)) for k in numbers] for j in numbers]
        off = worth if self.diversity.soft else None
        chosen = cheapest(bounds, goes, self.count, found.upper, self.limits.deadline, off)
        return None if chosen is None else [numbers[n] for n in chosen]

    def expand(self, chosen: Sequence[int]) -> None:
        """Bound one region of a choice better: look for its nearest point, or cut off where two of these clash."""
        found = self.found
        if len(found.regions) in chosen:
            return self.nearest_outside()
        for k in chosen:
            if found.regions[k].point is None:
                return self.nearest_inside(k)
        for place, k in enumerate(chosen):
            for other in chosen[:place]:
                one, two = found.regions[other].point, found.regions[k].point
                assert one is not None and two is not None
                if not self.fits(one, two) or self.diversity.by_values and self.shared(other, k):
                    return self.separate(other, k)
        found.why = found.why or "the bounds of single answers are not close enough"
        return None

    # ------------------------------------------------------------------------------------------ questions

    def nearest_outside(self) -> None:
        """The nearest point outside all regions, and a region around it."""
        found = self.found
        boxes = list(dict.fromkeys(region.box for region in found.regions))
        # A box within another one excludes nothing more.
        outer = [box for box in boxes if not any(box != one and within(box, one) for one in boxes)]
        said = self.ask(self.question.without(map(AvoidBox, outer)), found.rest)
        found.rest = None if said.status == "infeasible" else max(found.rest or Fraction(0), said.lower)
        if said.point is None:
            if said.status != "infeasible":
                found.why = said.why or "no further answer was found"
            return
        first, *others = around(self.question, self.diversity, said.point)
        assert found.rest is not None
        found.regions.append(Region(first, found.rest, said.point))
        found.regions += [Region(box, found.rest, None) for box in others]

    def nearest_inside(self, k: int) -> None:
        """The nearest point of a region, outside those before it."""
        found = self.found
        region = found.regions[k]
        earlier = [one.box for one in found.regions[:k] if overlap(one.box, region.box)]
        narrowed = narrow(self.question, region.box)
        asked = narrowed.question.without(map(AvoidBox, dict.fromkeys(earlier)))
        said = self.ask(asked, region.lower, narrowed)
        if said.status == "infeasible":
            found.regions[k] = region._replace(lower=None, point=None)
            return
        assert region.lower is not None
        found.regions[k] = region._replace(lower=max(region.lower, said.lower), point=said.point)
        if said.point is None:
            found.why = said.why or "no further answer was found"

    def shared(self, one: int, other: int) -> list[int]:
        """The axes to which the nearest points of two regions make the same change, where not all of both do."""
        first, second = self.found.regions[one], self.found.regions[other]
        assert first.point is not None and second.point is not None
        same = [j for j in self.question.changed(first.point) if first.point[j] == second.point[j]]
        return [j for j in same if not single((first.box[j], second.box[j]))]

    def separate(self, one: int, other: int) -> None:
        """Two regions whose nearest points clash: cut a part off each such that no points of the parts go together."""
        found, question = self.found, self.question
        first, second = found.regions[one], found.regions[other]
        assert first.point is not None and second.point is not None
        shared = self.shared(one, other)
        if shared and (self.diversity.values or self.diversity.by_values and one != other):
            j = dearest(question, shared, first.point)
            parts = (
                fixed(question, first.box, j, first.point[j]),
                fixed(question, second.box, j, second.point[j]),
            )
        elif self.diversity.features and question.changed(first.point) == question.changed(second.point):
            parts = (
                changing_alike(question, first.box, first.point),
                changing_alike(question, second.box, second.point),
            )
        else:
            parts = closer(question, self.diversity, first.box, first.point, second.box, second.point)
        # The last one first, so that the numbers of the others stay.
        for k, part in sorted({one: parts[0], other: parts[1]}.items(), reverse=True):
            region = found.regions[k]
            assert region.point is not None and within(part, region.box)
            if part != region.box:
                found.regions[k] = region._replace(point=None)
                found.regions.insert(k, Region(part, region.lower, region.point))

    def ask(self, asked: Question, least: Fraction | None, narrowed: Narrowed | None = None) -> Bracket:
        """One question, whose points are known to be at least so far; its answer becomes a fact."""
        found = self.found
        self.limits.deadline.look("looking for a set")
        said = self.nearest(asked.without(found.refused), found.known, least or Fraction(0))
        self.gap = Gap(max(self.gap.absolute, said.gap.absolute * self.count), said.gap.relative)
        found.refused += [avoid for avoid in said.bracket.refused if avoid not in found.refused]
        lower = None if said.bracket.status == "infeasible" else said.bracket.lower
        if lower is None or lower > 0:
            fact = Fact(said.question, lower, said.bracket.proof, said.bracket.unproved)
            found.facts.append(fact if narrowed is None else narrowed.widened(fact))
        if said.bracket.point is not None and said.bracket.point not in found.known:
            found.known.append(said.bracket.point)
            self.improve()
        return said.bracket

    def improve(self) -> None:
        """The best set of known points."""
        found, question = self.found, self.question
        distances = [question.distance_of(point) for point in found.known]
        goes = [sum(1 << k for k, other in enumerate(found.known) if self.fits(one, other)) for one in found.known]
        off = None
        if self.diversity.soft:
            off = [[self.diversity.worth(question, one, other) for other in found.known] for one in found.known]
        chosen = cheapest(distances, goes, self.count, found.upper, self.limits.deadline, off)
        if chosen is not None:
            found.points = [found.known[k] for k in chosen]
            found.upper = sum((distances[k] for k in chosen), Fraction(0))
            if off is not None:
                found.upper -= sum((off[k][j] for n, k in enumerate(chosen) for j in chosen[:n]), Fraction(0))
