"""Models without a table, bounded over boxes, on the 30 real numbers of scikit-learn's breast_cancer.

    python -m tests.bench.boxes [--rows 2] [--limit 4] [--only tanh,votes]

One line for each model and norm, of rows that the model takes for malign: how many are optimal, the least and the
median share of the distance that is proved, and the median of the CPU seconds.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from mace import Feature, Space
from mace.explain.explainers import explainer_of

NORMS = ("l1", "linf", "l0")


def models() -> dict[str, Callable[[], Any]]:
    """The models by name."""
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, SplineTransformer, StandardScaler
    from sklearn.svm import SVC

    def scaled(*steps: Any) -> Any:
        return make_pipeline(StandardScaler(), *steps)

    def perceptron(*widths: int, activation: str) -> Any:
        return MLPClassifier(widths, activation=activation, max_iter=500, random_state=0)

    def members() -> list[tuple[str, Any]]:
        forest = RandomForestClassifier(10, max_depth=5, random_state=0)
        return [("linear", scaled(LogisticRegression())), ("forest", forest)]

    return {
        "tanh 10": lambda: scaled(perceptron(10, activation="tanh")),
        "tanh 10-10": lambda: scaled(perceptron(10, 10, activation="tanh")),
        "logistic 16": lambda: scaled(perceptron(16, activation="logistic")),
        "PCA 5, tanh 10": lambda: scaled(PCA(5), perceptron(10, activation="tanh")),
        "Gaussian naive Bayes": GaussianNB,
        "splines, logistic regression": lambda: make_pipeline(SplineTransformer(), LogisticRegression(max_iter=2000)),
        "soft votes of linear, forest": lambda: VotingClassifier(members(), voting="soft"),
        "stack of linear, forest": lambda: StackingClassifier(members()),
        "SVC poly": lambda: scaled(SVC(kernel="poly")),
        "SVC rbf": lambda: scaled(SVC()),
        "products, logistic regression": lambda: scaled(PolynomialFeatures(2), LogisticRegression(max_iter=2000)),
        "quadratic discriminant": lambda: scaled(QuadraticDiscriminantAnalysis(reg_param=0.1)),
        "5 neighbours": lambda: scaled(KNeighborsClassifier()),
    }


def ask(name: str, model: Any, space: Space, rows: pd.DataFrame, background: pd.DataFrame, limit: float) -> None:
    """Print one line for each norm."""
    for norm in NORMS:
        explainer = explainer_of(model, space, distance=norm, background=background)
        shares, seconds, optimal = [], [], 0
        for _, row in rows.iterrows():
            began = time.process_time()
            answer = explainer.explain(row, goal=1, timeout=limit)
            seconds.append(time.process_time() - began)
            optimal += answer.status == "optimal"
            distance = answer.exact_distance
            shares.append(float(answer.exact_lower_bound / distance) if distance else 0.0)
        told = f"{optimal} of {len(rows)} | {min(shares):.2f} | {statistics.median(shares):.2f}"
        print(f"| {name} | {norm} | {told} | {statistics.median(seconds):.2f} |", flush=True)


def main() -> None:
    """Fit the models, ask, and print."""
    from sklearn.datasets import load_breast_cancer

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--limit", type=float, default=4.0, help="seconds for each answer")
    parser.add_argument("--only", default="", help="parts of names of models, with commas between")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    space = Space([Feature(name, "real", X[name].min(), X[name].max()) for name in X.columns])
    print("| model | norm | optimal | least share proved | median share | CPU s |\n|---|---|---|---|---|---|")
    for name, make in models().items():
        if any(part in name for part in given.only.split(",")):
            model = make().fit(X, y)
            rows = X.iloc[np.flatnonzero(model.predict(X) == 0)[: given.rows]]
            ask(name, model, space, rows, X, given.limit)


if __name__ == "__main__":
    main()
