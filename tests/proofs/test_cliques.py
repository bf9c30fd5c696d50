"""Cliques of leaves, their prices, and axes that are narrowed by prices, against all points of small statements."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.proofs.check import check
from mace.proofs.kernel.cliques import cliques
from mace.proofs.kernel.ensembles import Reach
from mace.proofs.kernel.floats import Refused
from mace.proofs.kernel.prices import Prices, narrow
from mace.proofs.kernel.proof import RULES, Check
from mace.proofs.kernel.state import State
from mace.proofs.reader import Unusable, bounded
from tests.proofs import enumeration
from tests.proofs.by_hand import AT_3, GOAL, two
from tests.proofs.clique_vectors import CLIQUES, NARROWED
from tests.proofs.enumeration import true
from tests.proofs.test_parts import SEEDS, each, far, leaf, state_of


def steps(numbers: Any) -> list[int]:
    """Numbers in order, each by what it exceeds the one before by."""
    found = sorted(numbers)
    return [n - before for before, n in itertools.pairwise([0, *found])]


def leaves(problem: Check) -> list[tuple[int, int, int]]:
    """The leaves that the root reaches: tree, node, and number through all trees."""
    reach, first, found = problem.model, 0, []
    for t, tree in enumerate(reach.model.trees):
        found += [(t, n, first + n) for n in reach.leaves[t]]
        first += len(tree.test)
    return found


def come_to(problem: Check, points: Any) -> list[frozenset[tuple[int, int]]]:
    """Which leaves each point reaches."""
    reach, row = problem.model, problem.statement.row
    return [frozenset((t, leaf(reach.model, t, row(p))) for t in range(len(reach.leaves))) for p in points]


def with_cliques(problem: Check, state: State, rng: np.random.Generator) -> tuple[State, list[list[int]]]:
    """A state with some cliques, and their leaves' numbers: each as large as the kernel lets it grow."""
    found: list[list[int]] = []
    for _ in range(4):
        clique: list[int] = []
        for _, _, number in rng.permutation(leaves(problem)):
            try:
                cliques(problem.model, state, steps([*clique, int(number)]))
            except Refused:
                continue
            clique.append(int(number))
        found.append(sorted(clique))
    return cliques(problem.model, state, *map(steps, found)), found


