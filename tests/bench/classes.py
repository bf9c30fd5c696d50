"""Goals of many classes: "any other digit", or one, asked of models of scikit-learn's handwritten digits, ten classes.

    python -m tests.bench.classes [--rows 5] [--seconds 20] [--norm l1] [--models boosting ..] [--goal 8] [--together]

One line for each model, of the first rows of the test split: how many are proved optimal, median and worst CPU seconds,
and the least and the median share of the distance that is proved; limits count CPU seconds. `--together` searches for
all classes at once before boosting, as is done where that suffices.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from mace import Explainer, Space
from mace.base.deadline import Deadline
from mace.solve.ensembles import prover
from mace.solve.ensembles.boxes import parted
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits
from mace.tables.table import Network
from tests.clocks import Spent


def models() -> dict[str, Callable[[], Any]]:
    """The models by name, untrained."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler
    from xgboost import XGBClassifier

    return {
        "boosting": lambda: GradientBoostingClassifier(random_state=0),
        "histograms": lambda: HistGradientBoostingClassifier(random_state=0),
        "lightgbm": lambda: LGBMClassifier(n_jobs=1, verbose=-1, random_state=0),
        "xgboost": lambda: XGBClassifier(n_jobs=1, random_state=0),
        "forest": lambda: RandomForestClassifier(random_state=0),
        "perceptron-30-30": lambda: make_pipeline(
            MinMaxScaler(), MLPClassifier((30, 30), max_iter=400, random_state=0)
        ),
    }


def run(name: str, options: argparse.Namespace) -> None:
    """Answer the rows of one model, and print its line."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    X, y = load_digits(return_X_y=True, as_frame=True)
    train, test, known, _ = train_test_split(X, y, random_state=0)
    with warnings.catch_warnings(action="ignore"):
        model = models()[name]().fit(train, known)
    explainer = Explainer(model, Space.from_frame(X), distance=options.norm)
    explainer.ready()
    seconds, shares = list[float](), list[float]()
    others = test[model.predict(test) != options.goal]
    for place in range(options.rows):
        question, _ = explainer.question(others.iloc[place], options.goal)
        kind = NetworkOracle if isinstance(question.model, Network) else prover.EnsembleOracle
        began = time.process_time()
        reply = kind(question).ask(None, Limits(Deadline.after(options.seconds, Spent())))
        seconds.append(time.process_time() - began)
        found = isinstance(reply, Found)
        shares.append(float((reply.lower or 0) / question.distance_of(reply.point)) if found else 0.0)
    optimal = sum(share > 1 - 1e-6 for share in shares)
    print(
        f"| {name} | {options.norm} | {optimal} of {len(shares)} | {statistics.median(seconds):.2f} / "
        f"{max(seconds):.2f} | {min(shares):.3f} / {statistics.median(shares):.3f} |",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="limit of each search, CPU seconds")
    parser.add_argument("--norm", default="l1", choices=("l0", "l1", "linf"))
    parser.add_argument("--models", nargs="*", default=list(models()), choices=list(models()))
    parser.add_argument("--goal", type=int, choices=range(10), help="this digit, of rows that are not taken for it")
    parser.add_argument("--together", action="store_true", help="all classes at once before boosting")
    options = parser.parse_args()
    print("| model | norm | optimal | seconds, median / worst | share proved, least / median |")
    print("|---|---|---|---|---|")
    with patch.object(parted, "MOST", 0.0 if options.together else parted.MOST):
        for name in options.models:
            run(name, options)


if __name__ == "__main__":
    main()
