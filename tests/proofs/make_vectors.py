"""Certificates for whoever writes a checker: accepted, refused or unusable, with the rule that each is about.

    python -m tests.proofs.make_vectors      writes proofs/vectors/ anew

False claims stand beside true twins that differ by a hair. Everything here is made from what the tests hold; only what
format 2 adds (cuts, `near`, `prune`, prices) and how files look is written in this file.

Beside those that are written by hand there are series of candidates (`*_vectors.py`), of which only those become files
without which some change of the kernel would go unnoticed: `needed.json`, as `python -m tests.mutation.kernel --prune`
writes it. A file is named by its text, so that one more leaves the names of the others alone.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mace.certify.numbers import canonical
from mace.proofs.check import check
from mace.proofs.reader import MODEL, Unusable, load
from tests.proofs import plan_edges
from tests.proofs.bound_vectors import bounds
from tests.proofs.by_hand import (
    AT_3,
    AT_LEAST_0,
    BY_LEVEL,
    FREE,
    GOAL,
    LEFT,
    LEVELS,
    PRICE,
    TWO,
    UP_TO_3,
    UP_TO_4,
    at_least,
    certificate,
    dual,
    end_of,
    forest,
    grid,
    in_format_2,
    line,
    network,
    number,
    past_5,
    tent,
    tree,
    two,
)  # fmt: skip
from tests.proofs.change_vectors import CHANGES
from tests.proofs.clique_vectors import CLIQUES, NARROWED
from tests.proofs.column_vectors import IN_COLUMNS
from tests.proofs.form_vectors import FORMS
from tests.proofs.line_vectors import LINES, PRICED, TIGHT
from tests.proofs.node_vectors import NODES
from tests.proofs.part_vectors import PARTS
from tests.proofs.plan_cases import CASES as PLANS
from tests.proofs.row_vectors import ROWS
from tests.proofs.shape_vectors import shapes
from tests.proofs.state_vectors import states
from tests.proofs.test_false_claims import CLAIMS
from tests.proofs.test_false_witnesses import CASES
from tests.proofs.test_missing import PAIRS
from tests.proofs.test_sets_checked import CASES as SETS
from tests.proofs.value_vectors import values

FOLDER = Path(__file__).parent.parent.parent / "proofs" / "vectors"
NEEDED = Path(__file__).with_name("needed.json")


class Vector(NamedTuple):
    """The rule or section that a file is about, what it shows, its verdict, and its text."""

    about: str
    shows: str
    verdict: str
    raw: bytes

    @property
    def name(self) -> str:
        """As the mutants' campaign speaks of it."""
        return f"{self.about}: {self.shows}"

    @property
    def file(self) -> str:
        """Where it lies."""
        return f"{self.about}-{hashlib.sha256(self.raw).hexdigest()[:8]}.json"


def with_tree(**parts: Any) -> Any:
    """About a tree with other lists of nodes."""
    return two({**AT_3, "trees": [{**AT_3["trees"][0], **parts}]}, GOAL, None, LEFT, [3], rules=UP_TO_3)


HAIR = "4000000001/1000000000"
FAR_Y = [["split", 1, 1], ["split", 0, 3], ["trees", [0, 2]], ["rule", 0], ["trees", [0, 2]]]
NOT_BOTH = {"rules": [["or", ["<=", ["x", 0], ["c", "3"]], ["<=", ["c", "2"], ["x", 1]]]]}
ROOT = ["bounds", [0, 0, FREE, PRICE]]
CLOSED = [ROOT, dual("9/5")]
BEHIND = [1, 0, FREE, FREE]  # the unit of a second layer, behind the first one
# Of two units side by side the second one decides: its output is at least 1 from 6 on.
# A form that adds nothing: but with one no distance is taken to be a multiple of anything.
ANY = {"alpha": "0", "beta": "1", "gamma": "0", "forms": [["0"]]}
NOWHERE = {"alpha": "0", "beta": "0", "gamma": "0"}
LARGEST = {"alpha": "0", "beta": "0", "gamma": "1"}
BESIDE = network([[[1.0, 1.0]], [[0.0], [1.0]]], [[-20.0, -5.0], [-1.0]])
EITHER = [[[0, None, number(0.0), False]], [[0, None, number(0.5), False]]]
BOTH = ["dual", *dual("8/5")[1:], *dual("8/5")[1:]]

