"""How fast linear models and networks are taken to the proved optimum: CPU seconds, one core, compilation excluded.

Beside the search stand the seconds of writing and of checking the certificates, and their sizes; median and worst.

python -m tests.bench.networks                      15 mixed features, l1, 10 rejected rows a model
python -m tests.bench.networks --data FOLDER        Adult, Credit and COMPAS, l0, l1 and linf
python -m tests.bench.networks --breast-cancer      two layers of 20, 32, 64; 30 features, l1 and linf, with aims
python -m tests.bench.networks --standardised       the same models over standardised features: steeper, far harder
python -m tests.bench.networks --made --limit 20    made-up numbers, of which points are far: what a limit leaves proved
python -m tests.bench.networks --digits             scikit-learn's digits: 61 integers, the nearest of the next class
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from mace.base.deadline import Deadline
from mace.certify.writer import certificate
from mace.compilers.sklearn.linear import read_linear
from mace.compilers.sklearn.mlp import read_mlp
from mace.problem.distance import norm
from mace.problem.question import Goal, Question
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Gap, Limits
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import decision_for
from tests.clocks import Spent

SIZES = {20: (0.1, 0.5), 32: (0.2, 1), 64: (2, 10)}  # of two equal layers: seconds aimed at, median and worst
MODELS = {
    "logistic regression": lambda: LogisticRegression(max_iter=3000),
    "MLP 10-10": lambda: MLPClassifier((10, 10), max_iter=400, random_state=1),
    "MLP 1x50": lambda: MLPClassifier((50,), max_iter=400, random_state=1),
    "MLP 32-32": lambda: MLPClassifier((32, 32), max_iter=400, random_state=1),
}


def mixed(rows: int = 2000, seed: int = 0) -> tuple[Space, pd.DataFrame, np.ndarray]:
    """Six real, four integer, two binary, two categorical and one ordinal feature, and a rule of class 1 with noise."""
    rng = np.random.default_rng(seed)
    columns: dict[str, object] = {}
    features = []
    score = np.zeros(rows)
    for k in range(6):
        x = np.clip(rng.normal(size=rows), -4, 4)
        columns[f"real{k}"] = x
        features.append(Feature(f"real{k}", "real", -4, 4))
        score += rng.normal() * x + 0.5 * rng.normal() * np.maximum(x, rng.normal())
    for k in range(4):
        n = rng.integers(0, 11, size=rows)
        columns[f"int{k}"] = n
        features.append(Feature(f"int{k}", "integer", 0, 10))
        score += 0.3 * rng.normal() * n
    for k in range(2):
        b = rng.integers(0, 2, size=rows)
        columns[f"bin{k}"] = b
        features.append(Feature(f"bin{k}", "binary"))
        score += rng.normal() * b
    levels = ["a", "b", "c", "d"]
    for k in range(2):
        c = rng.integers(0, 4, size=rows)
        columns[f"cat{k}"] = np.array(levels)[c]
        features.append(Feature(f"cat{k}", "categorical", levels=levels))
        score += rng.normal(size=4)[c]
    o = rng.integers(0, 5, size=rows)
    columns["ord"] = o
    features.append(Feature("ord", "ordinal", levels=list(range(5))))
    score += 0.4 * rng.normal() * o
    y = (score + rng.normal(size=rows) * 0.3 > np.median(score)).astype(int)
    return Space(features), pd.DataFrame(columns), y


def scaled_cancer(*, standardised: bool = False) -> tuple[Space, pd.DataFrame, np.ndarray]:
    """scikit-learn's breast_cancer, each feature scaled to 0 .. 1, or to mean 0 and deviation 1; class 1 is benign."""
    from sklearn.datasets import load_breast_cancer

    frame, target = load_breast_cancer(return_X_y=True, as_frame=True)
    if standardised:
        frame = (frame - frame.mean()) / frame.std(ddof=0)
    else:
        frame = (frame - frame.min()) / (frame.max() - frame.min())
    ranges = zip(frame, frame.min(), frame.max(), strict=True)
    return Space([Feature(str(name), "real", low, high) for name, low, high in ranges]), frame, target.to_numpy()


def made_up() -> tuple[Space, pd.DataFrame, np.ndarray]:
    """Twenty numbers, standardised; half of them tell something of the class."""
    from sklearn.datasets import make_classification

    matrix, target = make_classification(2000, 20, n_informative=10, random_state=5)
    frame = pd.DataFrame((matrix - matrix.mean(axis=0)) / matrix.std(axis=0), columns=[f"x{k}" for k in range(20)])
    ranges = zip(frame, frame.min(), frame.max(), strict=True)
    return Space([Feature(str(name), "real", low, high) for name, low, high in ranges]), frame, target


def digits() -> tuple[Space, pd.DataFrame, np.ndarray]:
    """scikit-learn's digits, without the pixels that are always 0: integers from 0 to 16."""
    from sklearn.datasets import load_digits

    frame, target = load_digits(return_X_y=True, as_frame=True)
    frame = frame.loc[:, frame.max() > frame.min()].astype(int)
    return Space([Feature(str(name), "integer", 0, 16) for name in frame]), frame, target.to_numpy()


def of_next_class(space: Space, frame: pd.DataFrame, model: Any, spec: str, count: int) -> list[Question]:
    """Every 37th row as a question of the next class than the model's own; the last one's is the first."""
    some = frame.iloc[::37].head(count)
    return [
        questions(space, some.iloc[k : k + 1], model, (int(said) + 1) % 10, spec, 1)[0]
        for k, said in enumerate(model.predict(space.encode(some).to_numpy()))
    ]


