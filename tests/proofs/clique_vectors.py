"""Vectors about leaves of which a point reaches at most one, and about axes that are narrowed by prices."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import TWO, at_least, forest, two

# One says 1 where x > 4, the other where x <= 3: nodes 2 and 4, if those of both are counted.
APART = forest([[0.0], [1.0]], [[1.0], [0.0]], at=[4.0, 3.0])
KNOWN = ["cliques", [2, 2]]
# x + y of points with x > 3 and y > 2.
BOTH = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 2.0])
BOTH["trees"][1]["column"][0] = 1
FROM_5 = {"rules": [["<", ["c", "4"], ["x", 1]]]}  # closes what is left of y up to 4


def part(factor: str, *entries: list[int], **more: Any) -> dict[str, Any]:
    """Prices for one comparison."""
    return {"goal": [factor], "largest": [], "unit": "1", "prices": [*entries], **more}


def shared(*units: int, numbers: Any = (0,)) -> dict[str, Any]:
    """Prices of nothing but cliques."""
    return part("1", cliques={"numbers": [*numbers], "units": [*units]})


WAYS = part("4", [0, 2, 4], [1, 2, 3])


def apart(proof: Any, closer: str | None = None, **more: Any) -> Any:
    """That not both trees say 1."""
    return two(APART, at_least(2.0), closer, proof, [4, 3], **more)


def both(proof: Any, closer: str = "9", **more: Any) -> Any:
    """That the nearest point with x > 3 and y > 2 is no nearer."""
    return two(BOTH, at_least(2.0), closer, proof, [3, 2], **{**TWO, **FROM_5, **more})


CLIQUES: dict[str, Any] = {
    "a clique of two trees": apart([KNOWN, ["prices", shared(1)]]),
    "narrow: an axis": both([["narrow", [[1, [0, 4]]], WAYS], ["rule", 0]]),
}
