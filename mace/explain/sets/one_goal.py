"""Facts about the points of a set, each proved of the goal as its own search told it, as facts about one goal.

In:  a question, what was proved of it region by region, and what the proofs refute of a mean of trees.
Out: the same question and facts with one goal, for a certificate that holds them all.
Promise: what has the question's goal has that of all facts. A fact that was proved of other comparisons, and cannot be
told by these, loses its proof and says why.

A search closes in on the goal near the nearest point: a mean of trees is told by comparisons that leave out what was
refuted there (`members.py` of `mace/explain/probabilities/`), a probability of several classes by half-spaces that
touch it there (`softmax.py`). Together they say more than each, so that each proof holds of all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.base.deadline import Deadline
from mace.certify.sets import Fact
from mace.explain.probabilities.members import under, without
from mace.problem.goal_means import whole_of
from mace.problem.proof import Dual, Multipliers, ProofNode, Tighten
from mace.problem.question import Question
from mace.solve.ensembles.means.cover import Refuted
from mace.tables.table import Compare, Ensemble, Floats, Network, Table

DIFFERENT = "the proofs of its single answers are about different pieces of the goal"


def under_one_goal(
    question: Question, table: Table, facts: Sequence[Fact], refuted: Sequence[Refuted], deadline: Deadline
) -> tuple[Question, list[Fact]]:
    """One goal that every fact can be proved under, and the facts under it; without their proofs where there is none.

    table: the model's own; refuted: the scores that all the facts refute together.
    """
    proved = [fact for fact in facts if fact.proof is not None]
    if isinstance(table, Ensemble) and refuted:
        return _of_mean(question, table, facts, refuted, deadline)
    if not any(_differs(fact.question, question) for fact in proved):
        return question, list(facts)
    if isinstance(question.model, Network) and all(_widens(fact.question, question) for fact in proved):
        return _touched(question, facts)
    return question, [_lost(fact, DIFFERENT) if _differs(fact.question, question) else fact for fact in facts]


def _lost(fact: Fact, why: str) -> Fact:
    return fact if fact.proof is None else fact._replace(proof=None, unproved=why)


def _of_mean(
    question: Question, table: Ensemble, facts: Sequence[Fact], refuted: Sequence[Refuted], deadline: Deadline
) -> tuple[Question, list[Fact]]:
    """Comparisons that leave out what any of the proofs refutes, of all scores: points of a set may be anywhere."""
    every = Refuted(*(np.concatenate([getattr(one, end) for one in refuted]) for end in ("low", "high")))
    found = without(question, table, every, whole_of(table), deadline)
    if isinstance(found, str):
        return question, [_lost(fact, found) for fact in facts]
    goal, model = found.goal, found.model
    return found, [
        fact._replace(
            question=replace(fact.question, goal=goal, model=model),
            proof=None if fact.proof is None else under(fact.proof, found),
        )
        for fact in facts
    ]


def _differs(one: Question, other: Question) -> bool:
    """Whether the goals of two questions about one model are told by different comparisons."""
    if one.goal.decision != other.goal.decision:
        return True
    if one.model is other.model:
        return False
    if not (isinstance(one.model, Network) and isinstance(other.model, Network)):
        return True
    own, last = one.model.layers[-1], other.model.layers[-1]
    return not (np.array_equal(own.weights, last.weights) and np.array_equal(own.bias, last.bias))


# --- half-spaces ------------------------------------------------------------------------------------------------------


def _widens(one: Question, other: Question) -> bool:
    """Whether the first question's goal is that of the other one and more half-spaces beside."""
    if not (isinstance(one.model, Network) and isinstance(other.model, Network)):
        return False
    own, first = one.model.layers[-1], other.model.layers[-1]
    same, count = len(first.bias), len(other.goal.decision[0])
    return (
        len(one.goal.decision) == len(other.goal.decision) == 1
        and one.goal.decision[0][:count] == other.goal.decision[0]
        and own.weights.shape[0] == first.weights.shape[0]
        and np.array_equal(own.weights[:, :same], first.weights)
        and np.array_equal(own.bias[:same], first.bias)
    )


def _touched(question: Question, facts: Sequence[Fact]) -> tuple[Question, list[Fact]]:
    """All half-spaces together: in the proof of each fact those of others count nothing."""
    table, (part,) = question.model, question.goal.decision
    assert isinstance(table, Network)
    first, weights, bias = table.layers[-1], list[Floats](), list[Floats]()
    own, compares, before = list[int](), list(part), list[int]()
    for fact in facts:
        model, (told,) = fact.question.model, fact.question.goal.decision
        assert isinstance(model, Network)
        own.append(len(told) - len(part))
        before.append(len(compares))
        more = len(first.bias) + sum(map(len, bias))
        compares += [Compare(one.plus, more + k) for k, one in enumerate(told[len(part) :])]
        weights.append(model.layers[-1].weights[:, len(first.bias) :])
        bias.append(model.layers[-1].bias[len(first.bias) :])
    last = replace(first, weights=np.hstack([first.weights, *weights]), bias=np.concatenate([first.bias, *bias]))
    wide = replace(table, layers=(*table.layers[:-1], last))
    goal = replace(question.goal, decision=(tuple(compares),))
    found = []
    for fact, begin, count in zip(facts, before, own, strict=True):
        places = [*range(len(part)), *range(begin, begin + count)]
        proof = None if fact.proof is None else [_placed(node, places, len(compares)) for node in fact.proof]
        found.append(fact._replace(question=replace(fact.question, goal=goal, model=wide), proof=proof))
    return replace(question, goal=goal, model=wide), found


def _placed(node: ProofNode, places: Sequence[int], count: int) -> ProofNode:
    """A node whose multipliers of comparisons stand at these places of so many."""

    def spread(parts: Sequence[Multipliers]) -> Iterator[Multipliers]:
        for part in parts:
            goal = [Fraction(0)] * count
            for place, price in zip(places, part.goal, strict=True):
                goal[place] = price
            yield replace(part, goal=tuple(goal))

    if isinstance(node, Dual):
        return Dual(tuple(spread(node.parts)))
    if isinstance(node, Tighten):
        return Tighten(tuple(replace(end, parts=tuple(spread(end.parts))) for end in node.ends))
    return node
