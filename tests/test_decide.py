"""One reading of a row, three-valued; the checker's own, which shares no code with it, is the same."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.certify.numbers import canonical
from mace.certify.statement import certifiable, statement
from mace.certify.writer import certificate
from mace.errors import ModelError
from mace.problem.distance import norm
from mace.problem.proof import Leaf
from mace.problem.question import Goal, Question
from mace.proofs.kernel.proof import read_model
from mace.proofs.kernel.statement import Statement
from mace.space.axes import Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import decides
from mace.tables.table import Ensemble, Layer, Network, decision_for
from tests.reference import points, random_question

KINDS = ("exact", "any order", "scores that may err", "sigmoid", "float32", "few bits")


def variant(question: Question, kind: str, rng: np.random.Generator) -> Question:
    """The question with a model whose last bits are less well known, or decide more often."""
    model = question.model
    if isinstance(model, Ensemble):
        changes = {"any order": {"ordered": False}, "scores that may err": {"error": 2.0**-20}}.get(kind, {})
        if kind == "sigmoid" and model.rule == "positive":
            changes = {"rule": "sigmoid"}
        if kind == "float32":
            changes = {"dtype": "float32"}
        if kind == "few bits":  # many ties
            trees = [replace(tree, value=np.round(tree.value * 4) / 4) for tree in model.trees]
            changes = {"trees": tuple(trees), "ordered": False, "divide": 3}
        return replace(question, model=replace(model, **changes))
    assert isinstance(model, Network)
    if kind == "float32":
        layers = [
            Layer(
                layer.weights.astype(np.float32).astype(float),
                layer.bias.astype(np.float32).astype(float),
                layer.activation,
            )
            for layer in model.layers
        ]
        return replace(question, model=replace(model, layers=tuple(layers), dtype="float32"))
    if kind == "few bits":
        layers = [
            Layer(np.round(layer.weights * 2) / 2, np.round(layer.bias * 2) / 2, layer.activation)
            for layer in model.layers
        ]
        return replace(question, model=replace(model, layers=tuple(layers)))
    return question


def read(data: dict[str, object]) -> Statement:
    return Statement(data, read_model(data["model"]))


def accepted(problem: Statement, point: Point) -> bool:
    return bool(problem.model.witness(problem, list(point)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_accepts_as_witnesses_just_the_points_that_certainly_have_the_goal(kind: str) -> None:
    said = {True: 0, False: 0, None: 0}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        question = variant(random_question(7000 + seed, extras=False), kind, rng)
        if certifiable(question) is not None:
            continue
        problem = read(json.loads(canonical(statement(question, None))))
        everywhere = list(points(question))
        for place in rng.permutation(len(everywhere))[:15].tolist():
            point = everywhere[place]
            here = question.has_goal(point)
            said[here] += 1
            assert accepted(problem, point) == (here is True), (seed, point, here)
    assert said[True] > 20
    assert said[False] > 20
    assert said[None] or kind not in ("scores that may err", "few bits")


def test_a_witness_that_the_cast_to_float32_leaves_in_doubt_is_not_written() -> None:
    # The writer looked at the sums in float32, and forgot that the inputs are rounded to it first.
    space = Space([Feature("x", "real", 0, 1, step="0.1"), Feature("y", "real", 0, 1, step="0.1")])
    axes = space.axes({"x": 0.3, "y": 0.7})
    weights = np.array([[1.5], [0.75]])
    in_doubt = 0
    for ulps in range(-40, 41):
        layer = Layer(weights, np.array([-0.975 + ulps * 2.0**-26]), "identity")
        table = Network((layer,), 2, "positive", (0, 1), dtype="float32")
        asked = Question(space, axes, table, Goal("1", frozenset([1]), decision_for(table, {1})), norm("l1", 2))
        made = certificate(asked, Fraction(0), asked.start, [Leaf("distance")]).to_dict()
        in_doubt += asked.has_goal(asked.start) is None
        assert (made["witness"] is not None) == accepted(read(made["statement"]), asked.start)
    assert 5 < in_doubt < 75


def test_larger_rows_that_were_read_before_change_no_reading() -> None:
    for seed in range(10):
        question = random_question(seed, "network")
        assert isinstance(question.model, Network)
        rng = np.random.default_rng(seed)
        rows = [question.row(point) for point in list(points(question))[:40]]
        alone = [decides(replace(question.model), question.goal.decision, row) for row in rows]
        for large in (1.0, 1e6, 1e300):
            seen = replace(question.model)
            with contextlib.suppress(ModelError):  # scores of such rows may overflow
                decides(seen, question.goal.decision, large * rng.normal(size=seen.columns))
            assert [decides(seen, question.goal.decision, row) for row in rows] == alone, (seed, large)
