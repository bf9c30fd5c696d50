"""Plans: no sequence of actions that costs less than some number ends in an allowed point with the goal.

A sequence is enclosed by intervals: a state of the world is a box of indices, a parameter of an action has a span. All
sequences stand in a tree: a state of the proof is some first actions with spans of their parameters, and perhaps the
end after them. A node takes one state away and puts its children in its place, which together hold all its sequences; a
leaf puts nothing in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from mace.proofs.kernel.actions import Action
from mace.proofs.kernel.axes import Span, empty, meet
from mace.proofs.kernel.fields import anything, below_or, count, index, integer, read
from mace.proofs.kernel.floats import Refused, need, rational
from mace.proofs.kernel.proof import RULES as OF_POINTS
from mace.proofs.kernel.proof import Check, Rule, close, read_statement
from mace.proofs.kernel.state import State

CERTIFICATE = {
    "mace_plan": anything, "about?": anything, "statement": anything, "witness": anything, "cuts": anything,
    "world": {"horizon": count, "actions": [anything]}, "claim": below_or("cheaper_than", "never"),
    "proof": [[anything]],
}  # fmt: skip


class Sequences(NamedTuple):
    """Some first actions, each with spans of its parameters, in order; `done`: nothing follows."""

    steps: tuple[tuple[int, tuple[Span, ...]], ...]
    done: bool


class Plans:
    """A statement about ends, a world, and the rules of a proof about all sequences."""

    def __init__(self, data: Any, fired: dict[str, int], model: Any = None) -> None:
        found = read(data, CERTIFICATE, "the certificate")
        need(found.mace_plan == 1 and type(found.mace_plan) is int, "the certificate: unknown format")
        self.fired = fired
        self.statement = read_statement(found.statement, model)
        need(self.statement.claim is None, "statement: claim: of ends it is that there is none anywhere")
        self.claim: Fraction | None = found.claim
        axes = self.statement.axes
        self.horizon = found.world.horizon
        self.actions = [Action(data, axes, f"world: action {k}") for k, data in enumerate(found.world.actions)]
        self.start = [axis.only(axis.start) for axis in axes]
        self.check = Check(self.statement, found.cuts)
        self.cost = None if found.witness is None else self.witness(found.witness)

    def apply(self, rule: Rule, state: Sequences, fields: Sequence[Any]) -> list[Sequences]:
        """What a node puts in the place of a state, the first of them last."""
        return [*reversed(rule.function(self, state, *fields) or ())]

    def reached(self, state: Sequences) -> tuple[list[Span], Fraction] | None:
        """A box that holds the states after all plans of a state, and a lower bound of their costs; None: there is no
        such plan."""
        box, cost = self.start, Fraction(0)
        for action, spans in state.steps:
            if any(map(empty, spans)):
                return None
            taken = self.actions[action].take(box, spans)
            if taken is None:
                return None
            box, cost = taken.box, cost + taken.low
        return box, cost

    def step(self, state: Sequences) -> list[Sequences]:
        """The end, and one more action of each kind that was not taken.

        Lemma: after its first actions a sequence ends, or goes on with another action, as often as the horizon allows.
        """
        need(not state.done, "nothing follows")
        children = [Sequences(state.steps, done=True)]
        taken = {action for action, _ in state.steps}
        if len(state.steps) < self.horizon:
            for number, action in enumerate(self.actions):
                if number not in taken:
                    spans = tuple((one.first, one.last) for one in action.parameters)
                    children.append(Sequences((*state.steps, (number, spans)), done=False))
        return children

    def split(self, state: Sequences, place: Any, parameter: Any, at: Any) -> list[Sequences]:
        """A parameter of the action at some place is at most `at`, or above it.

        Lemma: one or the other holds of every sequence.
        """
        place = integer(place, 0, len(state.steps) - 1, "place")
        action, spans = state.steps[place]
        parameter = integer(parameter, 0, len(spans) - 1, "parameter")
        at = integer(at, None, None, "at")
        children = []
        for half in ((spans[parameter][0], at), (at + 1, spans[parameter][1])):
            narrowed = (*spans[:parameter], meet(spans[parameter], half), *spans[parameter + 1 :])
            children.append(
                Sequences((*state.steps[:place], (action, narrowed), *state.steps[place + 1 :]), state.done)
            )
        return children

    def dear(self, state: Sequences) -> None:
        """What was done costs as much as the claim, and no action costs less than nothing."""
        reached = self.reached(state)
        if self.claim is None:
            raise Refused("the claim is not about cost")
        need(reached is None or reached[1] >= self.claim, "it may cost less than the claim")

    def never(self, state: Sequences) -> None:
        """Some action cannot be taken."""
        need(self.reached(state) is None, "every action may be taken")

    def end(self, state: Sequences, *proof: Any) -> None:
        """No point of the box that holds the ends has the goal, by rules for points."""
        need(state.done, "more actions may follow")
        reached = self.reached(state)
        if reached is None:
            return
        root = State(reached[0], self.statement.least(reached[0]), range(len(self.statement.goal)))
        self.check.model.begin(root)
        close(self.check, OF_POINTS, root, read(list(proof), [[anything]], "proof"), self.fired)

    def witness(self, data: Any) -> Fraction:
        """The cost of a plan that can be taken for certain, is not below the claim, and ends with the goal."""
        found = read(data, {"steps": [(index, [index])], "cost": rational}, "witness")
        need(len({action for action, _ in found.steps}) == len(found.steps) <= self.horizon, "witness: too many steps")
        box, cost = self.start, Fraction(0)
        for number, values in found.steps:
            action = self.actions[integer(number, 0, len(self.actions) - 1, "witness: action")]
            need(len(values) == len(action.parameters), "witness: expected a value for each parameter")
            for one, value in zip(action.parameters, values, strict=True):
                integer(value, one.first, one.last, "witness: parameter")
            taken = action.take(box, [(value, value) for value in values])
            if taken is None or not taken.sure:
                raise Refused("witness: a step may not be taken")
            box, cost = taken.box, cost + taken.low
        self.check.has_goal([axis.ends(span)[0] for axis, span in zip(self.statement.axes, box, strict=True)])
        need(cost == found.cost, "witness: wrong cost")
        need(self.claim is not None and cost >= self.claim, "witness: it is against the claim")
        return cost


RULES = {
    "step": Rule(None, 0, None, Plans.step),
    "split": Rule(None, 3, None, Plans.split),
    "dear": Rule(None, 0, None, Plans.dear),
    "never": Rule(None, 0, None, Plans.never),
    "end": Rule(None, None, None, Plans.end),
}


def verify_plan(data: Any, fired: dict[str, int], model: Any = None) -> Plans:
    """A certificate about plans whose claim holds; refuses any other.

    Lemma: every plan against the claim is one of the sequences of an open state, at first of the root.
    """
    plans = Plans(data, fired, model)
    close(plans, RULES, Sequences((), done=False), data["proof"], fired)
    return plans
