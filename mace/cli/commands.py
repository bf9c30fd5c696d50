"""All commands, as typer knows them.

Nothing heavy is imported before a command needs it, and no command but
the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer

from mace.base import exit_codes
from mace.base.versions import MACE
from mace.cli.output import say
from mace.cli.signatures import flat
from mace.cli.typed import Command

# What each command does, within 60 characters.
SHORT = {
    "explain": "The nearest input with the wanted decision, with a proof.",
    "menu": "Which features are enough, and which provably are not.",
    "front": "All inputs that no other one beats in several objectives.",
    "plan": "The cheapest sequence of actions to the wanted decision.",
    "audit": "Every rejected row: who has no way out, who a longer one.",
    "report": "An audit as one .html or .pdf to read and hand on.",
    "serve": "A page on this machine, to try values and see answers.",
    "verify": "Properties on the whole space: proved or violated.",
    "reproduce": "A table or figure of a paper, beside what it prints.",
    "check": "Check a certificate.",
    "export": "The question about a row, for other solvers.",
    "compile": "A program, or a model as a program, in another form.",
    "inspect": "The space, the model and the world as understood.",
    "schema": "The JSON Schema of what --format json prints.",
    "demo": "Explain decisions of four models of made-up loans.",
    "doctor": "Versions, solvers found, and a self-test.",
}

FILES = {"export": "programs", "compile": "programs", "inspect": "programs", "demo": "about", "doctor": "about"}


def _version(wanted: bool) -> None:
    if wanted:
        say(f"mace {MACE}")
        raise typer.Exit(0)


def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Print the version, and end.")
    ] = False,
) -> None:
    """Nearest counterfactuals of a trained model, with a proof that there is none nearer."""


def application(names: Iterable[str] = tuple(SHORT)) -> typer.Typer:
    """The command line with some commands, or all."""
    app = typer.Typer(
        name="mace",
        help="Nearest counterfactuals of a trained model, with a proof that there is none nearer.",
        epilog=exit_codes.MEANINGS,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_options)
    for name in names:
        command = getattr(import_module(f"mace.cli.{FILES.get(name, name)}"), name)
        # The list of commands shows the first sentence whole; typer would cut it where a terminal is narrow.
        app.command(cls=Command, short_help=SHORT[name])(flat(command))
    return app
