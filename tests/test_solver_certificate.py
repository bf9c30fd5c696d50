"""The record of solvers is never accepted: its text is made again from the question, and both are asked once more."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.certify import record as module
from mace.certify.record import SolverCertificate, from_dict, load, solver_certificate
from mace.cli import app
from mace.errors import CertificateError, MaceError
from mace.problem.exclusions import AvoidNear, AvoidPoint
from mace.solve.smt.process import SolverAnswer, SolverProcess
from tests.reference import nearest, random_question

FALSE = "(set-logic QF_LIRA)\n(assert false)\n(check-sat)\n"


def plain(question: object) -> bool:
    return all(isinstance(avoid, AvoidPoint) for avoid in question.avoid)


QUESTIONS = [question for question in map(random_question, range(100)) if plain(question)]
ANSWERED = [q for q in QUESTIONS if (b := nearest(q)) and b[0] > 0][:3]
HOPELESS = next(q for q in QUESTIONS if nearest(q) is None)


@pytest.fixture(scope="module")
def record() -> SolverCertificate:
    return solver_certificate(ANSWERED[0], nearest(ANSWERED[0])[0])


@pytest.mark.parametrize("question", ANSWERED, ids=["first", "second", "third"])
def test_both_solvers_refute_what_enumeration_refutes(question):
    made = solver_certificate(question, nearest(question)[0])
    assert made.data["verdicts"] == {"z3": "unsat", "cvc5": "unsat"}
    assert made.check().agreed
    assert not made.check().accepted, "no checker accepted it"
    assert str(made.check()).startswith("two solvers agree on a text: no allowed point with the goal is closer than")
    assert made.data["proof"]


def test_a_proved_impossibility_has_a_record_too():
    assert solver_certificate(HOPELESS, None).check().agreed


def test_a_claim_that_is_too_large_is_not_written():
    with pytest.raises(CertificateError, match="satisfies"):
        solver_certificate(ANSWERED[0], nearest(ANSWERED[0])[0] + Fraction(1, 1000))


def test_a_question_that_must_differ_from_other_answers_has_no_record():
    with pytest.raises(CertificateError, match="first answer"):
        solver_certificate(ANSWERED[0].away(AvoidNear(ANSWERED[0].start, Fraction(1))), Fraction(1, 10))


@pytest.mark.parametrize(
    "change",
    [
        {"question": FALSE},
        {"question": ""},
        {"question": "(this is no script"},
        {"question": "(declare-const x Int)\n(assert (> x 3))\n(check-sat)"},
        {"claim": {"anywhere": True}},
        {"claim": {"closer_than": "1000"}},
        {"excluded": [[999]]},
    ],
    ids=repr,
)
def test_a_record_with_another_text_or_claim_is_refused_and_no_solver_is_asked(record, change, monkeypatch):
    monkeypatch.setattr(SolverProcess, "ask_script", lambda *_, **__: pytest.fail("a solver was asked"))
    assert SolverCertificate(record.data | change, record.asked).check().status == "refused"


def test_the_text_of_an_excluded_point_needs_the_models_own_word(record):
    """Otherwise whoever excludes the nearest points with the goal moves the bound as far as they like."""
    question = record.asked
    point = nearest(question)[1]
    excluded = solver_certificate(question.away(AvoidPoint(point)), record.data and nearest(question)[0])
    read = from_dict(excluded.data)
    assert read.check(question).status == "refused"
    assert read.check(question, lambda _: True).status == "refused"
    assert read.check(question, lambda _: False).agreed
    assert "1 point aside that the model refused" in str(read.check(question, lambda _: False))


def test_one_solver_that_says_nothing_leaves_the_claim_undecided(record, monkeypatch):
    replies = {"z3": SolverAnswer("unsat"), "cvc5": SolverAnswer("unknown", why="timed out")}
    monkeypatch.setattr(module, "_ask", lambda solver, *_, **__: replies[solver])
    assert str(record.check()).startswith("undecided: ")
    replies["cvc5"] = SolverAnswer("sat")
    assert record.check().status == "refused"


def test_every_solver_has_a_limit_of_memory(record, monkeypatch):
    limits = []
    monkeypatch.setattr(SolverProcess, "__init__", lambda _, name, memory=None: limits.append((name, memory)))
    monkeypatch.setattr(SolverProcess, "ask_script", lambda *_, **__: None)
    monkeypatch.setattr(SolverProcess, "answer", lambda *_: SolverAnswer("unsat"))
    monkeypatch.setattr(SolverProcess, "stop", lambda _: None)
    record.check()
    record.check(memory_mb=100)
    solver_certificate(ANSWERED[0], Fraction(1, 2))
    assert {memory for _, memory in limits} == {4096 << 20, 100 << 20}
    assert len(limits) == 7


def test_a_script_that_wants_more_memory_than_allowed_is_no_verdict(record):
    verdict = record.check(memory_mb=1)
    assert verdict.status == "undecided"
    assert "out of memory (1 MB)" in verdict.reason


def test_a_saved_record_is_read_back_and_needs_its_question(tmp_path, record):
    record.save(tmp_path / "record.json.gz")
    read = load(tmp_path / "record.json.gz")
    assert read.data == record.data
    with pytest.raises(CertificateError, match="says nothing by itself"):
        read.check()
    assert read.check(ANSWERED[0]).agreed
    assert read.check(ANSWERED[1]).status == "refused"


def damaged() -> list[dict[str, object]]:
    return [
        {"claim": {"closer_than": text}}
        for text in ("", "x", "1/0", "-1", "0.5", "2/4", "1e9", " 1", "1" * 5000, "1\n", "١", 1, None)
    ] + [
        {"claim": {"anywhere": False}},
        {"claim": {"anywhere": True, "closer_than": "1"}},
        {"claim": []},
        {"excluded": None},
        {"excluded": [[1.5]]},
        {"excluded": [[True]]},
        {"question": 3},
        {"verdicts": ["unsat"]},
        {"verdicts": {"z3": 1}},
        {"proof": 1},
        {"mace": None},
        {"more": 1},
    ]


@pytest.mark.parametrize("change", damaged(), ids=lambda change: repr(change)[:40])
def test_a_damaged_record_is_said_to_be_one(record, change):
    with pytest.raises(CertificateError, match=r"damaged|known format"):
        from_dict(record.data | change)


def test_a_certificate_of_another_kind_is_no_record():
    for other in ({"mace_certificate": 1}, [], "x", None, {"mace_solver_certificate": True}):
        with pytest.raises(CertificateError, match="no solvers' record"):
            from_dict(other)


# ------------------------------------------------------------------------------------------------ the command


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A record on disk, and the options of the question that it answers."""
    folder = tmp_path_factory.mktemp("record")
    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    frame.to_csv(folder / "rows.csv", index=False)
    space = mace.Space.from_frame(frame)
    space.save(folder / "space.toml")
    (folder / "model.mace").write_text(
        "input age: int in [20, 59]\ninput owns: int in [0, 1]\nif age + 5 * owns >= 40:\n    return 1\nreturn 0\n"
    )
    options = ["--model", folder / "model.mace", "--space", folder / "space.toml", "--data", folder / "rows.csv"]
    options = [*map(str, options), "--goal", "1"]
    ran = CliRunner().invoke(app, ["explain", *options, "--row", "2", "--certificate", str(folder / "record.json")])
    assert ran.exit_code == 0, ran.output
    assert "the solvers' record was written" in ran.output
    return folder / "record.json", options


