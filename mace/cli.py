"""The command line: JSON or tables on stdout, progress on stderr (on a terminal only), one message per mistake.

Exit codes: 0 done; 10 violated, refused or not found where asked to fail; 5 unknown or bounded; 2 usage or input;
6 internal error. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mace.cli_progress import Progress
from mace.errors import CertificateError, FileError, MaceError, RowError
from mace.report.command import report as report_command

if TYPE_CHECKING:
    import pandas as pd

    from mace.answer import Answer
    from mace.recourse import Explainer
    from mace.space import Space

DONE, UNDECIDED, NOT_FOUND, USAGE, INTERNAL = 0, 5, 10, 2, 6

app = typer.Typer(
    name="mace",
    help="Nearest counterfactuals of a trained model, with a proof that there is none nearer.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)
app.command(name="report")(report_command)


class Format(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"


class VerdictFormat(str, Enum):
    """How verdicts are printed."""

    text = "text"
    json = "json"
    junit = "junit"
    sarif = "sarif"


class Target(str, Enum):
    """What `mace compile` prints."""

    mace = "mace"
    ssa = "ssa"
    paths = "paths"
    smt2 = "smt2"


ModelOption = Annotated[
    Path | None,
    typer.Option("--model", help="A joblib or pickle file (needs --trust-pickle), or a .mace program."),
]
SpaceOption = Annotated[
    str | None,
    typer.Option(
        "--space", help="A space file (TOML), or adult, credit, compas, german, loans. Default: that of --data."
    ),
]
DataOption = Annotated[
    str | None,
    typer.Option("--data", help="A CSV file, or adult, credit, compas, german (read from $MACE_DATA), loans."),
]
RowOption = Annotated[int, typer.Option("--row", help="Which row of the data to explain, from 0.")]
TrustOption = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load pickled models. A pickle runs any code that its author put into it."),
]
GoalOption = Annotated[
    str | None,
    typer.Option(
        "--goal",
        help="The class wanted, or `not 0`, `p(good) >= 0.7`, `good by 0.1`, `300 <= y <= 350`, `y within 5% of 320`. "
        "Default: any class but the present one.",
    ),
]
DistanceOption = Annotated[
    str, typer.Option("--distance", help="l0, l1, linf, a mixture such as l0=0.5,l1=0.5, or a .mace file.")
]
RuleOption = Annotated[
    list[str] | None, typer.Option("--rule", help="A condition between features, or a .mace file. May be repeated.")
]
FormatOption = Annotated[Format, typer.Option("--format", help="text or json.")]


@app.command()
def demo(format: FormatOption = Format.text) -> None:
    """Train one model of each class on a made-up table of loans and explain rejected applicants."""
    from mace.demo import run_demo

    raise typer.Exit(run_demo(as_json=format is Format.json))


@app.command()
def explain(
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    row: RowOption = 0,
    goal: GoalOption = None,
    distance: DistanceOption = "l1",
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None,
    gap: Annotated[float | None, typer.Option("--gap", help="Stop at this absolute gap between the bounds.")] = None,
    rgap: Annotated[float | None, typer.Option("--rgap", help="Stop at this relative gap.")] = None,
    count: Annotated[int, typer.Option("--count", help="How many different answers.")] = 1,
    diversity: Annotated[
        str, typer.Option("--diversity", help="features, points, or the least distance between two answers.")
    ] = "features",
    most_changes: Annotated[
        int | None, typer.Option("--most-changes", help="Change at most this many features.")
    ] = None,
    rule: RuleOption = None,
    oracle: Annotated[str, typer.Option("--oracle", help="auto, ensembles, networks, smt, z3 or cvc5.")] = "auto",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each answer; 0 means no limit.")] = 60.0,
    memory: Annotated[int, typer.Option("--memory", help="MB for each solver.")] = 4096,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Write the proof of the bound to this file (.json or .json.gz)."),
    ] = None,
    must_exist: Annotated[
        bool, typer.Option("--must-exist", help="Exit with 10 when it is proved that nothing reaches the goal.")
    ] = False,
    format: FormatOption = Format.text,
    trust_pickle: TrustOption = False,
) -> None:
    """Find the nearest input with the wanted decision, and prove that there is none nearer."""
    frame, chosen = _frame_and_space(data, space)
    explainer = _explainer(model, chosen, frame, rule, distance, weight, trust_pickle)
    with Progress() as watch:
        answer = explainer.explain(
            _row_of(frame, row),
            goal=goal,
            gap=gap,
            rgap=rgap,
            count=count,
            diversity=diversity,
            most_changes=most_changes,
            oracle=oracle,
            timeout=timeout or None,
            memory=memory,
            watch=watch,
        )
    written = None
    if certificate is not None:
        written = _save_certificate(answer, certificate)
    _print_answer(answer, format, written)
    if answer.status in ("unknown", "bounded"):
        raise typer.Exit(UNDECIDED)
    raise typer.Exit(NOT_FOUND if must_exist and answer.status == "infeasible" else DONE)


@app.command()
def audit(
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    groups: Annotated[str | None, typer.Option("--groups", help="Columns to compare by: Sex,AgeGroup.")] = None,
    goal: Annotated[str | None, typer.Option("--goal", help="The favourable decision.")] = None,
    distance: DistanceOption = "l1",
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None,
    rule: RuleOption = None,
    all_rows: Annotated[bool, typer.Option("--all", help="Every row, not only those that lack the goal.")] = False,
    rows: Annotated[int | None, typer.Option("--rows", help="Only the first so many of them.")] = None,
    protected: Annotated[
        str | None, typer.Option("--protected", help="Features on which no decision should rest: Sex,Age.")
    ] = None,
    cores: Annotated[int, typer.Option("--cores", help="Ask of so many rows without recourse what blocks them.")] = 25,
    processes: Annotated[int | None, typer.Option("--processes", help="Queries at once. Default: one a core.")] = None,
    oracle: Annotated[str, typer.Option("--oracle", help="auto, ensembles, networks, smt, z3 or cvc5.")] = "auto",
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each row; 0 means no limit.")] = 60.0,
    memory: Annotated[int, typer.Option("--memory", help="MB for each row.")] = 4096,
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="An SQLite file that keeps every answer.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Ask again what the checkpoint holds as unknown or failed.")
    ] = False,
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="The address of a Dask scheduler.")] = None,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for a checked certificate of each row.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write .parquet, .csv, .jsonl or .json.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap and of the choice for --cores.")] = 0,
    paper_tables: Annotated[
        bool, typer.Option("--paper-tables", help="Tables 4 and 7 of Karimi et al. 2020 on Adult; needs no --model.")
    ] = False,
    format: FormatOption = Format.text,
    trust_pickle: TrustOption = False,
) -> None:
    """Explain every rejected row in parallel, and say by group who has no way out, who a longer one, and why."""
    from mace.audit.command import run_audit, run_paper_tables
    from mace.audit.show import as_text

    common: dict[str, Any] = {
        "processes": processes,
        "timeout": timeout or None,
        "memory": memory,
        "checkpoint": checkpoint,
        "resume": resume,
        "scheduler": scheduler,
        "seed": seed,
    }
    shown: Any
    plain: Any
    if paper_tables:
        shown, plain, code = run_paper_tables(rows=rows or 500, **common)
    else:
        frame, chosen = _frame_and_space(data, space)
        done, code = run_audit(
            _load(model, trust_pickle),
            chosen,
            frame,
            _names(groups),
            out,
            goal=goal if goal is not None else _favourable(data),
            rows="all" if all_rows else "rejected",
            limit=rows,
            distance=_distance(distance),
            weights=_pairs(weight, "--weight") or None,
            rules=[Path(text) if text.endswith(".mace") else text for text in rule or []],
            oracle=oracle,
            certificates=certificates,
            protected=_names(protected),
            cores=cores,
            **common,
        )
        shown, plain = done, done.to_dict()
    if format is Format.json:
        _print_json(plain)
    elif sys.stdout.isatty():
        _console().print(shown)
    else:
        typer.echo(as_text(shown))
    raise typer.Exit(code)


@app.command()
def verify(
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    property: Annotated[
        list[str] | None,
        typer.Option("--property", help='For instance "monotone(Income, increasing)". May be repeated.'),
    ] = None,
    suite: Annotated[Path | None, typer.Option("--suite", help="A file of properties (TOML).")] = None,
    timeout: Annotated[
        float | None, typer.Option("--timeout", help="Seconds for each property; 0 means no limit. Default: 60.")
    ] = None,
    memory: Annotated[int, typer.Option("--memory", help="MB for each solver.")] = 4096,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for the certificates of what was proved.")
    ] = None,
    format: Annotated[VerdictFormat, typer.Option("--format", help="text, json, junit or sarif.")] = VerdictFormat.text,
    trust_pickle: TrustOption = False,
) -> None:
    """Verify properties on the whole space: proved, violated by a real pair of inputs, or unknown."""
    from mace.verify.command import run_verify

    frame, chosen = (None, _space(space)) if data is None and space else _frame_and_space(data, space)
    text, code = run_verify(
        _load(model, trust_pickle),
        chosen,
        frame,
        property or [],
        suite,
        format=format.value,
        timeout=timeout,
        memory=memory,
        certificates=certificates,
        load_model=lambda path: _load(path, trust_pickle),
    )
    typer.echo(text)
    raise typer.Exit(code)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A certificate (JSON, or gzip of it).")],
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    row: RowOption = 0,
    goal: GoalOption = None,
    distance: DistanceOption = "l1",
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None,
    most_changes: Annotated[int | None, typer.Option("--most-changes", help="As given to explain.")] = None,
    rule: RuleOption = None,
    format: FormatOption = Format.text,
    trust_pickle: TrustOption = False,
) -> None:
    """Check a certificate; with --model and --data also that it speaks of this model and this row."""
    from mace.certificate import same_statement
    from mace.proofs.check import Unusable, load
    from mace.proofs.check import check as check_data
    from mace.solver_certificate import from_dict

    try:
        data_in_file = load(file)
    except (OSError, Unusable) as error:
        raise FileError(f"{file}: {error}", hint="Give a file that --certificate wrote.") from None
    by_solvers = isinstance(data_in_file, dict) and "mace_solver_certificate" in data_in_file
    verdict = from_dict(data_in_file).check() if by_solvers else check_data(data_in_file)
    differences: list[str] = []
    if model is not None and by_solvers:
        raise MaceError("a solvers' certificate cannot be compared with a model", hint="Ask again with mace explain.")
    if model is not None:
        frame, chosen = _frame_and_space(data, space)
        explainer = _explainer(model, chosen, frame, rule, distance, weight, trust_pickle)
        question, _ = explainer.question(_row_of(frame, row), goal, most_changes)
        differences = same_statement(data_in_file, question)
    accepted = verdict.accepted and not differences
    if format is Format.json:
        _print_json(
            {
                "accepted": accepted,
                "verdict": str(verdict),
                "compared_with_model": model is not None,
                "differences": differences,
            }
        )
    else:
        typer.echo(str(verdict))
        for difference in differences:
            typer.echo(f"not about this question: {difference}")
        if model is not None and not differences:
            typer.echo("the statement is the one of this model, space and row")
    raise typer.Exit(DONE if accepted else NOT_FOUND)


@app.command()
def export(
    to: Annotated[str, typer.Option("--to", help="smt2, vnnlib+onnx, mace or json.")],
    out: Annotated[Path | None, typer.Option("--out", help="Write here; endings are added. Default: stdout.")] = None,
    radius: Annotated[str | None, typer.Option("--radius", help="Ask for distances up to this; default: any.")] = None,
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    row: RowOption = 0,
    goal: GoalOption = None,
    distance: DistanceOption = "l1",
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None,
    most_changes: Annotated[int | None, typer.Option("--most-changes", help="As given to explain.")] = None,
    rule: RuleOption = None,
    trust_pickle: TrustOption = False,
) -> None:
    """Write the question about a row for other solvers."""
    from mace.export import export_question

    frame, chosen = _frame_and_space(data, space)
    explainer = _explainer(model, chosen, frame, rule, distance, weight, trust_pickle)
    question, _ = explainer.question(_row_of(frame, row), goal, most_changes)
    typer.echo(export_question(question, to, radius, out), nl=False)


@app.command()
def compile(
    file: Annotated[Path | None, typer.Argument(help="A .mace program.")] = None,
    model: ModelOption = None,
    space: SpaceOption = None,
    to: Annotated[Target, typer.Option("--to", help="mace, ssa, paths or smt2.")] = Target.mace,
    trust_pickle: TrustOption = False,
) -> None:
    """Print a program, or a trained model as a program, in one of its forms."""
    from mace.language import parse_program, show, to_ssa

    if (file is None) == (model is None):
        raise MaceError("give either a .mace FILE or --model", hint="mace compile credit.mace --to smt2")
    source = file if file is not None else model
    assert source is not None
    if source.suffix == ".mace":
        program = parse_program(_text_of(source), str(source))
    else:
        from mace.compilers import read
        from mace.compilers.program import to_program

        table = read(_load(source, trust_pickle))
        names = [column.name for column in _space(space).columns] if space else None
        program = to_program(table, names)
    if to is Target.mace:
        typer.echo(show(program), nl=False)
        return
    straight = to_ssa(program)
    if to is Target.ssa:
        typer.echo(show(straight), nl=False)
        return
    from mace.logic import formula_of, path_list, show_paths, to_smtlib

    if to is Target.paths:
        typer.echo(show_paths(path_list(straight)), nl=False)
    else:
        typer.echo(to_smtlib(formula_of(straight)), nl=False)


@app.command()
def inspect(
    model: ModelOption = None,
    space: SpaceOption = None,
    data: DataOption = None,
    format: FormatOption = Format.text,
    trust_pickle: TrustOption = False,
) -> None:
    """Show the space and the model as understood."""
    from mace.inspect import describe_model, describe_space, render

    report: dict[str, Any] = {}
    chosen = None
    if space is not None or data is not None:
        chosen = _space(space) if space is not None else _frame_and_space(data, space)[1]
        report["space"] = describe_space(chosen)
    if model is not None:
        report["model"] = describe_model(_load(model, trust_pickle), chosen)
    if not report:
        raise MaceError("nothing to inspect", hint="Give --model, --space or --data.")
    if format is Format.json:
        _print_json(report)
    else:
        _console().print(render(report))


@app.command()
def doctor(format: FormatOption = Format.text) -> None:
    """Versions, solvers found, and a self-test that also warms the compiled code."""
    from mace.doctor import examine

    report = examine()
    if format is Format.json:
        _print_json(report)
    else:
        for name, value in report["versions"].items():
            typer.echo(f"{name:14} {value}")
        for test in report["tests"]:
            typer.echo(
                f"{'ok    ' if test['ok'] else 'FAILED'} {test['name']} ({test['seconds']:.2f} s) {test['note']}"
            )
    raise typer.Exit(DONE if all(test["ok"] for test in report["tests"]) else INTERNAL)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read ({error})") from None


def _frame_and_space(data: str | None, space: str | None) -> tuple[pd.DataFrame, Space]:
    """The table, and the space: the one given, the data set's own, or one inferred (and said so on stderr)."""
    from mace import datasets
    from mace.space import Space

    if data is None:
        raise MaceError("no data given", hint="--data table.csv, or the name of a data set: --data loans.")
    if data in datasets.NAMES:
        dataset = datasets.load(data)
        return dataset.X, _space(space) if space else dataset.space
    import pandas as pd

    try:
        frame = pd.read_csv(data)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise FileError(f"{data}: cannot be read as CSV ({error})") from None
    if space:
        return frame, _space(space)
    inferred = Space.from_frame(frame)
    typer.echo(f"no --space given; inferred from {data}:", err=True)
    for note in inferred.notes:
        typer.echo(f"  {note}", err=True)
    return frame, inferred


