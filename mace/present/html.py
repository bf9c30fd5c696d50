"""Pages of HTML: templates in which every value is escaped."""

from __future__ import annotations

from typing import Any

from mace.base.escape import one_line
from mace.errors import MaceError


def template(text: str, what: str) -> Any:
    """A Jinja template: values are escaped, each in one line, and one that is not there is an error.

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
    return env.from_string(text)
