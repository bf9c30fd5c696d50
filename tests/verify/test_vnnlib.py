"""Properties in VNN-LIB: what is read means what is written, what is answered is what sampling and runtimes say."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace.errors import FileError, MaceError, ModelError, ProgramError
from mace.verify import verify_vnnlib
from mace.verify.vnnlib.answer import written
from mace.verify.vnnlib.asking import by_box, rounded
from mace.verify.vnnlib.formula import Variable
from mace.verify.vnnlib.read import parse_property, read_property

DECLARED = "(declare-const X_0 Real)\n(declare-const X_1 Real)\n(declare-const Y_0 Real)\n(declare-const Y_1 Real)\n"
BOX = "(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 -1)) (assert (<= X_1 1))\n"

REFUSED = {
    "cut off": ("(assert (<= X_0 1)", "5:1: a `\\(` without its `\\)`"),
    "closed twice": ("(assert (<= X_0 1)))", "5:20: a `\\)` without its `\\(`"),
    "a text without end": ('(set-info :x "abc)', "5:14: '\"' has no end"),
    "too deep": ("(" * 300, "5:201: lists are nested more than 200 deep"),
    "unknown variable": ("(assert (<= Z_0 1))", "5:13: `Z_0` is neither a number nor a declared variable"),
    "not a number": ("(assert (<= X_0 nan))", "5:17: `nan` is neither"),
    "a long exponent": ("(assert (<= X_0 1e999999999))", "5:17: `1e999999999` is neither"),
    "a product": ("(assert (<= (* Y_0 Y_1) 1))", "5:13: a product of variables is not linear"),
    "division by 0": ("(assert (<= (/ Y_0 0) 1))", "5:20: division by a variable or by 0"),
    "no bound": ("(assert (<= X_0 1))", "5:9: X_0 has no lower bound in this case"),
    "negation": ("(assert (not (<= X_0 1)))", "5:9: `not` is not read here"),
    "three terms": ("(assert (<= X_0 X_1 1))", "5:9: `<=` compares two terms, and is given 3"),
    "two formulae": ("(assert (<= X_0 1) (<= X_0 1))", "5:1: `assert` is given one formula"),
    "another type": ("(declare-const X_2 Int)", "5:1: a declaration names a variable and its type, Real"),
    "another name": ("(declare-const Z Real)", "5:16: `Z` is neither an input"),
    "declared twice": ("(declare-const X_0 Real)", "5:16: `X_0` is declared twice"),
    "a gap": ("(declare-const X_7 Real)", "1:1: X_2 is not declared, and X_7 is"),
    "version 3": ("(vnnlib-version <3.0>)", "5:1: only version 2 of VNN-LIB says its version"),
    "two versions": ("(declare-network f (declare-input A real []) (declare-output B real []))", "5:1: .*two versions"),
    "another command": ("(push 1)", "5:1: `push` is not read"),
    "an atom": ("assert", "5:1: `assert` is not read"),
    "too many cases": ("(assert (or (<= Y_0 1) (<= Y_1 2)))" * 20, "5:9|multiplied out, this has 32,768 cases"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_is_not_read_is_an_error_with_its_place(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(ProgramError, match=message):
        parse_property(DECLARED + text, "p.vnnlib")


TENSORS = "(declare-network f (declare-input X float32 [1,2]) (declare-output Y float32 [2]))"
REFUSED_TENSORS = {
    "two networks": (TENSORS * 2, "1:83: a property about several networks is not read"),
    "a copy": (TENSORS.replace(" f ", " f (equal-to g) "), "1:20: a property about several networks"),
    "a hidden node": (TENSORS.replace(" f ", ' f (declare-hidden H real [1] "h") '), "1:20: .*hidden nodes"),
    "two inputs": (TENSORS.replace(" f ", " f (declare-input A real [1]) "), "1:1: the network has 2 inputs"),
    "no output": ("(declare-network f (declare-input X real [1]))", "1:1: the network has 0 outputs"),
    "no name": (TENSORS.replace(" f ", " "), "1:1: a network has a name"),
    "a kept value": (TENSORS.replace("[1,2]", "[1,2] initialized"), "1:20: an input that keeps the value of the file"),
    "another type": (TENSORS.replace("X float32", "X int8"), "1:37: numbers of type int8 are not read"),
    "no shape": (TENSORS.replace(" [1,2]", ""), "1:20: a tensor has a name, a type and a shape"),
    "an open size": (TENSORS.replace("[1,2]", "[n,2]"), "1:20: a tensor has a name, a type and a shape"),
    "nothing in it": (TENSORS.replace("[1,2]", "[0]"), r"1:45: a tensor of the shape \[0\] is not read"),
    "too large": (TENSORS.replace("[1,2]", "[999999999,9]"), "1:45: a tensor of the shape"),
    "one name twice": (TENSORS.replace("output Y", "output X"), "1:68: `X` is declared twice"),
    "another part": (TENSORS.replace(" f ", " f (input A) "), "1:20: `input` is no part of a network"),
    "too few places": (TENSORS + "(assert (<= X[0] 1))", r"1:95: an element of X, of the shape \[1,2\] has 2 places"),
    "no place": (TENSORS + "(assert (<= X 1))", "1:95: an element of X, of the shape"),
    "outside": (TENSORS + "(assert (<= X[0, 2] 1))", r"1:95: `X\[0, 2\]` is outside of X, of the shape \[1,2\]"),
    "unknown": (TENSORS + "(assert (<= Z[0] 1))", r"1:95: `Z\[0\]` is neither a number nor a declared variable"),
    "no bound": (TENSORS + "(assert (<= X[0,0] 1))", r"1:91: X\[0,0\] has no lower bound"),
    "a bracket without its end": (TENSORS + "(assert (<= X[0,0 1))", r"1:95: `X\[0,0` is neither"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(REFUSED_TENSORS))
def test_what_is_not_read_of_version_2_is_an_error_with_its_place(name: str) -> None:
    text, message = REFUSED_TENSORS[name]
    with pytest.raises(ProgramError, match=message):
        parse_property(text, "p.vnnlib")


@pytest.mark.parametrize("shape", ["[2]", "[1, 2]", "[1,1,2]", "[2,1]"])
def test_both_versions_mean_the_same(shape: str) -> None:
    """Random formulae, written with constants and with elements of tensors; `==` is `=`."""
    rng = np.random.default_rng(0)
    places = [",".join(str(k) if size.strip() == "2" else "0" for size in shape[1:-1].split(",")) for k in range(2)]
    for _ in range(100):
        text = BOX + "".join(f"(assert {_formula(rng, 3)})\n" for _ in range(rng.integers(1, 3)))
        tensors = text.replace("(= ", "(== ")
        for k, place in enumerate(places):
            tensors = tensors.replace(f"X_{k}", f"X[{place}]").replace(f"Y_{k}", f"out[{place}]")
        network = f"(declare-network f (declare-input X real {shape})\n (declare-output out Real {shape}))\n"
        one = parse_property(DECLARED + text)
        two = parse_property("(vnnlib-version <2.0>)\n" + network + tensors)
        assert (one.inputs, one.outputs) == (two.inputs, two.outputs) == (2, 2)
        for a, b in zip(one.cases, two.cases, strict=True):
            assert a.box == b.box
            assert [(x.coefficients, x.least, x.strict) for x in a.atoms] == [
                (x.coefficients, x.least, x.strict) for x in b.atoms
            ]


def test_a_tensor_of_no_dimensions_is_one_number() -> None:
    declared = "(declare-network f (declare-input X real []) (declare-output Y real [1]))"
    found = parse_property(declared + "(assert (<= X 1)) (assert (>= X 0)) (assert (!= Y[0] 2))")
    assert (found.inputs, found.outputs, len(found.cases)) == (1, 1, 2)
    assert [case.outputs[0].strict for case in found.cases] == [True, True]


def test_nothing_declared_is_an_error() -> None:
    with pytest.raises(ProgramError, match="no input is declared"):
        parse_property("; nothing\n")


def _formula(rng: np.random.Generator, depth: int) -> str:
    if depth == 0 or rng.random() < 0.3:
        sign = rng.choice(["<=", ">=", "<", ">", "="])
        number = rng.integers(-3, 4)
        left = rng.choice(["Y_0", "Y_1", "(- Y_0 Y_1)", "(+ (* 2 Y_0) (/ Y_1 3) -0.5)", "(- Y_0)", "X_0", "2"])
        right = "Y_1" if "Y" in left and rng.random() < 0.5 else str(number)
        return f"({sign} {left} {right})"
    parts = " ".join(_formula(rng, depth - 1) for _ in range(rng.integers(1, 4)))
    return f"({rng.choice(['and', 'or'])} {parts})"


def _meaning(text: str, values: dict[str, Fraction]) -> bool:
    """The truth of a formula, by a reading of its own."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()

    def read(place: int) -> tuple[Any, int]:
        if words[place] != "(":
            word = words[place]
            return (values[word] if word in values else Fraction(word)), place + 1
        head, place, parts = words[place + 1], place + 2, []
        while words[place] != ")":
            part, place = read(place)
            parts.append(part)
        one, other = parts[0], parts[1] if len(parts) > 1 else None
        match head:
            case "and":
                found = all(parts)
            case "or":
                found = any(parts)
            case "<=":
                found = one <= other
            case ">=":
                found = one >= other
            case "<":
                found = one < other
            case ">":
                found = one > other
            case "=":
                found = one == other
            case "+":
                found = sum(parts)
            case "-":
                found = -one if other is None else one - sum(parts[1:])
            case "*":
                found = one * other
            case _:
                found = one / other
        return found, place + 1

    return bool(read(0)[0])  # fmt: skip


