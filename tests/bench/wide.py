"""Forests over hundreds and thousands of real features: what is proved, and what memory and checking take.

    python -m tests.bench.wide [--columns 100 300 1000 5000] [--trees 100] [--rows 2] [--seconds 10]

The data are made up: 300 rows of normal numbers, of which three columns decide and the others are noise, as where genes
are measured. The forest is unlimited, the distance l1. Memory is the most that the process took so far, beyond what it
had before the first model.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.errors import CertificateError


def peak() -> float:
    """The most memory that this process took, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def checked(answer: mace.Answer) -> str:
    """The size of the proof, and how long the checker reads its certificate."""
    try:
        made = answer.certificate
    except CertificateError as error:
        return error.message
    clock = time.process_time()
    verdict = made.check()
    assert verdict.accepted or verdict.unusable, verdict
    if verdict.unusable:
        return str(verdict)
    return f"proof {made.proof_size / 1000:4.0f} kB, checked in {time.process_time() - clock:5.1f} s"


def run(columns: int, given: argparse.Namespace, before: float) -> None:
    """Answer some rows of one model."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(300, columns)), columns=[f"x{k}" for k in range(columns)]).round(3)
    decides = frame.x0 + frame.x1 + frame.x2 + rng.normal(size=len(frame)) / 2 > 0
    model = RandomForestClassifier(given.trees, random_state=0).fit(frame, decides)
    clock = time.process_time()
    explainer = mace.Explainer(model, mace.Space.from_frame(frame))
    print(f"{columns} features: space and model read in {time.process_time() - clock:.1f} s", flush=True)
    answer_each(explainer, frame[~model.predict(frame)].head(given.rows), given.seconds, before)


def answer_each(explainer: mace.Explainer, rejected: pd.DataFrame, limit: float, before: float) -> None:
    """Ask about rows, and print a line for each; before: the memory that counts for nothing, in MB."""
    for row in range(len(rejected)):
        clock = time.process_time()
        answer = explainer.explain(rejected.iloc[row], goal=True, timeout=limit)
        seconds = time.process_time() - clock
        share = answer.lower_bound / answer.distance
        print(
            f"    {row}  {answer.status:8} {seconds:5.1f} s  proved {share:.3f}  memory {peak() - before:5.0f} MB  "
            + checked(answer),
            flush=True,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--columns", type=int, nargs="*", default=[100, 300, 1000, 5000])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of each answer")
    given = parser.parse_args()
    before = peak()
    for columns in given.columns:
        run(columns, given, before)


if __name__ == "__main__":
    main()
