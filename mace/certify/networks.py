"""Elaborate a proof about a network for its certificate: how far axes reach, and the bounds of hidden units.

In:  a question, the distance that is claimed, and the proof as the prover built it.
Out: `proof` of proofs/FORMAT.md, 6, with its `near` nodes and what its `bounds` nodes say; None where this road does
     not lead to the end.
Promise: none is needed, since the checker verifies what is written. Boxes are cut by exact fractions; bounds are found
in the prover's own arrays, where they are a little wider than a checker finds them.
How: the prover derives every bound anew where a leaf does not close without. Most of them change nothing there. So only
those are written without which the leaf would stay open: in the order of what each loses alone, as many are left out as
the room between the leaf's bound and the claim allows. What leaves have from above is written once, at the root; and
of what tightens a node, and of the phases that follow, what a leaf rests on (`ends.py`), which is about half.
The other road is `mace.proofs.convert`, which needs the statement alone and no compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from mace.base.exact import above
from mace.certify.ends import ROOT, Items, Reads, Sources
from mace.problem.distance import Norm
from mace.problem.proof import Bounds, Dual, End, Leaf, Multipliers, Phase, Proof, ProofNode, Split, Tighten
from mace.problem.question import Question
from mace.solve.networks.kernels import INFINITY, NOWHERE, derive, dual_bound, ends_read, plain, without_each
from mace.solve.networks.model import Array, Units
from mace.solve.networks.multipliers import Rough, Tight, at_zero, goal_of
from mace.solve.networks.nodes import Frame
from mace.solve.networks.nodes import Node as State
from mace.solve.networks.tighten import NEAR, crossed, narrow
from mace.solve.warm import about_layers, solved
from mace.solve.witnesses import Witnesses
from mace.space.axes import Box

# How far above the claim a leaf's bound has to stay where ends are left out, in floats, relative to 1 + claim: far more
# than floats lose, so that it holds in exact arithmetic too.
ROOM = 2.0**-20
ROUNDS = 3  # of leaving ends out, as what several lose together is not what each loses alone
NARROWER = 1e-9  # of its size: an end that moves by less is written only where a leaf has no room without it
TIED = 1e-9  # relative to 1 + its size: where a unit's ends differ by less, in size, a checker is told its line below
CROSSED = 1e-9  # by how much a lower end exceeds the upper one where there is no point for certain


class PartMultipliers(NamedTuple):
    """The multipliers of one part of the goal as `dual_bound` takes them; `given` tells which slopes are."""

    goal: Array
    given: Array
    slope: Array
    mu: Array
    share: Array
    changes: tuple[float, float]
    C: Array
    than: Array


def of_network(
    question: Question,
    claim: Fraction | None,
    proof: Proof,
    write: Callable[[ProofNode], list[Any]],
    look: Callable[[], None],
) -> list[list[Any]] | None:
    """The nodes of a certificate about a network; None if the prover's arrays do not hold it, or lead to no end.

    claim: no point with the goal is nearer; None: there is none at all. write: a node without what is found here.
    look:  called now and then; may raise.
    """
    if isinstance(question.distance, Norm) and question.distance.beyond_floats:
        return None
    made = Elaboration(question, claim)
    made.near(made.root)
    first, unbounded = len(made.nodes), made.root.units
    made.root.units, prices = made.derived(made.root, made.everything)
    bounded = Units(*map(np.copy, made.root.units))
    if not made.walk(proof, look):
        return None
    rest, used = made.rested(first)
    kept = made.narrower(unbounded, bounded)
    for layer in range(made.shape[1] - 1, 0, -1):
        used[:, :layer] |= (used & kept)[:, layer].any()
    known = made.nodes[:first] + made.bounds_node(used & kept, Derived(bounded, prices))
    return [node if isinstance(node, list) else write(node) for node in known + rest]


@cache
def warm() -> None:
    """Compile, or read from disk, what `of_network` needs beside what its prover does, once a process."""
    question = about_layers()
    found = solved(question)
    assert found.proof is not None
    # As if the prover had derived bounds anew for its first leaf.
    leaf = next(place for place, node in enumerate(found.proof) if isinstance(node, Dual))
    proof = [*found.proof[:leaf], Bounds(), *found.proof[leaf:]]
    of_network(question, found.lower, proof, lambda _: [], lambda: None)


class Derived(NamedTuple):
    """Bounds of hidden units, and the price of distance that each end was found at, where it was looked for."""

    units: Units
    prices: Array


class Place(NamedTuple):
    """A state that the walk comes to later, and what its intervals come from.

    empty: the item without which it would not be empty: of the side of a phase that a narrowed end rules out.
    below: whether it is below such a state, of which nothing is written but that it is empty.
    crossed: the unit whose ends leave nothing between them.
    """

    state: State
    sources: Sources
    empty: int | None = None
    below: bool = False
    crossed: tuple[int, int] | None = None


class Elaboration:
    """What is known of one proof. Ends of hidden units are arrays (2, H, N): lower and upper ones of H layers of N.

    nodes: as they are written, or as the prover has them where that is left to the end.
    of_node: the items that nodes stand for: one for each end of a `Tighten`, else one.
    """

    def __init__(self, question: Question, claim: Fraction | None) -> None:
        self.frame = Frame(Witnesses(question))
        self.claim, self.numbers = claim, self.frame.numbers
        self.theta = 0.0 if claim is None else 1.0  # what the distance counts
        self.exact = self.frame.exact
        self.arrays = (plain(self.numbers.axes), plain(self.numbers.net))
        self.sizes = np.abs(self.numbers.net.W)
        self.reach = -1.0 if claim is None else float(claim) * (1 + 1e-12)
        self.shape = (2, *self.numbers.net.B[1:].shape)
        self.everything, self.no_phases = np.ones(self.shape, np.bool_), np.zeros(self.shape[1:], np.bool_)
        self.items = Items(self.shape)
        self.nodes: list[list[Any] | ProofNode] = []
        self.of_node: dict[int, list[int]] = {}
        self.inside: Box | None = None  # the box that was cut to the ball last
        self.root = self.frame.first_node()
        self.root.units = Units(np.full(self.shape[1:], -1e300), np.full(self.shape[1:], 1e300), self.root.units.phase)

    def walk(self, proof: Proof, look: Callable[[], None]) -> bool:
        """Gather the nodes of a proof, with what leaves need; False where this road does not lead to its end."""
        todo, renewed = [Place(self.root, Sources.of_root(self.shape))], False
        for node in proof:
            look()
            if isinstance(node, Bounds):
                renewed = True
                continue
            place = todo.pop()
            if place.empty is not None:
                sides = 2 if isinstance(node, Split | Phase) else int(isinstance(node, Tighten))
                todo += [place._replace(below=True)] * sides
                renewed = False
                if place.below:
                    continue
                node, self.of_node[len(self.nodes)] = Leaf("empty"), [place.empty]
            elif isinstance(node, Tighten):
                todo.append(self.tightened(place, node, renewed))
                renewed = False
            elif isinstance(node, Split | Phase):
                if renewed:
                    return False
                todo += self.children(place, node)
            elif isinstance(node, Dual) or renewed:
                if not self.near(place.state):
                    node = Leaf("distance")
                else:
                    asked = self.asked(node.parts) if isinstance(node, Dual) else []
                    self.nodes += self.leaf(place, asked, renewed)
                renewed = False
            elif isinstance(node, Leaf) and node.rule == "empty":
                self.nothing(place)
            self.nodes.append(node)
        return not todo and not renewed

    def tightened(self, place: Place, node: Tighten, renewed: bool) -> Place:
        """Narrow a state's bounds as the node says, in place, and write what it reads from before."""
        (state, *_), sources = place, place.sources.copy()
        self.near(state)
        if renewed:
            known = self.derived(state, self.everything)
            kept = self.narrower(state.units, known.units)
            self.items.want(Reads(before(kept), self.no_phases), sources)
            self.nodes += self.bounds_node(kept, known)
            state.units = known.units
            sources.ends[kept] = ROOT
        assert self.claim is not None
        items, unit = [], None
        for end in node.ends:
            tight = Tight(end.layer, end.unit, end.end, end.theta, tuple(map(self.rough, end.parts)))
            items.append(self.items.add(self.reads(state.units, self.asked(end.parts), end), sources))
            if narrow(self.frame, state.hull, state.units, tight, above(self.claim)):
                sources.ends[end.end, end.layer, end.unit] = items[-1]
                unit = (end.layer, end.unit) if crossed(state.units, tight) else None
        self.of_node[len(self.nodes)] = items
        return Place(state, sources, crossed=unit)

    def children(self, place: Place, node: Split | Phase) -> list[Place]:
        """The two sides of a split, the first one last; of a phase one may be empty, by an end that was narrowed."""
        state, sources, *_ = place
        sides = [self.frame.child(state, node, side) for side in (0, 1)]
        if isinstance(node, Split):
            return [Place(side, sources) for side in reversed(sides)]
        unit = node.layer, node.unit
        (low, high, phase), owns = state.units, [sources.copy(), sources.copy()]
        on, off = (bool(phase[unit] * sign > 0 and end > NEAR) for sign, end in ((1, low[unit]), (-1, -high[unit])))
        if not on and not off:
            for side, own in enumerate(owns):
                own.ends[1 - side][unit] = own.phases[unit] = ROOT
            return [Place(sides[side], owns[side]) for side in (1, 0)]
        ends = np.zeros(self.shape, np.bool_)
        ends[int(off)][unit] = True
        item = self.items.add(Reads(ends, self.no_phases), sources)
        self.of_node[len(self.nodes)] = [item]
        owns[0].phases[unit] = owns[1].phases[unit] = item
        return [Place(sides[side], owns[side], item if side == off else None) for side in (1, 0)]

    def nothing(self, place: Place) -> None:
        """Want what says that a state is empty: its box, a narrowed end, two ends that have crossed, or anything."""
        if all(side[0] <= side[1] if isinstance(side, tuple) else side for side in place.state.box):
            ends = self.everything.copy()
            if place.crossed is not None:
                ends[:] = False
                ends[:, *place.crossed] = True
            self.items.want(Reads(ends, self.no_phases), place.sources)

    def rested(self, first: int) -> tuple[list[list[Any] | ProofNode], Array]:
        """The nodes from a number on, without what nothing rests on, and the ends that are read from the root."""
        needed, found = self.items.needed(), list[list[Any] | ProofNode]()
        for number, node in enumerate(self.nodes[first:], first):
            items = self.of_node.get(number)
            if items is None:
                found.append(node)
            elif isinstance(node, Tighten):
                ends = tuple(end for end, item in zip(node.ends, items, strict=True) if needed[item])
                found += [Tighten(ends)] if ends else []
            elif needed[items[0]]:
                found.append(node)
        return found, self.items.used

    def near(self, state: State) -> bool:
        """Cut a state's box to the ball, and say so; False if it has no point that is near enough."""
        if self.claim is None or state.box is self.inside:
            return True
        box = self.exact.cut(state.box, self.claim)
        if box is None:
            return False
        sides = [(j, side) for j, (side, old) in enumerate(zip(box, state.box, strict=True)) if side != old]
        for j, side in sides:
            self.frame.restrict(state, j, side)
        if sides:
            self.nodes.append(["near", *([j, list(side) if isinstance(side, tuple) else side] for j, side in sides)])
        self.inside = state.box
        return True

    def derived(self, state: State, wanted: Array) -> Derived:
        """A state's bounds, derived anew for its box, as far as they are wanted."""
        found = Derived(Units(*map(np.copy, state.units)), np.zeros(self.shape))
        derive(self.reach, *self.arrays, plain(state.hull), plain(found.units), wanted, found.prices)
        return found

    def narrower(self, old: Units, new: Units, least: float = 0.0) -> Array:
        """Which ends have moved, by more than this part of their size."""
        ends = np.stack([new.L, new.U])
        return np.asarray(np.abs(ends - np.stack([old.L, old.U])) > least * np.abs(ends))

    def bounds_node(self, ends: Array, known: Derived) -> list[list[Any]]:
        """The node that says these ends, and the price of distance that each was found at; none if there are no ends.

        Of units that reach as far below 0 as above it, but for rounding, it says by which line those behind them are
        bounded: in a checker's numbers the other end may be the longer one.
        """
        (low, high, _), behind = known.units, np.flatnonzero(ends.any(axis=(0, 2)))
        tied = (
            (low < 0)
            & (high > 0)
            & (high < INFINITY)
            & (np.abs(low + high) <= TIED * (1 + high) + 4 * self.numbers.net.rough)
        )
        tied[behind[-1] if len(behind) else 0 :] = False
        fields = [
            [
                k, n, *(float(known.prices[end, k, n]).hex() if ends[end, k, n] else None for end in (0, 1)),
                *([int(high[k, n] >= -low[k, n])] if tied[k, n] else []),
            ]
            for k, n in np.argwhere(ends.any(axis=0) | tied).tolist()
        ]  # fmt: skip
        return [["bounds", *fields]] if fields else []

    # ------------------------------------------------------------------------------------------ leaves

    def leaf(self, place: Place, asked: list[PartMultipliers], renewed: bool) -> list[list[Any]]:
        """The `bounds` node that a leaf needs, if any.

        asked:   its multipliers; empty for the leaf `empty`. renewed: whether the prover derived bounds anew for it.
        """
        state, sources, *_ = place
        kept, known = np.zeros(self.shape, np.bool_), Derived(state.units, np.zeros(0))
        reads = Reads(np.zeros(self.shape, np.bool_), self.no_phases)
        if renewed and asked:
            kept, known = self.needed(state, asked)
        elif renewed:
            known = self.derived(state, self.everything)
            beyond = np.stack([known.units.L > known.units.U + CROSSED] * 2)
            reads = Reads(beyond | before(beyond), self.no_phases)
            kept = reads.ends & self.narrower(state.units, known.units)
        if asked:
            reads = self.reads(known.units, asked)
        self.items.want(reads._replace(ends=(reads.ends | before(kept)) & ~kept), sources)
        return self.bounds_node(kept, known)

    def asked(self, parts: tuple[Multipliers, ...]) -> list[PartMultipliers]:
        """The multipliers of a leaf, or of an end, as arrays."""
        peak, found = self.numbers.axes.peak, []
        for part, known in zip(parts, self.numbers.parts, strict=True):
            goal, slope, mu, share, changes = self.rough(part)
            given = np.zeros(self.shape[1:], np.bool_)
            given[tuple(np.array([*part.slopes], np.int64).reshape(-1, 2).T)] = True
            found.append(
                PartMultipliers(goal, given, slope, mu, share * peak, (changes, self.frame.most), known.C, known.than)
            )
        return found

    def rough(self, part: Multipliers) -> Rough:
        """Multipliers as arrays."""
        slope, mu, share = np.zeros(self.shape[1:]), np.zeros(self.shape[1:]), np.zeros(len(self.numbers.axes.peak))
        for place, value in part.slopes.items():
            slope[place] = float(value)
        for place, value in part.phases.items():
            mu[place] = float(value)
        for j, value in part.largest.items():
            share[j] = float(value)
        return Rough(goal_of(self.numbers, part), slope, mu, share, float(part.changes))

    def needed(self, state: State, asked: list[PartMultipliers]) -> tuple[Array, Derived]:
        """The ends that a leaf cannot do without, and its bounds with these alone."""
        every = self.derived(state, self.everything)
        kept = self.narrower(state.units, every.units, NARROWER)
        known = self.derived(state, kept)
        now, least = self.proved(state, known.units, asked), ROOM * (1 + float(self.claim or 0))
        if (now < least).any() or self.cancels(known.units, asked):
            # So little may be lost that floats do not see it: only what is not read is left out.
            used = self.reads(every.units, asked).ends
            return self.narrower(state.units, every.units) & (used | before(used)), every
        for _ in range(ROUNDS):
            ends = np.ascontiguousarray(np.argwhere(kept))  # in one layout, which is compiled for, however many
            room = (now - least)[:, None]
            lost = np.maximum(now[:, None] - self.alone(state, known.units, ends, asked), 0.0)
            order = np.argsort((lost / np.maximum(room, 1e-300)).max(axis=0), kind="stable")
            count = int((np.cumsum(lost[:, order], axis=1) <= room).all(axis=0).sum())
            while count:
                fewer = kept.copy()
                fewer[tuple(ends[order[:count]].T)] = False
                tried = self.derived(state, fewer)
                found = self.proved(state, tried.units, asked)
                if (found >= least).all():
                    kept, known, now = fewer, tried, found
                    break
                count //= 2
            if not count:
                break
        return kept & self.narrower(state.units, known.units), known  # without the others, some are as they were above

    def proved(self, state: State, units: Units, asked: list[PartMultipliers]) -> Array:
        """What each part's multipliers prove with these bounds, and with those at 0 that may be 0, less the claim."""
        into = np.empty(self.shape[1:])
        found = [self.least(state, known, asked, into) for known in self.ways(units)]
        worst: Array = np.min(found, axis=0) - float(self.claim or 0)
        return worst

    def ways(self, units: Units) -> list[Units]:
        """How a checker may see bounds: as they are, or with those at 0 that may be 0."""
        zeroed = at_zero(self.numbers.net, units)
        same = all(np.array_equal(one, other) for one, other in zip(units, zeroed, strict=True))
        return [units] if same else [zeroed, units]

    def least(self, state: State, units: Units, asked: list[PartMultipliers], weight: Array) -> list[float]:
        """What each part's multipliers prove with these bounds.

        weight: takes the coefficients (H, N) of hidden units, of the last part.
        """
        none = np.full(self.shape, -1.0)
        return [
            dual_bound(
                self.theta, NOWHERE, 0.0, part.goal, none, part.mu, part.share, part.changes, part.C, part.than,
                *self.arrays, plain(state.hull), as_read(units, part.given), part.slope, weight,
            )
            for part in asked
        ]  # fmt: skip

    def alone(self, state: State, units: Units, ends: Array, asked: list[PartMultipliers]) -> Array:
        """The same without each of some ends, shape (parts, ends)."""
        found = [
            without_each(
                ends, as_read(state.units, part.given), self.theta, part.goal, part.slope, part.mu, part.share,
                part.changes, part.C, part.than, *self.arrays, plain(state.hull), as_read(units, part.given),
            )
            for part in asked
        ]  # fmt: skip
        return np.array(found) - float(self.claim or 0)

    def cancels(self, units: Units, asked: list[PartMultipliers]) -> bool:
        """Whether any coefficient is a sum that cancels, so that a checker may see one of another sign than floats do.

        Without a bound of such a unit next to nothing is any number.
        """
        found = np.zeros(self.shape, np.bool_)
        return any(self.mark(known, part, found) for known in self.ways(units) for part in asked)

    def reads(self, units: Units, asked: list[PartMultipliers], end: End | None = None) -> Reads:
        """What a leaf's bound depends on, or an end that is narrowed."""
        found, phases = np.zeros(self.shape, np.bool_), self.no_phases
        for known in self.ways(units):
            for part in asked:
                self.mark(known, part, found, end)
                phases = phases | (part.mu > 0)
        return Reads(found, phases)

    def mark(self, units: Units, part: PartMultipliers, found: Array, end: End | None = None) -> bool:
        """Mark the ends that one part's multipliers depend on, in place; whether a unit is in doubt (`ends_read`)."""
        aim, way = NOWHERE if end is None else (end.layer, end.unit), 0.0 if end is None else 1.0 - 2.0 * end.end
        given = (part.goal, part.slope, part.mu, part.C)
        return bool(ends_read(aim, way, *given, self.sizes, self.arrays[1], as_read(units, part.given), found))


def as_read(units: Units, given: Array) -> Units:
    """The bounds as the rule reads them: a unit that is on and is given a slope counts as one that may be off."""
    return plain(units._replace(L=np.where(given & (units.L >= 0), -1e-300, units.L)))


def before(ends: Array) -> Array:
    """All ends of the layers before the last one of which there is an end: its bounds may depend on them."""
    found = np.zeros_like(ends)
    layers = np.flatnonzero(ends.any(axis=(0, 2)))
    if len(layers):
        found[:, : layers[-1]] = True
    return found
