"""The prover for sums of absolute values of linear forms ("closeness"), before tree ensembles and linear models.

In:  a question whose distance has `Forms`.
Out: the nearest point with the goal, to within the gap, and a bound that doubles cannot have made too large.
Promise: as every oracle.
"""

from __future__ import annotations

from fractions import Fraction

from mace.base.deadline import TimeOverError
from mace.problem.distance import USUAL, DistanceProgram
from mace.problem.question import Question
from mace.solve import units
from mace.solve.protocol import Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.solve.witnesses import Witnessing
from mace.space.axes import Point
from mace.tables.table import Ensemble, Network


class FormsOracle(Witnessing):
    """Answers about one question, see `mace.solve.protocol`."""

    name = "forms"
    optimises = True

    @staticmethod
    def accepts(question: Question) -> str | None:
        """Why this prover does not take a question; None if it does."""
        if not isinstance(question.distance, DistanceProgram) or question.distance.forms is None:
            return "the distance is no sum of absolute values of linear forms"
        if any(axis.may_lack or axis.lacks for axis in question.axes):
            return "a value may be missing"
        if isinstance(question.model, Ensemble):
            from mace.solve.ensembles.arrays.cells import refusal
            from mace.solve.forms.frame import grounding

            return refusal(grounding(question))
        if not isinstance(question.model, Network) or len(question.model.layers) > 1:
            return f"it takes trees and linear models, and the model is a {question.model.name}"
        return question.bent

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
        """Find the nearest point with the goal, to within the gap, or prove that there is none (within the radius)."""
        unit = self.question.distance.finest
        if not unit or Fraction(1, USUAL) <= unit <= USUAL:
            return self._asked(radius, limits, strict=strict, best=best, gap=gap, replay=replay)
        oracle = FormsOracle(units.into(self.question, unit))
        radius = None if radius is None else radius / unit
        replay = units.heard_from(replay, unit)
        reply = oracle._asked(radius, limits, strict=strict, best=best, gap=gap.times(1 / unit), replay=replay)
        self.witnesses.refuse(oracle.refused)
        return units.out_of(reply, unit)

    def _asked(
        self, radius: Fraction | None, limits: Limits, *, strict: bool, best: Point | None, gap: Gap,
        replay: Replay | None,
    ) -> Reply:  # fmt: skip
        """The same, in the unit of the question's own distance: the program's floats expect changes to cost about 1."""
        from mace.solve.forms.search import Search
        from mace.solve.forms.written import written

        self.witnesses.replay = replay
        search = Search(self.witnesses, best, gap, limits.deadline)
        why = ""
        try:
            search.run()
        except TimeOverError as over:
            why = str(over)
        lower = search.lower()
        if search.stuck and not why and lower is not None and not search.closed(float(lower)):
            why = self.witnesses.why
        if lower is None and search.best is None:
            return Refuted(written(search.root, search.frames, None))
        proof = written(search.root, search.frames, lower)
        if search.best is None or search.distance is None:
            return Unknown(why or "no point with the goal was found", lower, proof)
        if radius is not None and (search.distance > radius or strict and search.distance == radius):
            beyond = lower is not None and (lower > radius or strict and lower >= radius)
            return Refuted(proof) if beyond else Unknown(why or "the bounds are not close enough", lower, proof)
        return Found(search.best, search.distance if lower is None else lower, proof, why)
