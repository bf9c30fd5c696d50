"""A proposer beside the prover: the upper bound after .1 s and 1 s with and without it, on rows of breast_cancer.

    python -m tests.bench.proposers [--rows 8] [--model forest-100x6] [--proposer tabu] [--seconds 5]

Rows and models are those of `tests.bench.breast_cancer`. No verdict may change, and no answer may become worse.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import mace
from mace.search.protocol import Batches, Task
from tests.bench.breast_cancer import models, problem

AFTER = (0.1, 1.0)  # seconds


class Nobody:
    """A proposer that proposes nothing: what the prover reaches by itself, told as it comes."""

    name = "nobody"

    def refusal(self, task: Task) -> str | None:  # noqa: ARG002
        """It takes every task."""
        return None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:  # noqa: ARG002
        """Nothing."""
        return None
        yield np.empty((0, task.chart.features))


def answered(explainer: mace.Explainer, row: Any, proposer: Any, seconds: float) -> tuple[mace.Answer, list[float]]:
    """The answer, and the upper bound after each of the times."""
    began, seen = time.perf_counter(), list[tuple[float, float]]()

    def watch(bracket: Any) -> None:
        if bracket.upper is not None:
            seen.append((time.perf_counter() - began, float(bracket.upper)))

    answer = explainer.explain(row, goal=1, proposer=proposer, timeout=seconds, callback=watch)
    return answer, [min((upper for at, upper in seen if at <= after), default=np.inf) for after in AFTER]


def main() -> None:
    """Print a line for each row, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--model", default="forest-100x6", choices=list(models()))
    parser.add_argument("--proposer", default="tabu")
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    task = problem(options.model, options.rows)
    explainer = mace.Explainer(task.model, task.space)
    explainer.ready()
    nearer, worse, changed = [0, 0], 0, 0
    for number, row in enumerate(task.rows):
        alone, before = answered(explainer, row, Nobody(), options.seconds)
        beside, after = answered(explainer, row, options.proposer, options.seconds)
        nearer = [n + (b < a) for n, a, b in zip(nearer, before, after, strict=True)]
        worse += (beside.distance or np.inf) > (alone.distance or np.inf)
        changed += beside.status != alone.status
        uppers = "  ".join(f"{at:g} s {a:.6f} -> {b:.6f}" for at, a, b in zip(AFTER, before, after, strict=True))
        print(f"{number:3} {alone.status:8} {alone.distance:.6f} {alone.seconds:6.2f} s | {beside.status:8} "
              f"{beside.distance:.6f} {beside.seconds:6.2f} s | {uppers}", flush=True)  # fmt: skip
    counts = f"nearer after .1 s {nearer[0]}, after 1 s {nearer[1]}; worse {worse}; verdicts changed {changed}"
    print(f"of {len(task.rows)}: {counts}")


if __name__ == "__main__":
    main()
