"""Means of probabilities, each of which follows from a score of its own: what several calibrated members say.

In:  a `Link` of the kind "mean" (`mace.tables.table`), scores, and how far the library's may lie from them.
Out: `probability`, of one part; `ends`, what rounding makes of it; `around`, the least and the largest mean that the
     library may compute.
Promise: every part is a monotone function, so that the ends of a score's interval give the ends of its probability;
`doubt` covers the rounding of the outer functions and of the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.tables.table import Floats, Link

_LEAST_ODDS = 1e-12  # what scikit-learn adds to probabilities before it takes their logarithms
_LEAST_INSIDE = 1e-37  # smaller probabilities are rounded by more than their last places


class Means(NamedTuple):
    """The least and the largest probability of class 1 that rows may have; shape (rows,) each."""

    low: Floats
    high: Floats


def probability(link: Link, scores: Floats) -> Floats:
    """The probability of class 1 for numbers of the score that a link is about, of any shape."""
    return _outer(link, scores if link.inside is None else probability(link.inside, scores))


def _outer(link: Link, given: Floats) -> Floats:
    """What the outer link makes of what it is given: scores, or the probabilities that an inner link makes of them."""
    with np.errstate(over="ignore", divide="ignore"):
        if link.kind == "steps":
            x, y = np.array(link.knots, dtype=np.float64).T
            return np.asarray(np.interp(given, x, y))
        if link.kind == "odds":
            given = np.clip(given, 0.0, 1.0)  # a score's own rounding may lie beyond what probabilities are
            odds = np.log(given + _LEAST_ODDS) - np.log(1.0 - given + _LEAST_ODDS)
            return np.asarray(1.0 / (1.0 + np.exp(-link.slope * odds)))
        return np.asarray(1.0 / (1.0 + np.exp(-(link.slope * given + link.shift))))


def _unit(link: Link) -> float:
    """Half a unit in the last place of the coarsest type in which a link is computed."""
    coarse = "float32" in (link.dtype, link.inside.dtype if link.inside else "")
    return 2.0**-24 if coarse else 2.0**-53


def ends(link: Link, scores: Floats) -> Means:
    """The least and the largest that the library may make of these scores, but for `doubt`.

    A probability that is rounded inside of steep steps, or near 1 inside of odds, moves the result by far more.
    """
    if link.inside is None:
        found = probability(link, scores)
        return Means(found, found)
    inner, far = probability(link.inside, scores), 16.0 * _unit(link)
    least, most = (_outer(link, inner + side * (far * inner + _LEAST_INSIDE)) for side in (-1.0, 1.0))
    return Means(np.minimum(least, most), np.maximum(least, most))


def counts(link: Link) -> Floats:
    """How often each part of a mean counts in a sum of as many as there are; shape (parts,), all of them 1 without
    weights."""
    if not link.weights:
        return np.ones(len(link.parts))
    weights = np.array(link.weights, dtype=np.float64)
    return np.asarray(weights * (len(weights) / weights.sum()))


def doubt(link: Link) -> float:
    """How far a library's mean may lie from ours, for the same scores and what `ends` allows for.

    Each part rounds, by less than 64 units as steep as it is; then so do products with weights, sums and a quotient.
    """
    steep = max(1.0 + abs(part.slope) + abs(part.shift) for part in link.parts)
    return 1e-11 + (64.0 * steep + 4.0 * len(link.parts)) * max(map(_unit, link.parts))


def around(link: Link, scores: Floats, error: Floats) -> Means:
    """The means that the library may compute.

    scores: shape (rows, scores).    error: how far a score of the library may lie from it, shape (scores,).
    """
    low, high = np.zeros(len(scores)), np.zeros(len(scores))
    for part, counted in zip(link.parts, counts(link).tolist(), strict=True):
        below, above = (ends(part, scores[:, part.score] + side * error[part.score]) for side in (-1, 1))
        low += counted * np.minimum(below.low, above.low)
        high += counted * np.maximum(below.high, above.high)
    count, far = len(link.parts), doubt(link)
    return Means(low / count - far, high / count + far)