def test_the_cases_mean_what_the_formula_says() -> None:
    rng = np.random.default_rng(0)
    for _ in range(150):
        texts = [_formula(rng, 3) for _ in range(rng.integers(1, 3))]
        found = parse_property(DECLARED + BOX + "".join(f"(assert {text})\n" for text in texts))
        for _ in range(20):
            x, y = (Fraction(int(rng.integers(-4, 5)), 2) for _ in range(2)), rng.integers(-4, 5, 2) / 2
            values = {Variable("X", k): value for k, value in enumerate(x)}
            values |= {Variable("Y", k): Fraction(value) for k, value in enumerate(y)}
            named = {f"{variable.letter}_{variable.number}": value for variable, value in values.items()}
            inside = all(abs(named[f"X_{k}"]) <= 1 for k in range(2))
            expected = inside and all(_meaning(text, named) for text in texts)
            assert expected == any(all(atom.holds(values) for atom in case.atoms) for case in found.cases)


def test_a_compressed_property_is_the_same(tmp_path: Path) -> None:
    text = (DECLARED + BOX + "(assert (<= Y_0 Y_1))").encode()
    packed = tmp_path / "p.vnnlib.gz"
    packed.write_bytes(gzip.compress(text))
    assert len(read_property(packed).cases) == 1
    packed.write_bytes(gzip.compress(text)[:-9])
    with pytest.raises(FileError, match="cannot be unpacked"):
        read_property(packed)
    packed.write_bytes(gzip.compress(b" " * (2**26 + 1)))
    with pytest.raises(FileError, match="larger than 64 MB when it is unpacked"):
        read_property(packed)


