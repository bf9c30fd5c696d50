"""Write a question for other tools: SMT-LIB 2, VNN-LIB beside ONNX, a program, or the statement of a certificate.

In:  a `Question`, a format, and a radius: "is there an allowed point with the goal at a distance <= radius?".
Out: the contents of the files, by their endings.
Promise: what is written admits every rounding of the deployed model: an "unsat" (VNN-LIB: a "holds", no counterexample)
refutes the question, a "sat" is a candidate. What a format cannot say is a MaceError, or stands in the file:
* "smt2":        everything. Grids, levels, rules, distances, exclusions.
* "vnnlib+onnx": networks and linear models, the box or an linf ball. Grids become intervals and one-hot columns
                 numbers between their least and largest: a wider question. No l0, l1, mixtures, rules, exclusions.
* "mace":        the model and the goal, as a program over the model's columns that says whether the goal is possible;
                 neither distance nor rules, which are programs of their own.
* "json":        the statement of a certificate (proofs/FORMAT.md) and the cuts of its tests, with the proof left empty.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from mace.base.escape import one_line
from mace.base.exact import above, as_written, below, exact
from mace.base.files import is_stream, write_whole
from mace.certify.elaboration import all_cuts
from mace.certify.statement import statement
from mace.certify.writer import FORMAT
from mace.errors import CertificateError, FileError, MaceError, ModelError, NumberError
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.proofs.convert import elaborated
from mace.solve.networks.model import column_bounds, columns_of
from mace.space.axes import GridAxis
from mace.tables.margins import compare_slack
from mace.tables.table import Compare, Formula, Layer, Network

if TYPE_CHECKING:
    from mace.solve.networks.model import Affine

Format: TypeAlias = Literal["smt2", "vnnlib+onnx", "mace", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)


def export(question: Question, to: str, radius: Fraction | None = None) -> dict[str, bytes]:
    """The files of a question, by ending: `{".smt2": ..}`; two for "vnnlib+onnx".

    radius: in the scaled unit of the distance; None for no limit.
    Raises MaceError for an unknown format, and for what a format cannot say.
    """
    if radius is not None and radius < 0:
        raise MaceError(f"the radius must be >= 0, got {radius}")
    match to:
        case "smt2":
            from mace.solve.smt.oracle import export as as_smtlib

            return {".smt2": (_heading(question, radius, ";") + as_smtlib(question, radius)).encode()}
        case "vnnlib+onnx":
            return _as_vnnlib(question, radius)
        case "mace":
            return {".mace": _as_program(question).encode()}
        case "json":
            return {".json": json.dumps(_as_statement(question, radius), indent=1).encode() + b"\n"}
        case _:
            raise MaceError(f"unknown format {to!r}", hint=f"Use one of {', '.join(FORMATS)}.")


def save(files: dict[str, bytes], path: str | Path) -> list[Path]:
    """Write the files of `export` beside each other; the ending of `path`, if it is one of theirs, is replaced.

    What is no file, such as /dev/stdout or a pipe, has no ending and is written to, once.
    """
    path = Path(path)
    if is_stream(path):
        if len(files) > 1:
            raise FileError(f"{path}: {len(files)} files are written, and this is one", hint="Give the name of a file.")
        return [write_whole(path, content) for content in files.values()]
    stem = path.with_suffix("") if path.suffix in files else path
    written = []
    for ending, content in files.items():
        target = stem.with_name(stem.name + ending)
        written.append(write_whole(target, content))
    return written


def export_question(question: Question, to: str, radius: str | None, out: Path | None) -> str:
    """What `mace export` prints: the file itself, or where the files were written."""
    try:
        number = None if radius is None else as_written(radius)
    except NumberError as error:
        raise MaceError(f"--radius: {error.message}", hint=error.hint) from None
    files = export(question, to, number)
    if out is not None:
        written = save(files, out)
        return "" if is_stream(out) else "".join(f"written to {path}\n" for path in written)
    if len(files) > 1:
        raise MaceError(f"{to} makes {len(files)} files", hint="Give --out NAME.")
    return next(iter(files.values())).decode()


def _heading(question: Question, radius: Fraction | None, mark: str) -> str:
    """What the file asks, as comments; texts of people on one line each."""
    where = "anywhere" if radius is None else f"at a distance <= {radius} ({question.distance.name})"
    lines = (
        f"model: {question.model.name}",
        f"goal: {question.goal.text}",
        f"asked: is there an allowed point with the goal {where}?",
    )
    return "".join(f"{mark} {one_line(' '.join(line.split()))}\n" for line in lines)


def _as_statement(question: Question, radius: Fraction | None) -> dict[str, object]:
    """A certificate that lacks its proof alone: the checker reads the rest, and refuses the empty proof."""
    said, cuts = statement(question, radius), all_cuts(question)
    about = {"model": question.model.name, "goal": question.goal.text, "columns": [c.name for c in question.columns]}
    return {
        "mace_certificate": FORMAT,
        "about": about,
        "statement": said,
        "witness": None,
        "cuts": elaborated(said, [])[0] if cuts is None else cuts,
        "proof": [],
    }


def _as_program(question: Question) -> str:
    """The model and its goal as a program over the model's columns."""
    from mace.compilers.programs.program import to_program
    from mace.language import show

    if isinstance(question.model, Formula):
        wanted = ", ".join(map(str, sorted(question.goal.results)))
        return f"{_heading(question, None, '#')}# wanted: {wanted}\n{show(question.model.program)}"
    magnitude, error = None, None
    if isinstance(question.model, Network):
        magnitude, error = column_bounds(question, _affine(question))
    names = [column.name for column in question.columns]
    program = to_program(question.model, names, question.goal.decision, "possible", magnitude, error)
    return _heading(question, None, "#") + show(program)


