"""What is written for other tools says the same as the question, by those tools' own reading of it."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mace.certify.export import FORMATS, export, save
from mace.certify.statement import certifiable, same_statement
from mace.certify.writer import Certificate
from mace.errors import CertificateError, MaceError, ModelError
from mace.language import parse_program, run
from mace.problem.distance import norm
from mace.proofs.kernel.proof import read_model
from mace.proofs.kernel.statement import Statement
from mace.solve.choice import choose
from mace.solve.driver import bracket_optimum
from mace.solve.protocol import Gap, Limits
from mace.tables.table import Network
from tests.reference import nearest, points, random_question

ZERO = Fraction(0)


def z3_command() -> str | None:
    beside = Path(sys.executable).parent / "z3"
    return str(beside) if beside.is_file() else shutil.which("z3")


def z3_says(path: Path) -> str:
    command = z3_command()
    if command is None:
        pytest.skip("the z3 command is not installed")
    done = subprocess.run([command, str(path)], capture_output=True, text=True, timeout=120)
    return done.stdout.strip()


def cvc5_says(path: Path) -> str:
    """The verdict of cvc5's own front end: its command where there is one, else its parser of files."""
    command = shutil.which("cvc5")
    if command is not None:
        return subprocess.run([command, str(path)], capture_output=True, text=True, timeout=120).stdout.strip()
    import cvc5

    solver = cvc5.Solver()
    parser = cvc5.InputParser(solver)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(path))
    symbols, said = parser.getSymbolManager(), ""
    while not (command_ := parser.nextCommand()).isNull():
        said += str(command_.invoke(solver, symbols))
    return said.strip()


@pytest.mark.parametrize("says", [z3_says, cvc5_says], ids=["z3", "cvc5"])
@pytest.mark.parametrize("kind", ["forest", "boosting", "linear", "network"])
def test_smtlib_is_read_by_the_solvers_front_ends(kind, says, tmp_path):
    for seed in range(7000, 7004):
        question = random_question(seed, kind)
        best = nearest(question)
        files = export(question, "smt2", None if best is None else best[0])
        (path,) = save(files, tmp_path / "question")
        assert path.suffix == ".smt2"
        assert says(path) == ("unsat" if best is None else "sat"), (seed, question.goal.text)
        if best is not None and best[0] > 0:
            (path,) = save(export(question, "smt2", best[0] * Fraction(999, 1000)), tmp_path / "nearer.smt2")
            assert says(path) == "unsat"


@pytest.mark.parametrize("kind", ["tree", "forest", "linear", "network"])
def test_the_exported_statement_is_accepted_as_one(kind):
    for seed in range(7000, 7010):
        question = random_question(seed, kind)
        if certifiable(question) is not None:
            continue
        best = nearest(question)
        data = json.loads(export(question, "json", None if best is None else best[0])[".json"])
        assert same_statement(data, question) == []
        Statement(data["statement"], read_model(data["statement"]["model"]))
        assert Certificate(data).check().reason == "node 0: the proof ends before everything is closed"
        oracle = choose(question).oracle
        try:
            found = bracket_optimum(question, oracle, question.has_goal, gap=Gap(ZERO), limits=Limits.of(600.0, 2**32))
        finally:
            oracle.close()
        if found.status in ("optimal", "infeasible") and (best is None or found.lower == best[0]):
            proved = found.proof
            from mace.certify.writer import certificate

            whole = certificate(question, None if best is None else found.lower, None, proved).to_dict()
            verdict = Certificate({**data, "proof": whole["proof"]}).check()
            assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("kind", ["tree", "forest", "boosting", "linear", "network"])
def test_the_exported_program_is_true_wherever_the_model_has_the_goal(kind):
    rng = np.random.default_rng(1)
    for seed in range(7000, 7005):
        question = random_question(seed, kind)
        program = parse_program(export(question, "mace")[".mace"].decode(), "exported")
        every = list(points(question))
        for place in rng.choice(len(every), min(len(every), 40), replace=False):
            point = every[int(place)]
            row = question.row(point)
            values = {c.name: Fraction(v) for c, v in zip(question.columns, row.tolist(), strict=True)}
            said = run(program, {declared.name: values[declared.name] for declared in program.inputs})
            assert said == question.has_goal(point)  # no random score lies in the rounding margin


# ---------------------------------------------------------------------------------------------- VNN-LIB

_TOKEN = re.compile(r"[()]|[^\s()]+")


