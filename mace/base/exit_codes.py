"""What the exit codes of the command line mean."""

from __future__ import annotations

import signal

DONE, USAGE, UNDECIDED, INTERNAL, SOLVERS_AGREE = 0, 2, 5, 6, 7
NOT_FOUND = VIOLATED = REFUSED = 10  # what was asked about is not so: one code, named by the command
INTERRUPTED, TERMINATED = 128 + signal.SIGINT, 128 + signal.SIGTERM  # as shells have it

MEANINGS = (
    f"Exit codes: {DONE} done or accepted; {NOT_FOUND} violated, refused, or not found where asked to fail; "
    f"{UNDECIDED} unknown, bounded or not checked; {SOLVERS_AGREE} two solvers agree on a text that no checker can "
    f"accept; {USAGE} usage or input; {INTERNAL} internal error; {INTERRUPTED} interrupted; {TERMINATED} terminated."
)
