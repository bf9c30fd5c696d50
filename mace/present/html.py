"""Pages and tables of HTML, in which every value is escaped; a page has its colours from `mace.base.colours`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from mace.base.colours import colours
from mace.base.escape import one_line
from mace.errors import MaceError


def template(text: str, what: str) -> Any:
    """A Jinja template: values are escaped, each in one line, and one that is not there is an error; `colours` is.

    what: names the page where Jinja2 is not installed: the MaceError says what to install.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise MaceError(f"{what} needs Jinja2", hint="pip install 'mace-smt[report]'.") from None

    def shown(value: object) -> object:
        # Before it is escaped; what is Markup was made here, not read.
        return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    env = Environment(autoescape=True, undefined=StrictUndefined, finalize=shown, trim_blocks=True, lstrip_blocks=True)
    env.globals["colours"] = Markup(colours())  # noqa: S704  our own file
    return env.from_string(text)


LEFT = "style='text-align:left'"  # notebooks set every cell to the right


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table for a notebook; the first cell of a row is its title. Nothing, where there are no rows."""
    titles = "".join(f"<th scope='col' {LEFT}>{escape(name)}</th>" for name in head)
    body = "".join(
        f"<tr><th scope='row' {LEFT}>{escape(first)}</th>"
        + "".join(f"<td {LEFT}>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>" if body else ""
