"""Prices as changes of earlier ones say what the prices by themselves do, and are shorter."""

from __future__ import annotations

import json
import random
from itertools import accumulate
from typing import Any

from mace.certify.changes import as_changes
from mace.proofs.changes import Changes

NODES, CLIQUES = 400, 60


def priced(rng: random.Random, before: dict[str, Any] | None) -> dict[str, Any]:
    """A part with prices in columns, much like another one if there is one."""
    if before is None or rng.random() < 0.2:
        drawn = [{k: rng.randrange(1, 60) for k in rng.sample(range(1, most), most // 3)} for most in (NODES, CLIQUES)]
        unit = 10
    else:
        prices, cliques = before["prices"], before.get("cliques", {"numbers": [], "units": []})
        unit, shift = before["unit_bits"], rng.choice([0, 0, 1, -1])
        drawn = []
        for steps, units, most in (
            (prices["nodes"], prices["units"], NODES), (cliques["numbers"], cliques["units"], CLIQUES),
        ):  # fmt: skip
            old = dict(zip(accumulate(steps), units, strict=True))
            kept = {k: max(0, int(n * 2**shift) + rng.choice([-1, 0, 0, 0, 1])) for k, n in old.items()}
            drawn.append(kept | {rng.randrange(1, most): rng.randrange(60) for _ in range(5)})
        unit += shift
    columns = []
    for found in drawn:
        numbers = sorted(found)
        columns.append(([b - a for a, b in zip([0, *numbers], numbers, strict=False)], [found[k] for k in numbers]))
    part = {"unit_bits": unit, "unit": f"1/{2**unit}", "goal": ["1"], "largest": []}
    (nodes, units), (numbers, shared) = columns
    part["prices"] = {"nodes": nodes, "units": units}
    return part | ({"cliques": {"numbers": numbers, "units": shared}} if numbers else {})


def unchanged(nodes: list[Any]) -> list[Any]:
    """The nodes of a proof with prices by themselves again."""
    changes = Changes()
    return [
        [node[0], *(changes.unchanged(part) if isinstance(part, dict) else part for part in node[1:])] for node in nodes
    ]


def without_nothing(part: Any) -> Any:
    """A part without prices of 0, which changes leave out."""
    if not isinstance(part, dict):
        return part
    made = dict(part)
    for field, name in (("prices", "nodes"), ("cliques", "numbers")):
        if field in part:
            pairs = zip(accumulate(part[field][name]), part[field]["units"], strict=True)
            some = [(k, n) for k, n in pairs if n]
            numbers = [k for k, _ in some]
            steps = [b - a for a, b in zip([0, *numbers], numbers, strict=False)]
            made[field] = {name: steps, "units": [n for _, n in some]}
    if "cliques" in made and not made["cliques"]["numbers"]:
        del made["cliques"]
    return made


def test_changes_say_what_prices_by_themselves_do_in_fewer_letters() -> None:
    rng = random.Random(0)
    for _ in range(20):
        nodes: list[Any] = []
        last = None
        for _ in range(12):
            last = priced(rng, last)
            nodes.append(["narrow", [[0, [1, 2]]], last] if rng.random() < 0.5 else ["prices", last])
        made = as_changes([*nodes, ["trees"]])
        assert made.pop() == ["trees"]
        assert sum("like" in node[-1] for node in made) > 3
        assert len(json.dumps(made)) < len(json.dumps(nodes))
        for node, wanted in zip(unchanged(made), nodes, strict=True):
            assert [*map(without_nothing, node)] == [*map(without_nothing, wanted)]


def test_what_cannot_be_changed_stays() -> None:
    own = {"unit": "1/3", "prices": {"nodes": [1, 2], "units": [7, 9]}}
    large = {"unit": "1/2", "prices": {"nodes": [1, 2], "units": [7, 2**31]}}
    for part in (own, large):
        nodes = [["prices", part], ["prices", part]]
        assert as_changes(nodes) == nodes


def test_a_price_that_changes_by_more_than_any_may_stays() -> None:
    parts = [
        {"unit": f"1/{2**bits}", "prices": {"nodes": [1] * 51, "units": units}}
        for bits, units in ((10, [2**31 - 1] + [1000] * 50), (11, [5] + [2000] * 50))
    ]
    nodes = [["prices", part] for part in parts]
    assert as_changes(nodes) == nodes
