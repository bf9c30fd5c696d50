"""The tree of boxes: every point against the claim lies in a state that is still open, at first in the root.

A point is against the claim if it is allowed, has the goal, and is nearer than the claim (for `anywhere`: at all). A
node takes one state away and puts its children in its place, which together hold all such points of it; a leaf puts
nothing in its place. When no state is open there is no such point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from mace.proofs.kernel.axes import meet, outside
from mace.proofs.kernel.cliques import cliques
from mace.proofs.kernel.ensembles import Ensemble, Reach
from mace.proofs.kernel.fields import anything, integer, read
from mace.proofs.kernel.floats import Refused, need, rational
from mace.proofs.kernel.networks import Network
from mace.proofs.kernel.prices import narrow, prices
from mace.proofs.kernel.relaxation import Relaxation
from mace.proofs.kernel.state import State
from mace.proofs.kernel.statement import Statement

MODELS: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "ensemble": (Ensemble, Reach),
    "network": (Network, Relaxation),
}
CERTIFICATE = {
    "mace_certificate": anything, "about?": anything, "statement": anything, "witness": anything, "cuts": anything,
    "proof": [[anything]],
}  # fmt: skip


class Rule(NamedTuple):
    """How many children a node has and how many fields follow its name (None: any number), and whose rule it is."""

    children: Any
    fields: int | None
    owner: type | None
    function: Callable[..., Any]


class Check:
    """A statement, what the model adds, and the rules that are for every model."""

    def __init__(self, statement: Statement, cuts: Any) -> None:
        self.statement = statement
        full = [axis.full for axis in statement.axes]
        self.root = State(full, statement.least(full), range(len(statement.goal)))
        self.model = MODELS[statement.model.kind][1](statement, statement.model, cuts, self.root)

    def apply(self, rule: Rule, state: State, fields: Sequence[Any]) -> list[State]:
        """What a node puts in the place of a state, the first of them last."""
        need(rule.owner in (None, type(self.model)), "this is not about this kind of model")
        if state.empty:
            return [state] * rule.children
        result = rule.function(self if rule.owner is None else self.model, state, *fields)
        return [result] if rule.children == 1 else [*reversed(result or ())]

    def split(self, state: State, j: Any, at: Any) -> list[State]:
        """Two states: the index is at most `at`, or above it; the level is in the mask `at`, or is not.

        Lemma: one or the other holds of every point.
        """
        j = integer(j, 0, len(self.statement.axes) - 1, "axis")
        axis, span = self.statement.axes[j], state.box[j]
        if axis.is_grid:
            at = integer(at, None, None, "at")
            return [state.narrowed(j, axis, meet(span, half)) for half in ((span[0], at), (at + 1, span[1]))]
        at = axis.span(at, "at")
        return [state.narrowed(j, axis, span & at), state.narrowed(j, axis, span & ~at)]

    def part(self, state: State, k: Any) -> list[State]:
        """Two states: the points that have part k of the goal, and those that have another one.

        Lemma: a point with the goal has one of its parts.
        """
        need(integer(k, 0, None, "part") in state.parts, "this part of the goal is not open")
        one, others = state.child(), state.child()
        one.parts, others.parts = [k], [other for other in state.parts if other != k]
        others.empty = not others.parts
        return [one, others]

    def near(self, state: State, *sides: Any) -> State:
        """A state without indices of some axes that are too far, `[axis, span]` each: the span is what stays.

        Lemma: an index that by itself, with the least that the other axes add to the sum, is at a distance that is not
        below the claim has no point against it; and of those that go the nearest to the start adds the least.
        """
        statement = self.statement
        for side in sides:
            if state.empty:
                break
            need(type(side) is list and len(side) == 2, "expected an axis and a span")
            j = integer(side[0], 0, len(statement.axes) - 1, "axis")
            axis, span = statement.axes[j], state.box[j]
            stays = axis.span(side[1], "span")
            others = state.total - axis.cost(span)[0]
            for part in outside(axis, span, stays):
                far = statement.limit is not None and others + sum(axis.cost(part)) >= statement.limit
                need(far, f"axis {j} has other indices that are near enough")
            state = state.narrowed(j, axis, meet(span, stays))
        return state

    def nothing(self, _: State) -> None:
        """The state is known to have no point."""
        raise Refused("there are points in the box")

    def distance(self, state: State) -> None:
        """No point of the box is nearer than the claim.

        Lemma: the distance is a sum and a maximum of parts that grow with each axis's own distance from its start.
        """
        limit = self.statement.limit
        if limit is None:
            raise Refused("the claim is not about distance")
        need(state.total + state.largest >= limit, "the box has points nearer than the claim")

    def changes(self, state: State) -> None:
        """More axes than may change exclude their start."""
        axes = self.statement.axes
        moved = sum(not axis.has(span, axis.start) for axis, span in zip(axes, state.box, strict=True))
        need(moved > self.statement.most, f"only {moved} features must change, {self.statement.most} may")

    def avoid(self, state: State, k: Any) -> None:
        """The box lies in an excluded region."""
        statement = self.statement
        region = statement.avoid[integer(k, 0, len(statement.avoid) - 1, "region")]
        need(region.holds(statement.axes, state.box, statement.common), f"the box is not inside region {k}")

    def rule(self, state: State, k: Any) -> None:
        """A rule is false at every point of the box."""
        rule = self.statement.rules[integer(k, 0, len(self.statement.rules) - 1, "rule")]
        need(not rule.possible(self.statement.axes, state.box)[1], f"rule {k} can hold in the box")

    def witness(self, data: Any) -> None:
        """The witness is allowed, at the stated distance, not nearer than the claim, and has the goal."""
        statement = self.statement
        found = read(data, {"point": tuple(axis.index for axis in statement.axes), "distance": rational}, "witness")
        self.has_goal(found.point)
        need(statement.distance(found.point) == found.distance, "witness: wrong distance")
        if statement.claim is None:
            raise Refused("witness: the claim is that there is none")
        need(found.distance >= statement.claim, "witness: it is nearer than the claim")

    def has_goal(self, point: Sequence[int]) -> None:
        """A point is allowed, and certainly has the goal."""
        statement = self.statement
        box = statement.box(point)
        for axis, index in zip(statement.axes, point, strict=True):
            need(axis.has(axis.full, index), f"witness: the value of {axis.name!a} is not allowed")
        for k, rule in enumerate(statement.rules):
            need(not rule.possible(statement.axes, box)[0], f"witness: it breaks rule {k}")
        for k, region in enumerate(statement.avoid):
            need(not region.holds(statement.axes, box, statement.common), f"witness: it lies in excluded region {k}")
        moved = sum(i != axis.start for axis, i in zip(statement.axes, point, strict=True))
        need(moved <= statement.most, f"witness: it changes {moved} features")
        need(statement.model.witness(statement, point), "witness: the model may not say so there")


# To add a rule is to add its row here, its function, a heading in FORMAT.md and a lemma.
RULES = {
    "split": Rule(2, 2, None, Check.split),
    "near": Rule(1, None, None, Check.near),
    "prune": Rule(1, None, Reach, Reach.prune),
    "phase": Rule(2, 2, Relaxation, Relaxation.phase),
    "bounds": Rule(1, None, Relaxation, Relaxation.bounds),
    "empty": Rule(0, 0, None, Check.nothing),
    "distance": Rule(0, 0, None, Check.distance),
    "changes": Rule(0, 0, None, Check.changes),
    "avoid": Rule(0, 1, None, Check.avoid),
    "rule": Rule(0, 1, None, Check.rule),
    "trees": Rule(0, None, Reach, Reach.trees),
    "cell": Rule(0, None, Reach, Reach.cell),
    "dual": Rule(0, None, Relaxation, Relaxation.dual),
    "prices": Rule(0, None, Reach, prices),
    "tighten": Rule(1, None, Relaxation, Relaxation.tighten),
    "part": Rule(2, 1, None, Check.part),
    "cliques": Rule(1, None, Reach, cliques),
    "narrow": Rule(1, None, Reach, narrow),
}


def read_model(data: Any) -> Any:
    """The model of a statement; it may serve many statements."""
    kind: Any = data.get("kind") if type(data) is dict else None
    need(type(kind) is str and kind in MODELS, f"statement: model: kind: expected one of {', '.join(MODELS)}")
    return MODELS[kind][0](data)


def read_statement(data: Any, model: Any = None) -> Statement:
    """A statement; model: what `read_model` made of its model, if it was read."""
    need(type(data) is dict, "statement: expected an object")
    return Statement(data, read_model(data.get("model")) if model is None else model)


def fits(statement: Statement) -> None:
    """Refuse a model that does not fit its statement, where no proof speaks of it: facts that are `null`, or none."""
    Check(statement, [None] * len(getattr(statement.model, "tests", ())))


def verify(data: Any, fired: dict[str, int], model: Any = None) -> Statement:
    """The statement of a certificate of format 2 whose claim holds; refuses any other.

    fired: counts how often each rule is used. model: what `read_model` made of the statement's model, if it was read.
    """
    found = read(data, CERTIFICATE, "the certificate")
    need(found.mace_certificate == 2, "the certificate: unknown format")
    statement = read_statement(found.statement, model)
    check = Check(statement, found.cuts)
    if found.witness is not None:
        check.witness(found.witness)
    close(check, RULES, check.root, found.proof, fired)
    return statement


def close(check: Any, rules: Mapping[str, Rule], root: Any, proof: Sequence[Any], fired: dict[str, int]) -> None:
    """Refuse unless a proof by some rules closes a state."""
    todo = [root]  # Invariant: all that is in the root and against the claim lies in one of these states.
    for number, node in enumerate(proof):
        name: Any = node[0] if node else None
        rule = rules.get(name) if type(name) is str else None
        if not todo:
            raise Refused(f"node {number}: the proof is complete before it")
        if rule is None:
            raise Refused(f"node {number}: no rule {str(name)[:20]!a}")
        try:
            if rule.fields not in (None, len(node) - 1):
                raise Refused(f"takes {rule.fields} fields")
            todo += check.apply(rule, todo.pop(), node[1:])
        except Refused as error:
            raise Refused(f"node {number}: {name}: {error}") from None
        fired[name] = fired.get(name, 0) + 1
    need(not todo, f"node {len(proof)}: the proof ends before everything is closed")
