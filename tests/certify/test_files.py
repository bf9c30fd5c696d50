"""Certificates as files: what is none is refused, sizes are those of the file, statements are compared part by part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.certify.numbers import canonical
from mace.certify.statement import same_statement
from mace.certify.writer import Certificate, load
from mace.errors import CertificateError
from mace.problem.question import Question
from mace.proofs.check import check


@pytest.fixture(scope="module")
def asked() -> tuple[Question, Certificate]:
    """A question about a stump, and the certificate of its answer."""
    space = mace.Space([mace.Feature("a", "integer", 0, 9), mace.Feature("b", "integer", 0, 9)])
    rows = [[a, b] for a in range(10) for b in range(10)]
    stump = DecisionTreeClassifier(max_depth=1).fit(rows, [a >= 5 for a, _ in rows])
    answer = mace.explain(stump, space, {"a": 1, "b": 1}, goal=True)
    assert answer.certificate is not None
    return answer.question, answer.certificate


@pytest.mark.parametrize("text", ["[]", "{}", '{"statement": []}', '{"proof": {}}', "1"])
def test_a_json_file_without_a_statement_is_no_certificate(tmp_path: Path, text: str) -> None:
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CertificateError, match="this is JSON, but no certificate"):
        load(path)


def test_the_sizes_are_those_of_the_files(asked: tuple[Question, Certificate], tmp_path: Path) -> None:
    _, certificate = asked
    assert certificate.size == certificate.save(tmp_path / "c.json.gz").stat().st_size
    assert certificate.length == certificate.save(tmp_path / "c.json").stat().st_size
    assert 0 < certificate.proof_size < certificate.size
    assert load(tmp_path / "c.json").digest == load(tmp_path / "c.json.gz").digest == certificate.digest


def changed(certificate: Certificate, change: Any) -> Any:
    data = json.loads(canonical(certificate.data))
    change(data["statement"])
    return data


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: s["features"][1].update(name="z"), "feature `b` differs"),
        (lambda s: s["features"].pop(), "`features` differs"),
        (lambda s: s.update(features={"a": 1}), "`features` differs"),
        (lambda s: s.update(rules=[["true"]]), "`rules` differs"),
        (lambda s: s["model"].update(trees=[]), "the model differs in `trees`"),
        (lambda s: s["model"].update(more=1), "the model has more"),
        (lambda s: s.update(model=[]), "`model` differs"),
        (lambda s: s.pop("most_changes"), None),
    ],
)
def test_a_statement_about_another_question_says_what_differs(
    asked: tuple[Question, Certificate], change: Any, words: str | None
) -> None:
    question, certificate = asked
    assert same_statement(certificate.data, question) == []
    found = same_statement(changed(certificate, change), question)
    assert found == [] if words is None else len(found) == 1 and words in found[0]


@pytest.mark.parametrize("part", ["threshold", "left", "right"])
def test_false_is_no_number_in_a_leaf(asked: tuple[Question, Certificate], part: str) -> None:
    def change(statement: Any) -> None:
        (tree,) = statement["model"]["trees"]
        tree[part][tree["column"].index(-1)] = False

    found = check(changed(asked[1], change))
    assert not found.accepted and "a leaf tests nothing" in found.reason


@pytest.mark.parametrize("data", [[], None, 1, "text", True])
def test_anything_but_one_object_is_unusable(data: Any) -> None:
    assert check(data).unusable


def test_what_has_no_statement_is_said_to_have_none(asked: tuple[Question, Certificate]) -> None:
    for data in ({}, [], {"statement": 1}):
        assert same_statement(data, asked[0]) == ["this is no certificate: it has no statement"]
