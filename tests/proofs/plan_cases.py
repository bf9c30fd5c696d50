"""Certificates of plans by hand, true ones and false ones by a hair; and the truth of any, by trying every plan.

Features x (0..10), y (0..10, in steps of 1), a level l; a tree says 1 where x > 3. `go` adds v to x, and costs v, half
of it where y >= 5; `lift` sets y to 5 and costs 1. So the cheapest plan is lift, then go with v = 4: it costs 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

from tests.proofs.by_hand import AT_3, GOAL, TWO, grid, number, two
from tests.proofs.enumeration import allowed, has_goal

LEVELS = {"name": "l", "weight": "1", "kind": "levels", "count": 3, "allowed": 7, "start": 0, "ordered": False}
WORLD = {"features": [*TWO["features"], LEVELS], "columns": [*TWO["columns"], [2, [number(k) for k in range(3)], []]]}
GO = {
    "parameters": [{"step": "1", "first": 1, "last": 5}],
    "lines": [["x", 0], ["p", 0], ["+", 0, 1], ["x", 1], ["c", "5"], ["<=", 4, 3], ["c", "1/2"], ["c", "1"],
              ["if", 5, 6, 7]],
    "before": [], "change": [[0, 2]], "then": [], "after": [], "cost": 1, "factors": [[8]],
}  # fmt: skip
LIFT = {
    "parameters": [], "lines": [["c", "5"]], "before": [], "change": [[1, 0]], "then": [["c", "1"]], "after": [],
    "cost": 1, "factors": [],
}  # fmt: skip
END = ["end", ["trees"]]
AT_0, AT_2 = ([[0, None, number(than), False]] for than in (0.0, 2.0))  # parts of a goal: always there, never
UP_TO_3 = ["split", 0, 0, 3]
AFTER_LIFT = ["split", 1, 0, 3]
PROOF: list[Any] = [
    ["step"], END,
    ["step"], UP_TO_3, END, ["dear"], ["step"], UP_TO_3, END, ["dear"],
    ["step"], END, ["step"], AFTER_LIFT, END, ["dear"],
]  # fmt: skip
WITNESS = {"steps": [[1, []], [0, [4]]], "cost": "3"}


IN_COLUMNS = {"goal": ["1"], "largest": [], "unit": "1", "prices": {"nodes": [1], "units": [0]}}
NONE = {"changes": [], "numbers": [], "units": []}
CHANGED = {**IN_COLUMNS, "like": 1, "shift": 0, "prices": {"changes": [0], "nodes": [], "units": []}, "cliques": NONE}


def plan(
    claim: str | None = "3", proof: Any = PROOF, actions: Any = (GO, LIFT), horizon: int = 2, witness: Any = None,
    **more: Any,
) -> Any:  # fmt: skip
    """A certificate about the world above; `more` goes to its statement."""
    statement = two(AT_3, GOAL, None, [], [3], **{**WORLD, **more})["statement"]
    said = {"never": True} if claim is None else {"cheaper_than": claim}
    return {
        "mace_plan": 1, "statement": statement, "world": {"horizon": horizon, "actions": list(actions)}, "claim": said,
        "witness": witness, "cuts": [3], "proof": proof,
    }  # fmt: skip


def one(action: dict[str, Any], proof: Any, claim: str | None = None, **more: Any) -> Any:
    """A world of one action, which may be taken once."""
    return plan(claim, [["step"], END, *proof], [action], 1, **more)


def with_parts(proof: Any, *more: list[Any]) -> Any:
    """About ends whose goal has more parts, each proof of an end being this one."""
    made = plan(proof=[["end", *proof] if node == END else node for node in PROOF])
    made["statement"]["goal"] = [*made["statement"]["goal"], *more]
    return made


def setting(lines: list[Any], **more: Any) -> dict[str, Any]:
    """An action that sets x to its last line, for a cost of 1."""
    last = len(lines)
    base = {"parameters": [], "lines": [*lines, ["c", "1"]], "before": [], "change": [[0, last - 1]], "then": []}
    return {**base, "after": [], "cost": last, "factors": [], **more}


def without(proof: Any, place: int) -> Any:
    return [*proof[:place], *proof[place + 1 :]]


NOTHING = [["step"], END]  # the sequence ends here
HALVES = {"features": [grid(0, 20, 0, "1/2"), *WORLD["features"][1:]]}
OFF = {"features": [grid(0, 10, 0, extra="5/2"), *WORLD["features"][1:]]}
OVER = [["x", 1], ["c", "2"], ["/", 1, 0]]
ASKED = [["x", 0], ["c", "4"], ["x", 0], ["<", 2, 1]]
LEVEL = {**setting([["c", "1"], ["c", "2"]]), "change": [[2, 1], [0, 0]]}
PICKED = {"parameters": [{"step": "1", "first": 1, "last": 2}]}
PICK = [["p", 0], ["c", "1"], ["<=", 0, 1]]  # whether the parameter is 1
DOUBT = {**setting([["x", 1], ["c", "2"], ["/", 1, 0], ["<=", 2, 1], ["c", "4"]]), "before": [3]}
TRUE = {
    "an end by prices in columns": with_parts([["prices", IN_COLUMNS]]),
    "a branch that is open": one(setting([*PICK, ["c", "3"], ["if", 2, 1, 3]], **PICKED), NOTHING),
    "values of two branches, of which none is asked for": one(
        setting([*PICK, ["c", "3"], ["if", 2, 1, 3], ["c", "2"], ["==", 4, 5], ["c", "4"]], before=[6], **PICKED),
        [["never"]]),
    "a quotient by an interval": one(
        setting([["p", 0], ["c", "6"], ["/", 1, 0]], parameters=[{"step": "1", "first": 2, "last": 3}]), NOTHING),
    "a condition that asks for nothing": one({**setting([["and"], ["c", "1"]]), "before": [0]}, NOTHING),
    "the cheapest plan": plan(),
    "the cheapest plan, and one that costs as much": plan(witness=WITNESS),
    "a plan that costs more": plan(witness={"steps": [[0, [4]]], "cost": "4"}),
    "a plan that has the goal at its start": plan("0", [["dear"]], features=[grid(0, 10, 5), *WORLD["features"][1:]],
                                                 witness={"steps": [], "cost": "0"}),
    "one action at most": plan("4", [["step"], END, *NOTHING[:1], UP_TO_3, END, ["dear"], *NOTHING], horizon=1),
    "an action that cannot be taken": one({**GO, "lines": [*GO["lines"], ["false"]], "before": [9]}, [["never"]]),
    "a condition on the state after": one({**GO, "then": [["y", 0], ["c", "4"], ["<", 9, 10]], "after": [11]},
                                          [["step"], UP_TO_3, END, ["end"]]),
    "a state that leaves its range": one(setting([["c", "11"]]), [["never"]]),
    "a value half-way, which takes the even index": one(setting([["c", "13/4"]]), NOTHING, **HALVES) | {"cuts": [6]},
    "a value half-way, above the value off the grid": one(setting([["c", "7/2"]]), NOTHING, **OFF) | {"cuts": [4]},
    "a quotient": one(setting([["c", "7"], ["c", "2"], ["/", 0, 1]]), [["step"], ["end", ["trees"]]], **OFF | {
        "rules": [["<=", ["x", 0], ["c", "3"]]]} | {"features": [grid(0, 3, 0), *WORLD["features"][1:]]}),
    "a quotient by what can be 0, of which nothing is known": one(setting(OVER), [["step"], ["end", ["rule", 0]]],
        rules=[["<", ["x", 0], ["c", "0"]]]),
    "a product of two negative numbers": one(setting([["c", "-1"], ["c", "-3"], ["*", 0, 1]]), NOTHING),
    "levels that are set": one(LEVEL, [["step"], ["end", ["trees"]]], rules=[["==", ["x", 2], ["c", "2"]]]),
    "a level that is none": one({**LEVEL, "lines": [["c", "1"], ["c", "3/2"], ["c", "1"]]}, [["never"]]),
    "an effort that is negative": one(setting([["c", "4"]], then=[["c", "-1"]], cost=2), [["never"]]),
    "a factor above 1": one({**setting([["c", "4"], ["c", "2"], ["c", "4"]]), "factors": [[1]]}, [["never"]]),
    "the mean of two factors": plan("1/2", one(
        {**setting([["c", "1"], ["c", "0"], ["c", "4"]]), "factors": [[0], [1]]}, [["dear"]])["proof"],
        [{**setting([["c", "1"], ["c", "0"], ["c", "4"]]), "factors": [[0], [1]]}], 1),
    "ends whose goal is divided": with_parts([["part", 1], ["trees"], ["trees"]], AT_2),
    "ends that are divided by a part that there is alone": with_parts([["part", 0], ["trees"], ["empty"]]),
}  # fmt: skip
FALSE = {
    "ends of which one part may hold": with_parts([["part", 0], ["trees"], ["trees"]], AT_0),
    "ends of which the other part may hold": with_parts([["part", 1], ["trees"], ["trees"]], AT_0),
    "ends of which one part is not looked at": with_parts([["part", 0], ["trees"], ["empty"]], AT_0),
    "ends divided by a part that there is not": with_parts([["part", 2], ["trees"], ["trees"]], AT_2),
    "an action that costs nothing, as if it could not be taken": one(
        setting([["c", "0"], ["c", "4"]], cost=0), [["never"]]),
    "a mean of two factors that is below the claim": plan("1/2", [["step"], END, ["dear"]], [
        {**setting([["c", "0"], ["c", "1/2"], ["c", "4"]]), "factors": [[0, 1]]}], 1),
    "the cheaper one of two branches": plan("2", [["step"], END, ["dear"]], [
        setting([*PICK, ["c", "3"], ["if", 2, 1, 3], ["c", "4"]], cost=4, **PICKED)], 1),
    "a sum with something that is not known": one(
        setting([["p", 0], ["c", "3"], ["/", 1, 0], ["c", "1"], ["+", 2, 3]],
                parameters=[{"step": "1", "first": 0, "last": 1}]), NOTHING),
    "the upper one of two levels": one(
        {**setting([["p", 0], ["c", "4"]], **PICKED), "change": [[2, 0], [0, 1]]}, [["step"], ["end", ["rule", 0]]],
        rules=[["==", ["x", 2], ["c", "2"]]]),
    "a plan whose condition is in doubt": plan("0", [["dear"]], [DOUBT], witness={"steps": [[0, []]], "cost": "1"}),
    "a claim above the cheapest plan by a hair": plan("3000000001/1000000000"),
    "that there is no plan": plan(None, [["never"] if node == ["dear"] else node for node in PROOF]),
    "a split that leaves the goal in the lower half": plan(proof=[["split", 0, 0, 4] if n == UP_TO_3 else n
                                                                 for n in PROOF]),
    "a split of one parameter that the other action has": plan(proof=[UP_TO_3 if n == AFTER_LIFT else n
                                                                     for n in PROOF]),
    "a factor that the state does not have yet": plan("4", [["step"], END, *PROOF[2:10], ["dear"]]),
    "ends that the first actions go beyond": plan(proof=[["step"], END, END, *PROOF[10:]]),
    "a leaf too few": plan(proof=PROOF[:-1]),
    "a leaf too many": plan(proof=[*PROOF, ["dear"]]),
    "an end that is not looked at": plan(proof=without(PROOF, 1)),
    "a step after the end": plan(proof=[["step"], ["step"], *PROOF[1:]]),
    "a proof of an end that is open": plan(proof=[["step"], ["end"], *PROOF[2:]]),
    "a rule for another kind of model": plan(proof=[["step"], ["end", ["bounds"]], *PROOF[2:]]),
    "a distance, where there is none": plan(proof=[["step"], ["end", ["distance"]], *PROOF[2:]]),
    "an end by prices as changes": with_parts([["narrow", [], IN_COLUMNS], ["prices", CHANGED]]),
    "a rule that is unknown": plan(proof=[["stop"], *PROOF[1:]]),
    "cost, for a claim that is not about it": plan(None),
    "an action that may be taken": one(GO, [["never"]]),
    "a plan of a smaller cost": plan(witness={**WITNESS, "cost": "2"}),
    "a plan that is against the claim": plan("7/2", [["dear"]], witness=WITNESS),
    "a plan without the goal": plan("0", [["dear"]], witness={"steps": [[0, [3]]], "cost": "3"}),
    "a plan with an action twice": plan("0", [["dear"]], witness={"steps": [[0, [2]], [0, [2]]], "cost": "4"}),
    "a plan that is too long": plan("0", [["dear"]], horizon=1, witness=WITNESS),
    "a plan with a value that is none": plan("0", [["dear"]], witness={"steps": [[0, [6]]], "cost": "6"}),
    "a plan with a value too many": plan("0", [["dear"]], witness={"steps": [[0, [4, 4]]], "cost": "4"}),
    "a plan with an action that cannot be taken": plan("0", [["dear"]],
        [{**GO, "lines": [*GO["lines"], ["false"]], "before": [9]}], witness={"steps": [[0, [4]]], "cost": "4"}),
    "a plan that breaks a rule": plan("0", [["dear"]], witness=WITNESS, rules=[["<=", ["x", 1], ["c", "4"]]]),
    "a plan whose effort is not known": plan("0", [["dear"]], [setting([*OVER, ["c", "4"]], cost=2)],
                                            witness={"steps": [[0, []]], "cost": "0"}),
    "a plan for a claim that there is none": plan(None, [["never"]], witness=WITNESS),
    "a condition that may hold": one({**setting([*ASKED, ["c", "4"]]), "before": [3]}, [["never"]]),
    "a value half-way, as if it took the lower index": one(setting([["c", "7/2"]]), NOTHING),
    "a value just above half-way": one(setting([["c", "3500000001/1000000000"]]), NOTHING),
    "an end of a span that has the goal": one({**GO, "parameters": [{"step": "1", "first": 1, "last": 4}]}, NOTHING),
    "a step of a parameter that takes it farther": one(
        {**GO, "parameters": [{"step": "2", "first": 1, "last": 2}]}, NOTHING),
    "a branch that is possible": one(
        setting([*ASKED, ["c", "5"], ["c", "1"], ["if", 3, 4, 5]]), NOTHING),
    "a quotient by what can be 0, as if it were known": one(setting(OVER), [["never"]]),
    "a factor below its least": plan("1/2", [["step"], END, ["dear"]], [
        {**setting([["c", "1"], ["c", "0"], ["c", "0"], ["c", "4"]]), "factors": [[0], [1, 2]], "cost": 0}], 1)
        | {"claim": {"cheaper_than": "51/100"}},
}  # fmt: skip
WRONG = {
    "a line that reads a later one": one(setting([["neg", 1], ["c", "1"]]), NOTHING),
    "a line that reads itself": one(setting([["neg", 0]]), NOTHING),
    "a condition as a number": one(setting([["true"]]), NOTHING),
    "a number as a condition": one({**GO, "before": [0]}, NOTHING),
    "a choice between a number and a condition": one(setting([["true"], ["c", "1"], ["if", 0, 0, 1]]), NOTHING),
    "the state after, before it is known": one(setting([["y", 0]]), NOTHING),
    "a feature that is not there": one({**LIFT, "change": [[3, 0]]}, NOTHING),
    "a feature that is changed twice": one({**LIFT, "change": [[1, 0], [1, 0]]}, NOTHING),
    "a parameter that is not there": one(setting([["p", 0]]), NOTHING),
    "a parameter without a value": one({**GO, "parameters": [{"step": "1", "first": 2, "last": 1}]}, NOTHING),
    "an operator that is unknown": one(setting([["pow", 0, 0]]), NOTHING),
    "a sum of nothing": one(setting([["+"]]), NOTHING),
    "a feature without a factor": one({**GO, "factors": [[]]}, NOTHING),
    "a cost that is not there": one({**LIFT, "cost": 2}, NOTHING),
    "a change that is known later": one({**LIFT, "change": [[1, 1]]}, NOTHING),
    "a claim about distance": plan() | {"claim": {"closer_than": "3"}},
    "two claims": plan() | {"claim": {"cheaper_than": "3", "never": True}},
    "a claim about ends within a distance": {
        **plan(), "statement": {**plan()["statement"], "claim": {"closer_than": "3"}}
    },
    "another number for the form": plan() | {"mace_plan": 2},
    "true for the form": plan() | {"mace_plan": True},
    "a horizon of nothing": plan(horizon=0),
    "a feature of floats that is changed": one(LIFT, NOTHING, features=[
        WORLD["features"][0], grid(0, 10, 0, grid="float64"), LEVELS]),
    "a feature that may be missing": one(LIFT, NOTHING, features=[
        WORLD["features"][0], grid(0, 10, 0, missing={"cost": "1", "allowed": False}), LEVELS],
        columns=[WORLD["columns"][0], [1, None, [], number(20.0)], WORLD["columns"][2]]),
    "numbers that grow without end": one(setting([["c", "3"], *(["*", k, k] for k in range(16))]), [["never"]]),
}  # fmt: skip
CASES = {**TRUE, **{f"false: {name}": data for name, data in {**FALSE, **WRONG}.items()}}


# --- the truth -------------------------------------------------------------------------------------------------------


class NoneError(Exception):
    """A value that there is not."""


def value(lines: list[Any], k: int, names: dict[str, Any]) -> Any:
    """The value of a line at one state and one choice of parameters."""
    name, *parts = lines[k]
    if name in ("x", "y", "p"):
        return names[name][parts[0]]
    if name == "c":
        return Fraction(parts[0])
    if name == "if":
        return value(lines, parts[1] if value(lines, parts[0], names) else parts[2], names)
    held = [value(lines, part, names) for part in parts]
    if name == "/":
        if not held[1]:
            raise NoneError
        return held[0] / held[1]
    return {
        "+": lambda *a: sum(a), "-": lambda a, b: a - b, "neg": lambda a: -a, "*": lambda a, b: a * b, "abs": abs,
        "min": lambda *a: min(a), "max": lambda *a: max(a), "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
        "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "true": lambda: True, "false": lambda: False,
        "and": lambda *a: all(a), "or": lambda *a: any(a), "not": lambda a: not a,
    }[name](*held)  # fmt: skip


def worth(feature: Any, index: int) -> Fraction:
    """The value of an index."""
    if feature["kind"] == "levels":
        return Fraction(index)
    step, extra = Fraction(feature["step"]), feature["extra"]
    if extra is None:
        return index * step
    place = Fraction(extra) // step + 1
    return Fraction(extra) if index == place else (index if index < place else index - 1) * step


def settled(feature: Any, number: Fraction) -> int | None:
    """The index that a feature takes for a number; None: none."""
    if feature["kind"] == "levels":
        fits = number.denominator == 1 and 0 <= number < feature["count"] and feature["allowed"] >> int(number) & 1
        return int(number) if fits else None
    near = int(number / Fraction(feature["step"]))
    index = min(range(near - 2, near + 4), key=lambda k: (abs(worth(feature, k) - number), k % 2))
    return index if feature["lower"] <= index <= feature["upper"] else None


def taken(data: Any, action: Any, point: tuple[int, ...], values: list[int]) -> tuple[tuple[int, ...], Fraction] | None:
    """The state after an action, and its cost."""
    features = data["statement"]["features"]
    lines = [*action["lines"], *action["then"]]
    names: dict[str, Any] = {
        "x": [worth(f, i) for f, i in zip(features, point, strict=True)],
        "p": [k * Fraction(one["step"]) for one, k in zip(action["parameters"], values, strict=True)],
    }
    try:
        if not all(value(lines, k, names) for k in action["before"]):
            return None
        after = list(point)
        for j, k in action["change"]:
            index = settled(features[j], value(lines, k, names))
            if index is None:
                return None
            after[j] = index
        names["y"] = [worth(f, i) for f, i in zip(features, after, strict=True)]
        if not all(value(lines, k, names) for k in action["after"]):
            return None
        effort = value(lines, action["cost"], names)
        shares = [sum(value(lines, k, names) for k in group) / len(group) for group in action["factors"]]
    except NoneError:
        return None
    share = sum(shares) / len(shares) if shares else Fraction(1)
    return (tuple(after), effort * share) if effort >= 0 and 0 <= share <= 1 else None


def ends(data: Any) -> Iterator[tuple[tuple[int, ...], Fraction]]:
    """The end and the cost of every plan."""
    world = data["world"]
    start = tuple(feature["start"] for feature in data["statement"]["features"])
    todo: list[tuple[tuple[int, ...], Fraction, frozenset[int]]] = [(start, Fraction(0), frozenset())]
    while todo:
        point, cost, used = todo.pop()
        yield point, cost
        for number_, action in enumerate(world["actions"] if len(used) < world["horizon"] else ()):
            if number_ not in used:
                for values in product(*(range(p["first"], p["last"] + 1) for p in action["parameters"])):
                    found = taken(data, action, point, list(values))
                    if found is not None:
                        todo.append((found[0], cost + found[1], used | {number_}))


def true(data: Any) -> bool:
    """Whether the claim of a certificate of plans is true, by trying every plan."""
    said = data["claim"].get("cheaper_than")
    costs = [
        cost for point, cost in ends(data) if allowed(data["statement"], point) and has_goal(data["statement"], point)
    ]
    return not any(said is None or cost < Fraction(said) for cost in costs)


def witnessed(data: Any) -> bool:
    """Whether the witness of a certificate, if it has one, can be taken, costs what it says, and has the goal."""
    if data["witness"] is None:
        return True
    point: tuple[int, ...] = tuple(feature["start"] for feature in data["statement"]["features"])
    cost = Fraction(0)
    for number_, values in data["witness"]["steps"]:
        found = taken(data, data["world"]["actions"][number_], point, values)
        if found is None:
            return False
        point, cost = found[0], cost + found[1]
    right = cost == Fraction(data["witness"]["cost"])
    return bool(right and allowed(data["statement"], point) and has_goal(data["statement"], point))


__all__ = ["CASES", "true", "witnessed"]