# What it is about -> what it shows -> the certificate; the verdict is the checker's, and reviewed by hand.
BY_HAND: dict[str, dict[str, Any]] = {
    "columns": IN_COLUMNS,
    "changes": CHANGES,
    "cuts": {
        "a cut between the two neighbours": tree(LEFT),
        "a cut one index too low": tree(LEFT, cuts=[2]),
        "a cut one index too high": tree([["split", 0, 4], ["trees", [0, 2]], ["rule", 0]], cuts=[4], rules=UP_TO_4),
        "a cut above the axis": tree(LEFT, cuts=[11]),
        "a cut below the axis": tree(LEFT, cuts=[-2]),
        "a test that is always passed is cut at the end": two(
            forest([[0.0], [1.0]], at=[10.0]), GOAL, None, [["trees"]], [10]
        ),
        "a test that is never passed is cut before the axis": two(
            forest([[1.0], [0.0]], at=[-1.0]), GOAL, None, [["trees"]], [-1]
        ),
        "a test without a cut narrows nothing": tree(LEFT, cuts=[None]),
        "a test without a cut that nothing needs": tree([["distance"]], "1", [None], features=[grid(1, 3, 0)]),
        "too few cuts": tree(LEFT, cuts=[]),
        "too many cuts": tree(LEFT, cuts=[3, 3]),
        "true is no index": tree(LEFT, cuts=[True]),
        "levels are not cut": two(AT_3, GOAL, None, [["trees"]], [1], **BY_LEVEL),
        "levels are tested one by one": two(AT_3, GOAL, None, [["trees"]], [None], **BY_LEVEL),
        "one threshold in two spellings is one test": two(
            {**AT_3, "trees": [AT_3["trees"][0], {**AT_3["trees"][0], "threshold": ["0x1.8p+1", 0, 0]}]},
            at_least(2.0), None, [["split", 0, 3], ["trees", [0, 2], [1, 2]], ["rule", 0]], [3], rules=UP_TO_3,
        ),
        "two tests in the order in which they come": two(
            forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 5.0]), at_least(2.0), None,
            [["split", 0, 4], ["trees", [1, 2]], ["rule", 0]], [3, 5], rules=UP_TO_4,
        ),
        "two tests in another order": two(
            forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 5.0]), at_least(2.0), None,
            [["split", 0, 4], ["trees", [1, 2]], ["rule", 0]], [5, 3], rules=UP_TO_4,
        ),
        "a falling column goes left above the cut": two(
            forest([[0.0], [1.0]], at=[-7.0]), GOAL, None, [["split", 0, 6], ["rule", 0], ["trees", [0, 2]]], [6],
            columns=[[0, None, [["mul", number(-1.0)]]]], rules=[["<", ["c", "6"], ["x", 0]]],
        ),
        "a network has none": line([["split", 0, 2], dual("100"), ["distance"]]) | {"cuts": [1]},
    },
    "prune": {
        "a leaf that the box misses": tree([["split", 0, 3], ["prune", [0, 2]], ["trees"], ["rule", 0]]),
        "a leaf that one index of the box reaches": tree(
            [["split", 0, 4], ["prune", [0, 2]], ["trees"], ["rule", 0]], rules=UP_TO_4
        ),
        "a leaf that is at the distance of the claim": two(AT_3, GOAL, "6", FAR_Y, [3], **TWO, **NOT_BOTH),
        "a leaf whose largest change is the distance of the claim": two(
            AT_3, GOAL, "6", [["split", 1, 5], *FAR_Y[1:]], [3], **TWO,
            rules=[["or", UP_TO_3[0], ["<=", ["c", "6"], ["x", 1]]]],
            distance={"alpha": "0", "beta": "0", "gamma": "1"},
        ),
        "a leaf whose own side is its largest change": two(
            AT_3, GOAL, "10", FAR_Y, [3], **TWO, **NOT_BOTH, distance={"alpha": "0", "beta": "1", "gamma": "1"}
        ),
        "a leaf that is nearer than the claim by a hair": two(
            AT_3, GOAL, "6000000001/1000000000", FAR_Y, [3], **TWO, **NOT_BOTH
        ),
        "a leaf farther away on an axis on which the box is away already": tree(
            [["split", 0, 1], ["trees", [0, 2]], ["trees", [0, 2]]], "5", rules=[]
        ),
        "a leaf that the root does not reach": tree([["prune", [0, 2]], ["trees"]], "4"),
        "a leaf that the root does not reach, without a word": tree([["trees"]], "4"),
        "a leaf that the root reaches by a hair": tree([["trees"]], HAIR, rules=[]),
        "an inner node": tree([["prune", [0, 0]], ["trees"]]),
        "a leaf for the second time": tree([["split", 0, 3], ["prune", [0, 2]], ["trees", [0, 2]], ["rule", 0]]),
        "a tree that there is not": tree([["prune", [1, 1]], ["trees"]]),
        "true is no leaf": tree([["split", 0, 3], ["prune", [0, True]], ["trees"], ["rule", 0]]),
        "a number for a list": tree([["prune", 0], ["trees"]]),
        "nothing": tree([["prune"], *LEFT]),
        "in a model without trees": line([["prune"], ["split", 0, 2], dual("100"), ["distance"]]),
    },
    "near": {
        "indices at the distance of the claim go": line([["near", [0, [0, 2]]], dual("100")]),
        "an index that is nearer by a hair": line([["near", [0, [0, 2]]], dual("100")], "3000000001/1000000000"),
        "one index too many": line([["near", [0, [0, 1]]], dual("100")]),
        "the start among those that go": line([["near", [0, [0, 2]]], dual("100")], features=[grid(0, 10, 9)]),
        "below and above the start": two(
            network([[[1.0]]], [[-5.5]]), AT_LEAST_0, "2", [["near", [0, [3, 5]]], dual("100")], [],
            features=[grid(0, 10, 4)],
        ),
        "a span beyond the axis": line([["near", [0, [-5, 2]]], dual("100")]),
        "nothing stays": line([["split", 0, 2], dual("100"), ["near", [0, [1, 0]]], ["dual"]]),
        "nothing stays of what is near": line([["near", [0, [1, 0]]], ["dual"]]),
        "levels that are too far": two(
            network([[[1.0]]], [[-1.5]]), AT_LEAST_0, "1", [["near", [0, 3]], dual("100")], [], **BY_LEVEL
        ),
        "a level that is near enough": two(
            network([[[1.0]]], [[-0.25]]), AT_LEAST_0, "1", [["near", [0, 1]], dual("100")], [], **BY_LEVEL
        ),
        "a mask of levels that there are not": two(
            network([[[1.0]]], [[-1.5]]), AT_LEAST_0, "1", [["near", [0, 8]], dual("100")], [], **BY_LEVEL
        ),
        "the other axis adds its least": two(
            network([[[1.0], [0.0]]], [[-1.5]]), AT_LEAST_0, "3",
            [["split", 1, 1], ["rule", 0], ["near", [0, [0, 0]]], dual("100")], [], **TWO,
            rules=[["<=", ["c", "2"], ["x", 1]]],
        ),
        "not about distance": line([["near", [0, [0, 2]]], dual("100")], None),
        "not about distance, and nothing goes": two(
            network([[[1.0]]], [[-11.0]]), AT_LEAST_0, None, [["near", [0, [0, 10]]], dual("1")], []
        ),
    },
    "bounds": {
        "a price of distance": tent([ROOT, dual("9/5")]),
        "a price that is too low": tent([["bounds", [0, 0, FREE, number(0.5)]], dual("9/5")], distance=ANY),
        "no price": tent([["bounds", [0, 0, FREE, FREE]], dual("9/5")], distance=ANY),
        "a price that is too high": tent([["bounds", [0, 0, FREE, number(2.0)]], dual("9/5")]),
        "no price where the box is small": tent([["near", [0, [0, 8]]], ["bounds", [0, 0, FREE, FREE]], dual("2")]),
        "a claim that is false by a hair": tent([ROOT, dual("9/5")], "10000000001/1000000000"),
        "a negative price": tent([["bounds", [0, 0, number(-1.0), PRICE]], dual("9/5")]),
        "a rational price": tent([["bounds", [0, 0, "0", PRICE]], dual("9/5")]),
        "the lower end alone": tent([["bounds", [0, 0, FREE, None]], dual("9/5")]),
        "one end after the other": tent(
            [["bounds", [0, 0, FREE, None]], ["bounds", [0, 0, None, PRICE]], dual("9/5")]
        ),
        "a unit that there is not": tent([["bounds", [0, 1, FREE, PRICE]], dual("9/5")]),
        "a layer without ReLUs": tent([["bounds", [1, 0, FREE, PRICE]], dual("9/5")]),
        "three fields": tent([["bounds", [0, 0, PRICE]], dual("9/5")]),
        "no field": tent([["bounds", 0], dual("9/5")]),
        "after an entry no points are left, and further entries are not looked at": tent([
            ["split", 0, 3], ["phase", 0, 0], *CLOSED, ["bounds", [0, 0, None, FREE], "0"], ["empty"], *CLOSED,
        ]),
        "six fields": tent([["bounds", [0, 0, FREE, PRICE, 0, 0]], dual("9/5")]),
        **{
            f"the line below a unit: {shows}": two(
                network([[[1.0]], [[1.0]], [[1.0]]], [[bias], [-2.0], [-2.5]]), AT_LEAST_0, "8",
                [*nodes, dual("10/3")], [],
            )
            for shows, bias, nodes in (
                ("0, as an entry says", -5.0, [["bounds", [0, 0, FREE, FREE, 0], BEHIND]]),
                ("1, as an entry says", -5.0, [["bounds", [0, 0, FREE, FREE, 1], BEHIND]]),
                ("no entry says it, and the ends are as long", -5.0, [["bounds", [0, 0, FREE, FREE], BEHIND]]),
                ("no entry says it, and the lower end is longer", -5.5, [["bounds", [0, 0, FREE, FREE], BEHIND]]),
                ("1, as an entry says, and the lower end is longer", -5.5, [["bounds", [0, 0, FREE, FREE, 1], BEHIND]]),
                ("a node before says it", -5.0, [["bounds", [0, 0, FREE, FREE, 0]], ["bounds", BEHIND]]),
                ("an entry after it says it", -5.0, [["bounds", [0, 0, FREE, FREE], BEHIND, [0, 0, None, None, 0]]]),
                ("the last entry counts", -5.0, [["bounds", [0, 0, FREE, FREE, 1], [0, 0, None, None, 0], BEHIND]]),
                ("the last that says it counts", -5.0, [["bounds", [0, 0, None, None, 0], [0, 0, FREE, FREE], BEHIND]]),
                ("2", -5.0, [["bounds", [0, 0, FREE, FREE, 2], BEHIND]]),
                ("-1", -5.0, [["bounds", [0, 0, FREE, FREE, -1], BEHIND]]),
                ("false", -5.0, [["bounds", [0, 0, FREE, FREE, False], BEHIND]]),
                ("null", -5.0, [["bounds", [0, 0, FREE, FREE, None], BEHIND]]),
            )
        },
        **{
            f"several columns of one axis: {shows}": two(
                network([[[2.0], [-3.0]], [[1.0]]], [[0.0], [-than]]), at_least(0.0), None,
                [["bounds", [0, 0, FREE, FREE]], dual("1")], [], features=[{**LEVELS, "allowed": 3}],
                columns=[[0, [number(float(k == level)) for level in range(3)], []] for k in range(2)],
            )
            for shows, than in (("one level decides", 1.5), ("no level does", 2.5))
        },
    },
    "dual": {
        f"{shows}, and the {words}": past_5(claim, **more)
        for words, more, holds, fails in (
            ("steps are whole", {}, "6", "6000000001/1000000000"),
            ("steps are halves", {"features": [grid(0, 20, 0, "1/2", scale="1")]}, "11/2", "5500000001/1000000000"),
            ("steps count twice", {"features": [grid(0, 10, 0, weight="2")]}, "12", "12000000001/1000000000"),
            ("largest change counts", {"distance": LARGEST}, "6", "6000000001/1000000000"),
            ("distances have any size", {"distance": ANY}, "5", "6"),
        )
        for shows, claim in (("no distance is between bound and claim", holds), ("a distance is between them", fails))
    }
    | {
        f"nothing is below 0, {shows}": line([dual("0")], "0", **more)
        for shows, more in (("and distances are whole", {}), ("and all distances are 0", {"distance": NOWHERE}))
    },
    "tighten": {
        "an end that the goal moves": tent([ROOT, end_of((0, 0, 0), FREE, "1"), dual("1")]),
        "an end that the goal moves too little": tent([ROOT, end_of((0, 0, 0), FREE, "1/2"), dual("1")]),
        "without an interval": tent([end_of((0, 0, 0), FREE, "1"), dual("1")]),
        "a claim that is false by a hair": tent(
            [ROOT, end_of((0, 0, 0), FREE, "1"), dual("1")], "93000000001/10000000000", distance=ANY
        ),
        "a price of distance": tent(
            [["bounds", [0, 0, FREE, None]], end_of((0, 0, 1), PRICE, "0"), dual("9/5")]
        ),
        "a price that is too low": tent(
            [["bounds", [0, 0, FREE, None]], end_of((0, 0, 1), number(0.5), "0"), dual("9/5")], distance=ANY
        ),
        "the other end": tent([["bounds", [0, 0, FREE, None]], end_of((0, 0, 0), PRICE, "0"), dual("9/5")]),
        "after it no points are left": tent([ROOT, end_of((0, 0, 0), FREE, "9"), ["empty"]], "4"),
        "further ends are not looked at": tent(
            [ROOT, [*end_of((0, 0, 0), FREE, "9"), end_of((0, 7, 0), FREE, "9")[1]], ["empty"]], "4"
        ),
        "an end that there is not": tent([ROOT, end_of((0, 0, 2), FREE, "1"), dual("1")]),
        "a unit that there is not": tent([ROOT, end_of((0, 1, 0), FREE, "1"), dual("1")]),
        "a negative price": tent([ROOT, end_of((0, 0, 0), number(-1.0), "1"), dual("1")]),
        "without parts": tent([ROOT, ["tighten", [0, 0, 0, FREE]], dual("1")]),
        "a part too many": tent([ROOT, ["tighten", [0, 0, 0, FREE, *dual("1")[1:] * 2]], dual("1")]),
        "with forms": tent([ROOT, end_of((0, 0, 0), FREE, "1", forms=[]), dual("1")]),
        "three fields": tent([ROOT, ["tighten", [0, 0, 0]], dual("1")]),
        "a phase that was not split on": tent([ROOT, end_of((0, 0, 0), FREE, "1", phases=[[0, 0, "1"]]), dual("1")]),
        "shares of the price": tent(
            [["bounds", [0, 0, FREE, None]], end_of((0, 0, 1), PRICE, "0", largest=[[0, "1"]]),
             dual("9/5", largest=[[0, "1"]])],
            distance={"alpha": "0", "beta": "0", "gamma": "1"},
        ),
        "an end of one side of a phase is not one of the other": two(
            network([[[1.0]], [[1.0]], [[1.0]]], [[-5.0], [-1.0], [-2.0]]), AT_LEAST_0, "7",
            [
                ["bounds", [0, 0, FREE, FREE], [1, 0, FREE, FREE]], ["phase", 1, 0],
                end_of((0, 0, 0), FREE, "3"), dual("100"), dual("1"),
            ], [],
        ),
        "the second unit of a layer": two(
            BESIDE, AT_LEAST_0, "17/5",
            [["bounds", [0, 1, FREE, FREE]], end_of((0, 1, 0), FREE, "2"), dual("8/5")], [],
        ),
        "the second unit of a layer, left as it was": two(
            BESIDE, AT_LEAST_0, "17/5", [["bounds", [0, 1, FREE, FREE]], dual("8/5")], [],
        ),
        "each part of the goal moves it": two(
            BESIDE, EITHER, "17/5",
            [["bounds", [0, 1, FREE, FREE]], ["tighten", [0, 1, 0, FREE, *dual("2")[1:] * 2]], BOTH], [],
        ),
        "one part of the goal does not move it": two(
            BESIDE, EITHER, "17/5",
            [["bounds", [0, 1, FREE, FREE]], ["tighten", [0, 1, 0, FREE, *dual("2")[1:], *dual("0")[1:]]], BOTH], [],
        ),
        "an object for an end": tent([ROOT, ["tighten", {"0": 0, "1": 0, "2": 0, "3": FREE}], dual("1")]),
        "shares beyond the price": tent(
            [["bounds", [0, 0, FREE, None]], end_of((0, 0, 1), PRICE, "0", largest=[[0, "2"]]), dual("9/5")],
            distance={"alpha": "0", "beta": "0", "gamma": "1"},
        ),
    },
    "split": {
        "a mask of levels": two(AT_3, GOAL, None, [["split", 0, 1], ["trees"], ["trees"]], [None], **BY_LEVEL),
        "levels that there are not": two(
            AT_3, GOAL, None, [["split", 0, 8], ["trees"], ["trees"]], [None], **BY_LEVEL
        ),
        "an axis that there is not": tree([["split", 1, 3], ["trees", [0, 2]], ["rule", 0]]),
        "an index as text": tree([["split", 0, "3"], ["trees", [0, 2]], ["rule", 0]]),
        "three fields": tree([["split", 0, 3, 3], ["trees", [0, 2]], ["rule", 0]]),
        "before the box: one side is empty": tree([["split", 0, -1], ["cell"], *LEFT]),
    },
    "phase": {
        "both sides": tent([ROOT, ["phase", 0, 0], dual("100"), dual("1")]),
        "the sides exchanged": tent([ROOT, ["phase", 0, 0], dual("1"), dual("100")]),
        "a side alone": tent([ROOT, ["phase", 0, 0], dual("100")]),
        "a unit that there is not": tent([ROOT, ["phase", 0, 1], dual("100"), dual("1")]),
    },
    "empty": {
        "a box with points": tree([["empty"]]),
        "an empty box": tree([["split", 0, -1], ["empty"], *LEFT]),
    },
    "distance": {
        "at the distance of the claim": tree([["split", 0, 3], ["trees"], ["distance"]], "4", rules=[]),
        "a hair nearer": tree([["split", 0, 3], ["trees", [0, 2]], ["distance"]], HAIR, rules=[]),
        "not about distance": tree([["split", 0, 3], ["trees", [0, 2]], ["distance"]]),
    },
    "proof": {
        "no node": tree([]),
        "a node too many": tree([*LEFT, ["rule", 0]]),
        "a node too few": tree(LEFT[:-1]),
        "a rule that there is not": tree([["prices"]]),
        "an empty node": tree([[]]),
        "a node that is no list": tree(["trees"]),
        "fields of a node of an empty box": tree([["split", 0, -1], ["rule", 99], *LEFT]),
        "a rule of networks in an empty box": tree([["split", 0, -1], ["dual"], *LEFT]),
        "an object for the list": tree({}),
    },
    "statement": {
        "words for people": {**tree(LEFT), "about": {"model": "m"}},
        "a field too many": {**tree(LEFT), "note": ""},
        "a field too few": {k: v for k, v in tree(LEFT).items() if k != "cuts"},
        "format 3": {**tree(LEFT), "mace_certificate": 3},
        "true is no format": {**tree(LEFT), "mace_certificate": True},
        "format 1": certificate(AT_3, GOAL, "4", [["split", 0, 3], ["trees"], ["distance"]]),
        "a rational with a point": tree(LEFT, "4.0"),
        "a rational that divides by zero": tree(LEFT, "4/0"),
        "a rational that is not in lowest terms": tree([["trees"]], "8/2"),
        "a negative claim": tree(LEFT, "-4"),
        "both claims": tree(LEFT, claim={"closer_than": "4", "anywhere": True}),
        "no claim": tree(LEFT, claim={}),
        "lower above upper": tree(LEFT, features=[grid(5, 4, 0)]),
        "a scale of 0": tree(LEFT, features=[grid(0, 10, 0, scale="0")]),
        "a goal without scores": two(AT_3, [[[None, None, FREE, False]]], "4", LEFT, [3]),
        "a goal without parts": two(AT_3, [], None, [["trees"]], [3]),
        "a part without comparisons": two(AT_3, [[]], "4", [["trees"]], [3]),
        "a float beyond the doubles": two(forest([[0.0], [1.0]], at=[3.0], error="0x1p+1024"), GOAL, "4", LEFT, [3]),
        "true for a right child": with_tree(right=[True, 0, 0], left=[2, 0, 0]),
        "a node that is its own right child, where no other leads": with_tree(
            column=[-1, 0, -1], threshold=[0, number(3.0), 0], left=[0, 2, 0], right=[0, 1, 0],
            value=[[number(0.0)], None, [number(0.0)]],
        ),
        "a leaf with a value too many": with_tree(value=[None, [number(0.0)] * 2, [number(1.0)]]),
        "a leaf with an object for its values": with_tree(value=[None, {number(0.0): 0}, [number(1.0)]]),
        "a leaf with a decimal for its value": with_tree(value=[None, ["0.0"], [number(1.0)]]),
        "categories as text": with_tree(threshold=[["3"], 0, 0]),
        "a start that overflows": two(
            forest([[0.0], [1.0]], at=[3.0], dtype="float32", start=[number(2.0**128)]), GOAL, "4", LEFT, [3]
        ),
        "a decimal for a float": two(forest([[0.0], [1.0]], at=[3.0], error="0.0"), GOAL, "4", LEFT, [3]),
    },
}  # fmt: skip

