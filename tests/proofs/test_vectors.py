"""The certificates of proofs/vectors/: the checker finds what their index says, and accepts no false one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mace.proofs.check import check
from mace.proofs.kernel.proof import CERTIFICATE, RULES
from mace.proofs.kernel.sets import ASKED
from mace.proofs.kernel.sets import CERTIFICATE as OF_SETS
from mace.proofs.kernel.statement import SHAPE
from mace.proofs.kernel.world import OPERATORS
from mace.proofs.reader import load
from tests.proofs.by_hand import at_least, certificate, forest, grid
from tests.proofs.enumeration import true
from tests.proofs.make_vectors import FOLDER, files, verdict_on

INDEX: list[dict[str, str]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))


def test_the_files_are_those_that_are_made() -> None:
    made = files()
    assert {path.name for path in FOLDER.iterdir()} == set(made)
    for name, raw in made.items():
        assert (FOLDER / name).read_bytes() == raw, name


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: f"{entry['file'][:3]} {entry['shows']}")
def test_each_has_the_verdict_of_the_index(entry: dict[str, str]) -> None:
    verdict, why = verdict_on(FOLDER / entry["file"])
    assert verdict == entry["verdict"], why
    assert "unforeseen" not in why
    if verdict == "accepted":
        data: Any = load(FOLDER / entry["file"])
        if "mace_set" in data:
            return  # tests/proofs/test_sets_checked.py tries every set
        wide = any(f["kind"] == "grid" and f["upper"] - f["lower"] > 100 for f in data["statement"]["features"])
        assert wide or true(data)


def test_every_rule_is_accepted_and_refused_and_each_verdict_occurs() -> None:
    assert len(INDEX) >= 80
    for rule in (*RULES, "cuts", "witness", "statement", "sets"):
        verdicts = {entry["verdict"] for entry in INDEX if entry["about"] == rule}
        assert verdicts == {"accepted", "refused"}, rule
    assert {entry["verdict"] for entry in INDEX} == {"accepted", "refused", "unusable"}


def test_the_schema_knows_the_rules_and_fields() -> None:
    schema = json.loads((FOLDER.parent / "format.schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == {name.rstrip("?") for name in CERTIFICATE}
    assert set(schema["$defs"]["statement"]["properties"]) == set(SHAPE)
    assert set(schema["$defs"]["certificate_of_a_set"]["properties"]) == {name.rstrip("?") for name in OF_SETS}
    assert set(schema["$defs"]["set"]["properties"]) == set(ASKED)
    first = [node["prefixItems"][0] for node in schema["$defs"]["node"]["oneOf"]]
    assert {name for entry in first for name in entry.get("enum", [entry.get("const")])} == set(RULES)
    operators = set(schema["$defs"]["expression"]["prefixItems"][0]["enum"])
    assert operators == {"x", "c", *OPERATORS}


def test_the_certificate_that_the_format_reads_aloud_is_accepted() -> None:
    said = (FOLDER.parent / "FORMAT.md").read_text(encoding="utf-8").split("```json")[1].split("```")[0]
    model = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 2.0])
    model["trees"][1]["column"][0] = 1
    world = {"features": [grid(0, 10, 0), grid(0, 10, 0)], "columns": [[0, None, []], [1, None, []]]}
    made = {**json.loads(said), "statement": certificate(model, at_least(2.0), "7", [], **world)["statement"]}
    verdict = check(made)
    assert verdict.accepted, verdict.reason
    assert true(made)
    assert not check({**made, "proof": [["split", 0, 4], *made["proof"][1:]]}).accepted
