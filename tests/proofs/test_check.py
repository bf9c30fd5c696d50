"""A checker is tested by what it refuses."""

from __future__ import annotations

import ast
import copy
import gzip
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import mace.proofs
from mace.certify.columns import in_columns
from mace.certify.statement import same_statement
from mace.certify.writer import Certificate, certificate
from mace.errors import FileError
from mace.problem.proof import Leaf
from mace.problem.question import Question
from mace.proofs.check import Unusable, check, load, parse
from mace.proofs.columns import begins
from mace.proofs.kernel.proof import RULES
from mace.solve.ensembles import prover
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.relaxation import branching
from mace.solve.networks import search
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits, Refuted
from mace.tables.table import Ensemble
from tests.marks import slow_unless
from tests.proofs.clique_vectors import CLIQUES, NARROWED
from tests.proofs.divided import divided
from tests.proofs.enumeration import true
from tests.proofs.slow_prover import slow_proof
from tests.reference import nearest, points, random_question

HERE = Path(mace.proofs.__file__).resolve().parent
CHECKER = HERE / "check.py"
KERNEL = sorted((HERE / "kernel").glob("*.py"))
SEEDS = range(260)


def small(seed: int, kind: str | None = None) -> Question | None:
    question = random_question(seed, kind)
    return question if sum(1 for _ in points(question)) <= 150 else None


def certificates_of(question: Question) -> Iterator[dict[str, Any]]:
    """The certificate of the oracle for this model, and for ensembles that of the slow prover."""
    oracle = (EnsembleOracle if isinstance(question.model, Ensemble) else NetworkOracle)(question)
    reply = oracle.ask(None, Limits.of(600.0))
    assert isinstance(reply, (Found, Refuted))
    assert reply.proof is not None
    point = reply.point if isinstance(reply, Found) else None
    yield as_read(certificate(question, reply.lower if isinstance(reply, Found) else None, point, reply.proof))
    if isinstance(question.model, Ensemble):
        best = nearest(question)
        claim = best[0] if best else None
        yield as_read(certificate(question, claim, best[1] if best else None, slow_proof(question, claim)))


def as_read(made: Certificate) -> dict[str, Any]:
    return dict(json.loads(json.dumps(made.to_dict())))


def with_columns(data: dict[str, Any]) -> dict[str, Any]:
    """A certificate about an ensemble with its proof in columns, however short it is."""
    return {**data, "proof": in_columns(data["proof"], begins(data))}


@cache
def certificates() -> list[dict[str, Any]]:
    asked = [small(seed) for seed in SEEDS] + [small(seed, "network") for seed in range(500, 560)]
    questions = [question for question in asked if question is not None]
    made = [data for question in questions for data in certificates_of(question)]
    with patch.object(prover, "PATIENCE", 0), patch.object(branching, "WALKS", 0):  # by the relaxation at once
        trees = [question for question in questions if isinstance(question.model, Ensemble)]
        made += [data for question in trees[::3] for data in certificates_of(question)]
    with patch.object(search, "STALLED", 1):  # bounds of hidden units by linear programs, as soon as may be
        made += [data for seed in (502, 612, 908) for data in certificates_of(random_question(seed, "network"))]
    # No prover of ours splits a box into itself and nothing; the format allows it.
    for data in made[:40:8]:
        split = ["split", 0, -(2**60)] if data["statement"]["features"][0]["kind"] == "grid" else ["split", 0, 0]
        made.append({**data, "proof": [split, ["empty"], *data["proof"]]})
    # Those of cliques and of axes narrowed by prices are made by hand.
    by_hand = [data for data in (*CLIQUES.values(), *NARROWED.values()) if type(data["proof"]) is list]
    made += [data for data in by_hand if check(data).accepted]
    rng = np.random.default_rng(0)
    ends = [data for data in made if ["tighten"] in [node[:1] for node in data["proof"]]]
    made += [divided(data, rng) for data in (*made[::10], *ends)]
    return made


