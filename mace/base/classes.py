"""Where a class says that it was defined: whoever decides by that asks here.

A class may say None, or hold anything under the name.
"""

from __future__ import annotations


def module_of(kind: object) -> str:
    """The module that a class, or a function, names as its own; "" where it names none."""
    module: object = getattr(kind, "__module__", None)
    return module if isinstance(module, str) else ""


def package_of(kind: object) -> str:
    """The first part of that module's name."""
    return module_of(kind).partition(".")[0]
