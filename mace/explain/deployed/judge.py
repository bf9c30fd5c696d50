"""Query the deployed model: what it decides, how probable it holds each class, the number it predicts.

In:  the model as the library made it, its table, and rows of the space or points of a question.
Out: what `predict` or `predict_proba` returned, on the very columns and types that the library is given.
Promise: a goal is met at a point only where these say so (`meets`). Nothing here computes anything itself, but for
programs, whose meaning is the interpreter, and for scores, which libraries do not hand out alike: they are the table's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import FieldsAlone
from mace.base.values import plain
from mace.errors import GoalError, MaceError, ModelError, RowError
from mace.problem.goals import Classes, Margin, Probability, Value, Wanted
from mace.problem.question import Question, program_result
from mace.space.axes import Point
from mace.space.space import Space
from mace.tables.table import Ensemble, Formula, Label, Table

if TYPE_CHECKING:
    import pandas as pd

    from mace.compilers import Deployed
    from mace.compilers.pipeline.reader import CompiledPipeline


class Outcomes(NamedTuple):
    """Numbers that the model gives several points, and what they are: `p(approved)`, or the name of a target."""

    name: str
    values: list[float]


@dataclass(frozen=True, eq=False)
class Judge(FieldsAlone):
    """A model as it is deployed; `pipeline` where it takes the raw columns itself."""

    model: Any
    table: Table
    space: Space
    pipeline: CompiledPipeline | None = None

    @cached_property
    def deployed(self) -> Deployed:
        """The model's own `predict`, whatever its library."""
        if self.pipeline is not None:
            return self.pipeline.deployed
        from mace.compilers import deployed

        return deployed(self.model)

    def frame(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of the space, shape (rows, features), as the model takes them."""
        if self.pipeline is None:
            return self.space.encode(rows)
        return self.pipeline.frame([self.space.row(row) for row in rows[self.space.names].to_dict("records")])

    def says(self, matrix: pd.DataFrame, *, probabilities: bool = False) -> NDArray[Any]:
        """Decisions for a frame as `frame` makes it, shape (rows,); or probabilities, shape (rows, classes).

        Raises GoalError for a model without probabilities, RowError for rows that the library does not take.
        """
        ask = self.deployed.probabilities if probabilities else self.deployed.predict
        if ask is None:
            raise _no_probabilities(self.model)
        try:
            return np.asarray(ask(matrix))
        except (MaceError, MemoryError):
            raise
        except Exception as error:  # whatever the library, or a step of somebody's own, raises
            reason = str(error) or type(error).__name__
            raise RowError(f"the model does not take these rows: {reason}") from error

    def decide(self, question: Question, point: Point) -> Label:
        """The decision for a point; of a regressor, the number."""
        if isinstance(self.table, Formula):
            result = program_result(self.table, question.axes, point)
            return self.table.classes[result] if 0 <= result < len(self.table.classes) else result
        return plain(self.says(self._rows(question, [point]))[0])

    def decide_all(self, question: Question, points: Sequence[Point]) -> list[Label]:
        """The decisions for several points, which no rounding may change: asked in one call where that is the same."""
        return self.decide_each([(question, point) for point in points])

    def decide_each(self, asked: Sequence[tuple[Question, Point]]) -> list[Label]:
        """The same for points of several questions about this model."""
        if len(asked) < 2 or isinstance(self.table, Formula) or not all(self._plain(*one) for one in asked):
            return [self.decide(question, point) for question, point in asked]
        if self.pipeline is not None:
            rows = self.pipeline.frame([question.values(point) for question, point in asked])
        else:
            rows = self.framed(np.array([question.row(point) for question, point in asked]))
        return [plain(said) for said in self.says(rows)]

    def _plain(self, question: Question, point: Point) -> bool:
        """Whether a frame of several such points has the types that the frame of this one has."""
        return self.pipeline is None or all(value is not None for value in question.values(point).values())

    def has(self, question: Question, said: Label) -> bool:
        """Whether a decision, or a predicted number, is what a question wants."""
        wanted = question.goal.wanted
        if wanted is None or isinstance(wanted, Classes):
            return said in question.goal.labels
        return bool(self.met(wanted, np.array([said]))[0])

    def meets(self, question: Question, point: Point) -> bool:
        """Whether the model itself has the question's goal at a point."""
        wanted = question.goal.wanted
        if wanted is None or isinstance(wanted, Classes):
            return self.has(question, self.decide(question, point))
        return bool(self.met(wanted, self.numbers(question, point, wanted))[0])

    def numbers(self, question: Question, point: Point, wanted: Wanted) -> NDArray[Any]:
        """What the model says of a point that tells whether it has a goal: a number, or numbers of all classes."""
        if isinstance(wanted, Margin) and wanted.in_score:
            return self.scores(question.row(point))[None, :]
        return self.says(self._rows(question, [point]), probabilities=of_probability(wanted))

    def scores(self, row: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of a row of columns, in the library's unit; shape (outputs,)."""
        assert not isinstance(self.table, Formula)
        return self.table.scores(row) / (self.table.one if isinstance(self.table, Ensemble) else 1.0)

    def confirms(self, question: Question, point: Point) -> bool:
        """The same as `meets`, where it is not the opposite of what the model's numbers say for certain.

        Raises ModelError where it is: then they bound nothing.
        """
        met, said = self.meets(question, point), question.has_goal(point)
        if said is None or said == met or said and question.goal.enclosed:
            return met
        raise self.contradiction(question, point, self.decide(question, point))

    def contradiction(self, question: Question, point: Point, said: Label) -> ModelError:
        """The deployed model says something else than the numbers that were read of it."""
        return ModelError(
            f"the model's own `predict` says {said!r} for {question.values(point)}, which contradicts the numbers "
            f"that were read of it",
            hint="Has the model been fitted again, or its `predict` replaced, since it was read? If not, please report "
            "this. No bound is given.",
        )

    def met(self, wanted: Wanted, said: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of several rows have a goal, by what `says` returned for them."""
        assert not isinstance(self.table, Formula)
        return wanted.met(said, self.table.classes)

    def outcomes(self, question: Question, points: Sequence[Point]) -> Outcomes | None:
        """What the model says of points in numbers: the probability of what is wanted, or the predicted number.

        None for a model that has neither.
        """
        wanted = question.goal.wanted
        if isinstance(self.table, Formula) or wanted is None:
            return None
        rows = self._rows(question, points)
        if isinstance(wanted, Value):
            return Outcomes(wanted.name, [float(number) for number in self.says(rows)])
        labels = wanted.labels if isinstance(wanted, Classes) else {wanted.label}
        if self.deployed.probabilities is None or len(labels) == len(self.table.classes):
            return None
        places = [place for place, label in enumerate(self.table.classes) if label in labels]
        name = " or ".join(self.space.called(self.table.classes[place]) for place in places)
        found = self.says(rows, probabilities=True)[:, places].sum(axis=1)
        return Outcomes(f"p({name})", [float(number) for number in found])

    def _rows(self, question: Question, points: Sequence[Point]) -> pd.DataFrame:
        """Points as the frame that the model is given."""
        if self.pipeline is not None:
            return self.pipeline.frame([question.values(point) for point in points])
        return self.framed(np.array([question.row(point) for point in points]))

    def framed(self, matrix: NDArray[np.float64]) -> pd.DataFrame:
        """Rows of the space's own columns, shape (rows, columns), as the frame that the model is given."""
        import pandas as pd

        return pd.DataFrame(matrix, columns=self._names)

    @cached_property
    def _names(self) -> pd.Index[str]:
        """The names of the space's columns."""
        import pandas as pd

        return pd.Index([column.name for column in self.space.columns])


def _no_probabilities(model: Any) -> GoalError:
    return GoalError(f"the {type(model).__name__} has no probabilities: it has no `predict_proba`")


def of_probability(wanted: Wanted) -> bool:
    """Whether a goal is judged by probabilities rather than by decisions or predicted numbers."""
    match wanted:
        case Probability():
            return True
        case Margin(in_score=in_score):
            return not in_score
        case Classes() | Value():
            return False
