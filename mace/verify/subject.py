"""The model under test: its table, the whole space as axes, and its own `predict` for replays.

In:  a model and a space.    Out: a `Subject`.
Promise: `decisions` is what the deployed model returns; `wholes` covers every allowed row, one set of axes for each
pattern of missing numbers that the model takes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from mace.axes import Axis, Point
from mace.columns import Column, usable_axes
from mace.errors import MaceError, RowError
from mace.plausibility import Rule
from mace.question import program_result
from mace.recourse import Explainer
from mace.space import Feature, Space
from mace.tables import Formula, Label, Table
from mace.values import plain

MOST_PATTERNS = 16


class Subject:
    """A model over a space in which every feature may take any value; the space's rules hold."""

    def __init__(self, model: object, space: Space) -> None:
        self.space = replace(space, features=[replace(feature, change="any") for feature in space.features])
        self.explainer = Explainer(model, self.space)

    @property
    def table(self) -> Table:
        """The model as plain numbers."""
        return self.explainer.table

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the space."""
        return self.explainer.rules

    @property
    def classes(self) -> tuple[Label, ...]:
        """The model's classes; empty for a model that predicts a number."""
        return self.table.classes

    @property
    def columns(self) -> tuple[Column, ...]:
        """The model's columns as functions of features."""
        pipeline = self.explainer.pipeline
        return self.space.columns if pipeline is None else pipeline.columns

    @cached_property
    def wholes(self) -> list[tuple[Axis, ...]]:
        """The axes of all allowed rows, one entry for each pattern of missing numbers.

        Raises MaceError when there are too many patterns.
        """
        absent = [feature for feature in self.space.features if feature.missing and _lacks(feature)]
        if 2 ** len(absent) > MOST_PATTERNS:
            raise MaceError(
                f"{len(absent)} features may lack their number: {2 ** len(absent)} patterns are too many",
                hint="Fill in what is missing, or declare fewer features with missing=True.",
            )
        found: list[tuple[Axis, ...]] = []
        for pattern in itertools.product((False, True), repeat=len(absent)):
            lacking = {feature.name for feature, gone in zip(absent, pattern, strict=True) if gone}
            axes = tuple(
                feature.axis(None if feature.name in lacking else simple(feature)) for feature in self.space.features
            )
            try:
                found.append(axes if isinstance(self.table, Formula) else usable_axes(self.columns, axes))
            except RowError:
                if not lacking:
                    raise
                continue  # the model does not take such rows at all
            if lacking and (isinstance(self.table, Formula) or any(rule.reads.keys() & lacking for rule in self.rules)):
                raise MaceError(f"a program reads `{min(lacking)}`, which may be missing")
        return found

    def decisions(self, rows: Sequence[Mapping[str, Any]]) -> list[Label]:
        """What the deployed model says of rows."""
        if isinstance(self.table, Formula):
            said: list[Label] = []
            for row in rows:
                axes = self.space.axes(row)
                result = program_result(self.table, axes, tuple(axis.start for axis in axes))
                said.append(self.classes[result] if 0 <= result < len(self.classes) else result)
            return said
        return [plain(label) for label in self.explainer.decisions(self._frame(rows))]

    def probabilities(self, rows: Sequence[Mapping[str, Any]], label: Label) -> list[float]:
        """The deployed model's probability of a class for rows."""
        judge = self.explainer.judge
        said = judge.says(judge.frame(self._frame(rows)), probabilities=True)
        return [float(p) for p in said[:, list(self.classes).index(label)]]

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        import pandas as pd

        # dtype object keeps a missing level None, and an integer an integer.
        return pd.DataFrame([dict(row) for row in rows], columns=self.space.names, dtype=object)

    def allowed(self, row: Mapping[str, Any]) -> bool:
        """Whether a row lies in the space and obeys its rules."""
        try:
            axes = self.space.axes(row)
        except RowError:
            return False
        start: Point = tuple(axis.start for axis in axes)
        return all(rule.holds(axes, start) for rule in self.rules)


def _lacks(feature: Feature) -> bool:
    """Whether what is missing is another set of values, rather than one more level."""
    return feature.numeric or feature.kind == "ordinal"


def simple(feature: Feature) -> Any:
    """A simple value of a feature: 0 where it is allowed, else the allowed one nearest to it; the first level."""
    if not feature.numeric:
        return feature.levels[0]
    lower, upper = feature.bounds()
    value = min(max(Fraction(0), lower), upper)
    if feature.kind == "integer" or feature.step is None:
        return int(value) if feature.kind == "integer" else float(value)
    step = Fraction(str(feature.step))
    multiple = math.ceil(lower / step) if value == lower else math.floor(value / step)
    return multiple * step if lower <= multiple * step <= upper else value


__all__ = ["Subject", "simple"]
