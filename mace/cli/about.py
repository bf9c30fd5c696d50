"""`mace demo` and `mace doctor`: what mace does, and whether it does so here."""

from __future__ import annotations

import typer

from mace.cli.options import DONE, INTERNAL, Format, FormatOption, print_json, say


def demo(format: FormatOption = Format.text) -> None:
    """Train one model of each class on a made-up table of loans and explain rejected applicants."""
    from mace.cli.demonstration import run_demo

    raise typer.Exit(run_demo(as_json=format is Format.json))


def doctor(format: FormatOption = Format.text) -> None:
    """Versions, solvers found, and a self-test that also warms the compiled code."""
    from mace.cli.self_test import examine

    report = examine()
    if format is Format.json:
        print_json(report)
    else:
        for name, value in report["versions"].items():
            say(f"{name:14} {value}")
        for test in report["tests"]:
            say(f"{'ok    ' if test['ok'] else 'FAILED'} {test['name']} ({test['seconds']:.2f} s) {test['note']}")
    raise typer.Exit(DONE if all(test["ok"] for test in report["tests"]) else INTERNAL)
