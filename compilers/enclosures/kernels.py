"""Bound scikit-learn's support vector machines, whatever their kernel: sums of kernels over stored rows.

In:  SVC, NuSVC (of up to four classes), SVR, NuSVR, fitted on dense rows, with the kernel "rbf", "poly", "sigmoid" or
     "linear".
Out: `Enclosed`; its scores are those of the pairs of classes, as libsvm computes them.
Promise: a kernel of the user's own, and sparse rows, are an UnreadableError.
How the library decides: see `mace.compilers.sklearn.svm`. The kernels: exp(-gamma |x - v|^2),
(gamma <x, v> + coef0) ** degree, tanh(gamma <x, v> + coef0), <x, v>; |x - v|^2 is a sum of squares of differences.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, Change
from mace.compilers.enclosures.enclosed import Enclosed, Function
from mace.compilers.enclosures.functions import exponential, hyperbolic, power
from mace.compilers.enclosures.ranges import TINY, UNSURE, Floats, Range, unsure
from mace.compilers.sklearn.common import fitted, name_of, numbers
from mace.compilers.sklearn.svm import stored, votes_of
from mace.errors import UnreadableError

MOST_CLASSES = 4
MOST_DEGREE = 10


def machine(model: Any) -> Enclosed:
    """One support vector machine."""
    if not isinstance(model.kernel, str) or model.kernel == "precomputed":
        raise UnreadableError(f"{name_of(model)} with a kernel of the user's own is not bounded over boxes")
    columns, classes, pairs, vectors, weights, bias = stored(model)
    if len(classes) > MOST_CLASSES or getattr(model, "break_ties", False):
        raise UnreadableError(f"{name_of(model)} of {len(classes)} classes is not supported")
    kernel, count = _kernel(model, vectors), len(vectors)

    def scores(x: Bounds) -> Bounds:
        return kernel(x).affine(weights, bias)

    name = f"{name_of(model)} with the kernel {model.kernel}"
    if not classes:
        return Enclosed(name, columns, (), scores, width=count)
    # Of two classes the library turns the sign of what libsvm says.
    scoring: Function | None = (lambda x: scores(x).affine(-np.ones((1, 1)), np.zeros(1))) if len(pairs) == 1 else None
    return Enclosed(name, columns, classes, scores, votes_of(pairs, len(classes)), None, scoring, count)


def _kernel(model: Any, vectors: Floats) -> Function:
    """The kernel of the columns and every vector."""
    gamma = float(numbers(model, "_gamma", fitted(model, "_gamma"), ()))
    shift = float(numbers(model, "coef0", model.coef0, ()))
    if model.kernel == "rbf":
        return lambda x: exponential(distances(x, vectors).scaled(-gamma))
    products = (vectors.T.copy(), np.zeros(len(vectors)))
    if model.kernel == "linear":
        return lambda x: x.affine(*products)
    inner = gamma * products[0], np.full(len(vectors), shift)
    if model.kernel == "sigmoid":
        return lambda x: hyperbolic(x.affine(*inner))
    if model.kernel == "poly" and 1 <= model.degree <= MOST_DEGREE and model.degree == int(model.degree):
        return lambda x: power(x.affine(*inner), int(model.degree))
    raise UnreadableError(f"{name_of(model)} with the kernel {model.kernel!r} is not supported")


def distances(x: Bounds, vectors: Floats) -> Bounds:
    """The squared distances from vectors, shape (vectors, numbers), in whatever way they are computed."""
    low, high = (side[:, None, :] - vectors for side in x.values)
    # Differences round as well, by less than what is added for the sum below.
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    far = np.maximum(np.abs(low), np.abs(high))
    least, most = (near**2).sum(axis=2), (far**2).sum(axis=2)
    share, size = unsure(vectors.shape[1]), x.values.size + x.error
    # |x|^2 + |v|^2 - 2 <x, v> loses what its terms are larger by than it.
    margin = share * ((size[:, None, :] + np.abs(vectors)) ** 2).sum(axis=2) + TINY
    error = (2 * far * x.error[:, None, :] + x.error[:, None, :] ** 2).sum(axis=2)
    found = Bounds(Range(least, most).wider(margin), error * (1 + share) + 2 * margin)
    if x.change is None:
        return found
    return replace(found, change=_further(x.change, vectors)).tightened()


def _further(own: Change, vectors: Floats) -> Change:
    """How squared distances change: |x - v|^2 - |c - v|^2 = 2 <c - v, x - c> + |x - c|^2."""
    own = own.alone
    at, count = own.centre.values, vectors.shape[1]
    middle = at.low + (at.high - at.low) / 2
    ahead = 2 * (middle[:, :, None] - vectors.T)
    up, down = np.maximum(ahead, 0.0), np.minimum(ahead, 0.0)
    low, high = (
        np.matmul(one[:, None, :], up)[:, 0] + np.matmul(other[:, None, :], down)[:, 0]
        for one, other in (own.rest, own.rest[::-1])
    )
    doubt = unsure(count) * np.abs(ahead) + 2 * (at.high - at.low + UNSURE * at.size)[:, :, None]
    margin = np.matmul((own.size + own.rest.size)[:, None, :], doubt)[:, 0] + TINY
    square, part = squared_length(own)
    share = (part / (part.sum(axis=1, keepdims=True) + TINY))[:, :, None] * square[:, None, None]
    slopes, span = np.matmul(own.slopes, ahead), Range(own.span.low.copy(), own.span.high.copy())
    # All distances share |x - c|^2.
    slopes[:, -1], span.high[:, -1] = 1.0, square
    found = own.after(
        distances(own.centre, vectors), slopes, Range(low - margin, high + margin),
        np.matmul(own.blame, np.abs(ahead)) + share,
    )  # fmt: skip
    return replace(found, span=span)


def squared_length(own: Change) -> tuple[Floats, Floats]:
    """No |x - c|^2 is larger, shape (boxes,); and how much of it is owed to each column, about, shape (boxes, columns).

    |x - c| is at most the sum of the lengths by which columns move x. And of |x - c|^2, which adds the square of every
    number, each column brings no more than its part of each number times what that number may be moved by in all:
    that is less where columns move different numbers.
    """
    lengths = np.sqrt((own.slopes**2).sum(axis=2))
    apart = np.matmul(np.abs(own.slopes), own.size[:, :, None])[:, :, 0]
    beside = np.sqrt((own.rest.size**2).sum(axis=1))
    found = []
    for rate, exponent in ((lengths, 2), (apart, 1)):
        down, up = (np.abs(side * rate)[:, :, None] for side in own.span)
        most = np.maximum(down, up).sum(axis=1) if own.ball is None else own.ball.most(down, up)
        found.append((np.sqrt(most[:, 0] ** exponent) + beside) ** 2)
    return np.fmin(*found) * (1 + 4 * unsure(sum(own.slopes.shape[1:]))), own.span.size * lengths
