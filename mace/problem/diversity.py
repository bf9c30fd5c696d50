"""What the answers of a set must not have in common.

In:  what a caller asked for as `diversity` of answers that are found together.
Out: `Diversity`, and whether two points may stand in one set.

    F    (features): any two answers change different sets of features;
    FV   (values):   a feature that two answers both change takes different values in them;
    a number:        any two answers are at least so far apart, in the question's own distance;
    F=w, FV=w:       soft: what any two answers differ in is worth something, and taken off the sum of distances: w for
                     each feature that just one of them changes (F), or for each changed value that just one of them
                     takes (FV).

Two answers are never the same point. Source: Navas-Palencia 2021, "Optimal Counterfactual Explanations for Scorecard
modelling", hard and soft constraints of diversity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mace.base.escape import short
from mace.base.exact import as_written
from mace.errors import MaceError, NumberError

if TYPE_CHECKING:
    from mace.problem.question import Question
    from mace.space.axes import Point


class Diversity(NamedTuple):
    """The conditions on every two answers of a set; that they are two different points is always one of them.

    by_features, by_values: what is taken off the sum for each feature that just one of two changes, and for each
                            changed value that just one of them takes.
    """

    features: bool = False
    values: bool = False
    apart: Fraction | None = None
    by_features: Fraction = Fraction(0)
    by_values: Fraction = Fraction(0)

    @property
    def soft(self) -> bool:
        """Whether differences are worth something."""
        return bool(self.by_features or self.by_values)

    @property
    def hard(self) -> Diversity:
        """The conditions alone."""
        return self._replace(by_features=Fraction(0), by_values=Fraction(0))

    @property
    def named(self) -> tuple[str, ...]:
        """Its conditions by name, as `without` takes them."""
        apart = () if self.apart is None else ("distance",)
        return (*(("F",) if self.features else ()), *(("FV",) if self.values else ()), *apart)

    def without(self, name: str) -> Diversity:
        """The same with one condition less."""
        field = {"F": "features", "FV": "values", "distance": "apart"}[name]
        return self._replace(**{field: Diversity._field_defaults[field]})

    def fits(self, question: Question, one: Point, other: Point) -> bool:
        """Whether two points may stand in one set."""
        if one == other:
            return False
        first, second = set(question.changed(one)), set(question.changed(other))
        if self.features and first == second:
            return False
        if self.values and any(one[j] == other[j] for j in first & second):
            return False
        return self.apart is None or question.distance_between(one, other) >= self.apart

    def worth(self, question: Question, one: Point, other: Point) -> Fraction:
        """What the differences of two points are worth."""
        first, second = set(question.changed(one)), set(question.changed(other))
        alone, both = len(first ^ second), sum(one[j] != other[j] for j in first & second)
        return self.by_features * alone + self.by_values * (alone + 2 * both)

    def __str__(self) -> str:
        """In words, for people."""
        words = ["different features"] if self.features else []
        words += ["different values"] if self.values else []
        words += [f"at least {self.apart} apart"] if self.apart is not None else []
        words += [self.rewards] if self.soft else []
        return ", ".join(words) or "different points"

    @property
    def rewards(self) -> str:
        """What differences are worth, in words."""
        words = [f"{float(self.by_features):.6g} for each feature that just one of two answers changes"]
        words += [f"{float(self.by_values):.6g} for each changed value that just one of two takes"]
        return ", ".join(w for w, worth in zip(words, (self.by_features, self.by_values), strict=True) if worth)


def diversity_of(spec: object) -> Diversity:
    """Conditions from "F", "FV", "points", a least distance > 0, or several: "F+FV", "F+0.1", ["F", 0.1].

    What is worth something has it behind: "F=0.01", {"F": 0.01}, "FV+F=0.01". Raises MaceError for anything else.
    """
    if isinstance(spec, Diversity):
        return spec
    parts = spec.split("+") if isinstance(spec, str) else list(spec) if isinstance(spec, Sequence) else [spec]
    made = Diversity()
    for part in parts:
        name = part.strip() if isinstance(part, str) else part
        if isinstance(name, str) and "=" in name:
            name = dict([[text.strip() for text in name.split("=", 1)]])
        if isinstance(name, Mapping):
            for kind, worth in name.items():
                made = _soft(made, kind, worth)
        elif name in ("F", "features"):
            made = made._replace(features=True)
        elif name in ("FV", "values"):
            made = made._replace(values=True)
        elif name != "points":
            made = made._replace(apart=_apart(name))
    return made


def _soft(made: Diversity, kind: object, worth: object) -> Diversity:
    """The same where differences of a kind are worth something."""
    if kind in ("F", "features"):
        return made._replace(by_features=_worth(worth))
    if kind in ("FV", "values"):
        return made._replace(by_values=_worth(worth))
    raise MaceError(f'worth something are features ("F") or values ("FV") that differ, not {short(kind)}')


def _worth(number: object) -> Fraction:
    """What a difference is worth."""
    try:
        worth = as_written(number)
    except NumberError as error:
        raise MaceError(f"a difference is worth a distance: {error.message}", hint=error.hint) from None
    if worth <= 0:
        raise MaceError(f"what a difference is worth must be > 0, got {short(number)}")
    return worth


def _apart(number: object) -> Fraction:
    """A least distance between any two answers."""
    return least_distance(
        number,
        'diversity of answers found together is "F", "FV", "points", a least distance between any two, or several '
        'such as "F+FV"',
    )


def least_distance(number: object, says: str) -> Fraction:
    """A least distance between answers; says: what diversity is, for whoever gave no number. Raises MaceError."""
    try:
        apart = as_written(number)
    except NumberError as error:
        raise MaceError(f"{says}: {error.message}", hint=error.hint) from None
    if apart <= 0:
        raise MaceError(f"the least distance between answers must be > 0, got {short(number)}")
    return apart
