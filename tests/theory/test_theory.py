"""The mechanised theorems compile without axioms, and Coq proves the certificates of ensembles, and only true ones."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace.certify.writer import certificate
from mace.proofs.translate import TranslationError, translate
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Found, Limits, Refuted
from mace.space.axes import LevelAxis
from tests.oracles.small_ensembles import random_question
from tests.proofs.divided import divided
from tests.proofs.enumeration import true
from tests.proofs.slow_prover import slow_proof
from tests.theory.building import copied

THEORY = Path(__file__).parent.parent.parent / "proofs" / "theory"
Json = dict[str, Any]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("coqc") is None, reason="there is no coqc here (Debian: apt install coq)"),
]


def made(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make"], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def theory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The theory, compiled, in a copy of its folder."""
    return copied("theory", tmp_path_factory.mktemp("proofs"))


def compiled(theory: Path, text: str, name: str = "Claim") -> subprocess.CompletedProcess[str]:
    file = theory / f"{name}.v"
    file.write_text(text)
    return subprocess.run(
        ["coqc", "-q", "-Q", ".", "Mace", file.name], cwd=theory, capture_output=True, text=True, check=False
    )


def answers(theory: Path, certificates: list[Json]) -> list[bool]:
    """What the checker inside Coq says of each certificate, in one run."""
    opened = "Open Scope Z_scope.\n"
    heads, cases = zip(*(translate(data).split(opened) for data in certificates), strict=True)
    (head,) = set(heads)  # what they require is loaded once: in each module it would take longer than most proofs
    modules = [
        f"Module Case{number}.\n{text.split('Theorem the_claim')[0]}End Case{number}.\n"
        for number, text in enumerate(cases)
    ]
    asked = "; ".join(f"check Case{n}.the_statement Case{n}.the_certificate" for n in range(len(cases)))
    done = compiled(theory, f"{head}{opened}{''.join(modules)}Eval vm_compute in [{asked}].\n", "Cases")
    assert done.returncode == 0, done.stderr
    said = re.findall("true|false", done.stdout)
    assert len(said) == len(certificates), done.stdout
    return [word == "true" for word in said]


def certificate_of(seed: int, *, slow: bool = False) -> Json | None:
    """A certificate of a small random question; None where the theory has no words for it.

    slow: the proof that halves boxes until single points remain, instead of the prover's.
    """
    question = random_question(seed)
    reply = EnsembleOracle(question).ask(None, Limits.of(seconds=60))
    if not isinstance(reply, (Found, Refuted)):
        return None
    found = isinstance(reply, Found)
    lower, proof = reply.lower if found else None, reply.proof
    if slow:
        if sum(len(a.levels()) if isinstance(a, LevelAxis) else a.upper - a.lower for a in question.axes) > 20:
            return None
        proof = slow_proof(question, lower)
    assert proof is not None
    whole = certificate(question, lower, reply.point if found else None, proof)
    data: Json = json.loads(json.dumps(whole.to_dict()))
    data["witness"] = None
    try:
        translate(data)
    except TranslationError:
        return None
    return data


@cache
def small_certificates(seeds: int = 80) -> list[Json]:
    return [data for seed in range(seeds) if (data := certificate_of(seed)) is not None]


def test_no_theorem_rests_on_an_axiom(theory: Path) -> None:
    done = made(theory)
    assert done.returncode == 0, done.stderr
    assert "check_sound: closed under the global context" in done.stdout
    assert ", no axioms" in done.stdout


