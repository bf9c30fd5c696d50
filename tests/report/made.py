"""Audits made by hand, so that a page can be tested on every outcome at once, and a parser of what is written."""

from __future__ import annotations

from fractions import Fraction
from html.parser import HTMLParser
from typing import Any

from mace.audit.record import Record
from mace.audit.result import Audit

HOSTILE = "<script>alert(1)</script>"
VOID = {"meta", "link", "br", "img", "hr", "input"}


def found(row: int, distance: Fraction, lower: Fraction | None = None, **more: Any) -> Record:
    """A row with a counterfactual; bounded if a lower bound below the distance is given."""
    settled = lower is None or lower == distance
    values: dict[str, Any] = {
        "status": "optimal" if settled else "bounded",
        "decision": 0,
        "distance": float(distance),
        "lower_bound": float(distance if lower is None else lower),
        "exact_distance": str(distance),
        "exact_lower_bound": str(distance if lower is None else lower),
        "start": {"Age": 30, "Income": 1200.5, "Sex": "female"},
        "changes": {"Income": [1200.5, 1800.0]},
        "oracle": "ensembles",
        "proof": "accepted" if settled else "none",
        "certificate": f"{row:020x}.json.gz" if settled else "",
    }
    return Record(row, f"r{row}", "main", f"{row:064x}", **(values | more))


def blocked(row: int, **more: Any) -> Record:
    """A row that provably has no recourse."""
    start = {"Age": 60, "Income": 900.0, "Sex": "male"}
    values: dict[str, Any] = {"status": "infeasible", "decision": 0, "start": start, "proof": "kept"}
    return Record(row, f"r{row}", "main", f"{row:064x}", **(values | more))


def failed(row: int, failure: Any = "timeout") -> Record:
    """A row whose query was stopped."""
    return Record(row, f"r{row}", "main", f"{row:064x}", failure=failure, why="stopped after 45 s")


def again(record: Record, part: str, **more: Any) -> Record:
    """The same row, asked another question."""
    return Record(record.row, record.label, part, f"{part}{record.key}"[:64], **more)


ABOUT: dict[str, Any] = {
    "mace": "0.1.0",
    "versions": {"python": "3.11.0"},
    "model": "RandomForestClassifier",
    "space": "loans",
    "goal": "1",
    "distance": "l1",
    "rules": ["Age >= 18"],
    "restrictions": {"Sex": "fixed", "Age": "increase"},
    "rows": "rejected",
    "limit": 8,
    "frame_rows": 100,
    "frame_sha256": "ab" * 32,
    "audited": 8,
    "timeout_seconds": 20.0,
    "memory_mb": 4096,
    "oracle": "auto",
    "digests": {"model": "cd" * 32},
}


def audit(text: str = "x", **changes: Any) -> Audit:
    """An audit with every outcome; `text` is put wherever a text of a user can be."""
    more = {"start": {"Age": 30, text: text}, "changes": {text: [text, text + "!"]}}
    records = [
        found(0, Fraction(1, 3)),
        found(1, Fraction(1, 5), **more),
        found(2, Fraction(1, 2), Fraction(1, 4), why=text),
        blocked(3),
        blocked(4),
        failed(5),
        failed(6, "crashed"),
        Record(7, text, "main", "7" * 64, status="unknown", why=text, lower_bound=0.125, exact_lower_bound="1/8"),
    ]
    extra = {
        f"flip:{text}": [again(r, f"flip:{text}", changes={text: [text, "b"]}) for r in records[:2]],
        "fixed:Income": [again(records[0], "fixed:Income", status="infeasible")],
        "core": [again(records[3], "core", status="infeasible", core=[text, "Sex is fixed"], opens=[text])],
    }
    about = ABOUT | dict.fromkeys(("model", "space", "goal", "distance", "oracle"), text)
    about |= {"rules": [text], "restrictions": {text: text}, "digests": {text: text}, "versions": {text: text}}
    groups = {text: [text, "b"] * 4}
    whole = Audit(records, extra, groups, (text,), about if text != "x" else ABOUT)
    return Audit(**({n: getattr(whole, n) for n in ("records", "extra", "groups", "protected", "about")} | changes))


class Parsed(HTMLParser):
    """Elements with their attributes, open ones on a stack; raises AssertionError where a tag is closed out of turn."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self.stack: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.stack[-1] if self.stack else "", data))

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every element of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def words(self, *tags: str) -> str:
        """All text, or that which stands in some kinds of element."""
        return " ".join(" ".join(data.split()) for tag, data in self.texts if not tags or tag in tags)
