"""A suite file is validated by line; its outcomes are text, JSON, JUnit XML and SARIF, and an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mace.errors import FileError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify.command import run_verify
from mace.verify.run import verify
from mace.verify.suite import load
from mace.verify.verdict import Violation

SPACE = Space([Feature("Income", "integer", 0, 100), Feature("Sex", "categorical", levels=["f", "m"])])
PROGRAM = 'if Income > 50 and Sex == "m":\n    return 1\nreturn 0\n'
SUITE = """suite = 1
timeout = 30

[[property]]
name = "more income <never> hurts"
property = "monotone(Income, increasing)"

[[property]]
property = "fair(Sex)"

[[property]]
property = "fair(Height)"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.toml"
    path.write_text(SUITE)
    return path


def ran(suite: Path | None, shown: str, properties=()) -> tuple[str, int]:
    return run_verify(PROGRAM, SPACE, None, list(properties), suite, format=shown)


def test_text_says_all_three_and_counts(suite) -> None:
    text, code = ran(suite, "text")
    assert code == 10
    assert "proved: monotone(Income, increasing)" in text and "violated: fair(Sex)" in text
    assert "no feature `Height`" in text and text.endswith("1 proved, 1 violated, 1 error")


def test_files_that_are_written_are_told_of(suite, tmp_path) -> None:
    told: list[str] = []
    folder, sarif = tmp_path / "proofs", tmp_path / "s.sarif"
    run_verify(PROGRAM, SPACE, None, [], suite, certificates=folder, sarif=sarif, wrote=told.append)
    assert told == [f"no certificate written to {folder}", f"SARIF written to {sarif}"]  # solvers proved it


def test_json_has_the_replayed_inputs(suite) -> None:
    results = json.loads(ran(suite, "json")[0])["results"]
    assert [result["status"] for result in results] == ["proved", "violated", "error"]
    assert results[1]["violation"]["changes"].keys() == {"Sex"}
    assert [result["line"] for result in results] == [6, 9, 12]


