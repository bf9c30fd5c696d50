"""A table of loan applications that never existed: mixed types, plausible dependence, a noisy decision.

In:  how many rows. Out: a frame with the features of loans.toml and the target `Approved` (1 = approved).
Promise: the same rows on every machine and with every version of numpy: the only source of chance is `random()`, which
is a fixed function of `random_state`, and everything after it is addition, multiplication and rounding of doubles. A
longer table begins with the rows of a shorter one. Every row obeys the ranges, the steps and the rules of loans.toml.
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
COLUMNS = (
    "Age", "Sex", "Education", "Job", "EmploymentYears", "Income", "Savings", "Debts", "Housing", "Dependents",
    "Purpose", "LoanAmount", "LoanMonths", "MissedPayments", "HasGuarantor", "Approved",
)  # fmt: skip


class _Chance:
    """Uniform numbers, used in order, and what is made of them: for every row at once."""

    def __init__(self, rows: int, random_state: int) -> None:
        import numpy as np

        self.rows = rows
        self._draws = iter(np.random.Generator(np.random.PCG64(random_state)).random((rows, DRAWS)).T)

    def __call__(self) -> Any:
        return next(self._draws)

    def bell(self) -> Any:
        """Four uniform numbers make a bell, mean 0 and standard deviation 1 near enough, by addition alone."""
        return (self() + self() + self() + self() - 2.0) * 1.75

    def pick(self, names: tuple[str, ...], *shares: Any) -> Any:
        """The number of one name a row; each share may depend on the row, the last name takes what is left."""
        import numpy as np

        point, edge = self(), np.zeros(self.rows)
        choice = np.zeros(self.rows, dtype=np.int64)
        for share in shares:
            edge = edge + share
            choice = choice + (point >= edge)
        return np.minimum(choice, len(names) - 1)


def _whole(number: Any, lower: int, upper: int, step: int = 1) -> Any:
    """The nearest multiple of a step within a range."""
    import numpy as np

    return (np.clip(np.floor(number / step + 0.5) * step, lower, upper)).astype(np.int64)


def loans(rows: int = ROWS, random_state: int = SEED) -> pd.DataFrame:
    """Generate `rows` applications; shape (rows, 16), the target last."""
    import numpy as np
    import pandas as pd

    chance = _Chance(rows, random_state)
    people = _people(chance)
    columns = people | _requests(chance, people)
    columns["Approved"] = _approved(chance, columns)
    names = {"Education": EDUCATION, "Job": JOB, "Housing": HOUSING, "Purpose": PURPOSE}
    shown = columns | {column: np.array(levels)[columns[column]] for column, levels in names.items()}
    shown["Sex"] = np.where(columns["Sex"], "male", "female")
    shown["HasGuarantor"] = np.where(columns["HasGuarantor"], "yes", "no")
    return pd.DataFrame({column: shown[column] for column in COLUMNS})


def _people(chance: _Chance) -> dict[str, Any]:
    """Who applies. Levels are numbers; of Sex, whether it is male."""
    import numpy as np

    male = chance() < 0.52
    age = _whole(18 + 57 * chance() * (0.55 + 0.45 * chance()), 18, 75)
    schooled = chance.pick(EDUCATION, 0.08, 0.32, 0.28, 0.2)
    education = np.minimum(schooled, np.select([age < 20, age < 24], [2, 3], default=4))
    old = age >= 63
    job = chance.pick(
        JOB,
        np.where(old, 0.03, 0.14 - 0.02 * education),
        np.where(old, 0.15, 0.56),
        np.where(old, 0.05, 0.04 + 0.04 * education),
        np.where(old, 0.07, 1.0),  # nobody younger is retired
    )
    working = (job >= 1) & (job <= 3)
    employed = np.where(working, _whole((age - 17) * chance() * (0.4 + 0.6 * chance()), 0, 45), 0)

    base = 15000 + 5200 * education + 420 * np.minimum(age - 18, 30) + 260 * employed + 1800 * male
    factor = np.select([job == 0, job == 3, job == 4], [0.45, 1.1, 0.7], default=1.0)
    spread = np.where(job == 3, 0.4, 0.2)
    income = _whole(base * factor * np.maximum(1 + spread * chance.bell(), 0.3), 4800, 180000, 100)
    savings = _whole(income * chance() * chance() * (0.1 + 0.02 * (age - 18)), 0, 150000, 100)
    housing = chance.pick(HOUSING, np.where(age < 28, 0.55, 0.45), np.where(age < 28, 0.05, 0.1 + 0.007 * age))
    debts = _whole(income * chance() * chance() * np.where(housing == 1, 1.1, 0.7), 0, 200000, 100)
    return {
        "Age": age, "Sex": male, "Education": education, "Job": job, "EmploymentYears": employed, "Income": income,
        "Savings": savings, "Debts": debts, "Housing": housing,
    }  # fmt: skip


def _requests(chance: _Chance, people: dict[str, Any]) -> dict[str, Any]:
    """What they ask for, and what else is known of them."""
    import numpy as np

    age, job, income = people["Age"], people["Job"], people["Income"]
    debts, housing = people["Debts"], people["Housing"]
    purpose = chance.pick(PURPOSE, 0.34, 0.2, np.where(housing == 1, 0.3, 0.1), 0.14)
    amount = 2500 + income * (0.1 + 0.5 * chance()) * np.where(purpose == 4, 1.5, 1.0)
    amount = _whole(amount, 1000, 60000, 500)
    duration = _whole(12 + amount / 1000 * (1 + 0.8 * chance.bell() * 0.5), 6, 84, 6)
    dependents = _whole(np.where(age > 25, 3.2 * chance() * chance(), 0.8 * chance()) - 0.1, 0, 5)
    missed = _whole(np.maximum(1.4 * chance.bell() + debts / income - 0.9 + 0.8 * (job == 0), 0), 0, 10)
    guarantor = chance() < 0.18 + 0.15 * (age < 25)
    return {
        "Dependents": dependents, "Purpose": purpose, "LoanAmount": amount, "LoanMonths": duration,
        "MissedPayments": missed, "HasGuarantor": guarantor,
    }  # fmt: skip


def _approved(chance: _Chance, of: dict[str, Any]) -> Any:
    """The noisy decision, 0 or 1."""
    import numpy as np

    income, job = of["Income"], of["Job"]
    installment = of["LoanAmount"] / of["LoanMonths"] * 12 / income
    score = (
        0.3
        + 1.5 * (income - 30000) / 20000
        + 0.9 * np.minimum(of["Savings"], 30000) / 15000
        - 1.3 * of["Debts"] / income
        - 2.2 * installment
        + 0.06 * np.minimum(of["EmploymentYears"], 15)
        + 0.2 * (of["Education"] - 2)
        + 0.3 * (of["Housing"] == 1)
        - 0.15 * of["Dependents"]
        - 0.7 * of["MissedPayments"]
        + 1.2 * of["HasGuarantor"]
        - 0.4 * (of["Purpose"] == 4)
        - 0.9 * (job == 0)
        + 0.3 * (job == 2)
    )
    return (score + 0.5 * chance.bell() > 0).astype(np.int64)
