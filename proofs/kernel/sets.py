"""Sets of answers: no K points that differ as they are asked to have distances with a sum below some number.

The space is covered by regions, boxes in order and the rest; a point belongs to the first that holds it. Facts, which
are ordinary certificates with other excluded regions, bound the distance in each. What the kernel does itself is to
try all choices of K regions that go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mace.proofs.kernel.axes import Axis, Span, empty, farthest, meet
from mace.proofs.kernel.fields import anything, count, index, integer, least_0, maybe, positive, read, truth
from mace.proofs.kernel.floats import Refused, need, rational
from mace.proofs.kernel.proof import fits, read_statement, verify

CERTIFICATE = {
    "mace_set": anything, "about?": anything, "statement": anything, "set": anything, "witness": anything,
    "facts": [{"avoid": [anything], "claim": anything, "cuts": anything, "proof": anything}],
}  # fmt: skip
ASKED = {
    "count": count, "features": truth, "values": truth, "apart": maybe(positive), "regions": [anything],
    "prices?": {"values": [(index, anything, least_0)], "features": [([index], least_0)]},
}  # fmt: skip
STEPS = 2_000_000  # of a choice


class Fact(NamedTuple):
    """Outside some boxes nothing is nearer than `lower`; None: there is nothing."""

    boxes: set[tuple[Span, ...]]
    lower: Fraction | None


class Sets:
    """A statement, what is asked of every two answers, and the regions with what bounds them."""

    def __init__(self, data: Any, fired: dict[str, int], model: Any = None) -> None:
        found = read(data, CERTIFICATE, "the certificate")
        need(found.mace_set == 1 and type(found.mace_set) is int, "the certificate: unknown format")
        self.statement = read_statement(found.statement, model)
        self.model = self.statement.model
        self.asked = read(found.set, ASKED, "set")
        measured = self.asked.apart is None or not self.statement.forms.count
        need(measured, "set: apart: between points distances are measured without forms")
        spans = tuple(axis.span for axis in self.statement.axes)
        self.regions = [read(box, spans, f"set: region {k}") for k, box in enumerate(self.asked.regions)]
        need(not any(map(empty, (s for box in self.regions for s in box))), "set: a region is empty")
        self.first: dict[tuple[Span, ...], int] = {}
        for k, box in enumerate(self.regions):
            self.first.setdefault(tuple(box), k)
        self.prices()
        if not found.facts:
            fits(self.statement)
        self.facts = [self.fact(found, n, fact, fired) for n, fact in enumerate(found.facts)]
        self.distance = self.witness(found, fired)

    def fact(self, found: Any, number: int, fact: Any, fired: dict[str, int]) -> Fact:
        """What an ordinary certificate says, whose statement differs in what it excludes and claims alone.

        Lemma: every point that is allowed here and in none of the boxes is allowed there.
        """
        said = {**found.statement, "avoid": fact.avoid, "claim": fact.claim}
        whole = {"mace_certificate": 2, "statement": said, "witness": None, "cuts": fact.cuts, "proof": fact.proof}
        try:
            statement = verify(whole, fired, self.model)
        except Refused as error:
            raise Refused(f"fact {number}: {error}") from None
        more = [
            region for region, text in zip(statement.avoid, fact.avoid, strict=True)
            if text not in found.statement["avoid"]
        ]  # fmt: skip
        need(all(region.kind == "box" for region in more), f"fact {number}: it excludes more than boxes")
        return Fact({tuple(region.box) for region in more}, statement.claim)

    def bound(self, k: int) -> Fraction | None:
        """The largest bound of the points of region k, the rest being the last; None: there are none.

        Lemma: such a point lies in no earlier region, and in no box without a point in common with its own. A box of
        one point has its distance.
        """
        own, axes, least = self.regions[k] if k < len(self.regions) else None, self.statement.axes, Fraction(0)
        if own is not None and all(map(single, axes, own)):
            least = self.statement.distance([axis.ends(span)[0] for axis, span in zip(axes, own, strict=True)])
        elif own is not None:
            least = Fraction(sum(self.statement.least(own)), self.statement.common)
        for fact in self.facts:
            if self.speaks(fact, k, own):
                if fact.lower is None:
                    return None
                least = max(least, fact.lower)
        return least

    def speaks(self, fact: Fact, k: int, own: Sequence[Span] | None) -> bool:
        """Whether all boxes that a fact excludes are those of earlier regions, or have no point of region k."""
        if own is not None and tuple(own) in fact.boxes and self.first[tuple(own)] == k:
            return False
        return all(self.first.get(box, k) < k or (own is not None and apart(box, own)) for box in fact.boxes)

    def together(self, one: Sequence[Span], other: Sequence[Span]) -> bool:
        """Whether a point of one box and a point of another may stand in one set; exact for two points.

        Lemma: where all of two boxes changes the same features, so do any two points of them; likewise for a value; and
        no two points are farther apart than, axis by axis, the ends of their spans.
        """
        axes, asked = self.statement.axes, self.asked
        alone = [single(axis, a) and a == b for axis, a, b in zip(axes, one, other, strict=True)]
        if all(alone):
            return False
        moved = [moves(axis, a) for axis, a in zip(axes, one, strict=True)]
        if asked.features and None not in moved and moved == [moves(x, b) for x, b in zip(axes, other, strict=True)]:
            return False
        if asked.values and any(same and change for same, change in zip(alone, moved, strict=True)):
            return False
        return asked.apart is None or farthest(axes, one, other) >= asked.apart * self.statement.common

    def prices(self) -> None:
        """What a point pays for each index to which it changes a feature, and for the set of features that it changes.

        Lemma: where no two points of a set share such an index, or change the same features, the set pays each price
        once at most, and so all of them together at most.
        """
        axes, asked, where = self.statement.axes, self.asked, "set: prices"
        values, features = (asked.prices.values, asked.prices.features) if asked.prices else ([], [])
        need(self.statement.claim is not None or not asked.prices, f"{where}: the claim is not about a sum")
        need(asked.values or not values, f"{where}: two answers may have the same value")
        need(asked.features or not features, f"{where}: two answers may change the same features")
        self.of_values: dict[tuple[int, int], Fraction] = {}
        self.of_features: dict[tuple[bool, ...], Fraction] = {}
        for j, i, price in values:
            axis = axes[integer(j, 0, len(axes) - 1, where)]
            need(axis.index(i, where) != axis.start, f"{where}: a price for no change")
            self.of_values[j, i] = self.of_values.get((j, i), Fraction(0)) + price
        for changed, price in features:
            some = {integer(j, 0, len(axes) - 1, where) for j in changed}
            key = tuple(j in some for j in range(len(axes)))
            self.of_features[key] = self.of_features.get(key, Fraction(0)) + price
        self.all_prices = sum((*self.of_values.values(), *self.of_features.values()), Fraction(0))

    def paid(self, k: int) -> Fraction:
        """What every point of region k pays at least."""
        if k == len(self.regions):
            return Fraction(0)
        moved, paid = [], Fraction(0)
        for j, (axis, span) in enumerate(zip(self.statement.axes, self.regions[k], strict=True)):
            moved.append(moves(axis, span))
            if single(axis, span):
                paid += self.of_values.get((j, axis.ends(span)[0]), Fraction(0))
        return paid + self.of_features.get(tuple(moved), Fraction(0))  # type: ignore[arg-type]

    def witness(self, found: Any, fired: dict[str, int]) -> Fraction | None:
        """The sum of the distances of a set that meets the conditions, and is not below the claim."""
        if found.witness is None:
            return None
        need(type(found.witness) is list and len(found.witness) == self.asked.count, "witness: expected a set")
        total, boxes = Fraction(0), []
        for n, one in enumerate(found.witness):
            need(one is not None, f"witness {n}: expected an object")
            said = {**found.statement, "claim": {"closer_than": "0"}}
            cuts = [None] * len(getattr(self.model, "tests", ()))
            whole = {"mace_certificate": 2, "statement": said, "witness": one, "cuts": cuts, "proof": [["distance"]]}
            try:
                verify(whole, fired, self.model)
            except Refused as error:
                raise Refused(f"witness {n}: {error}") from None
            boxes.append(self.statement.box(one["point"]))
            total += rational(one["distance"], "witness")
            need(all(self.together(boxes[-1], box) for box in boxes[:-1]), f"witness {n}: it clashes with another one")
        need(self.statement.claim is not None and total >= self.statement.claim, "witness: it is against the claim")
        return total


def apart(one: Sequence[Span], other: Sequence[Span]) -> bool:
    """Whether two boxes have no point in common."""
    return any(empty(meet(a, b)) for a, b in zip(one, other, strict=True))


def single(axis: Axis, span: Span) -> bool:
    """Whether a span that is not empty has one index."""
    return len(set(axis.ends(span))) == 1


def moves(axis: Axis, span: Span) -> bool | None:
    """Whether all indices of a span are a change, or none is; None if some are."""
    if not axis.has(span, axis.start):
        return True
    return False if single(axis, span) else None


class Choice(NamedTuple):
    """A region that may be chosen: its number, the bound of its points, and that with what they pay."""

    region: int
    bound: Fraction
    full: Fraction


def choice(
    masks: Sequence[int], listed: Sequence[Choice], count: int, claim: Fraction | None, prices: Fraction
) -> Fraction | None:
    """The sum of bounds of some choice of `count` regions that go together, below the claim; None: there is none.

    listed: their full costs grow; claim: None for any sum. masks: of every region those, itself or later, that it goes
    with. A region is taken as often as it goes with itself. prices: all of them; a choice whose full costs reach the
    claim and these is not below the claim.
    """
    todo, steps = [((1 << len(listed)) - 1, 0, Fraction(0), Fraction(0))], 0
    while todo:
        left, taken, total, full = todo.pop()
        if taken == count:
            if claim is None or total < claim:
                return total
            continue
        while left:
            n = (left & -left).bit_length() - 1
            # All that is left costs as much as this one, or more.
            if claim is not None and full + (count - taken) * listed[n].full >= claim + prices:
                break
            steps += 1
            need(steps <= STEPS, "set: there are too many choices")
            todo.append((left & masks[n], taken + 1, total + listed[n].bound, full + listed[n].full))
            left &= left - 1
    return None


def verify_set(data: Any, fired: dict[str, int], model: Any = None) -> Sets:
    """A certificate of a set whose claim holds; refuses any other.

    Lemma: K points of a set belong to K regions of which any two go together, and the sum of their distances is at
    least the sum of what bounds the regions. With the prices of all it is below the claim and all prices, if it is
    below the claim; so then is what the regions have of both.
    """
    sets = Sets(data, fired, model)
    count, claim, rest = sets.asked.count, sets.statement.claim, len(sets.regions)
    bounds = [(k, sets.bound(k)) for k in range(rest + 1)]
    listed = [Choice(k, bound, bound + sets.paid(k)) for k, bound in bounds if bound is not None]
    listed.sort(key=lambda one: (one.full, one.region))
    if claim is not None:
        # What is too dear beside the cheapest ones is in no choice below the claim.
        listed = [one for one in listed if one.full + (count - 1) * listed[0].full < claim + sets.all_prices]
    masks = [
        sum(
            1 << m for m in range(n, len(listed))
            if rest in (one.region, listed[m].region)
            or sets.together(sets.regions[one.region], sets.regions[listed[m].region])
        )
        for n, one in enumerate(listed)
    ]  # fmt: skip
    total = choice(masks, listed, count, claim, sets.all_prices)
    need(total is None, f"set: regions that go together have a sum of {str(total)[:40]}")
    return sets
