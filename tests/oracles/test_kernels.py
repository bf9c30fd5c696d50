"""The compiled kernels one by one, against what is computed without them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.base.deadline import NEVER
from mace.problem.distance import norm
from mace.problem.question import Question
from mace.solve.ensembles.arrays import sweeping, walk
from mace.solve.ensembles.arrays.cells import Grounded, ground
from mace.solve.ensembles.boxes import inherited
from mace.solve.ensembles.points import balls, greedy
from mace.solve.ensembles.relaxation import ascent
from mace.solve.ensembles.relaxation.frame import Active, RelaxationArrays, on_side, paid_by, rows_with_price
from mace.solve.ensembles.relaxation.relaxation import Relaxation
from mace.solve.ensembles.shortening import pruning
from mace.solve.networks.kernels import knapsack
from mace.tables.table import Ensemble
from tests.clocks import Hand
from tests.oracles.small_ensembles import points_of, random_question

NO_LIMIT = 2**62


def grounded(seed: int) -> tuple[Question, Grounded]:
    question = random_question(seed)
    return question, ground(question)


def cells_of(question: Question, made: Grounded) -> list[np.ndarray]:
    """The cells of every allowed point, each once."""
    return [np.array(cells) for cells in dict.fromkeys(tuple(made.cells(p).tolist()) for p in points_of(question))]


def whole(made: Grounded) -> walk.Box:
    box = walk.new_box(len(made.axes))
    box.low[:], box.high[:] = made.ground.low, made.ground.high
    walk.measure(made.ground, box)
    return box


@pytest.mark.parametrize("seed", range(20))
def test_a_leaf_by_cells_is_the_leaf_of_the_row(seed: int) -> None:
    question, made = grounded(seed)
    assert isinstance(question.model, Ensemble)
    for point in points_of(question)[:40]:
        row, cells = question.row(point), made.cells(point)
        for tree, root in zip(question.model.trees, made.forest.roots.tolist(), strict=True):
            reached = walk.leaf_of(made.ground, made.forest, root, cells)
            assert reached - root == question.model.leaf(tree, row)


@pytest.mark.parametrize("seed", range(2970, 3000))
def test_leaves_are_chosen_to_go_so_that_what_the_others_add_stays_below_the_room_that_is_left(seed: int) -> None:
    rng = np.random.default_rng(seed)
    trees, most = int(rng.integers(1, 6)), int(rng.integers(2, 40))
    first = np.concatenate([[0], np.cumsum(rng.integers(1, most, trees) + 1)])
    gain = np.concatenate([np.sort(rng.integers(0, 30, end - begin))[::-1] for begin, end in itertools.pairwise(first)])
    front = first[:-1] + rng.integers(0, np.diff(first))
    events = []
    for t, (begin, place) in enumerate(zip(first[:-1], front, strict=True)):
        ends = np.unique(np.append(rng.integers(begin, place + 1, 3), place))
        written = int(rng.integers(begin, place + 1))  # all before it went earlier
        for began, ended in itertools.pairwise([begin, *ends[ends > begin]]):
            events.append([len(ends), 0, t, began, ended, min(max(began, written), ended), len(events) - 1])
    noted, last = np.array(events, np.int64).reshape(-1, 7), len(events) - 1
    base = pruning.unwritten(noted, last, front)
    stays = int((gain[base] - gain[front]).sum())
    lists = pruning.Lists(np.arange(len(gain))[None], gain[None].astype(np.int64), np.zeros((1, trees), np.int64))
    for room in {1, stays // 3 + 1, stays, stays + 1}:
        upto = pruning.chosen(lists, noted, last, 1.0 / (1 + rng.integers(0, 9, 10)), 0, room, front)
        assert (base <= upto).all() and (upto <= front).all()
        assert (gain[upto] - gain[front]).sum() < max(room, 1)
        assert room <= stays or (upto == base).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_best_leaf_within_a_limit_is_found_and_the_box_is_left_as_it_was(seed: int) -> None:
    question, made = grounded(seed)
    box, stack = whole(made), walk.new_stack(made.depth)
    every = cells_of(question, made)
    costs = [int(greedy.cost_of(made.ground, cells)) for cells in every]
    for limit in {NO_LIMIT, int(np.median(costs)) + 1, max(costs)}:
        before = [array.copy() for array in box]
        for root, gain in itertools.product(made.forest.roots.tolist(), made.forest.gain):
            near = walk.leaf_of(made.ground, made.forest, root, box.near)
            found = walk.best_leaf(made.ground, made.forest, gain, root, box, limit, near, stack)
            within = [cells for cells, cost in zip(every, costs, strict=True) if cost < limit]
            gains = [gain[walk.leaf_of(made.ground, made.forest, root, cells)] for cells in within]
            assert gain[found] >= max([*gains, gain[near]])  # what it leaves out is dearer; what it finds may be too
            if limit == NO_LIMIT:
                assert gain[found] == max(gains)
        assert all(np.array_equal(one, other) for one, other in zip(before, box, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_a_forest_cut_to_a_ball_has_the_same_leaves_inside(seed: int) -> None:
    question, made = grounded(seed)
    every = cells_of(question, made)
    costs = [int(greedy.cost_of(made.ground, cells)) for cells in every]
    limit = int(np.median(costs)) + 1
    small = walk.shrink(made.ground, made.forest, whole(made), limit, walk.new_stack(made.depth))
    for cells, cost in zip(every, costs, strict=True):
        for one, other in zip(made.forest.roots.tolist(), small.roots.tolist(), strict=True):
            if cost < limit:
                reached = walk.leaf_of(made.ground, small, other, cells)
                assert small.leaf[reached] == walk.leaf_of(made.ground, made.forest, one, cells)


@pytest.mark.parametrize("seed", range(10))
def test_interpreted_code_asks_compiled_code_for_types_that_it_has(seed: int) -> None:
    # Half a second of a question is interpreted; then whatever is called next is compiled for what it is given.
    _, made = grounded(seed)
    sides, box = inherited.sides_above(made.ground, made.forest), whole(made)
    for leaf, axis in itertools.product(np.flatnonzero(made.forest.test[:, 0] < 0), range(len(made.axes))):
        before = box.low[axis], box.high[axis]
        levels = not made.ground.grid[axis]
        box.low[axis], box.high[axis] = (before[0] if levels else before[1]), before[1]
        walk.measure(made.ground, box)
        given = made.ground, sides, int(leaf), box, NO_LIMIT
        assert inherited.reached.py_func(*given) == inherited.reached(*given)  # type: ignore[attr-defined]
        box.low[axis], box.high[axis] = before
        walk.measure(made.ground, box)


@pytest.mark.parametrize("seed", range(10))
def test_leaves_inherited_across_a_cut_are_as_good_as_those_walked_to(seed: int) -> None:
    _, made = grounded(seed)
    every, stack, limit = made.ground, walk.new_stack(made.depth), NO_LIMIT
    forest = walk.shrink(every, made.forest, whole(made), limit, stack)
    kept, gain = inherited.new_inherited(every, forest), forest.gain[0]
    roots, near = forest.roots.tolist(), np.zeros(len(forest.roots), np.int64)

    def walked(box: walk.Box) -> tuple[list[int], list[int]]:
        near = [walk.leaf_of(every, forest, root, box.near) for root in roots]
        pairs = zip(roots, near, strict=True)
        return near, [walk.best_leaf(every, forest, gain, root, box, limit, one, stack) for root, one in pairs]

    box = whole(made)
    leaves = [np.array(one, np.int64) for one in walked(box)]
    inherited.leave(kept, 2, 0, 0, 1, np.zeros(1, np.int64), leaves[0], leaves[1][None, :])
    place = inherited.place_of(kept, 2)
    assert place >= 0 > inherited.place_of(kept, 1)
    for axis in range(len(made.axes)):
        if not every.grid[axis] or box.low[axis] == box.high[axis]:
            continue
        for side in ("low", "high"):
            far = whole(made)
            getattr(far, side)[axis] += 1 if side == "low" else -1
            walk.measure(every, far)
            there, reached = walked(far)
            inherited.near_again(every, forest, far, kept, place, axis, near)
            assert near.tolist() == there
            wanted = int(gain[reached].sum())
            for need in (-NO_LIMIT, wanted, wanted + 1):
                best = np.zeros(len(roots), np.int64)
                inherited.best_again(every, forest, gain, need, far, limit, kept, place, 0, axis, near, best, stack)
                total = int(gain[best].sum())
                assert total == wanted if need <= wanted else wanted <= total


@pytest.mark.parametrize("seed", range(20))
def test_a_sweep_gives_the_sums_of_every_cell_of_an_axis_below_a_limit(seed: int) -> None:
    _, made = grounded(seed)
    every, forest = made.ground, made.forest
    box = whole(made)
    room = sweeping.room(made)
    sweeping.follow(every, forest, made.aim, 0, box.near, room)
    for axis in range(len(made.axes)):
        count = int(every.high[axis]) + 1 if every.grid[axis] else every.order.shape[1]
        cells = [cell for cell in range(count) if greedy.allowed(every, axis, cell)]
        costs = {cell: int(sum(sweeping.cost(every, axis, cell))) for cell in cells}
        for limit in (NO_LIMIT, *sorted(set(costs.values()))[1::3]):
            swept = sweeping.sweep(every, forest, made.aim, 0, box.near, axis, limit, room)
            for cell in cells:
                if not swept.first <= cell < swept.end:
                    assert costs[cell] >= limit
                    continue
                point = box.near.copy()
                point[axis] = cell
                leaves = [walk.leaf_of(every, forest, root, point) for root in forest.roots.tolist()]
                for place in range(made.aim.begin[1]):
                    assert room.total[place, cell] == forest.gain[made.aim.part_of[place], leaves].sum()


@pytest.mark.parametrize("seed", range(60))
def test_a_point_found_in_balls_has_the_goal_and_lies_no_farther_than_the_one_given(seed: int) -> None:
    question = random_question(seed)
    question = replace(question, distance=norm("linf", len(question.axes)), avoid=(), most_changes=None)
    made = ground(question)
    assert balls.sums_nothing(made.ground)
    having = [point for point in points_of(question) if question.has_goal(point)]
    found = balls.in_balls(made, np.zeros(0, np.int64), NEVER)
    assert found is None or question.has_goal(made.point(found)) is not False
    for given in having[:: max(1, len(having) // 5)]:
        nearer = balls.in_balls(made, made.cells(given), NEVER)
        assert nearer is not None
        assert question.obeys(made.point(nearer))
        assert question.has_goal(made.point(nearer)) is not False
        assert question.distance_of(made.point(nearer)) <= question.distance_of(given)


@pytest.mark.parametrize("seed", range(20))
def test_a_climb_that_often_looks_at_the_clock_finds_the_point_of_one_that_seldom_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, made = grounded(seed)
    none = np.zeros(0, np.int64)
    at_once = greedy.greedy(made, -1, none, NEVER)
    monkeypatch.setattr(greedy, "MANY", 0)
    monkeypatch.setattr(greedy, "LOOK", -1.0)  # so that a part has one step
    one_by_one = greedy.greedy(made, -1, none, NEVER)
    assert (at_once is None) == (one_by_one is None)
    assert at_once is None or at_once.tolist() == one_by_one.tolist()


def test_steps_that_take_long_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second each, of 500 trees over 500 features: eight of them outlasted any short limit."""
    _, made = grounded(0)
    clock = Hand()
    monkeypatch.setattr(greedy, "MANY", 0)
    monkeypatch.setattr(greedy, "now", clock)
    taken = []
    for begin, end in greedy.strides(20, 8, made.ground, made.forest, NEVER):
        taken.append(end - begin)
        clock.now += 0.3 if begin >= 7 else 0.0
    assert taken == [1, 2, 4, 8, 4, 1] and sum(taken) == 20


