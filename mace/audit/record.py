"""What an audit knows about one row: the answer of `explain` in plain values, or why there is none.

Promise: a record survives JSON, SQLite, CSV and Parquet unchanged. `status` is a verdict that was reached; a query
that was killed, crashed or failed has the status "unknown" and says in `failure` what became of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from mace.base.escape import json_text, short
from mace.base.exact import nearest
from mace.solve.status import STATUSES, Status, is_final

Failure: TypeAlias = Literal["", "timeout", "memory", "crashed", "error"]
Proof: TypeAlias = Literal["accepted", "solvers", "refused", "unchecked", "kept", "none"]

FAILURES: dict[str, str] = {
    "timeout": "stopped: it did not end within its time",
    "memory": "stopped: it wanted more memory than allowed",
    "crashed": "its process died",
    "error": "it could not be asked",
}
PROOFS: dict[str, str] = {
    "accepted": "a certificate was written and the checker accepted it",
    "solvers": "solvers refuted the question, which was written with their verdicts; no checker accepted it",
    "refused": "the certificate was refused, and with it the verdict",
    "unchecked": "a certificate was written; it was not checked, or not in time",
    "kept": "the prover gave a proof; no certificate was written",
    "none": "there is no proof",
}
# What an audit of many rows asks beside the main question, each under a name of its own.
MAIN = "main"
LONGEST = 4000  # digits of a rational that is read back: Python reads 4300
FORMAT = 4  # of the records; a checkpoint of another format is refused


@dataclass(frozen=True, slots=True)
class Record:
    """One row's answer.

    row, label: place of the row in the frame, from 0, and its index there as text.
    part:       which question: "main", or one that a finding asks ("fixed:Age", "flip:Sex", "core").
    status:     "optimal", "bounded", "infeasible" or "unknown"; `failure` is "" unless the query itself failed.
    distance, lower_bound: floats rounded outwards; the exact rationals stand beside them as text.
    changes:    feature -> [before, after] of the nearest counterfactual found.
    proof:      see PROOFS; `certificate` is the file's name; its size and its SHA-256 stand beside.
    answered:   when the answer came, in UTC (ISO 8601, whole seconds), by the clock of whoever ran the audit.
    core:       for an infeasible row: rules and restrictions that together block every way out, minimal if
                `core_minimal`; `opens` are those whose removal alone would open one.
    notes:      what the verdict rests on beside its proof: for instance, that a missing value stays missing.
    """

    row: int
    label: str
    part: str
    key: str
    status: Status = "unknown"
    failure: Failure = ""
    why: str = ""
    decision: Any = None
    distance: float | None = None
    lower_bound: float | None = None
    exact_distance: str | None = None
    exact_lower_bound: str | None = None
    start: dict[str, Any] = field(default_factory=dict)
    changes: dict[str, list[Any]] = field(default_factory=dict)
    oracle: str = ""
    seconds: float = 0.0
    proof: Proof = "none"
    proof_why: str = ""
    certificate: str = ""
    certificate_bytes: int = 0
    certificate_sha256: str = ""
    core: list[str] = field(default_factory=list)
    opens: list[str] = field(default_factory=list)
    core_minimal: bool = False
    answered: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """The failure if there is one, else the status: what a count of rows goes by."""
        return self.failure or self.status

    @property
    def proved(self) -> bool:
        """Whether the verdict is final: optimal or infeasible, not merely "none found"."""
        return not self.failure and is_final(self.status)

    @property
    def has_goal(self) -> bool:
        """Whether the row has the goal as it is."""
        return self.status == "optimal" and not self.changes

    @property
    def certified(self) -> bool:
        """Whether the checker accepted a certificate of this row."""
        return self.proof == "accepted"

    @property
    def unwritten(self) -> bool:
        """Whether a certificate was asked for, and found no room: what is merely kept has no reason."""
        return self.proof == "kept" and bool(self.proof_why)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "str": (str,),
    "bool": (bool,),
    "float": (int, float),
    "float | None": (int, float, type(None)),
    "str | None": (str, type(None)),
    "dict[str, Any]": (dict,),
    "dict[str, list[Any]]": (dict,),
    "list[str]": (list,),
}
_KINDS = {part.name: _TYPES.get(str(part.type)) for part in fields(Record)}
NESTED = ("start", "changes", "core", "opens", "decision", "notes")  # One cell of a flat table each, as JSON.
NAMES = tuple(part.name for part in fields(Record))


def to_json(record: Record) -> str:
    """One line of JSON."""
    return json_text(record.to_dict())


def from_json(line: str) -> Record:
    """The record that `to_json` wrote; raises ValueError for anything else."""
    try:
        return checked(Record(**json.loads(line)))
    except (TypeError, RecursionError) as error:
        raise ValueError(f"no record ({error})") from None


def checked(record: Record) -> Record:
    """The record itself; raises ValueError unless every field has its type, so that nothing later stumbles on it.

    A record that contradicts itself is refused, too: no verdict is read from one.
    """
    for name, kind in _KINDS.items():
        if kind is not None and not isinstance(getattr(record, name), kind):
            raise ValueError(f"row {short(record.row)}: `{name}` is {short(getattr(record, name))}")
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in record.changes.values())
    known = record.status in STATUSES and record.failure in ("", *FAILURES) and record.proof in PROOFS
    texts = all(isinstance(name, str) for name in (*record.core, *record.opens))
    if not pairs or not known or not texts:
        raise ValueError(f"row {record.row!r} is no record")
    for name in ("distance", "lower_bound"):
        value, written = getattr(record, name), getattr(record, f"exact_{name}")
        if value is not None and written is not None and not _same(value, written):
            raise ValueError(f"row {record.row}: `{name}` is {value}, and exactly {short(written)}")
    if wrong := _contradiction(record):
        raise ValueError(f"row {record.row}: {wrong}")
    return record


def _contradiction(record: Record) -> str:
    """What no answer can say; empty if there is nothing of it."""
    low, high = record.lower_bound, record.distance
    for name in ("distance", "lower_bound", "seconds"):
        value = getattr(record, name)
        if value is not None and not value >= 0:  # nor is it NaN
            return f"`{name}` is {value}"
    if low is not None and high is not None and low > high:
        return f"`lower_bound` is {low}, and `distance` {high}"
    if record.failure and record.status != "unknown":
        return f"it failed ({record.failure}), and is {record.status}"
    if record.status == "optimal" and (low is None or high is None):
        return "it is optimal, and has no distance or no bound"
    if record.status == "infeasible" and (high is not None or record.changes):
        return "it is infeasible, and has a counterfactual"
    if record.proof == "accepted" and not record.certificate:
        return "its certificate was accepted, and has no name"
    return ""


def _same(value: float, written: str) -> bool:
    """Whether a number is a rational that stands beside it as text, but for rounding; one that is too long passes."""
    if len(written) > LONGEST:
        return True
    try:
        return math.isclose(value, nearest(Fraction(written)), rel_tol=1e-12, abs_tol=1e-300)
    except (ValueError, ZeroDivisionError):
        return False


def to_cells(record: Record) -> dict[str, Any]:
    """One row of a flat table: nested values are JSON texts."""
    cells = record.to_dict()
    return cells | {name: json_text(cells[name]) for name in NESTED}


def from_cells(cells: dict[str, Any]) -> Record:
    """The way back from `to_cells`."""
    return Record(**{name: json.loads(cells[name]) if name in NESTED else cells[name] for name in NAMES})
