"""What mace writes as JSON satisfies the published schema, and has no key that the schema does not name."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.base.formats import VERSIONS, schema_of
from mace.cli import app
from mace.cli.schemas import all_schemas, schema
from mace.plans import audit_plans
from mace.verify.output import as_json
from mace.verify.suite import of_texts, run_suite
from mace.verify.vnnlib.answer import VnnlibAnswer
from tests.report import made
from tests.reproduce.test_recourse import SAID

PUBLISHED = Path(__file__).parent.parent / "docs" / "mace.schema.json"
TYPES: dict[str, Any] = {
    "string": str, "number": (int, float), "integer": int, "boolean": bool, "null": type(None), "object": dict,
    "array": list,
}  # fmt: skip


def faults(value: Any, rule: Any, at: str = "$") -> list[str]:
    """Where a value breaks a schema, of the words that ours use; an object may have the keys that are named alone."""
    if "anyOf" in rule:
        found = [faults(value, one, at) for one in rule["anyOf"]]
        return [] if [] in found else min(found, key=len)
    if "const" in rule and value != rule["const"] or "enum" in rule and value not in rule["enum"]:
        return [f"{at}: {value!r} is none of {rule}"]
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    truth = isinstance(value, bool) and "boolean" not in kinds
    if kinds and (truth or not any(isinstance(value, TYPES[kind]) for kind in kinds)):
        return [f"{at}: {value!r} is no {kinds}"]
    out = []
    if isinstance(value, str) and not re.search(rule.get("pattern", ""), value):
        out.append(f"{at}: {value!r} is not like {rule['pattern']}")
    if isinstance(value, dict) and ("properties" in rule or "additionalProperties" in rule):
        out += [f"{at}: no {key!r}" for key in rule.get("required", []) if key not in value]
        for key, inside in value.items():
            known = rule.get("properties", {}).get(key, rule.get("additionalProperties"))
            out += [f"{at}: {key!r} is not named"] if known is None else faults(inside, known, f"{at}.{key}")
    if isinstance(value, list):
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
            out.append(f"{at}: {len(value)} items")
        rules = rule.get("prefixItems") or [rule.get("items", {})] * len(value)
        out += [
            fault
            for n, (one, item) in enumerate(zip(value, rules, strict=False))
            for fault in faults(one, item, f"{at}[{n}]")
        ]
    return out


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Small real outputs of each kind, as JSON has them."""
    ages = list(range(20, 60))
    frame = pd.DataFrame({"Age": ages, "Owns": ["no", "yes"] * 20, "Income": [float(age) for age in ages]})
    label = [int(age >= 40) for age in ages]
    space = mace.Space.from_frame(frame, increase="Age", decisions={0: "no", 1: "yes"})
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(space.encode(frame), label)
    explainer = mace.Explainer(tree, space, background=frame)
    unread = mace.BlackBox(lambda rows: (rows["Age"] >= 40).astype(int).to_numpy(), classes=[0, 1])
    row = frame.iloc[3]
    suite = of_texts(["monotone(Age, increasing)", "reachable(1)", "bounded(0.2, 0.8, label=1)", "fair(Nobody)"], 10)
    loans = mace.datasets.load("loans")
    small = DecisionTreeClassifier(max_depth=3, random_state=0).fit(loans.space.encode(loans.X), loans.y)
    return {
        "answer": [
            explainer.explain(row, goal=1),
            explainer.explain(row, goal=1, count=2),
            explainer.explain(row, goal="p(1) >= 0.5"),
            explainer.explain(row, goal=1, most_changes=0),
            explainer.explain(row, goal=1, count=2, together=True),
            mace.explain(unread, space, row, goal=1, max_calls=50),
        ],
        "menu": [explainer.menu(row, goal=1)],
        "front": [mace.front(tree, space, row, goal=1, objectives=["l1", "changes"])],
        "plan": [mace.plan(small, loans.space, loans.X.iloc[3], "loans", goal=1, horizon=1, objectives="steps")],
        "plan-front": [mace.Planner(small, loans.space, "loans").front(loans.X.iloc[3], goal=1, horizon=1)],
        "plan-audit": [audit_plans(small, loans.space, loans.X.head(9), "loans", goal=1, limit=2, horizon=1)],
        "verdicts": [json.loads(as_json(suite, run_suite(tree, space, suite)))],
        "vnnlib": [VnnlibAnswer("sat", "", (Fraction(1, 3),), (Fraction(2),), 5), VnnlibAnswer("unsat", "")],
        "audit": [made.audit()],
        "reproduction": [SAID],
        "demo": [schema_of("demo") | {"answers": [{"title": "t", "answer": explainer.explain(row, goal=1).to_dict()}]}],
        **_of_commands(tmp_path_factory.mktemp("commands"), small, explainer.explain(row, goal=1)),
    }


