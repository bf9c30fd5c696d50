"""Fetch a table from OpenML and bring it into the shape of the known one.

In:  a name. Out: a frame with the known columns and level names, in OpenML's own order of rows.
Promise: a value that the tables below do not foresee is an error, never a guess. `source.py` compares the digest.
Source: Karimi et al. 2020, appendix B.2, for rows and features; Ustun, Spangher and Liu 2019 for Credit's.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.datasets.wide import VARIABLE
from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

NT_DOLLARS_PER_DOLLAR = 32.75

GERMAN_COLUMNS = {
    "checking_status": "CheckingAccountStatus",
    "duration": "LoanDurationMonths",
    "credit_history": "CreditHistory",
    "purpose": "Purpose",
    "credit_amount": "CreditAmount",
    "savings_status": "SavingsAccount",
    "employment": "EmploymentSince",
    "installment_commitment": "InstallmentRatePercent",
    "personal_status": "PersonalStatusAndSex",
    "other_parties": "OtherDebtors",
    "residence_since": "ResidenceSince",
    "property_magnitude": "Property",
    "age": "Age",
    "other_payment_plans": "OtherInstallmentPlans",
    "housing": "Housing",
    "existing_credits": "ExistingCredits",
    "job": "Job",
    "num_dependents": "Dependents",
    "own_telephone": "Telephone",
    "foreign_worker": "ForeignWorker",
    "class": "GoodCustomer",
}
GERMAN_LEVELS: dict[str, dict[str, Any]] = {
    "CheckingAccountStatus": {
        "<0": "<0 DM",
        "0<=X<200": "0-199 DM",
        ">=200": ">=200 DM or salary for 1 year",
        "no checking": "no checking account",
    },
    "CreditHistory": {
        "no credits/all paid": "no credits taken / all paid back duly",
        "all paid": "all credits at this bank paid back duly",
        "existing paid": "existing credits paid back duly till now",
        "delayed previously": "delay in paying off in the past",
        "critical/other existing credit": "critical account / other credits elsewhere",
    },
    "Purpose": {
        "new car": "car (new)",
        "used car": "car (used)",
        "furniture/equipment": "furniture/equipment",
        "radio/tv": "radio/television",
        "domestic appliance": "domestic appliances",
        "repairs": "repairs",
        "education": "education",
        "retraining": "retraining",
        "business": "business",
        "other": "others",
    },
    "SavingsAccount": {
        "<100": "<100 DM",
        "100<=X<500": "100-499 DM",
        "500<=X<1000": "500-999 DM",
        ">=1000": ">=1000 DM",
        "no known savings": "unknown / no savings account",
    },
    "EmploymentSince": {
        "unemployed": "unemployed",
        "<1": "<1 year",
        "1<=X<4": "1-3 years",
        "4<=X<7": "4-6 years",
        ">=7": ">=7 years",
    },
    "PersonalStatusAndSex": {
        "male div/sep": "male: divorced/separated",
        "female div/dep/mar": "female: divorced/separated/married",
        "male single": "male: single",
        "male mar/wid": "male: married/widowed",
    },
    "OtherDebtors": {"none": "none", "co applicant": "co-applicant", "guarantor": "guarantor"},
    "Property": {
        "real estate": "real estate",
        "life insurance": "building society savings / life insurance",
        "car": "car or other",
        "no known property": "unknown / no property",
    },
    "OtherInstallmentPlans": {"bank": "bank", "stores": "stores", "none": "none"},
    "Housing": {"rent": "rent", "own": "own", "for free": "for free"},
    "Job": {
        "unemp/unskilled non res": "unemployed/unskilled non-resident",
        "unskilled resident": "unskilled resident",
        "skilled": "skilled employee/official",
        "high qualif/self emp/mgmt": "management/self-employed/highly qualified",
    },
    "Telephone": {"none": "none", "yes": "yes"},
    "ForeignWorker": {"yes": "yes", "no": "no"},
    "GoodCustomer": {"good": 1, "bad": 0},
}
ADULT_COLUMNS = {
    "sex": "Sex",
    "age": "Age",
    "native-country": "NativeCountry",
    "workclass": "WorkClass",
    "education-num": "EducationNumber",
    "education": "EducationLevel",
    "marital-status": "MaritalStatus",
    "occupation": "Occupation",
    "relationship": "Relationship",
    "capital-gain": "CapitalGain",
    "capital-loss": "CapitalLoss",
    "hours-per-week": "HoursPerWeek",
    "class": "IncomeOver50K",
}
ADULT_EDUCATION = {
    **dict.fromkeys(("Preschool", "1st-4th", "5th-6th", "7th-8th"), "prim-middle-school"),
    **dict.fromkeys(("9th", "10th", "11th", "12th"), "high-school"),
}


def _where_not(name: str) -> str:
    """Where the table was looked for before the network was."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return f"the variable {VARIABLE} names no folder"
    if not Path(folder).is_dir():
        return f"the variable {VARIABLE} names {folder}, which is no folder"
    return f"there is no {name}.csv.gz in {folder}, which the variable {VARIABLE} names"


