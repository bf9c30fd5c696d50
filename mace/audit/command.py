"""What `mace audit` does once its options are read: run, write the files asked for, print, and say how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.result import Audit
    from mace.space.space import Space

DONE, UNDECIDED = 0, 5  # the exit codes of `mace.cli`


def run_audit(model: object, space: Space, frame: pd.DataFrame, out: Path | None, **settings: Any) -> tuple[Audit, int]:
    """The audit and its exit code: 5 when a row or a finding is unknown or has bounds only. Writes `out`."""
    from mace.audit.export import check_name
    from mace.audit.run import audit

    if out is not None:
        check_name(out)  # before the work, not after it
    done = audit(model, space, frame, **settings)
    if out is not None:
        done.save(out)
    return done, DONE if done.settled else UNDECIDED
