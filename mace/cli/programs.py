"""`mace export`, `mace compile`, `mace inspect`: questions, programs, spaces and models in their written forms."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mace.base.files import read_text
from mace.base.formats import schema_of
from mace.cli.options import FormatOption, Given, Measured, RowAndGoal, SpaceOption, Trained, read_space
from mace.cli.output import Format, print_json, say, terminal
from mace.cli.resolve import question_of, space_of
from mace.errors import FileError, MaceError

if TYPE_CHECKING:
    from mace.space.space import Space


class Target(str, Enum):
    """What `mace compile` prints."""

    mace = "mace"
    ssa = "ssa"
    paths = "paths"
    smt2 = "smt2"


def export(
    to: Annotated[str, typer.Option("--to", help="smt2, vnnlib+onnx, mace or json.")],
    given: Given,
    asked: RowAndGoal,
    measured: Measured,
    out: Annotated[Path | None, typer.Option("--out", help="Write here; endings are added. Default: stdout.")] = None,
    radius: Annotated[str | None, typer.Option("--radius", help="Ask for distances up to this; default: any.")] = None,
) -> None:
    """Write the question about a row for other solvers."""
    from mace.base.files import check_folder, is_stream
    from mace.certify.export import export_question

    if out is not None:
        ending = f".{to.partition('+')[0]}"  # of the first file
        check_folder(out if is_stream(out) or out.suffix == ending else out.with_name(f"{out.name}{ending}"))
    say(export_question(question_of(given, measured, asked), to, radius, out), nl=False)


def compile(
    trained: Trained,
    file: Annotated[Path | None, typer.Argument(help="A .mace program.")] = None,
    space: SpaceOption = None,
    to: Annotated[Target, typer.Option("--to", help="mace, ssa, paths or smt2.")] = Target.mace,
) -> None:
    """Print a program, or a trained model as a program, in one of its forms."""
    from mace.language import parse_program, show, to_ssa
    from mace.language.syntax import MAX_BYTES

    if (file is None) == (trained.model is None):
        raise MaceError("give either a .mace FILE or --model", hint="mace compile credit.mace --to smt2")
    source = file if file is not None else trained.model
    assert source is not None
    if source.suffix == ".mace":
        program = parse_program(read_text(source, "Give the path of a .mace program.", MAX_BYTES), str(source))
    else:
        from mace.compilers import read
        from mace.compilers.programs.program import to_program

        table = read(trained.read_model(source))
        names = [column.name for column in read_space(space).columns] if space else None
        program = to_program(table, names)
    if to is Target.mace:
        say(show(program), nl=False)
        return
    straight = to_ssa(program)
    if to is Target.ssa:
        say(show(straight), nl=False)
        return
    from mace.language.logic import formula_of, path_list, show_paths, to_smtlib

    if to is Target.paths:
        say(show_paths(path_list(straight)), nl=False)
    else:
        say(to_smtlib(formula_of(straight)), nl=False)


def inspect(
    given: Given,
    world: Annotated[
        str | None, typer.Option("--world", help="A world (.mace) over the space, or the name of one that is known.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the space to this new file (TOML), to be edited: --space FILE.")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Show the space, the model and the world as understood."""
    from mace.cli.inspection import describe_model, describe_space, render

    report: dict[str, Any] = {}
    space = None
    if given.space is not None or given.data is not None:
        space = space_of(given)
        report["space"] = describe_space(space)
    if world is not None:
        from mace.worlds.world import World

        if space is None:
            raise MaceError("a world stands over a space", hint="Give --space or --data beside --world.")
        report["world"] = World.load(world, space).describe()
    if given.model is not None:
        report["model"] = describe_model(given.read_model(), space)
    if not report:
        raise MaceError("nothing to inspect", hint="Give --model, --space, --data or --world.")
    if save is not None:
        _save(space, save)
    if format is Format.json:
        print_json(schema_of("inspection") | report)
    else:
        terminal().print(render(report))


def _save(space: Space | None, path: Path) -> None:
    """Write a space as a text to edit; what may have been edited is not written over."""
    if space is None:
        raise MaceError("--save writes a space", hint="Give --space or --data beside it.")
    if path.exists():
        raise FileError(f"{path} is there already, and may have been edited", hint="Name a file that is new.")
    space.save(path)
    way = 'change = "fixed" or "increase", step, unit, missing'
    say(f"space written to {path}; what a feature may have: {way}; then give it as --space {path}", err=True)
