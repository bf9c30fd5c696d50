"""Vectors about the tree of boxes: what a node knows of its box, and what its children still know of it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from tests.proofs.by_hand import AT_3, GOAL, LEVELS, TWO, at_least, dual, forest, grid, network, number, two

HAIR = Fraction(1, 10**9)
ALWAYS = forest([[1.0]])
FROM_7_AND_4 = {"rules": [["<=", ["c", "7"], ["x", 0]], ["<=", ["c", "4"], ["x", 1]]]}
X_FIRST = [["split", 0, 3], ["rule", 0], ["split", 0, 6], ["rule", 0], ["split", 1, 3], ["rule", 1], ["distance"]]
Y_FIRST = [["split", 1, 3], ["rule", 1], ["split", 0, 3], ["rule", 0], ["split", 0, 6], ["rule", 0], ["distance"]]


def pair(name: str, far: str, made: Any) -> Iterator[tuple[str, Any]]:
    """What is accepted at a distance, and refused a hair beyond."""
    yield f"{name}, {far} away", made(far)
    yield f"{name}, farther by a hair", made(str(Fraction(far) + HAIR))


def boxes() -> Iterator[tuple[str, Any]]:
    """Distances of boxes that were split more than once, on several axes."""
    for mix, far in ((("1", "1"), "18"), (("1", "0"), "11"), (("0", "1"), "7")):
        norm = {"alpha": "0", "beta": mix[0], "gamma": mix[1]}
        for word, proof in (("x first", X_FIRST), ("y first", Y_FIRST)):
            yield from pair(
                f"split by {'+'.join(mix)}, {word}", far,
                lambda q, proof=proof, norm=norm: two(ALWAYS, GOAL, q, proof, [], distance=norm, **TWO, **FROM_7_AND_4),
            )  # fmt: skip
    ranks = {"features": [{**LEVELS, "count": 4, "allowed": 15}], "columns": [[0, [number(0)] * 4, []]]}
    rule = {"rules": [["<=", ["c", "2"], ["x", 0]]]}
    for mask, order in ((0b0011, [["rule", 0], ["distance"]]), (0b1100, [["distance"], ["rule", 0]])):
        yield from pair(
            f"levels split by {mask:04b}", "2/3",
            lambda q, mask=mask, order=order: two(ALWAYS, GOAL, q, [["split", 0, mask], *order], [], **ranks, **rule),
        )  # fmt: skip
    world = {**TWO, "rules": [["<=", ["c", "2"], ["x", 1]], ["<", ["c", "4"], ["x", 0]]]}
    near: list[Any] = [["split", 1, 1], ["rule", 0], ["split", 0, 3], ["rule", 1], ["near", [0, [4, 4]]], ["rule", 1]]
    yield from pair("near, in a box that is far itself", "7", lambda q: two(ALWAYS, GOAL, q, near, [], **world))
    largest = {"alpha": "0", "beta": "1", "gamma": "1"}
    yield from pair(
        "near, by the largest change too", "12", lambda q: two(ALWAYS, GOAL, q, near, [], distance=largest, **world)
    )
    both: list[Any] = [["near", [0, [0, 2]], [1, [0, 2]]], ["rule", 0]]
    close = {**TWO, "rules": [["or", ["<=", ["c", "3"], ["x", 0]], ["<=", ["c", "3"], ["x", 1]]]]}
    yield from pair("near, on one axis after the other", "3", lambda q: two(ALWAYS, GOAL, q, both, [], **close))
    yield (
        "near: nothing is looked at once nothing is left",
        two(ALWAYS, GOAL, "0", [["near", [0, [1, 0]], "x", [9]], ["empty"]], [], **TWO),
    )
    down = network([[[-1.0]]], [[5.5]])  # x <= 5
    for kept, word in (
        ([6, 10], "as far as the claim"),
        ([7, 10], "one index too many"),
        ([6, 9], "above it, one that is near"),
    ):
        proof = [["near", [0, kept]], dual("100")]
        yield f"near, below the start: {word}", two(down, at_least(0.0), "4", proof, [], features=[grid(0, 10, 9)])
    proof = [["near", [0, [6, 10]]], dual("100")]
    yield (
        "near, below the start: nearer by a hair",
        two(down, at_least(0.0), str(4 + HAIR), proof, [], features=[grid(0, 10, 9)]),
    )
    rest = [["split", 0, 5], ["near", [0, [1, 0]], "x", [9]], ["empty"], dual("100")]
    yield (
        "near: nothing is looked at once nothing is left of what is far",
        two(down, at_least(0.0), "4", rest, [], features=[grid(0, 10, 9)]),
    )
    for entry in ([-1, [0, 2]], [2, [0, 2]], [True, [0, 2]], [0, [0, 2], 1], [0], {}, 0, [0, [0]], [0, 7]):
        yield f"near: {entry!r}", two(ALWAYS, GOAL, "3", [["near", entry], ["rule", 0]], [], **close)
    for rule_, words in ((["rule"], "no field"), (["rule", 0, 0], "two fields"), (["distance", 0], "a field")):
        yield f"{rule_[0]} with {words}", two(ALWAYS, GOAL, "0", [rule_], [], **close)
    moved = {**TWO, "most_changes": 1, "rules": [["<", ["c", "3"], ["x", 0]], ["<", ["c", "3"], ["x", 1]]]}
    for first, second, word in (((0, 3), (1, 3), "of both"), ((0, 3), (0, 5), "of one, twice")):
        proof = [["split", *first], ["rule", 0], ["split", *second], ["rule", 1], ["changes"]]
        yield f"changes {word}", two(ALWAYS, GOAL, None, proof, [], **moved)


def emptied() -> Iterator[tuple[str, Any]]:
    """Trees without a leaf, and nodes that may then say anything."""
    pruned: list[Any] = ["trees", [0, 1, 2]]
    far: list[Any] = [["split", 0, -5], ["trees"], ["distance"]]
    yield "a box below the axis", two(AT_3, GOAL, "0", far, [3])
    nodes: list[Any] = [["split", 0, -1], ["split", 9, 9], ["cell"], ["prune", 7], ["avoid", 5], ["trees", [0, 2]]]
    yield "nodes of an empty box", two(AT_3, at_least(2.0), None, [*nodes[:-1], ["trees"]], [3])
    yield "nodes of an empty box, and one too few", two(AT_3, at_least(2.0), None, nodes[:-1], [3])
    world = {**TWO, "rules": [["<", ["c", "1"], ["x", 1]]]}
    begin: list[Any] = [["split", 1, 1], ["rule", 0], ["split", 0, 2], ["trees", [0, 2]]]
    for name, end in (
        ("prune", [["prune", [0, 1, 2]], ["rule", 5]]), ("trees", [["trees", [0, 1, 2]]]),
        ("cell", [["cell", [0, 2, 1]]]),
    ):  # fmt: skip
        yield from pair(
            f"{name}: no leaf is left", "5", lambda q, end=end: two(AT_3, GOAL, q, [*begin, *end], [3], **world)
        )
    one_left = [*begin, ["prune", [0, 1]], ["cell", [0, 2]]]
    yield from pair("cell: the last leaf goes", "5", lambda q: two(AT_3, GOAL, q, one_left, [3], **world))
    kept = [*begin, ["prune", [0, 1]], ["rule", 5]]
    yield "prune: one leaf is left", two(AT_3, GOAL, "5", kept, [3], **world)
    between: dict[str, Any] = {"left": [1, 2, 0, 0, 0], "right": [4, 3, 0, 0, 0]}
    for name, at, children, values in (
        ("from above", (6.0, 3.0), between, (0.0, 1.0, 0.0)),
        ("from below", (3.0, 6.0), {"left": [1, 0, 3, 0, 0], "right": [2, 0, 4, 0, 0]}, (0.0, 1.0, 0.0)),
    ):  # fmt: skip
        inner = [n for n in range(5) if children["left"][n]]
        leaves = iter(values)
        made = {
            **children, "column": [0 if n in inner else -1 for n in range(5)],
            "threshold": [number(at[inner.index(n)]) if n in inner else 0 for n in range(5)],
            "value": [None if n in inner else [number(next(leaves))] for n in range(5)],
        }  # fmt: skip
        model = {**ALWAYS, "trees": [made]}
        cuts = [int(x) for x in at]
        yield from pair(
            f"a leaf between two tests, {name}", "4", lambda q, m=model, c=cuts: two(m, GOAL, q, [["trees"]], c)
        )
    three = forest([[0.0], [1.0]], [[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 4.0, 5.0])
    gone = [["split", 0, 4], ["prune", [1, 2], [2, 2]], ["trees", [0]], ["rule", 0]]
    for least, word in ((1.5, "too few"), (1.0, "enough")):
        rules = {"rules": [["<", ["x", 0], ["c", "5"]]]}
        yield (
            f"three trees of which two lost a leaf: {word}",
            two(three, at_least(least), None, gone, [3, 4, 5], **rules),
        )
    twice: list[Any] = [["split", 0, 3], ["prune", [0, 2], [0, 2]], ["prune", [1, 2]], ["trees", [2, 2]], ["rule", 0]]
    yield (
        "a leaf that goes twice counts once",
        two(three, at_least(0.5), None, twice, [3, 4, 5], rules=[["<", ["x", 0], ["c", "4"]]]),
    )
    yield "a leaf that is nearer than the claim", two(AT_3, GOAL, "4", [pruned], [3])


def prices_of_steps() -> Iterator[tuple[str, Any]]:
    """Distances that there are not: what the steps of an axis say, and those of one that cannot change."""
    part = {"goal": ["13/4"], "largest": [], "unit": "1/4", "prices": [[0, 2, 13]]}
    fixed = {**grid(0, 0, 0), "weight": "1/2"}
    level = {**LEVELS, "allowed": 1, "weight": "1/2"}
    for name, other, column in (
        ("a grid at its start", fixed, [1, None, []]), ("a grid of two", {**fixed, "upper": 1}, [1, None, []]),
        ("a grid of one that is not the start", {**fixed, "start": 1}, [1, None, []]),
        ("a level", level, [1, [number(0)] * 3, []]), ("two levels", {**level, "allowed": 3}, [1, [number(0)] * 3, []]),
    ):  # fmt: skip
        world = {"features": [grid(0, 10, 0), other], "columns": [[0, None, []], column]}
        yield (
            f"a distance between those that there are, beside {name}",
            two(AT_3, GOAL, "4", [["prices", part]], [3], **world),
        )
    ends = forest([[1.0], [0.0]], [[0.0], [0.0]], at=[4.0, 3.0])
    sides = {"goal": ["5"], "largest": [], "unit": "1", "prices": [[0, 1, 5], [1, 1, 0]]}
    for claim in ("5", "6"):
        yield (
            f"sides that end side by side, closer than {claim}",
            two(ends, GOAL, claim, [["prices", sides]], [4, 3], features=[grid(0, 10, 9)]),
        )
    for start, word in ((11, "missing"), (0, "there")):
        feature = grid(0, 10, start, missing={"cost": "3", "allowed": False})
        cheap = {"goal": ["1/2"], "largest": [], "unit": "1/2", "prices": [[0, 2, 1]]}
        yield (
            f"a value that is {word}, and what it costs to give one",
            two(AT_3, GOAL, "3", [["prices", cheap]], [3], features=[feature], columns=[[0, None, [], number(1e9)]]),
        )
    for goal, claim, start in (("0", "0", 0.0), ("0", None, 0.0), ("1", "0", 2.5), ("1", None, 0.5), ("1", "0", 1.75)):
        nothing = {**AT_3, "trees": [], "start": [number(start)]}
        none = {"goal": [goal], "largest": [], "unit": "1", "prices": []}
        yield (
            f"no tree, {goal} times a start of {start}, claim {claim}",
            two(nothing, GOAL, claim, [["prices", none]], []),
        )
    dead = {"goal": ["4"], "largest": [], "unit": "1", "prices": []}
    left = [["split", 0, 3], ["prune", [0, 2]], ["prices", dead], ["distance"]]
    beyond = {"features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
    far = {**beyond, "rules": [["<", ["c", "1"], ["x", 1]]]}
    yield (
        "leaves that are gone count for nothing",
        two(AT_3, GOAL, "5", [["split", 1, 1], ["rule", 0], *left], [3], **far),
    )
    shared = {**TWO, "distance": {"alpha": "0", "beta": "0", "gamma": "1"}}
    halves = {"goal": ["2"], "largest": [[0, "1/2"], [1, "1/3"]], "unit": "1", "prices": [[0, 2, 2]]}
    yield "a share of the largest change", two(AT_3, GOAL, "2", [["prices", halves]], [3], **shared)
    yield "a share of the largest change, and more", two(AT_3, GOAL, "3", [["prices", halves]], [3], **shared)


def states() -> dict[str, dict[str, Any]]:
    """What each certificate is about -> what it shows -> the certificate."""
    return {"distance": dict(boxes()), "trees": dict(emptied()), "prices": dict(prices_of_steps())}
