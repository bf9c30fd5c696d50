"""Properties in VNN-LIB about random small networks, each settled a second time by z3, and by onnxruntime on samples.

What is compared: "unsat" against z3's exact arithmetic and against what onnxruntime gives at sampled points; "sat"
against onnxruntime on the model's own bytes, at the very inputs. A text is written in either version of the language
from formulae that are read here by themselves. What is neither of the two is counted; z3 says which one it was.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mace.base.deadline import Deadline
from mace.solve.splitting import chain as chains
from mace.solve.splitting import search as splitting
from mace.solve.splitting.chain import chain_of
from mace.verify.vnnlib.answer import VnnlibAnswer
from mace.verify.vnnlib.asking import Asking, by_box
from mace.verify.vnnlib.network import read_network
from mace.verify.vnnlib.read import parse_property
from mace.verify.vnnlib.run import answer_of
from tests.fuzz.questions import WrongAnswerError
from tests.fuzz.spaces import Draw

# How a row is given, which weights there are, or what is split.
NETWORKS = ("matrix", "image", "vector", "sparse", "phases")
MANY, FEW, LEAST = splitting.MANY, chains.FEW, chains.LEAST_SPARSE
SAMPLES = 400
SECONDS, BOUNDING = 20.0, 0.2  # for an answer; for bounds where there is a point
Formula = tuple[Any, ...]  # ("and", ..), ("or", ..), or (sign, ((factor, name), ..), level)


@dataclass(frozen=True, eq=False)
class Small:
    """A network of dense layers with ReLUs, float32; `shape` of a row as the file has it."""

    weights: list[np.ndarray]
    biases: list[np.ndarray]
    shape: tuple[int, ...]
    file: bytes


def property_questions(draw: Draw, name: str) -> Counter[str]:
    """One property of one network; how it ended."""
    splitting.MANY = 0 if name == "phases" else MANY
    chains.FEW, chains.LEAST_SPARSE = (0, 0) if name == "sparse" else (FEW, LEAST)
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    model = network(rng, name)
    columns, outputs = model.weights[0].shape[0], len(model.biases[-1])
    low = rng.normal(size=columns).round(rng.integers(0, 4))
    high = low + rng.random(columns).round(2) * (rng.random(columns) < 0.9)
    rows = np.clip(low + rng.random((SAMPLES, columns)) * (high - low), low, high)
    session = runtime(model.file)
    values = np.hstack([rows, np.array([session(row.astype(np.float32)) for row in rows]).reshape(SAMPLES, outputs)])
    asked = formula(rng, columns, outputs, values, int(rng.integers(0, 3)))
    text = written(rng, model, low, high, asked)
    answer = answer_of(proto(model.file), parse_property(text), SECONDS)
    _judge(model, asked, (low, high), values, answer, session, text)
    if answer.status in ("sat", "unsat"):
        return Counter([answer.status])
    return Counter([f"unknown: {answer.status}, {solved(model, asked, low, high)} for z3"])


def _judge(
    model: Small, asked: Formula, box: tuple[np.ndarray, np.ndarray], values: np.ndarray, answer: VnnlibAnswer,
    session: Callable[[np.ndarray], np.ndarray], text: str,
) -> None:  # fmt: skip
    """Raise unless what was said is so."""
    wrong = ""
    low, high = box
    if answer.status == "sat":
        given = session(np.array([float(value) for value in answer.inputs], dtype=np.float32))
        point = [*answer.inputs, *(Fraction(float(value)) for value in given)]
        if not all(spelt(a) <= x <= spelt(b) for a, x, b in zip(low, answer.inputs, high, strict=True)):
            wrong = "the inputs are outside of the box"
        elif [*answer.outputs] != point[len(low) :]:
            wrong = f"onnxruntime gives {given}"
        elif not holds(asked, point):
            wrong = "the formula does not hold there"
        elif refuted(model, text):
            wrong = "the search refutes it where it may not ask about points"
    elif answer.status == "unsat":
        for row in values:
            # Doubles may lie beyond a decimal end by their last bit.
            inputs = [
                min(max(Fraction(x), spelt(a)), spelt(b)) for a, x, b in zip(low, row.tolist(), high, strict=False)
            ]
            if holds(asked, [*inputs, *map(Fraction, row[len(low) :].tolist())]):
                wrong = f"onnxruntime reaches it at {row}"
                break
        wrong = wrong or ("z3 says it is sat" if solved(model, asked, low, high) == "sat" else "")
    if wrong:
        plain = json.dumps(
            {"weights": [one.tolist() for one in model.weights], "bias": [one.tolist() for one in model.biases]}
        )
        raise WrongAnswerError(f"{answer.status} ({answer.why}), but {wrong}\n{text}\n{plain}")


def refuted(model: Small, text: str) -> bool:
    """Whether bounds alone refute a property, in a search to which no point is ever confirmed.

    Where a property is sat, points are found before most boxes are bounded: bounds that are wrong would not show.
    """
    table, run, _ = read_network(proto(model.file))
    for box, cases in by_box(parse_property(text).cases):
        asking = Asking(table, chain_of(table), box, cases, run)
        asking.confirm = lambda _: False  # type: ignore[method-assign]
        if asking.search(Deadline.after(BOUNDING)).status != "none":
            return False
    return True


# ------------------------------------------------------------------------------------------------- drawing


def network(rng: np.random.Generator, name: str) -> Small:
    """A random network, a third of them with weights of few digits, so that levels are met exactly."""
    import onnx
    from onnx import helper, numpy_helper

    sizes = [int(rng.integers(1, 4)), *rng.integers(1, 7, rng.integers(0, 3)).tolist(), int(rng.integers(1, 4))]
    digits = int(rng.choice([0, 1, 7]))
    weights, biases = [], []
    for fan_in, units in itertools.pairwise(sizes):
        one = rng.normal(size=(fan_in, units)).round(digits) * (10.0 ** int(rng.integers(-1, 2)))
        if name == "sparse":
            one *= rng.random(one.shape) < 0.4
        weights.append(one.astype(np.float32))
        biases.append(rng.normal(size=units).round(digits).astype(np.float32))
    nodes, constants, at = [], [], "x"
    if name == "image":
        nodes, at = [helper.make_node("Flatten", ["x"], ["f"])], "f"
    for place, (one, bias) in enumerate(zip(weights, biases, strict=True)):
        turned = name == "vector" and place % 2
        constants.append(numpy_helper.from_array(np.ascontiguousarray(one.T if turned else one), f"w{place}"))
        constants.append(numpy_helper.from_array(bias, f"b{place}"))
        nodes.append(helper.make_node("MatMul", [f"w{place}", at] if turned else [at, f"w{place}"], [f"m{place}"]))
        nodes.append(helper.make_node("Add", [f"m{place}", f"b{place}"], [f"a{place}"]))
        at = f"a{place}"
        if place < len(weights) - 1:
            nodes.append(helper.make_node("Relu", [at], [f"r{place}"]))
            at = f"r{place}"
    shape = {"image": (1, 1, 1, sizes[0]), "vector": (sizes[0],)}.get(name, (1, sizes[0]))
    numbers = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", numbers, shape)],
        [helper.make_tensor_value_info(at, numbers, None)], constants,
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return Small(weights, biases, shape, model.SerializeToString())


def proto(file: bytes) -> Any:
    """The file as the package of ONNX reads it."""
    import onnx

    return onnx.ModelProto.FromString(file)


def runtime(file: bytes) -> Callable[[np.ndarray], np.ndarray]:
    """The outputs that onnxruntime gives for one row, of the file's own bytes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]

    def outputs(row: np.ndarray) -> np.ndarray:
        return np.asarray(session.run(None, {given.name: row.reshape(given.shape)})[0], dtype=np.float64).ravel()

    return outputs


