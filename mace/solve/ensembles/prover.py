"""The prover for tree ensembles: best-first branch and bound over threshold cells.

In:  a Question about an Ensemble under a Norm.
Out: the nearest allowed point with the goal and a proof tree, or a proof that there is none.
Promise: distance and bound are equal as exact rationals (gap 0). The goal is decided by the model's own float sums, in
its own order; refutations hold for those sums, by the rounding slack of `mace.tables.margins`.

How: a node is a box of cells. Its key, the exact distance of the box rounded down, is its lower bound and orders the
search, so that the first box whose nearest point has the goal holds the optimum. A box is refuted when the best leaves
that the trees can reach, inside the box and nearer than the best point known (the incumbent), cannot add up to the
goal. Keys within their own rounding of the incumbent's distance are settled in exact rationals. A rule or an exclusion
is looked at where a box's nearest point breaks it: it closes the box, or the box is split along an axis that it reads.
This is the plain search; in it each tree by itself may spend the whole distance. Where that bound is too weak and the
search stalls, boxes are bounded by a linear relaxation in which all trees share one distance
(`mace.solve.ensembles.relaxation.branching`), and the plain search closes the small ones.
The compiled parts are imported on the first question: `import mace` does not pay for numba.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.base.cache import Kept
from mace.base.deadline import Deadline, TimeOverError
from mace.errors import ModelError
from mace.problem.distance import Norm
from mace.problem.exclusions import Avoid
from mace.problem.proof import Proof
from mace.problem.question import Question
from mace.solve.ensembles.arrays.cells import Grounded, ground, refusal
from mace.solve.ensembles.arrays.costs import largest_delta
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes.handover import Handover
from mace.solve.ensembles.boxes.plain import LONG_LOOK, LOOK, Plain
from mace.solve.ensembles.many_levels import answered, fewer, many
from mace.solve.ensembles.many_levels import refusal as too_many
from mace.solve.protocol import Asked, Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.solve.witnesses import Witnessing
from mace.space.axes import Point
from mace.tables.table import Ensemble

_REFUSALS: Kept[str | None] = Kept(1)  # of the last question: callers ask whether it is taken, then make the oracle
_MEMORY = 3 * 2**30  # bytes, at most
# How long the plain search goes on before the relaxation is tried, whose bounds come from dual ascent (`_patience`). A
# walk is the traversal of one tree; searches that end soon after so many are faster than ascent.
PATIENCE = 50_000
# With more leaves than this in the ball, ascent is costly. Then the plain search has `MUCH_PATIENCE` times the walks,
# and goes on to `MORE_PATIENCE` times these unless the relaxation's first bound is more than `AHEAD` times its own.
FEW_LEAVES, MUCH_PATIENCE, MORE_PATIENCE, AHEAD = 5000, 10, 12, 1.5
# Where ascent is not ahead the plain search is nearly always soon done. If it is not after `LATER` times the walks, the
# relaxation takes over even if its first bound leaves up to `BEHIND` times as much of the distance open.
LATER, BEHIND = 20, 6.0
# With more leaves than this in the ball, trees of a depth up to `SHALLOW`, for which ascent bounds far better than the
# plain search, have `LESS_PATIENCE` times the walks; deeper ones, whose plain search ends more often, have more.
SOME_LEAVES, SHALLOW, LESS_PATIENCE, DEEPER_PATIENCE = 1000, 8, 0.4, 2
# Where only the largest change counts (linf), the plain search takes boxes several times as fast, and most questions
# that are hard for it are hard for ascent too.
PATIENT = 20
A_GLANCE, MANY = 150, 5000  # nodes of the search for additive models: before the plain search, and where that stalls
_SMALLEST_BALL = 64  # without an upper bound, the first radius is the largest distance divided by this


class EnsembleOracle(Witnessing):
    """Answers one question about a tree ensemble; raises ModelError for what `accepts` gives a reason."""

    name = "ensembles"
    optimises = True

    def __init__(self, question: Question) -> None:
        if (reason := self.accepts(question)) is not None:
            raise ModelError(
                f"the prover for tree ensembles does not take this question: {reason}", hint='Use oracle="smt".'
            )
        super().__init__(question)
        self._grounded: Grounded | None = None  # made when something is asked, in the time of that
        self.statistics: dict[str, int] = {}
        self._ruled = False  # whether a guess broke a rule

    @staticmethod
    def accepts(question: Question) -> str | None:
        """Why this prover does not take a question; None if it does."""
        return _REFUSALS.get(question, None, lambda: _refusal(question))

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
        """The nearest point with the goal; within `radius` if one is given. See `mace.solve.protocol.Oracle`."""
        self.witnesses.replay = replay
        if (axis := many(self.question)) is not None:
            asked = Asked(radius, strict, gap, limits)
            return answered(self.witnesses, axis, asked, best, _answered)
        try:
            return self._ask(radius, limits, strict=strict, best=best, gap=gap)
        except TimeOverError as over:
            return Unknown(str(over))

    def _ask(self, radius: Fraction | None, limits: Limits, *, strict: bool, best: Point | None, gap: Gap) -> Reply:
        deadline = limits.deadline
        if self._grounded is None:
            self._grounded = self._ground(deadline)
        bound = Bound() if radius is None else Bound(radius, inclusive=not strict)
        point = self._first(self._grounded, best, bound, deadline)
        if point is None and self.question.rules:
            from mace.solve.ensembles.boxes.regions import nothing_obeys

            if (proof := nothing_obeys(self.question, self._grounded, deadline)) is not None:
                return Refuted(proof)
        room = min(limits.memory or _MEMORY, _MEMORY)
        refuted, proved = Fraction(0), None
        if point is None and bound.distance is None:
            # Iterative deepening: bounding trees without a radius costs far more than within one.
            assert isinstance(self.question.distance, Norm)
            largest = self.question.distance.of([largest_delta(axis) for axis in self.question.axes])
            for part in (_SMALLEST_BALL, 16, 4):
                ball = Bound(largest / part, inclusive=True)
                search = self._plain(Terms(ball, None, gap, deadline, room, limits.jobs))
                reply = self._searched(search)
                self._keep(search)
                if isinstance(reply, Refuted):
                    assert ball.distance is not None
                    refuted, proved = ball.distance, reply.proof
                elif isinstance(reply, Found):
                    return reply
                else:  # out of time, or a doubtful cell that keeps every larger ball from being refuted
                    if search.why:
                        return _better(reply, refuted, proved)
                    break
        search = self._plain(Terms(bound, point, gap, deadline, room, limits.jobs))
        reply = self._searched(search)
        self._keep(search)
        return reply if isinstance(reply, Refuted) else _better(reply, refuted, proved)

    def _ground(self, deadline: Deadline) -> Grounded:
        """The arrays of the question."""
        return ground(self.question, deadline)

    def _plain(self, terms: Terms) -> Plain:
        """A search that has not begun."""
        assert self._grounded is not None
        search = Plain(self.witnesses, self._grounded, terms)
        search.ruled = self._ruled
        return search

    def _searched(self, search: Plain) -> Reply:
        """What a search says at its end."""
        return _searched(search)

    def _keep(self, search: Plain) -> None:
        self._grounded = search.grounded
        self.statistics = search.statistics()

    def _first(self, grounded: Grounded, best: Point | None, bound: Bound, deadline: Deadline) -> Point | None:
        """The best point known before the search: the given one or a guess, whichever is nearer."""
        question = self.question
        known: Point | None = None
        given = np.zeros(0, np.int64)
        if best is not None and question.obeys(best):
            known, given = best, grounded.cells(best)
            if not bound.excludes(question.distance_of(best)):
                bound = Bound(question.distance_of(best))
            else:
                known = None
        from mace.solve.ensembles.additive.separable import climbed

        point = climbed(question, grounded)
        if point is not None and question.obeys(point) and question.has_goal(point) is not False:
            if bound.excludes(question.distance_of(point)):
                return known
            if self.witnesses.counts(point):
                return point
        for cells in _guesses(question, grounded, given, deadline):
            point = grounded.point(cells)
            breaks = bool(question.rules) and not question.obeys(point)
            self._ruled |= breaks
            if known is None and breaks:
                from mace.solve.ensembles.points.obeying import obeying

                point = obeying(question, grounded, cells, np.random.default_rng(0), deadline) or point
            near = question.obeys(point) and not bound.excludes(question.distance_of(point))
            if near and question.has_goal(point) is not False and self.witnesses.counts(point):
                return point
        return known


def _refusal(question: Question) -> str | None:
    """Why no search takes a question, even where features of many levels are given fewer; None if one does."""
    axis = many(question) if isinstance(question.model, Ensemble) and isinstance(question.distance, Norm) else None
    if axis is None:
        return refusal(question)
    return too_many(question, axis) or EnsembleOracle.accepts(
        fewer(question, axis, 1 << question.axes[axis].start).question
    )


def _answered(
    question: Question, asked: Asked, best: Point | None, replay: Replay | None
) -> tuple[Reply, Sequence[Avoid]]:
    """What a prover of its own says of a question, and what the deployed model refused meanwhile."""
    if (reason := EnsembleOracle.accepts(question)) is not None:  # since so much was refused before
        return Unknown(reason), ()
    oracle = EnsembleOracle(question)
    reply = oracle.ask(asked.radius, asked.limits, strict=asked.strict, best=best, gap=asked.gap, replay=replay)
    return reply, oracle.refused


def _guesses(question: Question, grounded: Grounded, given: Array, deadline: Deadline) -> Iterator[Array]:
    """Cells of points that may have the goal; given: of one that has it, empty where none is known."""
    from mace.solve.ensembles.points.balls import in_balls, sums_nothing
    from mace.solve.ensembles.points.greedy import greedy

    if question.most_changes is None and sums_nothing(grounded.ground):
        cells = in_balls(grounded, given, deadline)
        if cells is not None:
            yield cells
    cells = greedy(grounded, -1 if question.most_changes is None else question.most_changes, given, deadline)
    if cells is not None:
        yield cells


def _better(reply: Found | Unknown, refuted: Fraction, proof: Proof | None) -> Found | Unknown:
    """A reply, or with the bound of the largest ball that was refuted before, if that is higher."""
    return replace(reply, lower=refuted, proof=proof) if refuted > (reply.lower or 0) else reply


def _searched(search: Plain) -> Reply:
    """Search to the end, a limit or the gap; by the relaxation where the plain search stalls.

    Additive models, sums of functions of one feature or two, have a search of their own first, as knapsacks.
    """
    from mace.solve.ensembles.additive.separable import separated

    sums = separated(search)
    if sums is not None and sums.run(A_GLANCE):
        return sums.reply()
    for number, (patience, handover) in enumerate(_patience(search)):
        finished = _plainly(search, patience)
        if not search.stalled:
            break
        if search.turn == LONG_LOOK and number == 0:
            continue
        if search.turn in (LOOK, LONG_LOOK):
            search.paused = True
            return search.said(search.doubtful(), search.lower(), search.proof())
        from mace.solve.ensembles.boxes.parted import parted

        if (reply := parted(search, _searched)) is not None:
            return reply
        if search.ruled:
            from mace.solve.ensembles.boxes.regions import by_regions

            if (reply := by_regions(search, _searched)) is not None:
                return reply
        if sums is not None and sums.run(MANY):
            return sums.reply()
        if search.branching is None and number < search.declined:
            continue  # in a turn before
        from mace.solve.ensembles.boxes.stalled import relaxed

        if (reply := relaxed(search, handover)) is not None:
            return reply if sums is None else _tighter(reply, sums.reply())
        search.declined = number + 1
    else:
        finished = search.search_on()
    reply = search.said(search.doubtful(), None if finished else search.lower(), search.proof())
    return reply if sums is None or finished else _tighter(reply, sums.reply())


def _plainly(search: Plain, walks: int) -> bool:
    """Search for so many walks, or more until the relaxation is compiled: interpreted it may outlast a time limit."""
    finished = search.search(walks)
    while search.stalled and not search.deadline.over and not _relaxes():
        walks += PATIENCE
        finished = search.search(walks)
    return finished


def _relaxes() -> bool:
    """Whether the relaxation is compiled, or would be at a call."""
    from mace.solve.ensembles.relaxation.exact_bound import proved  # what a first look calls last

    return bool(proved.ready)  # type: ignore[attr-defined]


def _patience(search: Plain) -> list[tuple[int, Handover]]:
    """How many walks the plain search may take before the relaxation is asked, and what that must be then."""
    if search.leaves > FEW_LEAVES:
        first = MUCH_PATIENCE * PATIENCE
        return [(first, Handover(AHEAD)), (MORE_PATIENCE * first, Handover(behind=BEHIND))]
    from mace.solve.ensembles.points.balls import sums_nothing

    if sums_nothing(search.grounded.ground):
        first = PATIENT * PATIENCE
        return [(first, Handover()), (LATER * first, Handover(behind=BEHIND))]
    first = PATIENCE
    if search.leaves > SOME_LEAVES:
        first = int(PATIENCE * (LESS_PATIENCE if search.grounded.depth <= SHALLOW else DEEPER_PATIENCE))
    return [(first, Handover()), (LATER * first, Handover(behind=BEHIND))]


def _tighter(reply: Reply, other: Reply) -> Reply:
    """Of two replies of searches that share their point, the one with the higher lower bound."""
    if isinstance(reply, Refuted) or isinstance(other, Refuted):
        return reply if isinstance(reply, Refuted) else other
    return other if (other.lower or 0) > (reply.lower or 0) else reply