def test_an_exact_number_is_rounded_once() -> None:
    tie = Fraction(1) + Fraction(1, 2**24)  # between two float32: the even one
    assert rounded(tie, "float32") == 1.0
    assert rounded(tie + Fraction(1, 2**80), "float32") == 1 + 2.0**-23
    assert rounded(tie - Fraction(1, 2**80), "float32") == 1.0
    assert rounded(Fraction(1, 3), "float64") == 1 / 3
    assert rounded(Fraction(1, 3), "float32") == np.float32(1 / 3)
    assert written(Fraction(1, 10)) == "0.1"
    assert Fraction(written(Fraction("0.1234567890123456789"))) == Fraction("0.1234567890123456789")


# ------------------------------------------------------------------------------------------------- networks


def network(rng: np.random.Generator, sizes: list[int], *, images: bool = False, gemm: bool = False) -> Any:
    """A random ONNX network of dense layers with ReLUs; `images`: rows of shape (1, 1, n), as in ACAS Xu's files."""
    onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    nodes, constants, at = [], {}, "x"
    if images:
        constants["mean"] = rng.normal(size=(1, 1, 1, sizes[0])) / 10
        nodes += [helper.make_node("Sub", ["x", "mean"], ["s"]), helper.make_node("Flatten", ["s"], ["f"], axis=1)]
        at = "f"
    for k, (fan_in, units) in enumerate(itertools.pairwise(sizes)):
        constants[f"w{k}"], constants[f"b{k}"] = rng.normal(size=(fan_in, units)), rng.normal(size=units) / 2
        if gemm:
            nodes.append(helper.make_node("Gemm", [at, f"w{k}", f"b{k}"], [f"a{k}"]))
        else:
            nodes.append(helper.make_node("MatMul", [at, f"w{k}"], [f"m{k}"]))
            nodes.append(helper.make_node("Add", [f"m{k}", f"b{k}"], [f"a{k}"]))
        at = f"a{k}"
        if k < len(sizes) - 2:
            nodes.append(helper.make_node("Relu", [at], [f"r{k}"]))
            at = f"r{k}"
    shape = [1, 1, 1, sizes[0]] if images else [1, sizes[0]]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", numbers, shape)],
        [helper.make_tensor_value_info(at, numbers, [1, sizes[-1]])],
        [onnx.numpy_helper.from_array(value.astype(np.float32), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def outputs(model: Any, rows: np.ndarray) -> np.ndarray:
    """What onnxruntime makes of the model's own bytes."""
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    session = runtime.InferenceSession(model.SerializeToString())
    given = session.get_inputs()[0]
    shape = [1, *given.shape[1:]]
    return np.array(
        [session.run(None, {given.name: row.astype(np.float32).reshape(shape)})[0].ravel() for row in rows]
    ).astype(np.float64)


def box_of(low: np.ndarray, high: np.ndarray) -> str:
    return "".join(
        f"(assert (and (>= X_{k} {float(a)!r}) (<= X_{k} {float(b)!r})))\n"
        for k, (a, b) in enumerate(zip(low, high, strict=True))
    )


def property_of(low: np.ndarray, high: np.ndarray, wanted: str, sizes: list[int]) -> Any:
    declared = "".join(f"(declare-const X_{k} Real)\n" for k in range(sizes[0]))
    declared += "".join(f"(declare-const Y_{k} Real)\n" for k in range(sizes[-1]))
    return parse_property(declared + box_of(low, high) + f"(assert {wanted})")


@pytest.mark.parametrize("seed", range(12))
def test_an_answer_agrees_with_sampling(seed: int) -> None:
    """A level below what samples reach is sat; far above, unsat; in between the answer must not contradict them."""
    rng = np.random.default_rng(seed)
    sizes = [int(rng.integers(1, 4)), *rng.integers(2, 9, rng.integers(0, 4)).tolist(), int(rng.integers(2, 4))]
    form = second = np.zeros(1)
    while min(np.ptp(form), np.ptp(second)) < 0.01:  # a level that all points reach alike is nobody's question
        model = network(rng, sizes, images=bool(seed % 2), gemm=seed % 3 == 0)
        low = rng.normal(size=sizes[0])
        high = low + rng.random(sizes[0])
        rows = low + rng.random((1500, sizes[0])) * (high - low)
        found = outputs(model, rows)
        form, second = found[:, 0] - 2 * found[:, 1], found[:, 0]
    top, spread = float(form.max()), float(np.ptp(form))
    text = "(- Y_0 (* 2 Y_1))"
    middle = float(np.median(second) + 0.01 * np.ptp(second))  # not the value of a plateau
    for level, expected in [(top - 0.1 * spread, "sat"), (top + spread, "unsat"), (top + 0.01 * spread, None)]:
        answer = verify_vnnlib(model, property_of(low, high, f"(>= {text} {level!r})", sizes), timeout=None)
        assert answer.status == (expected or answer.status)
        assert answer.status in ("sat", "unsat")
    both = f"(or (and (>= {text} {top - 0.3 * spread!r}) (<= Y_0 {middle!r})) (>= Y_1 1e6))"
    answer = verify_vnnlib(model, property_of(low, high, both, sizes), timeout=None)
    if ((form >= top - 0.3 * spread) & (second <= middle)).any():
        assert answer.status == "sat"


def test_a_counterexample_is_confirmed_exactly() -> None:
    rng = np.random.default_rng(3)
    sizes = [3, 8, 8, 2]
    model = network(rng, sizes, images=True)
    low, high = np.full(3, -0.5), np.full(3, 0.5)
    asked = property_of(low, high, "(<= Y_0 Y_1)", sizes)
    answer = verify_vnnlib(model, asked)
    assert answer.status == "sat"
    said = outputs(model, np.array([[float(x) for x in answer.inputs]]))[0]
    assert [Fraction(y) for y in said] == list(answer.outputs)
    assert all(Fraction(-1, 2) <= x <= Fraction(1, 2) for x in answer.inputs)
    lines = str(answer).splitlines()
    assert lines[0] == "sat"
    assert lines[1].startswith("((X_0 ")
    assert lines[-1].startswith(" (Y_1 ")
    assert lines[-1].endswith("))")


def test_an_answer_about_tensors_is_printed_as_version_2_says() -> None:
    rng = np.random.default_rng(3)
    sizes = [3, 8, 8, 2]
    model = network(rng, sizes, images=True)
    declared = "(declare-network f (declare-input A float32 [1,1,1,3]) (declare-output B float32 [1,2]))\n"
    box = "".join(f"(assert (<= -0.5 A[0,0,0,{k}])) (assert (>= 0.5 A[0,0,0,{k}]))\n" for k in range(3))
    answer = verify_vnnlib(model, parse_property(f"{declared}{box}(assert (<= B[0,0] B[0,1]))"))
    lines = str(answer).splitlines()
    assert (lines[0], lines[1], lines[5]) == ("sat", "A float32 [1,1,1,3]", "B float32 [1,2]")
    assert [float(line) for line in (*lines[2:5], *lines[6:])] == [*answer.inputs, *answer.outputs]
    never = parse_property(f"{declared}{box}(assert (>= B[0,0] 1e6))")
    assert str(verify_vnnlib(model, never)) == "unsat"
    hard = parse_property(f"{declared}{box}(assert (>= B[0,0] 1.5))")
    assert str(verify_vnnlib(model, hard, timeout=1e-9)) == "timed-out"
    with pytest.raises(MaceError, match="declares A in float64, and the network computes in float32"):
        verify_vnnlib(model, parse_property(f"{declared.replace('32', '64')}{box}(assert (>= B[0,0] 1e6))"))


@pytest.mark.parametrize("seed", range(24))
def test_relations_of_inputs_and_outputs_agree_with_sampling(seed: int) -> None:
    """One inequality over the inputs, one over all: sat below what samples reach, unsat far above it."""
    rng = np.random.default_rng(seed)
    sizes = [3, 8, 8, 2]
    model = network(rng, sizes, images=bool(seed % 2))
    low = rng.normal(size=3)
    high = low + 2 * rng.random(3)
    rows = (low + rng.random((3000, 3)) * (high - low)).astype(np.float32).astype(np.float64)
    inside, all_of = rng.normal(size=3).round(2), rng.normal(size=5).round(2)
    values = np.hstack([rows, outputs(model, rows)])
    level = float(np.quantile(rows @ inside, rng.choice([0.3, 0.8, 0.98])))
    kept = (values @ all_of)[rows @ inside >= level]
    names = ["X_0", "X_1", "X_2", "Y_0", "Y_1"]
    one, other = (
        " ".join(f"(* {float(factor)!r} {name})" for factor, name in zip(form, names, strict=False))
        for form in (inside, all_of)
    )
    spread = float(np.ptp(values @ all_of))
    for wanted, expected in ((float(np.quantile(kept, 0.9)), "sat"), (float(kept.max()) + spread, "unsat")):
        text = f"(and (>= (+ {one}) {level!r}) (>= (+ {other}) {wanted!r}))"
        answer = verify_vnnlib(model, property_of(low, high, text, sizes))
        assert answer.status == expected
        if answer.status == "sat":
            found = np.array([float(value) for value in (*answer.inputs, *answer.outputs)])
            assert found[:3] @ inside >= level - 1e-9
            assert found @ all_of >= wanted - 1e-9


def test_a_relation_of_inputs_may_leave_one_line() -> None:
    """X_0 <= X_1 <= X_0: points of it are not found by climbing, but none is refuted wrongly, and none is proved."""
    model = network(np.random.default_rng(0), [2, 3, 2])
    text = "(assert (== X_0 X_1))(assert (>= Y_0 {0}))"
    line = outputs(model, np.repeat(np.linspace(-1, 1, 201), 2).reshape(-1, 2))[:, 0]
    above = verify_vnnlib(model, parse_property(DECLARED + BOX + text.format(float(line.max()) + 1)))
    assert above.status == "unsat"
    below = verify_vnnlib(model, parse_property(DECLARED + BOX + text.format(float(line.max()) - 1)), timeout=2)
    assert below.status != "unsat"
    huge = parse_property(DECLARED + BOX.replace("1)", "1e307)") + "(assert (<= X_0 X_1))")
    with pytest.raises(MaceError, match="numbers beyond 1"):
        verify_vnnlib(model, huge)


@pytest.mark.parametrize("factor", ["1e-400", "1e-320", "1e60", "1e400"])
@pytest.mark.parametrize("form", ["X_0 X_1", "Y_0 Y_1", "Y_0 X_1"])
def test_coefficients_may_be_beyond_doubles(factor: str, form: str) -> None:
    """They underflowed, or were infinite: what is far from possible was unknown, or an error."""
    model = network(np.random.default_rng(0), [2, 3, 2])
    left = " ".join(f"(* {factor} {name})" for name in form.split())
    for level, expected in (("-50", "sat"), ("50", "unsat")):
        text = f"{DECLARED}{BOX}(assert (>= (+ {left}) (* {factor} {level})))"
        assert verify_vnnlib(model, parse_property(text)).status == expected


def test_no_number_of_relations_takes_all_memory() -> None:
    model = network(np.random.default_rng(0), [2, 3, 2])
    relations = " ".join(f"(<= X_0 (* {k} X_1))" for k in range(1, 4200))
    with pytest.raises(MaceError, match="one case has 4,199 inequalities over inputs; bounded are 4,096"):
        verify_vnnlib(model, parse_property(f"{DECLARED}{BOX}(assert (and {relations}))"))


def test_an_operation_that_onnxruntime_does_not_know_in_this_precision_is_no_fault() -> None:
    """LeakyRelu in float64: what the runtime raised ended the question."""
    onnx = pytest.importorskip("onnx")
    make, double = onnx.helper, onnx.TensorProto.DOUBLE
    weights = make.make_tensor("w", double, (2, 2), [1.0, 2.0, 3.0, 4.0])
    graph = make.make_graph(
        [make.make_node("MatMul", ["x", "w"], ["a"]), make.make_node("LeakyRelu", ["a"], ["y"], alpha=0.5)], "g",
        [make.make_tensor_value_info("x", double, (1, 2))], [make.make_tensor_value_info("y", double, (1, 2))],
        [weights],
    )  # fmt: skip
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    found = verify_vnnlib(model, parse_property(DECLARED + BOX + "(assert (<= Y_0 -1.9))"))
    assert found.status == "sat"
    assert "the outputs are mace's own evaluation" in found.why
    assert found.outputs[0] == (found.inputs[0] + 3 * found.inputs[1]) / 2
    assert verify_vnnlib(model, parse_property(DECLARED + BOX + "(assert (<= Y_0 -2.1))")).status == "unsat"


def test_a_network_may_take_a_fixed_number_of_rows_at_once() -> None:
    sizes = [3, 8, 2]
    model = network(np.random.default_rng(3), sizes, gemm=True)
    asked = property_of(np.full(3, -0.5), np.full(3, 0.5), "(<= Y_0 Y_1)", sizes)
    alone = verify_vnnlib(model, asked)
    for shaped in (model.graph.input[0], model.graph.output[0]):
        shaped.type.tensor_type.shape.dim[0].dim_value = 5
    together = verify_vnnlib(model, asked)
    assert (alone.status, together.status) == ("sat", "sat")
    assert together.outputs == alone.outputs


def test_a_box_of_one_point_that_no_float_is() -> None:
    """1/10 is no float32: the runtime is given the nearest one, and what is printed is 0.1."""
    rng = np.random.default_rng(5)
    model = network(rng, [1, 4, 2])
    y = outputs(model, np.array([[0.1]]))[0]
    declared = "".join(f"(declare-const {name} Real)" for name in ("X_0", "Y_0", "Y_1"))
    box = "(assert (= X_0 0.1))"
    sat = verify_vnnlib(model, parse_property(f"{declared}{box}(assert (<= Y_0 {y[0] + 1e-3}))"))
    assert str(sat).splitlines()[1] == "((X_0 0.1)"
    unsat = verify_vnnlib(model, parse_property(f"{declared}{box}(assert (<= Y_0 {y[0] - 1e-3}))"))
    assert unsat.status == "unsat"
    near = parse_property(f"{declared}{box}(assert (< Y_0 {float(y[0])!r}))")
    assert verify_vnnlib(model, near).status == "unknown"  # another order of summation may reach it


@pytest.mark.parametrize("seed", [7, 10])
def test_a_point_is_found_where_rounding_alone_keeps_boxes_from_being_refuted(seed: int) -> None:
    """Two outputs within 1e-4 of 0: about what rounding may do to them. Points elsewhere are searched for still."""
    rng = np.random.default_rng(seed)
    sizes = [5, 24, 24, 24, 3]
    model = network(rng, sizes)
    top = float(np.quantile(outputs(model, rng.uniform(-1, 1, (3000, 5)))[:, 0], 0.98))
    close = "(and (<= {0} 0.0001) (>= {0} -0.0001))"
    wanted = f"(and (>= Y_0 {top!r}) {close.format('(- Y_1 Y_2)')} {close.format('(+ Y_1 Y_2)')})"
    assert verify_vnnlib(model, property_of(np.full(5, -1.0), np.full(5, 1.0), wanted, sizes)).status == "sat"


def test_cases_that_no_input_obeys_are_unsat() -> None:
    model = network(np.random.default_rng(0), [2, 3, 2])
    strict = "(assert (<= X_0 0))(assert (> X_0 0))"
    for text in ("(assert (>= 1 2))", "(assert (<= X_0 -2))", "(assert (or))", strict):
        assert verify_vnnlib(model, parse_property(DECLARED + BOX + text)).status == "unsat"
    assert verify_vnnlib(model, parse_property(DECLARED + BOX)).status == "sat"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(> Y_0 1)", "(< Y_0 1)"), ("(>= Y_0 1)", "(< Y_0 1)"), ("(> Y_0 1)", "(<= Y_0 1)"),
        ("(> Y_0 Y_1)", "(> Y_1 Y_0)"), ("(> (- (* 2 Y_0) Y_1) 4)", "(< (- (* 3 Y_0) (/ (* 3 Y_1) 2)) 6)"),
        ("(= Y_0 1)", "(= Y_0 1.5)"),
    ],
)  # fmt: skip
def test_inequalities_of_outputs_that_contradict_each_other_are_unsat_whatever_the_network(
    one: str, other: str
) -> None:
    model = network(np.random.default_rng(0), [2, 3, 2])
    text = f"{DECLARED}{BOX}(assert {one})(assert {other})"
    assert not parse_property(text).cases
    assert verify_vnnlib(model, parse_property(text)).status == "unsat"
    assert parse_property(text.replace("< ", "<= ").replace("> ", ">= ").replace("1.5", "1")).cases


