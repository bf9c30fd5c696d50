"""`mace demo`: one model of each class on the embedded table of loans, a diverse set, and a proved impossibility.

Everything is made and trained here; nothing is read from disk or network. The forest is kept as `forest.joblib`, for
the commands of the README, where there is no file of that name.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.exit_codes import DONE, UNDECIDED
from mace.base.formats import schema_of
from mace.cli.alive import alive
from mace.cli.output import print_json, say, terminal
from mace.cli.progress import Beat
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.solve.status import is_final

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space

SEED = 0
FOREST = "random forest, 100 trees"
KEPT = "forest.joblib"
RULE = 100  # columns of the line with a title
BETTER = {"Income": 1, "Savings": 1, "Debts": -1, "MissedPayments": -1}  # the way in which people expect approval


@dataclass(frozen=True)
class Shown:
    """One part of the demo."""

    title: str
    answer: Answer


def models(space: Space, rows: pd.DataFrame, target: pd.Series[Any]) -> dict[str, Any]:
    """A trained model of each class: trees on the matrix that the space encodes, the others pipelines on raw rows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    matrix = space.encode(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a demo network need not converge
        return {
            "decision tree": DecisionTreeClassifier(max_depth=8, random_state=SEED).fit(matrix, target),
            FOREST: RandomForestClassifier(100, max_depth=8, random_state=SEED).fit(matrix, target),
            "logistic regression": _scaled(space, LogisticRegression()).fit(rows, target),
            "neural network, 10-10": _scaled(space, MLPClassifier((10, 10), random_state=SEED, max_iter=400)).fit(
                rows, target
            ),
        }


def _scaled(space: Space, model: Any) -> Any:
    """A pipeline over the raw columns: numbers scaled, the others one-hot."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = [feature.name for feature in space.features if feature.numeric]
    others = [feature.name for feature in space.features if not feature.numeric]
    columns = ColumnTransformer([("numbers", StandardScaler(), numbers), ("others", OneHotEncoder(), others)])
    return Pipeline([("columns", columns), ("model", model)])


def run_demo(as_json: bool) -> int:
    """Print the demo; returns the exit code: DONE if every answer is optimal or infeasible, else UNDECIDED."""
    from mace.datasets import load

    dataset = load("loans")
    space, rows = dataset.space, dataset.X
    with Beat(f"training four models on {len(rows):,} loans that never existed"):
        trained = models(space, rows, dataset.y)
    with Beat("reading the models, and comparing with what they predict"):
        explainers = {name: Explainer(model, space, background=rows) for name, model in trained.items()}
        row = _rejected(explainers, rows)
    with Beat("making the provers ready"):
        for explainer in explainers.values():
            explainer.ready()
    shown: list[Shown] = []
    for name, explainer in explainers.items():
        shown.append(_part(f"{name}: what would have had to be different?", explainer, row))
        _print(shown[-1], as_json)
    shown.append(_part("three different ways (forest)", explainers[FOREST], row, count=3))
    _print(shown[-1], as_json)
    # Who has no way out is a question of its own: here only the months of the loan may change.
    fixed: Any = {f.name: "fixed" for f in space.features if f.name != "LoanMonths"}
    alive.doing = "looking for somebody who has no way out"
    stuck = Explainer(trained[FOREST], space.change(rules=(), **fixed), background=rows)
    hopeless = _hopeless(stuck, rows)
    shown.append(_part("only the months of the loan may change (forest)", stuck, hopeless))
    _print(shown[-1], as_json)
    kept = _keep(trained[FOREST], KEPT)
    if as_json:
        answers = [{"title": part.title, "answer": part.answer.to_dict()} for part in shown]
        print_json(schema_of("demo") | {"answers": answers})
    elif kept:
        say(
            f"The forest is kept in {KEPT}. Ask about somebody else:\n"
            f"mace explain --model {KEPT} --trust-pickle --data loans --row 3 --goal 1\n"
            "or what is enough for them, and what is proved not to be:\n"
            f"mace menu --model {KEPT} --trust-pickle --data loans --row 3 --goal 1\n",
            nl=False,  # commands to be copied are not broken
        )
    return DONE if all(is_final(part.answer.status) for part in shown) else UNDECIDED


def _keep(model: Any, name: str) -> bool:
    """Write the model for the next commands, where no file of that name is; whether there is one now."""
    import joblib

    path = Path(name)
    if not path.exists():
        try:
            joblib.dump(model, path)
        except OSError as error:
            say(f"mace: {name} cannot be written here: {error.strerror}", err=True)
            return False
    return True


def remarks(answer: Answer) -> list[str]:
    """What is odd about the nearest change: a number that goes the way in which people would not look."""
    out = []
    for name, (before, after) in answer.counterfactuals[0].changes.items() if answer.counterfactuals else ():
        way = BETTER.get(name, 0)
        if way * (after - before if way else 0) < 0:
            moved, should = ("lower", "increasing") if way > 0 else ("raise", "decreasing")
            out.append(
                f"the nearest change is to {moved} {name}: the model is not monotone there. To see where: "
                f'mace verify .. --property "monotone({name}, {should})"'
            )
    return out


def _rejected(explainers: dict[str, Explainer], rows: pd.DataFrame) -> pd.Series[Any]:
    """The first applicant whom every model refuses and whom the rules of the space admit."""
    refused = sum((explainer.decisions(rows) == 0).astype(int) for explainer in explainers.values())
    first: pd.Series[Any] = rows[refused == len(explainers)].iloc[0]
    return first


def _hopeless(explainer: Explainer, rows: pd.DataFrame) -> pd.Series[Any]:
    """The first refused applicant for whom the explainer proves that nothing allowed helps."""
    row: pd.Series[Any] = rows.iloc[0]
    for place in (explainer.decisions(rows) == 0).nonzero()[0]:
        row = rows.iloc[place]
        if explainer.explain(row, goal=1).status == "infeasible":
            break
    return row


def _part(title: str, explainer: Explainer, row: pd.Series[Any], count: int = 1) -> Shown:
    alive.doing = title.partition(":")[0]
    return Shown(title, explainer.explain(row, goal=1, count=count))


def _print(part: Shown, as_json: bool) -> None:
    if as_json:
        say(f"{part.title}: {part.answer.status}", err=True)
        return
    from rich.rule import Rule

    shown = terminal()
    shown.print(Rule(part.title, align="left"), width=min(shown.width, RULE))  # a file is as wide as its lines
    shown.print(part.answer)
    for line in remarks(part.answer):
        shown.print(f"remark: {line}")
    shown.print()
