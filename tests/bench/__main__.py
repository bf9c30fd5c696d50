"""`make bench`: every table, one after the other, each in a process of its own."""

import subprocess
import sys

TABLES = (
    "answers",
    "ensembles",
    "breast_cancer",
    "networks",
    "against_z3",
    "smt",
    "boosters",
    "families",
    "real_data",
    "audit",
    "classes",
    "limits",
)


def main() -> None:
    """Run the tables named on the command line, or all."""
    for name in sys.argv[1:] or TABLES:
        print(f"\n{name}\n{'=' * len(name)}", flush=True)
        subprocess.run([sys.executable, "-m", f"tests.bench.{name}"], check=False)


main()
