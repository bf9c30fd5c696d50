"""The space and the model as understood, in plain values, for `mace inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line
from mace.base.figures import counted
from mace.base.files import read_text
from mace.base.suggestions import some
from mace.space.space import Space
from mace.tables.table import Ensemble, Formula, Network, Table

if TYPE_CHECKING:
    from rich.console import RenderableType


def describe_space(space: Space) -> dict[str, Any]:
    """Every feature in one row, the rules, and what was inferred; raises ProgramError for what is no rule of it."""
    from mace.problem.programs import rules_of

    rules_of(space)  # else the first question about the space finds what is wrong with them
    return {
        "name": space.name,
        "features": [
            {
                "name": f.name,
                "kind": f.kind,
                "values": (
                    f"{f.lower}..{f.upper}" + (f" step {f.step}" if f.step is not None else "")
                    if f.numeric
                    else ", ".join(str(level) for level in f.levels if level is not None)
                ),
                "change": f.change,
                "missing": f.missing or "never",
                "encoding": f.encoding,
                "columns": len(f.columns),
                "unit": f.unit,
            }
            for f in space.features
        ],
        "columns": len(space.columns),
        "rules": list(space.rules),
        "notes": list(space.notes),
    }


def describe_model(model: object, space: Space | None) -> dict[str, Any]:
    """Kind, size, classes and decision rule of a model, and which oracle would answer."""
    if isinstance(model, Path):
        from mace.language import parse_program
        from mace.language.syntax import MAX_BYTES

        if space is None:
            program = parse_program(read_text(model, "Give the path of a .mace program.", MAX_BYTES), str(model))
            return {"kind": "program", "inputs": [declared.name for declared in program.inputs], "oracle": "smt"}
        from mace.problem.programs import model_program

        return _describe(model_program(model, space))
    from mace.compilers import read
    from mace.compilers.pipeline.reader import compile_raw
    from mace.compilers.registry import chain_of

    compiled = None if space is None else compile_raw(model, space)
    if compiled is None:
        return _describe(read(model))
    chain = chain_of(model)
    if chain.steps is None:
        return {"coded by the model": sorted(compiled.types), **_describe(compiled.table)}
    steps = " -> ".join(f"{name} ({type(step).__name__})" for name, step in [*chain.steps, (chain.name, chain.final)])
    return {"pipeline": steps, **_describe(compiled.table)}


def _describe(table: Table) -> dict[str, Any]:
    match table:
        case Ensemble():
            return {
                "kind": table.name,
                "trees": len(table.trees),
                "leaves": table.leaves,
                "columns": table.columns,
                "classes": [str(label) for label in table.classes],
                "decision": table.rule,
                "arithmetic": f"inputs as {table.cast}, tests `x {table.test} threshold`, sums in {table.dtype}",
                "oracle": "ensembles",
            }
        case Network():
            return {
                "kind": table.name,
                "layers": [
                    f"{layer.weights.shape[0]} -> {layer.weights.shape[1]} {layer.activation}" for layer in table.layers
                ],
                "columns": table.columns,
                "classes": [str(label) for label in table.classes],
                "decision": table.rule,
                "arithmetic": "float64 in any order of summation, within a rigorous margin",
                "oracle": "networks",
            }
        case Formula():
            return {
                "kind": "program",
                "inputs": [declared.name for declared in table.program.inputs],
                "classes": [str(label) for label in table.classes],
                "arithmetic": "exact rationals",
                "oracle": "smt",
            }


MOST_LEVELS = 30  # that a table shows; JSON has all
LONGEST = 20  # letters of a word that is not broken where a terminal is narrow


def _short(values: str) -> str:
    """The levels of a feature, or the first of them and how many more there are."""
    return some(values.split(", "), MOST_LEVELS)


def render(report: dict[str, Any]) -> RenderableType:
    """Tables for a terminal."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    parts: list[RenderableType] = []
    if "space" in report:
        space = report["space"]
        parts.append(
            Text(
                one_line(
                    f"space {space['name']}: {counted(len(space['features']), 'feature')}, "
                    f"{counted(space['columns'], 'column')}"
                ),
                "bold",
            )
        )
        grid = Grid(box=None, pad_edge=False)
        shown = ["name", "kind", "values", "change", "missing", "encoding", "unit"]
        same = {name: {feature[name] for feature in space["features"]} for name in ("missing", "encoding", "unit")}
        dull = {"missing": "never", "encoding": "as-is", "unit": ""}  # a column that says only this is left out
        shown = [name for name in shown if same.get(name) != {dull.get(name)}]
        for name in shown:
            words = [word for feature in space["features"] for word in one_line(feature[name]).split()]
            longest = max(map(len, words), default=0)
            grid.add_column(name, overflow="fold", min_width=min(longest, LONGEST))
        for feature in space["features"]:
            grid.add_row(
                *(Text(one_line(_short(feature[name]) if name == "values" else feature[name])) for name in shown)
            )
        parts.append(grid)
        parts += [Text(f"rule: {one_line(rule)}") for rule in space["rules"]]
        parts += [Text(f"inferred: {one_line(note)}", "dim") for note in space["notes"]]
    if "world" in report:
        parts += [Text(one_line(line), "bold" if head else "") for head, line in _world(report["world"])]
    if "model" in report:
        parts.append(Text("model", "bold"))
        parts += [Text(one_line(f"  {name}: {_listed(name, value)}")) for name, value in report["model"].items()]
    return Group(*parts)


def _listed(name: str, value: object) -> str:
    """What is said of a model in one line."""
    if not isinstance(value, list):
        return str(value)
    return ", ".join(value) or ("none: it predicts a number" if name == "classes" else "none")


def _world(world: dict[str, Any]) -> list[tuple[bool, str]]:
    """The lines of a world, and which of them are heads."""
    lines = [
        (
            True,
            f"world {world['name']}: {counted(len(world['actions']), 'action')}, "
            f"{counted(len(world['consequences']), 'consequence')}",
        )
    ]
    for action in world["actions"]:
        lines.append((True, f"  {action['name']}"))
        lines += [(False, f"    {name}: {values}") for name, values in action["parameters"].items()]
        lines += [(False, f"    before: {test}") for test in action["before"]]
        lines.append((False, f"    changes: {', '.join(action['changes'])}"))
        lines += [(False, f"    after: {test}") for test in action["after"]]
        lines.append((False, f"    cost: {action['cost']}"))
    lines += [(False, f"  {e['from']} -> {e['to']}: {e['factor']}") for e in world["consequences"]]
    return lines
