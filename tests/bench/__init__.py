"""Speed and reach on this machine: tables, never tests. `make bench` runs all, `python -m tests.bench.NAME` one."""

from mace.solve.compiled import at_once

at_once()  # what is measured is compiled code, in a new installation too
