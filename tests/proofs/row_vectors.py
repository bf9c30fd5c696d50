"""Vectors about the nearest of several rows."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import AT_3, AT_LEAST_0, GOAL, LEVELS, LINE, certificate, dual, grid, network, number
from tests.proofs.form_vectors import HALF, WHOLE

HAIR = "2000000001/1000000000"
TREES = {"cuts": [3], "proof": [["trees"]]}
FROM_2 = network([[[1.0]]], [[-1.5]])


def rows(
    *starts: Any, closer: str | None = "2", facts: Any = None, witness: Any = None, model: Any = AT_3, **more: Any
) -> dict[str, Any]:
    """x >= 4 by a tree, from some rows."""
    goal = more.pop("goal", GOAL)
    said = certificate(model, goal, closer, [], **more)["statement"]
    given = [TREES] * len(starts) if facts is None else facts
    return {"mace_rows": 1, "statement": said, "rows": list(starts), "witness": witness, "facts": given}


def at(point: Any, far: Any) -> dict[str, Any]:
    return {"point": [point], "distance": far}


BY_LEVEL = {"features": [LEVELS], "columns": [[0, [number(x) for x in (0, 1, 2)], []]], "goal": AT_LEAST_0}
FAR = {"cuts": [], "proof": [["split", 0, 3], dual("100"), ["distance"]]}
FORMED = {"cuts": [], "proof": [["split", 0, 3], dual("100"), dual("0", forms=[WHOLE])]}
ROWS: dict[str, Any] = {
    "the nearest of two": rows([0], [2]),
    "the nearest of two, false by a hair": rows([0], [2], closer=HAIR),
    "the nearest of two, in the other order, false by a hair": rows([2], [0], closer=HAIR),
    "one row": rows([2]),
    "no row": rows(),
    "a row that is too far from what is allowed": rows([2], [-2], facts=[TREES, None]),
    "a row that is nearer by a hair to what is allowed": rows([-2], facts=[None], closer=HAIR),
    "a row without a proof": rows([2], [0], facts=[TREES, None]),
    "a fact too few": rows([2], [0], facts=[TREES]),
    "a fact too many": rows([2], facts=[TREES, TREES]),
    "a fact that is false": rows([2], facts=[{"cuts": [2], "proof": [["trees"]]}]),
    "a fact with a field too many": rows([2], facts=[{**TREES, "claim": None}]),
    "a fact that is no object": rows([2], facts=[[]]),
    "a row of two indices": rows([2, 2]),
    "a row of none": rows([]),
    "a row that is no list": rows(2),
    "an index as text": rows(["2"]),
    "true is no index": rows([True], closer="0", facts=[None]),
    "the start counts for nothing": rows([2], features=[grid(0, 10, 9)]),
    "a start among what is changed": rows([2], features=[grid(0, 10, 3)], closer=HAIR),
    "a claim of 0": rows([9], closer="0", facts=[None]),
    "a claim of 0, and a tree that tests a column which there is not": rows(
        [9], closer="0", facts=[None], model={**AT_3, "trees": [{**AT_3["trees"][0], "column": [1, -1, -1]}]}
    ),
    "a claim of 0, and sums that may overflow": rows(
        [9], closer="0", facts=[None], model={**AT_3, "start": [number(1e308)]}
    ),
    "not about distance": rows([2], closer=None),
    "changes that are counted": rows([2], most_changes=1),
    "an excluded change": rows([2], avoid=[{"changes": [0]}]),
    "an excluded box": rows([2], closer="3", facts=[{"cuts": [3], "proof": [
        ["split", 0, 3], ["trees", [0, 2]], ["split", 0, 4], ["avoid", 0], ["distance"]
    ]}], avoid=[{"box": [[4, 4]]}]),
    "another number for the form": rows([2]) | {"mace_rows": 2},
    "true for the form": rows([2]) | {"mace_rows": True},
    "words for people": rows([2]) | {"about": {"model": "m"}},
    "a field too many": rows([2]) | {"note": ""},
    "a statement that is no object": rows([2]) | {"statement": []},
    "a point as near as it is": rows([0], [2], witness=at(4, "2")),
    "a point as near as it is to another row": rows([0], [2], witness=at(4, "4")),
    "a point as near as it is to the last row": rows([2], [0], witness=at(4, "4")),
    "a point that is farther than the claim": rows([0], [2], witness=at(5, "3")),
    "a point that is nearer than the claim": rows([0], [2], closer=HAIR, witness=at(4, "2")),
    "a point without the goal": rows([0], closer="2", witness=at(3, "3")),
    "a point that a rule forbids": rows([0], [2], witness=at(4, "2"), rules=[["<", ["x", 0], ["c", "4"]]]),
    "a point that is no object": rows([2], witness=[]),
    "a point whose distance is a number": rows([2], witness=at(4, 2)),
    "a linear model": rows([0], [1], closer="3", facts=[FAR] * 2, model=LINE, goal=AT_LEAST_0),
    "levels": rows([0], [1], closer="1/2", facts=[FAR] * 2, model=FROM_2, **BY_LEVEL),
    "levels, false by a hair": rows(
        [0], [1], closer="500000001/1000000000",
        facts=[FAR] * 2, model=FROM_2, **BY_LEVEL,
    ),
    "forms": rows([0], [1], closer="3/2", facts=[FORMED] * 2, model=LINE, goal=AT_LEAST_0, **HALF),
    "forms, false by a hair": rows(
        [0], [1], closer="1500000001/1000000000", facts=[FORMED] * 2, model=LINE, goal=AT_LEAST_0, **HALF
    ),
    "forms and a point": rows([0], [4], closer="0", facts=[None] * 2, witness=at(5, "1/2"), **HALF),
    "forms and a point at another distance": rows([0], [4], closer="0", facts=[None] * 2, witness=at(5, "1"), **HALF),
    "a fact without cuts": rows([2], facts=[{"proof": [["trees"]]}]),
    "a fact without a proof": rows([2], facts=[{"cuts": [3]}]),
    "a point without its distance": rows([2], witness={"point": [4]}),
    "a point without indices": rows([2], witness={"distance": "2"}),
    **{f"no {field}": {k: v for k, v in rows([2]).items() if k != field}
       for field in ("statement", "rows", "witness", "facts")},
}  # fmt: skip
