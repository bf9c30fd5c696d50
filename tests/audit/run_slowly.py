"""An audit that takes some seconds, for tests that kill it: python -m tests.audit.run_slowly CHECKPOINT [SCHEDULER]."""

from __future__ import annotations

import sys

import mace
from tests.audit import faults

ROWS = 24


def run(checkpoint: str | None, delay: float = 0.1, **more: object) -> mace.Audit:
    """The audit; the delay changes how long it takes and nothing else."""
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), faults.Faulty)
    faults.Faulty.delay = 0.0
    model.delay = delay
    return mace.audit(
        model, faults.space(), frame, ["Sex"], goal=1, limit=ROWS, n_jobs=2, checkpoint=checkpoint, **more
    )


if __name__ == "__main__":
    run(sys.argv[1], scheduler=sys.argv[2] if len(sys.argv) > 2 else None)