def _space(name: str) -> Space:
    from mace import datasets
    from mace.space import Space

    return Space.load(Path(datasets.__file__).parent / f"{name}.toml" if name in datasets.NAMES else name)


def _load(model: Path | None, trust_pickle: bool) -> object:
    if model is None:
        raise MaceError("no model given", hint="--model model.joblib --trust-pickle, or --model rules.mace.")
    if model.suffix == ".mace":
        return model
    import warnings

    from mace.compilers.load import load_model

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load_model(model, trust_pickle)
    for warning in caught:
        typer.echo(f"mace: warning: {warning.message}", err=True)
    return loaded


def _explainer(
    model: Path | None,
    space: Space,
    frame: pd.DataFrame,
    rules: list[str] | None,
    distance: str,
    weights: list[str] | None,
    trust_pickle: bool,
) -> Explainer:
    from mace.recourse import Explainer

    return Explainer(
        _load(model, trust_pickle),
        space,
        background=frame,
        rules=[Path(rule) if rule.endswith(".mace") else rule for rule in rules or []],
        distance=_distance(distance),
        weights=_pairs(weights, "--weight") or None,
    )


def _distance(text: str) -> str | Path | dict[str, object]:
    if text.endswith(".mace"):
        return Path(text)
    return dict(_pairs(text.split(","), "--distance")) if "=" in text else text


