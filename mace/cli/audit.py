"""`mace audit`: explain every rejected row, and say what the answers say together."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mace.base.exit_codes import DONE, UNDECIDED
from mace.cli.alive import alive
from mace.cli.faults import StoppedError
from mace.cli.options import FormatOption, Given, GroupsOption, Limits, Measured, OracleOption, names_of
from mace.cli.output import Format, print_json, say, terminal, wrote
from mace.cli.progress import Lines
from mace.cli.resolve import planned_of
from mace.errors import MaceError

if TYPE_CHECKING:
    from mace.audit.result import Audit

NARROWEST = 80  # columns of a terminal in which the tables fit


@dataclass(frozen=True)
class Population:
    """Which rows are asked about, and what is asked of them together."""

    groups: GroupsOption = None
    goal: Annotated[str | None, typer.Option("--goal", help="The favourable decision.")] = None
    all_rows: Annotated[bool, typer.Option("--all", help="Every row, not only those that lack the goal.")] = False
    limit: Annotated[int | None, typer.Option("--limit", help="Only the first so many of these rows.")] = None
    protected: Annotated[
        str | None, typer.Option("--protected", help="Features on which no decision should rest: Sex,Age.")
    ] = None
    cores: Annotated[
        int,
        typer.Option(
            "--cores",
            help="For how many rows without recourse to look for the rules and restrictions that block them "
            "(unsatisfiable cores; for processor cores see --n-jobs).",
        ),
    ] = 25

    def settings(self, given: Given) -> dict[str, Any]:
        """As `mace.audit` takes them."""
        return {
            "groups": names_of(self.groups),
            "goal": self.goal if self.goal is not None else given.favourable,
            "rows": "all" if self.all_rows else "rejected",
            "limit": self.limit,
            "protected": names_of(self.protected),
            "cores": self.cores,
        }


@dataclass(frozen=True)
class Work:
    """Who answers, and where answers are kept."""

    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Queries at once. Default, and -1: one a core.")] = None
    checkpoint: Annotated[Path | None, typer.Option("--checkpoint", help="An SQLite file that keeps every answer.")] = (
        None
    )
    resume: Annotated[
        bool, typer.Option("--resume", help="Ask again what the checkpoint holds as unknown or failed.")
    ] = False
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="The address of a Dask scheduler.")] = None
    random_state: Annotated[
        int, typer.Option("--random-state", help="Of the bootstrap and of the choice for --cores.")
    ] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.audit` takes them."""
        return asdict(self)


def audit(
    given: Given,
    measured: Measured,
    limits: Limits,
    population: Population,
    work: Work,
    oracle: OracleOption = "auto",
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for a checked certificate of each row.")
    ] = None,
    world: Annotated[
        str | None, typer.Option("--world", help="Plans of this world instead: who has none at all, proved.")
    ] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", help="With --world: the most actions of a plan.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write .parquet, .csv, .jsonl or .json.")] = None,
    format: FormatOption = Format.text,
) -> None:
    """Explain every rejected row in parallel, and say by group who has no way out, who a longer one, and why."""
    from mace.audit.command import run_audit

    if world is not None:
        _no_more_than_plans(measured, population, work, {"--oracle": oracle != "auto", "--certificates": certificates})
        _audit_plans(given, population, limits, world, horizon, out, format)
    if horizon is not None:
        raise MaceError("--horizon is about plans, and no --world is given", hint="--world loans --horizon 3")
    common = limits.settings | work.settings
    with _stoppable(work.checkpoint):
        frame, space = given.read_table()
        asked = population.settings(given) | measured.settings | common
        model = given.read_model()
        if sys.stderr.isatty():
            for name in ("mace.audit.dispatch", "rich.progress"):  # what takes long before there is a bar
                import_module(name)
            alive.hush()  # the audit draws a bar
        else:
            asked["callback"] = Lines()
        shown, code, failed = run_audit(model, space, frame, out, oracle=oracle, certificates=certificates, **asked)
    alive.doing = "putting the answers together"
    alive.resume()
    _print(shown, shown.to_dict(), format)
    if failed is not None:
        raise failed
    _tell_files(shown, out, certificates)
    raise typer.Exit(code)


def _tell_files(audit: Audit, out: Path | None, certificates: Path | None) -> None:
    """Say which files there are now, and what for."""
    if out is not None:
        wrote("audit", out, f"a page of it: mace report {out} --out report.html")
    if certificates is not None and audit.findings.statuses.certificate_bytes:
        say(f"certificates are in {certificates}; check them with: mace check {certificates}", err=True)


def _no_more_than_plans(measured: Measured, population: Population, work: Work, more: dict[str, object]) -> None:
    """Refuse, before any work, what an audit of plans would leave undone."""
    asked: dict[str, object] = {}
    for group, left in ((measured, ()), (population, ("groups", "goal", "limit")), (work, ())):
        options = {field.name: field.default for field in fields(group) if field.name not in left}
        asked |= {f"--{name.replace('_', '-')}": getattr(group, name) != usual for name, usual in options.items()}
    asked["--all"] = asked.pop("--all-rows")
    for option, given in (asked | more).items():
        if given:
            raise MaceError(f"{option} is not for plans", hint="Leave out this, or --world.")


def _audit_plans(
    given: Given, population: Population, limits: Limits, world: str, horizon: int | None, out: Path | None,
    format: Format,
) -> None:  # fmt: skip
    """Plan for every row that lacks the goal, print the shares, and end."""
    from mace.base.files import check_folder, write_whole
    from mace.plans import audit_plans

    asked = planned_of(given, world, population.goal)
    if out is not None and out.suffix not in (".csv", ".json"):
        raise MaceError(f"{out}: plans are written as .csv or .json", hint="Name the file so.")
    if out is not None:
        check_folder(out)
    alive.doing = "searching plans"
    done = audit_plans(
        asked.model, asked.space, asked.frame, asked.world, goal=asked.goal, groups=names_of(population.groups),
        limit=population.limit, horizon=horizon, timeout=limits.seconds,
    )  # fmt: skip
    if out is not None:
        text = done.to_frame().to_csv() if out.suffix == ".csv" else json.dumps(done.to_dict(), indent=1)
        write_whole(out, text.encode())
        wrote("plans", out)
    if format is Format.json:
        print_json(done.to_dict())
    else:
        say(done)
    raise typer.Exit(DONE if done.settled else UNDECIDED)


def _print(shown: Any, plain: Any, format: Format) -> None:
    """Print tables, or JSON."""
    from mace.report.text import as_text

    if format is Format.json:
        print_json(plain)
    elif sys.stdout.isatty():
        wide = terminal()
        # A terminal that is narrower breaks the lines; rich would leave out columns.
        wide.print(shown, width=max(wide.width, NARROWEST), crop=False)
    else:
        say(as_text(shown))


@contextmanager
def _stoppable(checkpoint: Path | None) -> Iterator[None]:
    """Say after Ctrl-C or SIGTERM whether the work is lost."""
    try:
        yield
    except KeyboardInterrupt as stop:
        hint = "No answer was kept. With --checkpoint FILE they are, and the same command goes on from there."
        if checkpoint is not None:
            hint = f"What was answered is in {checkpoint}: the same command goes on from there."
            hint = hint if checkpoint.exists() else "Nothing was answered yet."
        raise StoppedError(stop, hint) from None
