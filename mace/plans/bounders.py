"""Who bounds a model over the end states of a node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mace.plans.bounds import Bounder, NoBounds
from mace.plans.network_bounds import NetworkBounds
from mace.plans.tree_bounds import TreeBounds
from mace.problem.question import Question
from mace.tables.table import Ensemble, Network, Table


def bounder_of(question: Question, moving: Sequence[str]) -> Bounder:
    """Who bounds a question's model."""
    if isinstance(question.model, Network):
        return NetworkBounds(question, moving)
    if isinstance(question.model, Ensemble):
        return TreeBounds.of(question, moving) or NoBounds()
    return NoBounds()


def warm(table: Table) -> None:
    """Compile what an ensemble's bounds need, before any clock runs."""
    if isinstance(table, Ensemble):
        from mace.solve.ensembles.arrays.best_leaves import best_gains, may_hold

        leaf, none = np.array([[-1, 0, 0, 0]]), np.zeros(1, np.int64)
        one = np.zeros((1, 1), np.int64)
        best_gains(leaf, none, one, np.ones(1, np.bool_), none, none, none, none)
        may_hold(leaf, none, one, np.ones(1, np.bool_), none, none, one, one, none, none, np.array([0, 1]))