@pytest.mark.parametrize("seed", range(40))
def test_the_knapsack_is_never_below_a_point_that_it_may_hold(seed: int) -> None:
    rng = np.random.default_rng(seed)
    J = 3
    kind, first, count = np.zeros(J, np.int64), np.arange(J), np.ones(J, np.int64)
    low, high = -rng.random(J), rng.random(J)
    jump, rate, change = rng.random(J) * rng.integers(0, 2), rng.random(J), np.zeros(J)
    k, budget = rng.normal(size=J), float(rng.random())
    found, price = knapsack(k, budget, kind, first, count, low, high, np.ones(J, bool), jump, rate, change)
    for _ in range(200):
        x = rng.uniform(low, high) * (rng.random(J) < 0.6)
        if (np.where(x != 0, jump + rate * np.abs(x), 0.0)).sum() <= budget:
            assert k @ x <= found + 1e-9
    more, _ = knapsack(k, budget + 1e-6, kind, first, count, low, high, np.ones(J, bool), jump, rate, change)
    assert more - found <= price * 1e-6 + 1e-12


def opened(seed: int) -> tuple[RelaxationArrays, Active, np.random.Generator]:
    """A relaxation of a random question in its box, or in a part of it."""
    _, made = grounded(seed)
    rng, box = np.random.default_rng(seed), whole(made)
    forest = walk.shrink(made.ground, made.forest, box, NO_LIMIT, walk.new_stack(made.depth))
    relaxation = Relaxation(made, forest, 0, Fraction(1))
    if seed % 2:
        for j in np.flatnonzero(made.ground.grid):
            box.low[j], box.high[j] = np.sort(rng.integers(box.low[j], box.high[j] + 1, 2))
    return relaxation.framed, relaxation.open(box.low, box.high, NO_LIMIT), rng


