"""Small certificates, written by hand: parts of a statement, and proofs of one line."""

from __future__ import annotations

import json
from typing import Any

from mace.proofs.convert import converted
from mace.proofs.kernel.proof import read_model

HUGE = str(10**30)


def number(x: float) -> str:
    return float(x).hex()


def grid(lower: int, upper: int, start: int, step: str = "1", **more: Any) -> dict[str, Any]:
    """A feature on a grid of steps, whose distance from its start counts in steps."""
    base = {"name": "x", "weight": "1", "kind": "grid", "grid": "step", "step": step, "extra": None}
    return {**base, "lower": lower, "upper": upper, "start": start, "scale": step, **more}


def certificate(
    model: dict[str, Any], goal: list[Any], closer: str | None, proof: list[Any], witness: Any = None, **more: Any
) -> Any:
    """One feature from 0 to 10 at its start 0, l1, unless said otherwise."""
    statement = {
        "features": [grid(0, 10, 0)],
        "columns": [[0, None, []]],
        "model": model,
        "goal": goal,
        "distance": {"alpha": "0", "beta": "1", "gamma": "0"},
        "rules": [],
        "avoid": [],
        "most_changes": None,
        "claim": {"anywhere": True} if closer is None else {"closer_than": closer},
        **more,
    }
    return {"mace_certificate": 1, "statement": statement, "witness": witness, "proof": proof}


def network(weights: list[list[list[float]]], biases: list[list[float]], **more: Any) -> dict[str, Any]:
    """Dense layers; all but the last are ReLUs."""
    layers = [
        {
            "weights": [[number(w) for w in row] for row in rows],
            "bias": [number(b) for b in bias],
            "activation": "identity" if k == len(weights) - 1 else "relu",
        }
        for k, (rows, bias) in enumerate(zip(weights, biases, strict=True))
    ]
    return {"kind": "network", "rule": "positive", "dtype": "float64", "layers": layers, **more}


def forest(*leaves: list[list[float]], at: list[float] | None = None, **more: Any) -> dict[str, Any]:
    """Trees with one test each (x <= at), or a leaf alone where only one is given."""
    trees = []
    for k, values in enumerate(leaves):
        inner = len(values) == 2
        threshold = number(at[k] if at else 0.5)
        trees.append(
            {
                "column": [0, -1, -1] if inner else [-1],
                "threshold": [threshold, 0, 0] if inner else [0],
                "left": [1, 0, 0] if inner else [0],
                "right": [2, 0, 0] if inner else [0],
                "value": [*([None] if inner else []), *([number(v) for v in value] for value in values)],
            }
        )
    base = {"kind": "ensemble", "rule": "value", "ordered": True, "error": number(0), "cast": "float64", "test": "<="}
    start = [number(0)] * len(leaves[0][0])
    return {**base, "dtype": "float64", "divide": 1, "start": start, "trees": trees, **more}


def dual(multiplier: str, **more: Any) -> list[Any]:
    return ["dual", {"goal": [multiplier], "slopes": [], "phases": [], "largest": [], **more}]


def end_of(unit: tuple[int, int, int], theta: str, multiplier: str, **more: Any) -> list[Any]:
    """The rule `tighten` for one end of a unit's interval."""
    return ["tighten", [*unit, theta, dual(multiplier, **more)[1]]]


def around(index: int, here: list[Any], before: list[Any], after: list[Any]) -> list[Any]:
    """The points before an index, the index itself, and those after it."""
    return [["split", 0, index], ["split", 0, index - 1], before, here, after]


AT_LEAST_0: list[Any] = [[[0, None, number(0), False]]]


def at_least(than: float, strict: bool = False) -> list[Any]:
    return [[[0, None, number(than), strict]]]


# --- worlds that vectors are about ---------------------------------------------------------------------------------

AT_3 = forest([[0.0], [1.0]], at=[3.0])
GOAL = at_least(1.0)
LEFT = [["split", 0, 3], ["trees", [0, 2]], ["rule", 0]]
UP_TO_3 = [["<=", ["x", 0], ["c", "3"]]]
UP_TO_4 = [["<=", ["x", 0], ["c", "4"]]]
TWO = {"features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
LEVELS = {"name": "l", "weight": "1", "kind": "levels", "count": 3, "allowed": 7, "start": 0, "ordered": True}
BY_LEVEL = {"features": [LEVELS], "columns": [[0, [number(x) for x in (0, 1, 2)], []]]}
LINE = network([[[1.0]]], [[-4.0]])  # x >= 4
TENT = network([[[1.0]], [[1.0]]], [[-4.0], [-5.2]])
PRICE = number(1.0)
FREE = number(0.0)


def two(model: Any, goal: Any, closer: str | None, proof: Any, cuts: Any, witness: Any = None, **more: Any) -> Any:
    """A certificate of format 2."""
    return {**certificate(model, goal, closer, proof, witness, **more), "mace_certificate": 2, "cuts": cuts}


def tree(proof: Any, closer: str | None = None, cuts: Any = (3,), **more: Any) -> Any:
    """About a tree that says 1 from 4 on, where nothing above 3 is allowed."""
    return two(AT_3, GOAL, closer, proof, list(cuts), **{"rules": UP_TO_3, **more})


def line(proof: Any, closer: str | None = "3", **more: Any) -> Any:
    """About a linear model that is positive from 4 on, with something to spare."""
    return two(LINE, AT_LEAST_0, closer, proof, [], **more)


def tent(proof: Any, closer: str = "9", **more: Any) -> Any:
    """About max(x - 4, 0), which is 5.2 or more from x = 9.2 on."""
    return two(TENT, AT_LEAST_0, closer, proof, [], **more)


def past_5(closer: str, **more: Any) -> Any:
    """About a linear model that is positive from 5.2 on, with multipliers that say so."""
    norm = more.get("distance", {})
    share = {"largest": [[0, "1"]]} if norm.get("gamma", "0") != "0" else {}
    factor = more.get("features", [{}])[0].get("weight", "1")
    return two(network([[[1.0]]], [[-5.2]]), AT_LEAST_0, closer, [dual(factor, **share)], [], **more)


def in_format_2(data: Any) -> Any:
    """A certificate of the tests, which are of format 1."""
    data = json.loads(json.dumps(data))
    return converted(data, read_model(data["statement"]["model"]))
