#!/usr/bin/env python3
"""Accept or refuse a certificate: that no allowed point with the goal is closer than some distance, or exists at all.

In:  a certificate as proofs/FORMAT.md defines it, as a file (`python -I -S proofs/check.py FILE`) or parsed (`check`);
     or several files, or folders of them.
Out: a `Verdict`; on the command line one line, a summary, and exit status 0 (accepted), 10 (refused) or 2 (unusable,
     or not to be printed); of several files a line each, and the largest status.
Promise: accepted means that the kernel (proofs/kernel) accepted: the claim then holds for the floating-point model that
the statement describes. What that rests on: proofs/soundness.md. Standard library only; nothing in this file decides.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

if __name__ == "__main__":
    # Alone, without mace: the files beside this one, under the names that they have when mace is installed.
    for name, folder in (("mace", []), ("mace.proofs", [str(Path(__file__).resolve().parent)])):
        sys.modules[name] = package = ModuleType(name)
        package.__path__ = folder

from mace.proofs.columns import unfolded
from mace.proofs.convert import converted
from mace.proofs.kernel.ensembles import Ensemble
from mace.proofs.kernel.floats import Refused, rational
from mace.proofs.kernel.plans import Plans, verify_plan
from mace.proofs.kernel.proof import read_model, verify
from mace.proofs.kernel.rows import Rows, verify_rows
from mace.proofs.kernel.sets import Sets, verify_set
from mace.proofs.kernel.statement import Statement
from mace.proofs.reader import MODEL, SharedModel, Unusable, bounded, columns_within, files_of, load, parse, uncollected

__all__ = ["MODEL", "Unusable", "Verdict", "check", "files_of", "known_model", "load", "main", "parse"]

MAX_MEMORY = 8 * 2**30  # bytes, of the process that checks files from the command line


@dataclass(repr=False)
class Verdict:
    """What came of a check. `fired` counts how often each rule of the proof was used."""

    accepted: bool
    reason: str
    claim: str = ""
    fired: dict[str, int] = field(default_factory=dict)
    unusable: bool = False

    def __str__(self) -> str:
        if self.accepted:
            return f"accepted: {self.claim}"
        return f"unusable: {self.reason}" if self.unusable else f"refused at {self.reason}"

    def __repr__(self) -> str:
        return f"Verdict({self})"


@uncollected()
def check(data: Any) -> Verdict:
    """Accept or refuse a certificate, given as parsed JSON. Never raises."""
    fired: dict[str, int] = {}
    try:
        if type(data) is not dict:
            raise Unusable("a certificate is one JSON object")
        for one in parts_of(data):
            columns_within(one)
        data = unfolded(data)
        for one in parts_of(data):
            bounded(one)
        model = known_model(data)
        if "mace_set" in data:
            return Verdict(accepted=True, reason="", claim=set_in_words(verify_set(data, fired, model)), fired=fired)
        if "mace_rows" in data:
            return Verdict(accepted=True, reason="", claim=rows_in_words(verify_rows(data, fired, model)), fired=fired)
        if "mace_plan" in data:
            return Verdict(accepted=True, reason="", claim=plan_in_words(verify_plan(data, fired, model)), fired=fired)
        if type(data.get("mace_certificate")) is int and data["mace_certificate"] == 1:
            data = converted(data, model)
        statement = verify(data, fired, model)
    except Refused as error:
        return Verdict(accepted=False, reason=str(error), fired=fired)
    except Unusable as error:
        return Verdict(accepted=False, reason=str(error), unusable=True)
    except MemoryError:
        return Verdict(accepted=False, reason="it needs more memory than there is", unusable=True)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        # No input is known to lead here. If one does, it is not accepted.
        return Verdict(accepted=False, reason=f"an unforeseen place: {type(error).__name__}: {error}", fired=fired)
    return Verdict(accepted=True, reason="", claim=in_words(statement, data["witness"]), fired=fired)


def known_model(data: Any) -> Any:
    """The kernel's model of a certificate, made once for all certificates that name it; None if there is none."""
    statement = data.get("statement") if type(data) is dict else None
    model = statement.get("model") if type(statement) is dict else None
    if type(model) is dict and "sha256" in model:
        raise Refused("statement: model: it is in a file of its own, which only `load` reads")
    if not isinstance(model, SharedModel):
        return read_model(model) if type(model) is dict else None
    if model.known is None:
        model.known = known = read_model(dict(model))
        if isinstance(known, Ensemble):  # The slack of a comparison takes a look at every leaf, and is always the same.
            known.slack = cache(known.slack)  # type: ignore[method-assign]
    return model.known