# ---------------------------------------------------------------------------------------------- VNN-LIB and ONNX


def _affine(question: Question) -> list[Affine | None]:
    if question.bent is not None:
        raise ModelError(f"{question.bent}, and this format holds nothing else")
    return columns_of(question)


def _as_vnnlib(question: Question, radius: Fraction | None) -> dict[str, bytes]:
    """The property over the columns and scores of the network, and the network."""
    network = question.model
    if not isinstance(network, Network):
        raise ModelError(
            f"VNN-LIB with ONNX is for networks and linear models, not for {network.name}",
            hint="Trees and programs: use smt2.",
        )
    _refuse_more_than_a_box(question, radius)
    forms = _affine(question)
    magnitude, error = column_bounds(question, forms)
    lines = [_heading(question, radius, ";").rstrip()]
    lines += ["; unsat refutes the question; a sat is a candidate: grids and levels are intervals here."]
    sides = [_column_side(question, k, form, radius) for k, form in enumerate(forms)]
    lines += [f"; X_{k}: {one_line(' '.join(column.name.split()))}" for k, column in enumerate(question.columns)]
    lines += [f"(declare-const X_{k} Real)" for k in range(len(sides))]
    parts, layers = [], list(network.layers)
    for part in question.goal.decision:
        tests = []
        for compare in part:
            slack = compare_slack(network, compare, magnitude, error).possible
            test, layers[-1] = _test(compare, slack, layers[-1])
            tests.append(test)
        parts.append(f"(and {' '.join(tests)})")
    lines += [f"(declare-const Y_{k} Real)" for k in range(len(layers[-1].bias))]
    for k, (low, high) in enumerate(sides):
        lines += [f"(assert (>= X_{k} {_decimal(below(low))}))", f"(assert (<= X_{k} {_decimal(above(high))}))"]
    lines.append(f"(assert (or {' '.join(parts)}))")
    return {".vnnlib": ("\n".join(lines) + "\n").encode(), ".onnx": _as_onnx(layers, network.columns)}


