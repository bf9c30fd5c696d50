"""A proposer beside the prover: the upper bound after .1 s and 1 s with and without it, on rows of breast_cancer.

    python -m tests.bench.proposers [--rows 8] [--model forest-100x6] [--proposer lns] [--seconds 5]

Rows and models are those of `tests.bench.breast_cancer`. No verdict may change, and no answer may become worse. All
seconds, those of the limit too, are CPU seconds of the process: the two threads share one interpreter. `--proposer
nobody` shows what changes from one run to the next by itself. Seconds of one and the same work differ by some percent
from run to run, so that a limit may fall between two of them: where one run was stopped and the other was not, the one
that was stopped is asked again with `MORE` times the limit, and a verdict counts as changed where it still is another.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np

import mace
from mace.base.deadline import Deadline
from mace.search.protocol import Batches, Task
from tests.bench.breast_cancer import models, problem
from tests.clocks import Spent

AFTER = (0.1, 1.0)  # seconds
MORE = 1.25  # times the limit, for a row that one of two runs has proved within it


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


class Timed(NamedTuple):
    """An answer, the upper bound after each of the times, and the seconds that it took."""

    answer: mace.Answer
    uppers: list[float]
    seconds: float


def answered(explainer: mace.Explainer, row: Any, proposer: Any, seconds: float) -> Timed:
    """The answer of a row."""
    began, seen = time.process_time(), list[tuple[float, float]]()

    def watch(bracket: Any) -> None:
        if bracket.upper is not None:
            seen.append((time.process_time() - began, float(bracket.upper)))

    limit = Deadline.after(seconds, Spent())
    answer = explainer.explain(row, goal=1, proposer=proposer, timeout=limit, callback=watch)
    uppers = [min((upper for at, upper in seen if at <= after), default=np.inf) for after in AFTER]
    return Timed(answer, uppers, time.process_time() - began)


class Run(NamedTuple):
    """Who proposed, and what came of it."""

    timed: Timed
    proposer: Any


class Again(NamedTuple):
    """The answer of the run that was stopped, with more time: who was stopped, and whether its verdict is another."""

    who: str
    of: Timed
    differs: bool


def asked_again(explainer: mace.Explainer, row: Any, alone: Run, beside: Run, seconds: float) -> Again:
    """Of two runs with different verdicts the one that was stopped, again."""
    stopped, other = (alone, beside) if alone.timed.answer.status == "bounded" else (beside, alone)
    again = answered(explainer, row, stopped.proposer, MORE * seconds)
    who = "alone" if stopped is alone else "with the proposer"
    return Again(who, again, again.answer.status != other.timed.answer.status)


def main() -> None:
    """Print a line for each row, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--model", default="forest-100x6", choices=list(models()))
    parser.add_argument("--proposer", default="lns")
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    task = problem(options.model, options.rows)
    explainer = mace.Explainer(task.model, task.space)
    explainer.ready()
    nearer, worse, changed, late, spent = [0, 0], 0, 0, 0, [0.0, 0.0]
    for number, row in enumerate(task.rows):
        alone = answered(explainer, row, Nobody(), options.seconds)
        other = Nobody() if options.proposer == Nobody.name else options.proposer
        beside = answered(explainer, row, other, options.seconds)
        pairs = list(zip(AFTER, alone.uppers, beside.uppers, strict=True))
        nearer = [n + (b < a) for n, (_, a, b) in zip(nearer, pairs, strict=True)]
        worse += (beside.answer.exact_distance or np.inf) > (alone.answer.exact_distance or np.inf)
        if beside.answer.status != alone.answer.status:
            again = asked_again(explainer, row, Run(alone, Nobody()), Run(beside, other), options.seconds)
            late, changed = late + (not again.differs), changed + again.differs
            print(f"    {again.who}, {MORE:g} times the limit: {again.of.answer.status}, {again.of.seconds:.2f} s")
        spent = [spent[0] + alone.seconds, spent[1] + beside.seconds]
        uppers = "  ".join(f"{at:g} s {a:.6f} -> {b:.6f}" for at, a, b in pairs)
        ways = (f"{one.answer.status:8} {one.answer.distance:.6f} {one.seconds:6.2f} s" for one in (alone, beside))
        print(f"{number:3} {' | '.join(ways)} | {uppers}", flush=True)
    counts = f"nearer after .1 s {nearer[0]}, after 1 s {nearer[1]}; worse {worse}; verdicts changed {changed}"
    if late:
        counts += f" (and {late} where the limit fell between the two runs)"
    print(f"of {len(task.rows)}: {counts}; {spent[0]:.1f} s alone, {spent[1]:.1f} s with the proposer")


if __name__ == "__main__":
    main()