def test_the_rules_are_those_of_the_format() -> None:
    headings = (HERE / "FORMAT.md").read_text(encoding="utf-8")
    assert list(RULES) == re.findall(r"^### 6\.\d+ `([a-z]+)`", headings, re.MULTILINE)


def test_every_certificate_is_accepted_and_true_and_every_rule_fires() -> None:
    fired: Counter[str] = Counter()
    for data in certificates():
        verdict = check(data)
        assert verdict.accepted, verdict
        assert true(data)
        fired.update(verdict.fired)
    assert set(fired) == set(RULES), fired


@pytest.mark.parametrize("path", KERNEL, ids=lambda path: path.stem)
def test_the_kernel_has_no_floats_and_imports_itself_and_the_standard_library_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    names |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    assert all(
        name.startswith("mace.proofs.kernel.") or name in sys.stdlib_module_names | {"collections.abc"}
        for name in names
    )
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, float)]
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "float"]


# --- edits -----------------------------------------------------------------------------------------------------------


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below `data`."""
    inner = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


WORDS = ("<=", "<", "float32", "float64", "split", "distance", "trees", "cell", "empty", "changes", "and", "or", "relu",
         "identity", "argmax", "sigmoid", "positive", "grid", "levels")  # fmt: skip


def edited(value: Any, rng: np.random.Generator) -> Any:
    """Another value in the place of one."""
    if isinstance(value, bool):
        return not value
    if value is None:
        return int(rng.integers(3))
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 0, True, str(value)][rng.integers(6)]
    if isinstance(value, list):
        if not value:
            return None
        place = int(rng.integers(len(value)))
        return [value[:place] + value[place + 1 :], value[:place] + value[place:][:1] + value[place:]][rng.integers(2)]
    if isinstance(value, dict):
        return {name: inner for k, (name, inner) in enumerate(value.items()) if k}
    if "0x" in value:
        x = float.fromhex(value)
        return [float(np.nextafter(x, np.inf)), float(np.nextafter(x, -np.inf)), -x, x + 0.25, x * 2, 0.0][
            rng.integers(6)
        ].hex()
    if re.fullmatch(r"-?\d+(/\d+)?", value):
        x = Fraction(value)
        return str(
            [x + 1, x + Fraction(1, 1000), x - Fraction(1, 1000), -x, x * 2, x / 2, Fraction(0)][rng.integers(7)]
        )
    return str(rng.choice(WORDS))


def with_edit(data: dict[str, Any], path: tuple[Any, ...], rng: np.random.Generator) -> dict[str, Any]:
    found = copy.deepcopy(data)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = edited(inner[path[-1]], rng)
    return found


@pytest.mark.parametrize("part", slow_unless(lambda part: part < 2, range(6)))
def test_an_edited_certificate_is_refused_or_still_true(part: int) -> None:
    rng = np.random.default_rng(part)
    pool = certificates()
    outcomes: Counter[str] = Counter()
    while sum(outcomes.values()) < 500:
        data = pool[rng.integers(len(pool))]
        section = str(rng.choice(["statement", "model", "witness", "proof", "claim"]))
        roots = {"model": ("statement", "model"), "claim": ("statement", "claim")}.get(section, (section,))
        inner: Any = data
        for key in roots:
            inner = inner[key]
        paths = [path for path in places(inner) if section != "statement" or path[0] != "model"]
        if not paths:
            continue
        changed = with_edit(data, (*roots, *paths[rng.integers(len(paths))]), rng)
        if changed == data:
            continue
        verdict = check(changed)
        assert "unforeseen" not in verdict.reason, verdict.reason
        assert not verdict.accepted or true(changed), changed
        outcomes["accepted" if verdict.accepted else "refused"] += 1
    assert outcomes["refused"] > 200


@pytest.mark.parametrize("seed", range(25))
def test_a_broken_prover_is_refused(seed: int) -> None:
    question = random_question(seed, "forest")
    best = nearest(question)
    if best is None or sum(1 for _ in points(question)) > 1000:
        return
    proof = slow_proof(question, best[0])
    assert check(certificate(question, best[0], best[1], proof).to_dict()).accepted
    # One that claims more than is true, and writes the proof to its end.
    larger = best[0] + Fraction(1, 10**9)
    assert not check(certificate(question, larger, None, slow_proof(question, larger)).to_dict()).accepted
    assert not check(certificate(question, None, None, slow_proof(question, None)).to_dict()).accepted
    # One that skips a node, or closes a box that it should have split.
    for place in range(0, len(proof), max(1, len(proof) // 10)):
        skipped = certificate(question, best[0], best[1], [*proof[:place], *proof[place + 1 :]])
        assert not check(skipped.to_dict()).accepted
    if len(proof) > 1:
        assert not check(certificate(question, larger, None, [Leaf("distance")]).to_dict()).accepted


def test_a_refusal_names_its_node_and_rule() -> None:
    question = random_question(3, "forest")
    verdict = check(certificate(question, Fraction(1, 10**6), None, [Leaf("distance")]).to_dict())
    assert str(verdict) == "refused at node 0: distance: the box has points nearer than the claim"


# --- hostile inputs --------------------------------------------------------------------------------------------------


def put(path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(
        next(
            d
            for d in certificates()
            if d["witness"] and d["statement"]["model"]["kind"] == "ensemble" and d["witness"]["distance"] != "0"
            if d["statement"]["features"][0]["weight"] != "0"
        )
    )
    inner: Any = data
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return data


def nested(depth: int) -> Any:
    data: Any = ["true"]
    for _ in range(depth):
        data = ["not", data]
    return data


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("statement", "claim", "closer_than"), "1e999999999"),
        (("statement", "claim", "closer_than"), "9" * 100_000),
        (("statement", "claim", "closer_than"), "1/0"),
        (("statement", "claim", "closer_than"), "\u0663"),
        (("statement", "claim", "closer_than"), "nan"),
        (("statement", "claim", "closer_than"), 0.5),
        (("statement", "claim", "closer_than"), True),
        (("statement", "claim"), {"anywhere": 1}),
        (("statement", "features", 0, "weight"), "-1"),
        (("statement", "features", 0, "start"), True),
        (("statement", "features"), {}),
        (("statement", "features"), [None]),
        (("statement", "model"), []),
        (("statement", "model", "trees", 0, "left"), [0] * 10),
        (("statement", "model", "start"), ["inf"]),
        (("statement", "model", "start"), [{}]),
        (("statement", "model", "start"), ["0x1.0p+9999"]),
        (("statement", "model", "divide"), 0),
        (("statement", "rules"), [nested(200_000)]),
        (("statement", "rules"), [["c", "1"]]),
        (("statement", "rules"), [["x", 0]]),
        (("statement", "rules"), [["<", ["true"], ["c", "1"]]]),
        (("statement", "rules"), [["<", ["x", -1], ["c", "1"]]]),
        (("statement", "rules"), [["import", ["c", "1"]]]),
        (("statement", "avoid"), [{"changes": [True]}]),
        (("statement", "avoid"), [{"box": []}]),
        (("statement", "avoid"), [{"box": [[0]]}]),
        (("statement", "avoid"), [{"box": [[0, True]]}]),
        (("statement", "avoid"), [{"box": [3]}]),
        (("statement", "avoid"), [{"box": [[0, 10]], "point": [3]}]),
        (("witness", "point"), [True]),
        (("proof",), []),
        (("proof",), {}),
        (("proof",), [[]]),
        (("proof",), [[["split"]]]),
        (("proof",), [["split", 0, 0]] * 200_000),
        (("proof",), [["dual"]]),
        (("proof",), [["avoid", 0]]),
        (("proof",), [["avoid", -1]]),
        (("proof",), [["bounds"]] * 3),
        (("mace_certificate",), 3),
        (("mace_certificate",), True),
        (("extra",), 1),
    ],
)
def test_a_hostile_field_is_refused_at_once(path: tuple[Any, ...], value: Any) -> None:
    data = put(path, value)
    began = time.process_time()
    verdict = check(data)
    assert not verdict.accepted
    assert "unforeseen" not in verdict.reason
    assert len(verdict.reason) < 1000
    assert time.process_time() - began < 5


def test_long_products_do_not_grow_without_end() -> None:
    rule: Any = ["x", 0]
    for _ in range(2000):
        rule = ["*", "7" * 3000, rule]
    began = time.process_time()
    assert not check(put(("statement", "rules"), [["<=", rule, rule]])).accepted
    assert time.process_time() - began < 10


@pytest.mark.parametrize("data", [None, 1, "x", [], {}, {"mace_certificate": 1}, {1: 2}])
def test_what_is_no_certificate_is_refused(data: Any) -> None:
    assert not check(data).accepted


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b"NaN",
        b"[Infinity]",
        b"[1.5]",
        b"[1e999999999]",
        b"9" * 100_000,
        b'{"a": 1, "a": 2}',
        gzip.compress(b"{}")[:-5],
        gzip.compress(b"{}") + b"more",
        b"\x1f\x8b" + b"x" * 100,
        gzip.compress(b" " * (200 * 2**20)),
    ],
    ids=range(14),
)
def test_what_cannot_be_read_is_unusable(raw: bytes) -> None:
    with pytest.raises(Unusable):
        parse(raw)


# --- files and the command line --------------------------------------------------------------------------------------


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(CHECKER), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_verdict_that_cannot_be_printed_is_not_accepted_in_one_line() -> None:
    """A folder's verdicts on a full disk ended in a traceback, and with an exit status that FORMAT.md does not know."""
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    vectors = sorted((CHECKER.parent / "vectors").glob("*.json"))
    accepted = next(path for path in vectors if check(load(path)).accepted)
    for files in ([accepted], [accepted, accepted]):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-I", "-S", CHECKER, *files]
            ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1), ran.stderr
        assert ran.stderr.startswith("check.py: the verdict cannot be printed: ")


