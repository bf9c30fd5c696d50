"""Properties that follow from the shape of a network, where bounds on its scores could not tell 0 from rounding.

In:  the model under test and a property.    Out: the reason in a sentence, or None.
Promise: a reason is given only where it holds for the deployed floats, as long as the library computes each row by the
same operations in the same order: then sums and products by constants are monotone in each term, rounding included.
"""

from __future__ import annotations

import numpy as np

from mace.space.columns import Column
from mace.tables.table import Floats, Network
from mace.verify.properties import Fair, Monotone, Property
from mace.verify.subject import Subject


def follows(subject: Subject, given: Property) -> str | None:
    """Why a property holds whatever the numbers are; None if it does not follow like that."""
    table = subject.table
    if not isinstance(table, Network):
        return None
    names = subject.space.names
    if isinstance(given, Fair) and all(name in names for name in given.features) and not given.within:
        features = {names.index(name) for name in given.features}
        read = [number for number, column in enumerate(subject.columns) if column.feature in features]
        if not table.layers[0].weights[read].any():
            return "every weight of these features is 0"
    if isinstance(given, Monotone) and given.feature in names and _by_one_score(table):
        signs = _signs(table, subject.columns, names.index(given.feature))
        good = not table.classes or given.favourable in (None, (subject.classes[1],))
        wanted = 1.0 if given.direction == "increasing" else -1.0
        levels = subject.space[given.feature].levels
        if good and signs is not None and not (levels and None in levels) and (signs * wanted >= 0).all():
            return "every path of weights from the feature to the score has the right sign"
    return None


def _by_one_score(table: Network) -> bool:
    """Whether the answer rises with the only score, to the last bit: it is that score, or class 1 where it is > 0.

    A sigmoid rises too, but nobody knows it of the floats of every libm.
    """
    return table.outputs == 1 and table.decisions is None and table.rule in ("positive", "nonnegative", "value")


def _signs(table: Network, columns: tuple[Column, ...], feature: int) -> Floats | None:
    """For each output 1 if it can only rise with the feature, -1 if it can only fall, 0 if it does not read it.

    None if neither.
    """
    here: Floats = np.zeros(len(columns))
    for number, column in enumerate(columns):
        if column.feature == feature:
            direction = _direction(column)
            if direction is None:
                return None
            here[number] = direction
    for layer in table.layers:
        parts = np.sign(layer.weights) * here[:, None]
        up, down = (parts > 0).any(axis=0), (parts < 0).any(axis=0)
        if (up & down).any():
            return None
        here = np.asarray(up, np.float64) - np.asarray(down, np.float64)
    return here


def _direction(column: Column) -> float | None:
    """1 if the column rises with its feature, -1 if it falls; None if neither is certain."""
    if column.values is not None:
        steps = np.diff(np.array(column.values))
        return 1.0 if (steps >= 0).all() else -1.0 if (steps <= 0).all() else None
    if not column.is_affine:
        return None
    sign = 1.0
    for name, number in column.chain:
        if name in ("mul", "div"):
            assert isinstance(number, (int, float))
            sign *= float(np.sign(number))
    return sign


def same_network(one: Subject, other: Subject) -> bool:
    """Whether two subjects are one network in one library: then scores are equal to the last bit, known or not."""
    a, b = one.table, other.table
    if not isinstance(a, Network) or not isinstance(b, Network):
        return False
    if type(one.explainer.model) is not type(other.explainer.model) or one.columns != other.columns:
        return False
    if (a.rule, a.classes, a.dtype, a.decisions) != (b.rule, b.classes, b.dtype, b.decisions):
        return False
    return len(a.layers) == len(b.layers) and all(
        x.activation == y.activation and np.array_equal(x.weights, y.weights) and np.array_equal(x.bias, y.bias)
        for x, y in zip(a.layers, b.layers, strict=True)
    )
