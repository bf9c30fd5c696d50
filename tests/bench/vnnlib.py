"""Properties in VNN-LIB about a network of ACAS Xu's shape: the share decided in CPU seconds, checked by sampling.

    python -m tests.bench.vnnlib [--limit 116] [--properties 40] [--epochs 12] [--keep FOLDER]
    python -m tests.bench.vnnlib --instances FOLDER/acasxu_instances.csv [--limit 116]

The second form asks a benchmark of VNN-COMP as it is published: lines of a network, a property and a time limit, beside
which the files lie; the limit of the list is replaced by `--limit`.

The task: two aircraft; from distance, bearing, heading and both speeds, what each of five turn rates costs: the nearer
they come within a minute, the more, and turning costs a little. Five inputs, six layers of 50, five outputs. Half of
the properties are meant to hold (their level lies beyond all that climbing from many points reaches), half not.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from sklearn.neural_network import MLPRegressor

from mace.base.deadline import Deadline
from mace.verify import verify_vnnlib
from mace.verify.vnnlib.read import parse_property

TURNS = np.deg2rad([0.0, 1.5, -1.5, 3.0, -3.0])  # a second
LOW = np.array([0.0, -np.pi, -np.pi, 100.0, 0.0])
HIGH = np.array([60_000.0, np.pi, np.pi, 1200.0, 1200.0])
STARTS, STEPS = 200, 300  # of the climb beyond which properties that are meant to hold lie


def costs(rows: np.ndarray) -> np.ndarray:
    """What each turn rate costs, shape (rows, 5), for inputs in user units."""
    distance, bearing, heading, own, other = rows.T
    where = np.stack([distance * np.cos(bearing), distance * np.sin(bearing)], axis=1)
    found = []
    for turn in TURNS:
        nearest = np.full(len(rows), np.inf)
        moved, angle, relative = np.zeros_like(where), np.zeros(len(rows)), where.copy()
        for _ in range(12):
            angle = angle + turn * 5
            moved = moved + 5 * own[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
            relative = relative + 5 * other[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
            nearest = np.minimum(nearest, np.linalg.norm(relative - moved, axis=1))
        found.append(np.exp(-nearest / 8000) + 2 * abs(turn))
    return np.stack(found, axis=1)


def trained(epochs: int, seed: int = 0) -> tuple[Any, MLPRegressor]:
    """A network of ACAS Xu's shape, as a ModelProto with Sub, Flatten, MatMul, Add and Relu, and as it was fitted."""
    rng = np.random.default_rng(seed)
    rows = rng.random((20_000, 5)) - 0.5
    model = MLPRegressor(
        hidden_layer_sizes=(50,) * 6, max_iter=epochs, random_state=seed, learning_rate_init=2e-3, batch_size=256
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, costs(LOW + (rows + 0.5) * (HIGH - LOW)))
    print(f"network: R^2 {model.score(rows, costs(LOW + (rows + 0.5) * (HIGH - LOW))):.3f} on its training rows")
    nodes = [helper.make_node("Sub", ["x", "mean"], ["s"]), helper.make_node("Flatten", ["s"], ["f"], axis=1)]
    constants, at = {"mean": np.zeros((1, 1, 1, 5))}, "f"
    for k, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_, strict=True)):
        constants |= {f"w{k}": weights, f"b{k}": bias}
        nodes += [
            helper.make_node("MatMul", [at, f"w{k}"], [f"m{k}"]),
            helper.make_node("Add", [f"m{k}", f"b{k}"], [f"a{k}"]),
        ]
        at = f"a{k}"
        if k < len(model.coefs_) - 1:
            nodes.append(helper.make_node("Relu", [at], [f"r{k}"]))
            at = f"r{k}"
    graph = helper.make_graph(
        nodes,
        "control",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 1, 5])],
        [helper.make_tensor_value_info(at, TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), model


class Asked(NamedTuple):
    """A property, whether it is meant to hold, and what samples say of it."""

    text: str
    holds: bool
    reached: bool


def formed(model: MLPRegressor, one: int, other: int | None, rows: np.ndarray) -> np.ndarray:
    """What a property speaks of, at each row: an output, or by how much it is above another one."""
    outputs = model.predict(rows)
    return outputs[:, one] if other is None else outputs[:, one] - outputs[:, other]


def climbed(
    form: Callable[[np.ndarray], np.ndarray], points: np.ndarray, low: list[float], high: list[float],
    rng: np.random.Generator,
) -> float:  # fmt: skip
    """The largest value that random steps, ever shorter, find from these points inside a box."""
    reached = form(points)
    for size in np.geomspace(0.5, 1e-3, STEPS):
        moves = rng.normal(size=points.shape) * size * (rng.random(points.shape) < 0.5) * np.subtract(high, low)
        moved = np.clip(points + moves, low, high)
        values = form(moved)
        better = values > reached
        points, reached = np.where(better[:, None], moved, points), np.maximum(reached, values)
    return float(reached.max())


def asked(model: MLPRegressor, count: int, seed: int = 1) -> list[Asked]:
    """Properties: one output beyond a level, one output the least by a margin, or one of two cases."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        holds = len(found) % 2 == 0
        width = rng.choice([0.1, 0.3, 0.6, 1.0], size=5)
        low = -0.5 + rng.random(5) * (1 - width)
        low, high = low.tolist(), (low + width).tolist()
        rows = low + rng.random((60_000, 5)) * width
        one, other = rng.choice(5, 2, replace=False)
        spoken_of = partial(formed, model, one, None if len(found) % 3 else other)
        form = spoken_of(rows)
        name = f"Y_{one}" if len(found) % 3 else f"(- Y_{one} Y_{other})"
        top, spread = float(form.max()), float(np.ptp(form))
        if holds:
            top = climbed(spoken_of, rows[np.argsort(-form)[:STARTS]], low, high, rng)
        level = top + 0.1 * spread if holds else top - 0.02 * spread
        wanted = f"(>= {name} {level!r})"
        if len(found) % 4 == 1:
            wanted = f"(or (and {wanted} (<= Y_{other} 100)) (and (>= Y_{one} 50) (<= Y_{other} -50)))"
        box = "".join(f"(assert (>= X_{k} {low[k]!r})) (assert (<= X_{k} {high[k]!r}))\n" for k in range(5))
        declared = "".join(f"(declare-const {v}_{k} Real)\n" for v in "XY" for k in range(5))
        text = f"{declared}{box}(assert {wanted})\n"
        found.append(Asked(text, holds, bool((form >= level + 1e-4 * spread).any())))
    return found


def lying(path: Path) -> Path:
    """The file, or the compressed one of its name: lists name what is in it."""
    packed = path.with_name(f"{path.name}.gz")
    return packed if packed.is_file() and not path.is_file() else path


def published(instances: Path, limit: float) -> None:
    """Print one line for each instance of a list, and how many were decided."""
    said, seconds = Counter[str](), list[float]()
    with instances.open(newline="", encoding="utf-8") as lines:
        for network, asked_of, *_ in csv.reader(lines):
            began = time.process_time()
            answer = verify_vnnlib(
                lying(instances.parent / network.strip()),
                lying(instances.parent / asked_of.strip()),
                timeout=Deadline.after(limit, time.process_time),
            )
            seconds.append(time.process_time() - began)
            said[answer.status] += 1
            print(f"{network} {asked_of} {answer.status:8s} {seconds[-1]:8.2f} s {answer.boxes:8d} boxes", flush=True)
    print(
        f"decided {said['sat'] + said['unsat']} of {len(seconds)} within {limit:g} CPU s each: {dict(said)}; "
        f"median {statistics.median(seconds):.2f}, worst {max(seconds):.2f}, together {sum(seconds):.0f}"
    )


def main() -> None:
    """Print one line a property, and the share decided."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=116.0, help="CPU seconds a property")
    parser.add_argument("--properties", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument(
        "--instances", type=Path, help="a list of networks and properties in files, as VNN-COMP has them"
    )
    given = parser.parse_args()
    if given.instances:
        published(given.instances, given.limit)
        return
    proto, model = trained(given.epochs)
    seconds, decided, wrong, held = [], 0, 0, 0
    for number, one in enumerate(asked(model, given.properties)):
        if given.keep:
            (given.keep / "control.onnx").write_bytes(proto.SerializeToString())
            (given.keep / f"control_{number}.vnnlib").write_text(one.text)
        began = time.process_time()
        answer = verify_vnnlib(proto, parse_property(one.text), timeout=Deadline.after(given.limit, time.process_time))
        seconds.append(time.process_time() - began)
        decided += answer.status in ("sat", "unsat")
        wrong += answer.status == "unsat" and one.reached
        held += answer.status == "unsat"
        root = max(answer.root, default=float("nan"))
        print(
            f"{number:3d} meant to {'hold' if one.holds else 'fail':4s} {answer.status:8s} {seconds[-1]:8.2f} s "
            f"{answer.boxes:8d} boxes, root bound {root:+.3f} from refuting it",
            flush=True,
        )
    print(
        f"decided {decided} of {given.properties} within {given.limit:g} CPU s each, {held} hold, {wrong} against "
        f"samples; median {statistics.median(seconds):.2f}, worst {max(seconds):.2f}"
    )


if __name__ == "__main__":
    main()