SOUND = canonical(tree(LEFT))
UNUSABLE = {
    "no JSON": b"{",
    "nothing": b"",
    "a number with a point": SOUND.replace(b'"cuts":[3]', b'"cuts":[3.0]'),
    "a number with an exponent": SOUND.replace(b'"cuts":[3]', b'"cuts":[3e0]'),
    "not a number": SOUND.replace(b'"cuts":[3]', b'"cuts":[NaN]'),
    "a field twice": SOUND.replace(b'{"cuts":[3]', b'{"cuts":[3],"cuts":[3]'),
    "more than 4000 digits": SOUND.replace(b'"cuts":[3]', b'"cuts":[%s]' % (b"3" * 4001)),
    "nested without end": b"[" * 20_000 + b"]" * 20_000,
    "a model that is not there": SOUND.replace(canonical(AT_3), canonical({"sha256": "0" * 64})),
    "a model by a path": SOUND.replace(canonical(AT_3), canonical({"sha256": "../" + "0" * 61})),
    "a part of the goal with a point": canonical(tree([["part", 0], *LEFT, ["empty"]])).replace(
        b'["part",0]', b'["part",0.0]'
    ),
    "something after the end": SOUND + b"{}",
}


def section(reason: str) -> str:
    """The rule, or the part of the file, that a refusal is about."""
    found = re.match(r"node \d+: (\w+): ", reason) or re.match(r"(witness|cuts|statement)", reason)
    return found[1] if found else "proof"