def test_an_axiom_fails_the_build(theory: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(theory, tmp_path / "theory")
    # `Variable` outside a section is an axiom by another name, which no search for words would find.
    lie = "\nVariable believed : 1 = 2.\nTheorem wrong : 2 = 1. Proof. symmetry. exact believed. Qed.\n"
    text = (folder / "Assumptions.v").read_text()
    changed = text.replace("Definition main_theorems := (\n", f"{lie}Definition main_theorems := (\n  @wrong,\n")
    assert changed != text
    (folder / "Assumptions.v").write_text(changed)
    done = made(folder)
    assert done.returncode != 0
    assert "rest on an axiom" in done.stderr and "believed" in done.stdout


def test_a_certificate_becomes_a_theorem_and_a_false_one_does_not(theory: Path, tmp_path: Path) -> None:
    data = next(c for c in small_certificates() if "closer_than" in c["statement"]["claim"] and len(c["proof"]) > 5)
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(data))
    script = [sys.executable, "-I", "-S", str(THEORY.parent / "translate.py"), str(file)]
    text = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    done = compiled(theory, text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "Closed under the global context"

    farther = copy.deepcopy(data)
    farther["statement"]["claim"]["closer_than"] = str(Fraction(data["statement"]["claim"]["closer_than"]) + 1)
    done = compiled(theory, translate(farther))
    assert done.returncode != 0
    assert '"accepts the_statement the_certificate the_witness = true"' in done.stderr


# The function inside Coq is asked; what is extracted from it, about hundreds of certificates (test_verified.py).
@pytest.mark.parametrize("seeds", [pytest.param(80, marks=pytest.mark.exhaustive), 40])
def test_every_small_certificate_that_the_theory_covers_is_proved(seeds: int, theory: Path) -> None:
    certificates = small_certificates(seeds)
    assert len(certificates) >= 0.8 * seeds
    rng = np.random.default_rng(0)
    certificates = [*certificates, *(divided(data, rng) for data in certificates[::4])]
    assert all(answers(theory, certificates))
    fired = {node[0] for data in certificates for node in data["proof"]}
    assert fired >= {"split", "part", "distance", "trees"}


def test_proofs_point_by_point_are_proved_where_the_order_of_sums_is_fixed(theory: Path) -> None:
    certificates = [data for seed in range(40) if (data := certificate_of(seed, slow=True)) is not None]
    assert len(certificates) >= 15
    for data, proved in zip(certificates, answers(theory, certificates), strict=True):
        assert proved or not data["statement"]["model"]["ordered"]
    fired = {node[0] for data in certificates for node in data["proof"]}
    assert fired >= {"split", "distance", "cell", "changes"}


def edits(data: Json, rng: np.random.Generator) -> Iterator[Json]:
    """Certificates that differ in one place: the claim, a node, a threshold, a leaf, the start, a bound, the goal."""
    proof, features, trees = data["proof"], data["statement"]["features"], data["statement"]["model"]["trees"]

    def edited() -> Json:
        return copy.deepcopy(data)

    if "closer_than" in data["statement"]["claim"]:
        new = edited()
        new["statement"]["claim"]["closer_than"] = str(
            Fraction(data["statement"]["claim"]["closer_than"]) * Fraction(int(rng.integers(80, 160)), 100)
        )
        yield new
        new = edited()
        new["statement"]["claim"] = {"anywhere": True}
        yield new
    for _ in range(3):
        new, at = edited(), int(rng.integers(len(proof)))
        if proof[at][0] == "split":
            new["proof"][at][2] += int(rng.choice([-2, -1, 1, 2]))
            if new["proof"][at][2] < 0 and features[proof[at][1]]["kind"] != "grid":
                continue
        elif proof[at][0] == "prune":
            continue
        else:
            new["proof"][at] = [str(rng.choice(["trees", "cell", "distance", "empty", "changes"]))]
        yield new
    for _ in range(3):
        new, tree = edited(), int(rng.integers(len(trees)))
        node = int(rng.integers(len(trees[tree]["column"])))
        table = new["statement"]["model"]["trees"][tree]
        if trees[tree]["column"][node] >= 0:
            shift = float(rng.choice([-0.5, 0.5, 1.0]))
            table["threshold"][node] = (float.fromhex(table["threshold"][node]) + shift).hex()
        else:
            table["value"][node] = [(float.fromhex(x) + float(rng.normal())).hex() for x in table["value"][node]]
        yield new
    new, j = edited(), int(rng.integers(len(features)))
    if features[j]["kind"] == "grid":
        new["statement"]["features"][j]["upper"] += 2
    else:
        new["statement"]["features"][j]["allowed"] = 2 ** features[j]["count"] - 1
    yield new
    new, j = edited(), int(rng.integers(len(features)))
    feature = new["statement"]["features"][j]
    if feature["kind"] == "grid":
        feature["start"] = int(rng.integers(feature["lower"], feature["upper"] + 1))
        yield new


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.exhaustive), 8])
def test_an_edited_certificate_is_not_proved_or_still_true(every: int, theory: Path) -> None:
    rng = np.random.default_rng(0)
    cases = [
        edit
        for data in small_certificates()[::every]
        # The referee adds in the order of the trees and knows no squashing.
        if data["statement"]["model"]["rule"] not in ("sigmoid", "softmax") and not data["statement"]["avoid"]
        for edit in edits(data, rng)
    ]
    proved = answers(theory, cases)
    assert len(proved) == len(cases) > 300 // every
    wrong = [case for case, yes in zip(cases, proved, strict=True) if yes and not true(case)]
    assert not wrong
    refused = proved.count(False)
    assert refused > 100 // every, refused


def test_what_the_theory_does_not_cover_is_named() -> None:
    data = copy.deepcopy(small_certificates()[0])
    data["proof"] = [["dual"]]
    with pytest.raises(TranslationError, match="dual"):
        translate(data)
    data["statement"]["model"] = {"kind": "network"}
    with pytest.raises(TranslationError, match="network"):
        translate(data)
