"""What the processes of audits find ready in tests: imported once by the server that forks them.

Each process of an audit loads numba and the compiled search before its first row, which takes half a second of a
processor; a run of all tests starts some hundred. The answers are the same; that a process which finds nothing ready is
as good is shown by the tests that start scripts, commands and Dask's workers, whose servers do not import this.
"""

from __future__ import annotations

from mace.solve import warm
from mace.solve.compiled import read_at_once

read_at_once()
warm.trees()
