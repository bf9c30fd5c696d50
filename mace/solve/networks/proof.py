"""Read a proof off a finished search: every leaf closes again, exactly, at the distance that is claimed.

In:  a `Search` whose tree is complete.    Out: the claimed distance and the preorder list of nodes.
Promise: a `Dual` is written only if `exact.py` shows its bound for the bounds of hidden units that a checker
derives at that place of the list, widened by more than a checker may widen them.
How: multipliers are rounded to as few bits as still close the leaf; bounds of hidden units are derived anew (`Bounds`)
only where a leaf needs it. A leaf that does not close is solved again at the final radius, and split if that fails.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from mace.base.deadline import Deadline, TimeOverError, now
from mace.base.exact import exact
from mace.problem.proof import Bounds, Dual, Leaf, Multipliers, Proof
from mace.solve.networks.kernels import NOWHERE, dual_bound, plain
from mace.solve.networks.model import FLOATS, Units, narrowed
from mace.solve.networks.multipliers import Rough, at_zero, packed, rounded
from mace.solve.networks.points import SMALLEST_GAP
from mace.solve.networks.tighten import applied
from mace.solve.protocol import ProvedBound

if TYPE_CHECKING:
    from mace.solve.networks.nodes import Node
    from mace.solve.networks.search import Search

BITS = (8, 16, 26, 38, 53)
ATTEMPTS = 4
WRITING = 0.5  # of the time that is left, for writing; a checker has to read the proof before the bound counts
WHOLE = 0.75  # of the time for writing, for the whole proof; then one of this part of the distance is tried
PART = Fraction(1, 2)
MOST = 0.9  # of the time for writing, for that one; then there is what the first relaxation showed
EXTRA = 1000  # nodes, for a proof at the distance itself
SURELY = 2  # times as long as a checker seems to take: a busy machine takes longer
SOON = 0.25  # of the time for a proof, and of the time left: what was kept last is read first if it takes less
LONG = 0.1  # seconds to write a proof, which then takes seconds to be read


class UnprovedError(Exception):
    """A leaf did not close at the distance claimed."""


def prove(search: Search) -> tuple[Fraction, Proof | None]:
    """The largest distance near the search's own that can be proved, and its proof.

    When the time is nearly over the distance is smaller, or 0 without any proof, and `search.why` says so.
    """
    until, began = search.deadline.share(WRITING), now()
    try:
        lower, proof = _whole(search, until.share(WHOLE))
    except TimeOverError:
        search.why = f"{search.deadline.why}, reached before the proof was written"
        return _prove_bound(search, search.distance * PART, until)
    search.spare = _spare(search, lower, now() - began, until)
    return lower, proof


def _spare(search: Search, lower: Fraction, seconds: float, until: Deadline) -> ProvedBound | None:
    """What is left of a bound if its proof, so long in writing, is not read in time: what was kept first, or a part.

    Of a long proof there is one in any case, that of the last ball: how long it is read is a guess.
    """
    left, spare = search.deadline.left(), search.spare
    if search.anywhere or left is None:
        return None
    part, shown = search.claim(lower * PART), search.claim(search.shown.lower)
    claims = [part] if search.read_in(seconds) >= left else []
    claims += [shown] if spare is None and seconds > LONG and shown > 0 else []
    for claim in claims:
        if spare is None or claim > spare.lower:
            with contextlib.suppress(UnprovedError, TimeOverError):
                spare = ProvedBound(claim, write(search, claim, until))
    kept = search.kept
    quick = search.writing < SOON * seconds and search.read_in(search.writing) < SOON * left
    return kept if spare is not None and kept.lower > spare.lower and quick else spare


def _whole(search: Search, until: Deadline) -> tuple[Fraction, Proof | None]:
    """`prove`, up to a deadline; raises TimeOverError."""
    while True:
        known = search.distance
        lower, proof = _attempt(search, until)
        # Splitting a leaf once more may have found a nearer point.
        if search.distance == known or lower >= search.distance:
            return lower, proof


def _attempt(search: Search, until: Deadline) -> tuple[Fraction, Proof | None]:
    """`prove`, at the distance that is known now."""
    if search.anywhere:
        try:
            return Fraction(0), write(search, None, until)
        except UnprovedError:
            return Fraction(0), None
    if search.best is None and search.radius is not None:
        q = min(search.distance, search.radius)
    else:
        q = search.distance - search.slack * Fraction(3, 4)
    if search.settled < q:
        q = search.claim(exact(search.settled))
    elif search.best is not None and search.radius is None and _stepped(search):
        proof = _exactly(search, until)
        if proof is not None:
            return search.distance, proof
    for attempt in range(ATTEMPTS):
        if q <= 0:
            break
        # Short numbers make short certificates; rounding down is sound.
        q = Fraction(math.floor(q * 2**48), 2**48) if search.best is not None or attempt else q
        try:
            return q, write(search, q, until)
        except UnprovedError:
            q -= (search.slack / 20 if attempt == 0 else q / 10**6) + Fraction(1, 2**47)
    return Fraction(0), [Leaf("distance")]


def _stepped(search: Search) -> bool:
    """Whether a proof at the distance itself may end: boxes come down to points, or distances are far enough apart."""
    return search.unit is not None or not any(search.numbers.axes.kind == FLOATS)


def _exactly(search: Search, until: Deadline) -> Proof | None:
    """The proof that nothing is closer than the point found, where every feature has steps; None if it is too long.

    Boxes of such features can be split until each is beyond the distance or has no point with the goal. Who is content
    with a gap does not wait for a proof that is far longer than the search was.
    """
    content = search.slack > SMALLEST_GAP  # the least gap is nobody's wish: then the distance itself is wanted
    settled, search.exactly = search.settled, True
    try:
        return write(search, search.distance, until.share(1 / 3), 2 * search.count + (0 if content else EXTRA))
    except (UnprovedError, TimeOverError):
        search.settled = settled
        return None
    finally:
        search.exactly = False


def prove_bound(search: Search, q: Fraction) -> tuple[Fraction, Proof | None]:
    """The proof of a bound below the optimum, from a search that a limit has ended: of q, of a part of it, or of 0.

    Where only just as much time is left as a checker takes for what was kept, nothing more is written.
    """
    left, needs = search.deadline.left(), SURELY * search.read_in(search.writing)
    if search.kept.proof is not None and left is not None and left * (1 - WRITING) < needs:
        return search.kept
    return _prove_bound(search, q, search.deadline.share(WRITING))


def _prove_bound(search: Search, q: Fraction, last: Deadline) -> tuple[Fraction, Proof | None]:
    """`prove_bound`, up to a deadline; then it is what was kept."""
    if search.anywhere:
        return Fraction(0), None
    tried = ((q, last.share(WHOLE)), (q * PART, last.share(MOST)), (search.shown.lower, last))
    for shown, until in tried:
        claim = search.claim(shown)
        if claim <= search.kept.lower:
            continue
        began = now()
        try:
            proof = write(search, claim, until)
        except (UnprovedError, TimeOverError):
            continue
        seconds = now() - began
        if _readable(search, seconds):
            search.spare = _spare(search, claim, seconds, last)
            return claim, proof
    return search.kept


def keep(search: Search) -> None:
    """Prove what an unfinished search has shown so far: where a limit ends it, there is that much, with its proof."""
    if search.anywhere or search.deadline.left() is None:
        return
    if search.spare is None and search.root is not None:
        _keep(search, search.claim(search.shown.lower or search.beneath(search.root.bound)))
        search.spare = search.kept if search.kept.proof else None
    for shown in (search.lower(), search.shown.lower):
        claim = search.claim(shown)
        if claim > search.kept.lower:
            _keep(search, claim)


def _keep(search: Search, claim: Fraction) -> None:
    """Keep a claim with its proof, if that is written and read in time; there is less time for it later on."""
    if claim in search.dismissed:
        return
    # The tree of what has been shown is none that the search goes on with: where a leaf does not close, it may grow.
    grow, heap, began = search.root_for(claim) is not search.root, search.heap, now()
    search.heap = []
    with contextlib.suppress(UnprovedError, TimeOverError):
        proof = write(search, claim, search.searching, grow=grow)
        seconds = now() - began
        if _readable(search, seconds):
            search.kept, search.writing = search.kept._replace(lower=claim, proof=proof), seconds
        else:
            search.dismissed.add(claim)
    search.heap = heap


def _readable(search: Search, seconds: float) -> bool:
    """Whether a proof that took so long to write is read in time, or there is none that would be read sooner."""
    left = search.deadline.left()
    return search.kept.proof is None or left is None or search.read_in(seconds) < left


def write(search: Search, q: Fraction | None, until: Deadline, most: int = 1_000_000, *, grow: bool = True) -> Proof:
    """The proof at distance q (None: that no point has the goal), of at most so many nodes.

    grow: split leaves that do not close; if not, the tree stays as it is, for a search that goes on.
    Raises UnprovedError, and TimeOverError at the deadline `until`.
    """
    proof: Proof = []
    top = search.root_for(q)
    first = search.first_node()
    root = Units(np.full_like(first.units.L, -1e300), np.full_like(first.units.U, 1e300), first.units.phase)
    renew(search, first, q, root)
    stack = [(top, root)]
    # Invariant: `proof`, followed by the trees of the stack from the top, is a proof of the whole box.
    while stack:
        until.look("writing the proof")
        node, units = stack.pop()
        # Closing a node may narrow what it knows to the ball of radius q: too much for a search that goes on.
        held = node if grow else node.copy()
        if node.tight and q is not None:
            units = Units(*map(np.copy, units))
            if node is not top:  # whose bounds are derived above
                renew(search, held, q, units)
                proof.append(Bounds())
            said = applied(search, (first if node is top else held).hull, units, node.tight, q)
            proof += said.nodes
            stack += [(replace(node, closed="empty", tight=None), units)] * said.after
            if not said.left:
                continue
        leaf = closed(search, held, q, units)
        if leaf is not None:
            proof += leaf
            continue
        if not grow and not node.children:
            raise UnprovedError
        if not node.children:
            search.expand(node)
            if node.closed == "avoid":  # a single point, that the deployed model refused
                proof.append(Leaf("avoid", node.number))
                continue
            if not node.children:
                raise UnprovedError
        assert node.split is not None
        proof.append(node.split)
        kept = [narrowed(units, node.split, side) for side in (0, 1)]
        stack += reversed(list(zip(node.children, kept, strict=True)))
        if len(proof) > most:
            raise UnprovedError
    return proof


def renew(search: Search, node: Node, q: Fraction | None, units: Units) -> bool:
    """Derive the bounds of hidden units for a node's cut box, in place; False if it has no point."""
    if q is None:
        return search.derive(node, -1.0, units)
    return search.cut_exactly(node, q) and search.derive(node, float(q) * (1 + 1e-12), units)


