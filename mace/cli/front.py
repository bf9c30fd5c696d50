"""`mace front`: all inputs with the wanted decision that no other one beats in two or three objectives at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mace.base.exit_codes import DONE, UNDECIDED
from mace.base.files import make_folder
from mace.cli.alive import alive
from mace.cli.options import (
    DISTANCE,
    FormatOption,
    Given,
    Limits,
    Measured,
    OracleOption,
    PriceOption,
    Prioritised,
    RowAndGoal,
)
from mace.cli.output import Format, print_json, say
from mace.cli.plots import check_plot, save_plot
from mace.cli.proofs import save
from mace.cli.resolve import explainer_of
from mace.errors import MaceError
from mace.solve.status import is_final


def front(
    given: Given,
    asked: RowAndGoal,
    measured: Measured,
    limits: Limits,
    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="One of two or three, none of which comes first: l0, l1, linf, changes, cost, gower, a .mace file, "
            "a sum such as l1=1,changes=0.05. May be repeated. Default: l1 and changes.",
        ),
    ] = None,
    price: PriceOption = None,
    oracle: OracleOption = "auto",
    most: Annotated[int, typer.Option("--most", help="Leave the front open after so many points.")] = 100,
    certificates: Annotated[
        Path | None,
        typer.Option("--certificates", help="Write the proofs of all points and empty cells to this folder."),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw the front to this file (.svg, .png, .pdf).")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Find all inputs that no other one beats in every objective, and prove that these are all.

    The timeout is that of the whole front. What is near is said by --objective alone, not by --distance.
    """
    from mace.explain.front import front_of

    if plot is not None:
        check_plot(plot)
    if certificates is not None:
        make_folder(certificates, "certificates")
    if measured.distance != DISTANCE:
        hint = f"For instance --objective {measured.distance} --objective changes."
        raise MaceError(
            f"--distance {measured.distance}: a front has two or three objectives, and no distance", hint=hint
        )
    chosen = Prioritised(objective or ["l1", "changes"], price)
    explainer, row = explainer_of(given, measured, asked, chosen)
    alive.doing = "looking for points"
    found = front_of(
        explainer, row, asked.goal, asked.most_changes, oracle, limits.seconds, limits.memory_mb, most,
    )  # fmt: skip
    if format is Format.json:
        print_json(found.to_dict())
    else:
        say(found)
    if plot is not None:
        save_plot(found.plot(), plot)
    if certificates is not None:
        levels = [(f"point-{n}-{level.name}", level) for n, p in enumerate(found.points, 1) for level in p.levels]
        save(certificates, [*levels, *((f"empty-{n}", cell.level) for n, cell in enumerate(found.empty, 1))])
    raise typer.Exit(DONE if is_final(found.status) else UNDECIDED)
