"""False claims by a hair, each with the proof that a checker would accept if it forgot one thing; all are refused.

The twin of each is the same proof of the strongest claim that is true, and is accepted: so it is the hair that counts.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from mace.proofs.check import check
from tests.proofs.by_hand import (
    AT_LEAST_0,
    HUGE,
    around,
    at_least,
    certificate,
    dual,
    end_of,
    forest,
    grid,
    network,
    number,
)  # fmt: skip

FAR = ["distance"]

# What is missing -> (a false claim, a true one), each with its proof
CLAIMS: dict[str, tuple[Any, Any]] = {}


def claim(name: str, false: Any, true: Any) -> None:
    CLAIMS[name] = (false, true)


# 3 * 0.1 - 0.30000000000000004 is below 0, and its doubles say 0.
TENTHS = network([[[0.1]]], [[-(3 * 0.1)]])
claim(
    "the score of a network without its rounding",
    certificate(TENTHS, AT_LEAST_0, "4", around(3, dual(HUGE), dual("100"), FAR)),
    certificate(TENTHS, AT_LEAST_0, "3", [["split", 0, 2], dual("100"), FAR]),
)
# A step of 1/10: the double of 3/10 lies below it, and is what the model is given.
STEP = {"features": [grid(0, 10, 10, "1/10")]}
claim(
    "the input of a network without its rounding",
    certificate(network([[[-1.0]]], [[0.3]]), AT_LEAST_0, "8", around(3, dual(HUGE), FAR, dual("1000")), **STEP),
    certificate(network([[[-1.0]]], [[0.3]]), AT_LEAST_0, "7", [["split", 0, 3], FAR, dual("1000")], **STEP),
)
# One unit above a half of the sigmoid is not told from a half by every libm.
SQUASHED = network([[[2.0**-52]]], [[0.0]], rule="sigmoid")
claim(
    "a squashed score at its word",
    certificate(SQUASHED, at_least(2.0**-52 * 3), "3", around(2, dual(HUGE), dual(HUGE), FAR)),
    certificate(SQUASHED, at_least(2.0**-52 * 50), "3", [["split", 0, 2], dual(HUGE), FAR]),
)
# The sum of three in this order is above the exact sum.
THREE = forest([[0.1]], [[0.2]], [[0.3]])
SUM = (0.1 + 0.2) + 0.3
claim(
    "the sum of trees without its rounding",
    certificate(THREE, at_least(SUM), None, [["trees"]]),
    certificate(THREE, at_least(SUM + 2**-40), None, [["trees"]]),
)
claim(
    "a cell that has the goal",
    certificate(THREE, at_least(SUM), None, [["cell"]]),
    certificate(THREE, at_least(SUM, strict=True), None, [["cell"]]),
)
# Added from the other end the sum is smaller; added so it is this one.
OTHER = 0.1 + (0.2 + 0.3)
assert OTHER != SUM
LOOSE = forest([[0.3]], [[0.2]], [[0.1]], ordered=False)
claim(
    "a cell of trees that are added in any order",
    certificate(LOOSE, at_least(SUM), None, [["cell"]]),
    certificate(forest([[0.3]], [[0.2]], [[0.1]]), at_least(SUM), None, [["cell"]]),
)
claim(
    "a cell of scores that are averaged on the way",
    certificate(forest([[0.5]], error=number(0.25)), at_least(0.75), None, [["cell"]]),
    certificate(forest([[0.5]]), at_least(0.75), None, [["cell"]]),
)
claim(
    "scores that are averaged on the way",
    certificate(forest([[0.5]], error=number(0.25)), at_least(0.75), None, [["trees"]]),
    certificate(forest([[0.5]], error=number(0.125)), at_least(0.75), None, [["trees"]]),
)
# Two scores that tie.
TIE = forest([[0.5, 0.5]], rule="argmax")
for rule in ("trees", "cell"):
    claim(
        f"{rule}: a tie that counts",
        certificate(TIE, [[[0, 1, number(0), False]]], None, [[rule]]),
        certificate(TIE, [[[0, 1, number(0), True]]], None, [[rule]]),
    )
# The quotient is rounded up: three times it is more than there was.
ABOVE = 5.0 / 3
assert 3 * Fraction(ABOVE) > 5
FIVE = forest([[5.0]], divide=3)
claim(
    "a quotient without its rounding",
    certificate(FIVE, at_least(ABOVE), None, [["trees"]]),
    certificate(FIVE, at_least(1.67), None, [["trees"]]),
)
# 16777217 becomes 16777216 when it is cast, and goes left.
CAST = {"features": [grid(2**24 - 3, 2**24 + 9, 2**24 + 9)]}
SMALL = forest([[1.0], [0.0]], at=[2.0**24], cast="float32")
claim(
    "a threshold without the cast of its input",
    certificate(SMALL, at_least(1.0), "9", [["split", 0, 2**24], FAR, ["trees"]], **CAST),
    certificate(SMALL, at_least(1.0), "8", [["split", 0, 2**24 + 1], FAR, ["trees"]], **CAST),
)
# 2^60 + 2^36 + 128 lies above the middle of two float32, and the double next to it on that middle, which goes down.
BEYOND = 2**60
ONCE = {"features": [grid(BEYOND, BEYOND + 2**37, BEYOND)], "columns": [[0, None, "float32"]]}
TWICE = {**ONCE, "columns": [[0, None, []]]}
OVER = forest([[0.0], [1.0]], at=[float(BEYOND)], cast="float32")
AFTER = certificate(OVER, at_least(1.0), str(2**36 + 129), [["split", 0, BEYOND + 2**36 + 128], ["trees"], FAR], **ONCE)
claim(
    "a number that is rounded once, as if it were rounded twice",
    AFTER,
    certificate(OVER, at_least(1.0), str(2**36 + 129), [["split", 0, BEYOND + 2**36 + 128], ["trees"], FAR], **TWICE),
)
claim(
    "a number that is rounded once, beyond the last that goes left",
    AFTER,
    certificate(OVER, at_least(1.0), str(2**36 + 1), [["split", 0, BEYOND + 2**36], ["trees"], FAR], **ONCE),
)
AT_3 = forest([[0.0], [1.0]], at=[3.0])
claim(
    "a test that its own threshold passes",
    certificate({**AT_3, "test": "<"}, at_least(1.0), "4", [["split", 0, 3], ["trees"], FAR]),
    certificate(AT_3, at_least(1.0), "4", [["split", 0, 3], ["trees"], FAR]),
)
claim(
    "a claim as near as its own witness",
    certificate(AT_3, at_least(1.0), "4000000001/1000000000", [["split", 0, 3], ["trees"], FAR]),
    certificate(AT_3, at_least(1.0), "4", [["split", 0, 3], ["trees"], FAR]),
)
claim(
    "a part of the goal that is left out",
    certificate(AT_3, [[[0, None, number(2), False]], [[0, None, number(1), False]]], None, [["trees"]]),
    certificate(AT_3, [[[0, None, number(2), False]], [[0, None, number(3), False]]], None, [["trees"]]),
)


# What an earlier objective allows: 4 of the 10 steps of the range, as a rule; at 4 the goal is there.
def spent(compare: str, most: str, of: Any) -> dict[str, Any]:
    return {"rules": [[compare, ["+", ["c", "0"], of, ["max", ["c", "0"]]], ["c", most]]]}


MOVED = ["*", "1/10", ["abs", ["-", ["x", 0], ["c", "0"]]]]
BEYOND_IT = [["split", 0, 3], ["trees"], ["rule", 0]]
claim(
    "a point that spends all that an earlier objective allows",
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<=", "4/10", MOVED)),
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<", "4/10", MOVED)),
)
claim(
    "a bound of an earlier objective that is a hair too small",
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<=", "4000000001/10000000000", MOVED)),
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<=", "3999999999/10000000000", MOVED)),
)
claim(
    "one change, where an earlier objective counts them",
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<=", "1", ["min", ["c", "1"], MOVED[2]])),
    certificate(AT_3, at_least(1.0), None, BEYOND_IT, **spent("<", "1", ["min", ["c", "1"], MOVED[2]])),
)
# One change is allowed, and one is made.
claim(
    "as many changes as are allowed",
    certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["changes"]], most_changes=1),
    certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["changes"]], most_changes=0),
)
claim(
    "a region that ends before the box",
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]], avoid=[{"near": [0], "radius": "10"}]
    ),
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]], avoid=[{"near": [0], "radius": "11"}]
    ),
)
claim(
    "an excluded box that ends before the box",
    certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]], avoid=[{"box": [[4, 9]]}]),
    certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]], avoid=[{"box": [[4, 10]]}]),
)
claim(
    "an excluded box that lacks a value of another feature",
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        features=[grid(0, 10, 0), grid(0, 1, 0)], avoid=[{"box": [[4, 10], [0, 0]]}],
    ),
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        features=[grid(0, 10, 0), grid(0, 1, 0)], avoid=[{"box": [[4, 10], [0, 1]]}],
    ),
)  # fmt: skip
claim(
    "a rule that still holds at the end of a box",
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["rule", 0]], rules=[["<=", ["x", 0], ["c", "4"]]]
    ),
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["rule", 0]], rules=[["<", ["x", 0], ["c", "4"]]]
    ),
)
# max(x - 5, 0) >= 1 from x = 6 on.
HIDDEN = network([[[1.0]], [[1.0]]], [[-5.0], [-1.0]])
claim(
    "the phase that a ReLU is not in",
    certificate(HIDDEN, AT_LEAST_0, "7", [["phase", 0, 0], dual("10"), dual("10")]),
    certificate(HIDDEN, AT_LEAST_0, "59/10", [["phase", 0, 0], dual("10"), dual("10")]),
)
claim(
    "an inactive ReLU that is pushed the wrong way",
    certificate(HIDDEN, AT_LEAST_0, "7", [["phase", 0, 0], dual("10"), dual("10", phases=[[0, 0, "1000"]])]),
    certificate(HIDDEN, AT_LEAST_0, "59/10", [["phase", 0, 0], dual("10", phases=[[0, 0, "1/2"]]), dual("10")]),
)
claim(
    "a slope above the chord",
    certificate(HIDDEN, AT_LEAST_0, "7", [dual("10", slopes=[[0, 0, "9"]])]),
    certificate(HIDDEN, AT_LEAST_0, "2", [dual("10")]),
)
# Of the points nearer than q with max(x - 5, 0) >= 1, x - 5 is at least 1.
claim(
    "a ReLU that the goal turns on, beyond the goal",
    certificate(HIDDEN, AT_LEAST_0, "61/10", [["bounds"], end_of((0, 0, 0), number(0), "6"), dual("1")]),
    certificate(HIDDEN, AT_LEAST_0, "6", [["bounds"], end_of((0, 0, 0), number(0), "6"), dual("1")]),
)
claim(
    "a ReLU that the goal would turn off",
    certificate(HIDDEN, AT_LEAST_0, "7", [["bounds"], end_of((0, 0, 0), number(0), "9"), ["empty"]]),
    certificate(HIDDEN, AT_LEAST_0, "4", [["bounds"], end_of((0, 0, 0), number(0), "9"), ["empty"]]),
)
claim(
    "shares of the largest change beyond one",
    certificate(
        network([[[1.0]]], [[-5.0]]),
        AT_LEAST_0, "9", [dual("1", largest=[[0, "2"]])],
        distance={"alpha": "0", "beta": "0", "gamma": "1"},
    ),
    certificate(
        network([[[1.0]]], [[-5.0]]), AT_LEAST_0, "49/10", [dual("1", largest=[[0, "1"]])],
        distance={"alpha": "0", "beta": "0", "gamma": "1"},
    ),
)  # fmt: skip


# Both sides of a comparison may be off.
AVERAGED = forest([[0.5, 0.9]], rule="argmax", error=number(0.25))
claim(
    "the error of one of two scores",
    certificate(AVERAGED, [[[0, 1, number(0), False]]], None, [["trees"]]),
    certificate({**AVERAGED, "error": number(0.125)}, [[[0, 1, number(0), False]]], None, [["trees"]]),
)
ODDS = forest([[2.0**-52]], rule="sigmoid")
for rule in ("trees", "cell"):
    claim(
        f"{rule}: a squashed score at its word",
        certificate(ODDS, at_least(2.0**-51), None, [[rule]]),
        certificate(ODDS, at_least(2.0**-47), None, [[rule]]),
    )
claim(
    "a box of two cells",
    certificate(AT_3, at_least(1.0), "11", [["cell"]]),
    certificate(AT_3, at_least(1.0), "4", [["cell"]]),
)
claim(
    "a cell with one of two parts of the goal",
    certificate(forest([[0.5]]), [*at_least(0.75), *at_least(0.25)], None, [["cell"]]),
    certificate(forest([[0.5]]), [*at_least(0.75), *at_least(0.625)], None, [["cell"]]),
)
claim(
    "a box that is said to be empty",
    certificate(AT_3, at_least(1.0), None, [["empty"]]),
    certificate(AT_3, at_least(2.0), None, [["split", 0, 10], ["trees"], ["empty"]]),
)
claim(
    "a region that holds for one of two changes",
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        features=[grid(0, 10, 0), grid(0, 1, 0)], avoid=[{"changes": [0, 1]}],
    ),
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        features=[grid(0, 10, 0), grid(0, 1, 0)], avoid=[{"changes": [0]}],
    ),
)  # fmt: skip
claim(
    "a bound at distance for a claim about everywhere",
    certificate(AT_3, at_least(1.0), None, [["distance"]]),
    certificate(AT_3, at_least(1.0), "0", [["distance"]]),
)
claim(
    "a start that the trees are added to",
    certificate(forest([[0.5]], start=[number(0.5)]), at_least(1.0), None, [["trees"]]),
    certificate(forest([[0.5]], start=[number(0.25)]), at_least(1.0), None, [["trees"]]),
)
claim(
    "a number that an average is compared with",
    certificate(forest([[1.0]], [[1.0]], divide=2), at_least(1.0), None, [["trees"]]),
    certificate(forest([[1.0]], [[1.0]], divide=2), at_least(1.5), None, [["trees"]]),
)


# x - 5 and 3 - x are not both positive, x - 5 and 7 - x not both negative: the phases say so, the boxes do not.
for word, bias, proof in (
    ("positive", 3.0, [["phase", 0, 0], dual("1"), ["phase", 0, 1], dual("1")]),
    ("negative", 7.0, [["phase", 0, 0], ["phase", 0, 1]]),
):
    apart = network([[[1.0, -1.0]], [[1.0], [1.0]]], [[-5.0, bias], [-100.0]])
    pushed = dual("0", phases=[[0, 0, "1"], [0, 1, "1"]])
    rest = [] if word == "positive" else [dual("1"), dual("1")]
    claim(
        f"two phases that are never both {word}, pushed by one",
        certificate(apart, AT_LEAST_0, None, [*proof, dual("0", phases=[[0, 0, "1"]]), *rest]),
        certificate(apart, AT_LEAST_0, None, [*proof, pushed, *rest]),
    )
claim(
    "a phase that was not split on",
    certificate(HIDDEN, AT_LEAST_0, "7", [dual("10", phases=[[0, 0, "1000"]])]),
    certificate(HIDDEN, AT_LEAST_0, "2", [dual("10")]),
)
claim(
    "multipliers that say nothing",
    certificate(network([[[1.0]]], [[0.0]]), AT_LEAST_0, None, [dual("0")]),
    certificate(network([[[1.0]]], [[0.0]]), AT_LEAST_0, "0", [dual("0")]),
)
SUM_OF_TWO = network([[[1.0], [1.0]]], [[-10.0]])
LARGEST = {
    "features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]],
    "distance": {"alpha": "0", "beta": "0", "gamma": "1"},
}  # fmt: skip
claim(
    "shares of the largest change that are one each",
    certificate(SUM_OF_TWO, AT_LEAST_0, "6", [dual("1", largest=[[0, "1"], [1, "1"]])], **LARGEST),
    certificate(SUM_OF_TWO, AT_LEAST_0, "4", [dual("1/2", largest=[[0, "1/2"], [1, "1/2"]])], **LARGEST),
)
claim(
    "a network's box at the distance of the claim",
    certificate(network([[[1.0]]], [[-4.0]]), AT_LEAST_0, "5", [["split", 0, 3], dual("100"), dual("0")]),
    certificate(network([[[1.0]]], [[-4.0]]), AT_LEAST_0, "4", [["split", 0, 3], dual("100"), dual("0")]),
)
claim(
    "one of two parts of a network's goal",
    certificate(network([[[1.0]]], [[-4.0]]), [*at_least(2.0), *at_least(0.0)], "5", [dual("1")]),
    certificate(
        network([[[1.0]]], [[-4.0]]), [*at_least(2.0), *at_least(1.0)], "49/10", [["dual", dual("1")[1], dual("1")[1]]]
    ),
)


FARTHEST = forest([[0.0], [1.0]])
FARTHEST["trees"][0] = {
    "column": [0, -1, 1, -1, -1], "threshold": [number(9.5), 0, number(9.5), 0, 0], "left": [1, 0, 3, 0, 0],
    "right": [2, 0, 4, 0, 0], "value": [None, [number(0)], None, [number(0)], [number(1)]],
}  # fmt: skip
CORNER = {"features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
for beta, gamma in (("1", "0"), ("0", "1"), ("1", "1")):
    norm = {"alpha": "0", "beta": beta, "gamma": gamma}
    claim(
        f"the farthest corner, by {beta} and {gamma}",
        certificate(FARTHEST, at_least(1.0), None, [["trees"]], **CORNER, distance=norm),
        certificate(FARTHEST, at_least(2.0), None, [["trees"]], **CORNER, distance=norm),
    )
claim(
    "a leaf at the distance of the claim, by the largest change",
    certificate(AT_3, at_least(1.0), "4000000001/1000000000", [["trees"]], distance={**norm, "beta": "0"}),
    certificate(AT_3, at_least(1.0), "4", [["trees"]], distance={**norm, "beta": "0"}),
)
claim(
    "a box whose leaves are too far",
    certificate(AT_3, at_least(1.0), "5", [["split", 0, 3], ["trees"], ["trees"]]),
    certificate(AT_3, at_least(1.0), "4", [["split", 0, 3], ["trees"], ["trees"]]),
)
# x > 2, then x > 3: one change, not two.
NESTED = forest([[0.0], [1.0]], at=[2.0])
NESTED["trees"][0] = {
    "column": [0, -1, 0, -1, -1], "threshold": [number(2), 0, number(3), 0, 0], "left": [1, 0, 3, 0, 0],
    "right": [2, 0, 4, 0, 0], "value": [None, [number(0)], None, [number(0)], [number(1)]],
}  # fmt: skip
claim(
    "one change that two tests ask for",
    certificate(NESTED, at_least(1.0), "5", [["trees"]]),
    certificate(NESTED, at_least(1.0), "4", [["trees"]]),
)
claim(
    "half of a sum that is exact",
    certificate(forest([[1.0]], divide=2), at_least(0.5), None, [["trees"]]),
    certificate(forest([[1.0]], divide=2), at_least(0.5, strict=True), None, [["trees"]]),
)


claim(
    "a region of the largest change that ends before the box",
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        avoid=[{"near": [0], "radius": "10"}], distance={**norm, "beta": "0"},
    ),
    certificate(
        AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["avoid", 0]],
        avoid=[{"near": [0], "radius": "11"}], distance={**norm, "beta": "0"},
    ),
)  # fmt: skip


# Multiples of three: their sum needs a bit more than the size in threes says, and is rounded up by one.
THREES = 3.0 * 2**52
claim(
    "a sum of multiples of three that is rounded",
    certificate(forest([[THREES]], [[3.0]]), at_least(THREES + 4), None, [["trees"]]),
    certificate(forest([[THREES]], [[3.0]]), at_least(THREES + 6), None, [["trees"]]),
)


# The leaf without the goal is the one that comes first.
claim(
    "a cell of two leaves",
    certificate(AT_3, [*at_least(5.0), [[None, 0, number(0), False]]], None, [["cell"]]),
    certificate(AT_3, [*at_least(5.0), [[None, 0, number(1), False]]], None, [["split", 0, 3], ["cell"], ["cell"]]),
)


# Prices of the sides of tests: what a part says, for one comparison.
def prices(goal: str, *nodes: tuple[int, int, int], unit: str = "1", largest: Any = ()) -> dict[str, Any]:
    return {"goal": [goal], "largest": list(largest), "unit": unit, "prices": [list(node) for node in nodes]}


claim(
    "prices that are higher than the way",
    certificate(AT_3, at_least(1.0), "5", [["prices", prices("5", (0, 2, 5))]]),
    certificate(AT_3, at_least(1.0), "4", [["prices", prices("4", (0, 2, 4))]]),
)
claim(
    "prices that nobody pays",
    certificate(AT_3, at_least(1.0), "5", [["prices", prices("4", (0, 1, 4))]]),
    certificate(AT_3, at_least(1.0), "4", [["prices", prices("4", (0, 1, 4))]]),
)
# y <= 0.5 is enough, and costs nothing; else x > 3 is.
EITHER = forest([[0.0], [1.0]])
EITHER["trees"][0] = {
    "column": [0, -1, 1, -1, -1], "threshold": [number(0.5), 0, number(3), 0, 0], "left": [1, 0, 3, 0, 0],
    "right": [2, 0, 4, 0, 0], "value": [None, [number(1)], None, [number(0)], [number(1)]],
}  # fmt: skip
TWO = {"features": [grid(0, 1, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
claim(
    "a leaf that is paid for a side that it crosses",
    certificate(EITHER, at_least(1.0), "4", [["prices", prices("4", (0, 4, 4))]], **TWO),
    certificate(EITHER, at_least(1.0), "4", [["split", 0, 0], *[["prices", prices("4", (0, 4, 4))]] * 2], **{
        **TWO, "features": [{**TWO["features"][0], "start": 1, "weight": "5"}, TWO["features"][1]],
    }),
)  # fmt: skip
# Two trees ask for the same change: one pays.
SAME = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 3.0])
claim(
    "one way that two trees pay for",
    certificate(SAME, at_least(2.0), "8", [["prices", prices("4", (0, 2, 4), (1, 2, 4))]]),
    certificate(SAME, at_least(2.0), "4", [["prices", prices("2", (0, 2, 2), (1, 2, 2))]]),
)
claim(
    "prices without the rounding of sums",
    certificate(THREE, at_least(SUM), None, [["prices", prices(HUGE)]]),
    certificate(THREE, at_least(SUM + 2**-40), None, [["prices", prices(HUGE)]]),
)
claim(
    "prices for one of two parts of the goal",
    certificate(AT_3, [*at_least(1.0), *at_least(0.0)], "4", [["prices", *[prices("4", (0, 2, 4))] * 2]]),
    certificate(AT_3, [*at_least(1.0), *at_least(2.0)], "4", [["prices", *[prices("4", (0, 2, 4))] * 2]]),
)
BY_LARGEST = {"distance": {"alpha": "0", "beta": "0", "gamma": "1"}}
claim(
    "prices with more than the largest change",
    certificate(AT_3, at_least(1.0), "8", [["prices", prices("8", (0, 2, 8), largest=[[0, "2"]])]], **BY_LARGEST),
    certificate(AT_3, at_least(1.0), "4", [["prices", prices("4", (0, 2, 4), largest=[[0, "1"]])]], **BY_LARGEST),
)
# Steps of 1/2, and a distance of 1 a unit: 3.5 is attained, and 3.25 is not.
HALVES = {"features": [grid(0, 20, 0, "1/2", scale="1")]}
claim(
    "a distance between those that there are",
    certificate(AT_3, at_least(1.0), "4", [["prices", prices("13/4", (0, 2, 13), unit="1/4")]], **HALVES),
    certificate(AT_3, at_least(1.0), "7/2", [["prices", prices("13/4", (0, 2, 13), unit="1/4")]], **HALVES),
)
claim(
    "a distance that has a step of its own",
    certificate(
        AT_3, at_least(1.0), "7/2", [["prices", prices("13/4", (0, 2, 13), unit="1/4")]],
        features=[grid(0, 20, 0, "1/2", scale="1", extra="10/3")],
    ),
    certificate(
        AT_3, at_least(1.0), "10/3", [["prices", prices("13/4", (0, 2, 13), unit="1/4")]],
        features=[grid(0, 20, 0, "1/2", scale="1", extra="10/3")],
    ),
)  # fmt: skip
# Four levels in order, with 0, 9, 0, 9 for the model: from level 0 one of the next, from level 2 either neighbour.
RANKS = {
    "features": [
        {"name": "x", "weight": "3", "kind": "levels", "count": 4, "allowed": 15, "start": 0, "ordered": True}
    ],
    "columns": [[0, [number(0), number(9), number(0), number(9)], []]],
}  # fmt: skip
claim(
    "a level that is farther than the next",
    certificate(AT_3, at_least(1.0), "2", [["prices", prices("2", (0, 2, 2))]], **RANKS),
    certificate(AT_3, at_least(1.0), "1", [["prices", prices("1", (0, 2, 1))]], **RANKS),
)


def never_both(first: float, second: float) -> Any:
    """That not both of two trees say 1, of which one does above a threshold and the other up to one."""
    model = forest([[0.0], [1.0]], [[1.0], [0.0]], at=[first, second])
    node = ["prices", {**prices("1"), "cliques": {"numbers": [0], "units": [1]}}]
    return certificate(model, at_least(2.0), None, [["cliques", [2, 2]], node])


claim("leaves that one point reaches both", never_both(3.0, 4.0), never_both(3.0, 3.0))
OF_EACH = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 2.0])
OF_EACH["trees"][1]["column"][0] = 1


def up_to(last: int) -> Any:
    """How far points with x > 3 are whose y is above an index: y beyond it is too far by itself."""
    node = ["narrow", [[1, [0, last]]], prices("4", (0, 2, 4), (1, 2, 3))]
    more = {"features": [grid(0, 10, 0)] * 2, "columns": TWO["columns"], "rules": [["<", ["c", str(last)], ["x", 1]]]}
    return certificate(OF_EACH, at_least(2.0), "9", [node, ["rule", 0]], **more)


claim("an axis narrowed by one index too many", up_to(3), up_to(4))


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_that_is_false_by_a_hair_is_refused(name: str) -> None:
    verdict = check(CLAIMS[name][0])
    assert not verdict.accepted
    assert verdict.reason.startswith("node "), verdict.reason


@pytest.mark.parametrize("name", CLAIMS)
def test_its_true_twin_is_accepted(name: str) -> None:
    data = CLAIMS[name][1]
    verdict = check(data)
    assert verdict.accepted, verdict.reason
    # A proof of format 1 is elaborated: rules that only narrow a box are written into it.
    fired = {name: count for name, count in verdict.fired.items() if name not in ("near", "prune", "bounds")}
    assert fired == Counter(node[0] for node in data["proof"] if node[0] != "bounds")


@pytest.mark.parametrize(
    ("part", "node", "value", "words"),
    [
        ("left", 0, 0, "its children must come after it"),
        ("left", 0, 3, "a node has no parent, or two"),
        ("left", 0, -1, "its children must come after it"),
        ("left", 0, True, "its children must come after it"),
        ("left", 0, 2, "a node has no parent, or two"),
        ("left", 1, 2, "a leaf tests nothing"),
        ("column", 0, 1, "no column 1"),
        ("column", 0, -2, "no column -2"),
        ("column", 0, True, "no column True"),
        ("column", 0, -1, "a leaf tests nothing"),
        ("value", 0, [number(0.0)], "only a leaf has values"),
        ("value", 1, [number(0.0)] * 2, "expected a value for each score"),
        ("threshold", 0, [3], "tests categories of a grid"),
    ],
)
def test_a_tree_that_is_none_is_refused(part: str, node: int, value: Any, words: str) -> None:
    model = forest([[0.0], [1.0]], at=[3.0])
    model["trees"][0][part][node] = value
    assert words in check(certificate(model, at_least(2.0), None, [["trees"]])).reason


def test_a_tree_with_a_node_that_nothing_leads_to_is_refused() -> None:
    model = forest([[0.0], [1.0]], at=[3.0])
    for name, more in (("column", -1), ("threshold", 0), ("left", 0), ("right", 0), ("value", [number(5.0)])):
        model["trees"][0][name].append(more)
    assert "a node has no parent, or two" in check(certificate(model, at_least(2.0), None, [["trees"]])).reason


def test_a_network_ends_without_a_relu() -> None:
    model = network([[[1.0]]], [[0.0]])
    model["layers"][0]["activation"] = "relu"
    verdict = check(certificate(model, at_least(-1.0, strict=True), None, [dual("0")]))
    assert "the last layer is the identity" in verdict.reason


@pytest.mark.parametrize(
    ("node", "words"),
    [
        (["trees", 1], "expected a list of a tree and leaves"),
        (["split", 0], "split: takes 2 fields"),
        (["split", 1, 0], "axis: expected an integer from 0 to 0"),
        (["split", -1, 0], "axis: expected an integer from 0 to 0"),
        (["split", 0, "0"], "at: expected an integer"),
        (["rule", 0], "rule: expected an integer"),
        (["dual", {}], "dual: this is not about this kind of model"),
        (["dual"], "dual: this is not about this kind of model"),
        (["nothing"], "no rule 'nothing'"),
        (["prices"], "expected prices for 1 open parts"),
        (["prices", prices("-1")], "at least 0"),
        (["prices", prices("1", (0, 0, 1))], "leads to node 0 of tree 0"),
        (["prices", prices("1", (0, 1, -1))], "a price is not negative"),
        (["prices", prices("1", (0, 1, 1), (0, 1, 1))], "not in order"),
        (["prices", prices("1", (1, 1, 1))], "not a tree"),
        (["prices", prices("1", (0, 3, 1))], "leads to node 3 of tree 0"),
        (["prices", prices("1", unit="-1")], "at least 0"),
        (["prices", prices("1", largest=[[0, "1/2"], [0, "1/2"]])], "not a feature, or twice"),
        (["prices", prices("1", largest=[[0, "-1"]])], "at least 0"),
    ],
)
def test_a_node_that_the_format_does_not_know_is_refused_by_name(node: list[Any], words: str) -> None:
    assert words in check(certificate(AT_3, at_least(2.0), None, [node])).reason
