"""What a network's scores are at least and at most, nearer to a question's start than some radius.

In:  a question, and a network over its columns.    Out: an end of each score, below and above.
Promise: the exact sums of every allowed point within the radius lie between them.
How: the last layer as one more hidden layer, whose units have bounds as all others: each by the changes that raise it
most for what they cost (proofs/FORMAT.md, "Bounds of the hidden ReLUs").
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import above
from mace.problem.distance import Norm
from mace.problem.question import Goal, Question
from mace.solve.networks.points import Points
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Gap
from mace.solve.units import into
from mace.solve.witnesses import Witnesses
from mace.tables.table import Decision, Floats, Layer, Network


class Span(NamedTuple):
    """The least and the largest scores, shape (scores,) each."""

    low: Floats
    high: Floats


def span(question: Question, table: Network, radius: Fraction) -> Span | None:
    """See the module's docstring; None where the prover for networks does not take the question, or sees no point."""
    count, any_ = table.outputs, ((),)
    last = replace(table.layers[-1], activation="relu")
    layers = (*table.layers[:-1], last, Layer(np.eye(count), np.zeros(count), "identity"))
    decision: Decision = any_
    network = replace(table, layers=layers, decisions=(decision, decision), link=None)
    asked = question.aimed(Goal(question.goal.text, question.goal.labels, any_, enclosed=True), network)
    if NetworkOracle.accepts(asked) is not None:
        return None
    assert isinstance(asked.distance, Norm)
    unit = asked.distance.unit_in_floats
    points = Points(Witnesses(into(asked, unit)), Gap(), None, strict=False)
    node, reach = points.first_node(), above(radius / unit) * (1 + 1e-12) + 1e-15
    if not points.cut_to(node, reach) or not points.derive(node, reach, node.units):
        return None
    return Span(node.units.L[-1, :count].copy(), node.units.U[-1, :count].copy())