def test_what_a_relu_gives_is_never_negative() -> None:
    model = network(np.random.default_rng(0), [2, 3, 2])
    said = {"(< Y_0 0)": "unsat", "(< (+ Y_0 (* 2 Y_1)) 0)": "unsat", "(<= Y_0 -0.001)": "unsat", "(<= Y_0 0)": "sat"}
    for ends_in_relu in (False, True):
        if ends_in_relu:
            last = model.graph.output[0].name
            onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
            model.graph.node.append(onnx.helper.make_node("Relu", [last], ["last"]))
            model.graph.output[0].name = "last"
        for text, status in said.items():
            answer = verify_vnnlib(model, parse_property(f"{DECLARED}{BOX}(assert {text})"))
            assert answer.status == (status if ends_in_relu else "sat"), text


def test_a_time_limit_is_an_answer() -> None:
    rng = np.random.default_rng(1)
    sizes = [5, 30, 30, 30, 2]
    model = network(rng, sizes)
    asked = property_of(np.full(5, -1.0), np.full(5, 1.0), "(>= Y_0 2000)", sizes)
    assert verify_vnnlib(model, asked, timeout=1e-9).status == "timeout"


def test_a_wide_network_does_not_overrun_a_time_limit() -> None:
    """Trying points, and bounding the units of one box, may each take minutes."""
    rng = np.random.default_rng(1)
    sizes = [200, 800, 800, 800, 10]
    model = network(rng, sizes)
    asked = property_of(np.full(200, -1.0), np.full(200, 1.0), "(>= Y_0 1e6)", sizes)
    verify_vnnlib(model, asked, timeout=0.01)  # onnxruntime is imported now
    began = time.process_time()
    assert verify_vnnlib(model, asked, timeout=0.2).status in ("timeout", "sat")  # a fast machine comes upon a point
    assert time.process_time() - began < 3


