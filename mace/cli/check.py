"""`mace check`: whether certificates prove their claims, and whether one speaks of this model and row."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from mace.base.escape import one_line
from mace.base.exit_codes import DONE, REFUSED, SOLVERS_AGREE, UNDECIDED, USAGE
from mace.base.files import reason
from mace.base.formats import schema_of
from mace.cli.options import FormatOption, Given, Measured, RowAndGoal
from mace.cli.output import Format, print_json, say
from mace.cli.resolve import explainer_of
from mace.errors import CertificateError, FileError, MaceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mace.certify.record import SolverCertificate
    from mace.certify.verified import Verified
    from mace.problem.question import Question
    from mace.proofs.check import Verdict
    from mace.space.axes import Point

STATUSES = {DONE: "accepted", REFUSED: "refused", UNDECIDED: "undecided"}
CODES = {"agreed": SOLVERS_AGREE, "undecided": UNDECIDED, "refused": REFUSED}
SCHEMA = re.compile(r'\s*\{\s*"schema":\s*"(mace\.[a-z-]+/\d+)"')  # the first key of all output
RESTS_ON = (
    "the text is the one of this model, space, row and claim. No checker accepted it: "
    "that the text means the question is trusted to mace, that it has no solution to the two solvers."
)


def check(
    given: Given,
    asked: RowAndGoal,
    measured: Measured,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="CERTIFICATE", help="A certificate (JSON, or gzip of it), or a folder of them."),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", help="Seconds for each solver, where a record of solvers is asked again; 0: no limit."
        ),
    ] = 60.0,
    memory_mb: Annotated[int, typer.Option("--memory-mb", help="MB for each solver.")] = 4096,
    verified: Annotated[
        bool,
        typer.Option(
            "--verified", help="Ask the checker that is extracted from the mechanised theory too (`make proofs`)."
        ),
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option("--page", help="Write a page instead, in which a browser checks certificates without a network."),
    ] = None,
    pyodide: Annotated[
        Path | None,
        typer.Option("--pyodide", help="The unpacked npm package `pyodide` for --page; else ./node_modules/pyodide."),
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Check a certificate; with --model and --data also that it speaks of this model and this row.

    A record of solvers needs both. It is never accepted: where its text is the one of the model, space, row and claim,
    and both solvers refute it once more, the exit code is 7.

    With --verified a certificate is accepted only where the extracted checker accepts it as well, and what it read of
    the file, printed back, is what the file says; what it does not cover is undecided.

    With --page one HTML file is written that holds the checker and a Python: it checks what is dropped on it, and may
    open no connection.
    """
    if page is not None:
        _write_page(page, pyodide, file)
    if file is None:
        raise MaceError("no certificate is given", hint="Give a file that --certificate wrote, or a folder of them.")
    if file.is_dir():
        _check_folder(file, format, alone=("--model",) * (given.model is not None) + ("--verified",) * verified)
    data = _loaded(file, {})
    if _by_solvers(data):
        from mace.certify.record import from_dict

        _check_solvers(from_dict(data), (given, measured, asked), (timeout or None, memory_mb), format)
    from mace.proofs.check import check as verdict_on

    differences = None if given.model is None else _differences(data, (given, measured, asked))
    _tell(verdict_on(data), differences, _extracted(file, data) if verified else None, format)


def _write_page(path: Path, pyodide: Path | None, file: Path | None) -> NoReturn:
    """Write the page that checks; ends the command."""
    from mace.certify.page import write_page

    if file is not None:
        raise MaceError("--page takes no certificate", hint="Drop the certificates on the page.")
    say(f"wrote {write_page(path, pyodide)}: open it in a browser, and drop certificates on it")
    raise typer.Exit(DONE)


def _tell(verdict: Verdict, differences: list[str] | None, extracted: Verified | None, format: Format) -> None:
    """Say what came of it; ends the command. differences: None where no model was compared."""
    accepted = verdict.accepted and not differences
    code = DONE if accepted else REFUSED
    if extracted is not None and accepted and extracted.status != "accepted":
        accepted, code = False, UNDECIDED if extracted.status == "not covered" else REFUSED
    if format is Format.json:
        print_json(
            {
                **schema_of("check"),
                "accepted": accepted,
                "status": STATUSES[code],
                "verdict": str(verdict),
                "compared_with_model": differences is not None,
                "differences": differences or [],
                **({} if extracted is None else {"verified": extracted._asdict()}),
            }
        )
    else:
        say(str(verdict))
        if extracted is not None:
            say(f"verified checker: {extracted.words}")
        for difference in differences or ():
            say(f"not about this question: {difference}")
        if differences == []:
            say("the statement is the one of this model, space and row")
    raise typer.Exit(code)


def _extracted(file: Path, data: Any) -> Verified:
    """What the checker that is extracted from the theory says of a file."""
    from mace.certify.verified import verified

    return verified(file, data)


