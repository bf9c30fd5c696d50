"""What `mace audit` does once its options are read: run, write the files asked for, print, and say how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.exit_codes import DONE, UNDECIDED
from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.result import Audit
    from mace.space.space import Space


class Run(NamedTuple):
    """code: how the command ends.    failed: what is raised once the tables have been printed."""

    audit: Audit
    code: int
    failed: FileError | None


def run_audit(model: object, space: Space, frame: pd.DataFrame, out: Path | None, **settings: Any) -> Run:
    """The audit and its exit code: 5 when a row or a finding is unknown or has bounds only. Writes `out`.

    What finds no room once all is answered must not cost the answers.
    """
    from mace.audit.export import check_name
    from mace.audit.run import audit

    if out is not None:
        check_name(out)  # before the work, not after it
    done, failed = audit(model, space, frame, **settings), None
    if count := done.findings.statuses.unwritten:
        why = next(record.proof_why for record in done.records if record.unwritten)
        hint = "The same command, once there is room, writes them; with a --checkpoint no row is asked about again."
        failed = FileError(f"{count} certificate{'s' * (count > 1)} could not be written; the first: {why}", hint=hint)
    if out is not None:
        try:
            done.save(out)
        except FileError as error:
            failed = error
    return Run(done, DONE if done.settled else UNDECIDED, failed)
