"""Values that a row lacks: where they must be given, where they may not be lost, and what an answer says of that.

In:  the axes of a row, and the programs that read features: rules, a distance, a model.
Out: `settled`: the axes without "missing" where a program needs a value. `notes`: what was frozen, forced or ruled out.
Promise: no program ever reads an axis that allows "missing". A rule that reads a value holds at no point that lacks it;
a distance or a model that reads one is defined at no such point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mace.errors import RowError
from mace.language import Program
from mace.problem.distance import Distance, DistanceProgram
from mace.problem.programs import Rule
from mace.problem.question import Question
from mace.space.axes import Axis, LevelAxis
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Formula, Network, Table


def settled(
    space: Space, axes: Sequence[Axis], rules: Sequence[Rule], distance: Distance, table: Table | None
) -> tuple[Axis, ...]:
    """The axes of a row, without "missing" where a program reads the feature.

    Raises RowError where the row lacks what a program reads, unless it is a rule alone and the value may be given.
    """
    found = list(axes)
    for j, (feature, axis) in enumerate(zip(space.features, axes, strict=True)):
        if not feature.ordered or not feature.missing:
            continue
        for program, what in _programs(rules, distance, table):
            reads = {declared.name for declared in program.inputs}
            before = {"start_" + feature.name} & reads - set(space.names)
            is_rule = what.startswith("the rule")
            if not before and feature.name not in reads:
                continue
            if _lacks(feature, axis) and not (is_rule and axis.may_lack and not before):
                raise RowError(f"{what} reads `{feature.name}`, which is missing in this row")
            # A rule that reads the start's value says nothing of later ones; a distance may be asked from other points.
            if feature.name in reads or not is_rule:
                found[j] = axis.present
    return tuple(found)


def notes(question: Question) -> list[str]:
    """What the answer to a question owes to values that are missing, or may not become so; one sentence each."""
    found: list[str] = []
    if not any(feature.missing for feature in question.space.features):
        return found
    used = set(_used(question))
    for j, (feature, axis) in enumerate(zip(question.space.features, question.axes, strict=True)):
        lacks, name = _lacks(feature, axis), f"`{feature.name}`"
        if lacks and feature.missing == "keep" and feature.change != "fixed" and j in used:
            found.append(
                f'{name} is missing in this row and stays missing (missing="keep"); '
                'with missing="fill" it might be given a value'
            )
        if not feature.ordered or axis.may_lack:
            continue
        if lacks and feature.may_fill:
            found.append(f"{name} is missing in this row and must be given a value: {_reader(question, j)}")
        elif not lacks and feature.may_lose:
            found.append(f"{name} may not become missing here: {_reader(question, j)}")
    return found


def _reader(question: Question, j: int) -> str:
    """Why a feature needs a value."""
    for rule in question.rules:
        if j in rule.reads.values():
            return f"the rule `{rule.source}` reads it"
    distance, names = question.distance, (question.axes[j].name, "start_" + question.axes[j].name)
    if isinstance(distance, DistanceProgram) and any(one.name in names for one in distance.program.inputs):
        return "the distance reads it"
    return "the model needs its value"


def _lacks(feature: Feature, axis: Axis) -> bool:
    if isinstance(axis, LevelAxis) and not feature.numeric:
        return feature.levels[axis.start] is None
    return axis.lacks or isinstance(axis, LevelAxis)


def _programs(rules: Sequence[Rule], distance: Distance, table: Table | None) -> Iterator[tuple[Program, str]]:
    for rule in rules:
        yield rule.program, f"the rule `{rule.source}`"
    if isinstance(distance, DistanceProgram):
        yield distance.program, "the distance"
    if isinstance(table, Formula):
        yield table.program, "the model"


def _used(question: Question) -> Iterator[int]:
    """The features that the model, or a rule, reads at all."""
    for rule in question.rules:
        yield from rule.reads.values()
    match question.model:
        case Formula(program=program):
            reads = {declared.name for declared in program.inputs}
            yield from (j for j, axis in enumerate(question.axes) if axis.name in reads)
        case Ensemble(trees=trees):
            columns = {column for tree in trees for column in np.unique(tree.column).tolist() if column >= 0}
            yield from (question.columns[column].feature for column in columns)
        case Network(layers=layers):
            pairs = zip(question.columns, layers[0].weights, strict=True)
            yield from (column.feature for column, weights in pairs if weights.any())
