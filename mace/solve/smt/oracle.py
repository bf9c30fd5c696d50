"""Any question, answered by z3 and cvc5: the reference that the provers are tested against, and the fallback.

In:  a `Question`.    Out: an `Oracle`; `export`, the question as SMT-LIB 2 text.
Promise: `Refuted` only where the formula that admits every possible rounding is unsatisfiable; `Found` only after the
point was checked exactly: allowed, within the radius, and with the goal whatever the last bits of a score. What
cannot be settled is `Unknown`, with the reason. Limits of time and memory stop the solver's process.

One incremental solver a question: the model is asserted once, the radius is an assumption. The question is restricted
to the ball of the best known distance; when that has halved, it is encoded again, smaller.
With two solvers, the second one starts only when the first has worked for `PATIENCE` seconds: easy questions cost one
processor and give the same witness every time. Whichever refutes first, refutes. A witness is the first solver's,
unless it stays behind for as long again as the second one took: verdicts and bounds never depend on who was faster.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.solve.protocol import Found, Gap, Limits, Refuted, Replay, Reply, Unknown
from mace.solve.smt.process import SolverAnswer, SolverName, SolverProcess, first_answer
from mace.solve.witnesses import Witnessing
from mace.space.axes import Point

if TYPE_CHECKING:
    from mace.solve.smt.encode import Encoding

ZERO = Fraction(0)
SOLVERS: tuple[SolverName, ...] = ("z3", "cvc5")
BITS = 24  # of a network's weights, at first
PATIENCE = 5.0  # seconds
CANDIDATES = 2000  # that exact arithmetic did not confirm, before a question is given up
UNCLEAR = 3  # candidates too near a boundary, before witnesses are asked for by the strict reading


class SmtOracle(Witnessing):
    """An oracle that asks SMT solvers; see the module's docstring.

    solvers: one name, or two for a race.
    Raises ValueError for an unknown or missing name.
    """

    name = "smt"
    optimises = False

    def __init__(self, question: Question, solvers: Sequence[SolverName] = SOLVERS) -> None:
        if not solvers or any(solver not in SOLVERS for solver in solvers):
            raise ValueError(f"solvers must be some of z3 and cvc5, got {tuple(solvers)!r}")
        super().__init__(question)
        self.solvers: tuple[SolverName, ...] = tuple(dict.fromkeys(solvers))
        self._processes = [SolverProcess(solver) for solver in self.solvers]
        self._encoding: Encoding | None = None
        self._bits: int | None = BITS

    def ask(
        self,
        radius: Fraction | None,
        limits: Limits = Limits(),  # noqa: B008
        *,
        strict: bool = False,
        best: Point | None = None,
        gap: Gap = Gap(),  # noqa: ARG002, B008
        replay: Replay | None = None,
    ) -> Reply:
        """See `Oracle.ask`; `best` also restricts the question to the ball of its distance."""
        # What is refused is a point each: the solvers' record names points.
        self.witnesses.replay = replay and replace(replay, by_leaves=False)
        try:
            return self._ask(radius, limits, strict=strict, best=best)
        except TimeOverError as over:
            # What was being written is not whole: the next question begins anew.
            self._encoding = None
            self.close()
            return Unknown(str(over))

    def _ask(self, radius: Fraction | None, limits: Limits, *, strict: bool, best: Point | None) -> Reply:
        if radius is not None and isinstance(self.question.distance, Norm) and not _inside(ZERO, radius, strict=strict):
            return Refuted()
        self._limit_memory(limits.memory)
        ball = radius
        if best is not None and self.question.obeys(best):
            known = self.question.distance_of(best)
            if radius is None or _inside(known, radius, strict=strict):
                return Found(best)
            ball = known
        while True:
            reply = self._search(self._encoded(ball, radius, limits.deadline), radius, limits.deadline, strict=strict)
            if reply is not None:
                return reply
            # Rounded weights leave too many candidates: encode them exactly.
            self._bits, self._encoding = None, None

    @staticmethod
    def accepts(question: Question) -> str | None:  # noqa: ARG004
        """Solvers take every question."""
        return None

    def close(self) -> None:
        """End the solvers' processes."""
        for process in self._processes:
            process.stop()

    def _limit_memory(self, memory: int | None) -> None:
        for process in self._processes:
            if process.memory != memory:
                process.stop()
                process.memory = memory

    def _encoded(self, ball: Fraction | None, radius: Fraction | None, deadline: Deadline = NEVER) -> Encoding:
        """The encoding in use, or a new one if it does not cover the radius or the ball has halved."""
        from mace.solve.smt.encode import Encoding

        old = self._encoding
        if old is not None:
            covers = old.ball is None or (radius is not None and radius <= old.ball)
            large = ball is not None and (old.ball is None or 2 * ball <= old.ball)
            if covers and not large:
                old.terms.deadline = deadline
                return old
        self._encoding = None
        for process in self._processes:
            process.reset()
        encoding = Encoding(self.question, ball, self._bits, deadline)
        self._encoding = encoding
        return encoding

    def _search(self, encoding: Encoding, radius: Fraction | None, deadline: Deadline, *, strict: bool) -> Reply | None:
        """Ask for candidates until one is confirmed or there are none; None to try again with exact weights."""
        within = [] if radius is None else [encoding.within(radius, strict=strict)]
        reading, candidates, unclear = encoding.possible, 0, 0
        # Invariant: whatever was excluded for good is not allowed or does not have the goal, for certain.
        while True:
            skipping = [encoding.skip] if unclear else []
            answer = self._solve(encoding, [reading, *within, *skipping], deadline)
            if answer.verdict == "unknown":
                return Unknown(answer.why)
            if answer.verdict == "unsat":
                if reading == encoding.possible and not unclear:
                    return Refuted()
                if self._bits is not None and encoding.rounds:
                    return None
                return Unknown(f"within the radius {self.witnesses.why}")
            point = encoding.point(answer.values)
            near = radius is None or _inside(self.question.distance_of(point), radius, strict=strict)
            goal = self.question.has_goal(point)
            if near and goal is not False and self.question.obeys(point):
                # Of a network over floats there would be no end of points that rounding leaves in doubt.
                counts = self.witnesses.counts(point, exclude=encoding.finite or goal is True)
                if counts:
                    return Found(point)
                if counts is False:
                    encoding.forbid(point)
                    continue
            candidates += 1
            if goal is False:
                encoding.exclude(point)
            elif not self.question.obeys(point):
                encoding.forbid(point)
            elif not near:
                encoding.forbid(point, under=within[0])
            else:
                encoding.forbid(point, under=encoding.skip)
                unclear += 1
            if candidates >= (CANDIDATES if encoding.finite else UNCLEAR) and reading != encoding.sure:
                reading, candidates = encoding.sure, 0
            elif candidates >= CANDIDATES:
                return Unknown(f"exact arithmetic confirmed none of {candidates} candidates of the solver")

    # ------------------------------------------------------------------ solvers

    def _solve(self, encoding: Encoding, assume: list[str], deadline: Deadline) -> SolverAnswer:
        """One check: the first solver, and with patience over, the second one beside it."""
        for text in encoding.text():
            for process in self._processes:
                process.add(text)
        wanted = encoding.wanted
        running: list[SolverProcess] = []
        waiting = list(self._processes)
        reasons: list[str] = []
        second: SolverAnswer | None = None
        wait: float | None = None
        while running or waiting:
            if waiting:
                process = waiting.pop(0)
                process.ask(assume, wanted)
                running.append(process)
            began = time.perf_counter()
            if second is None:
                wait = PATIENCE if waiting else None
            answered, answer = first_answer(running, deadline.within(wait))
            if deadline.over and answer is None:
                break
            if second is not None and (answer is None or answer.verdict == "unknown"):
                break
            if answered is None or answer is None:
                continue
            running.remove(answered)
            if answer.verdict == "unknown":
                reasons.append(answer.why)
            elif answer.verdict == "unsat" or answered is self._processes[0] or not running:
                _stop(running)
                return answer
            else:  # A witness of the second solver: wait as long again for the first one's.
                second, wait = answer, PATIENCE + time.perf_counter() - began
        _stop(running)
        if second is not None:
            return second
        if deadline.over:
            return SolverAnswer("unknown", why="; ".join([*reasons, deadline.why]))
        return SolverAnswer("unknown", why="; ".join(reasons))


def _stop(processes: Sequence[SolverProcess]) -> None:
    """A solver that still works on a question of the past must not answer the next one."""
    for process in processes:
        process.stop()


def _inside(distance: Fraction, radius: Fraction, *, strict: bool) -> bool:
    return distance < radius if strict else distance <= radius


def export(
    question: Question, radius: Fraction | None = None, *, strict: bool = False, deadline: Deadline = NEVER
) -> str:
    """The question "is there a point with the goal within the radius?" as an SMT-LIB 2 script.

    "unsat" is a proof that there is none, for the deployed float model; a model of "sat" is a candidate.
    Raises TimeOverError at the deadline.
    """
    from mace.solve.smt.encode import Encoding

    encoding = Encoding(question, radius, bits=None, deadline=deadline)
    assumed = [encoding.possible] + ([] if radius is None else [encoding.within(radius, strict=strict)])
    text = encoding.whole()
    lines = ["(set-logic QF_LIRA)"]
    lines += [f"(declare-const {name} {sort})" for name, sort in text.declare]
    lines += [*text.lines, *(f"(assert {name})" for name in assumed), "(check-sat)"]
    return "\n".join(lines) + "\n"
