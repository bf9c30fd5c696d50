"""`make fuzz`: random problems against enumeration, until the time is over; what fails is shrunk and written down.

    python -m tests.fuzz                      ten minutes from a new seed
    python -m tests.fuzz --seconds 3600 --seed 7
    python -m tests.fuzz --rounds 1 --seed 0  a fixed amount, the same in every run
    python -m tests.fuzz --only explain/forest --seed 7 --rounds 3

A round asks every family of every kind some problems. The exit code is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.engine import Batch, Outcome, batches, outcomes

FAILURES = Path("fuzz-failures")


def main() -> int:
    """Parse, run, print; 1 if anything failed."""
    given = arguments()
    seed = given.seed if given.seed is not None else int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}", flush=True)
    ends = time.monotonic() + given.seconds
    totals: dict[str, Counter[str]] = {}
    models: Counter[str] = Counter()
    failed: list[Outcome] = []
    for number in range(given.rounds or sys.maxsize):
        if not given.rounds and time.monotonic() > ends:
            break
        todo = [Batch(name, seed + number, given.examples) for name in batches(given.only)]
        if not todo:
            print(f"nothing is called {given.only!r}; there are {', '.join(batches(''))}")
            return 2
        for outcome in outcomes(todo, given.workers, None if given.rounds else ends):
            totals.setdefault(outcome.batch.name, Counter()).update(outcome.ended)
            models[outcome.batch.name] += outcome.models
            if outcome.failure:
                failed.append(outcome)
                print(f"\nFAILED {outcome.batch}\n{written(outcome)}", flush=True)
        asked = sum(ended.total() for ended in totals.values())
        print(f"round {number + 1}: {models.total()} models, {asked} questions, {len(failed)} failed", flush=True)
    show(totals, models)
    print(f"{len(failed)} failed" if failed else "0 failed")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long; no new problem begins after that")
    parser.add_argument("--rounds", type=int, default=0, help="a fixed number of rounds instead of a time")
    parser.add_argument("--seed", type=int, default=None, help="a new one if it is not given")
    parser.add_argument("--only", default="", help="the beginning of the names to run, for instance explain/forest")
    parser.add_argument("--examples", type=int, default=6, help="models of each family in a round")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    return parser.parse_args()


def written(outcome: Outcome) -> str:
    """Write a failure down, as small as it got, and return its beginning."""
    FAILURES.mkdir(exist_ok=True)
    file = FAILURES / f"{outcome.batch.name.replace('/', '-')}-{outcome.batch.seed}.txt"
    file.write_text(f"python -m tests.fuzz {outcome.batch.again()}\n\n{outcome.failure}\n", encoding="utf-8")
    return outcome.failure[:3000]


def show(totals: dict[str, Counter[str]], models: Counter[str]) -> None:
    """Counts of models and questions by kind and family, and of each ending."""
    endings: dict[str, Counter[str]] = {}
    for name, ended in sorted(totals.items()):
        print(f"{name:32}{models[name]:8} models{ended.total():8} questions")
        endings.setdefault(name.split("/")[0], Counter()).update(ended)
    for kind, ended in endings.items():
        fitted = sum(count for name, count in models.items() if name.split("/")[0] == kind)
        print(f"\n{kind}: {fitted} models, {ended.total()} questions")
        for ending, count in ended.most_common(25):
            print(f"  {count:8}  {ending}")
        open_ended = sum(count for ending, count in ended.items() if ending.startswith(("unknown", "bounded")))
        print(f"  unknown or bounded: {open_ended / max(1, ended.total()):.2%}")


if __name__ == "__main__":
    sys.exit(main())