def by_hand() -> Iterator[Vector]:
    """Those that somebody wrote."""
    pairs = {**CLAIMS, **{name: (false, true) for name, (_, false, true) in CASES.items()}, **PAIRS}
    for name, pair in pairs.items():
        false, true = (in_format_2(data) for data in pair)
        about = section(check(false).reason)
        yield Vector(about, name, "refused", canonical(false))
        yield Vector(about, f"its true twin: {name}", "accepted", canonical(true))
    written = (("forms", FORMS), ("rows", ROWS), ("dual", LINES), ("tighten", TIGHT), ("prices", PRICED),
               ("part", PARTS), ("cliques", CLIQUES), ("narrow", NARROWED))  # fmt: skip
    for about, cases in (*BY_HAND.items(), *written, *NODES.items()):
        for name, data in cases.items():
            yield Vector(about, name, "accepted" if check(data).accepted else "refused", canonical(data))
    for name, raw in UNUSABLE.items():
        yield Vector("text", name, "unusable", raw)
    shared = SOUND.replace(canonical(AT_3), canonical({"sha256": hashlib.sha256(canonical(AT_3)).hexdigest()}))
    yield Vector("text", "a model in a file of its own", "accepted", shared)
    for about, cases in (("sets", SETS), ("plans", {**PLANS, **plan_edges.CASES})):
        for name, data in cases.items():
            verdict = "refused" if name.startswith("false: ") else "accepted"
            yield Vector(about, name.removeprefix("false: "), verdict, canonical(data))


