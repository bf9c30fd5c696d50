"""mace beside its peers, in one run: seconds, what is proved, distances, and whether the points flip `predict`.

    python -m tests.bench.peers [--rows 10] [--seconds 30] [--models forest-10x6 ..] [--tools mace treecf ..]

Makes an environment of its own at first, `.venv-peers`, with treecf, dtai-veritas, dice-ml, CP-SAT, and what there is
for the Python that it is given: maraboupy up to 3.11, oceanpy from 3.12 (`--python python3.12`).
Seconds are CPU seconds of all threads, for whole answers; reading the model is not counted, for no tool.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import os
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

from tests.bench.peers.ground import Reply, Task, Tool, distance, ensembles, networks, task
from tests.bench.peers.tools import TOOLS

ROOT = Path(__file__).parents[3]
ENVIRONMENT = ROOT / ".venv-peers"
PACKAGES = (
    "treecf", "dtai-veritas", "dice-ml", "ortools", 'maraboupy; python_version < "3.12"',
    'oceanpy; python_version >= "3.12"',
)  # fmt: skip
MODULES = {"dice": "dice_ml", "marabou": "maraboupy"}


class Line(NamedTuple):
    """One row to one tool.

    far: the distance of its point; None without one.
    """

    seconds: float
    reply: Reply
    flips: bool
    far: float | None


def asked(tool: Tool, of: Task, seconds: float) -> list[Line]:
    """Every row of a task; what was there before is none of the garbage that answers are charged for."""
    answered, lines = tool.ready(of, seconds), []
    gc.collect()
    gc.freeze()
    for row in of.rows:
        clock = time.process_time()
        reply = answered(row)
        spent = time.process_time() - clock
        point = reply.point
        flips = point is not None and bool(of.model.predict(point[None])[0] == 1)
        lines.append(Line(spent, reply, flips, None if point is None else distance(tool.norm, row, point)))
    return lines


def shown(tool: Tool, of: Task, lines: list[Line], ours: list[Line]) -> str:
    """One line of the table; the last figures compare with this library's answers to the same rows."""
    seconds = [line.seconds for line in lines]
    proved = sum(line.reply.proved for line in lines)
    flips = sum(line.flips for line in lines)
    over = [a.far / b.far for a, b in zip(lines, ours, strict=True) if a.far and b.far and b.reply.proved]
    text = (
        f"{of.name:15} {tool.norm:5} {tool.name:8} {statistics.median(seconds):8.3f} {max(seconds):8.3f} "
        f"{sum(seconds):8.2f}  {proved:3}/{len(lines)} {flips:3}/{len(lines)}"
    )
    text += f"  {statistics.fmean(over):8.4f}" if over else "         -"
    if lines is ours:
        return text
    times = [a.seconds / b.seconds for a, b in zip(lines, ours, strict=True)]
    return f"{text}  {statistics.median(times):8.1f} {sum(seconds) / sum(line.seconds for line in ours):8.1f}"


def table(options: argparse.Namespace) -> None:
    """Ask, and print a line for each model, norm and tool."""
    print("model           norm  tool       median    worst    total  proved flips  distance     median    total")
    print("                                        CPU seconds                      over least  times ours in CPU s")
    for name in options.models:
        of = task(name, options.rows)
        kind = "networks" if name in networks() else "trees"
        ours: dict[str, list[Line]] = {}
        for tool in TOOLS:
            if tool.name not in options.tools or not getattr(tool, kind) or tool.only and name not in tool.only:
                continue
            if importlib.util.find_spec(MODULES.get(tool.name, tool.name)) is None:
                continue
            lines = asked(tool, of, options.seconds)
            base = ours.setdefault(tool.norm, lines)
            print(shown(tool, of, lines, base), flush=True)


def environment(python: str) -> Path:
    """The environment's Python; it is made where it is not there."""
    own = ENVIRONMENT / "bin" / "python"
    if not own.exists():
        print(f"making {ENVIRONMENT.name} with {', '.join(PACKAGES)}", flush=True)
        subprocess.run([python, "-m", "venv", str(ENVIRONMENT)], check=True)
        subprocess.run([str(own), "-m", "pip", "install", "-q", "-e", str(ROOT), *PACKAGES], check=True)
    return own


def main() -> None:
    """Print the table, in the environment of the peers."""
    known = [*ensembles(), *networks()]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of each answer")
    parser.add_argument("--models", nargs="*", default=known, choices=known)
    parser.add_argument("--tools", nargs="*", default=list(dict.fromkeys(tool.name for tool in TOOLS)))
    parser.add_argument("--python", default=sys.executable, help="makes the environment, at first")
    options = parser.parse_args()
    if Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        own = str(environment(options.python))
        os.chdir(ROOT)
        os.execv(own, [own, "-m", "tests.bench.peers", *sys.argv[1:]])
    warnings.simplefilter("ignore")
    table(options)


if __name__ == "__main__":
    main()
