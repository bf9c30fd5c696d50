"""Packages whose names are imported when they are first used, and which can be called as their function.

Python sets the name of a package on its parent whenever a module of it is imported: after `import mace.audit.run` the
name `mace.audit` is the package, whatever `mace` had said. So that `mace.audit(...)` works then too, the package itself
can be called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A package that does what the function of its own name does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)


def package(name: str, public: Mapping[str, str]) -> Callable[[str], object]:
    """Make a package callable, and give its `__getattr__` (PEP 562).

    public: name -> the module that defines it; one of them is the function with the package's own name.
    """
    sys.modules[name].__class__ = _Callable

    def find(wanted: str) -> object:
        if wanted not in public:
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}; it has {', '.join(sorted(public))}")
        return getattr(import_module(public[wanted]), wanted)

    return find
