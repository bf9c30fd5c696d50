"""A model written by hand in the core language, and the nearest way to a loan, proved by two SMT solvers."""

from pathlib import Path

import mace

space = mace.Space(
    [
        mace.Feature("Age", "integer", 18, 100, change="increase", unit="years"),
        mace.Feature("Income", "real", 0, 200_000, step=100, unit="EUR"),
        mace.Feature("Debts", "real", 0, 100_000, step=100, unit="EUR"),
        mace.Feature("Job", "ordinal", levels=["none", "part-time", "full-time"]),
        mace.Feature("Owner", "binary", change="fixed"),
    ]
)
applicant = {"Age": 20, "Income": 31_500, "Debts": 12_000, "Job": "part-time", "Owner": 0}
answer = mace.explain(Path(__file__).with_name("credit.mace"), space, applicant, goal=1, gap=0)
print(answer)
