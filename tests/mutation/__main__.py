"""Which changes of a file no test notices.

    python -m tests.mutation mace/problem/goals.py tests/test_goals.py tests/test_families_agree.py
    python -m tests.mutation mace/certify/writer.py tests/proofs --every 3 --workers 2

Each mutant is loaded in a process of its own, forked from one that holds the libraries already. Survivors are printed
with their line; the last line counts. A mutant whose tests take `--seconds` counts as noticed: something hangs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.abc
import importlib.util
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from types import CodeType

from tests.mutation.changes import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]


class Loader(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Gives one module another source."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, name: str, *_: object) -> object:
        return importlib.util.spec_from_loader(name, self, origin=str(self.path)) if name == self.name else None

    def get_filename(self, *_: object) -> str:
        return str(self.path)

    def get_data(self, *_: object) -> bytes:
        return self.source.encode()

    def get_code(self, *_: object) -> CodeType:
        return compile(self.source, str(self.path), "exec")  # No file of bytecode: the source on the disk is another.


def module_of(path: Path) -> str:
    """The installed name of a source file."""
    parts = path.resolve().relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "mace" else ("mace", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def child(mutant: Mutant, path: Path, tests: list[str]) -> None:
    """Run the tests on a mutant; the exit code is pytest's."""
    import pytest

    sys.meta_path.insert(0, Loader(module_of(path), path, mutant.source))
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        code = pytest.main([*tests, "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"])
    os._exit(int(code))


def run(found: list[Mutant], path: Path, tests: list[str], workers: int, seconds: float) -> list[tuple[Mutant, str]]:
    """How each mutant ended: "noticed", "survived", "hangs"."""
    ended: list[tuple[Mutant, str]] = []
    running: dict[int, tuple[Mutant, float]] = {}
    todo = list(reversed(found))
    while todo or running:
        while todo and len(running) < workers:
            mutant = todo.pop()
            pid = os.fork()
            if pid == 0:
                os.setpgid(0, 0)
                child(mutant, path, tests)
            running[pid] = mutant, time.monotonic()
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            mutant, _ = running.pop(pid)
            ended.append((mutant, "survived" if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else "noticed"))
            if ended[-1][1] == "survived":
                print(f"{path}:{mutant.line}: {mutant.before}  ->  {mutant.after}".replace("\n", " ")[:300], flush=True)
            continue
        for pid, (mutant, began) in list(running.items()):
            if time.monotonic() - began > seconds:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                del running[pid]
                ended.append((mutant, "hangs"))
        time.sleep(0.02)
    return ended


def main() -> int:
    """Parse, run, print; 1 if a mutant survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation")
    parser.add_argument("file", type=Path)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th mutant")
    parser.add_argument("--first", type=int, default=0, help="where that begins")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=300.0)
    given = parser.parse_args()
    for heavy in (
        "numpy",
        "pandas",
        "sklearn.ensemble",
        "sklearn.neural_network",
        "numba",
        "scipy.stats",
        "hypothesis",
    ):
        __import__(heavy)
    found = list(mutants(given.file.read_text(encoding="utf-8")))
    picked = found[given.first :: given.every]
    ended = Counter(how for _, how in run(picked, given.file, given.tests, given.workers, given.seconds))
    print(f"{given.file}: {len(found)} mutants, {len(picked)} tried: {dict(ended)}")
    return 1 if ended["survived"] else 0


if __name__ == "__main__":
    sys.exit(main())
