"""Forests and boosting over scikit-learn's breast_cancer, 30 real features: CPU seconds to the proved optimum.

    python -m tests.bench.breast_cancer [--rows 10] [--models forest-100x6 ..] [--norm l1] [--seconds 60] [--check]
        [--jobs 2]

The rows are the first malignant ones of the test split; asked is the nearest benign one. `--relaxed` starts with the
linear relaxation, `--plain` never comes to it; `--jobs` asks once more with so many threads, and prints how many times
as fast that is by the clock on the wall. Compiling and grounding are not counted, as in `tests.bench.ensembles`.
The aims stand beside the figures: seconds, median and worst; proofs of 300 kB; checked in three times the search.
"""

from __future__ import annotations

import argparse
import statistics
import time
from fractions import Fraction
from typing import Any

from mace.base.deadline import Deadline
from mace.certify.writer import certificate
from mace.solve.ensembles import prover
from mace.solve.protocol import Found, Limits
from mace.solve.warm import warm
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble
from tests.bench.ensembles import Problem, question_of
from tests.clocks import Spent

AIMS = {
    "forest-50x6": (0.2, 1), "forest-100x6": (0.5, 3), "forest-300x6": (5, 30), "forest-100": (10, 60),
    "boosting-200x4": (0.5, 3),
}  # fmt: skip


def models() -> dict[str, Any]:
    """The models of the table, untrained."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    return {
        "forest-50x6": RandomForestClassifier(50, max_depth=6, random_state=0),
        "forest-100x6": RandomForestClassifier(100, max_depth=6, random_state=0),
        "forest-300x6": RandomForestClassifier(300, max_depth=6, random_state=0),
        "forest-100": RandomForestClassifier(100, random_state=0),
        "boosting-200x4": GradientBoostingClassifier(n_estimators=200, max_depth=4, random_state=0),
    }


def problem(name: str, rows: int) -> Problem:
    """Train a model, and choose the first malignant rows of the test split that it calls so."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from mace.compilers import read

    frame, target = load_breast_cancer(return_X_y=True, as_frame=True)
    train, test, known, _ = train_test_split(frame, target, random_state=0)
    model = models()[name].fit(train.to_numpy(), known)
    table = read(model)
    assert isinstance(table, Ensemble)
    space = Space([Feature(str(name), "real", float(c.min()), float(c.max())) for name, c in frame.items()])
    malignant = test[model.predict(test.to_numpy()) == 0]
    return Problem(model, table, space, [malignant.iloc[i] for i in range(min(rows, len(malignant)))])


def run(name: str, options: argparse.Namespace) -> None:
    """Answer the rows of one model, and print a line for each and one for all."""
    task = problem(name, options.rows)
    warm(task.table)
    seconds, checks, sizes, open_ = [], [], [], 0
    alone, together = list[float](), list[float]()
    for number, row in enumerate(task.rows):
        question = question_of(task, row, options.norm)
        oracle = prover.EnsembleOracle(question)
        clock, began = time.process_time(), time.perf_counter()
        reply = oracle.ask(None, Limits(Deadline.after(options.seconds, Spent())))
        seconds.append(time.process_time() - clock)
        if options.jobs > 1 and isinstance(reply, Found) and not reply.why:
            alone.append(time.perf_counter() - began)
            began = time.perf_counter()
            assert prover.EnsembleOracle(question).ask(None, Limits(jobs=options.jobs)) == reply
            together.append(time.perf_counter() - began)
        assert isinstance(reply, Found), reply
        distance, lower = question.distance_of(reply.point), reply.lower or Fraction(0)
        assert task.model.predict(question.row(reply.point)[None])[0] == 1, "the witness does not flip predict"
        assert reply.why or lower == distance, "the bound is not the distance"
        open_ += bool(reply.why)
        checked = ""
        if options.check:
            made = certificate(question, reply.lower, reply.point, reply.proof or [])
            clock = time.process_time()
            verdict = made.check()
            checks.append(time.process_time() - clock)
            sizes.append(made.proof_size / 1000)
            assert verdict.accepted, verdict.reason
            checked = f"  proof {sizes[-1]:6.0f} kB, checked in {checks[-1]:5.2f} s"
        gap = float(1 - lower / distance) if distance else 0.0
        counts = " ".join(f"{name} {count}" for name, count in oracle.statistics.items())
        print(
            f"    {number:2} {seconds[-1]:8.3f} s  {'open  ' if reply.why else 'proved'}  gap {gap:5.3f}  "
            f"distance {float(distance):.6f}  {counts}{checked}",
            flush=True,
        )
    median, worst = AIMS[name]
    print(f"{name:16} median {statistics.median(seconds):7.3f} s (aim {median})", end="")
    print(f"  worst {max(seconds):7.3f} s ({worst})  open {open_}", end="")
    if together:
        print(f"  {options.jobs} threads {sum(alone) / sum(together):.2f} times as fast", end="")
    if checks:
        print(f"  proof {statistics.median(sizes):.0f}/{max(sizes):.0f} kB", end="")
        ratios = [check / second for check, second in zip(checks, seconds, strict=True)]
        print(f"  checked {statistics.median(checks):.2f}/{max(checks):.2f} s", end="")
        print(f", {statistics.median(ratios):.1f}/{max(ratios):.1f} times the search", end="")
    print(flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--models", nargs="*", default=list(models()), choices=list(models()))
    parser.add_argument("--norm", default="l1", choices=("l0", "l1", "linf"))
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each search, CPU seconds")
    parser.add_argument("--check", action="store_true", help="also check the certificates")
    parser.add_argument("--jobs", type=int, default=1, help="ask once more with so many threads")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--relaxed", action="store_true", help="start with the linear relaxation")
    which.add_argument("--plain", action="store_true", help="without the linear relaxation")
    options = parser.parse_args()
    if options.relaxed:
        prover.PATIENCE = 0
    if options.plain:
        prover.PATIENCE = 2**60
    for name in options.models:
        run(name, options)


if __name__ == "__main__":
    main()
