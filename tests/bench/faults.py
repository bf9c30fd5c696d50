"""The four faults that were measured in OptBinning's counterfactuals, each shown on the original and beside ours.

    python -m tests.bench.faults

1. With closeness as the only objective nothing ties the answer to the bins: "optimal", and the class is not the wanted
   one. 2. A coefficient of 0 has the weight 1 / 0, and every query is "infeasible". 3. Probabilities are compared by a
   piecewise approximation, and missed. 4. For K answers at once every constraint is added K times.
The exit code is 1 where ours has one of them; what the original does is printed, whatever it is.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tests.bench.documented import binary_card, people


class Shown(NamedTuple):
    """A fault: whether the original has it, and whether ours has."""

    name: str
    original: bool
    ours: bool


def both(card: Any, X: pd.DataFrame) -> tuple[Any, Any]:
    """The original and ours, fitted."""
    from optbinning.scorecard import Counterfactual as Original

    from mace.scorecards import Counterfactual

    return Original(card).fit(X), Counterfactual(card).fit(X)


def refused(card: Any, X: pd.DataFrame, count: int) -> list[pd.DataFrame]:
    """Rows that the scorecard refuses, the least likely first."""
    order = np.argsort(card.predict_proba(X)[:, 1], kind="stable")[:count]
    return [X.iloc[[place]] for place in order]


def wrong(made: Any, low: float) -> bool:
    """Whether an answer that is called optimal has an outcome below what was asked."""
    if made.status != "OPTIMAL":
        return False
    return bool((np.asarray(made.display(show_outcome=True)["outcome"], dtype=float) < low).any())


def closeness_alone(card: Any, X: pd.DataFrame) -> Shown:
    found = [False, False]
    for query in refused(card, X, 3):
        for k, made in enumerate(both(card, X)):
            made.generate(query, 1, "binary", 1, objectives={"closeness": 1}, max_changes=3)
            found[k] |= wrong(made, 0.5)
    return Shown("closeness alone: the class is not the wanted one", *found)


def coefficient_of_zero() -> Shown:
    """Twenty queries about a scorecard of which some coefficients are 0."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    X, y = people()
    sparse = LogisticRegression(l1_ratio=1.0, C=0.02, solver="liblinear")
    card = Scorecard(BinningProcess(list(X.columns)), sparse).fit(X, y)
    assert (card.estimator_.coef_ == 0).any()
    found = [True, True]
    for query in refused(card, X, 20):
        for k, made in enumerate(both(card, X)):
            made.generate(query, 1, "binary", 1, objectives={"proximity": 1}, max_changes=5)
            found[k] &= made.status == "INFEASIBLE"
    return Shown("a coefficient of 0: all of 20 queries are infeasible", *found)


def probability_missed(card: Any, X: pd.DataFrame) -> Shown:
    found = [False, False]
    for query in refused(card, X, 3):
        for k, made in enumerate(both(card, X)):
            for low in (0.6, 0.7, 0.8, 0.9):
                made.generate(query, low, "probability", 1, max_changes=4, objectives={"proximity": 1},
                              hard_constraints=["min_outcome"])  # fmt: skip
                found[k] |= wrong(made, low)
    return Shown("a probability is missed", *found)


def built_again(card: Any, X: pd.DataFrame) -> Shown:
    """Without diversity K answers need K times as many constraints as one, and few for each pair."""
    (query,), (theirs, ours) = refused(card, X, 1), both(card, X)
    counts = []
    for count in (1, 3):
        theirs.generate(query, 1, "binary", count, max_changes=2, objectives={"proximity": 1}, time_limit=5)
        model = theirs._optimizer
        pairs = count * (count - 1) // 2 * sum(4 + 4 * bins for bins in model._nbins)
        counts.append(model.solver_.NumConstraints() - pairs)
    ours.generate(query, 1, "binary", 3, max_changes=2, objectives={"proximity": 1})
    return Shown("for K answers each constraint is added K times", counts[1] > 3 * counts[0], ours.status != "OPTIMAL")


def main() -> int:
    warnings.simplefilter("ignore")
    card, X = binary_card()
    found = [closeness_alone(card, X), coefficient_of_zero(), probability_missed(card, X), built_again(card, X)]
    for one in found:
        says = ["has it" if has else "has it not" for has in one[1:]]
        print(f"{one.name}: the original {says[0]}, ours {says[1]}")
    return int(any(one.ours for one in found))


if __name__ == "__main__":
    sys.exit(main())
