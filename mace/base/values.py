"""Single values as Python and JSON see them: cells of rows, labels, predicted numbers.

In:  whatever a library, a frame or a space holds in one place.
Out: Python's own scalars; for JSON, one of those that JSON has a place for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import NoneType
from typing import Any

from mace.base.escape import short
from mace.base.exact import nearest

_OWN = frozenset((str, int, float, bool, NoneType))


def plain(value: Any) -> Any:
    """A scalar of numpy or pandas as Python's own, pandas' missing markers as None; everything else as it is."""
    if type(value) in _OWN:
        return value
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def hashed(value: object) -> bool:
    """Whether a cell can be compared with others; a tuple says so even of the lists in it."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def no_single(value: object) -> str:
    """What is wrong with a cell that is not `hashed`."""
    return f"a cell holds {short(value)}, which is no single value"


def for_json(value: Any) -> Any:
    """What stands for a value in JSON: None, a truth, a finite number or a text.

    A rational is the number nearest to it, what is missing (NaN too) is None, anything else is its text.
    """
    value = plain(value)
    if isinstance(value, Fraction):
        value = value.numerator if value.denominator == 1 else nearest(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def name_of(label: object, names: Mapping[str, str]) -> str | None:
    """What people call a class, by its text in `names`; of a float that is whole (1.0) by its integer (1), too."""
    found = names.get(str(label))
    whole = isinstance(label, float) and label.is_integer()
    return names.get(str(int(label))) if found is None and whole else found  # type: ignore[call-overload]


__all__ = ["for_json", "hashed", "name_of", "no_single", "plain"]
