"""Make the provers' compiled code ready, before any clock runs.

In:  a model's table.    Out: how many seconds of the question's clock it took.
Promise: afterwards a question about such a model loads or compiles nothing (tests/oracles/test_compiled.py), but what
`mace.solve.compiled` interprets until it is worth compiling; that clock stands while anything compiles.
Before a network of `WIDE` hidden units or more, nothing is interpreted: one relaxation would take seconds to minutes.
Before trees with `MANY` leaves or more, what is on disk is read at once: one climb to a first point would take as long.
Left out, unless the whole is wanted, are the relaxation of trees for ensembles below `LARGE`, whose searches hardly
ever come to it, and what narrows hidden units of networks, which only searches that stall come to.
How: a question so small that a child could answer it, asked of the prover of the same kind.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, assert_never

import numpy as np

from mace.base.deadline import NEVER, now
from mace.problem.distance import norm
from mace.problem.exclusions import AvoidPoint
from mace.problem.proof import Phase
from mace.problem.question import Goal, Question
from mace.solve.compiled import at_once, interpreted, read_at_once
from mace.solve.protocol import Found, Gap, Limits, Replay
from mace.solve.witnesses import Witnesses
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Formula, Layer, Link, Network, Table, Tree, decision_for

if TYPE_CHECKING:
    from mace.solve.networks.nodes import Node
    from mace.solve.networks.search import Search

LARGE = 1000  # leaves
MANY = 20_000  # leaves
WIDE = 100  # hidden units


def warm(table: Table, *, whole: bool = False) -> float:
    """Compile, or read from disk, what the prover of this kind of model needs; the seconds it took.

    whole: with what only searches that stall come to.
    """
    began = now()
    if interpreted():
        _begin(table)
    if interpreted():
        return 0.0
    match table:
        case Ensemble():
            trees()
            if table.link is not None and table.link.kind == "mean":
                members()
            if whole or table.leaves >= LARGE:
                relaxation()
        case Network():
            layers()
            if whole and any(layer.activation == "relu" for layer in table.layers):
                tightening()
        case Formula():
            pass  # only solvers take programs
        case _:
            assert_never(table)
    return now() - began


def _begin(table: Table) -> None:
    """Interpret nothing before a model of which a single call would take longer than reading all from disk."""
    match table:
        case Ensemble() if table.leaves >= MANY:
            from mace.solve.ensembles.points.greedy import climb

            if climb.kept:  # type: ignore[attr-defined]
                read_at_once()
        case Network() if sum(len(layer.bias) for layer in table.layers[:-1]) >= WIDE:
            from mace.solve.networks.relax import relax

            (read_at_once if relax.kept else at_once)()  # type: ignore[attr-defined]


@cache
def trees() -> None:
    """What every search of an ensemble needs."""
    from mace.solve.ensembles.prover import EnsembleOracle

    question = about_trees()
    found = solved(question)
    solved(replace(question, distance=norm("linf", 3)))
    # Again without that point, so that a box has to be split where no tree does.
    EnsembleOracle(question.away(AvoidPoint(found.point))).ask(None, Limits(), best=found.point)


@cache
def members() -> None:
    """What a search for a mean of trees needs beside."""
    from mace.problem.goal_means import Condition, whole_of
    from mace.solve.ensembles.means.cover import cover, functions_of
    from mace.solve.ensembles.means.prover import MeanOracle

    question = about_members()
    prover = MeanOracle(question, (Condition(1.0, 0.5),))
    found = prover.ask(None, Limits(), replay=Replay(lambda _: True))
    assert isinstance(found, Found) and found.proof is not None
    corners = prover.corners(found.proof, found.lower, NEVER)
    assert corners is not None and isinstance(question.model, Ensemble)
    cover(functions_of(question.model, prover.conditions), corners.refuted, whole_of(question.model), 9)
    meets = prover.meets(NEVER)
    assert meets is not None and meets(found.point)


@cache
def relaxation() -> None:
    """What a search that stalls needs beside; smaller forests end before that."""
    from mace.solve.ensembles.arrays.cells import ground
    from mace.solve.ensembles.arrays.terms import Bound, Terms
    from mace.solve.ensembles.boxes.handover import Handover
    from mace.solve.ensembles.boxes.plain import Plain
    from mace.solve.ensembles.boxes.stalled import relaxed
    from mace.solve.ensembles.relaxation.cliques import Finder

    question = about_trees()
    grounded = ground(question)
    plain = Plain(Witnesses(question), grounded, Terms(Bound(), solved(question).point, Gap(), NEVER, 2**30))
    relaxed(plain, Handover())
    branching = plain.branching
    assert branching is not None and branching.root is not None and branching.root.parts
    branching.trials.choose(branching.root)  # which is closed before it would be divided
    leaves = branching.relaxations[0].leaves
    finder = Finder(leaves, grounded.ground.grid)
    assert finder.found(np.ones(len(leaves.tree)))  # with shares that no relaxation has: so few trees need no cliques


@cache
def layers() -> None:
    """What every search of a network or linear model needs."""
    solved(about_layers())
    search, node = looked()
    search.relaxed(node)
    search.trials(node, [Phase(0, 0)])  # of so few units as there are here, none is tried before its sides are bounded


@cache
def tightening() -> None:
    """What a search of a network that stalls needs beside."""
    search, node = looked()
    search.tighten(node)


def looked() -> tuple[Search, Node]:
    """A search of a network, and its root."""
    from mace.solve.networks.search import Search

    search = Search(Witnesses(about_layers()), Gap(), Limits(), None, strict=False)
    search.begin()
    node = search.first_node()
    search.look(node)
    return search, node


def solved(question: Question) -> Found:
    """The answer of the prover made for such a model to one of the questions below: a point, and its proof."""
    from mace.solve.ensembles.prover import EnsembleOracle
    from mace.solve.networks.prover import NetworkOracle

    found = (EnsembleOracle if isinstance(question.model, Ensemble) else NetworkOracle)(question).ask(None, Limits())
    assert isinstance(found, Found) and found.proof is not None
    return found


def about_layers() -> Question:
    """A question about a network of two hidden units."""
    ones = np.array([[1.0, -1.0], [1.0, 1.0], [0.5, 0.0], [0.0, 1.0]])
    layers = (
        Layer(ones, np.array([-1.5, 0.25]), "relu"),
        Layer(np.array([[1.0], [-1.0]]), np.array([-0.1]), "identity"),
    )
    return _question(Network(layers, 4, "positive", (0, 1)))


def _question(model: Ensemble | Network) -> Question:
    """From a corner of a space with an axis of every kind."""
    space = Space(
        [Feature("a", "real", 0, 1), Feature("b", "integer", 0, 3), Feature("c", "categorical", levels=["u", "v"])]
    )
    axes = space.axes({"a": 0.0, "b": 0, "c": "u"})
    return Question(space, axes, model, Goal("1", frozenset([1]), decision_for(model, {1})), norm("l1", 3))


def about_members() -> Question:
    """A question about the mean of what two trees of two tests say."""
    question = about_trees()
    model = question.model
    assert isinstance(model, Ensemble)
    trees = tuple(replace(tree, value=np.roll(np.pad(tree.value, ((0, 0), (0, 1))), k, axis=1))
                  for k, tree in enumerate(model.trees))  # fmt: skip
    link = Link("mean", parts=tuple(Link("logistic", score=k) for k in range(2)))
    mean = replace(model, trees=trees, start=np.zeros(2), rule="value", link=link)
    return replace(question, model=mean)


def about_trees() -> Question:
    """A question about two trees of two tests."""

    def tree(column: int, threshold: float) -> Tree:
        return Tree(
            np.array([column, 2, -1, -1, -1], np.int32),
            np.array([threshold, 0.5, 0.0, 0.0, 0.0]),
            np.array([1, 2, -1, -1, -1], np.int32),
            np.array([4, 3, -1, -1, -1], np.int32),
            np.array([[0.0], [0.0], [-1.0], [-0.25], [1.0]]),
        )

    return _question(Ensemble((tree(0, 0.5), tree(1, 1.5)), 4, np.zeros(1), "positive", (0, 1)))
