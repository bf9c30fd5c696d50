"""`mace demo`: one model of each class on the embedded table of loans, a diverse set, and a proved impossibility.

Everything is made and trained here in seconds; nothing is read from disk or network.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mace.answer import Answer
from mace.recourse import Explainer

if TYPE_CHECKING:
    import pandas as pd

    from mace.space import Space

SEED = 0


@dataclass(frozen=True)
class Shown:
    """One part of the demo."""

    title: str
    answer: Answer


def models() -> dict[str, Any]:
    """An untrained model of each class."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "decision tree": DecisionTreeClassifier(max_depth=8, random_state=SEED),
        "random forest, 100 trees": RandomForestClassifier(100, max_depth=8, random_state=SEED),
        # newton-cholesky copes with columns of very different size, such as years and euros.
        "logistic regression": LogisticRegression(solver="newton-cholesky"),
        "neural network, 10-10": MLPClassifier((10, 10), random_state=SEED, max_iter=400),
    }


def run_demo(as_json: bool) -> int:
    """Print the demo; returns the exit code (0, or 5 if an answer is not optimal or infeasible)."""
    from mace.datasets import load

    dataset = load("loans")
    space, rows = dataset.space, dataset.X
    matrix = space.encode(rows)
    trained = {}
    for name, model in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a demo network need not converge
            trained[name] = model.fit(matrix, dataset.y)
    forest = trained["random forest, 100 trees"]
    row = _rejected(trained, space, rows)
    shown = []
    for name, model in trained.items():
        shown.append(
            _part(f"{name}: what would have had to be different?", Explainer(model, space, background=rows), row)
        )
        _print(shown[-1], as_json)
    shown.append(_part("three different ways (forest)", Explainer(forest, space, background=rows), row, count=3))
    _print(shown[-1], as_json)
    # Which applicants have no way out is a question of its own: here only the terms of the loan may change.
    fixed: Any = {f.name: "fixed" for f in space.features if f.name not in ("LoanMonths", "Purpose")}
    stuck = Explainer(forest, space.change(rules=(), **fixed), background=rows)
    hopeless = _hopeless(stuck, forest, matrix, rows)
    shown.append(_part("only the months and the purpose of the loan may change (forest)", stuck, hopeless))
    _print(shown[-1], as_json)
    if as_json:
        print(json.dumps([{"title": part.title, **part.answer.to_dict()} for part in shown], indent=2))
    return 0 if all(part.answer.status in ("optimal", "infeasible") for part in shown) else 5


def _rejected(trained: dict[str, Any], space: Space, rows: pd.DataFrame) -> pd.Series[Any]:
    """The first applicant whom every model refuses and whom the rules of the space admit."""
    refused = sum((model.predict(space.encode(rows)) == 0).astype(int) for model in trained.values())
    return rows[refused == len(trained)].iloc[0]


def _hopeless(explainer: Explainer, model: Any, matrix: pd.DataFrame, rows: pd.DataFrame) -> pd.Series[Any]:
    """The first refused applicant for whom the explainer proves that nothing allowed helps."""
    for place in (model.predict(matrix) == 0).nonzero()[0]:
        if explainer.explain(rows.iloc[place], goal=1).status == "infeasible":
            return rows.iloc[place]
    return rows.iloc[0]


def _part(title: str, explainer: Explainer, row: pd.Series[Any], count: int = 1) -> Shown:
    return Shown(title, explainer.explain(row, goal=1, count=count))


def _print(part: Shown, as_json: bool) -> None:
    if as_json:
        print(f"{part.title}: {part.answer.status}", file=sys.stderr)
        return
    from rich.console import Console
    from rich.rule import Rule

    console = Console(highlight=False)
    console.print(Rule(part.title, align="left"))
    console.print(part.answer)
    console.print()