def download(name: str) -> pd.DataFrame:
    """The table `name` from OpenML; raises FileError without a network, or when the table has another shape."""
    from sklearn.datasets import fetch_openml

    number, shape = TABLES[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn announces each retry; the error below says what is wrong
            frame = fetch_openml(data_id=number, as_frame=True, parser="auto", n_retries=1).frame
    except (OSError, ValueError) as error:
        raise FileError(
            f"{name}: {_where_not(name)}, and not downloaded from OpenML (data set {number}): {error}",
            hint=f"Put {name}.csv.gz into a folder and name it: load({name!r}, path=...) or the variable MACE_DATA.",
        ) from None
    try:
        return shape(frame)
    except (KeyError, ValueError, TypeError) as error:
        raise FileError(
            f"{name}: OpenML's data set {number} has another shape than expected: {error}",
            hint=f"Put {name}.csv.gz into a folder and name it: load({name!r}, path=...) or the variable MACE_DATA.",
        ) from None


def adult(raw: pd.DataFrame) -> pd.DataFrame:
    """Rows without a missing value; the lower schools merged, and all countries but one."""
    frame = raw[list(ADULT_COLUMNS)].rename(columns=ADULT_COLUMNS)
    for column in ("Sex", "NativeCountry", "WorkClass", "EducationLevel", "MaritalStatus", "Occupation"):
        frame[column] = _text(frame[column])
    frame["Relationship"] = _text(frame["Relationship"])
    known = (frame[["NativeCountry", "WorkClass", "Occupation"]] != "?").all(axis=1)
    frame = frame[known].reset_index(drop=True)
    frame["NativeCountry"] = frame["NativeCountry"].where(frame["NativeCountry"] == "United-States", "Other")
    frame["EducationLevel"] = frame["EducationLevel"].replace(ADULT_EDUCATION)
    frame["IncomeOver50K"] = _levels(_text(frame["IncomeOver50K"]), {">50K": 1, "<=50K": 0})
    for column in ("Age", "EducationNumber", "CapitalGain", "CapitalLoss", "HoursPerWeek"):
        frame[column] = frame[column].astype("int64")
    return frame


def credit(raw: pd.DataFrame) -> pd.DataFrame:
    """Amounts in tens of US dollars; six months of bills, payments and delays as maxima, counts and sums."""
    import numpy as np
    import pandas as pd

    raw = raw[[*(f"x{number}" for number in range(1, 24)), "y"]].astype("float64")
    raw = raw[raw["x4"].isin([1, 2])].reset_index(drop=True)

    def months(first: int) -> Any:
        return raw[[f"x{number}" for number in range(first, first + 6)]].to_numpy()

    def dollars(amount: Any) -> Any:
        return (np.maximum(amount, 0) / NT_DOLLARS_PER_DOLLAR).round(-1).astype("int64")

    limit = raw["x1"].to_numpy()[:, None]
    late, bills, payments = months(6), months(12), months(18)
    overdue = late > 0
    # A run begins in a month that is overdue after one (earlier: the next column) that was not.
    begins = overdue & ~np.hstack([overdue[:, 1:], np.zeros((len(raw), 1), dtype=bool)])
    return pd.DataFrame(
        {
            "IsMale": _levels(raw["x2"], {1: "yes", 2: "no"}),
            "IsMarried": _levels(raw["x4"], {1: "yes", 2: "no"}),
            "AgeGroup": np.select(
                [raw["x5"] < 25, raw["x5"] < 40, raw["x5"] < 60], ["<25", "25-39", "40-59"], default=">=60"
            ),
            "EducationLevel": np.select(
                [raw["x3"] == 1, raw["x3"] == 2, raw["x3"] == 3],
                ["graduate", "university", "high-school"],
                default="other",
            ),
            "MaxBillAmountOverLast6Months": dollars(bills.max(axis=1)),
            "MaxPaymentAmountOverLast6Months": dollars(payments.max(axis=1)),
            "MonthsWithZeroBalanceOverLast6Months": (payments > bills).sum(axis=1),
            "MonthsWithLowSpendingOverLast6Months": (bills / limit < 0.2).sum(axis=1),
            "MonthsWithHighSpendingOverLast6Months": (bills / limit > 0.8).sum(axis=1),
            "MostRecentBillAmount": dollars(bills[:, 0]),
            "MostRecentPaymentAmount": dollars(payments[:, 0]),
            "TotalOverdueCounts": begins.sum(axis=1),
            "TotalMonthsOverdue": np.where(overdue, late, 0).sum(axis=1).astype("int64"),
            "HasHistoryOfOverduePayments": np.where(overdue.any(axis=1), "yes", "no"),
            "NoDefaultNextMonth": _levels(raw["y"], {1: 0, 0: 1}),
        }
    )


def compas(raw: pd.DataFrame) -> pd.DataFrame:
    """OpenML holds ProPublica's filtered rows, one-hot encoded; the columns are joined again."""
    import pandas as pd

    raw = raw.astype("float64")
    target = "twoyearrecid" if "twoyearrecid" in raw else "two_year_recid"
    ages = {"age_cat_Lessthan25": "<25", "age_cat_25-45": "25-45", "age_cat_Greaterthan45": ">45"}
    return pd.DataFrame(
        {
            "AgeGroup": _levels(raw[list(ages)].idxmax(axis=1), ages),
            "Race": _levels(raw["race_Caucasian"], {1: "Caucasian", 0: "African-American"}),
            "Sex": _levels(raw["sex"], {1: "Male", 0: "Female"}),
            "PriorsCount": raw["priors_count"].astype("int64"),
            "ChargeDegree": _levels(raw["c_charge_degree_F"], {1: "felony", 0: "misdemeanor"}),
            "TwoYearRecid": raw[target].astype("int64"),
        }
    )


def german(raw: pd.DataFrame) -> pd.DataFrame:
    """The Statlog table with the known level names, and the sex taken from the personal status."""
    frame = raw[list(GERMAN_COLUMNS)].rename(columns=GERMAN_COLUMNS)
    for column in frame:
        if column in GERMAN_LEVELS:
            frame[column] = _levels(_text(frame[column]), GERMAN_LEVELS[column])
        else:
            frame[column] = frame[column].astype("int64")
    frame["Sex"] = frame["PersonalStatusAndSex"].str.split(":").str[0]
    return frame


# Name -> OpenML's number of the data set, and the function that brings it into shape.
TABLES: dict[str, tuple[int, Callable[[pd.DataFrame], pd.DataFrame]]] = {
    "adult": (1590, adult),
    "credit": (42477, credit),
    "compas": (42193, compas),
    "german": (31, german),
}


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    """Category, bytes or missing as plain text; a missing value is the source's own `?`, and `none` is a level."""
    return column.astype("object").where(column.notna(), "?").astype(str).str.strip().str.strip("'\"")


def _levels(column: pd.Series[Any], names: dict[Any, Any]) -> pd.Series[Any]:
    """Each value renamed; a value without a new name is an error."""
    unknown = sorted(set(column) - set(names), key=str)
    if unknown:
        raise ValueError(f"column {column.name!r} holds {unknown[0]!r}, expected {', '.join(map(str, names))}")
    return column.map(names)
