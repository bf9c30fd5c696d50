"""Model files of every native format, mutated: whatever stands in one, the process lives and says so in words.

    python -m tests.fuzz.model_files                                 1,000 files of each format
    python -m tests.fuzz.model_files json txt --count 10000 --seed 1
    python -m tests.fuzz.model_files onnx --seed 4711 --count 1      one of them again

A seed chooses an honest small model and edits its file: bytes, numbers, members, lines, fields, whole arrays. The file
goes through the door of every user: it is loaded, read, asked for predictions, and a row is explained. It may end in an
answer or in a MaceError, nothing else. Files are tried in a child process, so that a crash is seen, with its seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.fuzz.file_edits import edited
from tests.fuzz.file_models import Honest, honest_files

FORMATS = ("json", "ubj", "txt", "onnx", "skops", "catboost", "pmml")
ENDINGS = {"catboost": "json"}  # of formats that are not called by it
HANGS = 120.0
"""Seconds after which a file counts as hanging; one takes some milliseconds."""
MEMORY = 8 * 2**30
"""Bytes of addresses that a child may ask for: a file of some kilobytes that needs more is a failure."""


class FileProblemError(AssertionError):
    """A file that ended in something else than an answer or a MaceError."""


@cache
def _honest(kind: str) -> Sequence[Honest]:
    return honest_files(kind)


def mutated_file(kind: str, seed: int) -> tuple[Honest, bytes]:
    """The honest model that a seed chooses, and its file with the edits that the seed chooses."""
    import numpy as np

    rng = np.random.default_rng([FORMATS.index(kind), seed])
    honest = _honest(kind)[int(rng.integers(len(_honest(kind))))]
    return honest, edited(kind, honest.data, rng)


def ending(kind: str, seed: int) -> str:
    """How a mutated file ends; raises FileProblemError for anything but an answer or a MaceError."""
    honest, data = mutated_file(kind, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return asked(kind, honest, data)
    except Exception:  # noqa: BLE001 - any other exception is what we look for
        text = traceback.format_exc()
    raise FileProblemError(f"{kind} {seed} ({honest.name}):\n{text}")


def asked(kind: str, honest: Honest, data: bytes) -> str:
    """Load, read, predict, explain; returns how far it came."""
    import mace
    from mace.compilers import load_model
    from mace.errors import MaceError
    from mace.explain.explainer import Explainer

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{ENDINGS.get(kind, kind)}"
        path.write_bytes(data)
        try:
            model = load_model(path)
        except MaceError:
            return "refused when loaded"
    try:
        explainer = Explainer(model, honest.space)
        explainer.decisions(honest.rows)
    except MaceError:
        return "refused when read"
    try:
        answer: Any = explainer.explain(honest.rows.iloc[0], goal=honest.goal, timeout=10)
    except MaceError:
        return "refused when asked"
    assert isinstance(answer, mace.Answer)
    return str(answer.status)


def endings(kind: str, seed: int, count: int) -> Counter[str]:
    """How so many files end."""
    return Counter(ending(kind, seed + number) for number in range(count))


# ------------------------------------------------------------------------------------------------- child processes


def child(kind: str, seeds: Iterator[int]) -> None:
    """Try files one after the other; a line before each, and one with its end."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for seed in seeds:
        print(json.dumps([seed, None]), flush=True)
        try:
            found = ending(kind, seed)
        except FileProblemError as error:
            found = f"FAILED {error}"
        print(json.dumps([seed, found]), flush=True)


def campaign(kind: str, seed: int, count: int) -> Counter[str]:
    """Try files in children; one that dies or hangs is a failure with its seed, and the next child goes on after it."""
    counted: Counter[str] = Counter()
    at, last = seed, seed + count
    while at < last:
        command = [sys.executable, "-m", "tests.fuzz.model_files", kind, "--child", "--seed", str(at), "--count"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        running = subprocess.Popen(
            [*command, str(last - at)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True
        )
        begun = at
        assert running.stdout is not None
        alarm = threading.Timer(HANGS, running.kill)
        alarm.start()
        for line in running.stdout:
            alarm.cancel()
            begun, found = json.loads(line)
            if found is not None:
                counted[found if not found.startswith("FAILED") else "FAILED"] += 1
                at = begun + 1
                if found.startswith("FAILED"):
                    print(found, flush=True)
            alarm = threading.Timer(HANGS, running.kill)
            alarm.start()
        alarm.cancel()
        code = running.wait()
        if at < last:
            print(f"FAILED {kind} {begun}: the process ended with {code}", flush=True)
            counted["FAILED"] += 1
            at = begun + 1
    return counted


def main() -> int:
    """Parse, run, print; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.model_files")
    parser.add_argument("formats", nargs="*", default=[], metavar="FORMAT", help=", ".join(FORMATS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.formats[0], iter(range(given.seed, given.seed + given.count)))
        return 0
    failed = 0
    for kind in given.formats or FORMATS:
        counted = campaign(kind, given.seed, given.count)
        failed += counted["FAILED"]
        print(f"{kind}: {counted.total()} files; " + ", ".join(f"{n} {what}" for what, n in counted.most_common()))
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
