"""The nearest input of a linear model or a ReLU network that gets the goal: branch and bound on boxes and ReLU phases.

In:  a Question whose model is a `Network` (a linear model is one without hidden layers) and whose distance is a `Norm`.
Out: `Found` with a point that the deployed model accepts for certain and the distance below which nothing is, proved;
     `Refuted` with a proof; `Unknown` when a limit was reached before either.
Promise: a proof is written only from leaves that closed again in exact arithmetic (`exact.py`) at the distance
claimed. The floats of the search (`kernels.py`) may cost time, never soundness.
How: a node is a box and a set of ReLU phases, inside the ball of the best known distance. Its bound is the dual of its
linear relaxation. The least node is split where its relaxation loses most: a ReLU, a level, an integer, an l0 jump.
A `gap` of zero is read as 1e-9, which is in the unit of the distance (`Norm.unit`); but where every feature has steps,
the bound is the distance itself, unless the proof of that would be far longer. Where a gap asks for more, since the
distance found is far from the unit, it is asked again in a unit of about that.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import frexp, inf
from typing import TYPE_CHECKING

import numpy as np

from mace.base.cache import Kept
from mace.base.deadline import Deadline
from mace.base.exact import above, magnitude
from mace.errors import ModelError
from mace.problem.distance import MOST_IN_FLOATS, Norm
from mace.problem.question import Question
from mace.solve.protocol import Asked, Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.solve.witnesses import Witnesses, Witnessing
from mace.space.axes import GridAxis, Point
from mace.tables.table import Network

if TYPE_CHECKING:
    from mace.solve.networks.search import Search


LARGEST = 2.0**900  # an end of a hidden unit is in doubles, and beyond 1e300 there is none
FAR = 4  # times as near, or as far, as a search expects: then it is asked in another unit
SEARCHED = 0.5  # of the time that one search had: with less left there is no other one
_REACHES: Kept[float] = Kept(8)


def _reach(question: Question) -> float:
    """About how large the sums of hidden units may become, within a factor of two for each input's size."""
    from mace.solve.networks.model import column_bounds, columns_of

    model = question.model
    assert isinstance(model, Network)
    sizes, _ = column_bounds(question, columns_of(question))
    inputs = above(max(sizes, default=Fraction(0)))

    def largest() -> float:
        reach, most = np.full(model.columns, 2.0 ** frexp(inputs)[1] if inputs < LARGEST else inf), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for layer in model.layers[:-1]:
                reach = np.nan_to_num(reach @ np.abs(layer.weights), nan=inf) + np.abs(layer.bias)
                most = max(most, float(reach.max()))
        return most

    return _REACHES.get(model, frexp(inputs)[1] if inputs < LARGEST else 0, largest)


