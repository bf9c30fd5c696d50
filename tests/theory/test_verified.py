"""The checker extracted from the theory reads what files say, and accepts nothing that the one in Python refuses."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mace.proofs
from mace.certify import verified as program
from mace.errors import CertificateError
from mace.proofs.check import check
from mace.proofs.readback import readback
from mace.proofs.reader import load
from tests.proofs import test_false_claims, test_false_witnesses, test_missing
from tests.proofs.by_hand import at_least, forest, grid, two
from tests.proofs.divided import divided, entangled
from tests.proofs.test_check import certificates, certificates_of, places, with_columns, with_edit
from tests.reference import random_question
from tests.theory.building import made

Json = dict[str, Any]
Asked = tuple[str, str, str]

VECTORS = Path(mace.proofs.__file__).parent / "vectors"


def missing_tools() -> bool:
    if shutil.which("coqc") is None or shutil.which("ocamlfind") is None:
        return True
    found = subprocess.run(["ocamlfind", "query", "zarith"], capture_output=True, text=True, check=False)
    return found.returncode != 0 or not (Path(found.stdout.strip()) / "zarith.cmxa").exists()


needs_tools = pytest.mark.skipif(missing_tools(), reason="coqc, ocamlfind or zarith is absent: see verified/Makefile")


@pytest.fixture(scope="module")
def built() -> Path:
    """The program."""
    return made("verified") / "check"


@pytest.fixture
def ask(built: Path, tmp_path: Path) -> Callable[[Any], Asked]:
    """Status, words and what was read, of a certificate."""

    def ask(data: Any) -> Asked:
        file = tmp_path / "certificate.json"
        file.write_text(json.dumps(data))
        done = subprocess.run([built, "--print", file], capture_output=True, text=True, check=False)
        words, _, read = done.stdout.partition("\n")
        return program.STATUSES[done.returncode], words, read.strip()

    return ask


NEAR_MISSING = {
    "mace_certificate": 2,
    "statement": {
        "features": [
            {
                "name": "x", "weight": "1", "kind": "grid", "grid": "step", "step": "1", "extra": None, "lower": 0,
                "upper": 4, "start": 0, "scale": "1", "missing": {"cost": "1", "allowed": True},
            }
        ],
        "columns": [[0, None, [], "0x1.0000000000000p+6"]],
        "model": {
            "kind": "ensemble", "rule": "value", "ordered": True, "error": "0x0.0p+0", "cast": "float64", "test": "<=",
            "dtype": "float64", "divide": 1, "start": ["0x0.0p+0"],
            "trees": [
                {
                    "column": [0, 0, -1, -1, -1],
                    "threshold": ["0x1.c000000000000p+1", "0x1.8000000000000p+0", 0, 0, 0],
                    "left": [1, 2, 0, 0, 0], "right": [4, 3, 0, 0, 0],
                    "value": [None, None, ["0x0.0p+0"], ["0x1.0000000000000p+0"], ["0x0.0p+0"]],
                }
            ],
        },
        "goal": [[[0, None, "0x1.0000000000000p+0", False]]],
        "distance": {"alpha": "0", "beta": "1", "gamma": "0"},
        "rules": [], "avoid": [], "most_changes": None, "claim": {"closer_than": "2"},
    },
    "witness": None,
    "cuts": [3, 1],
    "proof": [["prices", {"goal": ["3"], "largest": [], "unit": "1", "prices": []}]],
}  # fmt: skip


@needs_tools
def test_prices_where_missing_is_nearer_than_what_a_path_leaves_are_not_covered(ask: Callable[[Any], Asked]) -> None:
    """The leaf with the goal holds 2 and 3, and is as far as the claim; "missing", at 1, is beyond one of its cuts."""
    assert check(NEAR_MISSING).accepted
    assert ask(NEAR_MISSING)[:2] == ("not covered", "not covered: prices where a number may be missing")


def counts_changes(data: Json) -> bool:
    """Whether a dual has a multiplier of the count of changes."""
    duals = [node for node in data["proof"] if type(node) is list and node and node[0] == "dual"]
    return any(type(part) is dict and "changes" in part for node in duals for part in node[1:])


def counts_rules(data: Json) -> bool:
    """Whether a dual or prices have a multiplier of what a rule compares."""
    names = ("dual", "prices", "narrow")
    nodes = [node for node in data["proof"] if type(node) is list and node and node[0] in names]
    return any(type(part) is dict and "rules" in part for node in nodes for part in node[1:])


def covered(data: Json) -> bool:
    """Whether the theory has a checker for this kind of model and of distance."""
    model = data["statement"]["model"]
    if "forms" in data["statement"]["distance"] or counts_changes(data) or counts_rules(data):
        return False
    return model["kind"] == "ensemble" or (len(model["layers"]) == 1 and model["dtype"] == "float64")


def all_covered() -> list[Json]:
    return [data for data in certificates() if covered(data)]


@pytest.mark.slow
@needs_tools
def test_prices_over_floats_have_to_prove_what_the_format_asks_for(ask: Callable[[Any], Asked]) -> None:
    one = 0x3F800000  # the number of 1 among the float32; all changes are tenths, which the format does not look for
    floats = grid(one, one + 10, one, grid="float32", scale="10/8388608")
    at = 1 + 3 * 2.0**-23

    def priced(goal: str, rule: list[Any], after: list[Any]) -> Json:
        prices = {"goal": [goal], "largest": [], "unit": "4/10", "prices": [[0, 2, 1]]}
        model = forest([[0.0], [1.0]], at=[at])
        return two(model, at_least(1.0), "4/10", [[*rule, prices], *after], [one + 3], features=[floats])

    for rule, after in ((["prices"], []), (["narrow", [[0, [one, one + 3]]]], [["trees"]])):
        for goal, accepted in (("4/10", True), ("7/20", False)):
            data = priced(goal, rule, after)
            assert check(data).accepted is accepted
            assert ask(data)[0] == ("accepted" if accepted else "refused")


@needs_tools
def test_every_certificate_is_accepted_and_read_back_as_it_is(ask: Callable[[Any], Asked]) -> None:
    fired = set()
    for data in all_covered():
        status, words, read = ask(data)
        assert status == "accepted", words
        assert read == readback(data)
        fired |= {node[0] for node in data["proof"]}
        if data["statement"]["model"]["kind"] == "ensemble":
            assert ask(with_columns(data)) == (status, words, read)
    assert fired >= {
        "split",
        "part",
        "empty",
        "distance",
        "avoid",
        "rule",
        "trees",
        "cell",
        "prices",
        "dual",
        "cliques",
        "narrow",
    }


@pytest.mark.slow
@needs_tools
def test_each_vector_has_the_verdict_of_the_index_or_is_not_covered(built: Path) -> None:
    index = json.loads((VECTORS / "index.json").read_text())
    names = "\n".join(entry["file"] for entry in index)
    done = subprocess.run([built, "-"], input=names, cwd=VECTORS, capture_output=True, text=True, check=True)
    counts: Counter[str] = Counter()
    for entry, line in zip(index, done.stdout.splitlines(), strict=True):
        words = line.removeprefix(f"{entry['file']}: ")
        status = next(status for status in program.STATUSES.values() if words.startswith(status))
        assert status in (entry["verdict"], "not covered"), (entry, words)
        counts[status] += 1
        if status == "accepted":
            again = subprocess.run(
                [built, "--print", VECTORS / entry["file"]], capture_output=True, text=True, check=True
            )
            assert again.stdout.partition("\n")[2].strip() == readback(load(VECTORS / entry["file"])), entry
    assert min(counts["accepted"], counts["refused"]) > 150, counts


@pytest.mark.slow
@needs_tools
def test_random_linear_models_are_accepted_and_read_back(ask: Callable[[Any], Asked]) -> None:
    duals = parted = counted = ruled = 0
    for seed in range(2000, 2200):
        for data in certificates_of(random_question(seed, "linear")):
            status, words, read = ask(data)
            if (
                words.strip()
                == "not covered: a dual where all distances are multiples of more than one part of a whole"
            ):
                parted += 1
                continue
            if counts_changes(data):
                assert words.strip() == "not covered: duals that count changes"
                counted += 1
                continue
            if counts_rules(data):
                assert words.strip() == "not covered: duals that count what rules compare"
                ruled += 1
                continue
            assert status == "accepted", (seed, words)
            assert read == readback(data)
            duals += sum(node[0] == "dual" for node in data["proof"])
    assert duals > 80 and parted < 5 and counted < 40 and 0 < ruled < 40


@pytest.mark.slow
@needs_tools
def test_an_edited_linear_certificate_is_accepted_only_where_the_checker_does(ask: Callable[[Any], Asked]) -> None:
    rng = np.random.default_rng(1)
    pool = [data for data in all_covered() if data["statement"]["model"]["kind"] == "network"]
    counts = {True: 0, False: 0}
    for _ in range(250):
        data = pool[rng.integers(len(pool))]
        paths = [(part, *path) for part in ("statement", "proof") for path in places(data[part])]
        changed = with_edit(data, paths[rng.integers(len(paths))], rng)
        status, _, read = ask(changed)
        assert status != "accepted" or (check(changed).accepted and read == readback(changed)), changed
        counts[status == "accepted"] += 1
    assert min(counts.values()) > 20, counts


@pytest.mark.slow
@needs_tools
def test_nothing_is_accepted_that_the_checker_refuses(ask: Callable[[Any], Asked]) -> None:
    rng = np.random.default_rng(0)
    pool, counts = all_covered(), {True: 0, False: 0}
    pool += [with_columns(data) for data in pool if data["statement"]["model"]["kind"] == "ensemble"]
    while sum(counts.values()) < 600:
        data = pool[rng.integers(len(pool))]
        section = str(rng.choice(["statement", "witness", "proof"]))
        paths = [(section, *path) for path in places(data[section])]
        if not paths:
            continue
        changed = with_edit(data, paths[rng.integers(len(paths))], rng)
        status, words, read = ask(changed)
        verdict = check(changed)
        assert status in ("accepted" if verdict.accepted else "refused", "not covered"), (
            verdict.reason,
            words,
            changed,
        )
        assert status != "accepted" or read == readback(changed)
        counts[status == "accepted"] += 1
    assert min(counts.values()) > 30, counts


@pytest.mark.slow
@needs_tools
def test_a_goal_that_is_divided_wrongly_is_refused_as_the_checker_does(ask: Callable[[Any], Asked]) -> None:
    rng = np.random.default_rng(0)
    pool = [data for data in all_covered() if len(data["statement"]["goal"]) > 1]
    counts = {True: 0, False: 0}
    for _ in range(200):
        data = divided(pool[rng.integers(len(pool))], rng)
        for changed in (data, entangled(data, rng)):
            status, words, _ = ask(changed)
            verdict = check(changed)
            assert status in ("accepted" if verdict.accepted else "refused", "not covered"), (verdict, words, changed)
            counts[status == "accepted"] += 1
    assert min(counts.values()) > 30, counts


@pytest.mark.slow
@needs_tools
def test_claims_that_are_false_by_a_hair_are_refused(ask: Callable[[Any], Asked]) -> None:
    cases = (*test_false_claims.CLAIMS.values(), *test_false_witnesses.CASES.values(), *test_missing.PAIRS.values())
    counts: Counter[str] = Counter()
    for data in (part for case in cases for part in case if not isinstance(part, str)):
        if not covered(data):
            continue
        status, words, _ = ask(data)
        assert check(data).accepted or status != "accepted", (words, data)
        counts[status] += 1
    assert counts["accepted"] > 60, counts


@pytest.mark.slow
@needs_tools
def test_files_may_be_packed_and_what_is_not_covered_is_named(built: Path, tmp_path: Path) -> None:
    data = all_covered()[0]
    file = tmp_path / "certificate.json.gz"
    file.write_bytes(gzip.compress(json.dumps(data).encode()))
    assert subprocess.run([built, file], capture_output=True, check=False).returncode == 0
    file.write_bytes(file.read_bytes()[:-9])
    assert subprocess.run([built, file], capture_output=True, check=False).returncode == 2
    layer: Json = {"weights": [], "bias": [], "activation": "identity"}
    network = {"kind": "network", "rule": "argmax", "dtype": "float64", "layers": [layer, layer]}
    narrow = {**network, "dtype": "float32", "layers": [layer]}
    models = {"networks with hidden layers": network, "networks in float32": narrow}
    cases = {name: {**data, "statement": {**data["statement"], "model": model}} for name, model in models.items()}
    cases["forms of a distance"] = {**data, "statement": {**data["statement"], "distance": {"forms": []}}}
    for name, other in {**cases, "sets": {"mace_set": 1}, "plans": {"mace_plan": 1}}.items():
        file.write_text(json.dumps({**other, "cuts": []}))
        done = subprocess.run([built, file], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (3, f"not covered: {name}\n")


def test_where_it_is_not_built_the_error_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program.mace.proofs, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(CertificateError, match="not built") as error:
        program.verified(tmp_path / "any.json", {})
    assert "make proofs" in str(error.value)


@pytest.mark.parametrize(
    ("code", "printed", "status"),
    [(0, "{}", "misread"), (10, "", "refused"), (3, "", "not covered"), (2, "", "unusable"), (1, "", "refused")],
)
def test_a_verdict_counts_only_with_what_was_read(
    code: int, printed: str, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in = tmp_path / "verified" / "check"
    stand_in.parent.mkdir()
    stand_in.write_text(f"#!/bin/sh\necho 'words'\necho '{printed}'\nexit {code}\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(program.mace.proofs, "__file__", str(tmp_path / "__init__.py"))
    assert program.verified(tmp_path / "any.json", {"witness": None}).status == status