def formula(rng: np.random.Generator, columns: int, outputs: int, values: np.ndarray, depth: int) -> Formula:
    """A random formula; levels are those that samples reach, exactly or nearly, or lie a little beyond."""
    if depth:
        parts = [formula(rng, columns, outputs, values, depth - 1) for _ in range(rng.integers(1, 4))]
        return (str(rng.choice(["and", "or"])), *parts)
    wide = rng.random() < 0.3  # over inputs too
    among = np.arange(0 if wide else columns, columns + outputs)
    some = rng.choice(among, min(len(among), int(rng.integers(1, 3))), replace=False)
    terms = tuple((float(rng.choice([1.0, -1.0, 2.0, -0.5, 0.1])), int(place)) for place in some)
    reached = values[:, [place for _, place in terms]] @ [factor for factor, _ in terms]
    level = float(np.quantile(reached, rng.random())) if rng.random() < 0.6 else float(reached.max())
    level += float(rng.choice([0.0, 0.0, 1e-6, 0.01, 0.3])) * float(np.ptp(reached) + 0.01)
    return (
        str(rng.choice(["<=", ">=", ">=", ">", "<", "==", "!="], p=[0.2, 0.2, 0.3, 0.1, 0.1, 0.05, 0.05])),
        terms,
        level,
    )


