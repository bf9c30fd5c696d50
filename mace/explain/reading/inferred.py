"""A space where none was given: what the model takes, over the frame that stands in its place.

In:  a fitted model, and a frame (or an array) of rows like those that it was fitted on.
Out: the frame with the model's own columns, and the space that is inferred from it.
Promise: columns that the model does not take (a target that was left in, an index) are left out, and that is said;
everything that was taken for granted stands in `space.notes`, and in short in the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.escape import one_line
from mace.base.files import read_text
from mace.base.frames import as_given, made_of
from mace.base.suggestions import among
from mace.errors import ModelError, ProgramError
from mace.language import parse_program
from mace.language.syntax import MAX_BYTES
from mace.space.infer import as_frame
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

INFERRED = "inferred"  # the name of such a space


class Inferred(NamedTuple):
    """The rows with the model's columns, their space, and what an answer must say about it."""

    frame: pd.DataFrame
    space: Space
    notes: list[str]


def inferred(model: object, given: Any) -> Inferred:
    """The space of a frame for a model; raises ModelError where the frame lacks a column that the model takes."""
    frame = whole = as_frame(given)
    taken, known = columns_of(model), spelled_by(model, frame.columns)
    left = [str(name) for spelled, name in known.items() if spelled not in taken] if taken else []
    if taken and len(left) < len(frame.columns):  # an array has names of its own
        absent = [name for name in taken if name not in known]
        if absent and left:
            raise ModelError(
                f"the model takes a column `{absent[0]}`, which the frame has not",
                hint=among(absent[0], frame.columns),
            )
        frame = frame[[known[name] for name in taken if name in known]]
    else:
        left = []
    space = Space.from_frame(frame, name=INFERRED)
    notes = [
        "no space was given: kinds, ranges and levels are those of the frame, and everything may change; "
        "print(answer.space.notes) shows each. To say otherwise: mace.Space.from_frame(X, fixed=[..])"
    ]
    if left:
        notes.append(f"left out, since the model does not take them: {one_line(', '.join(left))}")
    notes += to_check(space)
    return Inferred(made_of(frame, as_given(whole)), space, notes)


def to_check(space: Space) -> list[str]:
    """What an inferred space asks about what looks like a date, an identifier, or something that only grows."""
    return [note for note in space.notes if note.startswith("please check")]


def columns_of(model: object) -> list[str]:
    """The names of the columns that a model was fitted on, or a program (.mace) takes; none where it does not say."""
    if isinstance(model, Path):
        return _inputs(model) if model.suffix == ".mace" else []
    for name in ("feature_names_in_", "feature_name_"):
        found = getattr(model, name, None)
        if found is not None:
            return [str(column) for column in found]
    from mace.compilers.registry import names_known

    return list(names_known(model) or ())


def spelled_by(model: object, names: Iterable[Any]) -> dict[str, Any]:
    """Names of columns by what they are to the model: LightGBM writes `my col` as `my_col`."""
    if isinstance(model, Path):
        return {str(name): name for name in names}
    from mace.compilers.registry import spelling

    spelled = spelling(model)
    return {spelled(str(name)): name for name in names}


def _inputs(path: Path) -> list[str]:
    """The inputs that a program declares."""
    try:
        program = parse_program(read_text(path, "Give the path of a .mace program.", MAX_BYTES), str(path))
    except ProgramError:  # it reads what only a space declares, or is wrong, which is said when it is read as a model
        return []
    return [declared.name for declared in program.inputs]
