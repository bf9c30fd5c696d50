"""`mace demo` and `mace doctor`: what mace does, and whether it does so here."""

from __future__ import annotations

import typer

from mace.base.exit_codes import DONE, INTERNAL
from mace.base.formats import schema_of
from mace.cli.alive import alive
from mace.cli.options import FormatOption
from mace.cli.output import Format, print_json, say


def demo(format: FormatOption = Format.text) -> None:
    """Train one model of each class on a made-up table of loans and explain rejected applicants."""
    from mace.cli.demonstration import run_demo

    raise typer.Exit(run_demo(as_json=format is Format.json))


def doctor(format: FormatOption = Format.text) -> None:
    """Versions, solvers found, and a self-test that also warms the compiled code."""
    from mace.cli.self_test import known_versions, outcome, tests

    found, ended = known_versions(), []
    as_text = format is Format.text
    for name, value in found.items() if as_text else ():
        say(f"{name:14} {value}")
    for test in tests(found):
        alive.doing = f"testing {test.name}"
        one = outcome(test)
        ended.append(one)
        if as_text:
            say(f"{'ok    ' if one['ok'] else 'FAILED'} {one['name']} ({one['seconds']:.2f} s) {one['note']}")
    if not as_text:
        print_json(schema_of("doctor") | {"versions": found, "tests": ended})
    raise typer.Exit(DONE if all(one["ok"] for one in ended) else INTERNAL)
