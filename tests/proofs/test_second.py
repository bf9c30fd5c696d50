"""The second checker, `proofs/second`, says what the first one says."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mace.proofs
from tests.proofs import plan_cases, plan_edges
from tests.proofs.bomb import bomb
from tests.proofs.by_hand import AT_LEAST_0, certificate, dual, network, number
from tests.proofs.clique_vectors import CLIQUES, NARROWED
from tests.proofs.test_check import certificates, places, with_columns, with_edit
from tests.proofs.test_plans_checked import edited

PROOFS = Path(mace.proofs.__file__).resolve().parent
INDEX: list[dict[str, str]] = json.loads((PROOFS / "vectors" / "index.json").read_text(encoding="utf-8"))
FIRST = [sys.executable, "-I", "-S", str(PROOFS / "check.py")]
CODES = {"accepted": 0, "refused": 10, "unusable": 2}

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed (Debian: golang-go)")


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, built outside of the source tree."""
    program = tmp_path_factory.mktemp("second") / "mace-check"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=PROOFS / "second", check=True)
    return program


def verdicts(command: list[str], folder: Path) -> dict[str, str]:
    """File name -> the verdict's first word, of all certificates of a folder."""
    said = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False).stdout
    lines = [line.removeprefix(f"{folder}/") for line in said.splitlines()[:-1]]
    return {line.split(": ")[0]: line.split(": ")[1].split(" ")[0] for line in lines}


def test_each_vector_has_the_verdict_of_the_index(second: Path) -> None:
    said = verdicts([str(second)], PROOFS / "vectors")
    # A certificate of format 1 is elaborated by the first checker.
    unread = {e["file"] for e in INDEX if e["shows"] == "format 1"}
    expected = {e["file"]: "unusable" if e["file"] in unread else e["verdict"] for e in INDEX}
    wrong = [
        f"{e['file']} ({e['about']}: {e['shows']}) is to be {expected[e['file']]}, and is {said.get(e['file'])}"
        for e in INDEX
        if said.get(e["file"]) != expected[e["file"]]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("kind", sorted(CODES))
def test_the_verdict_is_one_line_and_an_exit_code(second: Path, kind: str) -> None:
    file = PROOFS / "vectors" / next(e["file"] for e in INDEX if e["verdict"] == kind and e["shows"] != "format 1")
    done = subprocess.run([second, file], capture_output=True, text=True, check=False)
    assert done.returncode == CODES[kind]
    assert done.stdout.startswith(kind)
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[" * 10**6,
        b'{"a":' * 10**5,
        b'{"mace_certificate": 2, "mace_certificate": 2}',
        b'{"mace_certificate": ' + b"2" * 10**5 + b"}",
        b'{"mace_certificate": 2.0}',
        b'{"about": "\xff"}',
        gzip.compress(b"{}")[:-5],
        gzip.compress(b"{}") + b"x",
        pytest.param(bomb(), marks=pytest.mark.slow),
    ],
    ids=["nothing", "deep", "deep fields", "twice", "digits", "a point", "not UTF-8", "cut short", "more", "a bomb"],
)
def test_a_hostile_file_is_unusable(second: Path, tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "hostile.json").write_bytes(raw)
    done = subprocess.run([second, tmp_path / "hostile.json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split(":")[0], done.stderr) == (2, "unusable", "")


def test_a_bound_that_needs_an_interval_without_end_bounds_nothing(second: Path, tmp_path: Path) -> None:
    model = network([[[1.0]], [[-1.0]], [[1.0]]], [[0.0], [5.0], [-100.0]])
    deeper: list[Any] = ["bounds", [1, 0, number(0), number(0)]]
    first: list[Any] = ["bounds", [0, 0, number(0), number(0)]]
    for name, proof in {"early": [deeper, first, deeper, dual("1")], "never": [deeper, dual("1")]}.items():
        data = {**certificate(model, AT_LEAST_0, None, proof), "mace_certificate": 2, "cuts": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
    assert verdicts([str(second)], tmp_path) == {"early.json": "accepted", "never.json": "refused"}
    assert verdicts(FIRST, tmp_path) == {"early.json": "accepted", "never.json": "refused"}


@pytest.mark.slow
def test_both_checkers_agree_on_edited_certificates_of_plans(second: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    plans = [*plan_cases.TRUE.values(), *plan_edges.TRUE.values(), *plan_edges.FALSE.values()]
    for place in range(600):
        data = edited(plans[rng.integers(len(plans))], rng)
        (tmp_path / f"{place:05d}.json").write_text(json.dumps(data), encoding="utf-8")
    first = verdicts(FIRST, tmp_path)
    assert verdicts([str(second)], tmp_path) == first
    assert Counter(first.values())["accepted"] > 50


def test_both_checkers_agree_on_edited_certificates_with_cliques(second: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pool = [*CLIQUES.values(), *NARROWED.values()]
    for place in range(600):
        data = pool[rng.integers(len(pool))]
        paths = [path for path in places(data) if path[0] == "proof"]
        data = with_edit(data, paths[rng.integers(len(paths))], rng) if paths else data
        (tmp_path / f"{place:05d}.json").write_text(json.dumps(data), encoding="utf-8")
    first = verdicts(FIRST, tmp_path)
    assert verdicts([str(second)], tmp_path) == first
    assert Counter(first.values())["accepted"] > 20


@pytest.mark.slow
def test_both_checkers_agree_on_certificates_and_on_edited_ones(second: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pool = certificates()
    pool = [*pool, *map(with_columns, (data for data in pool if data["statement"]["model"]["kind"] == "ensemble"))]
    files: list[Any] = list(pool)
    while len(files) < len(pool) + 900:
        data = pool[rng.integers(len(pool))]
        # A part first, so that the long lists of a model are not all that is edited.
        part = str(rng.choice(["statement", "witness", "cuts", "proof"]))
        paths = [path for path in places(data) if path[0] == part]
        files.append(with_edit(data, paths[rng.integers(len(paths))], rng))
    for place, data in enumerate(files):
        (tmp_path / f"{place:05d}.json").write_text(json.dumps(data), encoding="utf-8")
    first = verdicts(FIRST, tmp_path)
    assert len(first) == len(files)
    assert verdicts([str(second)], tmp_path) == first
    counts = Counter(first.values())
    assert counts["accepted"] > len(pool) and counts["refused"] > 300, counts