def holds(text: str, x: np.ndarray, y: np.ndarray) -> bool:
    """A reading of VNN-LIB: all assertions, over inputs X and outputs Y."""
    text = re.sub(r";.*", "", text)
    stack: list[list] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)

    def value(node):
        if isinstance(node, str):
            if node[:2] in ("X_", "Y_"):
                return float((x if node[0] == "X" else y)[int(node[2:])])
            return float(node)
        op, *args = node
        parts = [value(arg) for arg in args]
        return {"and": all, "or": any}[op](parts) if op in ("and", "or") else (
            parts[0] >= parts[1] if op == ">=" else parts[0] <= parts[1]
        )  # fmt: skip

    declared = {node[1] for node in stack[0] if node[0] == "declare-const"}
    assert declared == {f"X_{k}" for k in range(len(x))} | {f"Y_{k}" for k in range(len(y))}
    return all(value(node[1]) for node in stack[0] if node[0] == "assert")


def network_question(seed: int, kind: str):
    question = random_question(seed, kind, extras=False)
    return replace(question, distance=norm("linf", len(question.axes)))


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_vnnlib_and_onnx_admit_every_point_that_the_question_does(kind):
    onnxruntime = pytest.importorskip("onnxruntime")
    for seed in range(7000, 7012):
        question = network_question(seed, kind)
        assert isinstance(question.model, Network)
        for radius in (Fraction(1, 3), None):
            files = export(question, "vnnlib+onnx", radius)
            session = onnxruntime.InferenceSession(files[".onnx"])
            text = files[".vnnlib"].decode()
            admitted = refused = 0
            for point in itertools.islice(points(question), 400):
                row = question.row(point)
                y = session.run(["Y"], {"X": row[None, :]})[0][0]
                scores = question.model.scores(row)
                assert np.allclose(y[: len(scores)], scores, rtol=1e-12, atol=1e-12)
                wanted = question.has_goal(point) and (radius is None or question.distance_of(point) <= radius)
                said = holds(text, row, y)
                assert said or not wanted
                admitted, refused = admitted + said, refused + (not said)
                if radius is None:
                    assert said == wanted  # the box is the same, and no score lies in the margin


def test_what_vnnlib_cannot_say_is_an_error_that_says_so():
    question = network_question(7000, "network")
    l1 = replace(question, distance=norm("l1", len(question.axes)))
    with pytest.raises(CertificateError, match="cannot express the distance l1"):
        export(l1, "vnnlib+onnx", Fraction(1))
    assert export(l1, "vnnlib+onnx").keys() == {".vnnlib", ".onnx"}
    with pytest.raises(CertificateError, match="a limit on the number of changes"):
        export(replace(question, most_changes=1), "vnnlib+onnx")
    with pytest.raises(ModelError, match="networks and linear models"):
        export(random_question(7000, "forest", extras=False), "vnnlib+onnx")
    with pytest.raises(MaceError, match="Use one of smt2"):
        export(question, "smtlib")
    assert FORMATS == ("smt2", "vnnlib+onnx", "mace", "json")


def test_the_command_line_exports(tmp_path):
    import joblib
    from sklearn.linear_model import LogisticRegression
    from typer.testing import CliRunner

    from mace.cli import app
    from mace.space.space import Space

    frame = pd.DataFrame({"a": range(20), "b": [k * 7 % 20 for k in range(20)]})
    model = LogisticRegression().fit(frame, np.where(frame.a + frame.b > 18, "yes", "no"))
    joblib.dump(model, tmp_path / "model.joblib")
    frame.to_csv(tmp_path / "x.csv", index=False)
    Space.from_frame(frame).save(tmp_path / "space.toml")
    given = ["export", "--model", str(tmp_path / "model.joblib"), "--trust-pickle", "--data", str(tmp_path / "x.csv")]
    given += ["--space", str(tmp_path / "space.toml"), "--row", "1", "--goal", "p(yes) >= 0.7", "--distance", "linf"]
    for to in FORMATS:
        done = CliRunner().invoke(app, [*given, "--to", to, "--radius", "1/2", "--out", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
    assert {"out.smt2", "out.vnnlib", "out.onnx", "out.mace", "out.json"} <= {path.name for path in tmp_path.iterdir()}
    shown = CliRunner().invoke(app, [*given, "--to", "smt2"])
    assert "(check-sat)" in shown.stdout
    assert "; goal: p(yes) >= 0.7" in shown.stdout
    refused = CliRunner().invoke(app, [*given, "--to", "vnnlib+onnx"])
    assert "makes 2 files" in str(refused.exception)
