"""A table that does not fit together is refused, with the first thing that does not, wherever it comes from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.members import equal_to
from mace.tables.table import Compare, Ensemble, Link, Network, Tree
from mace.tables.validity import tree_fault, validate
from tests.reference import random_model

SPACE = Space([Feature("a", "integer", 0, 4), Feature("s", "categorical", levels=["u", "v", "w"])])
RNG = np.random.default_rng(3)
FOREST: Ensemble = random_model(SPACE, RNG, "forest")  # type: ignore[assignment]
NETWORK: Network = random_model(SPACE, RNG, "network")  # type: ignore[assignment]


def with_tree(**parts):
    return replace(FOREST, trees=(replace(FOREST.trees[0], **parts), *FOREST.trees[1:]))


def with_layer(place: int, **parts):
    layers = list(NETWORK.layers)
    layers[place] = replace(layers[place], **parts)
    return replace(NETWORK, layers=tuple(layers))


def put(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


TREE, LAYER = FOREST.trees[0], NETWORK.layers[0]
INNER = int(np.flatnonzero(TREE.column >= 0)[0])
LEAF = int(np.flatnonzero(TREE.column < 0)[0])
WRONG = {
    "cast is 'half'": replace(FOREST, cast="half"),
    "test is '>'": replace(FOREST, test=">"),
    "dtype is 'float16'": replace(FOREST, dtype="float16"),
    "divide is 0": replace(FOREST, divide=0),
    "columns is 0": replace(FOREST, columns=0),
    "error is nan": replace(FOREST, error=float("nan")),
    "error is -1.0": replace(FOREST, error=-1.0),
    "start has a number that is not finite": replace(FOREST, start=np.full_like(FOREST.start, np.inf)),
    f"tree 0, node {INNER} tests a column beyond the": with_tree(column=put(TREE.column, INNER, 99)),
    f"tree 0, node {INNER} has its left child out of range": with_tree(left=put(TREE.left, INNER, TREE.nodes)),
    f"tree 0, node {INNER} has one child only": with_tree(left=put(TREE.left, INNER, -1)),
    "node 0 is the root and a child as well": with_tree(right=put(TREE.right, INNER, 0)),
    f"node {INNER} has a threshold that is not finite": with_tree(threshold=put(TREE.threshold, INNER, np.inf)),
    f"node {LEAF} has a leaf value that is not finite": with_tree(value=put(TREE.value, LEAF, np.nan)),
    f"node {LEAF} is a leaf and tests a category": with_tree(members={LEAF: equal_to([1])}),
    f"node {INNER} tests a set that is no rising list": with_tree(members={INNER: ((2.0, 1.0),)}),
    f"tests a category in node {TREE.nodes}": with_tree(members={TREE.nodes: equal_to([1])}),
    f"has {TREE.nodes} nodes, thresholds of shape": with_tree(value=TREE.value[:, :1]),
    "expected numbers in 2 dimensions": with_tree(value=TREE.value.astype(np.float32)),
    "has missing_left of shape": with_tree(missing_left=np.zeros(TREE.nodes)),
    "makes no 4 classes of": replace(FOREST, classes=(0, 1, 2, 3)),
    "is about a score that is not there": replace(FOREST, decisions=(((Compare(9, None),),),) * len(FOREST.classes)),
    "compares nothing": replace(FOREST, decisions=(((Compare(0, 1, 0.5),),),) * len(FOREST.classes)),
    "decisions for": replace(FOREST, decisions=((),)),
    "its probabilities follow from": replace(FOREST, link=Link("logistic", score=9)),
    "it has no layer": replace(NETWORK, layers=()),
    "layer 0: activation is 'tanh'": with_layer(0, activation="tanh"),
    "layer 0: weights has a number that is not finite": with_layer(0, weights=LAYER.weights * np.nan),
    "layer 0: weights of shape": with_layer(0, weights=LAYER.weights[1:]),
    "its last layer has the activation 'relu'": with_layer(-1, activation="relu"),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_table_that_does_not_fit_together_is_refused_with_its_reason(message: str) -> None:
    with pytest.raises(ModelError) as caught:
        validate(WRONG[message])
    assert "is damaged: " in caught.value.message and message in caught.value.message


def test_a_table_that_fits_is_returned_as_it_is() -> None:
    assert validate(FOREST) is FOREST and validate(NETWORK) is NETWORK


def renumbered(tree, order):
    """The same tree, its nodes under other numbers; order: of each new number the old one."""
    place = np.argsort(order)

    def child(old):
        return np.where(old[order] < 0, -1, place[old[order]]).astype(np.int32)

    return replace(
        tree,
        column=tree.column[order],
        threshold=tree.threshold[order],
        value=tree.value[order],
        left=child(tree.left),
        right=child(tree.right),
        members={int(place[node]): cell for node, cell in tree.members.items()},
    )


def test_nodes_may_have_any_numbers_but_each_is_reached_once() -> None:
    rng = np.random.default_rng(0)
    largest = max(FOREST.trees, key=lambda tree: tree.nodes)
    tree = replace(largest, missing_left=None)
    assert tree.nodes >= 5
    for _ in range(20):
        other = renumbered(tree, np.concatenate([[0], rng.permutation(np.arange(1, tree.nodes))]))
        assert tree_fault(other, FOREST.columns, FOREST.outputs) == ""
        inner = np.flatnonzero(other.left >= 0)
        for node in inner.tolist():
            for elsewhere in set(range(other.nodes)) - {int(other.left[node])}:
                assert tree_fault(replace(other, left=put(other.left, node, elsewhere)), FOREST.columns, FOREST.outputs)


def test_a_loop_beside_the_tree_is_no_part_of_it() -> None:
    # Nodes 3 and 4 are each other's children, so that every node but the root has one parent.
    left, right = np.array([1, -1, -1, 4, 3, -1, -1], np.int32), np.array([2, -1, -1, 5, 6, -1, -1], np.int32)
    column = np.where(left < 0, -1, 0).astype(np.int32)
    tree = Tree(column, np.zeros(7), left, right, np.zeros((7, 1)))
    assert "node 3 is not reached from the root" in tree_fault(tree, 1, 1)


def test_what_this_package_made_wrong_is_its_own_fault() -> None:
    with pytest.raises(AssertionError, match="the product of two models: divide is 0"):
        validate(replace(FOREST, divide=0), "the product of two models")
