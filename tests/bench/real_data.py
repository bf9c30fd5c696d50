"""Adult, Credit and COMPAS x tree, forest, logistic regression, network x l0, l1, linf: is everything proved?

    python -m tests.bench.real_data [--rows 5] [--oracle auto] [--data adult ...] [--space free]

Every feature may change (the paper's setting, `--space free`) or only as the shipped space allows (`--space shipped`).
Every witness is checked here again: it flips `predict`, lies in the space, and is at the distance stated.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import time
import warnings
from collections import Counter
from typing import Any

from mace import datasets
from mace.explain.explainer import Explainer
from mace.space.space import Space

CLASSES = ("tree", "forest", "logistic", "mlp")
NORMS = ("l0", "l1", "linf")


def train(kind: str, matrix: Any, target: Any) -> Any:
    """A model of the paper's experiment, with scikit-learn's defaults."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    model = {
        "tree": DecisionTreeClassifier(random_state=0),
        "forest": RandomForestClassifier(10, random_state=0),
        "logistic": LogisticRegression(max_iter=1000),
        "mlp": MLPClassifier((10, 10), random_state=0),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(matrix, target)


def cpu() -> float:
    """CPU seconds of this process and its ended children."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def verify(answer: Any, explainer: Explainer, goal: Any) -> None:
    """Raise AssertionError unless the witness is real; the bounds are in order."""
    if answer.exact_distance is None:
        return
    question, witness = answer.question, answer.witness
    assert question.obeys(witness), "the witness leaves the space"
    assert explainer.decide(question, witness) == goal, "the witness does not flip predict"
    assert question.distance_of(witness) == answer.exact_distance >= answer.exact_lower_bound


def main() -> None:
    """Print one line a setting and a summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--oracle", default="auto")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--gap", type=float, default=None)
    parser.add_argument("--space", choices=["free", "shipped"], default="free")
    parser.add_argument("--data", nargs="*", default=["adult", "credit", "compas"])
    parser.add_argument("--models", nargs="*", default=list(CLASSES))
    parser.add_argument("--norms", nargs="*", default=list(NORMS))
    arguments = parser.parse_args()
    print(
        "| data | model | norm | status | mean distance | mean lower bound | largest gap | CPU s median | CPU s worst |"
    )
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    began = time.time()
    total: Counter[str] = Counter()
    for name in arguments.data:
        dataset = datasets.load(name)
        space: Space = dataset.free_space if arguments.space == "free" else dataset.space
        matrix = space.encode(dataset.X)
        for kind in arguments.models:
            model = train(kind, matrix, dataset.y)
            rejected = dataset.X[model.predict(matrix) != dataset.goal].iloc[: arguments.rows]
            for norm in arguments.norms:
                explainer = Explainer(model, space, background=dataset.X, distance=norm)
                assert explainer.background is not None
                explainer.background.read()
                seconds, answers = [], []
                for place in range(len(rejected)):
                    before = cpu()
                    answer = explainer.explain(
                        rejected.iloc[place],
                        goal=dataset.goal,
                        oracle=arguments.oracle,
                        timeout=arguments.timeout,
                        gap=arguments.gap,
                    )
                    seconds.append(cpu() - before)
                    verify(answer, explainer, dataset.goal)
                    answers.append(answer)
                statuses = Counter(answer.status for answer in answers)
                total.update(statuses)
                known = [a for a in answers if a.exact_distance is not None]
                distance = statistics.mean(a.distance for a in known) if known else float("nan")
                lower = statistics.mean(a.lower_bound for a in known) if known else float("nan")
                gap = max((a.distance - a.lower_bound for a in known), default=float("nan"))
                shown = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
                print(
                    f"| {name} | {kind} | {norm} | {shown} | {distance:.6f} | {lower:.6f} | {gap:.1e} "
                    f"| {statistics.median(seconds):.3f} | {max(seconds):.3f} |",
                    flush=True,
                )
    print(f"\n{dict(total)} in {time.time() - began:.0f} s; every witness flips predict and obeys its space")


if __name__ == "__main__":
    main()
