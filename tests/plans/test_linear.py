"""The linear program of a node, beside exact arithmetic."""

import itertools
from fractions import Fraction

import numpy as np

from mace.plans.bounds import Bound, Line
from mace.plans.linear import linear_of, tightened, vertices_of
from mace.plans.nodes import PlanNode, Reach
from mace.worlds.affine import Form


def _problem(seed: int) -> tuple[list[str], PlanNode, Form, Line]:
    """A cost, a line of a model, and a box of few points."""
    rng = np.random.default_rng(seed)
    variables = ["a", "b", "c"][: int(rng.integers(1, 4))]
    box: dict[str, tuple[int, int]] = {}
    for name in variables:
        low = int(rng.integers(-5, 6))
        box[name] = (low, low + int(rng.integers(0, 7)))
    tops = {name: int(top) for name in variables if (top := rng.integers(-9, 10))}
    coef = rng.choice([-1e9, -1.0, -1 / 3, 0.0, 1e-9, 0.1, 7.0], len(variables))
    line = Line(coef, float(rng.choice([-2.0, -0.1, 0.0, 0.3])))
    return variables, PlanNode((), frozenset(), box), Form(tops, int(rng.integers(-9, 9)), 9, 7), line


def test_the_bound_of_a_node_is_below_every_point_that_its_line_leaves() -> None:
    held = empty = smaller = 0
    for seed in range(300):
        variables, node, cost, line = _problem(seed)
        bound = Bound([[line]], np.zeros(len(variables)))
        linear = linear_of(Reach({}, cost), node, variables)
        vertices = vertices_of(linear, bound)
        left = {}
        for point in itertools.product(*(range(low, high + 1) for low, high in node.box.values())):
            margin = Fraction(line.constant)
            for at, c, (low, high) in zip(point, line.coef.tolist(), node.box.values(), strict=True):
                place = Fraction(2 * at - low - high, high - low) if high > low else Fraction(0)
                margin += Fraction(c) * place
            if margin >= 0:
                left[point] = cost.at(dict(zip(variables, point, strict=True)))[0]
        if not vertices:
            assert not left
            empty += 1
            continue
        assert all(value >= Fraction(vertices[0].cost) for value in left.values())
        held += bool(left)
        most = float(np.median([float(value) for value in left.values()])) if left else 0.0
        part = tightened(node, linear, bound, variables, most)
        smaller += part is not node
        for point, value in left.items():
            inside = part is not None and all(
                low <= at <= high for at, (low, high) in zip(point, part.box.values(), strict=True)
            )
            assert inside or value > Fraction(most)
    assert min(held, empty, smaller) > 20


def test_forms_over_different_denominators_add_like_rationals() -> None:
    one = Form.variable("a", Fraction(1, 3)) + Form.constant(Fraction(1, 2), Fraction(3, 4))
    other = Form.variable("a", Fraction(-2, 6)).times(Fraction(-5, 7)) - Form.constant(Fraction(1, 10))
    assert (one - other).coef == {"a": Fraction(1, 3) - Fraction(5, 21)}
    assert (one - other).span({"a": (-3, 6)}) == (Fraction(-2, 7) + Fraction(6, 10), Fraction(4, 7) + Fraction(17, 20))
    assert (one - one.times(1)).tops == {}
    assert one.same_slopes(Form({"a": 14}, 0, 5, 42))
    assert not one.same_slopes(other)