@pytest.mark.parametrize("seed", range(20))
def test_a_piece_pays_for_every_side_that_holds_it(seed: int) -> None:
    """Payments are added up without branches, as differences from piece to piece, in whole numbers and in doubles."""
    frame, active, rng = opened(seed)
    prices = rng.integers(0, 2, len(active.number)) * rng.integers(1, 9, len(active.number))
    for given in (prices, prices.astype(float)):
        paid = paid_by(frame, active, given)
        for j, (first, last) in enumerate(zip(active.begin, active.end, strict=True)):
            sums = np.cumsum(paid[first:last]) if frame.grid[j] else paid[first:last]
            rows = [i for i, row in enumerate(active.number) if frame.axis[row] == j]
            for piece, pays in zip(range(first, last), sums, strict=True):
                assert pays == sum(prices[i] for i in rows if on_side(frame, active.number[i], piece))


@pytest.mark.parametrize("seed", range(20))
def test_a_leaf_costs_what_its_rows_do_and_rows_fall_on_whose_side_a_piece_lies(seed: int) -> None:
    """Both are added up over intervals of leaves and of rows."""
    frame, active, rng = opened(seed)
    rows = len(active.number)
    assert sorted(set(active.row.tolist())) == list(range(rows))
    price, worth = rng.integers(0, 2, rows) * rng.random(rows), np.empty(len(active.leaf) + 1)
    some = np.empty(rows + 1, np.uint32)
    ascent.worths(active.rows, price, some, rows_with_price(price, some), worth)
    for k, own in enumerate(np.cumsum(worth)[:-1]):
        assert own == pytest.approx(price[active.row[active.at[k] : active.at[k + 1]]].sum())
    chosen = rng.integers(active.begin, active.end).astype(np.int32)
    change = np.zeros(rows, np.float32)
    ascent.lift(frame, active, chosen, change)
    for i, row in enumerate(active.number):
        assert change[i] == -on_side(frame, row, chosen[frame.axis[row]])
