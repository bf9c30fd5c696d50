"""Bound steps of a pipeline that mix columns, or come behind one that does.

In:  a fitted step of scikit-learn, dense rows of numbers in float64 before it.
Out: the function of the columns that it is.
Promise: a step that is not listed, or is set in another way than named here, is an UnreadableError.
How the library computes (checked in 1.9): scalers subtract and divide, or multiply and add; PCA is
(x - mean) @ components.T, divided by the deviations where it whitens; PolynomialFeatures are products in any order;
SplineTransformer gives B-splines, of numbers beyond its knots those at the ends (extrapolation="constant").
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, joined
from mace.compilers.enclosures.enclosed import Function
from mace.compilers.enclosures.functions import power
from mace.compilers.enclosures.ranges import TINY, UNSURE, Floats, Range
from mace.compilers.library import is_a
from mace.compilers.sklearn.common import columns_of, fitted, name_of, numbers
from mace.errors import UnreadableError


def standard(step: Any) -> Function:
    """(x - mean) / scale."""
    columns = columns_of(step)
    mean = numbers(step, "mean_", step.mean_, (columns,)) if step.with_mean else np.zeros(columns)
    scale = numbers(step, "scale_", step.scale_, (columns,)) if step.with_std else np.ones(columns)
    return _line(1 / scale, -mean / scale)


def robust(step: Any) -> Function:
    """(x - median) / range."""
    columns = columns_of(step)
    centre = numbers(step, "center_", step.center_, (columns,)) if step.with_centering else np.zeros(columns)
    scale = numbers(step, "scale_", step.scale_, (columns,)) if step.with_scaling else np.ones(columns)
    return _line(1 / scale, -centre / scale)


def min_max(step: Any) -> Function:
    """x * scale + min, without a clip."""
    columns = columns_of(step)
    if step.clip:
        raise UnreadableError(f"{name_of(step)} with clip=True is not supported behind a step that mixes columns")
    return _line(numbers(step, "scale_", step.scale_, (columns,)), numbers(step, "min_", step.min_, (columns,)))


def max_abs(step: Any) -> Function:
    """x / largest magnitude."""
    if getattr(step, "clip", False):
        raise UnreadableError(f"{name_of(step)} with clip=True is not supported behind a step that mixes columns")
    scale = numbers(step, "scale_", step.scale_, (columns_of(step),))
    return _line(1 / scale, np.zeros(len(scale)))


def _line(slope: Floats, shift: Floats) -> Function:
    return lambda x: x.affine(np.diag(slope), shift)


def selected(step: Any) -> Function:
    """Some of the columns, unchanged."""
    places = np.asarray(step.get_support(indices=True), dtype=np.intp)
    return lambda x: x.picked(places)


def components(step: Any) -> Function:
    """A projection, whitened or not."""
    columns, made = columns_of(step), fitted(step, "components_")
    if np.asarray(made).dtype != np.float64:
        raise UnreadableError(f"{name_of(step)} in float32 is not supported", hint="Fit it on float64.")
    weights = numbers(step, "components_", made, np.shape(made)).T
    mean = numbers(step, "mean_", getattr(step, "mean_", np.zeros(columns)), (columns,))
    shift = -(mean @ weights)
    if getattr(step, "whiten", False):
        scale = np.maximum(np.sqrt(step.explained_variance_), np.finfo(np.float64).eps)
        weights, shift = weights / scale, shift / scale
    # What the library adds up may be larger than what is left of it.
    lost = UNSURE * (np.abs(mean) @ np.abs(weights) + np.abs(shift))

    def project(x: Bounds) -> Bounds:
        found = x.affine(weights, shift)
        return replace(found, error=found.error + lost)

    return project


def products(step: Any) -> Function:
    """PolynomialFeatures: products of powers of the columns, all of as many columns at once."""
    whole = [tuple((int(k), int(row[k])) for k in np.flatnonzero(row)) for row in np.asarray(fitted(step, "powers_"))]
    # Each is the power of its first column times a product of the others, which is known by then.
    known = {()} | {part for some in whole for k in range(len(some)) for part in (some[k : k + 1], some[k:])}
    order = sorted(known, key=lambda some: (len(some), [exponent for _, exponent in some], some))
    place = {some: k for k, some in enumerate(order)}
    made = [list(some) for _, some in itertools.groupby(order[1:], key=lambda some: (len(some), some[0][1]))]

    def multiply(x: Bounds) -> Bounds:
        found = x.affine(np.zeros((x.error.shape[1], 1)), np.ones(1))
        for alike in made:
            if len(alike[0]) == 1:
                more = power(x.picked([some[0][0] for some in alike]), alike[0][0][1])
            else:
                first, rest = [place[some[:1]] for some in alike], [place[some[1:]] for some in alike]
                more = found.picked(first).times(found.picked(rest))
            found = joined([found, more])
        return found.picked([place[some] for some in whole])

    return multiply


def splines(step: Any) -> Function:
    """SplineTransformer with extrapolation="constant"."""
    if step.extrapolation != "constant" or getattr(step, "handle_missing", "error") != "error":
        raise UnreadableError(
            f"{name_of(step)} with extrapolation={step.extrapolation!r} is not supported",
            hint='Use extrapolation="constant", the default.',
        )
    if step.degree < 1:
        raise UnreadableError(f"{name_of(step)} with degree={step.degree} jumps, which is not bounded over boxes")
    count = step.n_features_out_ // columns_of(step) + (0 if step.include_bias else 1)
    curves = [_Curve(spline, int(step.degree), count, bool(step.include_bias)) for spline in fitted(step, "bsplines_")]
    return lambda x: joined([curve(x.picked([k])) for k, curve in enumerate(curves)])


class _Curve:
    """The B-splines of one column."""

    def __init__(self, spline: Any, degree: int, count: int, last: bool) -> None:
        self.low, self.high = float(spline.t[degree]), float(spline.t[-degree - 1])
        self.kept = count if last else count - 1
        self.spline, self.steep = spline, spline.derivative()
        self.bend = spline.derivative(2) if degree > 1 else None
        self.degree, self.knots = degree, np.asarray(spline.t, dtype=np.float64)

    def __call__(self, x: Bounds) -> Bounds:
        seen = Range(*(np.clip(side, self.low, self.high) for side in x.said))
        slope = self._between(self.steep, seen)
        inside = x.said.low < self.high, x.said.high > self.low
        moving = (inside[0] & inside[1]).astype(np.float64)
        beyond = (x.said.low < self.low) | (x.said.high > self.high)
        least = np.where(beyond, np.minimum(slope.low, 0.0), slope.low) * moving
        most = np.where(beyond, np.maximum(slope.high, 0.0), slope.high) * moving
        steep = Range(least, most).rounded()
        middle = seen.low + (seen.high - seen.low) / 2
        # The middle of numbers that are large beside their distance is rounded.
        away = np.maximum(seen.high - middle, middle - seen.low)[:, [0]] * (1 + UNSURE)
        at = np.asarray(self.spline(middle[:, 0]))[:, : self.kept]
        values = Range(at - away * steep.size, at + away * steep.size).wider(2 * UNSURE)
        values = Range(np.maximum(values.low, -UNSURE), np.minimum(values.high, 1 + UNSURE))
        error = x.error * steep.size + 2 * UNSURE
        found = Bounds(values, error)
        if x.change is None:
            return found
        own, tilt = x.change, (steep.low + steep.high) / 2
        part = ((steep.high - steep.low) / 2 + UNSURE * steep.size) * (own.size + own.rest.size) * (1 + UNSURE)
        if self.degree > 1:
            # Between its ends a curve is no farther from its chord than bends are strong, times width^2 / 8.
            width = (seen.high - seen.low)[:, [0]]
            ends = (np.asarray(self.spline(side[:, 0]))[:, : self.kept] for side in seen)
            first, last = ends
            chord = (last - first) / np.maximum(width, TINY)
            away = self._between(self.bend, seen).size * width**2 / 4 + UNSURE * (4 + np.abs(chord) * width)
            inside = ~beyond[:, [0]] & (width > 0) & (away < part)
            tilt, part = np.where(inside, chord, tilt), np.where(inside, away, part)
        rest = own.rest.times(Range(tilt, tilt)).plus(Range(-part, part))
        blame = own.blame * np.abs(tilt)[:, None, :] + own.share * (2 * part)[:, None, :]
        return replace(found, change=own.after(self(own.centre), own.slopes * tilt[:, None, :], rest, blame))

    def _between(self, lower: Any, seen: Range) -> Range:
        """Bounds of a derivative: a spline lies between its coefficients that count at a number."""
        coefficients = np.asarray(lower.c)[:, : self.kept]
        knots, degree = np.asarray(lower.t), int(lower.k)
        places = len(knots) - degree - 1
        first = np.searchsorted(knots, seen.low[:, 0], side="left") - 1 - degree
        last = np.searchsorted(knots, seen.high[:, 0], side="right") - 1
        # Of many boxes few have different coefficients; those of NaN have none.
        some, place = np.unique(np.stack([first, last]), axis=1, return_inverse=True)
        parts = [coefficients[max(start, 0) : min(end, places - 1) + 1] for start, end in some.T.tolist()]
        parts = [part if len(part) else np.full((1, self.kept), np.nan) for part in parts]
        least, most = (np.array([side(part, axis=0) for part in parts])[place.ravel()] for side in (np.min, np.max))
        return Range(least, most)


STEPS: dict[str, Callable[[Any], Function]] = {
    "sklearn.preprocessing.StandardScaler": standard,
    "sklearn.preprocessing.RobustScaler": robust,
    "sklearn.preprocessing.MinMaxScaler": min_max,
    "sklearn.preprocessing.MaxAbsScaler": max_abs,
    "sklearn.preprocessing.PolynomialFeatures": products,
    "sklearn.preprocessing.SplineTransformer": splines,
    "sklearn.decomposition.PCA": components,
    "sklearn.decomposition.TruncatedSVD": components,
    "sklearn.feature_selection.VarianceThreshold": selected,
    "sklearn.feature_selection.SelectKBest": selected,
    "sklearn.feature_selection.SelectFromModel": selected,
}
MADE_OF_SEVERAL = ("PCA", "TruncatedSVD", "PolynomialFeatures")
MIXING = ("PolynomialFeatures", "SplineTransformer", "PCA", "TruncatedSVD")


def step_function(step: Any) -> Function:
    """What a step does to the columns; raises UnreadableError for one that is not listed."""
    for path, made in STEPS.items():
        if is_a(step, path):
            return made(step)
    raise UnreadableError(f"{name_of(step)} is not bounded over boxes")


def keeps_apart(step: Any) -> bool:
    """Whether each of the columns that a step makes is made of one column."""
    return not any(is_a(step, path) for path in STEPS if path.rpartition(".")[2] in MADE_OF_SEVERAL)


def mixes(step: Any) -> bool:
    """Whether a step makes one column of several, or several of one that are no tests of it."""
    return any(is_a(step, path) for path in STEPS if path.rpartition(".")[2] in MIXING)
