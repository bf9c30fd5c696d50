"""What makes the bound of a box better than its relaxation: clique cuts, and reduced-cost fixing of cells.

In:  the relaxations of the parts of a goal; a box with its prices; a function that improves prices for a smaller box.
Out: `Tightening.join_cliques`, before the first box is divided; `Tightening.narrow`, of every box that stays open.
Promise: no point of a box that has the goal, nearer than the best one known, is lost.

They help each other. Cliques forbid mixtures of leaves of several trees that no point reaches, which raises the bound;
and the nearer the bound comes to the limit, the more cells have a reduced cost that exceeds what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from mace.solve.ensembles.arrays.cells import Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.cliques import Finder
from mace.solve.ensembles.relaxation.frame import Active
from mace.solve.ensembles.relaxation.priced import Host, Narrowing, Part, PricedNode
from mace.solve.ensembles.relaxation.relaxation import Effort, Exact, Relaxation

TURNS, JOINED = 16, Effort(rounds=100, step=0.1)  # of looking for cliques, and what is spent on the bound with new ones
LEAVES, AT_MOST = 1e4, 0.25  # so many a second are looked at, about; the part of the time left that this may take,
MOST_ROOM = 0.1  # and the part of the memory
SHORT = 12, 2e-4  # digits of prices that narrow, and the part of the limit below which they are dropped
WORTH, AGAIN = 0.95, Effort(rounds=200)  # a box is narrowed to no more than this part of its leaves, and climbed again

Better = Callable[[Iterable[Part], list[Active], Effort], tuple[Part, ...]]


class Tightening:
    """For one branch and bound. better: of prices of each part of the goal for what a box leaves open of it."""

    def __init__(self, grounded: Grounded, relaxations: list[Relaxation], host: Host, better: Better) -> None:
        self.grounded, self.relaxations, self.host, self.better = grounded, relaxations, host, better

    def join_cliques(self, root: PricedNode) -> None:
        """Turn by turn add cliques that the shares of leaves break, and solve the relaxation again."""
        limit, first = self.host.limit, self.relaxations[0]
        opened = [relaxation.open(root.low, root.high, limit) for relaxation in self.relaxations]
        leaf = opened[0].leaf
        left, room = self.host.deadline.left(), MOST_ROOM * self.host.room
        if len(leaf) ** 2 > 8 * room or (left is not None and len(leaf) > LEAVES * AT_MOST * left):
            return
        if any(len(part.climbed.leaves) != len(leaf) for part in root.parts):  # a nearer point was found since
            root.parts = self.better(root.parts, opened, AGAIN)
        finder = Finder(first.leaves.of(leaf), self.grounded.ground.grid)
        for _ in range(TURNS):
            if root.key >= limit or self.host.deadline.over:
                return
            broken = [part.climbed.leaves for part in root.parts if part.key < limit]
            new = [leaf[clique] for shares in broken for clique in finder.found(shares)]
            if not new:
                return
            for relaxation in self.relaxations:
                relaxation.add(new)
            pairs = zip(self.relaxations, root.parts, strict=True)
            opened = [one.open(root.low, root.high, limit, paid=part.climbed.prices) for one, part in pairs]
            root.parts = self.better(root.parts, opened, JOINED)

    def narrow(self, node: PricedNode, opened: list[Active]) -> None:
        """Take from a box what its prices prove to be too far, if that is much, and find better ones for the rest.

        opened: what a box around it left open of each part of the goal.
        """
        if node.key >= self.host.limit or self.host.deadline.over:
            return
        limit, relaxations = self.host.limit, self.relaxations
        triples = zip(relaxations, node.parts, opened, strict=True)
        before = [one.open(node.low, node.high, limit, above, part.climbed.prices) for one, part, above in triples]
        triples = zip(relaxations, node.parts, before, strict=True)
        exact = tuple(narrowing_prices(*triple, limit) for triple in triples)
        low, high = self._kept(node, exact, before)
        after = [one.open(low, high, limit, above) for one, above in zip(relaxations, before, strict=True)]
        if sum(len(one.leaf) for one in after) > WORTH * sum(len(one.leaf) for one in before):
            return  # what it saves is not worth its prices in a certificate
        node.narrowing = Narrowing(node.low, node.high, exact)
        node.low, node.high, node.near = low, high, self.host.key_of(low, high)
        node.parts = self.better(node.parts, after, AGAIN)

    def _kept(self, node: PricedNode, exact: tuple[Exact, ...], opened: list[Active]) -> tuple[Array, Array]:
        """The box of all that the prices of some part of the goal leave."""
        limit, whole, found = self.host.limit, self.grounded.width == 0, list[tuple[Array, Array]]()
        for relaxation, part, prices, active in zip(self.relaxations, node.parts, exact, opened, strict=True):
            if part.key < limit:
                enough = relaxation.enough(limit, whole)
                found.append(relaxation.narrow(prices, active, node.low, node.high, enough))
        lows, highs = (np.array(side) for side in zip(*found, strict=True))
        masks = np.bitwise_or.reduce(lows)
        return np.where(self.grounded.ground.grid, lows.min(axis=0), masks), highs.max(axis=0)


def narrowing_prices(relaxation: Relaxation, part: Part, active: Active, limit: int) -> Exact:
    """The prices of a part of the goal by which a box is narrowed.

    active: what the box leaves open, without cliques that hardly have a price. These count for nothing here, nor where
    this is written. A part that is closed takes no cells, but has to stay closed there: it keeps all that closes it.
    """
    return part.exact if part.key >= limit else relaxation.coarser(part.exact.within(active), *SHORT)
