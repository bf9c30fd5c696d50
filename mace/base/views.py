"""How results are shown, without the results knowing who shows them.

In:  names of views, each with the module and the function that makes it, from `mace/__init__.py`.
Out: the function, imported when it is first wanted.
Promise: a result (an answer, an audit) imports nothing that shows it. What shows it imports the result, and stands on a
higher floor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_VIEWS: dict[str, str] = {}


class Plot(Protocol):
    """A plot that was drawn: where, and `alt`, the same in words."""

    ax_: Axes
    figure_: Figure

    @property
    def alt(self) -> str:
        """The plot in words, for those who do not see it."""
        ...


def register(views: Mapping[str, str]) -> None:
    """Name the views: name -> "module:function"."""
    _VIEWS.update(views)


def view(name: str) -> Callable[..., Any]:
    """The function that makes a view, imported now."""
    module, _, function = _VIEWS[name].partition(":")
    found: Callable[..., Any] = attrgetter(function)(import_module(module))
    return found


def names() -> list[str]:
    """Every view that has a name."""
    return sorted(_VIEWS)
