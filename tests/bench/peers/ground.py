"""What every tool is asked: models trained on scikit-learn's breast_cancer, its numbers scaled to 0 .. 1.

With all ranges equal to 1, l1 is a sum of changes and linf the largest one, to every tool alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]


class Task(NamedTuple):
    """A trained model and the first malignant rows of the test split that it calls so; asked is the nearest benign one.

    train: the rows that it was trained on; known: their classes.
    """

    name: str
    model: Any
    rows: list[Row]
    train: Row
    known: NDArray[np.int64]


class Reply(NamedTuple):
    """What a tool says of one row: the point that it found, if any, its lower bound, and what it says of both.

    lower:  no point is nearer than this, it says, as a distance on the scale of the rows; 0 for a heuristic.
    proved: it says that its point is the nearest, or the nearest but for its tolerance.
    """

    point: Row | None
    lower: float
    proved: bool


class Tool(NamedTuple):
    """A tool as it is asked here.

    ready: of a task and a limit in seconds, the function that answers a row. What depends on the model alone is done
    before that function is returned, and not counted, for every tool alike.
    networks: it answers about networks; trees: about ensembles of trees.
    """

    name: str
    norm: str
    ready: Callable[[Task, float], Callable[[Row], Reply]]
    trees: bool = False
    networks: bool = False
    only: Sequence[str] = ()


def ensembles() -> dict[str, Any]:
    """Forests and boosting, untrained."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    return {
        "forest-10x6": RandomForestClassifier(10, max_depth=6, random_state=0),
        "forest-50x6": RandomForestClassifier(50, max_depth=6, random_state=0),
        "forest-100x6": RandomForestClassifier(100, max_depth=6, random_state=0),
        "boosting-200x4": GradientBoostingClassifier(n_estimators=200, max_depth=4, random_state=0),
    }


def networks() -> dict[str, Any]:
    """Networks of two equal layers, untrained."""
    from sklearn.neural_network import MLPClassifier

    sizes = (10, 20, 32, 64)
    return {f"mlp-{n}-{n}": MLPClassifier((n, n), max_iter=1000, random_state=1) for n in sizes}


def task(name: str, rows: int) -> Task:
    """Train a model, and choose the rows."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data, target = load_breast_cancer(return_X_y=True)
    low, high = data.min(axis=0), data.max(axis=0)
    train, test, known, _ = train_test_split((data - low) / (high - low), target, random_state=0)
    model = {**ensembles(), **networks()}[name].fit(train, known)
    asked = test[model.predict(test) == 0][:rows]
    return Task(name, model, list(asked), train, known)


def distance(norm: str, row: Row, point: Row) -> float:
    """l1: the sum of changes; linf: the largest."""
    change = np.abs(point - row)
    return float(change.sum() if norm == "l1" else change.max())
