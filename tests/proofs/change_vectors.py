"""Vectors about prices as changes of earlier ones: what stands for which prices, and what makes no sense."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import TWO, at_least, line, two
from tests.proofs.clique_vectors import BOTH, FREE_X, FROM_5, KNOWN, THIRD, part
from tests.proofs.part_vectors import RULED

# Of two trees that both have to say 1: one where x > 3, one where y > 2. Under these prices y up to 4 is too far; with
# the first one a unit higher or lower it is not.
OWN = {"goal": ["4"], "largest": [], "unit": "1", "prices": {"nodes": [2, 3], "units": [4, 3]}}
NOTHING = {"changes": [], "numbers": [], "units": []}


def like(
    *changes: Any, back: Any = 1, shift: Any = 0, unit: str = "1", nodes: Any = (), units: Any = (), **more: Any
) -> Any:
    """A part whose two prices are those of an earlier one, changed."""
    prices = {"changes": [*changes], "nodes": [*nodes], "units": [*units]}
    return {**OWN, "unit": unit, "like": back, "shift": shift, "prices": prices, "cliques": NOTHING, **more}


def without(name: str) -> Any:
    """A part that changes nothing, without a field."""
    return {key: value for key, value in like(0, 0).items() if key != name}


def own(*units: Any, nodes: Any = (2, 3)) -> Any:
    """Prices by themselves."""
    return {**OWN, "prices": {"nodes": [*nodes], "units": [*units]}}


def both(*parts: Any) -> Any:
    """All parts but the last narrow nothing, so that only how they are read counts."""
    proof = [*(["narrow", [], one] for one in parts[:-1]), ["narrow", [[1, [0, 4]]], parts[-1]], RULED]
    return two(BOTH, at_least(2.0), "9", proof, [3, 2], **TWO, **FROM_5)


def of_columns(second: Any) -> Any:
    """The same proof in columns."""
    others = [["narrow", [], OWN], ["narrow", [[1, [0, 4]]], second], RULED]
    empty: dict[str, Any] = {"places": [], "splits": [], "prune": [], "trees": []}
    return both(OWN) | {"proof": {"rules": "ooo", **empty, "others": others}}


def shared(change: Any, **more: Any) -> Any:
    """Three trees and a clique: a box is narrowed by its price, and what is left closed by a changed one."""
    first = part("3", cliques={"numbers": [0], "units": [3]}) | {"prices": {"nodes": [8], "units": [3]}}
    prices, cliques = ({"changes": [one], name: [], "units": []} for one, name in ((-3, "nodes"), (change, "numbers")))
    second = {**part("5"), "like": 1, "shift": 0, "prices": prices, "cliques": {**cliques, **more}}
    proof = [KNOWN, ["narrow", [[1, [0, 4]]], first], ["split", 1, 2], ["prices", second], RULED]
    return two(THIRD, at_least(2.0), "5", proof, [4, 3, 2], **FREE_X, **FROM_5)


CHANGES = {
    "the same prices": both(OWN, like(0, 0)),
    "one unit less of the first": both(OWN, like(-1, 0)),
    "one unit less of the second": both(OWN, like(0, -1)),
    "one unit more of the first": both(OWN, like(1, 0)),
    "one unit more of the second": both(OWN, like(0, 1)),
    "one unit less of one more": both(own(5, 3), like(-1, 0)),
    "one unit more of one less": both(own(4, 2), like(0, 1)),
    "less than nothing": both(OWN, like(0, -4)),
    "in halves": both(OWN, like(0, 0, shift=1, unit="1/2")),
    "in halves that are not moved": both(OWN, like(0, 0, unit="1/2")),
    "in thirds": both(OWN, like(8, 6, unit="1/3")),
    "in twos": both(own(8, 6), like(0, 0, shift=-1)),
    "in twos, a half up": both(own(7, 5), like(0, 0, shift=-1)),
    "in twos, a half up, and one more": both(own(9, 6), like(0, 0, shift=-1)),
    "in fours, less than a half down": both(own(17, 13), like(0, 0, shift=-2)),
    "in fours, a half up": both(own(14, 10), like(0, 0, shift=-2)),
    "moved by 31": both(own(0, 0), like(4, 3, shift=31)),
    "moved by 32": both(own(0, 0), like(4, 3, shift=32)),
    "moved by -31": both(OWN, like(4, 3, shift=-31)),
    "moved by -31, of which one is left": both(own(2**30, 1), like(3, 3, shift=-31)),
    "moved by -32": both(OWN, like(4, 3, shift=-32)),
    "too large when they are moved": both(OWN, like(0, 0, shift=29)),
    "too large when they are moved, and down again": both(own(1, 0), like(4 - 2**31, 3, shift=31)),
    "too large with what is added": both(own(4, 3), like(2**31 - 4, 0)),
    "nearly too large, down again": both(OWN, like(2**31 - 5, 0), like(5 - 2**31, 0)),
    "too large a change": both(own(0, 3), like(2**31, 0)),
    "too large before": both(own(2**31, 3), like(4 - 2**31, 0)),
    "nearly too large before": both(own(2**31 - 1, 3), like(5 - 2**31, 0)),
    "a node is added": both(own(4, nodes=[2]), like(0, nodes=[5], units=[3])),
    "a node is added before the others": both(own(3, nodes=[5]), like(0, nodes=[2], units=[4])),
    "two nodes are added": both(own(nodes=[]), like(nodes=[2, 3], units=[4, 3])),
    "a node is added that is there": both(OWN, like(0, 0, nodes=[5], units=[3])),
    "a node is added that is taken away": both(OWN, like(0, -3, nodes=[5], units=[3])),
    "a node is taken away": both(own(4, 1, 2, nodes=[2, 2, 1]), like(0, -1, 1)),
    "a node without a price is kept": both(own(4, 0, 3, nodes=[2, 2, 1]), like(0, 0, 0)),
    "a node that was taken away is added": both(
        own(4, 1, 3, nodes=[2, 2, 1]), like(0, -1, 0), like(0, 0, nodes=[4], units=[0])
    ),
    "a node is added that there is not": both(OWN, like(0, 0, nodes=[9], units=[1])),
    "a node is added twice": both(own(4, nodes=[2]), like(0, nodes=[5, 0], units=[3, 0])),
    "a node is added without a price": both(own(4, nodes=[2]), like(0, nodes=[5], units=[])),
    "a negative price is added": both(own(4, nodes=[2]), like(0, nodes=[5], units=[-3])),
    "a change too few": both(OWN, like(0)),
    "a change too many": both(OWN, like(0, 0, 0)),
    "true for a change": both(own(3, 3), like(True, 0)),
    "a text for a change": both(OWN, like("0", 0)),
    "null for changes": both(OWN, like() | {"prices": {"changes": None, "nodes": [], "units": []}}),
    "no changes": both(OWN, like() | {"prices": {"nodes": [2, 3], "units": [4, 3]}}),
    "a column too many": both(OWN, like() | {"prices": {"changes": [0, 0], "nodes": [], "units": [], "more": []}}),
    "another name for a column": both(OWN, like() | {"prices": {"changes": [0, 0], "numbers": [], "units": []}}),
    "entries for the columns": both(OWN, like() | {"prices": [[0, 2, 4], [1, 2, 3]]}),
    "the part itself": both(OWN, like(0, 0, back=0)),
    "no such part": both(OWN, like(0, 0, back=2)),
    "no part before it": both(like(0, 0)),
    "the part after it": both(OWN, like(0, 0, back=-1)),
    "true for a part": both(OWN, like(0, 0, back=True)),
    "a text for a part": both(OWN, like(0, 0, back="1")),
    "true for a shift": both(OWN, like(0, 0, shift=True, unit="1/2")),
    "without a shift": both(OWN, without("shift")),
    "without like": both(OWN, without("like")),
    "without cliques": both(OWN, without("cliques")),
    "without a goal": both(OWN, without("goal")),
    "another field": both(OWN, like(0, 0, more=1)),
    "of entries": both({**OWN, "prices": [[0, 2, 4], [1, 2, 3]]}, like(0, 0)),
    "of changes": both(own(3, 3), like(1, 0), like(0, 0)),
    "of changes, and of those before": both(own(3, 3), like(1, 0), like(1, 0, back=2)),
    "of the part before that": both(OWN, own(5, 3), like(0, 0, back=2)),
    "of the last part, which is another": both(OWN, own(5, 3), like(0, 0)),
    "of three parts the first": both(OWN, own(5, 3), own(6, 3), like(0, 0, back=3)),
    "of a part of the same node": two(
        BOTH, [*at_least(2.0), *at_least(3.0)], "9", [["narrow", [[1, [0, 4]]], OWN, like(0, 0)], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "of the part before its node": two(
        BOTH, [*at_least(2.0), *at_least(3.0)], "9",
        [["narrow", [], OWN, own(9, 9)], ["narrow", [[1, [0, 4]]], OWN, like(0, 0, back=3)], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "of a proof in columns": of_columns(like(0, 0)),
    "of a proof in columns, less": of_columns(like(-1, 0)),
    "the price of a clique": shared(2),
    "the price of a clique, not enough": shared(1),
    "the price of a clique is taken away": shared(-3),
    "the price of a clique is added": shared(2, numbers=[1], units=[0]),
    "the price of a clique that there is not": shared(2, numbers=[1], units=[1]),
    "the price of a clique is added that is there": shared(2, numbers=[0], units=[1]),
    "in an empty box": two(
        BOTH, at_least(2.0), "9",
        [
            ["narrow", [], OWN], ["split", 0, -1], ["prices", like(back=9)],
            ["narrow", [[1, [0, 4]]], like(0, 0, back=2)], RULED,
        ],
        [3, 2], **TWO, **FROM_5,
    ),
    "in a model without trees": line([["prices", OWN], ["prices", like(0, 0)]]),
}  # fmt: skip
