"""Programs that score published files, and share no code with mace: PMML evaluators from PyPI, and CatBoost itself.

Out: a `Judge`: a frame of raw rows -> a label or a number for each, `NOTHING` where the program gives none.
Both evaluators of PMML run on Java; install one, or both, beside mace: `pip install jpmml_evaluator pypmml`.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

NOTHING = object()
"""What stands for a row without a prediction."""
Judge = Callable[[pd.DataFrame], list[Any]]


class JudgeError(Exception):
    """A program does not take a file."""


def jpmml(path: Path) -> Judge:
    """PMML's evaluator in Java, by its Python package."""
    library: Any = importlib.import_module("jpmml_evaluator")
    try:
        evaluator = library.make_evaluator(str(path))
        names = [str(one.getName()) for one in evaluator.javaEvaluator.getTargetFields()]
        known = {str(one.getName()) for one in evaluator.javaEvaluator.getInputFields()}
    except Exception as error:  # noqa: BLE001  Java's errors come in many kinds.
        raise JudgeError(_first_line(error)) from None

    def judge(frame: pd.DataFrame) -> list[Any]:
        given = frame[[name for name in frame.columns if name in known]].astype(object)
        found = evaluator.evaluateAll(given, parallelism=1)
        column = next((name for name in (*names, *found.columns) if name in found.columns), None)
        if column is None or column == "errors":
            return [NOTHING] * len(frame)
        lost = found["errors"].notna() if "errors" in found.columns else pd.Series(False, index=found.index)
        return [NOTHING if gone else _plain(one) for one, gone in zip(found[column], lost, strict=True)]

    return judge


def pmml4s(path: Path) -> Judge:
    """PMML4S, by its Python package."""
    library: Any = importlib.import_module("pypmml")
    try:
        model = library.Model.load(str(path))
        outputs = list(model.outputFields)
    except Exception as error:  # noqa: BLE001  Java's errors come in many kinds.
        raise JudgeError(_first_line(error)) from None
    wanted = [one.name for one in outputs if str(one.feature) == "predictedValue"]
    likely = {one.name: one.value for one in outputs if str(one.feature) == "probability"}

    def judge(frame: pd.DataFrame) -> list[Any]:
        found: list[Any] = []
        for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
            try:
                said = model.predict({str(name): value for name, value in row.items() if value is not None})
            except Exception:  # noqa: BLE001  It has its own errors, and Java's.
                found.append(NOTHING)
                continue
            if any(isinstance(share := said.get(name), float) and np.isnan(share) for name in likely):
                found.append(NOTHING)  # exp was too large for it
                continue
            if wanted or not likely:
                found.append(_plain(next((said[name] for name in wanted or said if name in said), None)))
                continue
            shares = {name: said[name] for name in likely if said.get(name) is not None}
            found.append(likely[max(shares, key=lambda name: float(shares[name]))] if shares else NOTHING)
        return found

    return judge


def _plain(value: Any) -> Any:
    """A value as all judges say it; an empty text is how PMML4S says that there is none."""
    if value is None or isinstance(value, str) and not value or isinstance(value, float) and np.isnan(value):
        return NOTHING
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, (str, int, float, bool)) else str(value)


def _first_line(error: Exception) -> str:
    return re.sub(r"\s+", " ", f"{type(error).__name__}: {error}")[:160]


JUDGES: dict[str, Callable[[Path], Judge]] = {"jpmml_evaluator": jpmml, "pypmml": pmml4s}


def installed() -> list[str]:
    """The evaluators of PMML that can be asked here."""
    return [name for name in JUDGES if importlib.util.find_spec(name) is not None]
