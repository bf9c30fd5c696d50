"""One table for two models, and the decisions of both as comparisons of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from mace.errors import ModelError
from mace.space.columns import Column
from mace.tables.table import Compare, Decision, Ensemble, Network, decision_of
from mace.tables.validity import decision_fault, validate

Pair: TypeAlias = tuple[int, int]


class NoProduct(ModelError):  # noqa: N818  # a reason, not a fault of the model
    """Two tables that no prover takes together; what is asked of both is unknown."""


@dataclass(frozen=True)
class Product:
    """One table for two models; `extra` maps a pair of classes to the comparisons that follow from it."""

    table: Ensemble | Network
    columns: tuple[Column, ...]
    first: tuple[Decision, ...]
    second: tuple[Decision, ...]
    extra: dict[Pair, tuple[Compare, ...]]

    def __post_init__(self) -> None:
        validate(self.table, "the product of two models")
        for decision in (*self.first, *self.second, tuple(self.extra.values())):
            fault = decision_fault(decision, self.table.outputs)
            assert not fault, f"the product of two models: {fault}"

    def goal(self, pairs: Sequence[Pair]) -> Decision:
        """One of these pairs of decisions (indices of classes of the first and of the second model)."""
        return tuple(
            (*one, *other, *self.extra.get((i, j), ()))
            for i, j in pairs
            for one in self.first[i]
            for other in self.second[j]
        )


def decisions_of(table: Ensemble | Network) -> tuple[Decision, ...]:
    """One decision a class; of a regression model, whose scores are compared as they are, one that always holds."""
    if not table.classes:
        return (((),),)
    return tuple(decision_of(table, index) for index in range(len(table.classes)))


def moved(decision: Decision, by: int) -> Decision:
    """The same decision about scores that stand so many places further on."""
    return tuple(
        tuple(
            replace(c, plus=None if c.plus is None else c.plus + by, minus=None if c.minus is None else c.minus + by)
            for c in part
        )
        for part in decision
    )


def name_of(one: Ensemble | Network, other: Ensemble | Network) -> str:
    """What the product is called."""
    return f"{one.name} twice" if one.name == other.name else f"{one.name} and {other.name}"