def closed(search: Search, node: Node, q: Fraction | None, units: Units) -> Proof | None:
    """The nodes that close a leaf, or None if it has to be split (or has children already)."""
    if node.closed in ("empty", "avoid", "rule", "changes"):
        return [Leaf(node.closed, node.number)]  # type: ignore[arg-type]
    if node.children and (q is None or not search.refutes(exact(node.bound), q)):
        return None
    if q is not None:
        least = search.exact.least_distance(node.box)
        if least is None:
            return [Leaf("empty")]
        if least >= q:
            return [Leaf("distance")]
    if node.duals:
        dual = short(search, node, q, units)
        if dual is not None:
            return [dual]
    if node.children:
        return None
    units = Units(*map(np.copy, units))
    if q is not None and search.exact.cut(node.box, q) is None:
        return [Bounds(), Leaf("empty")]
    if not renew(search, node, q, units) or bool((units.L > units.U + 1e-9).any()):
        return [Bounds(), Leaf("empty")]
    if node.duals:
        dual = short(search, node, q, units)
        if dual is not None:
            return [Bounds(), dual]
    node.units = units
    node.duals = {k: search.solve(node, part) for k, part in enumerate(search.numbers.parts)}
    weakest = min(node.duals.values(), key=lambda found: found.bound)
    node.point, node.loss, node.scores = weakest.point, weakest.loss, weakest.scores
    dual = short(search, node, q, units)
    return [Bounds(), dual] if dual is not None else None


