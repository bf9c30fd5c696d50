"""Speed and reach on this machine: tables, never tests. `make bench` runs all, `python -m tests.bench.NAME` one."""
