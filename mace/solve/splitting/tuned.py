"""Bounds of forms whose free choices are tuned: how a unit is bounded from below, and what its phase is worth.

In:  a `Chain`, boxes with bounded units, forms of the outputs.
Out: for each form a linear function of the inputs above it, and what each hidden unit adds to it.
Promise: as of `bounds.back`, whatever is chosen.
How: the bound of a form falls along its gradient, a few steps, each as long as would bring it to its level if nothing
bent (Polyak 1969). The gradient is read off values that go forward from the corner of the box where the bound is.
Source: Xu et al. 2021 (slopes from below), Wang et al. 2021 (prices of phases: beta-CROWN).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import NEVER, Deadline
from mace.solve.splitting.bounds import BoundedUnits, Choice, Forms, back, greatest
from mace.solve.splitting.chain import Chain, Interval
from mace.solve.splitting.rows import Full
from mace.tables.table import Floats

STEPS = 10
BEYOND = 0.1  # of the way to the level: a bound that ends just there refutes nothing


class Tuned(NamedTuple):
    """The best bounds of the steps. lost: (rows, units of all stages) what each hidden unit adds to a form.

    Of the rounding the least of all steps is told: prices make more of it, and prove more in return.
    """

    forms: Forms
    lost: Floats


@np.errstate(over="ignore", invalid="ignore")  # what overflows is no better bound than the first
def tuned(
    chain: Chain, found: BoundedUnits, boxes: Interval, ends: Floats, box: NDArray[np.int64], least: Floats,
    deadline: Deadline = NEVER,
) -> Tuned:  # fmt: skip
    """Bounds of forms of the outputs, (rows, outputs), each in its box, and meant to be below its level.

    Raises TimeOverError: of many boxes and a wide network each step takes seconds.
    """
    flat = [line.flat[box] for line in found.lines[:-1]]
    opened = [(line.above > 0)[box] for line in found.lines[:-1]]
    # In its phase a unit's sum times this is not negative.
    sign = [(np.where(one.lower == 0, 1.0, 0.0) - np.where(one.upper == 0, 1.0, 0.0))[box] for one in found.units]
    price = [np.zeros_like(one) for one in sign]
    best: Tuned | None = None
    first = reached = plain = np.full(len(ends), np.inf)
    for step in range(STEPS + 1):
        deadline.look("bounds were tuned")
        choice = Choice(flat, [s * p for s, p in zip(sign, price, strict=True)], [])
        forms = back(chain, found.lines, Full(ends, box), choice)
        over = greatest(forms, boxes, box) - least
        first = over if step == 0 else first
        plain = np.fmin(plain, forms.rounding)
        now = Tuned(forms, _lost(found, choice, box))
        better = over < reached
        best = now if best is None else _where(better, now, best)
        reached = np.where(better, over, reached)
        if step == STEPS or not (reached >= 0).any():
            break
        beyond = over + BEYOND * np.abs(first)
        flat, price = _moved(chain, found, boxes, box, forms, choice, opened, sign, price, beyond)
    assert best is not None
    return best._replace(forms=best.forms._replace(rounding=plain))


def _lost(found: BoundedUnits, choice: Choice, box: NDArray[np.int64]) -> Floats:
    added = [
        np.maximum(one, 0.0) * line.above[box] for one, line in zip(choice.carried[::-1], found.lines, strict=False)
    ]
    return np.hstack(added) if added else np.zeros((len(box), 0))


def _where(better: NDArray[np.bool_], one: Tuned, other: Tuned) -> Tuned:
    def rows(a: Floats, b: Floats) -> Floats:
        return np.where(better.reshape(-1, *[1] * (a.ndim - 1)), a, b)

    return Tuned(Forms(*map(rows, one.forms, other.forms)), rows(one.lost, other.lost))


def _moved(
    chain: Chain, found: BoundedUnits, boxes: Interval, box: NDArray[np.int64], forms: Forms, choice: Choice,
    opened: list[NDArray[np.bool_]], sign: list[Floats], price: list[Floats], beyond: Floats,
) -> tuple[list[Floats], list[Floats]]:  # fmt: skip
    """The choices after one step, which is to lower each bound by `beyond`."""
    values = np.where(forms.slope > 0, boxes.upper[box], boxes.lower[box])
    slopes, worth = list[Floats](), list[Floats]()
    for place, carried in enumerate(choice.carried[::-1]):
        stage, line = chain.stages[place], found.lines[place]
        sums = stage.forward(values) + stage.bias
        down = np.minimum(carried, 0.0)
        slopes.append(np.where(opened[place], down * sums, 0.0))
        # A price that is 0 stays there where the bound would fall below it.
        gradient = sign[place] * sums
        worth.append(np.where((price[place] > 0) | (gradient < 0), gradient, 0.0))
        values = np.where(carried > 0, line.steep[box] * sums + line.above[box], choice.flat[place] * sums)
    size = sum((one**2).sum(axis=1) for one in (*slopes, *worth))
    length = np.maximum(beyond, 0.0) / np.maximum(size, 1e-300)
    length = np.nan_to_num(length)[:, None]
    flat = [
        np.where(free, np.clip(one - length * slope, 0.0, 1.0), one)
        for one, slope, free in zip(choice.flat, slopes, opened, strict=True)
    ]
    prices = [np.maximum(one - length * slope, 0.0) for one, slope in zip(price, worth, strict=True)]
    return flat, prices


__all__ = ["Tuned", "tuned"]