def short(search: Search, node: Node, q: Fraction | None, units: Units) -> Dual | None:
    """The node's multipliers with as few bits as close it, or None if they do not."""
    parts = []
    for k in range(len(search.numbers.parts)):
        found = one_part(search, node, k, q, units)
        if found is None:
            return None
        parts.append(found)
    return Dual(tuple(parts))


def one_part(search: Search, node: Node, k: int, q: Fraction | None, units: Units) -> Multipliers | None:
    n, part = search.numbers, search.numbers.parts[k]
    want = 0.0 if q is None else search.enough(q)
    weight, none = np.zeros_like(units.L), np.full((2, *units.L.shape), -1.0)
    for bits in BITS:
        dual = node.duals[k]
        goal, slope, mu, share = (rounded(values, bits) for values in (dual.goal, dual.slope, dual.mu, dual.share))
        changes = float(rounded(np.array(dual.changes), bits))
        value = dual_bound(
            0.0 if q is None else 1.0, NOWHERE, 0.0, goal, none, mu, share * n.axes.peak, (changes, search.most),
            part.C, part.than,
            *search.arrays, plain(node.hull), plain(units), slope.copy(), weight,
        )  # fmt: skip
        if value < want + 1e-14:
            continue
        multipliers = packed(n, Rough(goal, slope, mu, share, changes), units)
        zeroed = at_zero(n.net, units)
        same = all(np.array_equal(one, other) for one, other in zip(units, zeroed, strict=True))
        if all(closes(search, node, k, multipliers, q, known) for known in ([units] if same else [units, zeroed])):
            return multipliers
    return None


def closes(search: Search, node: Node, k: int, multipliers: Multipliers, q: Fraction | None, units: Units) -> bool:
    """Whether multipliers close a node, exactly, with these bounds of the hidden units."""
    bound = search.exact.bound(k, multipliers, node.box, units.phase, units.L, units.U, q)
    return bound is None or (search.refutes(bound, q) if q is not None else bound > 0)