def written(rng: np.random.Generator, model: Small, low: np.ndarray, high: np.ndarray, asked: Formula) -> str:
    """The property in one of the two versions of the language."""
    columns, outputs = model.weights[0].shape[0], len(model.biases[-1])
    if rng.random() < 0.5:
        names = [*(f"X_{k}" for k in range(columns)), *(f"Y_{k}" for k in range(outputs))]
        head = "".join(f"(declare-const {name} Real)\n" for name in names)
        equal = "="
    else:
        before = "0, " * (len(model.shape) - 1)
        names = [*(f"in[{before}{k}]" for k in range(columns)), *(f"out[{k}]" for k in range(outputs))]
        sizes = ",".join(map(str, model.shape))
        kind = str(rng.choice(["float32", "real"]))
        head = "(vnnlib-version <2.0>)\n(declare-network f\n"
        head += f"  (declare-input in {kind} [{sizes}])\n  (declare-output out {kind} [{outputs}]))\n"
        equal = "=="
    box = "".join(
        f"(assert (and (>= {name} {float(a)!r}) (<= {name} {float(b)!r})))\n"
        for name, a, b in zip(names, low, high, strict=False)
    )
    return f"{head}{box}(assert {_text(asked, names, equal)})\n"


def _text(asked: Formula, names: list[str], equal: str) -> str:
    if asked[0] in ("and", "or"):
        return f"({asked[0]} {' '.join(_text(one, names, equal) for one in asked[1:])})"
    sign, terms, level = asked
    parts = [f"(* {factor!r} {names[place]})" for factor, place in terms]
    left = parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"
    return f"({equal if sign == '==' else sign} {left} {level!r})"


# ------------------------------------------------------------------------------------------------- meanings


def holds(asked: Formula, point: list[Any]) -> bool:
    """Whether a formula holds of inputs and outputs, exactly."""
    if asked[0] in ("and", "or"):
        parts = [holds(one, point) for one in asked[1:]]
        return all(parts) if asked[0] == "and" else any(parts)
    sign, terms, level = asked
    total = sum((spelt(factor) * point[place] for factor, place in terms), Fraction(0))
    return bool(_SIGNS[sign](total, spelt(level)))


def spelt(value: float) -> Fraction:
    """The number that the text of a property has for a float."""
    return Fraction(repr(float(value)))


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b,
}  # fmt: skip


def solved(model: Small, asked: Formula, low: np.ndarray, high: np.ndarray) -> str:
    """What z3 says in exact arithmetic: sat, unsat, or unknown."""
    import z3

    def number(value: Fraction) -> Any:
        return z3.Q(value.numerator, value.denominator)

    def said(one: Formula) -> Any:
        if one[0] in ("and", "or"):
            return (z3.And if one[0] == "and" else z3.Or)(*map(said, one[1:]))
        sign, terms, level = one
        return _SIGNS[sign](
            z3.Sum([number(spelt(factor)) * point[place] for factor, place in terms]), number(spelt(level))
        )

    inputs = [z3.Real(f"x{k}") for k in range(len(low))]
    solver = z3.Solver()
    solver.set("timeout", 20_000)
    for x, a, b in zip(inputs, low, high, strict=True):
        solver.add(x >= number(spelt(a)), x <= number(spelt(b)))
    values: list[Any] = list(inputs)
    for place, (weights, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        sums = [
            z3.Sum(
                [number(Fraction(float(w))) * v for w, v in zip(column, values, strict=True)]
                + [number(Fraction(float(b)))]
            )
            for column, b in zip(weights.T, bias, strict=True)
        ]
        values = sums if place == len(model.weights) - 1 else [z3.If(one > 0, one, number(Fraction(0))) for one in sums]
    point = [*inputs, *values]
    solver.add(said(asked))
    return str(solver.check())
