"""Certificates of sets: claims that are true, and false ones by a hair that differ in one thing a checker must look at.

A tree says 1 where x > 3; the start is (0, 0), the distance x + y. So the nearest points with the goal are (4, 0) at 4,
then (5, 0) and (4, 1) at 5.
"""

from __future__ import annotations

import copy
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.proofs.check import check
from mace.proofs.kernel import sets
from tests.proofs.by_hand import AT_LEAST_0, LEVELS, at_least, certificate, dual, forest, grid, network, number
from tests.proofs.enumeration import allowed, distance, has_goal, points

TWO = {"features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
AT_3 = forest([[0.0], [1.0]], at=[3.0])
TOO_LARGE = {**AT_3, "start": [number(1e308)]}
X_AND_Y = {"box": [[1, 10], [1, 10]]}
X_ALONE = {"box": [[1, 10], [0, 0]]}
AT_4 = {"box": [[4, 4], [0, 10]]}
CORNER = {"box": [[4, 4], [0, 0]]}
LEFT = [["split", 0, 3], ["trees", [0, 2]]]


def fact(claim: str | None, proof: list[Any], *avoid: Any, cuts: Any = (3,)) -> dict[str, Any]:
    said = {"anywhere": True} if claim is None else {"closer_than": claim}
    return {"avoid": list(avoid), "claim": said, "cuts": list(cuts), "proof": [*LEFT, *proof]}


FOUR = {**fact("4", []), "proof": [["trees"]]}
NOT_X_ALONE = fact("5", [["split", 1, 0], ["avoid", 0], ["distance"]], X_ALONE)
NOT_AT_4 = fact("5", [["split", 0, 4], ["avoid", 0], ["distance"]], AT_4)
BUT_CORNER = fact("5", [["split", 0, 4], ["split", 1, 0], ["avoid", 0], ["distance"], ["distance"]], CORNER)
NOTHING_ELSE = fact(None, [["split", 1, 0], ["avoid", 0], ["avoid", 1]], X_ALONE, X_AND_Y)


def of(claim: str | None, count: int, regions: list[Any], facts: list[Any], witness: Any = None, **asked: Any) -> Any:
    """A certificate of a set; `avoid` and `model` of the statement may be among what is asked."""
    others = ("avoid", "most_changes", "distance", "features_of", "columns")
    more = {name.removesuffix("_of"): asked.pop(name) for name in others if name in asked}
    model, goal = asked.pop("model", AT_3), asked.pop("goal", at_least(1.0))
    said = certificate(model, goal, claim, [], **{**TWO, **more})["statement"]
    boxes = [region["box"] for region in regions]
    wanted = {"count": count, "features": False, "values": False, "apart": None, "regions": boxes, **asked}
    return {"mace_set": 1, "statement": said, "set": wanted, "witness": witness, "facts": facts}


def at(x: int, y: int, far: str | None = None) -> dict[str, Any]:
    return {"point": [x, y], "distance": far or str(x + y)}


HAIR = "9000000001/1000000000"
F: dict[str, Any] = {"features": True}
V: dict[str, Any] = {"values": True}
BLOCK = {"box": [[4, 5], [0, 1]]}
WIDER = {"box": [[4, 6], [0, 1]]}
BLOCK_AWAY = fact("6", [["split", 0, 5], ["split", 1, 1], ["avoid", 0], ["distance"], ["distance"]], BLOCK)
WIDER_AWAY = fact("6", [["split", 0, 6], ["split", 1, 1], ["avoid", 0], ["distance"], ["distance"]], WIDER)
LARGEST = {"alpha": "0", "beta": "1", "gamma": "1"}
HALF = {"alpha": "0", "beta": "0", "gamma": "0", "forms": [["1/2", "0"]]}
STARTED = {**HALF, "forms": [["1/2", "0", "1"], ["0", "1", "-1/2"]]}
TWICE = [{**FOUR, "claim": {"closer_than": "8"}}, {**BLOCK_AWAY, "claim": {"closer_than": "10"}}]
ONLY_X = fact(None, [["split", 1, 0], ["avoid", 0], ["changes"]], X_ALONE)

# What it shows -> the certificate; those whose name begins with "false" are refused, others accepted.
CASES: dict[str, Any] = {
    "two sets of features": of("9", 2, [X_ALONE], [FOUR, NOT_X_ALONE], [at(4, 0), at(4, 1)], **F),
    "false: a sum that is too large by a hair": of(HAIR, 2, [X_ALONE], [FOUR, NOT_X_ALONE], **F),
    "false: one region with one set of features, twice": of("9", 2, [X_ALONE], [FOUR, NOT_X_ALONE]),
    "one set of features, where points need only differ": of("8", 2, [X_ALONE], [FOUR, NOT_X_ALONE]),
    "false: a fact speaks of a region that it excludes": of("9", 2, [X_ALONE], [NOT_X_ALONE], **F),
    "false: a fact about the rest excludes another box": of("9", 2, [X_ALONE], [FOUR, NOT_AT_4], **F),
    "false: a fact excludes a later region": of("10", 2, [X_AND_Y, X_ALONE], [NOT_X_ALONE], **F),
    "a fact excludes what has no point in common": of(
        "9", 2, [X_AND_Y, X_ALONE], [FOUR, NOT_X_ALONE, NOTHING_ELSE], **F
    ),
    "false: its own region has a point in common": of(
        "10", 2, [{"box": [[1, 10], [0, 10]]}, X_ALONE], [NOT_X_ALONE]
    ),
    "three sets of features, of which there are two": of(None, 3, [X_ALONE, X_AND_Y], [NOTHING_ELSE], **F),
    "false: two sets of features, of which there are two": of(None, 2, [X_ALONE, X_AND_Y], [NOTHING_ELSE], **F),
    "false: three points, where the features may be the same": of(None, 3, [X_ALONE, X_AND_Y], [NOTHING_ELSE]),
    "false: nothing is said of the rest": of(None, 3, [X_ALONE, X_AND_Y], [FOUR], **F),
    "two values": of("9", 2, [AT_4], [FOUR, NOT_AT_4], [at(4, 0), at(5, 0)], **V),
    "false: one value twice": of("9", 2, [AT_4], [FOUR, NOT_AT_4], **F),
    "false: two values in one region": of("9", 2, [{"box": [[4, 5], [0, 0]]}], [FOUR, fact(
        "5", [["split", 0, 5], ["split", 1, 0], ["avoid", 0], ["distance"], ["distance"]], {"box": [[4, 5], [0, 0]]}
    )], **V),
    "two points": of("9", 2, [CORNER], [FOUR, BUT_CORNER], [at(4, 0), at(4, 1)]),
    "a point bounds itself": of("9", 2, [CORNER], [BUT_CORNER]),
    "false: a point twice": of(HAIR, 2, [CORNER], [FOUR, BUT_CORNER]),
    "points that are nearer than they may be": of("10", 2, [BLOCK], [FOUR, BLOCK_AWAY], apart="3"),
    "false: points that are as near as they may be": of("10", 2, [WIDER], [FOUR, WIDER_AWAY], apart="3"),
    "as near as they may be, and two of them": of("8", 2, [WIDER], [FOUR, WIDER_AWAY], apart="3"),
    "one feature may change": of(
        None, 2, [X_ALONE], [ONLY_X], most_changes=1, **F
    ),
    "false: any number of features may change": of(None, 2, [X_ALONE], [ONLY_X], **F),
    "a set of one": of("4", 1, [], [FOUR], [at(4, 0)]),
    "more than there can be": of(None, 10**30, [X_ALONE], [ONLY_X], most_changes=1, **F),
    "false: no fact speaks of a model whose sums may overflow": of("0", 2, [], [], model=TOO_LARGE),
    "false: a set of none": of("4", 0, [], [FOUR]),
    "an exclusion of the statement": of("10", 2, [], [BUT_CORNER], [at(4, 1), at(5, 0)], avoid=[CORNER]),
    "false: an exclusion that is not of the statement": of("10", 2, [], [BUT_CORNER]),
    "false: a fact that excludes changes": of("8", 2, [], [{**FOUR, "avoid": [{"changes": [1]}]}]),
    "false: a fact whose proof is refused": of("10", 2, [], [fact("5", [["distance"]])]),
    "false: a witness that clashes": of("9", 2, [X_ALONE], [FOUR, NOT_X_ALONE], [at(4, 0), at(5, 0)], **F),
    "false: a witness that is a point twice": of("8", 2, [], [FOUR], [at(4, 0), at(4, 0)]),
    "false: a witness without the goal": of("4", 2, [], [FOUR], [at(4, 0), at(3, 1)]),
    "false: a witness at another distance": of("8", 2, [], [FOUR], [at(4, 0), at(5, 0, "6")]),
    "false: a witness of nothing": of("8", 2, [], [FOUR], [at(4, 0), None]),
    "false: a witness of one": of("4", 2, [], [FOUR], [at(4, 0)]),
    "false: a witness that there is nothing": of(
        None, 3, [X_ALONE, X_AND_Y], [NOTHING_ELSE], [at(4, 0), at(4, 1), at(5, 0)], **F
    ),
    "false: a witness that is nearer than the claim": of(
        "10", 2, [X_ALONE], [FOUR, NOT_X_ALONE], [at(4, 0), at(4, 1)], **F
    ),
    "false: a witness of two that there is nothing": of(
        None, 2, [X_ALONE, X_AND_Y], [NOTHING_ELSE], [at(4, 0), at(4, 1)], **F
    ),
    "false: a number for a witness": of("8", 2, [], [FOUR], 2),
    "a witness that is farther than the claim": of("8", 2, [], [FOUR], [at(4, 0), at(5, 0)]),
    "a witness of three": of("12", 3, [], [FOUR], [at(4, 0), at(5, 0), at(4, 1)]),
    "nearer than they may be, the largest change included": of("18", 2, [BLOCK], TWICE, apart="4", distance=LARGEST),
    "false: nearer by the largest change alone": of("18", 2, [BLOCK], TWICE, apart="3", distance=LARGEST),
    "false: an empty region": of("8", 2, [{"box": [[1, 0], [0, 10]]}], [FOUR]),
    "false: true for a count": of("4", True, [], [FOUR]),
    "false: true for the form": {**of("8", 2, [], [FOUR]), "mace_set": True},
    "false: a list for the statement": {**of("8", 2, [], [FOUR]), "statement": []},
    "false: no model": of("8", 2, [], [FOUR], model=None),
    "words for people": {**of("8", 2, [], [FOUR]), "about": "two points"},
    "false: another number for the form": {**of("8", 2, [], [FOUR]), "mace_set": 2},
    "false: a field too many": {**of("8", 2, [], [FOUR]), "cuts": [3]},
    "a linear model": of(
        "9", 2, [X_ALONE], [
            {**FOUR, "cuts": [], "proof": [["split", 0, 3], dual("100"), ["distance"]]},
            {**NOT_X_ALONE, "cuts": [], "proof": [["split", 0, 3], dual("100"), *NOT_X_ALONE["proof"][2:]]},
        ], model=network([[[1.0], [0.0]]], [[-3.5]]), goal=AT_LEAST_0, **F,
    ),
}  # fmt: skip
P40, P41, P50 = ({"box": [[x, x], [y, y]]} for x, y in ((4, 0), (4, 1), (5, 0)))
BEYOND = fact(
    "6", [
        ["split", 0, 4], ["split", 1, 0], ["avoid", 0], ["split", 1, 1], ["avoid", 1], ["distance"],
        ["split", 0, 5], ["split", 1, 0], ["avoid", 2], ["distance"], ["distance"],
    ], P40, P41, P50,
)  # fmt: skip


def paid(claim: str | None, of_values: Any = (), of_features: Any = (), **asked: Any) -> Any:
    """Two of the three nearest points and what lies beyond, and what is paid."""
    prices = {"values": list(of_values), "features": list(of_features)}
    return of(claim, asked.pop("count", 2), [P40, P41, P50], [BEYOND], **{"prices": prices, **asked})


AT_40 = {"avoid": [{"box": [[5, 10], [0, 10]]}, {"box": [[4, 4], [1, 10]]}]}
ALONE = fact(None, [["split", 0, 4], ["split", 1, 0], ["avoid", 2], ["avoid", 1], ["avoid", 0]], *AT_40["avoid"], P40)
PAIR = {"avoid": [*AT_40["avoid"][:1], {"box": [[4, 4], [2, 10]]}]}
P4 = {"box": [[4, 4], [0, 1]]}
PAIR_ALONE = fact(
    None, [["split", 0, 4], ["split", 1, 1], ["avoid", 2], ["avoid", 1], ["avoid", 0]], *PAIR["avoid"], P4
)
ANY = {"box": [[1, 10], [0, 10]]}
BY_LEVEL = [{"box": [2, [0, 0]]}, {"box": [4, [0, 0]]}]
BEYOND_LEVELS = {
    "avoid": BY_LEVEL, "claim": {"closer_than": "3/2"}, "cuts": [],
    "proof": [
        ["split", 0, 1], dual("100"), ["split", 1, 0], ["split", 0, 2], ["avoid", 0], ["avoid", 1], ["distance"]
    ],
}  # fmt: skip
OF_LEVELS: dict[str, Any] = {
    "features_of": [LEVELS, grid(0, 10, 0)], "columns": [[0, [number(x) for x in (0, 1, 2)], []], [1, None, []]],
    "model": network([[[1.0], [0.0]]], [[-0.5]]), "goal": AT_LEAST_0,
}  # fmt: skip
CASES |= {
    "a price of a value": paid("9", [[0, 4, "1"]], **V),
    "false: a price of a value, by a hair": paid(HAIR, [[0, 4, "1"]], **V),
    "a price that nobody pays": paid("9", [[0, 7, "1"]], **V),
    "false: a price that nobody pays, by a hair": paid(HAIR, [[0, 7, "1"]], **V),
    "a price twice": paid("9", [[0, 4, "1"], [0, 4, "2"]], **V),
    "false: a price twice, by a hair": paid(HAIR, [[0, 4, "1"], [0, 4, "2"]], **V),
    "prices of two features": paid("9", [[0, 4, "1"], [1, 1, "1/3"]], **V),
    "a price of another index than its feature": paid("9", [[1, 4, "1"]], **V),
    "false: a price of another index than its feature, by a hair": paid(HAIR, [[1, 4, "1"]], **V),
    "false: a price where values may be the same": paid(HAIR, [[0, 4, "1"]]),
    "false: a price of features where values may not be the same": paid(HAIR, (), [[[0], "1"]], **V),
    "false: a price of the start": paid(HAIR, [[1, 0, "1"]], **V),
    "false: a price below 0": paid("9", [[0, 4, "-1"]], **V),
    "a price of 0": paid("9", [[0, 4, "0"]], **V),
    "a price of changed features": paid("9", (), [[[0], "1"]], **F),
    "false: a price of changed features, by a hair": paid(HAIR, (), [[[0], "1"]], **F),
    "a feature twice in a price": paid("9", (), [[[0, 0], "1"]], **F),
    "a price of the same features, twice": paid("9", (), [[[0], "1"], [[0], "1"]], **F),
    "false: a price of the same features, twice, by a hair": paid(HAIR, (), [[[0], "1"], [[0], "1"]], **F),
    "prices of two sets of features": paid("9", (), [[[0], "1"], [[1, 0], "1/3"]], **F),
    "false: prices of two sets of features, by a hair": paid(HAIR, (), [[[0], "1"], [[1, 0], "1/3"]], **F),
    "a price of features that nobody changes": paid("9", (), [[[1], "3"], [[], "2"]], **F),
    "false: a price of features that nobody changes, by a hair": paid(HAIR, (), [[[1], "3"], [[], "2"]], **F),
    "prices of both": paid("9", [[0, 4, "1"]], [[[0], "1"]], **F, **V),
    "false: a price of features that may be changed twice": paid(HAIR, (), [[[0], "1"]]),
    "false: a price where features may not be the same": paid(HAIR, [[0, 4, "1"]], **F),
    "false: a price of no feature": paid("9", [[2, 4, "1"]], **V),
    "false: a price of a feature below 0": paid("9", [[-1, 4, "1"]], **V),
    "false: a price of features with none of that number": paid("9", (), [[[2], "1"]], **F),
    "false: a price of features below 0": paid("9", (), [[[-1], "1"]], **F),
    "false: a price of a text": paid("9", [[0, "4", "1"]], **V),
    "false: prices of nothing": paid("9", [[0, 4]], **V),
    "false: a list for prices": of("9", 2, [P40, P41, P50], [BEYOND], prices=[], **V),
    "false: null for prices": of("9", 2, [P40, P41, P50], [BEYOND], prices=None, **V),
    "false: prices where the claim is that there is none": of(
        None, 3, [X_ALONE, X_AND_Y], [NOTHING_ELSE], prices={"values": [], "features": []}, **F
    ),
    "three points, and prices": paid("15", [[0, 4, "2"], [0, 5, "1"]], count=3, **V),
    "false: three points, and prices, by a hair": paid(
        "15000000001/1000000000", [[0, 4, "2"], [0, 5, "1"]], count=3, **V
    ),
    "a region of a value pays for it": of("9", 2, [AT_4], [FOUR, NOT_AT_4], prices={
        "values": [[0, 4, "1"]], "features": []
    }, **V),
    "false: a region of a value pays for it, by a hair": of(HAIR, 2, [AT_4], [FOUR, NOT_AT_4], prices={
        "values": [[0, 4, "1"]], "features": []
    }, **V),
    "a region of two values pays for none": of("10", 2, [WIDER], [FOUR, WIDER_AWAY], prices={
        "values": [[0, 4, "9"], [0, 5, "9"], [1, 1, "9"]], "features": []
    }, apart="4", **V),
    "false: a region of two values pays for none, by a hair": of("10", 2, [WIDER], [FOUR, WIDER_AWAY], prices={
        "values": [[0, 4, "9"]], "features": []
    }, **V),
    "false: prices without values": of("9", 2, [P40], [FOUR], prices={"features": []}, **V),
    "false: prices without features": of("9", 2, [P40], [FOUR], prices={"values": []}, **V),
    "false: a fact excludes a part of the region": of("10", 2, [ANY], [BUT_CORNER, fact(None, [["avoid", 0]], ANY)]),
    "a fact excludes all of the region": of("8", 2, [ANY], [FOUR, fact(None, [["avoid", 0]], ANY)]),
    "levels": of("3/2", 2, BY_LEVEL, [BEYOND_LEVELS], **OF_LEVELS, **V),
    "false: levels, by a hair": of("1500000001/1000000000", 2, BY_LEVEL, [BEYOND_LEVELS], **OF_LEVELS, **V),
    "a price of a level": of("3/2", 2, BY_LEVEL, [BEYOND_LEVELS], **OF_LEVELS, **V, prices={
        "values": [[0, 1, "1"]], "features": []
    }),
    "false: a price of a level, by a hair": of("1500000001/1000000000", 2, BY_LEVEL, [BEYOND_LEVELS], prices={
        "values": [[0, 1, "1"]], "features": []
    }, **OF_LEVELS, **V),
    "false: a price of a level that there is not": of("3/2", 2, BY_LEVEL, [BEYOND_LEVELS], **OF_LEVELS, **V, prices={
        "values": [[0, 3, "1"]], "features": []
    }),
    "a region of changed features pays for them": of("9", 2, [X_ALONE], [FOUR, NOT_X_ALONE], prices={
        "values": [], "features": [[[0], "1"]]
    }, **F),
    "false: a region of changed features pays for them, by a hair": of(HAIR, 2, [X_ALONE], [FOUR, NOT_X_ALONE], prices={
        "values": [], "features": [[[0], "1"]]
    }, **F),
    "false: a region of some changed features pays for none": of(HAIR, 2, [AT_4], [FOUR, NOT_AT_4], prices={
        "values": [], "features": [[[0], "9"], [[0, 1], "9"]]
    }, **F),
    "the point of a region at its forms": of("2", 1, [P40], [ALONE], distance=HALF, **AT_40),
    "false: the point of a region at its forms, by a hair": of(
        "2000000001/1000000000", 1, [P40], [ALONE], distance=HALF, **AT_40
    ),
    "the point of a region at its forms with constants": of("7/2", 1, [P40], [ALONE], distance=STARTED, **AT_40),
    "false: the point of a region at its forms with constants, by a hair": of(
        "3500000001/1000000000", 1, [P40], [ALONE], distance=STARTED, **AT_40
    ),
    "false: a region of two points at their forms": of("2", 1, [P4], [PAIR_ALONE], distance=HALF, **PAIR),
    "a region of two points at their norm": of("4", 1, [P4], [PAIR_ALONE], **PAIR),
    "a region twice": of("9", 2, [AT_4, AT_4], [FOUR, NOT_AT_4], **V),
    "false: a region twice, by a hair": of(HAIR, 2, [AT_4, AT_4], [FOUR, NOT_AT_4], **V),
    "false: a fact excludes this and a later region": of("10", 2, [P40, P41], [fact(
        "5", BUT_CORNER["proof"][2:], CORNER, P41
    )]),
}  # fmt: skip
SOUND = of("8", 2, [], [FOUR])
CASES |= {
    f"false: no {field}": {k: v for k, v in SOUND.items() if k != field} for field in SOUND if field != "mace_set"
}
CASES |= {
    f"false: a fact without {field}": {**SOUND, "facts": [{k: v for k, v in FOUR.items() if k != field}]}
    for field in FOUR
}
CASES |= {
    f"false: a set without {field}": {**SOUND, "set": {k: v for k, v in SOUND["set"].items() if k != field}}
    for field in SOUND["set"]
}


def goes(statement: Any, asked: Any, one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether two points may stand in one set, by FORMAT 11.2."""
    start = [feature["start"] for feature in statement["features"]]
    moved = [[i != s for i, s in zip(p, start, strict=True)] for p in (one, other)]
    same = any(m and n and i == k for m, n, i, k in zip(*moved, one, other, strict=True))
    near = asked["apart"] is not None and distance(statement, one, other) < Fraction(asked["apart"])
    return one != other and not (asked["features"] and moved[0] == moved[1] or asked["values"] and same or near)


def true(data: Any) -> bool:
    """Whether the claim of a certificate of a set is true, by trying every set."""
    statement, asked = data["statement"], data["set"]
    start = tuple(feature["start"] for feature in statement["features"])
    good = [p for p in points(statement) if allowed(statement, p) and has_goal(statement, p)]
    far = {p: distance(statement, p, start) for p in good}
    limit = None if "anywhere" in statement["claim"] else Fraction(statement["claim"]["closer_than"])
    near = sorted((p for p in good if limit is None or far[p] < limit), key=far.__getitem__)
    return not any(
        (limit is None or sum(map(far.__getitem__, chosen)) < limit)
        and all(goes(statement, asked, p, q) for p, q in itertools.combinations(chosen, 2))
        for chosen in itertools.combinations(near[:40], min(asked["count"], 41))
    )


@pytest.mark.parametrize("name", CASES)
def test_what_is_accepted_is_true(name: str) -> None:
    verdict = check(CASES[name])
    assert verdict.accepted is not name.startswith("false"), verdict
    assert "unforeseen" not in verdict.reason
    if verdict.accepted:
        assert true(CASES[name])


def test_what_takes_too_many_steps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = next(n for n in range(100) if accepted_within(n, monkeypatch))
    assert steps == 3  # either region, and both


def accepted_within(steps: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether so many steps are enough where two regions go together, and three points do not."""
    monkeypatch.setattr(sets, "STEPS", steps)
    verdict = check(CASES["three sets of features, of which there are two"])
    assert verdict.accepted or verdict.reason == "set: there are too many choices"
    return verdict.accepted


def edited(data: Any, rng: np.random.Generator) -> Any:
    """A certificate with one number in it changed."""
    data = copy.deepcopy(data)
    places: list[tuple[Any, Any]] = []

    def look(value: Any) -> None:
        for key in value if isinstance(value, dict) else range(len(value)):
            inner = value[key]
            if isinstance(inner, (dict, list)):
                look(inner)
            elif isinstance(inner, (bool, int, str)) or inner is None:
                places.append((value, key))

    look({k: v for k, v in data.items() if k != "statement"})
    look({"claim": data["statement"]["claim"]})
    holder, key = places[rng.integers(len(places))]
    old = holder[key]
    if isinstance(old, bool):
        holder[key] = not old
    elif isinstance(old, int):
        holder[key] = old + int(rng.choice([-1, 1]))
    elif isinstance(old, str):
        holder[key] = str(rng.integers(0, 14))
    else:
        holder[key] = str(rng.integers(1, 4))
    return data


@pytest.mark.parametrize("edits", [120, pytest.param(800, marks=pytest.mark.slow)])
def test_an_edited_certificate_is_refused_or_still_true(edits: int) -> None:
    rng = np.random.default_rng(0)
    pool = [data for name, data in CASES.items() if not name.startswith("false")]
    accepted = 0
    for n in range(edits):
        data = edited(pool[n % len(pool)], rng)
        verdict = check(data)
        assert "unforeseen" not in verdict.reason, verdict
        if verdict.accepted and data["set"]["count"] < 4:
            accepted += 1
            assert true(data), data
    assert accepted > edits // 8
