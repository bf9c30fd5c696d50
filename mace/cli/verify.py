"""`mace verify`: properties of a model on its whole space."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from mace.cli.options import Given, read_space, say


class Format(str, Enum):
    """How verdicts are printed."""

    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"


def verify(
    given: Given,
    property: Annotated[
        list[str] | None,
        typer.Option("--property", help='For instance "monotone(Income, increasing)". May be repeated.'),
    ] = None,
    suite: Annotated[Path | None, typer.Option("--suite", help="A file of properties (TOML).")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds for each property; 0 means no limit. Default: 60.")
    ] = None,
    memory_mb: Annotated[int, typer.Option("--memory-mb", help="MB for each solver.")] = 4096,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for the certificates of what was proved.")
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="text, json, junit or sarif.")] = Format.text,
) -> None:
    """Verify properties on the whole space: proved, violated by a real pair of inputs, or unknown."""
    from mace.verify.command import run_verify

    frame, space = (None, read_space(given.space)) if given.data is None and given.space else given.read_table()
    text, code = run_verify(
        given.read_model(),
        space,
        frame,
        property or [],
        suite,
        format=format.value,
        timeout=timeout,
        memory_mb=memory_mb,
        certificates=certificates,
        load_model=given.read_model,
    )
    say(text)
    raise typer.Exit(code)
