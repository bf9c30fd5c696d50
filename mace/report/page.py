"""The page about the population: what was asked, what was proved, what was found.

In:  an `Audit`.    Out: a `Page`, plain values for the template.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from mace.report import asked, sections
from mace.report.parts import Pair, ReportTable
from mace.report.summary import Said, five

if TYPE_CHECKING:
    from mace.audit.result import Audit


Template: TypeAlias = Literal["audit", "letter", "model-validation"]
TEMPLATES: tuple[Template, ...] = get_args(Template)
# The sections of a page in order. A letter has none of them.
ORDERS: dict[Template, tuple[str, ...]] = {
    "audit": ("findings", "proved", "person", "assumptions", "scope", "identity"),
    "model-validation": ("identity", "scope", "assumptions", "proved", "findings", "person"),
    "letter": (),
}


@dataclass(frozen=True, slots=True)
class Page:
    """All that the template shows of the population."""

    title: str
    date: str
    summary: list[Said]
    scope: list[Pair]
    rules: list[str]
    restrictions: ReportTable | None
    limits: list[Pair]
    proved: sections.Section
    findings: list[sections.Section]
    assumptions: list[str]
    digests: ReportTable
    versions: list[Pair]
    order: tuple[str, ...]


def _title(audit: Audit, model: str, template: Template) -> str:
    """What the page is about; first of all that it is unfinished, where it is."""
    what = "Model validation, recourse" if template == "model-validation" else "Audit of recourse"
    if audit.finished:
        return f"{what}: {model}"
    of = f"{len(audit.records):,} of {audit.about['planned']:,} rows answered"
    return f"Unfinished {what[0].lower()}{what[1:]}: {model} ({of})"


def page_of(audit: Audit, title: str | None, date: str | datetime.date | None, template: Template = "audit") -> Page:
    """The page; a date is shown as it is given, or as the audit has it."""
    about = audit.about
    findings = audit.findings
    model = str(about["model"]) if "model" in about else "a model"
    return Page(
        title=title or _title(audit, model, template),
        date=str(date) if date else asked.period(audit) or "not stated",
        summary=five(audit),
        scope=asked.scope(audit),
        rules=[str(rule) for rule in about.get("rules", ())],
        restrictions=asked.restrictions(about),
        limits=asked.limits(about),
        proved=sections.proved(audit, findings),
        findings=[
            section
            for section in (
                sections.reach(audit),
                sections.no_recourse(audit, findings),
                sections.distances(audit, findings),
                sections.bounds(audit),
                sections.reliance(audit, findings),
                sections.flips(findings),
                sections.forbidding(findings),
                sections.blocking(findings),
            )
            if section is not None
        ],
        assumptions=_assumptions(audit),
        digests=asked.digests(about),
        versions=asked.versions(about),
        order=ORDERS[template],
    )


def _assumptions(audit: Audit) -> list[str]:
    out = [
        "“Nearest” is meant in the distance named above, on the ranges and steps that the space declares. Another "
        "distance, range or step has other answers.",
        "Rules and restrictions are taken as declared. What they allow may still be out of a person’s reach, and what "
        "one change brings about in other features is not modelled, unless a rule says so.",
        "The verdicts are about the model with the digest below, as its library computes it in floating point. They "
        "say nothing about another version, a retrained model, or steps of the decision outside the model.",
        "Intervals treat the audited rows as a random sample. If they were chosen otherwise, intervals do not speak of "
        "a population. Each interval stands for itself; they are not adjusted for how many there are.",
        "A proof that the checker accepted rests on the checker and on the reading of the model in the certificate. A "
        "proof that was kept or not checked rests on the prover that gave it. Where solvers answered, the verdict "
        "rests on them, and on the translation of the question into their language.",
    ]
    if audit.about.get("source") == "checkpoint":
        out.append(
            "This report was made from a checkpoint. It has equal rows once, may hold rows of several runs, and does "
            "not record everything that was asked."
        )
    return out
