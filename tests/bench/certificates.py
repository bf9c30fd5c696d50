"""What certificates cost: for every kind of model of these benches, writing beside the search, checking, and file size.

    python -m tests.bench.certificates [--rows 3] [--only forest ..] [--older FILE]

`--older FILE` is a checker of format 1, one file (`git show REVISION:proofs/check.py`): it is asked about the same
proofs in its own format, in the same run. Its format has no rule for prices, which are counted apart, and none for
tightened bounds of units: there it is given a proof of the same question that was found without. Seconds are CPU
seconds of one core, compiling excluded; sizes are those of files, gzipped, each with its own model. The search includes
what is made for a row before it begins. A certificate that is not accepted stops the run.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from unittest.mock import patch

import mace
from mace.certify import elaboration
from mace.certify.models import model_part, numbering
from mace.certify.nodes import node_text
from mace.certify.numbers import canonical
from mace.certify.writer import Certificate, certificate, zipped
from mace.compilers import read
from mace.compilers.sklearn.linear import read_linear
from mace.problem.distance import norm
from mace.problem.proof import Priced, Proof, Tighten
from mace.problem.question import Goal, Question
from mace.proofs.check import check as checked
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks import search as networks_search
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Gap, Limits
from mace.solve.warm import warm
from mace.space.space import Space
from mace.tables.table import Ensemble, Network, decision_for
from tests.bench import breast_cancer, ensembles, networks, real_data

Made = TypeVar("Made")
GAP = Gap(Fraction(1, 10**9))
LONG = 1.0  # seconds of the older checker
QUICK = 0.02  # seconds
TITLES = (
    "setting", "certificates", "search s", "write s", "written longer than searched", "check s", "kB",
    "older check s", "now / older", "kB now / older",
)  # fmt: skip


class Setting(NamedTuple):
    """A name, and what makes its questions when it is its turn."""

    name: str
    questions: Callable[[], list[Question]]


class Cost(NamedTuple):
    """One certificate: CPU seconds and bytes; `older` are None where there is no older checker, or no rule in it."""

    search: float
    write: float
    check: float
    size: int
    older_check: float | None
    older_size: int | None


def settings(rows: int) -> Iterator[Setting]:
    """Every setting, untrained."""
    for name in ensembles.models():
        yield Setting(f"15 or 30 features, {name}", lambda name=name: _asked(ensembles.problem(name, rows)))
    for name in breast_cancer.models():
        yield Setting(f"breast cancer, {name}", lambda name=name: _asked(breast_cancer.problem(name, rows)))
    for name in networks.MODELS:
        yield Setting(f"15 features, {name}", lambda name=name: _of_network(name, rows))
    for data in ("adult", "credit", "compas"):
        for kind in real_data.CLASSES:
            for spec in real_data.NORMS:
                yield Setting(
                    f"{data}, {kind}, {spec}",
                    lambda data=data, kind=kind, spec=spec: _of_people(data, kind, spec, rows),
                )


def _asked(task: ensembles.Problem) -> list[Question]:
    return [ensembles.question_of(task, row, "l1") for row in task.rows]


def _of_network(name: str, rows: int) -> list[Question]:
    space, frame, target = networks.mixed()
    model = networks.MODELS[name]().fit(space.encode(frame).to_numpy(), target)
    return networks.questions(space, frame, model, 1, "l1", rows)


def _of_people(data: str, kind: str, spec: str, rows: int) -> list[Question]:
    known = mace.datasets.load(data)
    space: Space = known.free_space
    matrix = space.encode(known.X.head(6000))
    model = real_data.train(kind, matrix, known.y.head(6000))
    table = read_linear(model) if kind == "logistic" else read(model)
    assert isinstance(table, Ensemble | Network)
    goal = Goal(str(known.goal), frozenset({known.goal}), decision_for(table, {known.goal}))
    rejected = known.X.head(6000)[model.predict(matrix) != known.goal].head(rows)
    return [
        Question(space, space.axes(row), table, goal, norm(spec, len(space.features))) for _, row in rejected.iterrows()
    ]


def measured(question: Question, seconds: float, older: Any) -> Cost | None:
    """Answer a question, write its certificate and check it; None if the search proved nothing."""
    search, (reply, _) = timed(lambda: _answer(question, seconds))
    if not isinstance(reply, Found) or reply.proof is None:
        return None
    proof = reply.proof
    # A list of its own each time: the writer keeps what it has found for one.
    write, made = timed(lambda: certificate(question, reply.lower, reply.point, [*proof]))
    text = canonical(made.data)
    check, verdict = timed(lambda: checked(json.loads(text)))
    assert verdict.accepted, verdict.reason
    cost = Cost(search, write, check, made.size, None, None)
    older_text = None if older is None else in_format_1(question, seconds, made, proof)
    if older_text is None:
        return cost
    took, said = timed(lambda: older.check(json.loads(older_text)))
    assert said.accepted, said.reason
    return cost._replace(older_check=took, older_size=len(zipped(older_text)))


def in_format_1(question: Question, seconds: float, made: Certificate, proof: Proof) -> bytes | None:
    """The certificate, or one of the same question, with rules that the older checker has; None if there is none."""
    if any(isinstance(node, Tighten) for node in proof):
        with patch.object(networks_search, "STALLED", sys.maxsize):
            reply, _ = _answer(question, seconds)
        if not isinstance(reply, Found) or reply.proof is None:
            return None
        proof = reply.proof
        made = certificate(question, reply.lower, reply.point, proof)
    if any(isinstance(node, Priced) for node in proof):
        return None
    kept = {name: value for name, value in made.data.items() if name != "cuts"}
    nodes = [node_text(node, question) for node in proof]
    return canonical({**kept, "mace_certificate": 1, "proof": nodes})


def _answer(question: Question, seconds: float) -> tuple[Any, Any]:
    """The reply, and the oracle, which is not to be freed while someone looks at the clock."""
    if isinstance(question.model, Network):
        oracle: Any = NetworkOracle(question)
        return oracle.ask(None, Limits.of(seconds), gap=GAP), oracle
    oracle = EnsembleOracle(question)
    return oracle.ask(None, Limits.of(seconds)), oracle


def timed(make: Callable[[], Made]) -> tuple[float, Made]:
    """CPU seconds, and what was made; without those of rubbish that others left. What is quick is made three times, and
    the least counts: once alone says more of what the machine did before.
    """
    least = math.inf
    for _ in range(3):
        gc.collect()
        before = time.process_time()
        made = make()
        least = min(least, time.process_time() - before)
        if least > QUICK:
            break
    return least, made


def older_checker(path: Path) -> Any:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location("older_check", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for it there
    spec.loader.exec_module(module)
    return module


def line(name: str, costs: list[Cost]) -> str:
    """A row of the table: sums; for writing also how many took longer than their search."""
    both = [c for c in costs if c.older_check is not None]
    slower = sum(c.write > c.search for c in costs)
    said = (
        f"| {name} | {len(costs)} | {sum(c.search for c in costs):.3f} | {sum(c.write for c in costs):.3f} | {slower} "
        f"| {sum(c.check for c in costs):.3f} | {sum(c.size for c in costs) / 1000:.0f} |"
    )
    if not both:
        return said + " - | - | - |"
    now, then = sum(c.check for c in both), sum(c.older_check or 0 for c in both)
    size = sum(c.size for c in both) / sum(c.older_size or 0 for c in both)
    return said + f" {then:.3f} | {now / then:.2f} | {size:.2f} |"


def main() -> None:
    """Print a line for each setting, one for all, and one for the certificates that took the older checker long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of settings")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each search")
    parser.add_argument("--older", type=Path, help="a checker of format 1")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    older = None if options.older is None else older_checker(options.older)
    print(f"| {' | '.join(TITLES)} |\n|{'---|' * len(TITLES)}", flush=True)
    every: list[Cost] = []
    for setting in settings(options.rows):
        if not any(part in setting.name for part in options.only):
            continue
        costs = []
        for question in _ready(setting.questions()):
            cost = measured(question, options.seconds, older)
            costs += [] if cost is None else [cost]
        every += costs
        print(line(setting.name, costs), flush=True)
    print(line("all", every))
    print(line(f"older checker over {LONG:g} s", [c for c in every if (c.older_check or 0) > LONG]))
    if every:
        ratio = statistics.median(c.write / c.search for c in every)
        print(f"\nwriting over search, median of {len(every)}: {ratio:.2f}")


def _ready(asked: list[Question]) -> list[Question]:
    """Compiles, and writes the model down, which is done once for all rows."""
    if asked and isinstance(asked[0].model, Ensemble | Network):
        warm(asked[0].model)
        model_part(asked[0].model)
        if isinstance(asked[0].model, Ensemble):
            numbering(asked[0].model)
        elaboration.warm(asked[0].model)
        _answer(asked[0], 0.01)
    return asked


if __name__ == "__main__":
    main()
