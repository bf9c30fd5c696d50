"""The paper's experiment: its tables, its models, its rows, its baselines, and the records of all of them.

In:  a data set, a class of models, a distance.    Out: for each method a record a row, from the engine of the audits.
The table is balanced (as many rows of each outcome, drawn with seed SEED) and split 70/30 (SEED again); the models have
scikit-learn's defaults, but a forest of 10 trees and a network of 10 and 10. Every feature may change, and no rule
holds. The rows are the first of the test split that the model predicts 0, in COMPAS too, where 0 is the favourable
class. "MO" searches the test split, as the authors' code does, and "MO, all rows" the whole balanced table.
Source: Karimi et al. 2020, section 5 and appendix B.2.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.audit.record import Record
from mace.audit.several import Part
from mace.datasets import load
from mace.reproduce.methods import Proposing
from mace.reproduce.recourse.printed import DATA, NORMS
from mace.reproduce.work import Work
from mace.search.tweaking import FeatureTweaking
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

SEED = 54321
ROWS = 500
MODELS = ("tree", "forest", "logistic", "mlp")
GAPS = ("1e-1", "1e-3", "1e-5")
WORDS = (*DATA, *MODELS, *NORMS)
SETTING = [
    f"Each table balanced to 50/50 and split 70/30 (seed {SEED}); scikit-learn's defaults, a forest of 10 trees, a "
    "network of 10 and 10; every feature free to change, no rules; goal 1 for test rows that are predicted 0.",
    'MO is the nearest row with the goal among those of the test split, as in the authors\' code; "MO, all rows" among '
    "those of the balanced table. PFT moves every tested number to just past its threshold, as the published algorithm "
    'does; "PFT, least" only those that fail their tests. AR chooses among 100 values of each number.',
]
MODEL_NAMES = {
    "tree": "decision tree",
    "forest": "forest of 10",
    "logistic": "logistic regression",
    "mlp": "MLP (10, 10)",
}


class Trained(NamedTuple):
    """A table and a model: the rows of the test split, all rows of the balanced table (those of the test split first),
    the space, the model."""

    test: pd.DataFrame
    table: pd.DataFrame
    space: Space
    model: Any


class Setting(NamedTuple):
    """One cell of the experiment."""

    data: str
    model: str
    norm: str


def settings(work: Work, norms: Sequence[str] = NORMS) -> list[Setting]:
    """The cells that were chosen: a model after the other, over the tables."""
    return [
        Setting(data, model, norm)
        for model in work.chosen(MODELS)
        for data in work.chosen(DATA)
        for norm in work.chosen(norms)
        if norm in norms
    ]


@lru_cache(maxsize=12)
def trained(data: str, kind: str) -> Trained:
    """The balanced table, split, and a model of the train split; raises FileError where the data are not found."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    dataset = load(data)
    space = dataset.free_space
    outcomes = [dataset.frame[dataset.y == label] for label in (0, 1)]
    count = min(map(len, outcomes))
    drawn = [rows.sample(count, random_state=SEED) for rows in outcomes]
    balanced = pd.concat(drawn).sample(frac=1.0, random_state=SEED)
    train, test = train_test_split(balanced, train_size=0.7, random_state=SEED)
    model = _fit(kind, space.encode(train), train[dataset.target])
    held = test.drop(columns=dataset.target)
    return Trained(held, pd.concat([held, train.drop(columns=dataset.target)]), space, model)


def _fit(kind: str, matrix: Any, target: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.tree import DecisionTreeClassifier

    model = {
        "tree": DecisionTreeClassifier(random_state=SEED),
        "forest": RandomForestClassifier(10, random_state=SEED),
        "logistic": LogisticRegression(),
        "mlp": MLPClassifier((10, 10), random_state=SEED),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the defaults of these models need not converge
        return model.fit(matrix, target)


def others(cell: Setting) -> list[str]:
    """The baselines that take a model of this class, as the paper has them."""
    named = ["MO", "MO, all rows"]
    if cell.model in ("tree", "forest"):
        named += ["PFT", "PFT, least"]
    if cell.model == "logistic" and cell.norm != "l0":
        named.append("AR")
    return named


def records(work: Work, cell: Setting, gaps: Sequence[str], methods: Sequence[str]) -> dict[str, list[Record]]:
    """Gap or method -> a record for each row of a cell."""
    test, table, space, model = trained(cell.data, cell.model)
    by = {
        "MO": Proposing("mo", among=len(test)),
        "MO, all rows": Proposing("mo"),
        "PFT": Proposing(FeatureTweaking(every=True)),
        "PFT, least": Proposing("pft"),
        "AR": Proposing("ar"),
    }
    parts = [Part(f"gap {gap}", gap=gap) for gap in gaps] + [Part(name, by=by[name]) for name in methods]
    found = work.ask(
        f"mace-{cell.data}-{cell.model}-{cell.norm}", model, space, test, 1, parts,
        limit=work.limit(ROWS), background=table, distance=cell.norm,
    )  # fmt: skip
    return {name.removeprefix("gap "): answered for name, answered in found.items()}


def proved(answered: Sequence[Record]) -> int:
    """How many records are final: the optimum within the gap that was asked for, or proved impossible."""
    return sum(record.proved for record in answered)