def _differences(data: Any, about: tuple[Given, Measured, RowAndGoal]) -> list[str]:
    """How a certificate's statement differs from the question; what it excludes is asked of the model again."""
    from mace.certify.exclusions import without
    from mace.certify.statement import same_statement

    if isinstance(data, dict) and "mace_plan" in data:
        raise MaceError(
            "a certificate of plans is not compared with a model and a row",
            hint="Check it without them; its start, its goal, its model and its world are in the file.",
        )
    question, meets = _question(about)
    statement = data.get("statement") if isinstance(data, dict) else None
    listed = statement.get("avoid", []) if isinstance(statement, dict) else []
    try:
        return same_statement(data, without(question, listed, meets))
    except CertificateError as error:
        return [error.message]


def _question(about: tuple[Given, Measured, RowAndGoal]) -> tuple[Question, Callable[[Point], bool]]:
    """The question about the row, and whether the deployed model has its goal at a point."""
    given, measured, asked = about
    explainer, row = explainer_of(given, measured, asked)
    question, _ = explainer.question(row, asked.goal, asked.most_changes)
    return question, lambda point: explainer.judge.confirms(question, point)


def _by_solvers(data: Any) -> bool:
    return isinstance(data, dict) and "mace_solver_certificate" in data


def _check_solvers(
    record: SolverCertificate,
    about: tuple[Given, Measured, RowAndGoal],
    limits: tuple[float | None, int],
    format: Format,
) -> None:
    """Make the record's text again from the model, compare, and ask both solvers; ends the command."""
    if about[0].model is None:
        raise CertificateError(
            "this record of solvers says nothing by itself: its text may ask anything",
            hint="Give --model, --data, --row and whatever else `mace explain` was given: the text is then made again.",
        )
    verdict = record.check(*_question(about), *limits)
    if format is Format.json:
        said = {"accepted": False, "status": verdict.status, "verdict": str(verdict), "compared_with_model": True}
        print_json(schema_of("check") | said)
    else:
        say(str(verdict))
        if verdict.agreed:
            say(RESTS_ON)
    raise typer.Exit(CODES[verdict.status])


def _loaded(file: Path, models: dict[str, Any]) -> Any:
    """The JSON value in a file, with its model."""
    from mace.proofs.check import Unusable, load

    try:
        return load(file, models)
    except (OSError, Unusable) as error:
        hint = "Give a file that --certificate or --certificates wrote."
        if (kind := _kind_of_output(file)) is not None:
            raise FileError(f"{file}: this is no certificate, but the output {kind}", hint=hint) from None
        raise FileError(f"{file}: {reason(error)}", hint=hint) from None


def _kind_of_output(file: Path) -> str | None:
    """What a JSON file says that it is, if some command of mace wrote it."""
    if not file.is_file():  # a pipe would be waited for
        return None
    try:
        with file.open(encoding="utf-8") as text:
            found = SCHEMA.match(text.read(200))
    except (OSError, ValueError):
        return None
    return None if found is None else found[1]


def _verdict_in(file: Path, models: dict[str, Any]) -> tuple[str, str]:
    """Status and words of one file of a folder; a record of solvers is not asked again, since it needs its row."""
    from mace.certify.record import from_dict, in_words
    from mace.proofs.check import check

    try:
        data = _loaded(file, models)
        if _by_solvers(data):
            claim = in_words(from_dict(data).data)
            return "not checked", f"not checked: {claim} (a record of solvers: give this file alone, with its model)"
        verdict = check(data)
    except (FileError, CertificateError) as error:
        return "unusable", f"unusable: {error.message}"
    return "accepted" if verdict.accepted else "refused", str(verdict)


def _check_folder(folder: Path, format: Format, alone: tuple[str, ...]) -> None:
    """Check every certificate in a folder; what rests on solvers is counted apart.

    alone: what was given that is about one certificate.
    """
    from mace.certify.record import SUFFIX
    from mace.proofs.check import files_of

    if alone:
        raise MaceError(f"{alone[0]} is about one certificate at a time", hint=f"Give a file of {folder}.")
    files = [path for path in files_of(folder) if path != folder] + sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise FileError(f"{folder}: no certificate is in this folder")
    found: list[dict[str, Any]] = []
    models: dict[str, Any] = {}
    for path in files:
        kind = "by solvers" if path.name.endswith(SUFFIX) else "by the checker"
        status, words = _verdict_in(path, models)
        name = one_line(path.name)
        found.append({"file": name, "status": status, "kind": kind, "verdict": words})
        if format is Format.text:
            say(f"{name}: {words}")
    if format is Format.json:
        every = all(one["status"] == "accepted" for one in found)
        print_json(schema_of("checks") | {"accepted": every, "files": found})
    else:
        count = [
            f"{sum(one['status'] == status and one['kind'] == kind for one in found)} {status} {kind}"
            for kind in ("by the checker", "by solvers")
            for status in ("accepted", "refused", "unusable", "not checked")
        ]
        say(", ".join(words for words in count if not words.startswith("0 ")))
    statuses = {one["status"] for one in found}
    order = (("refused", REFUSED), ("unusable", USAGE), ("not checked", UNDECIDED))
    raise typer.Exit(next((code for status, code in order if status in statuses), DONE))
