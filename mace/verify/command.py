"""What `mace verify` does once its options are read: run the properties, write the result, say how it ended.

Exit codes: 0 all proved, 10 some violated, 5 some unknown (and none violated), 2 a property that cannot be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mace.base.escape import json_text
from mace.base.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED
from mace.base.figures import counted
from mace.base.files import check_folder, make_folder, write_whole
from mace.errors import MaceError
from mace.space.space import Space
from mace.verify.output import WRITERS
from mace.verify.suite import Outcome, load, of_texts, run_suite
from mace.verify.vnnlib import verify_vnnlib

if TYPE_CHECKING:
    import pandas as pd


def run_verify(
    model: object,
    space: Space,
    frame: pd.DataFrame | None,
    properties: Sequence[str],
    suite: Path | None,
    *,
    format: str = "text",  # noqa: A002
    timeout: float | None = None,
    memory_mb: int = 4096,
    certificates: Path | None = None,
    sarif: Path | None = None,
    load_model: Callable[[Path], object] | None = None,
    wrote: Callable[[str], object] | None = None,
) -> tuple[str, int]:
    """The text to print and the exit code; writes certificates into a folder, and SARIF to a file, if one is named.

    timeout: seconds a property; 0 for no limit, None for what the suite says (60 where there is none).
    wrote: is told of every file, or folder of files, that was written.
    """
    tell = wrote or (lambda said: None)
    if (suite is None) == (not properties):
        raise MaceError("give either --property or --suite", hint='--property "monotone(Income, increasing)"')
    if certificates is not None:
        make_folder(certificates, "certificates")
    if sarif is not None:
        check_folder(sarif)
    if suite is not None:
        asked = load(suite)
    else:
        usual = 60.0 if timeout is None else timeout
        asked = of_texts(list(properties), usual or None)
    outcomes = run_suite(model, space, asked, data=frame, timeout=timeout, memory_mb=memory_mb, load_model=load_model)
    if certificates is not None:
        count = _save(certificates, outcomes)
        said = f"{counted(count, 'certificate')} written to {certificates}"
        tell(f"{said}; check with: mace check {certificates}" if count else f"no certificate written to {certificates}")
    if sarif is not None:
        write_whole(sarif, (WRITERS["sarif"](asked, outcomes) + "\n").encode())
        tell(f"SARIF written to {sarif}")
    return WRITERS[format](asked, outcomes), code_of(outcomes)


def run_vnnlib(
    network: Path,
    specification: Path | None,
    *,
    format: str = "text",  # noqa: A002
    timeout: float | None = None,
) -> tuple[str, int]:
    """The text to print about a property in VNN-LIB, and the exit code: 0 unsat, 10 sat, 5 undecided.

    timeout: in seconds; 0 for no limit, None for the usual one.
    """
    if specification is None:
        raise MaceError(f"{network}: no property given", hint="mace verify network.onnx property.vnnlib")
    if format not in ("text", "json"):
        raise MaceError(f"an answer about VNN-LIB is printed as text or json, not as {format}")
    usual = 60.0 if timeout is None else timeout
    answer = verify_vnnlib(network, specification, timeout=usual or None)
    code = {"unsat": DONE, "sat": VIOLATED}.get(answer.status, UNDECIDED)
    return (json_text(answer.to_dict(), indent=2) if format == "json" else str(answer)), code


def code_of(outcomes: Sequence[Outcome]) -> int:
    """The exit code: a violation outweighs an error, an error what is unknown."""
    found = {outcome.status for outcome in outcomes}
    for status, code in (("violated", VIOLATED), ("error", USAGE), ("unknown", UNDECIDED)):
        if status in found:
            return code
    return DONE


def _save(folder: Path, outcomes: Sequence[Outcome]) -> int:
    """Every certificate as `<number of the property>-<number>.json.gz`; how many there are."""
    count = 0
    for number, outcome in enumerate(outcomes, 1):
        if outcome.verdict is not None:
            for part, certificate in enumerate(outcome.verdict.certificates, 1):
                certificate.save(folder / f"{number:03d}-{part:03d}.json.gz")
                count += 1
    return count
