"""Random scorecards, and the best set of choices of bins by trying every one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd

from mace.certify.writer import Certificate
from mace.scorecards import Bin, Card, Counterfactual, Variable

HARD = ("diversity_features", "diversity_values")
ASKED: list[tuple[int, tuple[str, ...], dict[str, float]]] = [
    (1, (), {"proximity": 1.0, "closeness": 0.5}),
    (2, HARD[:1], {"proximity": 1.0}),
    (3, HARD, {"proximity": 1.0}),
    (2, HARD[1:], {"closeness": 1.0}),
]


def card(rng: np.random.Generator, variables: int = 3, bins: int = 3) -> Card:
    made = []
    for j in range(variables):
        values = rng.choice(np.linspace(-2, 2, 41), bins, replace=False)
        ends = [-np.inf, *range(1, bins), np.inf]
        own = tuple(
            Bin(f"{low}..{high}", "interval", float(v), low=low, high=high)
            for v, low, high in zip(values, ends, ends[1:], strict=False)
        )
        made.append(Variable(f"x{j}", float(rng.normal()), own))
    return Card(tuple(made), float(rng.normal() / 2))


def table(made: Card, rng: np.random.Generator, rows: int = 200) -> pd.DataFrame:
    return pd.DataFrame({v.name: rng.integers(0, len(v.bins), rows) + 0.5 for v in made.variables})


def every_set(found: Counterfactual, count: int, rules: tuple[str, ...], aims: dict[str, float]) -> float | None:
    """The least sum over all sets, by trying every one; None if there is none."""
    problem = found._generated.problem
    made, singles = problem.card, []
    for places in itertools.product(*[range(len(v.bins)) for v in made.variables]):
        bins = [-1 if k == s else k for k, s in zip(places, problem.start, strict=True)]
        if any(b >= 0 and b not in problem.choices[j] for j, b in enumerate(bins)):
            continue
        if sum(b >= 0 for b in bins) > problem.most_changes or not problem.low < made.score(places) < problem.high:
            continue
        x = np.array([v.bins[k].value for v, k in zip(made.variables, places, strict=True)])
        now = np.array([v.bins[k].value for v, k in zip(made.variables, problem.start, strict=True)])
        near = float((np.array(problem.weights) * np.abs(x - now)).sum())
        assert problem.near is not None
        close = float(np.abs(problem.near.factor.T @ (x - problem.near.mean)).sum())
        singles.append((aims.get("proximity", 0) * near + aims.get("closeness", 0) * close, bins))
    best = None
    for chosen in itertools.combinations(singles, count):
        good = True
        for (_, a), (_, b) in itertools.combinations(chosen, 2):
            moved = [[k >= 0 for k in one] for one in (a, b)]
            good &= "diversity_features" not in rules or moved[0] != moved[1]
            good &= "diversity_values" not in rules or not any(k >= 0 and k == m for k, m in zip(a, b, strict=True))
        total = sum(cost for cost, _ in chosen)
        if good and (best is None or total < best):
            best = total
    return best


def cards_agree(seed: int) -> dict[str, Certificate]:
    """Questions about one random scorecard: status and number of each, with its certificate.

    Raises AssertionError where enumeration says something else.
    """
    rng = np.random.default_rng(seed)
    made = card(rng)
    found = Counterfactual(made).fit(table(made, rng))
    row = {v.name: int(rng.integers(0, 3)) + 0.5 for v in made.variables}
    certificates: dict[str, Certificate] = {}
    for number, (count, rules, aims) in enumerate(ASKED):
        y = int(made.score(made.places(row)) <= 0)
        found.generate(row, y, "binary", count, max_changes=2, objectives=aims, hard_constraints=rules)
        truth, label = every_set(found, count, rules, aims), (seed, number)
        assert found.status == ("INFEASIBLE" if truth is None else "OPTIMAL"), label
        if truth is not None:
            value = sum(aims[name] * value for name, value in found.objective.items())
            assert math.isclose(value, truth, rel_tol=1e-9, abs_tol=1e-12), (label, value, truth)
            outcome = found.display(show_outcome=True)["outcome"]
            assert ((outcome > 0.5) == (y == 1)).all() and len(outcome) == count, label
        certificates[f"{found.status.lower()} {number}"] = certificate = found.certificate
        assert certificate.check().accepted
        assert truth is None or math.isclose(claimed(certificate), truth, rel_tol=1e-9)
    return certificates


def claimed(certificate: Certificate) -> float:
    """Below what no sum is, by a certificate."""
    return float(Fraction(certificate.data["statement"]["claim"]["closer_than"]))