def _names(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _favourable(data: str | None) -> Any:
    """The goal of a data set that is known by name; None for any other table."""
    from mace import datasets

    return datasets.load(data).goal if data in datasets.NAMES else None


def _pairs(texts: list[str] | None, option: str) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for text in texts or []:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise MaceError(f"{option} {text!r}: expected NAME=NUMBER")
        pairs[name.strip()] = value.strip()
    return pairs


def _row_of(frame: pd.DataFrame, row: int) -> pd.Series[Any]:
    if not 0 <= row < len(frame):
        raise RowError(f"--row {row}: the data has the rows 0..{len(frame) - 1}")
    return frame.iloc[row]


def _save_certificate(answer: Answer, path: Path) -> str:
    try:
        answer.certificate.save(path)
    except CertificateError as error:
        return f"no certificate: {error.message}"
    return f"certificate written to {path}; check it with: mace check {path}"


def _print_answer(answer: Answer, format: Format, written: str | None) -> None:
    if format is Format.json:
        _print_json(answer.to_dict() | ({"certificate": written} if written else {}))
        return
    _console().print(answer)
    if written:
        typer.echo(written)


def _print_json(value: object) -> None:
    import json

    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=not sys.stdout.isatty())


def main() -> None:
    """Entry point: every mistake becomes one message on stderr and an exit code."""
    try:
        app()
    except MaceError as error:
        typer.echo(f"mace: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("mace: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(DONE)
    except Exception as error:
        if os.environ.get("MACE_DEBUG"):
            raise
        typer.echo(
            f"mace: internal error: {type(error).__name__}: {error}\n"
            "This is a fault of mace, not of yours. Set MACE_DEBUG=1 for the traceback, and please report it.",
            err=True,
        )
        sys.exit(INTERNAL)


if __name__ == "__main__":
    main()
