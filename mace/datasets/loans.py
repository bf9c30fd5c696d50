"""A table of loan applications that never existed: mixed types, plausible dependence, a noisy decision.

In:  how many rows. Out: a frame with the features of loans.toml and the target `Approved` (1 = approved).
Promise: the same rows on every machine and with every version of numpy: the only source of chance is `random()`, which
is a fixed function of the seed, and everything after it is addition, multiplication and rounding of doubles. A longer
table begins with the rows of a shorter one. Every row obeys the ranges, the steps and the rules of loans.toml.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

ROWS = 2000
SEED = 20
DRAWS = 40  # uniform numbers per row; a change here or in their order changes every row

EDUCATION = ("primary", "secondary", "vocational", "bachelor", "master")
JOB = ("unemployed", "employee", "civil servant", "self-employed", "retired")
HOUSING = ("rent", "own", "with parents")
PURPOSE = ("car", "furniture", "renovation", "education", "business")


def loans(rows: int = ROWS, seed: int = SEED) -> pd.DataFrame:
    """Generate `rows` applications; shape (rows, 16), the target last."""
    import numpy as np
    import pandas as pd

    draws = iter(np.random.Generator(np.random.PCG64(seed)).random((rows, DRAWS)).T)

    def chance() -> Any:
        return next(draws)

    def bell() -> Any:
        """Four uniform numbers make a bell, mean 0 and standard deviation 1 near enough, by addition alone."""
        return (chance() + chance() + chance() + chance() - 2.0) * 1.75

    def whole(number: Any, lower: int, upper: int, step: int = 1) -> Any:
        return (np.clip(np.floor(number / step + 0.5) * step, lower, upper)).astype(np.int64)

    def pick(names: tuple[str, ...], *shares: Any) -> Any:
        """One name a row; each share may depend on the row, the last name takes what is left."""
        point, edge = chance(), np.zeros(rows)
        choice = np.zeros(rows, dtype=np.int64)
        for share in shares:
            edge = edge + share
            choice = choice + (point >= edge)
        return np.minimum(choice, len(names) - 1)

    male = chance() < 0.52
    age = whole(18 + 57 * chance() * (0.55 + 0.45 * chance()), 18, 75)
    education = np.minimum(pick(EDUCATION, 0.08, 0.32, 0.28, 0.2), np.select([age < 20, age < 24], [2, 3], default=4))
    old = age >= 63
    job = pick(
        JOB,
        np.where(old, 0.03, 0.14 - 0.02 * education),
        np.where(old, 0.15, 0.56),
        np.where(old, 0.05, 0.04 + 0.04 * education),
        np.where(old, 0.07, 1.0),  # nobody younger is retired
    )
    working = (job >= 1) & (job <= 3)
    employed = np.where(working, whole((age - 17) * chance() * (0.4 + 0.6 * chance()), 0, 45), 0)

    base = 15000 + 5200 * education + 420 * np.minimum(age - 18, 30) + 260 * employed + 1800 * male
    factor = np.select([job == 0, job == 3, job == 4], [0.45, 1.1, 0.7], default=1.0)
    spread = np.where(job == 3, 0.4, 0.2)
    income = whole(base * factor * np.maximum(1 + spread * bell(), 0.3), 4800, 180000, 100)
    savings = whole(income * chance() * chance() * (0.1 + 0.02 * (age - 18)), 0, 150000, 100)
    housing = pick(HOUSING, np.where(age < 28, 0.55, 0.45), np.where(age < 28, 0.05, 0.1 + 0.007 * age))
    debts = whole(income * chance() * chance() * np.where(housing == 1, 1.1, 0.7), 0, 200000, 100)
    purpose = pick(PURPOSE, 0.34, 0.2, np.where(housing == 1, 0.3, 0.1), 0.14)
    amount = whole(2500 + income * (0.1 + 0.5 * chance()) * np.where(purpose == 4, 1.5, 1.0), 1000, 60000, 500)
    duration = whole(12 + amount / 1000 * (1 + 0.8 * bell() * 0.5), 6, 84, 6)
    dependents = whole(np.where(age > 25, 3.2 * chance() * chance(), 0.8 * chance()) - 0.1, 0, 5)
    missed = whole(np.maximum(1.4 * bell() + debts / income - 0.9 + 0.8 * (job == 0), 0), 0, 10)
    guarantor = chance() < 0.18 + 0.15 * (age < 25)

    installment = amount / duration * 12 / income
    score = (
        0.3
        + 1.5 * (income - 30000) / 20000
        + 0.9 * np.minimum(savings, 30000) / 15000
        - 1.3 * debts / income
        - 2.2 * installment
        + 0.06 * np.minimum(employed, 15)
        + 0.2 * (education - 2)
        + 0.3 * (housing == 1)
        - 0.15 * dependents
        - 0.7 * missed
        + 1.2 * guarantor
        - 0.4 * (purpose == 4)
        - 0.9 * (job == 0)
        + 0.3 * (job == 2)
    )
    approved = score + 0.5 * bell() > 0
    return pd.DataFrame(
        {
            "Age": age,
            "Sex": np.where(male, "male", "female"),
            "Education": np.array(EDUCATION)[education],
            "Job": np.array(JOB)[job],
            "EmploymentYears": employed,
            "Income": income,
            "Savings": savings,
            "Debts": debts,
            "Housing": np.array(HOUSING)[housing],
            "Dependents": dependents,
            "Purpose": np.array(PURPOSE)[purpose],
            "LoanAmount": amount,
            "LoanMonths": duration,
            "MissedPayments": missed,
            "HasGuarantor": np.where(guarantor, "yes", "no"),
            "Approved": approved.astype(np.int64),
        }
    )
