"""Multipliers of networks: what they prove is what the linear program of their node says, and that exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from mace.certify.networks import as_read
from mace.solve.networks.kernels import NOWHERE, dual_bound, ends_read, plain
from mace.solve.networks.model import Units
from mace.solve.networks.multipliers import Rough, packed
from mace.solve.networks.program import program
from mace.solve.networks.search import Search
from mace.solve.networks.simplex import OPTIMAL
from mace.solve.protocol import Gap, Limits
from mace.solve.witnesses import Witnesses
from tests.oracles.test_networks import drawn


@pytest.mark.parametrize("spec", ["l1", "linf"])
def test_multipliers_prove_what_the_linear_program_of_a_node_says_whatever_its_units_are_narrowed_to(spec: str) -> None:
    rng, beyond, compared = np.random.default_rng(7), 0, 0
    for seed in range(12):
        search = Search(Witnesses(drawn((8, 8), seed, spec)), Gap(), Limits(), None, False)
        node, (part, *_) = search.first_node(), search.numbers.parts
        search.derive(node, -1.0, node.units)
        low, high, _ = node.units
        width = high - low
        unsettled = (low < 0) & (high > 0)
        low[unsettled] = np.minimum(low + rng.random(low.shape) * width / 2, -1e-3 * width)[unsettled]
        high[unsettled] = np.maximum(high - rng.random(low.shape) * width / 2, 1e-3 * width)[unsettled]
        arrays = search.arrays, (plain(node.hull), plain(node.units))
        made = program(part.C, part.than, *arrays[0], *arrays[1], True, -1.0, search.most)
        ends = [(0.0, end if end < 1e290 else None) for end in made.top]
        known = linprog(made.cost, made.T, made.b, bounds=ends)
        found = search.solve(node, part)
        if known.status != 0 or found.status != OPTIMAL:
            continue
        assert found.bound == pytest.approx(known.fun + made.start, rel=1e-5, abs=1e-6)
        rough = Rough(found.goal, found.slope, found.mu, found.share, found.changes)
        packed_ones = packed(search.numbers, rough, node.units)
        proved = search.exact.bound(0, packed_ones, node.box, node.units.phase, low, high, search.widest * 2)
        assert proved is None or float(proved) == pytest.approx(found.bound, rel=1e-5, abs=1e-6)
        compared += 1
        beyond += int((found.slope < 0).any())
    assert compared > 6 and beyond > 0


@pytest.mark.parametrize("aimed", [False, True])
def test_ends_that_are_not_read_may_be_as_wide_as_they_like(aimed: bool) -> None:
    rng, read, unread = np.random.default_rng(3), 0, 0
    for seed in range(30):
        search = Search(Witnesses(drawn((8, 8), seed, "l1")), Gap(), Limits(), None, False)
        node, (part, *_), net = search.first_node(), search.numbers.parts, search.numbers.net
        low, high, phase = node.units
        middle, width = rng.normal(size=low.shape) * 2, rng.random(low.shape) * 3
        low[:], high[:] = middle - width, middle + width
        aim, way = (
            ((int(rng.integers(2)), int(rng.integers(8))), float(rng.choice([1, -1]))) if aimed else (NOWHERE, 0.0)
        )
        slope = rng.choice([-0.5, 0.0, 0.0, 0.3, 1.0, 1.0, 1.5], low.shape)
        mu, given = np.where(rng.random(low.shape) < 0.2, 1.0, 0.0), slope != 0.0
        phase[:] = np.where(mu > 0, rng.choice([-1, 1], low.shape), 0)
        goal, found = rng.random(len(part.than)), np.zeros((2, *low.shape), np.bool_)
        sizes = np.abs(net.W)
        low[0, 0] = high[0, 0] = 0.0  # off, and on as soon as its upper end goes
        seen = plain(as_read(node.units, given))
        assert not ends_read(aim, way, goal, slope, mu, part.C, sizes, search.arrays[1], seen, found)
        wider = Units(np.where(found[0], low, low - 50.0), np.where(found[1], high, high + 50.0), phase)
        bounds = [
            dual_bound(
                1.0, aim, way, goal, np.full((2, *low.shape), -1.0), mu, np.zeros(len(net.W0)), (0.0, search.most),
                part.C, part.than, *search.arrays, plain(node.hull),
                plain(as_read(units, given)), slope.copy(), np.zeros(low.shape),
            )
            for units in (node.units, wider)
        ]  # fmt: skip
        assert bounds[0] == pytest.approx(bounds[1], rel=1e-12)
        read, unread = read + int(found.sum()), unread + int((~found).sum())
    assert read > 100 and unread > 100
