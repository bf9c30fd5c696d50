"""The model under test: its table, the whole space as axes, and its own `predict` for replays.

In:  a model and a space.    Out: a `Subject`.
Promise: `decisions` is what the deployed model returns; `wholes` covers every allowed row, one set of axes for each
pattern of missing numbers, but for those that `left_out` names: rows that the model does not take, or that lack a
number which a rule reads.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from mace.base.values import plain
from mace.errors import GoalError, MaceError, RowError
from mace.explain.explainer import Explainer
from mace.problem.programs import Rule
from mace.problem.question import program_result
from mace.space.axes import Axis
from mace.space.columns import Column, usable_axes
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Formula, Label, Table

MOST_PATTERNS = 16
REFUSED = "the model does not take them"


class Whole(NamedTuple):
    """All rows that lack the same numbers: an axis for each feature, and the features whose number they lack."""

    axes: tuple[Axis, ...]
    lacking: frozenset[str] = frozenset()


class Subject:
    """A model over a space in which every feature may take any value; the space's rules hold."""

    def __init__(self, model: object, space: Space) -> None:
        self.space = replace(space, features=[feature.free() for feature in space.features])
        self.explainer = Explainer(model, self.space)
        if not isinstance(self.table, Formula) and self.table.link is not None and not self.table.classes:
            raise GoalError(
                f"{self.table.name} predicts the exponential of its score, of which no property is verified",
                hint="Verify the same model fitted to the logarithm, with bounds on that scale.",
            )

    @property
    def table(self) -> Table:
        """The model as plain numbers."""
        return self.explainer.table

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of the space, but for those that compare with a row's own values: no input is one's change."""
        return tuple(rule for rule in self.explainer.rules if not rule.starts)

    @property
    def rules_of_changes(self) -> list[str]:
        """What no verdict about inputs rests on: the other rules; one sentence each."""
        return [
            f"the rule `{rule.source}` is about changes of a row, and leaves out no input"
            for rule in self.explainer.rules
            if rule.starts
        ]

    @property
    def classes(self) -> tuple[Label, ...]:
        """The model's classes; empty for a model that predicts a number."""
        return self.table.classes

    @property
    def columns(self) -> tuple[Column, ...]:
        """The model's columns as functions of features."""
        pipeline = self.explainer.pipeline
        return self.space.columns if pipeline is None else pipeline.columns

    @property
    def wholes(self) -> tuple[Whole, ...]:
        """All allowed rows, one entry for each pattern of missing numbers.

        Raises MaceError when there are too many patterns.
        """
        return self._covered[0]

    @property
    def left_out(self) -> tuple[str, ...]:
        """Which rows of the space no verdict speaks of, and why; one sentence each."""
        return self._covered[1]

    @cached_property
    def not_followed(self) -> str:
        """Which rows the deployed model takes although its table, as it was read, does not; empty if there are none.

        Then nothing holds for every row, whatever was refuted about the others.
        """
        for feature in self.space.features:
            if not feature.missing or self._never_lacks(feature) != REFUSED:
                continue
            try:
                self._ask_without(feature)
            except (MaceError, ValueError, TypeError):  # what libraries raise for a value that is missing
                continue
            return f"the model takes rows that lack `{feature.name}`, and what it does with them is not followed"
        return ""

    def _ask_without(self, feature: Feature) -> None:
        """Give the deployed model a row that lacks a value; raises what it raises."""
        axes, judge = self._axes(frozenset()), self.explainer.judge
        row = self.space.show(axes, tuple(axis.start for axis in axes))
        if self.explainer.pipeline is None and feature.numeric:  # the space encodes no number that is missing
            judge.says(judge.frame(self._frame([row])).assign(**{feature.columns[0]: math.nan}))
            return
        judge.says(judge.frame(self._frame([{**row, feature.name: None}])))

    @cached_property
    def _covered(self) -> tuple[tuple[Whole, ...], tuple[str, ...]]:
        absent: list[str] = []
        out: list[str] = []
        for feature in self.space.features:
            why = self._never_lacks(feature) if feature.missing else ""
            if why:
                out.append(f"rows that lack `{feature.name}` are left out: {why}")
            elif feature.missing and feature.ordered:
                absent.append(feature.name)
        if 2 ** len(absent) > MOST_PATTERNS:
            raise MaceError(
                f"{len(absent)} features may lack their number: {2 ** len(absent)} patterns are too many",
                hint="Fill in what is missing, or declare fewer features with missing=True.",
            )
        found: list[Whole] = []
        for pattern in itertools.product((False, True), repeat=len(absent)):
            lacking = frozenset(name for name, gone in zip(absent, pattern, strict=True) if gone)
            found.append(Whole(self.usable(self._axes(lacking)), lacking))
        return tuple(found), tuple(out)

    def _axes(self, lacking: frozenset[str]) -> tuple[Axis, ...]:
        """The axes of the rows that lack some numbers, whatever the model takes."""
        return tuple(
            feature.axis(None if feature.name in lacking else simple(feature)) for feature in self.space.features
        )

    def usable(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """The axes without the level "missing" where the model cannot take it; raises RowError as `usable_axes`."""
        return axes if isinstance(self.table, Formula) else usable_axes(self.columns, axes)

    def _never_lacks(self, feature: Feature) -> str:
        """Why no row that lacks this feature counts; empty if such rows do."""
        if not feature.ordered:
            place, axes = self.space.names.index(feature.name), self._axes(frozenset())
            usable = self.usable(axes)[place] == axes[place]
            return "" if usable else REFUSED
        for rule in self.rules:
            if feature.name in rule.reads:
                return f"the rule `{rule.source}` reads it"
        if isinstance(self.table, Formula):
            read = any(declared.name == feature.name for declared in self.table.program.inputs)
            return "the program reads it" if read else ""
        try:
            self.usable(self._axes(frozenset([feature.name])))
        except RowError:
            return REFUSED
        return ""

    def decisions(self, rows: Sequence[Mapping[str, Any]]) -> list[Label]:
        """What the deployed model says of rows, of each alone: beside another one its last bits may differ."""
        if isinstance(self.table, Formula):
            said: list[Label] = []
            for row in rows:
                axes = self.space.axes(row)
                result = program_result(self.table, axes, tuple(axis.start for axis in axes))
                said.append(self.classes[result] if 0 <= result < len(self.classes) else result)
            return said
        return [plain(self.explainer.decisions(self._frame([row]))[0]) for row in rows]

    def probabilities(self, rows: Sequence[Mapping[str, Any]], label: Label) -> list[float]:
        """The deployed model's probability of a class for rows, of each alone."""
        judge, place = self.explainer.judge, list(self.classes).index(label)
        return [float(judge.says(judge.frame(self._frame([row])), probabilities=True)[0, place]) for row in rows]

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
        return all(self._holds(rule, row, axes) for rule in self.rules)

    def obeys(self, rule: Rule, row: Mapping[str, Any]) -> bool:
        """Whether a rule holds for a row of the space; one that reads a number which the row lacks does not."""
        return self._holds(rule, row, self.space.axes(row))

    def _holds(self, rule: Rule, row: Mapping[str, Any], axes: Sequence[Axis]) -> bool:
        if any(row[name] is None and self.space[name].ordered for name in rule.reads):
            return False
        return rule.holds(axes, tuple(axis.start for axis in axes))


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


__all__ = ["Subject", "Whole", "simple"]
