"""What the options of a command name: the row, the explainer, the question, the space, the world.

In:  groups of options (`options.py`).    Out: what the package works on. Raises MaceError, naming the option.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.cli.options import Given, Measured, Prioritised, RowAndGoal, read_space
from mace.errors import MaceError, RowError

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.explainer import Explainer
    from mace.explain.unread.explainer import Unread
    from mace.problem.question import Question
    from mace.space.space import Space
    from mace.worlds.world import World


def explainer_of(
    given: Given, measured: Measured, asked: RowAndGoal, prioritised: Prioritised | None = None
) -> tuple[Explainer, pd.Series[Any]]:
    """The explainer of a model that is read, and the row that is asked about."""
    from mace.explain.explainer import Explainer

    space, row, settings = _read(given, measured, asked, prioritised)
    return Explainer(given.read_model(), space, **settings), row


def explainer_by_oracle(
    given: Given, measured: Measured, asked: RowAndGoal, prioritised: Prioritised, oracle: str
) -> tuple[Explainer | Unread, pd.Series[Any]]:
    """The explainer of any model, and the row: what no reader takes, or `--oracle search`, is only asked."""
    from mace.explain.explainers import explainer_of

    space, row, settings = _read(given, measured, asked, prioritised)
    return explainer_of(given.read_model(), space, oracle, **settings), row


def row_of(frame: pd.DataFrame, number: int) -> pd.Series[Any]:
    """A row of the data, by its number; raises RowError where there is none."""
    if not 0 <= number < len(frame):
        has = f"the data has the rows 0..{len(frame) - 1}" if len(frame) else "the data has no rows"
        raise RowError(f"--row {number}: {has}")
    return frame.iloc[number]


def _read(
    given: Given, measured: Measured, asked: RowAndGoal, prioritised: Prioritised | None
) -> tuple[Space, pd.Series[Any], dict[str, Any]]:
    """The space, the row, and what an explainer is made with."""
    frame, space = given.read_table()
    row = row_of(frame, asked.row)
    settings = measured.settings if prioritised is None else prioritised.of(measured)
    return space, row, {"background": frame, **settings}


def question_of(given: Given, measured: Measured, asked: RowAndGoal) -> Question:
    """The question about the row."""
    explainer, row = explainer_of(given, measured, asked)
    return explainer.question(row, asked.goal, asked.most_changes)[0]


class Planned(NamedTuple):
    """What plans are asked for."""

    model: object
    space: Space
    world: World | str | Path
    frame: pd.DataFrame
    goal: object

    def row(self, number: int) -> pd.Series[Any]:
        """A row of the data, by its number."""
        return row_of(self.frame, number)


def planned_of(given: Given, world: str | None, goal: object) -> Planned:
    """The model, the space, the world and the data that plans are asked for; of a benchmark what is not given."""
    from mace import datasets

    if given.data in datasets.PERSONS:
        persons = datasets.load(given.data)
        assert isinstance(persons, datasets.Persons)
        model = persons.model if given.model is None else given.read_model()
        space, frame = read_space(given.space) if given.space else persons.space, persons.X
        world, goal = world or persons.name.removeprefix("cscf-"), persons.goal if goal is None else goal
    else:
        frame, space = given.read_table()
        model = given.read_model()
        goal = given.favourable if goal is None else goal
    if world is None:
        raise MaceError("no world given", hint="--world actions.mace, or the name of one that comes with mace: loans.")
    return Planned(model, space, world, frame, goal)


def space_of(given: Given) -> Space:
    """The space that is given, or that of the data, for a command that shows it."""
    from mace import datasets

    if given.space is not None:
        return read_space(given.space)
    if given.data in datasets.PERSONS:
        return datasets.load(given.data).space
    return given.read_table(shown=True)[1]