def ran(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["check", *map(str, arguments)])
    if isinstance(done.exception, MaceError):
        return done.exception.exit_code, str(done.exception)
    return done.exit_code, done.output


def test_a_record_about_this_model_and_row_has_a_verdict_and_an_exit_code_of_its_own(explained):
    file, options = explained
    code, said = ran(file, *options, "--row", "2")
    assert code == 7
    assert said.startswith("two solvers agree on a text: ")
    assert "accepted:" not in said
    code, said = ran(file, *options, "--row", "2", "--format", "json")
    assert code == 7
    assert json.loads(said)["accepted"] is False
    assert json.loads(said)["status"] == "agreed"


def test_a_record_about_another_row_goal_or_distance_is_refused(explained):
    file, options = explained
    for other in (["--row", "3"], ["--row", "2", "--distance", "l0"], ["--row", "2", "--most-changes", "1"]):
        code, said = ran(file, *options, *other)
        assert code == 10, said
        assert "its text is not the one of this model, space, row and claim" in said


def test_a_record_without_a_model_is_not_checked(explained):
    file, _ = explained
    code, said = ran(file)
    assert code == 2
    assert "says nothing by itself" in said


def test_a_forged_record_is_never_accepted(explained, tmp_path):
    """Its question was `(assert false)`: both solvers refute that, and it says nothing about any model."""
    file, options = explained
    old = {"mace_solver_certificate": 1, "claim": {"anywhere": True}, "question": FALSE, "verdicts": {}}
    (tmp_path / "old.json").write_text(json.dumps(old | {"proof_format": None, "proof": None}))
    new = json.loads(file.read_text()) | {"claim": {"anywhere": True}, "question": FALSE}
    (tmp_path / "new.json").write_text(json.dumps(new))
    (tmp_path / "new.solvers.gz").write_bytes(gzip.compress(json.dumps(new).encode()))
    for name, alone, with_model in (("old.json", 2, 2), ("new.json", 2, 10), ("new.solvers.gz", 2, 10)):
        assert ran(tmp_path / name)[0] == alone
        assert ran(tmp_path / name, *options, "--row", "2")[0] == with_model
    code, said = ran(tmp_path)
    assert code == 2
    assert said.splitlines()[-1] == "1 unusable by the checker, 1 not checked by the checker, 1 not checked by solvers"