def _refuse_more_than_a_box(question: Question, radius: Fraction | None) -> None:
    """VNN-LIB bounds inputs one by one: whatever ties them together has no place in it."""
    norm = question.distance
    tied = {
        "rules": question.rules,
        "exclusions": question.avoid,
        "a limit on the number of changes": question.most_changes is not None,
        f"the distance {norm.name}": radius is not None
        and not (isinstance(norm, Norm) and not (norm.alpha or norm.beta)),
    }
    for what, there in tied.items():
        if there:
            raise CertificateError(
                f"VNN-LIB bounds inputs one by one and cannot express {what}",
                hint='Use smt2, distance="linf", or no radius.',
            )


def _column_side(
    question: Question, place: int, form: Affine | None, radius: Fraction | None
) -> tuple[Fraction, Fraction]:
    """The least and largest float64 that the model may be given in a column, within the linf ball."""
    column = question.columns[place]
    axis = question.axes[column.feature]
    norm = question.distance
    farthest = None
    if radius is not None and isinstance(norm, Norm) and norm.charges[column.feature].peak:
        farthest = radius / norm.charges[column.feature].peak
    if form is None or not isinstance(axis, GridAxis):
        levels = range(axis.lower, axis.upper + 1) if isinstance(axis, GridAxis) else axis.levels()
        values = [exact(column.at(axis, i)) for i in levels if farthest is None or axis.delta(i) <= farthest]
        return min(values), max(values)
    low, high = axis.value(axis.lower), axis.value(axis.upper)
    if farthest is not None:
        start = axis.value(axis.start)
        low, high = max(low, start - farthest * axis.scale), min(high, start + farthest * axis.scale)
    ends = sorted(form.factor * end + form.shift for end in (low, high))
    return ends[0] - form.error, ends[1] + form.error


def _test(compare: Compare, slack: Fraction, last: Layer) -> tuple[str, Layer]:
    """A comparison that admits the rounding, and the last layer, with one more score where two are compared.

    Tools read `Y_i >= Y_j` and `Y_i >= c`, but no sums: so the slack moves the bias of a copy of the second score.
    """
    if compare.plus is not None and compare.minus is not None:
        copy = len(last.bias)
        bias = below(exact(last.bias[compare.minus]) - slack)
        weights = np.hstack([last.weights, last.weights[:, [compare.minus]]])
        return f"(>= Y_{compare.plus} Y_{copy})", Layer(weights, np.append(last.bias, bias), last.activation)
    if compare.plus is not None:
        return f"(>= Y_{compare.plus} {_decimal(below(exact(compare.than) - slack))})", last
    return f"(<= Y_{compare.minus} {_decimal(above(slack - exact(compare.than)))})", last


def _decimal(number: float) -> str:
    """All digits, without an exponent."""
    digits = f"{Decimal(number):f}"
    return digits if "." in digits else digits + ".0"


def _as_onnx(layers: list[Layer], columns: int) -> bytes:
    """The layers in float64, as Gemm and Relu; input `X` of shape (1, columns), output `Y`."""
    try:
        from onnx import TensorProto, checker, helper, numpy_helper
    except ImportError as error:
        raise MaceError(
            f"writing ONNX needs the package {error.name}", hint="Install it: pip install 'mace-smt[onnx]'"
        ) from None
    nodes, constants, name = [], [], "X"
    for number, layer in enumerate(layers):
        out = "Y" if number == len(layers) - 1 else f"z{number}"
        constants += [
            numpy_helper.from_array(np.ascontiguousarray(layer.weights), f"weights{number}"),
            numpy_helper.from_array(np.ascontiguousarray(layer.bias), f"bias{number}"),
        ]
        nodes.append(helper.make_node("Gemm", [name, f"weights{number}", f"bias{number}"], [out]))
        name = out
        if layer.activation == "relu":
            name = f"a{number}"
            nodes.append(helper.make_node("Relu", [out], [name]))
    given = helper.make_tensor_value_info("X", TensorProto.DOUBLE, [1, columns])
    result = helper.make_tensor_value_info("Y", TensorProto.DOUBLE, [1, len(layers[-1].bias)])
    graph = helper.make_graph(nodes, "model", [given], [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    checker.check_model(model)
    return bytes(model.SerializeToString())
