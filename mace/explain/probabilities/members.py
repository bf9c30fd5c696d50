"""A mean of probabilities of trees: what the prover of its members makes of a question, and what its proof refutes.

In:  a question about a model that says a mean of trees, and what its prover found
     (`mace.solve.ensembles.means.prover`).
Out: a nearer point with the goal; the question with a goal of comparisons of scores that the proof refutes, so that a
certificate can be written of it.
Promise: a question without such comparisons leaves its bracket without a proof, and says why.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from mace.base.deadline import Deadline, TimeOverError
from mace.errors import NowhereError
from mace.explain.probabilities.means import Asks, nearer, within
from mace.problem.goal_means import Piece, about_two, conditions_of, is_mean, nowhere, stated, whole_of
from mace.problem.proof import Leaf, Priced, Proof, Split
from mace.problem.question import Question
from mace.solve.driver import Bracket
from mace.solve.ensembles.many_levels import many
from mace.solve.ensembles.means.cover import Refuted, cover, functions_of
from mace.solve.ensembles.means.prover import MeanOracle, owners
from mace.space.axes import Point
from mace.tables.table import Ensemble, Table

SCORELESS = ("empty", "distance", "avoid", "rule", "changes")
"""How leaves are closed that know nothing of scores."""
MOST_COVERING = 200
"""Pieces of a goal in a certificate whose proof is there already."""


class Members(NamedTuple):
    """The prover of a mean of trees, of which its own proof says no more than that the members' scores are too low."""

    oracle: MeanOracle
    table: Ensemble

    def nearer(self, question: Question, asks: Asks, best: Point) -> Point:
        """A point with the goal, pulled back towards the start."""
        deadline = asks.limits.deadline
        return nearer(question, self.table, asks, best, deadline, self.oracle.meets(deadline))

    def named(
        self, bracket: Bracket, question: Question, deadline: Deadline, refuted: list[Refuted] | None = None
    ) -> Question:
        """The question with comparisons of scores that the proof refutes; without such, the bracket loses its proof,
        and says why.

        refuted: gets these scores instead, where one certificate holds several proofs: the caller names them then.
        """
        if bracket.proof is None:
            return question
        if all(isinstance(node, Split) or isinstance(node, Leaf) and node.rule in SCORELESS for node in bracket.proof):
            return question  # rules alone, say: whatever the scores are
        claim = None if bracket.status == "infeasible" else bracket.lower
        corners, why = None, "the search of its proof is not known"
        try:
            corners = self.oracle.corners(bracket.proof, claim, deadline)
        except TimeOverError as over:
            why = f"{over}, reached before it was written"
        if corners is None:
            bracket.proof, bracket.unproved = None, why
            return question
        if refuted is not None:
            refuted.append(corners.refuted)
            return question
        ball = within(whole_of(self.table), *corners.ball)
        found = without(question, self.table, corners.refuted, ball, deadline)
        if isinstance(found, str):
            bracket.proof, bracket.unproved = None, found
            return question
        bracket.proof = under(bracket.proof, found)
        return found


def without(question: Question, table: Ensemble, refuted: Refuted, whole: Piece, deadline: Deadline) -> Question | str:
    """A question with comparisons of scores that leave out what was refuted, or why there are none.

    whole: all scores that matter.
    """
    wanted = about_two(question.goal.wanted)
    assert wanted is not None
    functions = functions_of(table, conditions_of(wanted, table.classes))
    parts, why = cover(functions, refuted, whole, MOST_COVERING, deadline)
    if parts is None:
        return why
    try:
        decision, wide = stated(table, parts, question.goal.text)
    except NowhereError:  # no members' scores that are so near have the goal
        decision, wide = nowhere(table)
    return replace(question, goal=replace(question.goal, decision=decision), model=wide)


def under(proof: Proof, question: Question) -> Proof:
    """What rules alone close has an entry for each part of the goal, which is another one now."""
    return [node.under(question.goal.decision) if isinstance(node, Priced) else node for node in proof]


def by_members(question: Question, table: Table) -> Members | None:
    """The prover of a question about a mean of trees; None for any other, and where it has not the bits for levels."""
    wanted = about_two(question.goal.wanted)
    if many(question) is not None:
        return None
    if not isinstance(table, Ensemble) or not is_mean(table) or owners(table) is None or wanted is None:
        return None
    return Members(MeanOracle(replace(question, model=table), conditions_of(wanted, table.classes)), table)
