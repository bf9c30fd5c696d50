"""A world in plain values, as it was understood: for `mace inspect --world` and for people."""

from __future__ import annotations

import re
from typing import Any

from mace.language import Program, Return, show
from mace.language.show import show_text
from mace.worlds.parts import Laws, Parameter

_COMPARED = re.compile(r"\b(before_|start_|)(\w+) (==|!=|<=|>=|<|>) ([0-9]+)\b(?![.*/])")


def describe(world: Laws) -> dict[str, Any]:
    """Every action with its parameters, conditions, effects and cost, and every consequence."""
    return {
        "name": world.name,
        "actions": [
            {
                "name": action.name,
                "parameters": {one.name: _values(one) for one in action.parameters},
                "before": [_text(world, test) for test in action.before],
                "changes": list(action.affects),
                "after": [_text(world, test) for test in action.after],
                "cost": _text(world, action.cost),
            }
            for action in world.actions
        ],
        "consequences": [
            {"from": edge.source, "to": edge.target, "factor": _text(world, edge.factor)} for edge in world.consequences
        ],
    }


def _values(one: Parameter) -> str:
    if one.levels:
        return "one of " + ", ".join(one.levels)
    first, last = one.show(one.value(one.first)), one.show(one.value(one.last))
    return f"{first}..{last} step {one.show(one.step)}"


def _text(world: Laws, program: Program) -> str:
    """What a program returns; programs compare the places of levels, and people their names."""
    last = program.body[-1]
    if len(program.body) > 1 or not isinstance(last, Return):
        return "a block of statements"

    def named(found: re.Match[str]) -> str:
        levels = next((one.levels for one in world.space.features if one.name == found[2]), ())
        place = int(found[4])
        told = place < len(levels) and all(isinstance(level, str) for level in levels)
        return f"{found[1]}{found[2]} {found[3]} {show_text(levels[place])}" if told else found[0]

    return _COMPARED.sub(named, show(last.value))