def candidates(only: Collection[str] | None = None) -> Iterator[Vector]:
    """Those of the series; of all, or of those that show something in particular."""
    for about, cases in (*shapes().items(), *values().items(), *bounds().items(), *states().items()):
        for name, data in cases.items():
            if only is None or name in only:
                verdict = check(data)
                place = about if verdict.accepted else section(verdict.reason)
                yield Vector(place, name, "accepted" if verdict.accepted else "refused", canonical(data))


def vectors() -> Iterator[Vector]:
    """Every certificate of the folder, in the order of its index."""
    yield from by_hand()
    yield from candidates(frozenset(json.loads(NEEDED.read_text("utf-8"))))


def files() -> dict[str, bytes]:
    """The folder: name -> bytes."""
    found: dict[str, bytes] = {}
    index: dict[str, dict[str, str]] = {}
    texts = set()
    for vector in vectors():
        if vector.raw in texts:  # Two tests made the same certificate.
            continue
        texts.add(vector.raw)
        assert vector.file not in found and vector.name not in index, vector.name
        found[vector.file] = vector.raw
        index[vector.name] = {
            "file": vector.file, "about": vector.about, "shows": vector.shows, "verdict": vector.verdict,
        }  # fmt: skip
    found["index.json"] = (json.dumps([*index.values()], indent=0, ensure_ascii=False) + "\n").encode()
    model = canonical(AT_3)
    found[hashlib.sha256(model).hexdigest() + MODEL] = model
    return found


def verdict_on(path: Path) -> tuple[str, str]:
    """What the checker says of a file, and why."""
    try:
        verdict = check(load(path))
    except Unusable as error:
        return "unusable", str(error)
    return ("accepted" if verdict.accepted else "unusable" if verdict.unusable else "refused"), verdict.reason


def write() -> None:
    """The folder anew."""
    made = files()
    FOLDER.mkdir(exist_ok=True)
    for path in FOLDER.iterdir():
        path.unlink()
    for name, raw in made.items():
        (FOLDER / name).write_bytes(raw)


if __name__ == "__main__":
    write()
    for entry in json.loads((FOLDER / "index.json").read_text("utf-8")):
        print(entry["file"], entry["about"], "|", entry["shows"], "|", *verdict_on(FOLDER / entry["file"]))
