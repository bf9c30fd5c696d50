"""Decisions that turn at known places of one score: what a calibration, or a threshold, makes of a model's own.

In:  the table of the model inside, where along its score the decision changes, and how far from there the library's own
     arithmetic may turn.
Out: the table with these decisions. An Ensemble's `error` allows for the doubt; a Network has none: its scores shrink
     by a power of two until the 16 units of rounding of the rule "sigmoid" allow for as much.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.base.exact import UNIT_ROUNDOFF, UNIT_ROUNDOFF_32
from mace.errors import UnreadableError
from mace.tables.margins import SATURATED, squashed_between
from mace.tables.table import Compare, Decision, Ensemble, Label, Layer, Link, Network, runs

_NEVER = ((Compare(0, None, 1.0), Compare(None, 0, 1.0)),)
"""What no score of a network satisfies: at least 1 and at most -1."""


class Turns(NamedTuple):
    """What the lowest scores are, where it changes, how far from there a libm may have a say, and the probability.

    link: None if no probability is known.
    """

    one_first: bool
    places: tuple[float, ...]
    doubt: float
    link: Link | None


def unit_of(table: Ensemble | Network) -> float:
    """The unit of rounding of a table's scores."""
    return float(UNIT_ROUNDOFF_32 if table.dtype == "float32" else UNIT_ROUNDOFF)


def through_sigmoid(found: Turns, inner: Link, table: Ensemble | Network) -> Turns:
    """The turns over the score whose sigmoid, rounded, the calibrator is given."""
    first, places, doubt, unit = found.one_first, [], 0.0, unit_of(table)
    for turn in found.places:
        if turn <= 0:  # No probability lies below it.
            first = not first
        elif turn <= 1:
            low = squashed_between(turn - found.doubt, table.dtype)[0] if turn > found.doubt else SATURATED[0]
            high = squashed_between(min(turn + found.doubt, 1.0), table.dtype)[1]
            places.append((low + high) / 2 / inner.slope)
            # slope * score rounds, and so did the two divisions.
            doubt = max(doubt, ((high - low) / 2 + 8 * unit * (abs(low) + abs(high))) / inner.slope)
    return Turns(first, tuple(places), doubt, None if found.link is None else replace(found.link, inside=inner))


def with_turns(
    table: Ensemble | Network, found: Turns, score: int, classes: tuple[Label, ...], name: str
) -> Ensemble | Network:
    """The table whose decisions turn there.

    score: the number of the score that turns.
    """
    table = replace(table, classes=classes, name=name)
    if isinstance(table, Ensemble):
        error = table.error + found.doubt * table.divide
        return replace(table, rule="value", decisions=_decisions(found, score), error=error, link=found.link)
    return _moved(table, found)


def _decisions(found: Turns, score: int) -> tuple[Decision, Decision]:
    """One decision a class."""
    first, second = runs(found.places, score)
    return (second, first) if found.one_first else (first, second)


def _moved(table: Network, found: Turns) -> Network:
    """The network with the decisions, its scores so small that their doubt is less than 8 units of rounding."""
    unit = unit_of(table)
    shrink = 2.0 ** -max(0, math.frexp(found.doubt / (8 * unit))[1])
    last = table.layers[-1]
    layer = Layer(last.weights * shrink, last.bias * shrink, last.activation)
    places = tuple(place * shrink for place in found.places)
    for small, large in ((layer.weights, last.weights), (layer.bias, last.bias), (places, found.places)):
        if not np.array_equal(np.asarray(small) / shrink, large):
            raise UnreadableError(f"{table.name} calibrates scores that are too small", hint="Scale the columns.")
    return replace(
        table,
        layers=(*table.layers[:-1], layer),
        rule="sigmoid" if found.doubt else "value",
        decisions=tuple(decision or _NEVER for decision in _decisions(found._replace(places=places), 0)),
        link=None if found.link is None else _shrunk(found.link, shrink),
    )


def _shrunk(link: Link, shrink: float) -> Link:
    """The same probabilities, as a link of the smaller score."""
    if link.inside is not None:
        return replace(link, inside=_shrunk(link.inside, shrink))
    return replace(link, slope=link.slope / shrink, knots=tuple((x * shrink, y) for x, y in link.knots))
