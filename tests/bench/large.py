"""Forests of a hundred thousand to a million leaves: what is proved, and what memory and checking take.

    python -m tests.bench.large [--samples 10000 60000] [--trees 100 300] [--rows 2] [--seconds 20]

The data are made up: 20 real features, of which ten say something, and a tenth of the labels are wrong, so that trees
without a limit of depth, as they are by default, have a leaf for every tenth sample. The distance is l1. Memory is the
most that the process took so far, beyond what it had when the model was trained.
"""

from __future__ import annotations

import argparse
import time

import pandas as pd
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

import mace
from tests.bench.wide import answer_each, peak


def run(samples: int, trees: int, given: argparse.Namespace) -> None:
    """Answer some rows of one model."""
    columns = [f"x{k}" for k in range(20)]
    found, decides = make_classification(samples, len(columns), n_informative=10, flip_y=0.1, random_state=0)
    frame = pd.DataFrame(found, columns=columns)
    model = RandomForestClassifier(trees, random_state=0).fit(frame, decides == 1)
    leaves, before, clock = sum(one.tree_.n_leaves for one in model.estimators_), peak(), time.process_time()
    explainer = mace.Explainer(model, mace.Space.from_frame(frame))
    read = time.process_time() - clock
    print(f"{samples} samples, {trees} trees, {leaves} leaves: space and model read in {read:.1f} s", flush=True)
    answer_each(explainer, frame[~model.predict(frame)].head(given.rows), given.seconds, before)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, nargs="*", default=[10_000, 60_000])
    parser.add_argument("--trees", type=int, nargs="*", default=[100, 300])
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each answer")
    given = parser.parse_args()
    for samples in given.samples:
        for trees in given.trees:
            run(samples, trees, given)


if __name__ == "__main__":
    main()
