"""Lower lines of costs, and which actions may change places, beside the interpreter."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import mace
from mace.language import run
from mace.worlds.affine import Form
from mace.worlds.costs import NeverError, least_of
from mace.worlds.forms import Enclosing, UnboundedError

SPACE = mace.Space([mace.Feature("a", "integer", lower=0, upper=12), mace.Feature("b", "integer", lower=0, upper=12)])
COSTS = (
    "(abs(v) / abs(a - 4)) * (abs(v) / abs(a - 4))",
    "(abs(v) / before_a) * (abs(v) / before_a)",
    "v * v / abs(b - 6)",
    "abs(a + b) * abs(a + b) / 7",
    "(0.1 + abs(v)) / abs(a - 3) * abs(b - 5) / (13 - b)",
    "abs(a) * b / (5 + a) + abs(v) * (b + 2)",
    "(a + 4) / (b / 3)",
)


@pytest.mark.parametrize("cost", COSTS)
def test_the_line_of_a_cost_lies_below_it_wherever_it_can_be_taken(cost: str) -> None:
    text = f"action go:\n    parameter v: int in [-4, 4]\n    a = a + v\n    cost {cost}\n"
    program = mace.World.read(text, SPACE).actions[0].cost
    rng, tight = np.random.default_rng(len(cost)), 0
    for _ in range(12):
        ends = {name: sorted(rng.integers(low, 13, 2).tolist()) for name, low in (("a", 0), ("b", 0), ("v", -4))}
        box = {name: (low, min(high, low + 3)) for name, (low, high) in ends.items()}
        forms = {declared.name: Form.variable(declared.name.removeprefix("before_")) for declared in program.inputs}
        try:
            found = least_of(Enclosing(box), program, forms)
        except UnboundedError:
            continue
        except NeverError:
            found = None
        for point in itertools.product(*(range(low, high + 1) for low, high in box.values())):
            at = dict(zip(box, map(Fraction, point), strict=True))
            try:
                value = run(program, {name: at[name.removeprefix("before_")] for name in forms})
            except ZeroDivisionError:
                continue
            assert found is not None
            assert found.line.at(at)[0] <= value
            assert found.low <= value
            assert found.high is None or value <= found.high
            tight += found.line.at(at)[0] > 0
    assert tight > 10


def test_a_divisor_that_may_be_zero_leaves_a_bound() -> None:
    """Near the divisor's zero the cost is large, not unknown."""
    text = "action go:\n    parameter v: int in [1, 4]\n    a = a + v\n    cost v / abs(b - 6)\n"
    program = mace.World.read(text, SPACE).actions[0].cost
    forms = {"v": Form.variable("v"), "b": Form.variable("b")}
    found = least_of(Enclosing({"v": (2, 4), "b": (6, 7)}), program, forms)
    assert found.low == 2
    assert found.high is None
    with pytest.raises(NeverError):
        least_of(Enclosing({"v": (2, 4), "b": (6, 6)}), program, forms)
