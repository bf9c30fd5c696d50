"""The house as its imports draw it: rooms on floors, arrows between them, circles of files.

    python -m tests.house           print it; 1 if an arrow goes up or files import each other in a circle
    python -m tests.house --write   put the drawing into ARCHITECTURE.md

Imports count wherever they stand: at the top of a file, inside functions, and for type checkers.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
ARCHITECTURE = ROOT / "ARCHITECTURE.md"
BEGIN, END = "<!-- drawn by `python -m tests.house --write` -->", "<!-- end of the drawing -->"


class Room(NamedTuple):
    """A part of the house: the floor that it stands on, what it is for, and modules that belong to it by name."""

    floor: int
    what: str
    names: tuple[str, ...] = ()


# A file imports from its own room and from rooms on lower floors. Rooms on one floor do not know each other.
ROOMS = {
    "mace": Room(9, "the public names: `explain`, `audit`, `verify`, `report`, `Space`, `Feature`, .."),
    "mace.cli": Room(9, "the command line: arguments in, exit codes and printed text out", ("mace.__main__",)),
    "mace.report": Room(8, "what people see of an audit (text, plots, one HTML file), of a comparison and of a plan"),
    "mace.reproduce": Room(8, "tables and figures of the papers, each by one command, beside what they print"),
    "mace.verify": Room(7, "properties of a model on its whole space: proved, violated, unknown"),
    "mace.audit": Room(7, "the same question for every row of a table, in parallel, and what the answers say together"),
    "mace.metrics": Room(7, "measures of anybody's counterfactuals, and methods beside the proved optimum"),
    "mace.plans": Room(7, "sequences of actions with consequences: the cheapest one, and its lower bound"),
    "mace.present": Room(7, "what people see of an answer: text, HTML, plots"),
    "mace.scorecards": Room(6, "scorecards: choices of bins, one or several at once; OptBinning's interface"),
    "mace.explain": Room(6, "a model, a space and a row to an answer; the deployed model has the last word"),
    "mace.search": Room(5, "heuristics that propose points from above, on models that are read or only asked"),
    "mace.certify": Room(5, "certificates that stand alone, the solvers' record, questions for other tools"),
    "mace.datasets": Room(5, "tables to try mace on, each with its space"),
    "mace.solve": Room(4, "who answers: provers for ensembles and networks, the solvers, and the driver"),
    "mace.worlds": Room(4, "what people can do, what follows from it and what it costs: actions over a space"),
    "mace.problem": Room(3, "what is asked: goal, distance, rules and exclusions in one question", ("mace.rules",)),
    "mace.compilers": Room(3, "a library's model to a table of plain numbers, and the table to a program"),
    "mace.tables": Room(2, "a model as plain numbers: validation, rounding, what it certainly decides"),
    "mace.space": Room(2, "what may change: features, axes, columns, files"),
    "mace.language": Room(1, "the core language: grammar, interpreter, formulae"),
    "mace.base": Room(0, "messages, exact numbers, deadlines, files, safe text, colours", ("mace.errors",)),
    "mace.proofs": Room(0, "the checker and the format of certificates: standard library only, shares no code"),
}  # fmt: skip

# Rooms with rooms of their own, by what they are called: each folder is one, and so is each file that stands in none.
# What one is for stands in its docstring.
DIVIDED = {"mace.explain": "`mace/explain`", "mace.solve.ensembles": "the prover of trees"}

# The way of a proof, from the question to the program that accepts or refuses it: what the drawing shows first.
PROVING = ("mace.explain", "mace.problem", "mace.solve", "mace.certify", "mace.proofs")


def modules() -> dict[str, Path]:
    """Every module by its installed name, each file once."""
    found: dict[str, Path] = {}
    for top, name in (("mace", "mace"), ("compilers", "mace.compilers"), ("proofs", "mace.proofs")):
        for path in sorted((ROOT / top).rglob("*.py")):
            inside = path.relative_to(ROOT / top).with_suffix("").parts
            if top == "mace" and inside[0] in ("compilers", "proofs"):
                continue  # the links: the same files again
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            found[".".join((name, *parts))] = path
    return found


MODULES = modules()


def prefix(module: str, names: object) -> str | None:
    """The longest of the names that is the module or a package above it."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in names:  # type: ignore[operator]
            return name
    return None


@cache
def room_of(module: str) -> str | None:
    """The room in which a module stands; None if it stands in none. `mace` is the file `mace/__init__.py` alone."""
    known = {name: room for room, (_, _, names) in ROOMS.items() for name in (room, *names) if name != "mace"}
    name = prefix(module, known)
    return "mace" if module == "mace" else known[name] if name else None


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """What a file imports, with line numbers: modules of the house by their whole names, others as they are written."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name, not a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield (whole if whole in MODULES else str(node.module), node.lineno)


@cache
def arrows() -> dict[str, set[str]]:
    """Module -> the modules of the house that it imports."""
    return {
        module: {name for name, _ in imports(path) if name in MODULES and name != module}
        for module, path in MODULES.items()
    }


def between_rooms(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Room -> the other rooms that its files import."""
    found: dict[str, set[str]] = {name: set() for name in ROOMS}
    for module, others in graph.items():
        here = room_of(module)
        if here:
            found[here] |= {there for other in others if (there := room_of(other)) and there != here}
    return found


