"""How far a point is from the start: l0, l1, linf and their mixtures, with weights, in exact rationals.

    d = alpha * sum w_j [delta_j > 0]  +  beta * sum w_j delta_j  +  gamma * max w_j delta_j

with alpha, beta, gamma >= 0 and J (alpha + beta) + gamma = 1 for J features, so that d lies in [0, 1] for weights 1:
"l0" is the share of features changed (alpha = 1/J), "l1" the mean of delta (beta = 1/J), "linf" its maximum.
A distance may also be a program of the core language over the features (`Age`) and the start (`start_Age`), or be
measured from the nearest of several rows in the place of the start.
Source: Karimi et al. 2020, equation 3; on the side condition see proofs/divergences.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isinf
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.escape import short
from mace.base.exact import as_written, magnitude, nearest
from mace.errors import MaceError, NumberError

if TYPE_CHECKING:
    from mace.language import Program
    from mace.problem.forms import Forms
    from mace.space.axes import Point

NEARLY_ONE = Fraction(1, 10**9)  # so far may the sum of shares be from 1: floats miss it


class DistanceError(MaceError):
    """A distance that is not one: unknown name, negative coefficient, side condition not met."""


class Cost(NamedTuple):
    """What a change adds to the sum, and what it asks of the largest."""

    part: Fraction
    top: Fraction


def distance_of_costs(costs: Iterable[Cost]) -> Fraction:
    """The distance of a point whose changes cost so much."""
    total = largest = Fraction(0)
    for part, top in costs:
        if part:
            total += part
        if top and top > largest:
            largest = top
    return total + largest


class Charge(NamedTuple):
    """What a norm charges one feature for a change: `once`, and per delta of 1 in the sum and in the largest.

    The only place that says that a change by 0 costs nothing, not even under l0.
    """

    once: Fraction
    slope: Fraction
    peak: Fraction

    def part(self, delta: Fraction) -> Fraction:
        """What the change adds to the sum (the l0 and l1 parts)."""
        if not delta or not self.slope:
            return self.once if delta else Fraction(0)
        return self.once + self.slope * delta if self.once else self.slope * delta

    def top(self, delta: Fraction) -> Fraction:
        """What the change asks of the largest (the linf part)."""
        return self.peak * delta if self.peak else Fraction(0)

    def of(self, delta: Fraction) -> Cost:
        """What the change adds to the sum, and what it asks of the largest."""
        return Cost(self.part(delta), self.top(delta))

    def least(self, delta: Fraction) -> Fraction:
        """The least distance of a point with this change."""
        return self.part(delta) + self.top(delta)

    def times(self, scale: Fraction | int) -> Charge:
        """The charge in smaller units, of which a distance of 1 has `scale`."""
        return Charge(*(share * scale for share in self))


MOST_IN_FLOATS = 300  # binary digits of a charge in the unit in which floats count
USUAL = 128  # times 1, or a part of it, is what distances usually come to
FREE = Charge(Fraction(0), Fraction(0), Fraction(0))


class Charged(NamedTuple):
    """What changes of many points cost in floats: in the sum, and in the largest; each of shape (points, features)."""

    part: NDArray[np.float64]
    top: NDArray[np.float64]

    @property
    def total(self) -> NDArray[np.float64]:
        """The distance of each point, shape (points,)."""
        with np.errstate(over="ignore"):
            return np.asarray(self.part.sum(axis=1) + self.top.max(axis=1, initial=0.0))


@dataclass(frozen=True)
class Norm:
    """A mixture of l0, l1 and linf over J features; `weights` has one entry per feature, all >= 0."""

    alpha: Fraction
    beta: Fraction
    gamma: Fraction
    weights: tuple[Fraction, ...]
    name: str = "mixture"

    def of(self, deltas: Sequence[Fraction]) -> Fraction:
        """The distance for the scaled changes delta, one per feature."""
        return distance_of_costs(charge.of(delta) for charge, delta in zip(self.charges, deltas, strict=True) if delta)

    def charged(self, deltas: NDArray[np.float64]) -> Charged:
        """What changes of many points cost, in floats that serve to compare them; deltas: shape (points, features)."""
        once, slope, top = self._floats
        with np.errstate(over="ignore", invalid="ignore"):  # charges may be beyond floats
            part = slope * deltas
            if once.any():
                part += once * (deltas > 0)
            return Charged(part, top * deltas)

    @cached_property
    def charges(self) -> tuple[Charge, ...]:
        """What the norm charges each feature for a change."""
        return tuple(Charge(weight * self.alpha, weight * self.beta, weight * self.gamma) for weight in self.weights)

    @cached_property
    def _floats(self) -> NDArray[np.float64]:
        """The charges in floats: a row each for `once`, `slope` and `peak`."""
        return np.array([[nearest(part) for part in charge] for charge in self.charges]).T

    @cached_property
    def dearest(self) -> float:
        """The largest charge in floats; infinite where it is beyond them."""
        return float(self._floats.max(initial=0.0))

    @cached_property
    def widest(self) -> Fraction:
        """The largest distance that there can be, of changes of at most 1."""
        return self.of([Fraction(1)] * len(self.weights))

    @cached_property
    def beyond_floats(self) -> bool:
        """Whether distances, or what is paid for them, may be larger than every float."""
        return isinf(nearest(self.widest * 2**MOST_IN_FLOATS))

    @cached_property
    def unit(self) -> Fraction:
        """What counts as a distance of about 1, a power of two: 1, unless all weights make distances far larger than
        that, or all far smaller. A weight of 1e9 for one feature is nothing to the others.

        A gap, and what a search in floats calls nearly nothing, are of this size.
        """
        return Fraction(2) ** self.exponent

    @cached_property
    def exponent(self) -> int:
        """The unit as a power of two."""
        size = min(self.widest, max(self._cheapest, Fraction(1)))
        if not size or Fraction(1, USUAL) <= size <= USUAL:
            return 0
        return magnitude(size)

    @cached_property
    def finest(self) -> Fraction:
        """The same of the feature that is cheapest to change, where that is far less than the unit: another power of
        two. A point may be several times as far as the nearest and yet differ from it by a part of this alone.
        """
        least = self._cheapest
        return Fraction(2) ** magnitude(least) if 0 < least < self.unit / USUAL else self.unit

    @cached_property
    def _cheapest(self) -> Fraction:
        """The largest distance, if every feature had the least weight that is not 0."""
        least = min(filter(None, self.weights), default=Fraction(0))
        return least * (len(self.weights) * (self.alpha + self.beta) + self.gamma)

    @cached_property
    def uneven(self) -> bool:
        """Whether distances may be far from the unit, less or more: what is near enough is a part of them, too."""
        return self.finest < self.unit or self.widest > USUAL * self.unit

    @cached_property
    def unit_in_floats(self) -> Fraction:
        """The unit, or so many times it that floats hold every charge in it, and products of a few."""
        return Fraction(2) ** max(self.exponent, magnitude(self.widest) - MOST_IN_FLOATS)

    @cached_property
    def _hash(self) -> int:
        return hash((self.alpha, self.beta, self.gamma, self.weights))  # no text: its hash differs between processes

    def __hash__(self) -> int:
        """Worked out once: what is kept by a norm is looked up many times an answer."""
        return self._hash


@dataclass(frozen=True, slots=True)
class DistanceProgram:
    """A distance given as a core-language program; inputs are features `x` and start values `start_x`.

    forms: the same as a sum of absolute values of linear forms, where it is one.
    """

    program: Program
    name: str = "program"
    forms: Forms | None = None

    @property
    def unit(self) -> Fraction:
        """As `Norm.unit`: of a program nobody knows better than 1."""
        return Fraction(1)

    @property
    def finest(self) -> Fraction:
        """As `Norm.finest`, of forms; any other program may count in millions, or in parts of them: nobody knows."""
        return Fraction(0) if self.forms is None else self.forms.finest

    @property
    def uneven(self) -> bool:
        """As `Norm.uneven`."""
        return True


@dataclass(frozen=True, slots=True)
class NearestRow:
    """The least norm of a change from any of some rows; none before the goal is known that they all have.

    left_out: how many different rows with the goal are no points of the space, so that nothing is measured from them.
    """

    norm: Norm
    rows: tuple[Point, ...] = ()
    name: str = "plausibility"
    left_out: int = 0

    @property
    def unit(self) -> Fraction:
        """As `Norm.unit`."""
        return self.norm.unit

    @property
    def finest(self) -> Fraction:
        """As `Norm.finest`."""
        return self.norm.finest

    @property
    def uneven(self) -> bool:
        """As `Norm.uneven`."""
        return self.norm.uneven


Distance: TypeAlias = Norm | DistanceProgram | NearestRow


def is_measured(distance: Distance) -> bool:
    """Whether certificates can speak of a distance: a norm, or a sum of absolute values of linear forms."""
    return isinstance(distance, Norm) or isinstance(distance, DistanceProgram) and distance.forms is not None


def norm(
    spec: str | Mapping[str, object],
    features: int,
    weights: Sequence[object] | None = None,
) -> Norm:
    """A norm over `features` features.

    spec: "l0", "l1", "linf"; or shares of each, such as {"l0": 0.25, "l1": 0.75} or "l0=0.25, l1=0.75", that sum to 1;
          or the paper's {"alpha": .., "beta": .., "gamma": ..} with features * (alpha + beta) + gamma = 1. What sums of
          floats miss of the 1, such as those of 1/3 and 2/3, is shared out.
    weights: one number >= 0 per feature; 1 when absent.
    Raises DistanceError with what is wrong.
    """
    try:
        weight = tuple(as_written(w) for w in weights) if weights is not None else (Fraction(1),) * features
    except NumberError as error:
        raise DistanceError(f"a weight must be a number: {error.message}", hint=error.hint) from None
    if len(weight) != features:
        raise DistanceError(f"expected {features} weights, one a feature; got {len(weight)}")
    if (least := min(weight, default=Fraction(0))) < 0:
        raise DistanceError(
            f"a weight must not be negative; that of feature {weight.index(least) + 1} of {features} is {least}",
            hint="Give a weight of 0 to a feature whose changes cost nothing.",
        )
    if isinstance(spec, str) and "=" in spec:
        spec = shares_of(spec.lower())
    if isinstance(spec, str):
        spec = spec.strip().lower()  # as papers write it: L1
        if spec not in ("l0", "l1", "linf"):
            raise DistanceError(
                f"unknown distance {short(spec)}",
                hint='Use "l0", "l1", "linf", a mixture such as "l0=0.5,l1=0.5", or a .mace program.',
            )
        shares: Mapping[str, object] = {spec: 1}
        name = spec
    else:
        shares, name = spec, "mixture"
    return Norm(*_coefficients(shares, features), weight, name)


def shares_of(text: str) -> dict[str, object]:
    """What a text such as "l0=0.5, l1=0.5" says, a number by its name; raises DistanceError."""
    shares: dict[str, object] = {}
    for part in text.split(","):
        name, equals, number = (word.strip() for word in part.partition("="))
        if not (name and equals and number):
            raise DistanceError(f"{short(text)} is no sum: {short(part.strip())} is not NAME=NUMBER")
        if name in shares:
            raise DistanceError(f"{short(text)} gives {short(name)} twice", hint="Leave one of them out.")
        shares[name] = number
    return shares


def _coefficients(shares: Mapping[str, object], features: int) -> tuple[Fraction, Fraction, Fraction]:
    """alpha, beta and gamma of shares, or of themselves."""
    try:
        numbers = {key: as_written(value) for key, value in shares.items()}
    except NumberError as error:
        raise DistanceError(f"a mixture needs numbers: {error.message}", hint=error.hint) from None
    if set(numbers) <= {"alpha", "beta", "gamma"} and numbers:
        alpha, beta, gamma = (numbers.get(key, Fraction(0)) for key in ("alpha", "beta", "gamma"))
        total = features * (alpha + beta) + gamma
        if abs(total - 1) > NEARLY_ONE:
            raise DistanceError(
                f"alpha, beta and gamma must satisfy J * (alpha + beta) + gamma = 1 with J = {features} features; "
                f"here it is {float(total)}",
                hint='Or give shares that sum to 1, such as {"l0": 0.5, "l1": 0.5}.',
            )
        alpha, beta, gamma = alpha / total, beta / total, gamma / total
    elif set(numbers) <= {"l0", "l1", "linf"} and numbers:
        total = sum(numbers.values(), Fraction(0))
        if abs(total - 1) > NEARLY_ONE:
            raise DistanceError(f"the shares of a mixture must sum to 1; here they sum to {float(total)}")
        numbers = {key: share / total for key, share in numbers.items()}
        alpha = numbers.get("l0", Fraction(0)) / features
        beta = numbers.get("l1", Fraction(0)) / features
        gamma = numbers.get("linf", Fraction(0))
    else:
        raise DistanceError(
            f"a mixture has the keys l0, l1, linf or alpha, beta, gamma; got {sorted(numbers)}",
        )
    if min(alpha, beta, gamma) < 0:
        raise DistanceError("a mixture needs coefficients >= 0")
    return alpha, beta, gamma
