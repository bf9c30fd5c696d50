"""The names and versions of what is written as JSON: `mace.answer/1`.

A key that is added leaves the version as it is; one that goes, or means something else, makes a new one. What the keys
are: `mace schema`, and docs/mace.schema.json.
"""

from __future__ import annotations

VERSIONS = {
    "answer": 1, "menu": 1, "front": 1, "plan": 1, "plan-front": 1, "plan-audit": 1,
    "verdict": 1, "verdicts": 1, "vnnlib": 1, "audit": 1, "check": 1,
    "checks": 1, "inspection": 1, "reproduction": 1, "reproductions": 1, "demo": 1, "doctor": 1,
}  # fmt: skip


def schema_of(kind: str) -> dict[str, str]:
    """What a JSON object of a kind says of itself, its first key."""
    return {"schema": name_of(kind)}


def name_of(kind: str) -> str:
    """The name of a kind with its version."""
    return f"mace.{kind}/{VERSIONS[kind]}"
