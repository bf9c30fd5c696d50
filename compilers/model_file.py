"""A model file that holds plain data: what was read of it, and the same model made by its library.

In:  the path of a .json, .ubj (XGBoost), .txt (LightGBM) or .onnx file.
Out: a `ModelFile`: its checked content, its table, and `loaded`, the library's own object.
Promise: no library is imported to read a file, and none ever sees its bytes: `loaded` hands the library a file that
`formats/` wrote of the checked content, after the table was made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from mace.compilers.lightgbm import model as lightgbm_model
from mace.compilers.lightgbm import reader as read_lightgbm
from mace.compilers.onnx import model as onnx_model
from mace.compilers.onnx import reader as read_onnx
from mace.compilers.xgboost import model as xgboost_model
from mace.compilers.xgboost import reader as read_xgboost
from mace.compilers.xgboost.dump import Dump
from mace.errors import FileError, ModelError
from mace.tables.table import Table

Format = Literal["xgboost", "lightgbm", "onnx"]
FORMATS: dict[str, Format] = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm", ".onnx": "onnx"}


@dataclass(frozen=True)
class ModelFile:
    """A model file that holds plain data, and its checked content; `assumed`: what its user said that is not in it."""

    path: Path
    format: Format
    content: Any
    assumed: str = ""

    def table(self) -> Table:
        """Its table; raises ModelError."""
        return self._table

    @cached_property
    def _table(self) -> Table:
        return _READ[self.format](self.content)

    def loaded(self) -> Any:
        """The library's own object; raises ImportError without the library, ModelError where it does not take it."""
        self.table()  # What no table can be made of reaches no library.
        made = _LOADED[self.format]
        try:
            return made(self.content)
        except ImportError:
            raise
        except Exception as error:  # every library raises its own kinds
            raise ModelError(
                f"the {self.format} that is installed does not take {self.path.name}: {_first_line(error)}",
                hint="Was it saved by a newer version?",
            ) from error


def _first_line(error: Exception) -> str:
    """The first line of what a library said."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]


def _booster(content: Any) -> Any:
    import xgboost

    return xgboost.Booster(model_file=bytearray(xgboost_model.written(content)))


def _lightgbm(content: Any) -> Any:
    import lightgbm

    return lightgbm.Booster(model_str=content)


def _session(content: Any) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(read_onnx.follow(content).file)


_READ: dict[Format, Callable[[Any], Table]] = {
    "xgboost": read_xgboost.read_document,
    "lightgbm": read_lightgbm.read_text,
    "onnx": read_onnx.read_proto,
}
_LOADED: dict[Format, Callable[[Any], Any]] = {"xgboost": _booster, "lightgbm": _lightgbm, "onnx": _session}
_OPEN: dict[Format, Callable[[Path], Any]] = {
    "xgboost": xgboost_model.load,
    "lightgbm": lightgbm_model.load,
    "onnx": onnx_model.load,
}


def open_file(path: Path, dump: Dump | None = None) -> ModelFile:
    """The checked content of a model file, by its ending; raises FileError for damage, ModelError.

    dump: what a file of XGBoost's `dump_model` lacks.
    """
    kind = FORMATS[path.suffix]
    try:
        if dump is not None and path.suffix == ".json":
            return ModelFile(
                path, kind, xgboost_model.load(path, dump), f"{path.name} holds trees alone; taken: {dump}"
            )
        return ModelFile(path, kind, _OPEN[kind](path))
    except MemoryError:
        raise FileError(f"{path} needs more memory than there is") from None
