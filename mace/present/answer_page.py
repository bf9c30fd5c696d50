"""An answer as one page of HTML, for those who were not there when it was asked.

In:  an answer, and its menu where that was asked.    Out: a file, whole or not at all.
Promise: every value is escaped; the page fetches nothing and runs no script. It holds its certificate, which the
checker has read, so that who has the page can have it checked elsewhere.
"""

from __future__ import annotations

import base64
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.files import write_whole
from mace.certify.numbers import canonical
from mace.certify.writer import Certificate, zipped
from mace.errors import CertificateError
from mace.present.answer_plot import AnswerDisplay
from mace.present.answer_text import below_decision
from mace.present.drawing import to_svg
from mace.present.html import template
from mace.present.menu_views import below_decision as menu_below
from mace.present.words import decision, sentences

if TYPE_CHECKING:
    from mace.explain.answer import Answer
    from mace.explain.menu import Menu


class Attached(NamedTuple):
    """A certificate as the page holds it: what it was found to be, and the file itself as an address, or nothing."""

    said: str
    digest: str = ""
    address: str = ""


def write(answer: Answer, path: str | Path, menu: Menu | None = None) -> Path:
    """Write the page, and return its path.

    Raises FileError if it cannot be written, MaceError if Jinja2 or matplotlib is not installed.
    """
    from markupsafe import Markup

    said = decision(answer)
    several = range(len(answer.counterfactuals))
    text: str = _template().render(
        title=said[:1].upper() + said[1:],
        ways=[sentences(answer, which) for which in several],
        answer=Markup(below_decision(answer)),  # noqa: S704  escaped there
        plots=[
            Markup(to_svg(AnswerDisplay.of(answer, which), f"plot-{which}"))  # noqa: S704  own SVG
            for which in several
            if answer.counterfactuals[which].changes
        ],
        menu=None if menu is None else Markup(menu_below(menu)),  # noqa: S704  escaped there
        certificate=attached(answer),
    )
    return write_whole(Path(path), text.encode())


def attached(answer: Answer) -> Attached:
    """The certificate of an answer, and what the checker says of it."""
    try:
        made = answer.certificate
    except CertificateError as error:
        return Attached(error.message)
    if not isinstance(made, Certificate):
        return Attached("The bound rests on the verdicts of two solvers, which no checker reads.", made.digest)
    held = base64.b64encode(zipped(canonical(made.data))).decode()
    return Attached(str(made.check()), made.digest, f"data:application/gzip;base64,{held}")


@cache
def _template() -> Any:
    return template((files("mace.present") / "answer_page.html.jinja").read_text(encoding="utf-8"), "an answer's page")