def test_junit_is_well_formed_and_counts(suite) -> None:
    root = ElementTree.fromstring(ran(suite, "junit")[0])
    assert (root.tag, root.get("tests"), root.get("failures"), root.get("errors")) == ("testsuites", "3", "1", "1")
    cases = root.findall("testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [["system-out"], ["failure"], ["error"]]
    assert cases[0].get("name") == "more income <never> hurts"


def test_junit_is_read_by_junitparser(suite, tmp_path) -> None:
    junitparser = pytest.importorskip("junitparser")
    path = tmp_path / "out.xml"
    path.write_text(ran(suite, "junit")[0], encoding="utf-8")
    found = junitparser.JUnitXml.fromfile(str(path))
    assert (found.tests, found.failures, found.errors) == (3, 1, 1)


def test_sarif_says_fail_pass_and_open_at_lines(suite) -> None:
    log = json.loads(ran(suite, "sarif")[0])
    assert log["version"] == "2.1.0" and log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == ("error" if result["kind"] == "fail" else "none")
        assert result["message"]["text"]
    assert [result["kind"] for result in run["results"]] == ["pass", "fail", "open"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["region"]["startLine"] for place in places] == [6, 9, 12]


REACH = ["reachable(1)", "unreachable(1)", "reachable(0)", "unreachable(0)"]


def test_a_class_out_of_reach_reads_as_such_in_every_format() -> None:
    def shown(form: str) -> str:
        return run_verify("if Income > 200:\n    return 1\nreturn 0\n", SPACE, None, REACH, None, format=form)[0]

    text = shown("text")
    assert "violated: reachable(1)\n  not reachable, which is proved: no allowed input gets 1 (1 question" in text
    assert "proved: unreachable(1)\n  no allowed input gets 1 (1 question refuted)" in text
    assert "proved: reachable(0)\n  this input gets it" in text and "violated: unreachable(0)" in text
    results = json.loads(shown("json"))["results"]
    assert [(r["status"], r["finding"]) for r in results] == [
        ("violated", "not reachable"), ("proved", "not reachable"), ("proved", "reachable"), ("violated", "reachable"),
    ]  # fmt: skip
    assert results[3]["violation"]["decisions"] == [0] and results[2]["witness"]["decisions"] == [0]
    root = ElementTree.fromstring(shown("junit"))
    failed = [case.find("failure") for case in root.findall("testsuite/testcase")]
    assert [f is not None for f in failed] == [True, False, False, True]
    assert failed[0] is not None and str(failed[0].get("message")).startswith("not reachable, which is proved")
    log = json.loads(shown("sarif"))["runs"][0]
    assert {rule["id"] for rule in log["tool"]["driver"]["rules"]} == {"reachable", "unreachable"}
    assert [result["kind"] for result in log["results"]] == ["fail", "pass", "pass", "fail"]


def test_exit_codes() -> None:
    assert ran(None, "text", ["monotone(Income)"])[1] == 0
    assert ran(None, "text", ["monotone(Income)", "fair(Sex)"])[1] == 10
    assert ran(None, "text", ["fair(Height)"])[1] == 2
    assert run_verify(PROGRAM, SPACE, None, ["monotone(Income)"], None, timeout=1e-4)[1] == 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("suite = 1", "suite = 2", r":1: expected `suite = 1`, got 2"),
        ("suite = 1", "", r":1: expected `suite = 1`, and there is no `suite`"),
        (
            'property = "fair(Sex)"',
            "property = 'holds(Age >= 18)'",
            r"(?s):9: .*cannot be read.*A program stands in quotes",
        ),
        ("timeout = 30", 'timeout = "30"', r":2: `timeout` must be of type float"),
        ("timeout = 30", "timeout = -1", r":2: `timeout` is a number of seconds"),
        ('property = "fair(Sex)"', 'propety = "fair(Sex)"', r":8: a property needs `property`"),
        ('property = "fair(Sex)"', 'property = "fair(Sex)"\nage = 3', r":10: a property has no key `age`"),
        ('property = "fair(Sex)"', 'property = "fare(Sex)"', r":9: the property 'fare\(Sex\)' is none"),
        ("suite = 1", "suite = = 1", "is not valid TOML"),
    ],
)
def test_a_wrong_suite_is_refused_at_its_line(suite, old, new, message) -> None:
    suite.write_text(SUITE.replace(old, new))
    with pytest.raises(FileError, match=message):
        load(suite)


def test_the_command_line_verifies_a_program(tmp_path) -> None:
    from typer.testing import CliRunner

    from mace.cli import app

    model, space = tmp_path / "model.mace", tmp_path / "space.toml"
    model.write_text(PROGRAM)
    SPACE.save(space)
    given = ["verify", "--model", str(model), "--space", str(space), "--property"]
    done = CliRunner().invoke(app, [*given, "monotone(Income, increasing)"])
    assert done.exit_code == 0 and "proved" in done.output
    done = CliRunner().invoke(app, [*given, "fair(Sex)", "--format", "json"])
    assert done.exit_code == 10 and json.loads(done.output)["results"][0]["status"] == "violated"


def test_classes_are_named_and_shown_as_people_call_them() -> None:
    space = Space(SPACE.features, decisions={"0": "refused", "1": "approved"})
    texts = ["reachable(approved)", "monotone(Income, decreasing)"]
    text, code = run_verify(PROGRAM, space, None, texts, None)
    assert code == 10 and "proved: reachable(approved)" in text
    assert "refused (0) -> approved (1) (replayed" in text or "approved (1) -> refused (0) (replayed" in text
    verdict = verify(PROGRAM, space, "reachable(approved)")
    assert repr(verdict) == "Verdict(proved: reachable(approved); this input gets it)"
    assert verdict._repr_html_().startswith("<pre>proved")


def test_values_of_a_violation_are_written_as_people_write_them_and_never_rounded() -> None:
    space = Space([Feature("Income", "real", 0, 1e6, unit="EUR"), Feature("Sex", "binary", levels=["f", "m"])])
    near = 0.1 + 0.2
    shown = str(Violation(({"Income": 15400.0, "Sex": "f"}, {"Income": near, "Sex": "f"}), (1, 0), space))
    assert "15,400 EUR -> 0.30000000000000004 EUR" in shown and shown.endswith(" f")
