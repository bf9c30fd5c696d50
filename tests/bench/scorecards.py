"""Counterfactuals of a scorecard on Adult: tables 7, 8 and 9 of Navas-Palencia 2021, the paper's figures beside ours.

    MACE_DATA=... python -m tests.bench.scorecards [--cp-sat] [--optbinning] [--limit SECONDS]

The paper's scorecard has the race, which our Adult table has not; here the country of birth stands in its place, and
bins and probabilities differ a little. CPU seconds are of this process, those of writing and of checking certificates
aside; each certificate is given to both checkers. `--cp-sat` runs our formulation for OR-tools' CP-SAT (one worker)
beside it, `--optbinning` the original with its own weights of proximity, each for at most `--limit` seconds. Tables 4
and 6 follow where `MACE_DATA` has HELOC, which FICO hands out on request.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mace import datasets
from mace.errors import CertificateError
from mace.scorecards import Counterfactual
from mace.scorecards.choosing import warm
from tests.bench import heloc
from tests.checkers import accepted_by_all

NAMES = ["Age", "WorkClass", "EducationLevel", "MaritalStatus", "Occupation", "NativeCountry", "Sex", "HoursPerWeek"]
FIXED = ("NativeCountry", "Sex")
PERSON = {
    "Age": 22, "WorkClass": "Private", "EducationLevel": "HS-grad", "MaritalStatus": "Never-married",
    "Occupation": "Other-service", "NativeCountry": "United-States", "Sex": "Male", "HoursPerWeek": 45,
}  # fmt: skip
BOTH = ["diversity_features", "diversity_values"]


class Row(NamedTuple):
    """One row of table 9: K, k, the conditions, how many variables are fixed; the paper's probabilities and seconds."""

    count: int
    changes: int
    hard: Sequence[str]
    fixed: Sequence[str]
    paper: str


TABLE_9 = [
    Row(3, 2, BOTH, FIXED, "infeasible, .1 s"),
    Row(3, 3, BOTH, FIXED, ".506 .. .510, .6 s"),
    Row(3, 4, BOTH, FIXED, ".506 .. .510, 3.9 s"),
    Row(4, 4, BOTH, FIXED, ".502 .. .521, 2.5 s"),
    Row(5, 3, BOTH, FIXED, "infeasible, .8 s"),
    Row(5, 4, BOTH, FIXED, "infeasible, .4 s"),
    Row(5, 3, BOTH[:1], FIXED, ".503 .. .526, 5.1 s"),
    Row(5, 4, BOTH[:1], FIXED, ".503 .. .526, 13.7 s"),
    Row(5, 5, BOTH[:1], FIXED, ".502 .. .522, 9.7 s"),
    Row(5, 5, BOTH[:1], (), ".502 .. .526, 21.3 s (other variables fixed)"),
]


def fitted() -> tuple[Any, Any]:
    """The scorecard, and its training table."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    data = datasets.load("adult")
    X = data.X[NAMES].copy()
    texts = [name for name in NAMES if not np.issubdtype(np.asarray(X[name]).dtype, np.number)]
    for name in texts:
        X[name] = X[name].astype(object)
    # Bins as small as the paper's: the two ways to be married are two of them.
    process = BinningProcess(NAMES, categorical_variables=texts, min_prebin_size=1e-4)
    return Scorecard(process, LogisticRegression(max_iter=1000)).fit(X, np.asarray(data.y).astype(int)), X


def asked(row: Row, objectives: dict[str, float] | None) -> dict[str, Any]:
    return {
        "query": PERSON, "y": 1, "outcome_type": "binary", "n_cf": row.count, "max_changes": row.changes,
        "actionable_features": [name for name in NAMES if name not in row.fixed], "hard_constraints": list(row.hard),
        "objectives": objectives,
    }  # fmt: skip


class Beside(NamedTuple):
    """What another program says of a row of the table, and its CPU seconds."""

    text: str
    seconds: float


def cp_sat(made: Counterfactual, row: Row, limit: float) -> Beside:
    """The same question for OR-tools' CP-SAT: costs in units of 1e-9."""
    from ortools.sat.python import cp_model

    problem, model, unit = made._generated.problem, cp_model.CpModel(), 10**9
    sides = range(len(problem.choices))
    z = [[[model.new_bool_var("") for _ in problem.choices[j]] for j in sides] for _ in range(row.count)]
    moved = [[sum(own) for own in one] for one in z]
    for one, moves in zip(z, moved, strict=True):
        for own in one:
            model.add_at_most_one(own)
        model.add(sum(moves) <= row.changes)
        gain = sum(round(g * unit) * v for j in sides for g, v in zip(problem.gains[j], one[j], strict=True))
        model.add(gain >= round((problem.low - problem.card.score(problem.start)) * unit))
    costs = [
        sum(round(c * unit) * v for j in sides for c, v in zip(problem.steps[j], one[j], strict=True)) for one in z
    ]
    if "closeness" in made._generated.objective:
        costs = [cost + sum(away(model, problem, one, unit)) for cost, one in zip(costs, z, strict=True)]
    for k in range(row.count):
        if k:
            model.add(costs[k - 1] <= costs[k])
        for m in range(k):
            if "diversity_values" in row.hard:
                for j in sides:
                    for a, b in zip(z[k][j], z[m][j], strict=True):
                        model.add(a + b <= 1)
            if "diversity_features" in row.hard:
                apart = []
                for j in sides:
                    differs = model.new_bool_var("")
                    model.add(moved[k][j] + moved[m][j] == 1).only_enforce_if(differs)
                    apart.append(differs)
                model.add_bool_or(apart)
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.max_time_in_seconds = 1, limit
    began = time.process_time()
    status = solver.solve(model)
    spent = time.process_time() - began
    found = f"{solver.objective_value / unit:.4f}" if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else ""
    return Beside(f"CP-SAT {solver.status_name(status)} {found} {spent:.2f} s", spent)