def within(graph: Mapping[str, set[str]], divided: str) -> dict[str, set[str]]:
    """Folder of a divided room, or file that stands in none -> the others of these that its files import."""
    found: dict[str, set[str]] = {name: set() for name in MODULES if name.rpartition(".")[0] == divided}
    for module, others in graph.items():
        if here := prefix(module, found):
            found[here] |= {there for other in others if (there := prefix(other, found)) and there != here}
    return found


def upwards(graph: Mapping[str, set[str]]) -> list[str]:
    """Imports that do not lead to a lower floor, outside a room."""
    found = []
    for module, others in sorted(graph.items()):
        for other in sorted(others):
            here, there = room_of(module), room_of(other)
            if here and there and here != there and ROOMS[there].floor >= ROOMS[here].floor:
                found.append(f"{module} (floor {ROOMS[here].floor}) imports {other} (floor {ROOMS[there].floor})")
    return found


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that import each other, by way of others too.

    Source: Tarjan 1972, strongly connected components by one depth-first search.
    """
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            place = stack.index(node)
            found.append(sorted(stack[place:]))
            del stack[place:]

    for node in graph:
        if node not in order:
            visit(node)
    return [group for group in found if len(group) > 1]


def short(room: str, above: str = "mace") -> str:
    """A room's name as its folder is called, below another one."""
    return room.removeprefix(f"{above}.")


def needed(rooms: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The arrows that a path through other rooms does not already say (the transitive reduction)."""

    def reach(room: str) -> set[str]:
        return rooms[room].union(*(reach(other) for other in rooms[room]))

    return {
        room: {other for other in others if not any(other in reach(via) for via in others - {other})}
        for room, others in rooms.items()
    }


def drawing() -> str:
    """What ARCHITECTURE.md shows: the proving path, the rooms by floor, and their arrows."""
    rooms = between_rooms(arrows())
    lines = ["```mermaid", "flowchart TD"]
    lines += [f"    {short(a)} ==> {short(b)}" for a, b in pairwise(PROVING)]
    shown = set(pairwise(PROVING))
    if not circles(rooms):
        for room, others in needed(rooms).items():
            lines += [f"    {short(room)} --> {short(other)}" for other in sorted(others) if (room, other) not in shown]
    lines += ["```", "", "| floor | room | what | imports |", "|---|---|---|---|"]
    for room, (floor, what, _) in ROOMS.items():
        folder = short(room) + "/" if short(room) in ("compilers", "proofs") else room.replace(".", "/") + "/"
        others = ", ".join(short(other) for other in sorted(rooms[room], key=list(ROOMS).index))
        lines.append(f"| {floor} | `{folder}` | {what} | {others or 'nothing'} |")
    for divided, called in DIVIDED.items():
        lines += ["", f"### Inside {called}", "", *_inside(divided)]
    return "\n".join(lines)


def _inside(divided: str) -> Iterator[str]:
    """The rooms of a divided room, each after those that it imports."""
    yield from (f"| in `{divided.replace('.', '/')}/` | what | imports |", "|---|---|---|")
    open_ = within(arrows(), divided)
    while ready := sorted(name for name, others in open_.items() if not others & open_.keys()):
        for name in ready:
            text = ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8"))) or ""
            what = text.partition("\n")[0].rstrip(".")
            others = ", ".join(sorted(short(other, divided) for other in open_.pop(name)))
            ending = "/" if MODULES[name].name == "__init__.py" else ".py"
            yield f"| `{short(name, divided)}{ending}` | {what[0].lower()}{what[1:]} | {others or 'nothing of these'} |"


def written() -> str:
    """The drawing as ARCHITECTURE.md holds it."""
    text = ARCHITECTURE.read_text(encoding="utf-8")
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)].strip()


def main() -> int:
    """Print or write the drawing; 1 if the house is crooked."""
    parser = argparse.ArgumentParser(prog="python -m tests.house", description="Draw the house from its imports.")
    parser.add_argument("--write", action="store_true", help="put the drawing into ARCHITECTURE.md")
    if parser.parse_args().write:
        text = ARCHITECTURE.read_text(encoding="utf-8")
        before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
        ARCHITECTURE.write_text(f"{before}\n{drawing()}\n{after}", encoding="utf-8")
    else:
        print(drawing())
    graph = arrows()
    wrong = upwards(graph) + [f"a circle: {', '.join(group)}" for group in circles(graph)]
    wrong += [f"rooms in a circle: {', '.join(group)}" for group in circles(between_rooms(graph))]
    wrong += [f"rooms in a circle: {', '.join(group)}" for room in DIVIDED for group in circles(within(graph, room))]
    print(f"\n{len(MODULES)} files, {len(ROOMS)} rooms on {len({room.floor for room in ROOMS.values()})} floors")
    print(*wrong, sep="\n") if wrong else print("no arrow goes up, and there is no circle")
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1  # it did not come to an end
    sys.exit(code)