def questions(space: Space, frame: pd.DataFrame, model: Any, goal: int, spec: str, count: int) -> list[Question]:
    """The first rejected rows as questions."""
    table = read_linear(model) if isinstance(model, LogisticRegression) else read_mlp(model)
    want = Goal(f"class {goal}", frozenset({goal}), decision_for(table, {goal}))
    rejected = frame[model.predict(space.encode(frame).to_numpy()) != goal].head(count)
    return [
        Question(space, space.axes(row), table, want, norm(spec, len(space.features))) for _, row in rejected.iterrows()
    ]


def measure(name: str, asked: list[Question], limit: float) -> None:
    """Print one line of the table."""
    times, lengths, states, shares, writing, checking, sizes = [], [], [], [], [0.0], [0.0], [0]
    NetworkOracle(asked[0]).ask(None, Limits.of(limit))  # compiles
    for row, question in enumerate(asked):
        oracle, before = NetworkOracle(question), time.process_time()
        reply = oracle.ask(None, Limits(Deadline.after(limit, Spent())), gap=Gap(Fraction(1, 10**9)))
        times.append(time.process_time() - before)
        closed, share = False, 0.0
        if isinstance(reply, Found):
            distance = question.distance_of(reply.point)
            closed = reply.proof is not None and distance - (reply.lower or 0) <= Fraction(1, 10**9)
            share = float((reply.lower or 0) / distance) if reply.proof is not None else 0.0
            assert question.has_goal(reply.point) and question.obeys(reply.point)
            lengths.append(len(reply.proof or []))
        if isinstance(reply, Found) and reply.proof is not None:
            before = time.process_time()
            made = certificate(question, reply.lower, reply.point, reply.proof)
            writing.append(time.process_time() - before)
            before = time.process_time()
            verdict = made.check()
            checking.append(time.process_time() - before)
            assert verdict.accepted, verdict.reason
            sizes.append(made.length)
        states.append(closed)
        shares.append(share)
        if not closed:
            print(f"    row {row}: {share:.3f} of the distance is proved in {times[-1]:.1f} s ({reply.why})")
    print(
        f"{name:42s} median {statistics.median(times):8.4f}  worst {max(times):8.4f}"
        f"  optimal {sum(states)}/{len(states)}, proved of the distance {statistics.fmean(shares):.2f} in the mean"
        f"  proof nodes {statistics.median(lengths or [0]):6.0f} .. {max(lengths or [0])}"
        f"  write {statistics.median(writing[1:] or writing):6.4f} .. {max(writing):7.4f}"
        f"  check {statistics.median(checking[1:] or checking):6.4f} .. {max(checking):7.4f}"
        f"  kB {statistics.median(sizes[1:] or sizes) / 1000:5.0f} .. {max(sizes) / 1000:.0f}",
        flush=True,
    )


def main() -> None:
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with the real data sets")
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds a question")
    parser.add_argument("--breast-cancer", action="store_true")
    parser.add_argument("--standardised", action="store_true")
    parser.add_argument("--made", action="store_true")
    parser.add_argument("--digits", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--norms", nargs="*", default=None)
    parser.add_argument("--sets", nargs="*", default=["adult", "credit", "compas"])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.breast_cancer or given.standardised:
        space, frame, y = scaled_cancer(standardised=given.standardised)
        for size in given.sizes:
            model = MLPClassifier((size, size), max_iter=1000, random_state=0).fit(frame.to_numpy(), y)
            for spec in given.norms or ["l1", "linf"]:
                name = f"MLP {size}-{size}, {spec} (aim {SIZES[size][0]} / {SIZES[size][1]})"
                measure(name, questions(space, frame, model, 1, spec, given.rows), given.limit)
        return
    if given.made:
        space, frame, y = made_up()
        for layers in ((100,), (50, 50)):
            model = MLPClassifier(layers, max_iter=200, random_state=1).fit(frame.to_numpy()[:1500], y[:1500])
            for spec in given.norms or ["l1", "linf"]:
                name = f"MLP {'-'.join(map(str, layers))}, {spec}"
                measure(name, questions(space, frame[1500:], model, 1, spec, given.rows), given.limit)
        return
    if given.digits:
        space, frame, y = digits()
        for name in ("logistic regression", "MLP 16-16"):
            model = {**MODELS, "MLP 16-16": lambda: MLPClassifier((16, 16), max_iter=400, random_state=1)}[name]()
            model.fit(frame.to_numpy(), y)
            for spec in given.norms or ["l0", "l1", "linf"]:
                measure(f"digits, {name}, {spec}", of_next_class(space, frame, model, spec, given.rows), given.limit)
        return
    if given.data is None:
        space, frame, y = mixed()
        matrix = space.encode(frame).to_numpy()
        for name in given.models:
            model = MODELS[name]().fit(matrix, y)
            for spec in given.norms or ["l1"]:
                measure(f"{name}, {spec}", questions(space, frame, model, 1, spec, given.rows), given.limit)
        return
    from mace.datasets import load

    for name in given.sets:
        data = load(name, given.data)
        space, frame = data.free_space, data.X.head(6000)
        matrix = space.encode(frame).to_numpy()
        for title in given.models:
            if title not in ("logistic regression", "MLP 10-10"):
                continue
            model = MODELS[title]().fit(matrix, data.y.head(6000).to_numpy())
            for spec in given.norms or ["l0", "l1", "linf"]:
                asked = questions(space, frame, model, data.goal, spec, given.rows)
                measure(f"{name}, {title}, {spec}", asked, given.limit)


if __name__ == "__main__":
    main()