def _of_commands(folder: Path, model: Any, answer: Any) -> dict[str, Any]:
    """What the commands print that have no object in Python."""
    kept, proof, card = folder / "tree.joblib", folder / "proofs" / "proof.json", folder / "card.mace"
    joblib.dump(model, kept)
    proof.parent.mkdir()
    answer.certificate.save(proof)

    def said(*typed: object) -> Any:
        ran = CliRunner().invoke(app, [*map(str, typed), "--format", "json"])
        assert ran.stdout, ran.exception
        return json.loads(ran.stdout)

    about = ("--data", "loans", "--model", kept, "--trust-pickle")
    checks = [said("check", proof), said("check", proof, *about, "--row", 3, "--goal", 1)]
    (proof.parent / "other.json").write_text("{", encoding="utf-8")
    card.write_text("input x: int in [0, 9]\nreturn 1 if x >= 5 else 0\n", encoding="utf-8")
    return {
        "check": checks,
        "checks": [said("check", proof.parent)],
        "inspection": [
            said("inspect", *about, "--world", "loans"),
            said("inspect", "--model", card),
            said("inspect", "--data", "loans"),
        ],
        "reproductions": [said("reproduce", "list")],
    }


@pytest.mark.parametrize("kind", [kind for kind in VERSIONS if kind not in ("verdict", "doctor")])
def test_what_is_written_satisfies_its_schema(outputs, kind):
    for one in outputs[kind]:
        written = one if isinstance(one, dict) else json.loads(json.dumps(one.to_dict(), allow_nan=False))
        assert faults(written, schema(kind)) == []
        assert faults(written | {"more": 1}, schema(kind)) == ["$: 'more' is not named"]
        assert faults({k: v for k, v in written.items() if k != "schema"}, schema(kind))


def test_the_published_schema_is_the_one_of_this_release():
    ran = CliRunner().invoke(app, ["schema"])
    assert json.loads(ran.output) == json.loads(PUBLISHED.read_text()) == all_schemas()
    assert set(all_schemas()["$defs"]) == set(VERSIONS)


def test_a_kind_that_there_is_not_is_said_to_be_none():
    ran = CliRunner().invoke(app, ["schema", "anser"])
    assert "Did you mean 'answer'?" in str(ran.exception)


def test_doctor_says_what_its_schema_names(monkeypatch):
    from mace.cli import self_test

    monkeypatch.setattr(self_test, "tests", lambda found: [self_test.Test("none", lambda: "nothing was tried")])
    ran = CliRunner().invoke(app, ["doctor", "--format", "json"])
    assert faults(json.loads(ran.stdout), schema("doctor")) == []


def test_every_command_with_json_says_which_kind_it_prints():
    """A command that prints JSON names a kind of `VERSIONS`, in its own file or in that of what it prints."""
    for file in (Path(mace.__file__).parent / "cli").glob("*.py"):
        code = file.read_text(encoding="utf-8")
        if "print_json(" in code and file.stem not in ("output", "schema"):
            assert "schema_of(" in code or ".to_dict()" in code or file.stem == "audit", file
