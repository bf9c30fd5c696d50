"""Rows are scored here as the standard of PMML says: no library owns it.

In:  the path of a .pmml file, or its content.
Out: `opened`, a `ModelFile`; `step_of`, what numbers its categories; `deployed`, its decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.deployed import Deployed, Given
from mace.compilers.model_file import Format, ModelFile
from mace.compilers.pmml.content import Content, Votes, fields_of, terms_of
from mace.compilers.pmml.evaluate import decide, leaf_of, probabilities
from mace.compilers.pmml.expressions import Norm, Value, written
from mace.compilers.pmml.fields import NoResultError, Source
from mace.compilers.pmml.model import load
from mace.compilers.pmml.reader import NO_PREDICTION, Columns, Line, read_both, read_content
from mace.compilers.recoding import Recoding
from mace.errors import ModelError
from mace.space.columns import apply
from mace.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

_SAID = (
    "the file is read as the standard of PMML says, and no program that scores it was asked; where rounding, the order "
    "of a sum or a tie decides, no answer rests on it"
)

_SINGLE = "; numbers of its type `float` are compared in single precision, as the type says, and some programs do not"

_OPEN = f"; of some rows the file says nothing: their class is {NO_PREDICTION!r} here, so name the class that is wanted"
_NORMS = "; norms are computed as the standard writes their formula, and some programs round them otherwise"
_HEAVIEST = (
    "; of the rules that hold the heaviest decides, of equal ones the first, as the standard has it: JPMML takes the "
    "most confident one of the heaviest of each class, which may be another"
)


def raw_value(source: Source, value: Any) -> Value:
    """A value of a frame as fields have it; raises ModelError for text in a column of numbers."""
    if value is None or value != value:
        return None
    if not source.numeric:
        return written(value, source.kind)
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ModelError(f"the model takes numbers in column `{source.name}`, and there is {value!r} in it") from None


def _row(columns: Columns, held: Any) -> dict[str, Value]:
    """A row of a frame, in the order of the model's columns; raises NoResultError for what has no prediction."""
    row: dict[str, Value] = {}
    for atoms, value in zip(columns.atoms, held, strict=True):
        source = atoms.source
        raw = raw_value(source, value)
        if source.of(raw) is None and atoms.place in columns.lacking:
            raise NoResultError(f"the model has no prediction where `{source.name}` is missing")
        if atoms.place in columns.odd and raw is not None and raw not in atoms.names:
            raise NoResultError(f"the model has no prediction where `{source.name}` is {raw!r}")
        row[source.name] = raw
    return row


@dataclass(frozen=True, eq=False)
class Coded(Recoding):
    """What the table sees of a raw frame: categories by their places; for a sum of numbers, what is added."""

    columns: Columns | None = None

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """See `Recoding`; raises NoResultError for rows that have no prediction."""
        assert self.columns is not None
        rows = [_row(self.columns, held) for held in _held(frame, self.names)]
        if self.columns.lines:
            found = [[_added(self.columns, line, row) for line in self.columns.lines] for row in rows]
            return np.array(found, dtype=np.float64).reshape(len(rows), len(self.columns.lines))
        return np.array([_codes(self.columns, row) for row in rows], dtype=np.float64).reshape(
            len(rows), len(self.columns.atoms)
        )

    def followed(self, columns: Any) -> list[Any]:
        """See `Recoding`."""
        assert self.columns is not None
        if not self.columns.lines:
            return list(columns)
        return [columns[line.place].then(*line.steps) for line in self.columns.lines]

    def get_feature_names_out(self, _: object = None) -> NDArray[np.object_]:
        """See `Recoding`."""
        assert self.columns is not None
        names = [self.names[line.place] for line in self.columns.lines] or list(self.names)
        return np.array(names, dtype=object)


def _held(frame: Any, names: tuple[str, ...]) -> list[list[Any]]:
    """The values of a frame, row by row, in the order of some columns."""
    columns = [frame[name].tolist() for name in names]
    return [list(row) for row in zip(*columns, strict=True)]


def _codes(columns: Columns, row: dict[str, Value]) -> list[float]:
    found = []
    for atoms in columns.atoms:
        raw = row[atoms.source.name]
        if isinstance(raw, str):
            raw = float(atoms.names.index(raw) if raw in atoms.names else len(atoms.names))
        found.append(float("nan") if raw is None else raw)
    return found


def _added(columns: Columns, line: Line, row: dict[str, Value]) -> float:
    """What a column of a sum holds."""
    source = columns.atoms[line.place].source
    if line.tree is not None:
        found = leaf_of(line.tree, row).score
        assert found is not None
        return float(found)
    raw = row[source.name]
    seen = source.of(raw) if raw is None else raw
    if not isinstance(seen, float):
        assert line.number is not None
        value = line.number.field.of(raw)  # what an expression makes of a missing value
        if not isinstance(value, float):
            raise NoResultError(f"`{source.name}` is missing")
        return value
    number = np.array([seen])
    for step in line.steps:
        number = apply(step, number)
    return float(number[0])


def deployed(content: Content, _: Given, __: Table) -> Deployed:
    """The decisions of the standard."""
    columns = read_both(content).columns
    names = tuple(source.name for source in content.sources)

    def said(row: dict[str, Value]) -> Any:
        try:
            return decide(content, row)
        except NoResultError:
            if not columns.open:
                raise
            return NO_PREDICTION

    def predict(frame: Any) -> Any:
        found = [said(_row(columns, held)) for held in _held(frame, names)]
        return np.array(found, dtype=object if None in found or columns.open else None)

    def probable(frame: Any) -> Any:
        return np.array([probabilities(content, _row(columns, held)) for held in _held(frame, names)], dtype=np.float64)

    known = content.classes and not columns.open and not _without_probabilities(content)
    return Deployed(predict, names, "", probable if known else None)


def _without_probabilities(content: Content) -> bool:
    """Whether some row has none that the standard and a link know."""
    match content.model:
        case Votes(members=members, shares=shares):
            return (
                not shares
                and len(members) == 1
                and any(node.score is not None and not node.shares for node in members[0][0].nodes())
            )
        case model:
            return getattr(model, "link", "") not in ("logit", "softmax")


def step_of(model: ModelFile) -> Coded:
    """The step that numbers the categories of a file."""
    columns = read_both(model.content).columns
    places = tuple(atoms.place for atoms in columns.atoms if not atoms.source.numeric)
    lists = tuple(columns.atoms[place].names for place in places)
    names = tuple(atoms.source.name for atoms in columns.atoms)
    return Coded(names, lists, places, typed=False, columns=columns)


def opened(path: Path) -> ModelFile:
    """A file, checked; raises FileError, ModelError."""
    content = load(path)
    single = any(source.kind == "float" for source in content.sources)
    norms = any(isinstance(step, Norm) for one in terms_of(content.model) for field, test in fields_of(one) if test
                for step in field.steps)  # fmt: skip
    votes = content.model.members if isinstance(content.model, Votes) else ()
    trees = [tree for voting, _ in votes for tree in (voting, *(node.inner for node in voting.nodes() if node.inner))]
    heaviest = any(tree.disputed for tree in trees)
    told = {_SINGLE: single, _NORMS: norms, _HEAVIEST: heaviest, _OPEN: _is_open(content)}
    return ModelFile(path, FORMAT, content, _SAID + "".join(text for text, holds in told.items() if holds))


def _is_open(content: Content) -> bool:
    """Whether some rows that lack nothing have no prediction; False for a file that is refused later."""
    try:
        return read_both(content).columns.open
    except ModelError:
        return False


FORMAT = Format("pmml", read_content, lambda content: content, deployed)
