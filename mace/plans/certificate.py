"""Certificates of plans: a tree over sequences of actions and boxes of parameters, which the checker reads.

In:  a task, a bound of the cost of all plans, and the plan that was found.
Out: a `Certificate` of the form of FORMAT.md 12; or a CertificateError with the reason.
Promise: none is needed, since the checker verifies what is written: the tree is found with the checker's own
enclosures, on boxes instead of the lines of `mace.plans.search`, and is longer than the search.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from mace.base.deadline import NEVER, Deadline
from mace.certify.elaboration import all_cuts
from mace.certify.numbers import text
from mace.certify.statement import certifiable, statement
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.plans.bounds import middle_of
from mace.plans.ends import Ends
from mace.plans.task import COST, EVERYTHING, Replayed, Task
from mace.plans.written import unwritable, world_of
from mace.problem.question import Question
from mace.proofs.kernel.axes import Span, empty
from mace.proofs.kernel.plans import Plans, Sequences
from mace.tables.table import Ensemble

MOST_NODES = 20_000  # of a proof
MOST_KEPT = 50_000  # enclosures
Steps: TypeAlias = tuple[tuple[int, tuple[Span, ...]], ...]
Reached: TypeAlias = tuple[list[Span], Fraction] | None


class Halved(NamedTuple):
    """A parameter of the action at a place of a sequence, and the largest index of its lower half."""

    place: int
    parameter: int
    at: int


def uncertifiable(task: Task) -> str | None:
    """Why no certificate can be written about a task; None if one may."""
    reason = certifiable(task.question) or unwritable(task)
    if reason is None and task.allowed != EVERYTHING:
        reason = "certificates are about plans of all actions, not of some"
    if reason is None and (task.measure != COST or task.dearest is not None):
        reason = "certificates are about the least cost, of plans that may cost anything"
    if reason is None and isinstance(task.question.model, Ensemble) and all_cuts(task.question) is None:
        reason = "the prover's arrays do not hold the question"
    return reason


def plan_certificate(
    task: Task, lower: Fraction | None, plan: Replayed | None, deadline: Deadline = NEVER
) -> Certificate:
    """A certificate that no plan costs less than `lower` (None: that there is none), and of a plan, where one is known.

    Raises CertificateError with the reason; TimeOverError.
    """
    reason = uncertifiable(task)
    if reason is not None:
        raise CertificateError(f"no certificate of plans can be written: {reason}")
    question = task.question
    data: dict[str, Any] = {
        "mace_plan": 1,
        "about": {"model": question.model.name, "goal": question.goal.text, "world": task.world.name},
        "statement": statement(question, None, deadline=deadline),
        "world": world_of(task),
        "claim": {"never": True} if lower is None else {"cheaper_than": text(lower)},
        "witness": None if plan is None or lower is None else _witness(task, plan),
        "cuts": all_cuts(question) or [],
        "proof": [],
    }
    data["proof"] = _Prover(Plans(data, {}), task.question, deadline).proof()
    return Certificate(data)


def _witness(task: Task, plan: Replayed) -> dict[str, Any] | None:
    """The plan, unless only the deployed library can tell that its end has the goal."""
    if not task.question.has_goal(plan.end):
        return None
    numbers = {action.name: k for k, action in enumerate(task.world.actions)}
    steps = [
        [numbers[step.action], [int(step.values[p.name] / p.step) for p in task.world[step.action].parameters]]
        for step in plan.steps
    ]
    return {"steps": steps, "cost": text(plan.cost)}


class _Prover:
    """Finds the tree; what closes a leaf is tried by the checker's own rules."""

    def __init__(self, plans: Plans, question: Question, deadline: Deadline) -> None:
        self.plans, self.deadline = plans, deadline
        self.known: dict[Steps, Reached] = {}
        self.ends = Ends(plans.check, question)

    def proof(self) -> list[list[Any]]:
        """The nodes of the proof. Raises CertificateError where it grows too long, or some end stays open."""
        nodes: list[list[Any]] = []
        todo = [Sequences((), done=False)]
        while todo:
            self.deadline.look("writing the certificate")
            if len(nodes) + len(todo) > MOST_NODES:
                raise CertificateError(f"the proof has more than {MOST_NODES} nodes")
            state = todo.pop()
            node = self.closed(state)
            if node is None and not state.done:
                node = ["step"]
                todo += reversed(self.plans.step(state))
            elif node is None:
                cut = self.cut(state)
                node = ["split", *cut]
                todo += reversed(self.plans.split(state, *cut))
            nodes.append(node)
        return nodes

    def reached(self, steps: Steps) -> Reached:
        """The checker's `reached`; sequences that begin alike are enclosed alike."""
        if steps not in self.known:
            if len(self.known) >= MOST_KEPT:
                self.known.clear()
            before = self.reached(steps[:-1]) if steps else (self.plans.start, Fraction(0))
            self.known[steps] = None if before is None else self._after(before, steps)
        return self.known[steps]

    def _after(self, before: tuple[list[Span], Fraction], steps: Steps) -> Reached:
        """The last of some actions, from where the others lead."""
        if not steps:
            return before
        action, spans = steps[-1]
        taken = None if any(map(empty, spans)) else self.plans.actions[action].take(before[0], spans)
        return None if taken is None else (taken.box, before[1] + taken.low)

    def closed(self, state: Sequences) -> list[Any] | None:
        """A leaf that closes a state; None if none is found."""
        reached = self.reached(state.steps)
        if reached is None:
            return ["never"]
        if self.plans.claim is not None and reached[1] >= self.plans.claim:
            return ["dear"]
        found = self.ends.closed(reached[0]) if state.done else None
        return None if found is None else ["end", *found]

    # --- division ---

    def cut(self, state: Sequences) -> Halved:
        """Where to divide: what leaves the least of the model open in both halves."""
        found = []
        for place, (_, spans) in enumerate(state.steps):
            for parameter, (low, high) in enumerate(spans):
                if low < high:
                    cut = Halved(place, parameter, math.floor(middle_of((low, high))))
                    found.append((sum(map(self.open, self.plans.split(state, *cut))), low - high, cut))
        if not found:
            raise CertificateError("rounding, or a quotient by 0, leaves open what the model says at the end of a plan")
        return min(found)[2]

    def open(self, state: Sequences) -> float:
        """How much of the model the ends of a state see, about."""
        reached = self.reached(state.steps)
        if reached is None or self.plans.claim is not None and reached[1] >= self.plans.claim:
            return 0.0
        total = 1.0
        for j, span in enumerate(reached[0]):
            if isinstance(span, tuple):
                total += self.ends.weights[j] * (span[1] - span[0])
            else:
                total += self.ends.weights[j] * (span.bit_count() - 1)
        return total