class NetworkOracle(Witnessing):
    """Answers about one question, see `mace.solve.protocol`; raises ModelError for what `accepts` gives a reason."""

    name = "networks"
    optimises = True

    def __init__(self, question: Question, *, tightens: bool = True) -> None:
        """tightens: bound hidden units by linear programs too, one after the other.

        In exact arithmetic each end comes out a little better, and what later ends make of that may be worse: seldom,
        but then a checker refuses the proof.
        """
        reason = self.accepts(question)
        if reason is not None:
            raise ModelError(f"the prover for networks does not take this question: {reason}")
        super().__init__(question)
        self.tightens = tightens

    @staticmethod
    def accepts(question: Question) -> str | None:
        """Why this prover does not take a question; None if it does."""
        if not isinstance(question.model, Network):
            return f"it takes linear models and ReLU networks, and the model is a {question.model.name}"
        if not isinstance(question.distance, Norm):
            return "the distance is a program"
        if question.bent is not None:
            return question.bent
        if len(question.model.layers) > 1 and _reach(question) > LARGEST:
            return "its hidden units may go beyond 2^900, where doubles are at their end"
        lacking = next((a for a in question.axes if isinstance(a, GridAxis) and a.missing is not None), None)
        return None if lacking is None else f"`{lacking.name}` may be missing or not"

    def ask(
        self,
        radius: Fraction | None,
        limits: Limits,
        *,
        strict: bool = False,
        best: Point | None = None,
        gap: Gap = Gap(),  # noqa: B008
        replay: Replay | None = None,
    ) -> Reply:
        """Find the nearest point with the goal within the radius, to within the gap, or prove that there is none."""
        asked, norm = Asked(radius, strict, gap, limits), self.question.distance
        assert isinstance(norm, Norm)
        began = limits.deadline.left()
        reply = self._in_unit(norm.unit_in_floats, asked, best, replay)
        finest = Fraction(2) ** (magnitude(norm.widest) - MOST_IN_FLOATS) if norm.widest else Fraction(1)
        unit = norm.unit_in_floats
        # What is found may be so near, by changes of cheap features alone, that the search saw no difference to 0; or
        # so far, since cheap ones do not suffice, that floats have no digits for the gap.
        while isinstance(reply, Found) and gap != Gap() and _time_left(limits.deadline, began):
            found, lower = self.question.distance_of(reply.point), reply.lower or Fraction(0)
            own = max(Fraction(2) ** magnitude(found), finest) if found else unit
            if gap.met(lower, found) or unit / FAR < own < unit * FAR:
                break
            again = self._in_unit(own, asked, reply.point, replay)
            if not isinstance(again, Found):
                break
            if (again.lower or Fraction(0)) < lower:  # a limit was reached: what was proved before is more
                return replace(reply, point=again.point, why=again.why)
            reply, unit = again, own
        return reply

    def _in_unit(self, unit: Fraction, asked: Asked, best: Point | None, replay: Replay | None) -> Reply:
        """The same, asked in a unit in which distances are about 1."""
        from mace.solve import units

        if unit == 1:
            return self._asked(asked, best, replay)
        oracle = NetworkOracle(units.into(self.question, unit), tightens=self.tightens)
        radius = None if asked.radius is None else asked.radius / unit
        reply = oracle._asked(
            asked._replace(radius=radius, gap=asked.gap.times(1 / unit)), best, units.heard_from(replay, unit)
        )
        self.witnesses.refuse(oracle.refused)
        return units.out_of(reply, unit)

    def _asked(self, asked: Asked, best: Point | None, replay: Replay | None) -> Reply:
        """The same, in the unit of the question's own distance."""
        from mace.solve.networks.parted import has_time, parted

        self.witnesses.replay = replay
        model = self.question.model
        assert isinstance(model, Network)
        parts = len(self.question.goal.decision)
        if len(model.layers) > 1 and parts > 1 and has_time(asked.limits.deadline, parts):
            if best is None and asked.radius is None:
                first = self._search(self.witnesses, asked)
                first.begin()
                best = first.best
            return parted(self.witnesses, best, asked, lambda *told: _reply(self._search(*told)))
        return _reply(self._search(self.witnesses, asked, best))

    def _search(self, witnesses: Witnesses, asked: Asked, best: Point | None = None) -> Search:
        """A search that has not begun; best: a point with the goal, or with another part of it."""
        from mace.solve.networks.search import Search

        search = Search(witnesses, asked.gap, asked.limits, asked.radius, asked.strict)
        search.tightens = self.tightens
        if best is not None:
            search.offer(best, trusted=True)
        return search


def _time_left(deadline: Deadline, began: float | None) -> bool:
    """Whether there is time for another search: what is left after one that a limit ended is for its proof."""
    left = deadline.left()
    return left is None or began is None or left > SEARCHED * began


def _reply(search: Search) -> Reply:
    """Run a search and say what it found."""
    from mace.solve.networks.proof import keep, prove, prove_bound

    search.keep = keep
    radius = search.radius
    if not search.run():
        lower, proof = prove_bound(search, search.lower())
        found = search.best
        spare = search.spare
        return Found(found, lower, proof, search.why, spare) if found else Unknown(search.why, lower, proof, spare)
    lower, proof = prove(search)
    found = search.best  # writing the proof may have come upon a nearer one
    if found is not None and (radius is None or search.within(search.distance)):
        why = search.why or search.witnesses.why
        why = why if lower < search.distance else ""
        return Found(found, min(lower, search.distance), proof, why, search.spare)
    # At the radius itself there may be a point in doubt, of which a proof that nothing is nearer says nothing.
    clear = search.strict or not search.in_doubt
    if search.anywhere and proof is not None or radius is not None and lower >= radius and clear:
        return Refuted(proof)
    return Unknown(search.why or search.witnesses.why, lower, proof)


__all__ = ["NetworkOracle"]