def parts_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The certificates of which a certificate consists: itself, or the facts about a set, or about rows."""
    facts = data.get("facts") if "mace_set" in data or "mace_rows" in data else None
    return [data, *({**data, **fact} for fact in (facts if type(facts) is list else []) if type(fact) is dict)]


def set_in_words(sets: Sets) -> str:
    """The claim about a set, and what the witness adds to it."""
    asked, claim = sets.asked, sets.statement.claim
    named = {
        "different features": asked.features,
        "different values": asked.values,
        f"at least {decimal(asked.apart)} apart" if asked.apart is not None else "": asked.apart is not None,
    }
    which = ", ".join(word for word, on in named.items() if on) or "different points"
    count = len(sets.statement.avoid)
    aside = f", {count} excluded region{'s' if count > 1 else ''} aside" if count else ""
    one = asked.count == 1
    if claim is None:
        have = "allowed point has" if one else f"{asked.count} allowed points ({which}) have"
        return f"no {have} the goal{aside}"
    have = f"{asked.count} allowed points with the goal ({which}) have a sum of distances"
    have = "allowed point with the goal has a distance" if one else have
    words = f"no {have} below {decimal(claim)}{aside}"
    if sets.distance is None:
        return words
    at = "this very sum" if sets.distance == claim else decimal(sets.distance)
    return f"{words}, and a set has {at}"


def rows_in_words(rows: Rows) -> str:
    """The claim about the nearest of several rows, and what the witness adds to it."""
    count, claim = len(rows.rows), rows.statement.claim
    return f"{in_words(rows.statement, None)}, to the nearest of {count} row{'s' if count > 1 else ''}" + (
        "" if rows.distance is None
        else f", and one is at {'this very distance' if rows.distance == claim else decimal(rows.distance)}"
    )  # fmt: skip


def plan_in_words(plans: Plans) -> str:
    """The claim about all plans, and what the witness adds to it."""
    which = f"no plan of at most {plans.horizon} action{'s' if plans.horizon > 1 else ''}"
    if plans.claim is None:
        return f"{which} leads to an allowed point with the goal"
    words = f"{which} that costs less than {decimal(plans.claim)} leads to an allowed point with the goal"
    if plans.cost is None:
        return words
    return f"{words}, and one costs {'just this' if plans.cost == plans.claim else decimal(plans.cost)}"


def in_words(statement: Statement, witness: Any) -> str:
    """The claim, and what the witness adds to it."""
    count = len(statement.avoid)
    aside = f", {count} excluded region{'s' if count > 1 else ''} aside" if count else ""
    if statement.claim is None:
        return f"no allowed point has the goal{aside}"
    words = f"no allowed point with the goal is closer than {decimal(statement.claim)}{aside}"
    if witness is None:
        return words
    found = rational(witness["distance"], "witness: distance")
    at = "this very distance" if found == statement.claim else decimal(found)
    return f"{words}, and one is at {at}"


def decimal(number: Fraction) -> str:
    """A few digits for people; `~` where there are more."""
    digits = number.numerator * 10**12 // number.denominator
    shown = f"{digits // 10**12}.{digits % 10**12:012d}".rstrip("0").rstrip(".")
    return shown if Fraction(digits, 10**12) == number else f"~{shown}"


# --- the command line ------------------------------------------------------------------------------------------------


def check_file(path: Path, models: dict[str, Any]) -> tuple[int, str, Verdict | None]:
    """Exit status, words and verdict of one file."""
    try:
        if path.is_dir():
            raise Unusable("no certificate is in this folder")
        verdict = check(load(path, models))
    except (OSError, Unusable) as error:
        return 2, f"unusable: {error}", None
    return (0 if verdict.accepted else 2 if verdict.unusable else 10), str(verdict), verdict


def limit_memory() -> None:
    """Let no file take more than MAX_MEMORY, where the system can see to it: whatever else runs here goes on."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY if hard < 0 else min(MAX_MEMORY, hard), hard))


def main(arguments: Sequence[str]) -> int:
    """Check files, or all certificates of folders; print the verdict of each, and of one file alone a summary."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        print("usage: python -I -S check.py FILE-OR-FOLDER ...", file=sys.stderr)
        return 2
    limit_memory()
    models: dict[str, Any] = {}
    if len(arguments) == 1 and not Path(arguments[0]).is_dir():
        status, words, verdict = check_file(Path(arguments[0]), models)
        print(words)
        if verdict is not None and verdict.accepted:
            print("rules: " + ", ".join(f"{name} {count}" for name, count in verdict.fired.items()))
        return status
    statuses = []
    for path in [file for argument in arguments for file in files_of(Path(argument))]:
        status, words, _ = check_file(path, models)
        statuses.append(status)
        # A name with a line break must not look like a line of its own.
        print(f"{path if str(path).isprintable() else ascii(str(path))}: {words}", flush=True)
    kinds = ((0, "accepted"), (10, "refused"), (2, "unusable"))
    print(", ".join(f"{statuses.count(status)} {kind}" for status, kind in kinds))
    return max(statuses)


def printed(arguments: Sequence[str]) -> int:
    """`main` as the process: a verdict that cannot be written out (a full disk) is status 2, as is a closed folder."""
    try:
        try:
            return main(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except OSError as error:
        if sys.stdout is not None:  # Python would print what is left once more at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        with contextlib.suppress(OSError):
            what = "the verdict cannot be printed" if error.filename is None else f"{error.filename!a} cannot be read"
            print(f"check.py: {what}: {error.strerror or error}", file=sys.stderr, flush=True)
        return 2


if __name__ == "__main__":
    sys.exit(printed(sys.argv[1:]))
