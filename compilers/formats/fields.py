"""The members of a mapping in a model file, asked for by name, type and range.

In:  what a parser (`ubjson.py`, `json`) made of a file.    Out: numbers, texts and arrays of the type asked for.
Promise: whatever stands in the file, the only exception is a ModelError that names the member and what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.errors import ModelError

LONGEST_TEXT = 10_000
_WHOLE = re.compile(r"-?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping, and the words with which messages about it begin."""

    values: Mapping[str, Any]
    where: str

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"{self.where} {what}", hint="It may be cut off or edited: save the model again.")

    def only(self, known: Collection[str]) -> None:
        """Refuse members of other names: they may change what the model predicts."""
        for key in self.values:
            if key not in known:
                raise self.wrong(f"has a member `{shown(key)}`, which is not known")

    def get(self, key: str) -> Any:
        if key not in self.values:
            raise self.wrong(f"has no `{key}`")
        return self.values[key]

    def fields(self, key: str, where: str = "") -> Fields:
        return fields_of(self.get(key), where or self.where, f"`{key}`")

    def items(self, key: str) -> list[Any]:
        """A list of anything."""
        found = self.get(key)
        if isinstance(found, np.ndarray):
            found = found.tolist()
        if not isinstance(found, list):
            raise self.wrong(f"has no list in `{key}`")
        return found

    def text(self, key: str) -> str:
        return self._text(key, self.get(key))

    def texts(self, key: str) -> list[str]:
        return [self._text(key, value) for value in self.items(key)]

    def _text(self, key: str, value: Any) -> str:
        if not isinstance(value, str):
            raise self.wrong(f"has {shown(value)} in `{key}`, expected a text")
        if len(value) > LONGEST_TEXT or "\0" in value or not writable(value):
            raise self.wrong(f"has a text in `{key}` that is too long, or holds characters that no text may hold")
        return value

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number, written as a number or as a text of digits."""
        found = self.values.get(key, default)
        if isinstance(found, str) and _WHOLE.fullmatch(found):
            found = int(found)
        if not isinstance(found, int) or isinstance(found, bool) or not least <= found <= most:
            raise self.wrong(f"has {key} = {shown(found)}, expected a whole number from {least} to {most}")
        return found

    def wholes(self, key: str, dtype: str, least: int, most: int, default: Any = None) -> NDArray[Any]:
        """An array of whole numbers of this range."""
        array = self._array(key, self.values.get(key, default), "iub")
        if array.size and not (least <= int(array.min()) and int(array.max()) <= most):
            odd = array[(array < least) | (array > most)][0]
            raise self.wrong(f"has {odd} in {key}, expected whole numbers from {least} to {most}")
        return array.astype(dtype)

    def floats(self, key: str, dtype: str) -> NDArray[Any]:
        """An array of finite numbers."""
        with np.errstate(over="ignore"):
            array = self._array(key, self.get(key), "iuf").astype(np.float64).astype(dtype)
        if not np.isfinite(array).all():
            raise self.wrong(f"has a number in {key} that is not finite")
        return array

    def numbers(self, key: str) -> NDArray[Any]:
        """An array of any numbers, NaN among them."""
        return self._array(key, self.get(key), "iufb")

    def _array(self, key: str, found: Any, kinds: str) -> NDArray[Any]:
        if isinstance(found, list):
            # Checked before numpy sees them: one long text among many numbers would make a huge array of texts.
            if not set(map(type, found)) <= {int, float, bool}:
                raise self.wrong(f"has no readable arrays (no numbers in {key})")
            try:
                found = np.array(found) if found else np.zeros(0, dtype=np.int64)
            except (ValueError, OverflowError):
                raise self.wrong(f"has no readable arrays ({key})") from None
        if not isinstance(found, np.ndarray) or found.ndim != 1 or found.size and found.dtype.kind not in kinds:
            raise self.wrong(f"has no readable arrays ({key} is missing or holds other numbers)")
        return found


def fields_of(value: Any, where: str, what: str) -> Fields:
    """A mapping whose keys are texts."""
    if not isinstance(value, dict):
        raise ModelError(f"{where} has no mapping in {what}", hint="It may be cut off or edited: save the model again.")
    return Fields(value, where)


def writable(text: str) -> bool:
    """Whether a text can be written as UTF-8: JSON can spell half of a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Any) -> str:
    """A value in a message: short, whatever it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else "a number of many digits"
    if isinstance(value, (dict, list, np.ndarray)):
        return f"a {'mapping' if isinstance(value, dict) else 'list'} of {len(value)}"
    found = repr(value) if not isinstance(value, str) else ascii(value[:60])
    return found[:60]
