"""What the settings of a proposer may be; any other is refused by its name, before anything is searched.

In:  a proposer, whose class says of each setting whether it is one of some texts, a whole number or a number.
Out: nothing, or a MaceError.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import fields
from numbers import Integral, Real
from types import NoneType
from typing import TYPE_CHECKING, Literal, get_args, get_origin, get_type_hints

from mace.base.escape import short
from mace.errors import MaceError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def _finite(value: Real) -> bool:
    """Whether a number is one among the doubles."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check(proposer: DataclassInstance, zero: Collection[str] = (), positive: Collection[str] = ()) -> None:
    """Raise MaceError for a setting of another kind, or too small.

    zero: whole numbers that may be 0; the others are 1 at least.    positive: numbers that may not be 0.
    """
    hints = get_type_hints(type(proposer))
    for field in fields(proposer):
        value, hint = getattr(proposer, field.name), hints[field.name]
        kinds = {hint, *get_args(hint)}
        least = int(field.name not in zero)
        if value is None and NoneType in kinds:
            continue
        if get_origin(hint) is Literal:
            good = isinstance(value, str) and value in get_args(hint)
            wanted = "one of " + ", ".join(map(repr, get_args(hint)))
        elif bool in kinds:
            good, wanted = isinstance(value, bool), "True or False"
        elif int in kinds:
            good = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
            wanted = f"a whole number >= {least}"
        elif float in kinds:
            above = field.name in positive
            number = isinstance(value, Real) and not isinstance(value, bool) and _finite(value)
            good = number and (value > 0 if above else value >= 0)
            wanted = f"a number {'>' if above else '>='} 0"
        else:
            continue
        if not good:
            none = ", or None" if NoneType in kinds else ""
            raise MaceError(f"{type(proposer).__name__}: {field.name} is {wanted}{none}; got {short(value)}")