@pytest.mark.parametrize(
    "text",
    [
        '(set-option :regular-output-channel "{victim}")',
        '(set-option :diagnostic-output-channel "{victim}")',
        '(include "{victim}")',
        '(set-info :status unsat)(echo "accepted")',
    ],
)
def test_a_record_cannot_make_a_solver_write_or_read_files(explained, tmp_path, text):
    """cvc5 truncates the file that an option of its script names."""
    file, options = explained
    victim = tmp_path / "victim"
    victim.write_text("precious")
    data = json.loads(file.read_text())
    script = text.format(victim=victim)
    asked = data["question"]
    for question in (script + asked, asked + script, asked.replace("(assert", script + "(assert", 1)):
        (tmp_path / "record.json").write_text(json.dumps(data | {"question": question}))
        assert ran(tmp_path / "record.json", *options, "--row", "2")[0] == 10
        assert ran(tmp_path / "record.json")[0] == 2
        assert victim.read_text() == "precious"


def test_the_same_question_gives_the_same_text_with_a_certificate_of_a_prover_beside_it():
    """The route of the solvers can be taken for a tree as well; its record then is as weak as any."""
    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    space = mace.Space.from_frame(frame)
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(frame), frame["age"] >= 40)
    explainer = mace.Explainer(model, space)
    row = {"age": 30, "owns": 0}
    by_solvers = explainer.explain(row, goal=True, oracle="z3").certificate
    assert from_dict(by_solvers.data).check(explainer.question(row, True)[0]).agreed
    assert explainer.explain(row, goal=True).certificate.check().accepted


# ------------------------------------------------------------------------------------------------ exclusions


def test_a_certificate_that_leaves_out_refused_leaves_is_about_its_model_and_no_other():
    """What the deployed model refused when it was asked is named in the statement, and asked again."""
    from mace.certify.exclusions import without
    from mace.solve.witnesses import same_leaves

    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    space = mace.Space.from_frame(frame)
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(frame), frame["age"] >= 40)
    explainer = mace.Explainer(model, space)
    question, _ = explainer.question({"age": 30, "owns": 0}, True)

    def meets(point):
        return explainer.judge.meets(question, point)

    refused = (25, 0)
    box = [list(side) if isinstance(side, tuple) else side for side in same_leaves(question, refused)]
    narrowed = without(question, [{"point": list(refused)}, {"box": box}], meets)
    assert len(narrowed.avoid) == 2
    assert not narrowed.obeys((26, 0)), "it reaches the same leaf"
    assert narrowed.obeys((50, 0))
    wider = [[20, 59], *box[1:]]
    for listed in (
        [{"point": [45, 0]}], [{"box": wider}], [{"point": [99, 0]}], [{"point": [25]}], [{"point": [25, True]}],
        [{"box": box[:1]}], [{"box": [[], 1]}], [{"box": ["x", "y"]}], [{"changes": [0]}], [{}], ["x"], "x", None,
        [{"point": [25, 0]}] * 2000, [{"near": [5, 0], "radius": "1"}],
    ):  # fmt: skip
        with pytest.raises(CertificateError, match="exclu"):
            without(question, listed, meets)
