"""Edits of certificates: do the checkers agree about each, and is every accepted one still true?

    python -m tests.proofs.edits --certificates 1000 --edits 60000 --seed 0 --second PROGRAM --verified PROGRAM

Certificates are those of the provers on random small questions. An edit changes one value, or puts one in the place
of another of the same certificate. `--second` names the checker in Go, which has to give the same verdict; `--verified`
the extracted one, which has to give the same or "not covered". Each accepted edit is tried at every point. Prints
counts, and what differs; exits with 1 if anything does.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from mace.problem.question import Question
from mace.proofs.check import check
from tests.proofs.enumeration import true
from tests.proofs.test_check import certificates_of, places, small, with_edit

BATCH = 500
MOST = 20_000  # points that are tried
OTHERS = ("second", "verified")
PARTS = ("statement", "model", "claim", "witness", "cuts", "proof")


def certificates(wanted: int) -> list[Any]:
    """So many certificates, of which a third of the questions is about networks."""
    found: list[Any] = []
    for seed in count():
        question: Question | None = small(seed, "network" if seed % 3 == 0 else None)
        if question is not None:
            found += certificates_of(question)
        if len(found) >= wanted:
            return found[:wanted]
    raise AssertionError


def inside(data: Any, path: tuple[Any, ...]) -> Any:
    """What lies at a path."""
    for key in path:
        data = data[key]
    return data


def edited(data: Any, rng: np.random.Generator) -> Any | None:
    """A certificate with one change; None where there is nothing to change."""
    part = str(rng.choice(PARTS))
    root = {"model": ("statement", "model"), "claim": ("statement", "claim")}.get(part, (part,))
    paths = [(*root, *path) for path in places(inside(data, root)) if part != "statement" or path[0] != "model"]
    if not paths:
        return None
    path = paths[rng.integers(len(paths))]
    if rng.random() < 0.7:
        found = with_edit(data, path, rng)
    else:
        found = copy.deepcopy(data)
        inside(found, path[:-1])[path[-1]] = copy.deepcopy(inside(data, paths[rng.integers(len(paths))]))
    return None if found == data else found


def false(data: Any) -> bool | None:
    """Whether the claim of an accepted certificate is false; None where there are too many points to try."""
    size = 1.0
    for feature in data["statement"]["features"]:
        size *= feature["upper"] - feature["lower"] + 2 if feature["kind"] == "grid" else feature["count"]
    return None if size >= MOST else not true(data)


def said(program: Path, files: list[Path]) -> Iterator[str]:
    """The verdict of a checker in another language about each file, without its reason."""
    done = subprocess.run([program, "-"], input="\n".join(map(str, files)), text=True, capture_output=True, check=False)
    lines = done.stdout.splitlines()
    assert len(lines) == len(files), done.stderr[-1000:]
    for file, line in zip(files, lines, strict=True):
        words = line.removeprefix(f"{file}: ")
        yield "not covered" if words.startswith("not covered") else words.split(" ")[0].rstrip(":")


def main() -> int:
    """Parse, edit, check, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.edits")
    parser.add_argument("--certificates", type=int, default=1000)
    parser.add_argument("--edits", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--second", type=Path, help="the program that `make -C proofs/second` builds")
    parser.add_argument("--verified", type=Path, help="the program that `make proofs` builds")
    given = parser.parse_args()
    rng, pool, counts = np.random.default_rng(given.seed), certificates(given.certificates), Counter[str]()
    wrong: list[str] = [f"a certificate is refused: {data}" for data in pool if not check(data).accepted]
    print(f"{len(pool)} certificates", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{n}.json" for n in range(BATCH)]
        for begun in range(0, given.edits, BATCH):
            made: list[Any] = []
            while len(made) < min(BATCH, given.edits - begun):
                one = edited(pool[rng.integers(len(pool))], rng)
                made += [] if one is None else [one]
            used = files[: len(made)]
            for file, data in zip(used, made, strict=True):
                file.write_text(json.dumps(data), encoding="utf-8")
            programs = {name: path for name, path in vars(given).items() if name in OTHERS and path is not None}
            words = {name: list(said(path, used)) for name, path in programs.items()}
            for n, data in enumerate(made):
                wrong += compared(data, {name: found[n] for name, found in words.items()}, counts)
            if begun // BATCH % 10 == 9:
                print(f"{begun + BATCH} edits: {dict(counts)}", flush=True)
    print("\n".join([*wrong, f"{given.edits} edits: {dict(counts)}, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def compared(data: Any, others: dict[str, str], counts: Counter[str]) -> list[str]:
    """What is wrong about one edit, of which the other checkers say this."""
    wrong: list[str] = []
    verdict = check(data)
    first = "accepted" if verdict.accepted else "unusable" if verdict.unusable else "refused"
    counts[first] += 1
    if "unforeseen" in verdict.reason:
        wrong.append(f"an unforeseen place: {verdict.reason}: {data}")
    for name, word in others.items():
        if name == "verified":
            counts[f"verified: {word} where the kernel says {first}"] += 1
        if word not in (first, "not covered"):
            wrong.append(f"kernel: {verdict}; {name}: {word}: {data}")
    if verdict.accepted:
        untrue = false(data)
        counts["accepted, true at every point" if untrue is False else "accepted, too many points"] += 1
        if untrue:
            wrong.append(f"accepted and false: {data}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
