"""A world in plain values, as it was understood: for `mace inspect --world` and for people."""

from __future__ import annotations

from typing import Any

from mace.language import Program, Return, show
from mace.worlds.parts import Laws, Parameter


def describe(world: Laws) -> dict[str, Any]:
    """Every action with its parameters, conditions, effects and cost, and every consequence."""
    return {
        "name": world.name,
        "actions": [
            {
                "name": action.name,
                "parameters": {one.name: _values(one) for one in action.parameters},
                "before": [_text(test) for test in action.before],
                "changes": list(action.affects),
                "after": [_text(test) for test in action.after],
                "cost": _text(action.cost),
            }
            for action in world.actions
        ],
        "consequences": [
            {"from": edge.source, "to": edge.target, "factor": _text(edge.factor)} for edge in world.consequences
        ],
    }


def _values(one: Parameter) -> str:
    if one.levels:
        return "one of " + ", ".join(one.levels)
    first, last = one.show(one.value(one.first)), one.show(one.value(one.last))
    return f"{first}..{last} step {one.show(one.step)}"


def _text(program: Program) -> str:
    last = program.body[-1]
    return show(last.value) if len(program.body) == 1 and isinstance(last, Return) else "a block of statements"