@pytest.mark.parametrize("seed", SEEDS)
def test_two_leaves_are_apart_where_no_point_of_the_box_reaches_both(seed: int) -> None:
    for _, problem, box, points in each("ensemble", seed):
        reach = problem.model
        assert isinstance(reach, Reach)
        state, reached = state_of(problem, box), come_to(problem, points)
        known = [all(test < 0 or reach.sides[test] is not None for test in tree.test) for tree in reach.model.trees]
        for (t, n, one), (u, m, other) in itertools.combinations(leaves(problem), 2):
            both = any({(t, n), (u, m)} <= found for found in reached)
            try:
                cliques(reach, state, steps([one, other]))
            except Refused:
                # Without a cut a box is larger than what points of it reach.
                assert both or not (known[t] and known[u])
            else:
                assert not both


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_with_prices_of_cliques_lie_below_the_points_they_are_about(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for data, problem, box, points in each("ensemble", seed):
        statement, reach = problem.statement, problem.model
        assert isinstance(reach, Reach)
        state, found = with_cliques(problem, state_of(problem, box), rng)
        numbers = {number: (t, n) for t, n, number in leaves(problem)}
        reached = come_to(problem, points)
        assert all(len(of & {numbers[n] for n in clique}) <= 1 for of in reached for clique in found)
        near = against(data, problem, points)
        for _ in range(4):
            part, places = drawn(problem, state, rng)
            bounds = Prices(reach, part, 0, state.cliques).bounds(state, places)
            assert bounds or not near
            for p in near:
                distance = Fraction(0) if statement.claim is None else far(data, p)
                assert distance >= bounds[0]
                for (j, spans), bound in zip(places, bounds[1:], strict=True):
                    if any(statement.axes[j].has(span, p[j]) for span in spans):
                        assert distance >= bound


def against(data: Any, problem: Check, points: Any) -> list[tuple[int, ...]]:
    """The points that have the goal, and are nearer than the claim."""
    claim = problem.statement.claim
    return [p for p in points if (claim is None or far(data, p) < claim) and enumeration.has_goal(data, p)]


def drawn(problem: Check, state: State, rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """Prices of nodes and of cliques, and on each axis some spans of the box."""
    nodes = [
        [t, n, int(rng.integers(4))]
        for t, tree in enumerate(problem.model.model.trees)
        for n in range(1, len(tree.test))
        if rng.random() < 0.5 and problem.model.sides[tree.test[parent(tree, n)]] is not None
    ]
    chosen = [k for k in range(len(state.cliques)) if rng.random() < 0.7]
    part = {
        "goal": [str(rng.choice(["0", "1/3", "1", "2", "4"]))],
        "largest": [[0, "1/2"]] if rng.random() < 0.3 else [],
        "unit": str(rng.choice(["1/4", "1/3", "1"])),
        "prices": nodes,
        "cliques": {"numbers": steps(chosen), "units": [int(rng.integers(4)) for _ in chosen]},
    }
    places: list[Any] = []
    for j, axis in enumerate(problem.statement.axes):
        span = state.box[j]
        if axis.is_grid:
            low, high = (int(rng.integers(span[0], span[1] + 1)) for _ in range(2))
            places.append((j, [(min(low, high), max(low, high)), (low, low)]))
        else:
            places.append((j, [span & int(rng.integers(1, 1 << axis.count)) or span]))
    return part, places


def parent(tree: Any, n: int) -> int:
    """The node whose child a node is."""
    return next(k for k in range(len(tree.test)) if tree.test[k] >= 0 and n in (tree.left[k], tree.right[k]))


def test_what_is_narrowed_keeps_all_points_against_the_claim() -> None:
    outcomes = Counter[str]()
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for data, problem, box, points in each("ensemble", seed):
            statement = problem.statement
            state, _ = with_cliques(problem, state_of(problem, box), rng)
            near = against(data, problem, points)
            for _ in range(8):
                part, places = drawn(problem, state, rng)
                kept = [[j, [*spans[0]] if statement.axes[j].is_grid else spans[0]] for j, spans in places]
                try:
                    child = narrow(problem.model, state, [entry for entry in kept if rng.random() < 0.5], part)
                except Refused:
                    outcomes["refused"] += 1
                    continue
                outcomes["narrowed" if child.box != state.box else "the same"] += 1
                assert not (child.empty and near)
                for p in near:
                    assert all(axis.has(span, i) for axis, span, i in zip(statement.axes, child.box, p, strict=True))
    assert min(outcomes[said] for said in ("refused", "narrowed", "the same")) > 100, outcomes


@pytest.mark.parametrize(
    "name",
    [name for name, data in {**CLIQUES, **NARROWED}.items() if check(data).accepted and type(data["proof"]) is list],
)
def test_a_proof_of_format_1_may_have_them(name: str) -> None:
    """Not by the format, but the provers' own proofs are elaborated by the same code."""
    data = {**CLIQUES, **NARROWED}[name]
    if not {node[0] for node in data["proof"]} <= RULES.keys() - {"prune", "near"} or None in data["cuts"]:
        return
    short = [node[:1] if node[0] in ("trees", "cell") else node for node in data["proof"]]
    made = {**{field: found for field, found in data.items() if field != "cuts"}, "mace_certificate": 1, "proof": short}
    verdict = check(made)
    assert verdict.accepted, verdict.reason
    assert true(made)


def test_cliques_that_open_states_keep_are_limited() -> None:
    clique: list[Any] = ["cliques", *([[]] * 1000)]
    one = [clique, *(["split", 0, -1] for _ in range(60_000))]
    bounded(two(AT_3, GOAL, None, one, [3]))
    many = [node for _ in range(8) for node in (clique, *(["split", 0, -1] for _ in range(7_500)))]
    with pytest.raises(Unusable, match="keeps open"):
        bounded(two(AT_3, GOAL, None, many, [3]))
