"""Tree ensembles to the proved optimum: CPU seconds of the prover, median and worst over rejected rows.

    python -m tests.bench.ensembles [--rows 10] [--models forest-100x6 ..] [--norm l1] [--check] [--verbose]

With `--check` also what certificates cost, beside the search: the seconds of writing and of checking them, median and
worst, and the size of their proofs, gzipped. A model is made ready for certificates once, before the first row.

15 mixed features (reals on the grid of doubles, integers, binaries, categories one-hot, ordinals), and 30 real ones.
Compiling and grounding (arrays of a new model and row) are told apart from the search, which includes the first upper
bound and the writing of the proof tree. A witness that does not flip `predict`, or a bound that is not the distance
when the search ended, stops the run.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import statistics
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from mace.base.deadline import NEVER
from mace.certify.elaboration import of_trees
from mace.certify.models import model_part, numbering
from mace.certify.writer import certificate
from mace.problem.distance import norm
from mace.problem.question import Goal, Question
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Found, Limits
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Tree, decision_for


@dataclass
class Problem:
    """A trained model, its space, and rows that it rejects."""

    model: Any
    table: Ensemble
    space: Space
    rows: list[Any]


def mixed(count: int = 8000, seed: int = 0) -> tuple[Space, pd.DataFrame, np.ndarray]:
    """15 features of every kind; about a third of the rows have the goal, with some noise."""
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {}
    for j in range(6):
        data[f"r{j}"] = rng.normal(size=count) if j % 2 else rng.lognormal(size=count)
    for j, size in enumerate((10, 50, 100)):
        data[f"i{j}"] = rng.integers(0, size, count)
    for j in range(2):
        data[f"b{j}"] = rng.integers(0, 2, count)
    for j, size in enumerate((4, 7)):
        data[f"c{j}"] = rng.integers(0, size, count)
    for j in range(2):
        data[f"o{j}"] = rng.integers(0, 5, count)
    d = data
    score = d["r1"] + 0.5 * np.minimum(d["r0"], 4) * (d["b0"] - 0.3) + 0.01 * d["i2"] * d["r3"]
    score = score + np.array([0.5, -0.5, 0.2, 0.0])[d["c0"]] + 0.3 * np.array([1, -1, 0, 2, 0, -2, 0])[d["c1"]]
    score = score + 0.2 * d["o0"] - 0.1 * d["o1"] * d["r5"] + 0.01 * d["i1"] - 0.5 * (d["r2"] > 2)
    target = score + rng.normal(size=count) * 0.4 > np.quantile(score, 0.65)
    for name in ("c0", "c1"):
        data[name] = np.array([f"level {k}" for k in data[name]])
    frame = pd.DataFrame(data)
    features = []
    for name, column in frame.items():
        kind = {"r": "real", "i": "integer", "b": "binary", "c": "categorical", "o": "ordinal"}[str(name)[0]]
        if kind in ("real", "integer"):
            features.append(Feature(str(name), kind, column.min().item(), column.max().item()))
        else:
            features.append(Feature(str(name), kind, levels=() if kind == "binary" else sorted(set(column.tolist()))))
    return Space(features), frame, target.astype(int)


def reals(count: int = 10000, seed: int = 0) -> tuple[Space, pd.DataFrame, np.ndarray]:
    """30 real features of scikit-learn's make_classification."""
    from sklearn.datasets import make_classification

    matrix, target = make_classification(count, 30, random_state=seed)
    frame = pd.DataFrame(matrix, columns=[f"x{j}" for j in range(30)])
    return Space([Feature(name, "real", float(c.min()), float(c.max())) for name, c in frame.items()]), frame, target


