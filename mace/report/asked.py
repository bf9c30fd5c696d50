"""What an audit asked: scope, restrictions, limits, digests, versions.

In:  an `Audit`, or what it says about itself.    Out: terms and tables. What was not recorded is said to be so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mace.base.figures import cell
from mace.base.versions import MACE
from mace.report.parts import NOT_KNOWN, Pair, ReportTable, goal_of

if TYPE_CHECKING:
    from mace.audit.result import Audit

_MISSING = {
    "keep": "a missing value stays missing, and one that is there stays there",
    "fill": "a missing value may be given; one that is there stays there",
    "any": "a missing value may be given, and one that is there may become missing",
}


def scope(audit: Audit) -> list[Pair]:
    """The model, the rows, and what was wanted for them."""
    about = audit.about
    asked = {
        "rejected": "the rows that do not have the goal",
        "all": "every row",
    }.get(str(about.get("rows")), NOT_KNOWN)
    if about.get("limit") is not None:
        asked += f", the first {about['limit']:,} of them"
    return [
        Pair("Model", _of(about, "model")),
        Pair("Space of features", _of(about, "space")),
        Pair("Goal", goal_of(about)),
        Pair("Distance", _of(about, "distance")),
        Pair("Rows asked about", asked),
        Pair("Rows in the table", f"{about['frame_rows']:,}" if "frame_rows" in about else NOT_KNOWN),
        Pair("Rows in this report", f"{len(audit.records):,}"),
        Pair("Asked and answered", period(audit) or NOT_KNOWN),
        Pair("Groups", ", ".join(audit.groups) or "none"),
        Pair("Protected features", ", ".join(audit.protected) or "none named"),
    ]


def restrictions(about: Mapping[str, Any]) -> ReportTable | None:
    """The features that may not change freely; None if all may."""
    words = {"fixed": "may not change", "increase": "may only grow", "decrease": "may only shrink"}
    rows = [(str(name), words.get(str(how), str(how))) for name, how in about.get("restrictions", {}).items()]
    rows += [(str(name), _MISSING[str(how)]) for name, how in about.get("missing", {}).items() if str(how) in _MISSING]
    return (
        ReportTable("restrictions", "Features that may not change freely", ("Feature", "Restriction"), rows)
        if rows
        else None
    )


def held_protected(audit: Audit) -> list[str]:
    """The protected features that were not allowed to change: that no change uses them says nothing of the model."""
    return [name for name in audit.protected if audit.about.get("restrictions", {}).get(name) == "fixed"]


def limits(about: Mapping[str, Any]) -> list[Pair]:
    """What each answer was allowed to take."""
    seconds, memory = about.get("timeout_seconds"), about.get("memory_mb")
    return [
        Pair("Time for each answer", _limit(about, "timeout_seconds", f"{cell(seconds)} s")),
        Pair("Memory for each answer", _limit(about, "memory_mb", f"{cell(memory)} MB")),
        Pair("Oracle", _of(about, "oracle")),
    ]


def _limit(about: Mapping[str, Any], name: str, shown: str) -> str:
    return NOT_KNOWN if name not in about else "no limit" if about[name] is None else shown


def digests(about: Mapping[str, Any]) -> ReportTable:
    """The digest of everything that was asked."""
    found = {str(name): str(value) for name, value in (about.get("digests") or {}).items()}
    if "frame_sha256" in about:
        found["data (rows of the table)"] = str(about["frame_sha256"])
    rows = [(name, value) for name, value in sorted(found.items())] or [("model, data", NOT_KNOWN)]
    return ReportTable("digests", "SHA-256 of everything that was asked", ("Part", "SHA-256"), rows)


def versions(about: Mapping[str, Any]) -> list[Pair]:
    """With which versions the audit was made, and with which this page."""
    known = about.get("versions")
    out = [Pair("mace, for the audit", _of(about, "mace"))]
    if isinstance(known, Mapping):
        out += [Pair(str(name), str(value)) for name, value in known.items()]
    return [*out, Pair("mace, for this report", MACE)]


def period(audit: Audit) -> str:
    """From the first question to the last answer, in UTC; "" where the records do not say."""
    if audit.period is None:
        return ""
    first, last = audit.period
    end = f"{last:%H:%M}" if first.date() == last.date() else f"{last:%Y-%m-%d, %H:%M}"
    begin = f"{first:%Y-%m-%d, %H:%M}"
    return f"{begin} UTC" if begin.endswith(end) else f"{begin} to {end} UTC"


def _of(about: Mapping[str, Any], name: str, absent: str = "") -> str:
    if name not in about:
        return NOT_KNOWN
    return absent if about[name] is None and absent else str(about[name])