def test_the_checker_runs_alone_and_says_what_it_found(tmp_path: Path) -> None:
    question = random_question(3, "forest")
    best = nearest(question)
    assert best is not None
    made = certificate(question, best[0], best[1], slow_proof(question, best[0]))
    for name in ("c.json", "c.json.gz"):
        done = run(made.save(tmp_path / name))
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("accepted: no allowed point with the goal is closer than")
    assert load(tmp_path / "c.json") == load(tmp_path / "c.json.gz")
    wrong = certificate(question, best[0] + 1, None, [Leaf("distance")])
    done = run(wrong.save(tmp_path / "wrong.json"))
    assert (done.returncode, done.stderr) == (10, "")
    assert done.stdout.startswith("refused at node 0: ")
    (tmp_path / "bad.json").write_text("[" * 100_000)
    done = run(tmp_path / "bad.json")
    assert (done.returncode, done.stderr) == (2, "")
    assert run(tmp_path / "absent.json").returncode == 2


def test_a_certificate_speaks_of_one_question() -> None:
    question = random_question(3, "forest")
    best = nearest(question)
    assert best is not None
    data = as_read(certificate(question, best[0], best[1], slow_proof(question, best[0])))
    assert same_statement(data, question) == []
    assert same_statement(data, replace(question, most_changes=1))
    assert isinstance(question.model, Ensemble)
    start = question.model.start + 0.5
    assert same_statement(data, replace(question, model=replace(question.model, start=start))) == [
        "the model differs in `start`"
    ]


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    question = random_question(3, "forest")
    with pytest.raises(FileError):
        certificate(question, None, None, []).save(tmp_path / "absent" / "c.json")
    (tmp_path / "taken").mkdir()
    with pytest.raises(FileError):
        certificate(question, None, None, []).save(tmp_path / "taken")
    assert [p.name for p in tmp_path.iterdir()] == ["taken"]