def models() -> dict[str, Any]:
    """The models of the table, untrained."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree-10": DecisionTreeClassifier(max_depth=10, random_state=0),
        "forest-10x6": RandomForestClassifier(10, max_depth=6, random_state=0),
        "forest-100x6": RandomForestClassifier(100, max_depth=6, random_state=0),
        "forest-100": RandomForestClassifier(100, random_state=0),
        "boosting-100x3": GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=0),
        "forest-100x8-of-30": RandomForestClassifier(100, max_depth=8, random_state=0),
    }


def table_of(model: Any, columns: int) -> Ensemble:
    """The table of a model; boosting is read here, so that this file needs no reader of it."""
    if type(model).__name__ != "GradientBoostingClassifier":
        from mace.compilers import read

        table = read(model)
        assert isinstance(table, Ensemble)
        return table
    trees = []
    for estimator in model.estimators_[:, 0]:
        tree = estimator.tree_
        leaf = tree.children_left < 0
        column, threshold = np.where(leaf, -1, tree.feature), np.where(leaf, 0.0, tree.threshold)
        left, right = tree.children_left.astype(np.int32), tree.children_right.astype(np.int32)
        trees.append(Tree(column.astype(np.int32), threshold, left, right, model.learning_rate * tree.value[:, 0, :]))
    prior = model.init_.class_prior_
    start = np.array([np.log(prior[1] / prior[0])])
    return Ensemble(tuple(trees), columns, start, "nonnegative", (0, 1))


def problem(name: str, rows: int) -> Problem:
    """Train a model and choose the first rows that it rejects."""
    space, frame, target = reals() if name.endswith("of-30") else mixed()
    matrix = space.encode(frame).to_numpy()
    train = len(frame) * 3 // 4
    model = models()[name].fit(matrix[:train], target[:train])
    rejected = (i for i in range(train, len(frame)) if model.predict(matrix[i : i + 1])[0] == 0)
    chosen = [frame.iloc[i] for i in itertools.islice(rejected, rows)]
    return Problem(model, table_of(model, matrix.shape[1]), space, chosen)


def question_of(problem: Problem, row: Any, spec: str | dict[str, str]) -> Question:
    goal = Goal("1", frozenset([1]), decision_for(problem.table, {1}))
    return Question(
        problem.space, problem.space.axes(row), problem.table, goal, norm(spec, len(problem.space.features))
    )


def main() -> None:
    """Print one line a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--models", nargs="*", default=list(models()), choices=list(models()))
    parser.add_argument("--norm", default="l1", choices=("l0", "l1", "linf"))
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each search")
    parser.add_argument("--check", action="store_true", help="also check the certificates")
    parser.add_argument("--verbose", action="store_true", help="also a line for each row")
    options = parser.parse_args()

    print(f"{'model':20} {'leaves':>7} {'JIT s':>6} {'ground s':>8} {'median s':>9} {'worst s':>8} {'open':>5}", end="")
    print(f" {'nodes':>12} {'write s':>14} {'check s':>11} {'proof kB':>11} {'MB':>5}")
    for name in options.models:
        run(name, options)


def run(name: str, options: argparse.Namespace) -> None:
    task = problem(name, options.rows)
    clock = time.process_time()
    EnsembleOracle(question_of(task, task.rows[0], options.norm)).ask(None, Limits.of(seconds=0.001))
    jit = time.process_time() - clock
    grounding, seconds, nodes, sizes, writing, checks, open_ = [], [], [], [], [], [], 0
    if options.check:
        model_part(task.table), numbering(task.table)
        of_trees(question_of(task, task.rows[0], options.norm), Fraction(0), [], NEVER)  # compiles
    for row in task.rows:
        question = question_of(task, row, options.norm)
        clock = time.process_time()
        oracle = EnsembleOracle(question)
        grounding.append(time.process_time() - clock)
        clock = time.process_time()
        reply = oracle.ask(None, Limits.of(seconds=options.seconds))
        seconds.append(time.process_time() - clock)
        nodes.append(oracle.statistics["nodes"])
        if not isinstance(reply, Found):
            raise SystemExit(f"{name}: {reply}")
        distance = question.distance_of(reply.point)
        if task.model.predict(question.row(reply.point)[None])[0] != 1:
            raise SystemExit(f"{name}: the witness does not flip predict")
        if not reply.why and reply.lower != distance:
            raise SystemExit(f"{name}: the bound is not the distance")
        open_ += bool(reply.why)
        if options.check:
            clock = time.process_time()
            made = certificate(question, reply.lower, reply.point, reply.proof or [])
            writing.append(time.process_time() - clock)
            clock = time.process_time()
            verdict = made.check()
            checks.append(time.process_time() - clock)
            sizes.append(made.proof_size / 1000)
            if not verdict.accepted:
                raise SystemExit(f"{name}: refused: {verdict.reason}")
        if options.verbose:
            lower = float(reply.lower if reply.lower is not None else Fraction(0))
            print(f"    {seconds[-1]:8.4f} s  distance {float(distance):.6f}  bound {lower:.6f}  {oracle.statistics}")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{name:20} {task.table.leaves:7} {jit:6.2f} {max(grounding):8.3f} {statistics.median(seconds):9.4f} "
        f"{max(seconds):8.4f} {open_:5} {statistics.median(nodes):5.0f}/{max(nodes):6}",
        end="",
    )
    if options.check:
        print(
            f" {statistics.median(writing):6.4f}/{max(writing):7.4f}"
            f" {statistics.median(checks):5.3f}/{max(checks):5.2f} {statistics.median(sizes):5.1f}/{max(sizes):5.0f}",
            end="",
        )
    else:
        print(f" {'-':>14} {'-':>11} {'-':>11}", end="")
    print(f" {memory:5.0f}", flush=True)


if __name__ == "__main__":
    main()
