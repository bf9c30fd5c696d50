"""Which of a test's cases are quick, and which are for the night."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def slow_unless(quick: Callable[[Any], bool], cases: Iterable[Any]) -> list[Any]:
    """The cases of `parametrize`, those that are not quick marked slow; a case of several arguments is a tuple."""
    return [
        case if quick(case) else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases
    ]


def exhaustive_from(first: int, cases: Iterable[int]) -> list[Any]:
    """Cases that are numbers of seeds, those from `first` on for `make exhaustive` alone."""
    return [case if case < first else pytest.param(case, marks=pytest.mark.exhaustive) for case in cases]