def away(model: Any, problem: Any, one: Any, unit: int) -> list[Any]:
    """The sizes of the forms of closeness of one copy, for CP-SAT."""
    found, starts = [], [problem.values[j][now] for j, now in enumerate(problem.start)]
    for column in problem.near.factor.T:
        form = round(float(column @ (np.array(starts) - problem.near.mean)) * unit)
        for j, choices in enumerate(problem.choices):
            for b, v in zip(choices, one[j], strict=True):
                form += round(float(column[j]) * float(problem.values[j][b] - starts[j]) * unit) * v
        size = model.new_int_var(0, 1000 * unit, "")
        model.add_abs_equality(size, form)
        found.append(size)
    return found


def original(card: Any, X: Any, row: Row, limit: float, objectives: dict[str, float] | None) -> Beside:
    """OptBinning's own answer."""
    import pandas as pd
    from optbinning.scorecard import Counterfactual as Original

    made = Original(card).fit(X)
    began = time.process_time()
    question = {**asked(row, objectives), "query": pd.DataFrame([PERSON])}
    made.generate(**question, time_limit=int(limit))
    spent = time.process_time() - began
    return Beside(f"OptBinning {made.status} {spent:.2f} s", spent)


def checked(made: Counterfactual) -> str:
    """What the checkers say of the certificate; why there is none."""
    began = time.process_time()
    try:
        certificate = made.certificate
    except CertificateError as error:
        return error.message
    written = time.process_time() - began
    verdict = certificate.check()
    spent = time.process_time() - began - written
    if not verdict.accepted:
        return f"certificate refused: {verdict.reason}"
    both = accepted_by_all([certificate]) == 2
    return f"certificate accepted{' by both' if both else ''} (written in {written:.1f} s, checked in {spent:.1f} s)"


Times: TypeAlias = dict[str, list[float]]  # by program: its CPU seconds over ours


def beside(
    made: Counterfactual, card: Any, X: Any, row: Row, spent: float, given: argparse.Namespace, times: Times
) -> str:
    """What the other programs say of the same question."""
    objectives = dict(made._generated.objective)
    others = [cp_sat(made, row, given.limit)] if given.cp_sat else []
    others += [original(card, X, row, given.limit, objectives)] if given.optbinning else []
    for other in others:
        times.setdefault(other.text.split()[0], []).append(other.seconds / max(spent, 1e-3))
    return "".join(f" | {other.text}" for other in others)


def table_9(card: Any, X: Any, arguments: argparse.Namespace, times: Times) -> None:
    print("\nTable 9 (proximity): K, k, conditions | paper | here: probabilities, sum, CPU s | certificate")
    made = Counterfactual(card).fit(X)
    for row in TABLE_9:
        began = time.process_time()
        made.generate(**asked(row, {"proximity": 1}), time_limit=arguments.limit)
        spent = time.process_time() - began
        named = "F+FV" if len(row.hard) == 2 else "F"
        shown = f"{made.status.lower()} {', '.join(made.core)}"
        if made.status == "OPTIMAL":
            outcome = made.display(show_outcome=True)["outcome"]
            shown = f"{outcome.min():.3f} .. {outcome.max():.3f}, {made.objective['proximity']:.4f}"
        line = f"{row.count} {row.changes} {named}, {len(row.fixed)} fixed | {row.paper} | {shown}, {spent:.3f} s"
        print(line + f" | {checked(made)}" + beside(made, card, X, row, spent, arguments, times), flush=True)


def tables_7_and_8(card: Any, X: Any, arguments: argparse.Namespace, times: Times) -> None:
    made = Counterfactual(card).fit(X)
    for number, objectives in ((7, None), (8, {"proximity": 1.0})):
        began = time.process_time()
        made.generate(**asked(TABLE_9[3], objectives), time_limit=arguments.limit)
        spent = time.process_time() - began
        print(f"\nTable {number} (K=4, k=4, F+FV, {'proximity and closeness' if objectives is None else 'proximity'})")
        print(made.display(show_only_changes=True, show_outcome=True).to_string(index=False))
        sums = ", ".join(f"{name} {value:.4f}" for name, value in made.objective.items())
        others = beside(made, card, X, TABLE_9[3], spent, arguments, times)
        print(f"{made.status}: {sums}, {spent:.3f} s; {checked(made)}{others}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cp-sat", action="store_true")
    parser.add_argument("--optbinning", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    card, X = fitted()
    warm()
    times: Times = {}
    tables_7_and_8(card, X, arguments, times)
    table_9(card, X, arguments, times)
    for name, ratios in times.items():
        print(f"{name}: {np.median(ratios):.0f} times our CPU seconds in the median, at the least {min(ratios):.1f}")
    heloc.tables(arguments.limit)


if __name__ == "__main__":
    main()
