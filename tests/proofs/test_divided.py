"""Goals of several parts: proofs that divide them anywhere, and proofs put together from one for each part.

What is true is accepted by both checkers; what is false, or put together wrongly, is accepted by neither, or is true.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import mace.proofs
from mace.certify.writer import certificate
from mace.problem.question import Goal, Question
from mace.proofs.check import check
from mace.proofs.columns import unfolded
from mace.proofs.convert import converted
from mace.solve.ensembles import prover
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.relaxation import branching
from mace.solve.networks import search
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits, Refuted
from mace.tables.table import Compare, Ensemble
from tests.proofs.divided import divided, entangled
from tests.proofs.enumeration import true
from tests.proofs.slow_prover import slow_proof
from tests.proofs.test_check import as_read, small
from tests.proofs.test_second import verdicts
from tests.reference import nearest, points

SECOND = Path(mace.proofs.__file__).resolve().parent / "second"


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """The second checker; None where there is no Go."""
    if shutil.which("go") is None:
        return None
    program = tmp_path_factory.mktemp("second") / "mace-check"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=SECOND, check=True)
    return program


def aimed(question: Question, rng: np.random.Generator) -> Question:
    """A question with another goal: two to four parts of one or two comparisons, between scores that points have."""
    where = [*points(question)]
    some = [where[k] for k in rng.integers(len(where), size=12)]
    scores = np.sort([question.model.scores(np.asarray(question.row(point), float)) for point in some], axis=0)

    def compare() -> Compare:
        side, other = (int(k) for k in rng.integers(scores.shape[1], size=2))
        strict = bool(rng.integers(2))
        if side != other and rng.random() < 0.6:
            return Compare(side, other, 0.0, strict)
        k = int(rng.integers(7, 11))
        if rng.random() < 0.5:
            return Compare(side, None, float(scores[k, side] + scores[k + 1, side]) / 2 + 1e-3, strict)
        return Compare(None, side, -float(scores[11 - k, side] + scores[10 - k, side]) / 2 + 1e-3, strict)

    # No comparison comes twice in one part.
    parts = [dict.fromkeys(compare() for _ in range(rng.integers(1, 3))) for _ in range(rng.integers(2, 5))]
    return question.aimed(Goal("several parts", frozenset(), tuple(map(tuple, parts))), question.model)


def questions(seeds: range) -> Iterator[tuple[Question, np.random.Generator]]:
    """Small ones with such goals, half of them about networks."""
    for seed in seeds:
        question = small(seed, "network" if seed % 4 == 1 else "linear" if seed % 4 == 3 else None)
        rng = np.random.default_rng(seed)
        if question is not None:
            yield aimed(question, rng), rng


def proved(question: Question) -> tuple[Fraction | None, dict[str, Any]]:
    """The distance that a prover finds, None where there is no such point, and the certificate."""
    oracle = (EnsembleOracle if isinstance(question.model, Ensemble) else NetworkOracle)(question)
    reply = oracle.ask(None, Limits.of(600.0))
    assert isinstance(reply, (Found, Refuted)) and reply.proof is not None
    lower, point = (reply.lower, reply.point) if isinstance(reply, Found) else (None, None)
    return lower, as_read(certificate(question, lower, point, reply.proof))


def of_format_1(data: dict[str, Any]) -> dict[str, Any]:
    """A certificate of an ensemble without what format 2 adds, which the first checker finds again."""
    proof = [node[:1] if node[0] in ("trees", "cell") else node for node in data["proof"] if node[0] != "prune"]
    return {name: part for name, part in data.items() if name != "cuts"} | {"mace_certificate": 1, "proof": proof}


def put_together(question: Question, claim: Fraction | None, rng: np.random.Generator) -> dict[str, Any] | None:
    """A certificate whose proof refutes each part of the goal by itself; None where a part has no proof for the claim.

    Sound only if the claim is true: a proof of a part may be of a smaller distance than the claim.
    """
    order = [int(k) for k in rng.permutation(len(question.goal.decision))]
    proof: list[Any] = []
    for place, k in enumerate(order):
        alone = replace(question, goal=Goal("one part", frozenset(), (question.goal.decision[k],)))
        lower, made = proved(alone)
        if isinstance(question.model, Ensemble) and (lower is None or rng.random() < 0.3):
            made = as_read(certificate(alone, claim, None, slow_proof(alone, claim)))
        elif lower is None and claim is not None:
            return None  # What shows that there is none need not bound a distance.
        proof += [["part", k]] if place < len(order) - 1 else []
        proof += (of_format_1(made) if isinstance(question.model, Ensemble) else made)["proof"]
    whole = proved(question)[1] | {"witness": None, "proof": proof}
    return of_format_1(whole) if isinstance(question.model, Ensemble) else whole


def in_format_2(data: dict[str, Any]) -> dict[str, Any]:
    return data if data["mace_certificate"] == 2 else converted(unfolded(data), None)


def agree(second: Path | None, made: list[dict[str, Any]], folder: Path) -> list[bool]:
    """Which certificates the checkers accept: both say the same."""
    found = [check(data).accepted for data in made]
    if second is None:
        return found
    for place, data in enumerate(made):
        (folder / f"{place:05d}.json").write_text(json.dumps(in_format_2(data)), encoding="utf-8")
    said = verdicts([str(second)], folder)
    other = [place for place, one in enumerate(found) if said[f"{place:05d}.json"] != ("refused", "accepted")[one]]
    assert not other, [(check(made[place]), made[place]["proof"]) for place in other[:3]]
    return found


SEEDS = [range(48), pytest.param(range(48, 400), marks=pytest.mark.slow)]


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_a_proof_that_divides_the_goal_anywhere_shows_the_same(
    seeds: range, second: Path | None, tmp_path: Path
) -> None:
    made, fired = [], Counter[str]()
    for number, (question, rng) in enumerate(questions(seeds)):
        with ExitStack() as patches:
            if number % 3 == 0:  # by relaxations at once
                for module, name, few in ((prover, "PATIENCE", 0), (branching, "WALKS", 0), (search, "STALLED", 1)):
                    patches.enter_context(patch.object(module, name, few))
            _, data = proved(question)
        assert true(data)
        made += [data, *(divided(data, rng, chance) for chance in (0.1, 0.5))]
        if isinstance(question.model, Ensemble):
            made += [divided(of_format_1(data), rng, chance) for chance in (0.1, 0.5)]
    assert all(agree(second, made, tmp_path))
    for data in made:
        fired.update(node[0] for node in data["proof"])
    assert fired["part"] > len(made), fired
    assert fired >= Counter(["trees", "prices", "dual", "bounds", "distance"]), fired


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_proofs_of_the_parts_are_one_of_the_goal_and_of_no_more(
    seeds: range, second: Path | None, tmp_path: Path
) -> None:
    sound, false = [], []
    for question, rng in questions(seeds):
        best = nearest(question)
        claim = best[0] if best else None
        made = put_together(question, claim, rng)
        if made is None:
            continue
        sound.append(made)
        if claim is not None:
            farther = json.loads(json.dumps(made))
            farther["statement"]["claim"] = {"closer_than": str(claim + Fraction(1, 10**9))}
            nowhere = json.loads(json.dumps(made))
            nowhere["statement"]["claim"] = {"anywhere": True}
            false += [farther, nowhere]
    assert all(true(data) for data in sound) and not any(true(data) for data in false)
    found = agree(second, [*sound, *false], tmp_path)
    assert all(found[: len(sound)]) and not any(found[len(sound) :])
    assert len(sound) > len(seeds) / 4 and len(false) > len(seeds) / 6, (len(sound), len(false))


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "many"])
def test_what_is_divided_wrongly_is_refused_unless_it_is_true(
    seeds: range, second: Path | None, tmp_path: Path
) -> None:
    made = []
    for question, rng in questions(seeds):
        best = nearest(question)
        _, data = proved(question)
        if best is not None:  # a false claim by half of a real one, where the parts are mistaken for each other
            data["statement"]["claim"] = {"closer_than": str(best[0] + int(rng.integers(2)))}
            data["witness"] = None
        for chance in (0.1, 0.4):
            base = divided(data, rng, chance)
            made += [entangled(base, rng) for _ in range(6)]
    found = agree(second, made, tmp_path)
    assert all(true(data) for data, accepted in zip(made, found, strict=True) if accepted)
    assert found.count(True) > len(made) / 50 and found.count(False) > len(made) / 4, Counter(found)
