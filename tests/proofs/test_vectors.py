"""The certificates of proofs/vectors/: the checker finds what their index says, and accepts no false one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from mace.proofs.check import check
from mace.proofs.kernel.actions import ACTION
from mace.proofs.kernel.plans import CERTIFICATE as OF_PLANS
from mace.proofs.kernel.plans import RULES as RULES_OF_PLANS
from mace.proofs.kernel.proof import CERTIFICATE, RULES
from mace.proofs.kernel.sets import ASKED
from mace.proofs.kernel.sets import CERTIFICATE as OF_SETS
from mace.proofs.kernel.statement import SHAPE
from mace.proofs.kernel.world import OPERATORS
from mace.proofs.reader import load
from tests.proofs.by_hand import at_least, certificate, forest, grid
from tests.proofs.enumeration import true
from tests.proofs.make_vectors import FOLDER, by_hand, files, verdict_on
from tests.proofs.schema import fits, referred

INDEX: list[dict[str, str]] = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
FEW = 1000
# What is not looked at may be anything.
UNSEEN = {
    "near: nothing is looked at once nothing is left of what is far",
    "in an empty box, with text",
    "after an entry no points are left, and further entries are not looked at",
}
AGAIN = "python -m tests.proofs.make_vectors writes them anew"


def test_the_files_are_those_of_the_index() -> None:
    named = {entry["file"] for entry in INDEX}
    assert {path.name for path in FOLDER.glob("*.json")} == {"index.json", *named}, AGAIN
    assert len(INDEX) == len(named)


def test_those_by_hand_are_as_they_are_made() -> None:
    raw = {(FOLDER / entry["file"]).read_bytes() for entry in INDEX}
    other = [vector.name for vector in by_hand() if vector.raw not in raw]
    assert not other, f"{other}: {AGAIN}"


@pytest.mark.slow
def test_all_are_as_they_are_made() -> None:
    made = files()
    assert {path.name for path in FOLDER.iterdir()} == set(made), AGAIN
    other = [name for name, raw in made.items() if (FOLDER / name).read_bytes() != raw]
    assert not other, f"{other}: {AGAIN}"


def test_each_has_the_verdict_of_the_index() -> None:
    found = {entry["file"]: verdict_on(FOLDER / entry["file"]) for entry in INDEX}
    wrong = [
        f"{entry['file']} ({entry['about']}: {entry['shows']}) is to be {entry['verdict']}, and is {verdict}: {why}"
        for entry in INDEX
        for verdict, why in [found[entry["file"]]]
        if verdict != entry["verdict"] or "unforeseen" in why
    ]
    assert not wrong, "\n".join(wrong)


def points(data: Any) -> int:
    """How many there are to try, where there are few to a feature; else 0."""
    features = data["statement"]["features"]
    counts = [f["upper"] - f["lower"] + 1 if f["kind"] == "grid" else f["count"] for f in features]
    return math.prod(counts) if max(counts, default=0) <= 100 else 0


def false_ones(smallest: int, largest: int) -> list[str]:
    """Accepted vectors whose claim is false, of those with so many points."""
    accepted = [(entry, load(FOLDER / entry["file"])) for entry in INDEX if entry["verdict"] == "accepted"]
    return [
        f"{entry['file']} ({entry['about']}: {entry['shows']}) is false"
        for entry, data in accepted  # test_sets_checked.py tries every set, test_plans_checked.py every plan
        if not {"mace_set", "mace_rows", "mace_plan"} & data.keys()
        and smallest <= points(data) < largest
        and not true(data)
    ]


def test_the_accepted_are_true_where_all_points_can_be_tried() -> None:
    assert not false_ones(1, FEW)


@pytest.mark.slow
def test_the_accepted_are_true_where_there_are_more_points() -> None:
    assert not false_ones(FEW, 1 << 40)


def test_every_rule_is_accepted_and_refused_and_each_verdict_occurs() -> None:
    assert len(INDEX) >= 80
    for rule in (*RULES, "cuts", "witness", "statement", "sets", "plans"):
        verdicts = {entry["verdict"] for entry in INDEX if entry["about"] == rule}
        assert verdicts == {"accepted", "refused"}, rule
    assert {entry["verdict"] for entry in INDEX} == {"accepted", "refused", "unusable"}


def test_the_schema_knows_the_rules_and_fields() -> None:
    schema = json.loads((FOLDER.parent / "format.schema.json").read_text(encoding="utf-8"))
    assert set(schema["properties"]) == {name.rstrip("?") for name in CERTIFICATE}
    assert set(schema["$defs"]["statement"]["properties"]) == set(SHAPE)
    assert set(schema["$defs"]["certificate_of_a_set"]["properties"]) == {name.rstrip("?") for name in OF_SETS}
    assert set(schema["$defs"]["set"]["properties"]) == {name.rstrip("?") for name in ASKED}
    assert set(schema["$defs"]["certificate_of_plans"]["properties"]) == {name.rstrip("?") for name in OF_PLANS}
    assert set(schema["$defs"]["action"]["properties"]) == set(ACTION)
    first = [node["prefixItems"][0] for node in schema["$defs"]["plan_node"]["oneOf"]]
    assert {name for entry in first for name in entry.get("enum", [entry.get("const")])} == set(RULES_OF_PLANS)
    first = [node["prefixItems"][0] for node in schema["$defs"]["node"]["oneOf"]]
    assert {name for entry in first for name in entry.get("enum", [entry.get("const")])} == set(RULES)
    operators = set(schema["$defs"]["expression"]["prefixItems"][0]["enum"])
    assert operators == {"x", "c", *OPERATORS}


def test_what_is_accepted_is_as_the_schema_says_and_what_is_not_so_is_refused() -> None:
    schema = json.loads((FOLDER.parent / "format.schema.json").read_text(encoding="utf-8"))
    others = 0
    for entry in INDEX:
        if entry["verdict"] == "unusable" or entry["shows"] == "format 1":
            continue
        data: Any = json.loads((FOLDER / entry["file"]).read_bytes())
        others_by = {
            "mace_set": "#/$defs/certificate_of_a_set",
            "mace_rows": "#/$defs/certificate_of_rows",
            "mace_plan": "#/$defs/certificate_of_plans",
        }
        kind = next((referred(name, schema) for field, name in others_by.items() if field in data), schema)
        as_said = fits(data, kind, schema)
        assert as_said or entry["verdict"] == "refused" or entry["shows"] in UNSEEN, entry
        others += not as_said
    assert others > 50


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
