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
from mace.proofs.kernel.fields import anything, count, maybe, positive, read, truth
from mace.proofs.kernel.floats import Refused, need, rational
from mace.proofs.kernel.proof import read_statement, verify

CERTIFICATE = {
    "mace_set": anything, "about?": anything, "statement": anything, "set": anything, "witness": anything,
    "facts": [{"avoid": [anything], "claim": anything, "cuts": anything, "proof": anything}],
}  # fmt: skip
ASKED = {
    "count": count, "features": truth, "values": truth, "apart": maybe(positive), "regions": [anything],
}  # fmt: skip
STEPS = 2_000_000  # of a choice


class Fact(NamedTuple):
    """Outside some boxes nothing is nearer than `lower`; None: there is nothing."""

    boxes: list[list[Span]]
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
        return Fact([region.box for region in more], statement.claim)

    def bound(self, k: int) -> Fraction | None:
        """The largest bound of the points of region k, the rest being the last; None: there are none.

        Lemma: such a point lies in no earlier region, and in no box without a point in common with its own.
        """
        own = self.regions[k] if k < len(self.regions) else None
        least = Fraction(0 if own is None else sum(self.statement.least(own)), self.statement.common)
        for fact in self.facts:
            if all(box in self.regions[:k] or (own is not None and apart(box, own)) for box in fact.boxes):
                if fact.lower is None:
                    return None
                least = max(least, fact.lower)
        return least

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


def choice(masks: Sequence[int], bounds: Sequence[Fraction], count: int, limit: Fraction | None) -> Fraction | None:
    """The sum of bounds of some choice of `count` regions that go together, below the limit; None: there is none.

    bounds: they grow; limit: None for any sum. masks: of every region those, itself or later, that it goes with. A
    region is taken as often as it goes with itself.
    """
    todo, steps = [((1 << len(bounds)) - 1, 0, Fraction(0))], 0
    while todo:
        left, taken, total = todo.pop()
        if taken == count:
            return total
        while left:
            n = (left & -left).bit_length() - 1
            # All that is left costs as much as this one, or more.
            if limit is not None and total + (count - taken) * bounds[n] >= limit:
                break
            steps += 1
            need(steps <= STEPS, "set: there are too many choices")
            todo.append((left & masks[n], taken + 1, total + bounds[n]))
            left &= left - 1
    return None


def verify_set(data: Any, fired: dict[str, int], model: Any = None) -> Sets:
    """A certificate of a set whose claim holds; refuses any other.

    Lemma: K points of a set belong to K regions of which any two go together, and the sum of their distances is at
    least the sum of what bounds the regions.
    """
    sets = Sets(data, fired, model)
    bounds = [sets.bound(k) for k in range(len(sets.regions) + 1)]
    order = sorted((bound, k) for k, bound in enumerate(bounds) if bound is not None)
    rest = len(sets.regions)
    masks = [
        sum(
            1 << m for m in range(n, len(order))
            if rest in (k, order[m][1]) or sets.together(sets.regions[k], sets.regions[order[m][1]])
        )
        for n, (_, k) in enumerate(order)
    ]  # fmt: skip
    total = choice(masks, [bound for bound, _ in order], sets.asked.count, sets.statement.claim)
    need(total is None, f"set: regions that go together have a sum of {str(total)[:40]}")
    return sets
