"""Means of probabilities, each of which follows from a score of its own: what several calibrated members say.

In:  a `Link` of the kind "mean" (`mace.tables.table`), scores, and how far the library's may lie from them.
Out: `probability`, of one part; `around`, the least and the largest mean that the library may compute.
Promise: every part is a monotone function, so that the ends of a score's interval give the ends of its probability;
`DOUBT` covers the rounding of the functions themselves and of the sum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.tables.table import Floats, Link

_LEAST_ODDS = 1e-12  # what scikit-learn adds to probabilities before it takes their logarithms


class Means(NamedTuple):
    """The least and the largest probability of class 1 that rows may have; shape (rows,) each."""

    low: Floats
    high: Floats


def probability(link: Link, scores: Floats) -> Floats:
    """The probability of class 1 for numbers of the score that a link is about, of any shape."""
    given = scores if link.inside is None else probability(link.inside, scores)
    with np.errstate(over="ignore", divide="ignore"):
        if link.kind == "steps":
            x, y = np.array(link.knots, dtype=np.float64).T
            return np.asarray(np.interp(given, x, y))
        if link.kind == "odds":
            given = np.clip(given, 0.0, 1.0)  # a score's own rounding may lie beyond what probabilities are
            odds = np.log(given + _LEAST_ODDS) - np.log(1.0 - given + _LEAST_ODDS)
            return np.asarray(1.0 / (1.0 + np.exp(-link.slope * odds)))
        return np.asarray(1.0 / (1.0 + np.exp(-(link.slope * given + link.shift))))


def doubt(link: Link) -> float:
    """How far a library's mean may lie from ours, for the same scores."""
    coarse = any("float32" in (part.dtype, *([part.inside.dtype] if part.inside else [])) for part in link.parts)
    steep = max(1.0 + abs(part.slope) + abs(part.shift) for part in link.parts)
    return 1e-11 + (64.0 * 2.0**-24 * steep * _steepest(link) if coarse else 64.0 * 2.0**-53 * steep)


def _steepest(link: Link) -> float:
    """How much a rounded probability inside may move what a part makes of it."""
    found = 1.0
    for part in link.parts:
        if part.kind == "steps" and part.inside is not None:
            x, y = np.array(part.knots, dtype=np.float64).T
            found = max(found, float((np.abs(np.diff(y)) / np.maximum(np.diff(x), 1e-9)).max(initial=0.0)))
    return found


def around(link: Link, scores: Floats, error: Floats) -> Means:
    """The means that the library may compute.

    scores: shape (rows, scores).    error: how far a score of the library may lie from it, shape (scores,).
    """
    low, high = np.zeros(len(scores)), np.zeros(len(scores))
    for part in link.parts:
        ends = [probability(part, scores[:, part.score] + side * error[part.score]) for side in (-1, 1)]
        low += np.minimum(*ends)
        high += np.maximum(*ends)
    count, far = len(link.parts), doubt(link)
    return Means(low / count - far, high / count + far)
