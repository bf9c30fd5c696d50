"""How fast the SMT route is: CPU seconds of driver and solver together, against the goals set for it.

    python -m tests.bench.smt [--rows 5] [--oracle z3] [--gap 1e-5] [--all]

Distance l1, every feature may change, median over the first rejected rows; the model is trained and the background
rows are read before the clock starts. Every witness is checked again.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter

from mace import datasets
from mace.explain.explainer import Explainer
from tests.bench.real_data import cpu, train, verify

# Data set, model, CPU seconds that the median may take, and what the original takes (its own gap: 1e-3 for the forest).
GOALS = (
    ("adult", "tree", 1.5, 9.1),
    ("adult", "logistic", 1.0, 3.7),
    ("compas", "forest", 2.0, 6.7),
    ("compas", "mlp", 30.0, 257.0),
)
MORE = (("adult", "forest", None, None), ("credit", "forest", None, None), ("credit", "logistic", None, None))


def main() -> None:
    """Print one line a setting."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--oracle", choices=["z3", "cvc5", "smt"], default="z3")
    parser.add_argument("--gap", type=float, default=1e-5)
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--all", action="store_true", help="settings without a goal as well")
    arguments = parser.parse_args()
    print("| data | model | status | questions | CPU s median | worst | goal | original |")
    print("|---|---|---|---|---|---|---|---|")
    for name, kind, goal, original in (*GOALS, *(MORE if arguments.all else ())):
        dataset = datasets.load(name)
        space = dataset.free_space
        matrix = space.encode(dataset.X)
        model = train(kind, matrix, dataset.y)
        rejected = dataset.X[model.predict(matrix) != dataset.goal].iloc[: arguments.rows]
        explainer = Explainer(model, space, background=dataset.X, distance="l1")
        assert explainer.background is not None
        explainer.background.read()
        seconds, questions, statuses = [], [], Counter[str]()
        for place in range(len(rejected)):
            before = cpu()
            answer = explainer.explain(
                rejected.iloc[place],
                goal=dataset.goal,
                oracle=arguments.oracle,
                gap=arguments.gap,
                rgap=0,
                timeout=arguments.timeout,
            )
            seconds.append(cpu() - before)
            verify(answer, explainer, dataset.goal)
            statuses[answer.status] += 1
            questions.append(len(answer.trace))
        shown = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
        print(
            f"| {name} | {kind} | {shown} | {statistics.median(questions):g} | {statistics.median(seconds):.2f} "
            f"| {max(seconds):.2f} | {goal or '-'} | {original or '-'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
