"""Outcomes of a suite for people and for pipelines: text, JSON, JUnit XML, SARIF 2.1.0.

In:  a suite and its outcomes.    Out: one text.
Promise: violated, unknown and errors are never written as a pass. JUnit: violated is a failure, unknown and errors are
errors. SARIF: violated is a result of kind "fail", unknown of kind "open", proved of kind "pass".
Source: the JUnit schema of the Apache Ant project as GitHub, GitLab and Jenkins read it; OASIS, SARIF version 2.1.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from mace.base.escape import json_text, lines, one_line
from mace.base.figures import counted
from mace.base.formats import schema_of
from mace.verify.properties import text_of
from mace.verify.suite import Outcome, Suite

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
# Kind and level; a level other than "none" is for "fail" only (section 3.27.10).
SARIF = {"proved": ("pass", "none"), "violated": ("fail", "error"), "unknown": ("open", "none")}


def as_text(suite: Suite, outcomes: Sequence[Outcome]) -> str:  # noqa: ARG001
    """A paragraph for each property, and a line that counts."""
    shown = []
    for outcome in outcomes:
        if outcome.entry.name != text_of(outcome.entry.property):
            shown.append(f"{one_line(outcome.entry.name)}:")
        verdict = outcome.verdict
        if verdict is None:
            shown += [
                f"error: {one_line(text_of(outcome.entry.property))}",
                *(f"  {line}" for line in outcome.error.splitlines()),
            ]
            continue
        shown.append(str(verdict))
        count = len(verdict.certificates)
        proofs = f", {counted(count, 'certificate')}" if verdict.certified else ""
        shown.append(f"  ({verdict.oracle or 'no oracle'}{proofs}, {verdict.seconds:.2f} s)")
    counts = {
        status: sum(o.status == status for o in outcomes) for status in ("proved", "violated", "unknown", "error")
    }
    shown.append(", ".join(f"{count} {status}" for status, count in counts.items() if count or status == "proved"))
    return "\n".join(shown)


def as_json(suite: Suite, outcomes: Sequence[Outcome]) -> str:
    """An object with one entry a property."""
    return json_text(
        {
            **schema_of("verdicts"),
            "suite": str(suite.path),
            "results": [
                {"name": o.entry.name, "line": o.entry.line, "status": o.status, "error": o.error}
                | (o.verdict.to_dict() if o.verdict is not None else {"property": text_of(o.entry.property)})
                for o in outcomes
            ],
        },
        indent=2,
        allow_nan=True,
    )


def as_junit(suite: Suite, outcomes: Sequence[Outcome]) -> str:  # noqa: ARG001
    """JUnit XML: one test case a property."""
    bad = {status: sum(o.status == status for o in outcomes) for status in ("violated", "unknown", "error")}
    seconds = sum(o.verdict.seconds for o in outcomes if o.verdict is not None)
    about = {
        "name": "mace verify",
        "tests": str(len(outcomes)),
        "failures": str(bad["violated"]),
        "errors": str(bad["unknown"] + bad["error"]),
        "skipped": "0",
        "time": f"{seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", about)
    group = ElementTree.SubElement(root, "testsuite", about)
    for outcome in outcomes:
        verdict = outcome.verdict
        case = ElementTree.SubElement(
            group,
            "testcase",
            {
                "name": lines(outcome.entry.name),
                "classname": lines(text_of(outcome.entry.property)),
                "time": f"{verdict.seconds if verdict is not None else 0:.3f}",
            },
        )
        why, text = (verdict.why, str(verdict)) if verdict is not None else (outcome.error, outcome.error)
        if outcome.status == "proved":
            ElementTree.SubElement(case, "system-out").text = lines(text)
        else:
            tag = "failure" if outcome.status == "violated" else "error"
            about = {"message": lines(why), "type": outcome.status}
            ElementTree.SubElement(case, tag, about).text = lines(text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=False)


def as_sarif(suite: Suite, outcomes: Sequence[Outcome]) -> str:
    """SARIF 2.1.0: one rule for each kind of property, one result a property."""
    from mace.base.versions import MACE

    kinds = sorted({type(o.entry.property) for o in outcomes}, key=lambda kind: kind.__name__)
    rules = [
        {
            "id": kind.__name__.lower(),
            "name": kind.__name__,
            "shortDescription": {"text": (kind.__doc__ or kind.__name__).strip().splitlines()[0]},
        }
        for kind in kinds
    ]
    run = {
        "tool": {"driver": {"name": "mace", "version": MACE, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(suite, o, kinds.index(type(o.entry.property))) for o in outcomes],
    }
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, allow_nan=True)


def _result(suite: Suite, outcome: Outcome, rule: int) -> dict[str, Any]:
    kind, level = SARIF.get(outcome.status, ("open", "none"))
    verdict = outcome.verdict
    result: dict[str, Any] = {
        "ruleId": type(outcome.entry.property).__name__.lower(),
        "ruleIndex": rule,
        "kind": kind,
        "level": level,
        "message": {"text": f"{outcome.entry.name}: {verdict if verdict is not None else outcome.error}"},
        "properties": verdict.to_dict() if verdict is not None else {"error": outcome.error},
    }
    if outcome.entry.line:
        place = {"artifactLocation": {"uri": quote(suite.path.as_posix())}, "region": {"startLine": outcome.entry.line}}
        result["locations"] = [{"physicalLocation": place}]
    return result


WRITERS = {"text": as_text, "json": as_json, "junit": as_junit, "sarif": as_sarif}