def test_thousands_of_cases_fit_into_memory() -> None:
    model = network(np.random.default_rng(0), [2, 3, 2])
    cases = " ".join(f"(and (>= Y_0 {k}) (<= Y_1 -{k}))" for k in range(10**6, 10**6 + 3000))
    asked = parse_property(f"{DECLARED}{BOX}(assert (or {cases}))")
    assert [len(some) for _, some in by_box(asked.cases)] == [362] * 8 + [104]
    some = replace(asked, cases=asked.cases[:400])
    assert verify_vnnlib(model, some, timeout=None).status == "unsat"


def test_what_does_not_fit_is_an_error() -> None:
    model = network(np.random.default_rng(0), [3, 3, 2])
    with pytest.raises(MaceError, match="2 inputs and 2 outputs, the network 3 and 2"):
        verify_vnnlib(model, parse_property(DECLARED + BOX))
    onnx = pytest.importorskip("onnx")
    last = model.graph.output[0].name
    model.graph.node.append(onnx.helper.make_node("Softmax", [last], ["p"]))
    model.graph.output[0].name = "p"
    with pytest.raises(ModelError, match="whose output is something else"):
        verify_vnnlib(model, parse_property(DECLARED + BOX))


def test_the_command_line_answers_as_the_tools_of_the_competition(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from mace.cli import app

    model, file = tmp_path / "n.onnx", tmp_path / "p.vnnlib"
    model.write_bytes(network(np.random.default_rng(0), [2, 3, 2], images=True).SerializeToString())
    file.write_text(DECLARED + BOX + "(assert (>= Y_0 1000))")
    done = CliRunner().invoke(app, ["verify", str(model), str(file)])
    assert (done.stdout, done.exit_code) == ("unsat\n", 0)
    file.write_text(DECLARED + BOX + "(assert (<= Y_0 1000))")
    done = CliRunner().invoke(app, ["verify", str(model), str(file)])
    assert done.stdout.startswith("sat\n((X_0 ")
    assert done.exit_code == 10
    done = CliRunner().invoke(app, ["verify", str(model), str(file), "--format", "json"])
    assert json.loads(done.stdout)["status"] == "sat"
