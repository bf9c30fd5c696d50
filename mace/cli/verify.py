"""`mace verify`: properties of a model on its whole space."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from mace.cli.alive import alive
from mace.cli.options import Given, Limits, read_space
from mace.cli.output import say
from mace.errors import MaceError


class VerdictFormat(str, Enum):
    """How verdicts are printed."""

    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"


def verify(
    given: Given,
    network: Annotated[Path | None, typer.Argument(help="For a property in VNN-LIB: .onnx or .onnx.gz.")] = None,
    specification: Annotated[Path | None, typer.Argument(help="The property: .vnnlib or .vnnlib.gz.")] = None,
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
    sarif: Annotated[Path | None, typer.Option("--sarif", help="Write the results as SARIF to this file, too.")] = None,
    format: Annotated[VerdictFormat, typer.Option("--format", help="text, json, junit or sarif.")] = VerdictFormat.text,
) -> None:
    """Verify properties on the whole space: proved, violated by a real pair of inputs, or unknown.

    With an .onnx file and a .vnnlib file: sat with a counterexample, unsat, unknown or timeout, as in VNN-COMP.
    """
    from mace.verify.command import run_verify, run_vnnlib

    if timeout is not None:
        timeout = Limits(timeout).seconds or 0
    if network is not None:
        if given.model is not None or given.data is not None or property or suite or certificates or sarif:
            raise MaceError(
                "an .onnx file and a .vnnlib file are asked about by themselves, with --timeout or --format"
            )
        text, code = run_vnnlib(network, specification, format=format.value, timeout=timeout)
        say(text)
        raise typer.Exit(code)
    frame, space = (None, read_space(given.space)) if given.data is None and given.space else given.read_table()
    model = given.read_model()
    alive.doing = "verifying"
    written: list[str] = []
    text, code = run_verify(
        model,
        space,
        frame,
        property or [],
        suite,
        format=format.value,
        timeout=timeout,
        memory_mb=memory_mb,
        certificates=certificates,
        sarif=sarif,
        load_model=given.read_model,
        wrote=written.append,
    )
    say(text)
    for said in written:
        say(said, err=True)
    raise typer.Exit(code)
