"""Write the report: one HTML file with everything in it.

In:  an `Audit`, and the person whom one page is about.    Out: a file, whole or not at all.
Promise: every value is escaped; nothing is fetched from anywhere; the same audit gives the same bytes with the same
versions of mace and matplotlib. The report claims no more than the records: what was not proved is said to be open.
"""

from __future__ import annotations

import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.arguments import spelled
from mace.base.files import write_whole
from mace.base.suggestions import meant
from mace.errors import FileError, MaceError
from mace.present.drawing import need_matplotlib
from mace.present.html import template as made
from mace.report.pdf import as_pdf

if TYPE_CHECKING:
    from mace.audit.result import Audit
    from mace.explain.answer import Answer
    from mace.report.page import Template
    from mace.space.space import Space


@spelled
def report(
    audit: Audit,
    path: str | Path,
    person: int | Answer | None = None,
    *,
    title: str | None = None,
    date: str | datetime.date | None = None,
    space: Space | None = None,
    certificates: str | Path | None = None,
    template: Template = "audit",
) -> Path:
    """Write an audit as one self-contained, printable HTML file; or print it to PDF, where the file is called .pdf.

    path:   where to; an existing file is replaced when the new one is complete. A .pdf needs Chromium, Chrome or Edge.
    person: whom one page is about: the place of a row in the audited frame, from 0, or an answer of `mace.explain`,
            which also brings alternatives.
    title:  of the report; None: says which model was audited.
    date:   shown as it is; None: when the questions were asked and answered, as the records say.
    space:  gives units, and ranges for the person's plot; an answer brings its own.
    certificates: the folder of the audit's certificates; the person's is then checked once more.
    template: "audit"; "model-validation", which begins with what was asked and of which model; "letter", one page in
            plain words for the person, who must then be named.
    Returns the path. Raises FileError if it cannot be written or printed, RowError for a person who was not audited,
            and MaceError if Jinja2 or matplotlib is not installed.
    """
    path = Path(path)
    if path.suffix.lower() not in (".html", ".htm", ".pdf") and (path.is_file() or not path.exists()):
        raise FileError(f"{path}: a report is .html or .pdf", hint="Give the file one of these endings.")
    text = to_html(audit, person, title=title, date=date, space=space, certificates=certificates, template=template)
    return write_whole(path, as_pdf(text) if path.suffix.lower() == ".pdf" else text.encode())


def to_html(
    audit: Audit,
    person: int | Answer | None = None,
    *,
    title: str | None = None,
    date: str | datetime.date | None = None,
    space: Space | None = None,
    certificates: str | Path | None = None,
    template: Template = "audit",
) -> str:
    """The report as text; arguments as in `report`."""
    need_matplotlib()
    from mace.audit.result import Audit
    from mace.report.letter import letter_of
    from mace.report.page import TEMPLATES, page_of
    from mace.report.person import person_of

    if not isinstance(audit, Audit):
        raise MaceError(
            f"a report is made of an audit, got {type(audit).__name__}",
            hint="mace.report(mace.audit(model, space, rows, goal=..), path); `person` takes an answer.",
        )
    if template not in TEMPLATES:
        raise MaceError(
            f"unknown template {template!r}", hint=meant(template, TEMPLATES, f"Use {', '.join(TEMPLATES)}.")
        )
    if template == "letter" and person is None:
        raise MaceError("a letter is about a person", hint="Name the row: person=3, or --person 3.")
    if certificates is not None and not Path(certificates).is_dir():
        hint = "Name the folder that --certificates (certificates=) of the audit named."
        raise FileError(f"{certificates}: there is no such folder", hint=hint)
    someone = None if person is None else person_of(audit, person, space, certificates)
    page, style = page_of(audit, title, date, template), _shipped("report.css")
    if template == "letter":
        assert person is not None and someone is not None
        letter = letter_of(audit, person, someone, space, title)
        return str(_template("letter.html.jinja").render(letter=letter, page=page, person=someone, style=style))
    return str(_template("report.html.jinja").render(page=page, person=someone, style=style))


@cache
def _template(name: str) -> Any:
    return made(_shipped(name), "a report")


def _shipped(name: str) -> Any:
    from markupsafe import Markup

    text = files("mace.report").joinpath(name).read_text(encoding="utf-8")
    return Markup(text) if name.endswith(".css") else text  # noqa: S704  our own file
