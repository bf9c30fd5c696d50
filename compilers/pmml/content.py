"""What a PMML file says a model is, typed: trees, sums of trees and numbers, votes, scores with a link.

Out: `Content`. A scorecard's characteristic, and a coefficient of a category, is a tree of one level.
Promise: every number is finite, every field is known. `compilers/pmml/evaluate.py` says what a row gets,
`compilers/pmml/reader.py` makes a table of it; the two share nothing but this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from mace.compilers.pmml.fields import Field, Source
from mace.compilers.pmml.predicates import Predicate, Several, Test
from mace.tables.table import Label

Strategy: TypeAlias = Literal["none", "lastPrediction", "nullPrediction", "defaultChild"]


@dataclass(frozen=True, eq=False)
class PmmlNode:
    """A node: its predicate, what it predicts, and the nodes below it, in order.

    score:   a number, or the place of a class; None: it predicts nothing.
    shares:  of each class, a probability; none where it has none.
    default: the place among `below` of the one that rows with an unknown predicate go to.
    inner:   of a segment, its own tree, which predicts for the rows that come here; there is nothing below then.
    """

    predicate: Predicate
    score: float | int | None = None
    shares: tuple[float, ...] = ()
    below: tuple[PmmlNode, ...] = ()
    default: int | None = None
    inner: Tree | None = None


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree: what it does where a predicate is unknown, and whether a node predicts for rows that none below takes.

    disputed: whether it is rules of which the heaviest decides, and some programs may let another one.
    """

    root: PmmlNode
    strategy: Strategy = "none"
    last: bool = False
    disputed: bool = False

    def nodes(self) -> Iterator[PmmlNode]:
        """All nodes."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += node.below
            waiting += [] if node.inner is None else [node.inner.root]


@dataclass(frozen=True, eq=False)
class Number:
    """The number that a field is; a missing one has no prediction."""

    field: Field


@dataclass(frozen=True, eq=False)
class Sum:
    """start + by * term + .."""

    start: Fraction
    terms: tuple[tuple[Tree | Number, Fraction], ...]

    def times(self, by: Fraction) -> Sum:
        """The sum times a number."""
        return Sum(self.start * by, tuple((term, old * by) for term, old in self.terms))

    def plus(self, other: Sum) -> Sum:
        """The sum of both."""
        return Sum(self.start + other.start, self.terms + other.terms)


@dataclass(frozen=True, eq=False)
class Votes:
    """Trees that decide together: by their classes, or by the mean of their `shares`; with weights."""

    members: tuple[tuple[Tree, Fraction], ...]
    shares: bool


@dataclass(frozen=True, eq=False)
class Scores:
    """A sum a class, or one alone for the second of two: the largest, or the one above 0, decides.

    link: how probabilities follow from the sums.
    """

    sums: tuple[Sum, ...]
    link: Literal["softmax", "logit", "probit", "cauchit"]


@dataclass(frozen=True, eq=False)
class Value:
    """A predicted number: the sum, or exp of it."""

    sum: Sum
    exponential: bool = False


Model: TypeAlias = Votes | Scores | Value


@dataclass(frozen=True, eq=False)
class Content:
    """A file's model.

    sources: the raw columns that it uses, in order.
    classes: none of a model that predicts a number.
    single:  whether it is to be computed in single precision: some programs do, and others do not.
    kind:    the element that it is, for messages.
    """

    model: Model
    sources: tuple[Source, ...]
    classes: tuple[Label, ...]
    single: bool
    kind: str


def sums_of(model: Model) -> tuple[Sum, ...]:
    """The sums of a model; votes have none."""
    match model:
        case Value(sum=one):
            return (one,)
        case Scores(sums=found):
            return found
        case Votes():
            return ()


def terms_of(model: Model) -> list[Tree | Number]:
    """All that a model adds up, or asks."""
    if isinstance(model, Votes):
        return [tree for tree, _ in model.members]
    return [term for one in sums_of(model) for term, _ in one.terms]


def fields_of(term: Tree | Number) -> Iterator[tuple[Field, Test | None]]:
    """The fields of a term, with the tests of them."""
    if isinstance(term, Number):
        yield term.field, None
        return
    for node in term.nodes():
        waiting: list[Predicate] = [node.predicate]
        while waiting:
            here = waiting.pop()
            if isinstance(here, Several):
                waiting += here.parts
            else:
                yield here.field, here
