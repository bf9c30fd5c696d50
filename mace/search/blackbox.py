"""Models that are only asked: a function, an object with `predict` that no reader takes, a service elsewhere.

In:  rows of a chart.    Out: what the model said of them, checked: one finite answer a row.
Promise: a call that fails on the way (`OSError`: connections, timeouts) is made again, some times; what still fails
then ends the search, and what the model itself gets wrong (too few answers, NaN, an exception) is a ModelError.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import spelled_class
from mace.base.deadline import NEVER, Deadline
from mace.base.escape import short
from mace.base.figures import counted
from mace.base.suggestions import few
from mace.base.values import plain
from mace.compilers.deployed import quiet
from mace.compilers.model_file import ModelFile
from mace.compilers.pipeline.rows import frame_of, in_order, markers_of, takes_features, told_apart
from mace.compilers.pipeline.steps import is_pipeline
from mace.compilers.registry import deployed, library_of, names_known, types_asked
from mace.errors import MaceError, ModelError
from mace.search.asked import ExhaustedError
from mace.search.chart import Chart, Floats
from mace.space.space import Space
from mace.tables.table import Label

Ask = Callable[[Any], Any]
LABELS = (str, bytes, bool, int, float)
CLOSE_TO = 1e-6  # how far probabilities may lie beyond 0 and 1, by their rounding


@spelled_class
@dataclass(frozen=True, eq=False)
class BlackBox:
    """A model that is asked, and how.

    predict:       rows -> an answer for each: a class, a number, or several outputs, shape (rows, outputs).
    probabilities: rows -> the probabilities of the classes, shape (rows, classes), for goals that speak of them.
    confidence:    rows -> how sure each output is, in 0..1, shape (rows,) or (rows, outputs).
    classes:       in the order of the probabilities; () for a model that predicts numbers; None: found out by asking.
    outputs:       names of several outputs, for goals that name them.
    given:         what the functions are given: "frame", the features as people see them, in a DataFrame; "encoded",
                   the columns that the space encodes, in a DataFrame; "array", these as an array of float64.
    batch:         how many rows at most in one call.
    retries, pause: how often a failed call is made again, after how many seconds; each wait is twice the one before.
    """

    predict: Ask
    probabilities: Ask | None = None
    confidence: Ask | None = None
    classes: Sequence[Label] | None = None
    outputs: Sequence[str] = ()
    given: Literal["frame", "encoded", "array"] = "frame"
    batch: int = 1000
    retries: int = 3
    pause: float = 0.1
    name: str = "black box"
    graded: bool = False  # whether probabilities also say how far a class is away: calls that cost nothing

    def __repr__(self) -> str:
        known = "" if self.classes is None else f", classes {short(list(self.classes))}"
        asked = getattr(self.predict, "__qualname__", type(self.predict).__name__)
        return f"BlackBox({asked}{known}, {self.batch} rows a call)"

    def __post_init__(self) -> None:
        if not callable(self.predict):
            raise ModelError(f"a black box is made of a function, got {short(self.predict)}")
        classes = self.classes
        if classes is not None and (isinstance(classes, (str, bytes)) or not isinstance(classes, Iterable)):
            raise ModelError(f"classes must be a list of them, () or None; got {short(classes)}")
        several: Any = classes
        if hasattr(several, "ndim"):  # an array, or what pandas has in the place of a list
            if several.ndim != 1:
                raise ModelError(f"classes must be a list of them, () or None; got {type(classes).__name__}")
            object.__setattr__(self, "classes", np.asarray(several).tolist())
        if not isinstance(self.given, str) or self.given not in ("frame", "encoded", "array"):
            raise ModelError(f"given must be frame, encoded or array, got {short(self.given)}")
        for key, least in (("batch", 1), ("retries", 0)):
            value = plain(getattr(self, key))
            object.__setattr__(self, key, value)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ModelError(f"{key} must be a whole number >= {least}, got {short(value)}")
        object.__setattr__(self, "pause", plain(self.pause))
        if not isinstance(self.pause, (int, float)) or not self.pause >= 0:
            raise ModelError(f"pause must be a number of seconds >= 0, got {short(self.pause)}")


def black_box(model: Any, space: Space) -> BlackBox:
    """A model as a black box: itself, a function, or an object with `predict`.

    An object that knows the names of its columns is given these, the space's own or those that it encodes; one that
    knows how many there are is given an array; any other gets the features in a frame.
    Raises ModelError for what cannot be asked, and for an object that was fitted on other columns.
    """
    if isinstance(model, BlackBox):
        return model
    if isinstance(model, type):
        raise ModelError(f"{model.__qualname__} is a class, not a trained model")
    if isinstance(model, ModelFile):
        raise ModelError(
            f"{model.path.name} is read, and cannot be asked",
            hint='Leave out oracle="search", or load the model with its library and give that.',
        )
    if not callable(getattr(model, "predict", None)):
        if not callable(model):
            raise ModelError(f"a model is a function or has `predict`; got {short(model)}")
        return BlackBox(model, name=getattr(model, "__name__", type(model).__name__))
    library = library_of(model)
    if library is not None and library.makes_columns(model):
        asked = deployed(model, raw="frame")
        both: Sequence[Label] = () if asked.probabilities is None else (0, 1)
        return BlackBox(asked.predict, asked.probabilities, classes=both, name=type(model).__name__, graded=True)
    classes = getattr(model, "classes_", None)
    if classes is None:
        # A fitted classifier has its classes, but for OptBinning's scorecards.
        known: Sequence[Label] | None = () if hasattr(model, "fit") and not hasattr(model, "predict_proba") else None
    else:
        # Of several outputs, a list of the classes of each.
        known = [np.asarray(one).tolist() for one in classes]
    return BlackBox(
        model.predict,
        getattr(model, "predict_proba", None),
        classes=known,
        given=_given(model, space),
        name=type(model).__name__,
        graded=True,
    )


def _given(model: Any, space: Space) -> Literal["frame", "encoded", "array"]:
    """What an object with `predict` takes."""
    names, columns = names_known(model), [column.name for column in space.columns]
    count = getattr(model, "n_features_in_", None)
    if names is not None:
        if set(names) == set(columns):  # in whatever order: `Calls` puts them into the model's
            return "frame" if set(names) <= set(space.names) and _takes_raw(model, space) else "encoded"
        if set(names) <= set(space.names):
            return "frame"
        odd = next(name for name in (*names, *columns) if name not in columns or name not in names)
        raise ModelError(
            f"the model was trained on other columns than the space has (for instance `{odd}`)",
            hint=f"The space encodes {few(columns)}.",
        )
    if count is None:
        return "frame"
    if count == len(columns):
        return "array"
    raise ModelError(f"the model takes {count} columns, the space encodes {len(columns)}")


def _takes_raw(model: Any, space: Space) -> bool:
    """Whether a model, whose columns have the names of both the space's own and the encoded ones, takes the former.

    Where both hold different numbers, or lack some, a pipeline does: it encodes by itself. Texts are shown to it.
    """

    def said(frame: Any) -> Any:
        decided = model.predict(frame)
        return model.predict_proba(frame) if hasattr(model, "predict_proba") else decided

    with quiet():
        found = takes_features(said, space, names_known(model), types_asked(model, space))
    return bool(told_apart(space)) and is_pipeline(model) if found is None else found


class Calls:
    """The calls of a black box about rows of a chart.

    failed: how many calls failed and were made again.
    """

    def __init__(self, box: BlackBox, chart: Chart, deadline: Deadline = NEVER) -> None:
        self.box, self.chart, self.deadline = box, chart, deadline
        self.failed = 0
        self._model = getattr(box.predict, "__self__", None)
        framed = self._model is not None and box.given == "frame"
        self._names = None if self._model is None else names_known(self._model)
        self._markers = markers_of(self._model) if framed else {}
        self._types = types_asked(self._model, chart.place.space) if framed else {}
        self._remembered: tuple[Floats, NDArray[Any]] | None = None

    def answers(self, rows: Floats) -> NDArray[Any]:
        """The answer for every row, shape (rows,) or (rows, outputs); one that is remembered is not asked for again."""
        if self._remembered is None:
            return self._call(self.box.predict, "predict", rows)
        row, answer = self._remembered
        same = ((rows == row) | (np.isnan(rows) & np.isnan(row))).all(axis=1)
        rest = [] if same.all() else [self._call(self.box.predict, "predict", rows[~same])]
        found: NDArray[Any] = np.concatenate([answer, *rest])[np.where(same, 0, np.cumsum(~same))]
        return found

    def remember(self, row: Floats, answer: NDArray[Any] | None) -> None:
        """Keep the answer for one row, shape (1,) or (1, outputs); None: forget it."""
        self._remembered = None if answer is None else (row, answer)

    def probabilities(self, rows: Floats) -> Floats:
        """The probabilities of the classes, shape (rows, classes)."""
        assert self.box.probabilities is not None
        found = self._call(self.box.probabilities, "probabilities", rows)
        classes = self.box.classes
        if found.ndim != 2 or classes and found.shape[1] != len(classes):
            raise ModelError(
                f"`probabilities` of the {self.box.name} gave an array of shape {found.shape} for {len(rows)} rows and "
                f"{len(classes or ())} classes"
            )
        numbers = self._numbers(found, "probabilities")
        if ((numbers < -CLOSE_TO) | (numbers > 1 + CLOSE_TO)).any():
            raise ModelError(f"`probabilities` of the {self.box.name} gave numbers outside of 0..1")
        return numbers

    def confidences(self, rows: Floats) -> Floats:
        """How sure each output is, shape (rows, outputs)."""
        assert self.box.confidence is not None
        found = self._call(self.box.confidence, "confidence", rows)
        return self._numbers(found, "confidence").reshape(len(rows), -1)

    def _call(self, ask: Ask, name: str, rows: Floats) -> NDArray[Any]:
        """One call, made again where it fails on the way."""
        from http.client import HTTPException  # late: ssl and email come with it

        given, wait = self._given(rows), self.box.pause
        for tried in range(self.box.retries + 1):
            try:
                said = ask(given)
                break
            except MaceError:
                raise
            except (OSError, HTTPException) as error:
                reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                if tried == self.box.retries:
                    raise ExhaustedError(f"the model failed {tried + 1} times in a row ({reason})") from error
                if self.deadline.over:
                    raise ExhaustedError(f"{self.deadline.why}; the last call failed ({reason})") from error
                self.failed += 1
                left = self.deadline.left()
                time.sleep(wait if left is None else min(wait, left))
                wait *= 2
            except Exception as error:
                count = counted(len(rows), "row")
                reason = " ".join(str(error).split())  # libraries break the lines of theirs
                raise ModelError(
                    f"`{name}` of the {self.box.name} raised {type(error).__name__} for {count}: {reason}",
                    hint="Try it on a few rows of the table, in the form that BlackBox(given=..) names.",
                ) from error
        return self._checked(said, name, len(rows))

    def _checked(self, said: Any, name: str, count: int) -> NDArray[Any]:
        """One answer a row, none of them missing."""
        try:
            found = np.asarray(said)
        except ValueError:
            raise ModelError(f"`{name}` of the {self.box.name} gave lists of different lengths") from None
        if found.ndim not in (1, 2) or len(found) != count:
            shape = f"an array of shape {found.shape}" if found.ndim else short(said)
            raise ModelError(
                f"`{name}` of the {self.box.name} must give one answer a row: it gave {shape} for {count} rows"
            )
        if found.ndim == 2 and found.shape[1] == 1:
            found = found[:, 0]
        self._no_gaps(found, name)
        return self._among_classes(found) if name == "predict" and found.ndim == 1 else found

    def _no_gaps(self, found: NDArray[Any], name: str) -> None:
        """Raise ModelError where an answer is missing, or is nothing that answers are."""
        for place, cell in enumerate(found.ravel().tolist()):
            if isinstance(plain(cell), LABELS) and cell == cell:
                continue
            none = cell is None or isinstance(cell, float) or type(cell).__name__ in ("NAType", "NaTType")
            raise ModelError(
                f"`{name}` of the {self.box.name} gave {'NaN or None' if none else short(cell)} for a row",
                shown=self._shown(place // (found.size // len(found))),
                hint="" if none else "An answer is a text, a number or a truth.",
            )

    def _among_classes(self, found: NDArray[Any]) -> NDArray[Any]:
        """Decisions as the classes that were named, which some wrappers write as texts: "True" for True.

        Raises ModelError for one that is none of them: no goal would ever be met, and nobody would know why.
        """
        classes = [plain(label) for label in self.box.classes or ()]
        if not classes or not all(isinstance(label, LABELS) for label in classes):
            return found  # a number, or a list of the classes of each output
        answers = [plain(cell) for cell in found.tolist()]
        if set(answers) <= set(classes):
            return found
        written = {str(label): label for label in classes} | {label: label for label in classes}
        for place, answer in enumerate(answers):
            if answer not in written and str(answer) not in written:
                raise ModelError(
                    f"`predict` of the {self.box.name} gave {short(answer)} for a row, which is none of its classes",
                    shown=self._shown(place),
                    hint=f"Its classes are {few(map(short, classes))}. Name all of them in mace.BlackBox(.., "
                    "classes=[..]), in the order of the probabilities; () for a model that predicts numbers.",
                )
        named = [written[answer if answer in written else str(answer)] for answer in answers]
        return np.array(named, dtype=None if len(set(map(type, classes))) == 1 else object)

    def _shown(self, place: int) -> str:
        """A row of the last call, for a message."""
        return str(self.chart.values(self._last[place][None])[0])

    def _numbers(self, found: NDArray[Any], name: str) -> Floats:
        """What must be numbers."""
        try:
            return found.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ModelError(
                f"`{name}` of the {self.box.name} gave {short(found.ravel()[0])}, which is no number"
            ) from None

    def _given(self, rows: Floats) -> Any:
        """Rows as the functions take them."""
        self._last, space = rows, self.chart.place.space
        if self.box.given == "frame":
            return frame_of(space, self.chart.values(rows), self._names, self._markers, self._types)
        columns = in_order(space.columns, self._names)
        matrix = self.chart.matrix(rows, columns)
        if self.box.given == "array":
            return matrix
        import pandas as pd

        return pd.DataFrame(matrix, columns=pd.Index([column.name for column in columns]))
