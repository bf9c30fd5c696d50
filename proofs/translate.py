"""Write a certificate of a tree ensemble as a Coq file whose compilation proves the certificate's claim.

In:  a certificate in the JSON of proofs/FORMAT.md (plain or gzip, with its model in it or beside it), about an
     ensemble.
Out: the text of a `.v` file: the statement, the proof and the witness as terms of Ensemble.v and Forest.v, and a
     theorem that `certificate_sound` reduces to one computation.
Promise: nothing is rounded. What the theorem says is what the file's `the_statement` says; that this is the JSON's
     statement is the one thing that Coq does not see, so this file does nothing but copy numbers. The two things that
     it computes are checked by Coq and may be wrong without harm: where a threshold cuts the indices of a grid
     (`hint`), and the unit in which distances are counted (`cost_unit`).
Use: python proofs/translate.py certificate.json > claim.v; coqc -Q proofs/theory Mace claim.v
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import re
import struct
import sys
import zlib
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

if __name__ == "__main__":
    # Alone, without mace: the files beside this one, under the names that they have when mace is installed.
    for package_name, folder in (("mace", []), ("mace.proofs", [str(Path(__file__).resolve().parent)])):
        sys.modules[package_name] = package = ModuleType(package_name)
        package.__path__ = folder

from mace.proofs.columns import unfolded

# Scores this near to each other count as equal where the library squashes them first, in units of the dtype.
SQUASHED = {"sigmoid": 16, "softmax": 32}
LEAVES = {"empty": "Empty", "distance": "Distance", "changes": "Changes", "trees": "Trees", "cell": "Cell"}
LEAVES_WITH_NUMBER = {"avoid": "Avoided", "rule": "Rule"}
OPERATIONS = {"add": "Add", "sub": "Subtract", "mul": "Multiply", "div": "Divide"}
# Operators of rules, with two or one part, and with any number of them: numbers are joined to a list of at least one.
PARTS = {
    "-": "Minus", "neg": "Opposite", "abs": "Absolute", "<": "Less", "<=": "AtMost", "==": "Equal", "!=": "Unequal",
    "not": "Not", "true": "Always", "false": "Never",
}  # fmt: skip
LISTS = {
    "+": ("Sum", "One", "More"), "min": ("Least", "One", "More"), "max": ("Greatest", "One", "More"),
    "and": ("Both", "", "Also"), "or": ("Either", "", "Also"),
}  # fmt: skip


class TranslationError(ValueError):
    """The certificate is not one that the theory covers; the message says what is missing."""


def translate(certificate: dict[str, Any]) -> str:
    """The Coq file of a certificate, given as the JSON object of FORMAT.md.

    Raises TranslationError for models, leaves and claims that Forest.v does not cover.
    """
    certificate = unfolded(certificate)
    statement = certificate["statement"]
    model = statement["model"]
    if model["kind"] != "ensemble" or statement["distance"].get("forms"):
        raise TranslationError(f"only ensembles and norms are covered by Forest.v, not a {model['kind']} or forms")
    unit = leaf_unit(model)
    hints = hints_of(statement)
    trees = [tree_term(tree, unit, hints) for tree in model["trees"]]
    proof = proof_term(certificate["proof"], statement["features"])
    claim = statement["claim"]
    lines = [
        "(* Written by translate.py. The theorem says what the_statement says; see Ensemble.v for its meaning. *)",
        "From Coq Require Import ZArith QArith List.",
        "From Mace Require Import Ensemble Forest Witness.",
        "Import ListNotations.",
        "Open Scope Z_scope.",
        "",
        *(f"Definition tree_{number} : tree :=\n  {term}." for number, term in enumerate(trees)),
        "",
        "Definition the_statement : statement := {|",
        f"  features := {sequence(map(feature_term, statement['features']))};",
        f"  columns := {sequence(column_term(c, statement) for c in statement['columns'])};",
        f"  cast_to_float32 := {boolean(model['cast'] == 'float32')};",
        f"  test_is_strict := {boolean(model['test'] == '<')};",
        f"  sums_in_float32 := {boolean(model['dtype'] == 'float32')};",
        f"  ordered := {boolean(model['ordered'])};",
        f"  error := {pair(model['error'])};",
        f"  squash := {SQUASHED.get(model['rule'], 0)};",
        f"  divide := {int(model['divide'])};",
        f"  unit := {unit};",
        f"  start_scores := {scores(model['start'], unit)};",
        f"  trees := {sequence(f'tree_{number}' for number in range(len(trees)))};",
        f"  goal := {sequence(sequence(map(comparison_term, part)) for part in statement['goal'])};",
        *(f"  {name} := {rational(statement['distance'][name])};" for name in ("alpha", "beta", "gamma")),
        f"  rules := {sequence(map(rule_term, statement['rules']))};",
        f"  avoid := {sequence(region_term(r, statement) for r in statement['avoid'])};",
        f"  most_changes := {option(statement['most_changes'], lambda k: f'{int(k)}%nat')};",
        f"  closer_than := {option(claim.get('closer_than'), rational)}",
        "|}.",
        "",
        f"Definition the_certificate : certificate := {{|\n  cost_unit := {cost_unit(certificate, hints)};",
        f"  proof_of :=\n  {proof}",
        "|}.",
        "",
        f"Definition the_witness : option (point * Q) := {option(certificate['witness'], witness_term)}.",
        "",
        "Theorem the_claim : claim the_statement /\\",
        "  match the_witness with Some (x, d) => real the_statement x d | None => True end.",
        "Proof.",
        "  apply (certificate_sound the_statement the_certificate the_witness). vm_cast_no_check (eq_refl true).",
        "Qed.",
        "Print Assumptions the_claim.",
        "",
    ]
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------------ terms


def sequence(terms: Iterable[str]) -> str:
    """A Coq list."""
    return "[" + "; ".join(terms) + "]"


def boolean(value: bool) -> str:
    """A Coq bool."""
    return "true" if value else "false"


def option(value: Any, term: Callable[[Any], str]) -> str:
    """A Coq option."""
    return "None" if value is None else f"(Some {term(value)})"


def rational(text: str) -> str:
    """A Coq rational, from exact text."""
    value = Fraction(text)
    return f"({value.numerator} # {value.denominator})%Q"


def exact(text: str | float) -> Fraction:
    """The number that a float's hexadecimal text stands for."""
    value = float.fromhex(text) if isinstance(text, str) else float(text)
    if not math.isfinite(value):
        raise TranslationError(f"{text!r} is not a finite float")
    return Fraction(value)


def pair(text: str | float) -> str:
    """A float as (mantissa, exponent)."""
    return dyadic(exact(text))


def dyadic(value: Fraction) -> str:
    """A number with a power of two for its denominator as (mantissa, exponent)."""
    return f"({value.numerator}, {1 - value.denominator.bit_length()})"


def whole(text: str | float, unit: int) -> int:
    """A float as a number of units of 2^-unit."""
    return int(exact(text) * 2**unit)


def scores(row: list[str], unit: int) -> str:
    """The scores of a leaf, in units."""
    return sequence(str(whole(value, unit)) for value in row)


def feature_term(feature: dict[str, Any]) -> str:
    """A feature."""
    if feature["kind"] == "grid":
        domain = f"(Between ({feature['lower']}) ({last_index(feature)}))"
        if feature["grid"] == "step":
            step, extra, denominator = step_numbers(feature)
            kind = f"(Step {step} {denominator} {option(extra, lambda e: f'({e})')})"
        else:
            kind = {"float64": "Float64", "float32": "Float32"}[feature["grid"]]
    else:
        domain = f"(Among {feature['allowed']})"
        kind = f"(Ordinal {steps_of(feature)})" if feature["ordered"] else "Nominal"
    scale = rational(feature.get("scale", "1"))
    absent = option(feature.get("missing"), lambda m: f"({missing_index(feature)}, {rational(m['cost'])})")
    return f"Feature {kind} {domain} ({feature['start']}) {scale} {rational(feature['weight'])} {absent}"


def missing_index(feature: dict[str, Any]) -> int:
    """The index that stands for "missing", of a feature that has one."""
    return int(feature["upper"]) + 1 if feature["kind"] == "grid" else int(feature["count"]) - 1


def last_index(feature: dict[str, Any]) -> int:
    """The last allowed index of a grid."""
    return int(feature["upper"]) + ("missing" in feature and feature["missing"]["allowed"])


def steps_of(feature: dict[str, Any]) -> int:
    """How many ranks lie between the first and the last level, "missing" aside."""
    return max(int(feature["count"]) - 1 - ("missing" in feature), 1)


def step_numbers(feature: dict[str, Any]) -> tuple[int, int | None, int]:
    """Step and extra value of a grid, over their common denominator."""
    step = Fraction(feature["step"])
    extra = None if feature["extra"] is None else Fraction(feature["extra"])
    denominator = math.lcm(step.denominator, extra.denominator if extra is not None else 1)
    return int(step * denominator), None if extra is None else int(extra * denominator), denominator


def column_term(column: list[Any], statement: dict[str, Any]) -> str:
    """A column of the model."""
    feature, levels, chain, *absent = column
    if statement["features"][feature]["kind"] != "grid":
        return f"Table {feature}%nat {sequence(map(pair, levels))}"
    if_absent = option(absent[0] if absent else None, pair)
    if chain == "float32":
        return f"Single {feature}%nat {if_absent}"
    operations = sequence(f"{OPERATIONS[name]} {pair(operand)}" for name, operand in chain)
    return f"Number {feature}%nat {operations} {if_absent}"


def comparison_term(comparison: list[Any]) -> str:
    """One comparison of the goal."""
    plus, minus, than, strict = comparison
    sides = " ".join(option(side, lambda k: f"{k}%nat") for side in (plus, minus))
    return f"Compare {sides} {pair(than)} {boolean(strict)}"


def rule_term(expression: list[Any]) -> str:
    """A rule, or a part of one."""
    name, *parts = expression
    if name == "x":
        return f"(Value {parts[0]}%nat)"
    if name == "c":
        return f"(Constant {rational(parts[0])})"
    if name == "*":
        return f"(Times {rational(parts[0])} {rule_term(parts[1])})"
    terms = [rule_term(part) for part in parts]
    if name in PARTS:
        return f"({' '.join([PARTS[name], *terms])})"
    outer, last, more = LISTS[name]
    joined = f"({last} {terms.pop()})" if last else "NoMore"
    for term in reversed(terms):
        joined = f"({more} {term} {joined})"
    return f"({outer} {joined})"


def region_term(region: dict[str, Any], statement: dict[str, Any]) -> str:
    """An excluded region."""
    if "point" in region:
        return f"Exactly {point_term(region['point'])}"
    if "changes" in region:
        return f"Changed {sequence(f'{j}%nat' for j in region['changes'])}"
    if "near" in region:
        return f"Near {point_term(region['near'])} {rational(region['radius'])}"
    sides = (
        f"Range ({side[0]}) ({side[1]})" if feature["kind"] == "grid" else f"Mask {side}"
        for side, feature in zip(region["box"], statement["features"], strict=True)
    )
    return f"InBox {sequence(sides)}"


def point_term(point: list[int]) -> str:
    """A point."""
    return sequence(f"({index})" for index in point)


def witness_term(witness: dict[str, Any]) -> str:
    """A witness and its distance."""
    return f"({point_term(witness['point'])}, {rational(witness['distance'])})"


def question_term(threshold: Any) -> str:
    """What a node asks."""
    return f"(Member {point_term(threshold)})" if isinstance(threshold, list) else f"(Below {pair(threshold)})"


def tree_term(tree: dict[str, Any], unit: int, hints: dict[tuple[int, Any], int]) -> str:
    """One tree; children come before parents, so that depth costs no stack."""
    done: dict[int, str] = {}
    todo = [0]
    while todo:
        node = todo[-1]
        children = [] if tree["column"][node] < 0 else [tree["left"][node], tree["right"][node]]
        waiting = [child for child in children if child not in done]
        if waiting:
            todo.extend(waiting)
            continue
        todo.pop()
        if children:
            column, threshold = tree["column"][node], tree["threshold"][node]
            left, right = (done.pop(child) for child in children)
            cut = 0 if isinstance(threshold, list) else hints[column, threshold]
            done[node] = f"(Node {column}%nat {question_term(threshold)} ({cut}) {left} {right})"
        else:
            done[node] = f"(Leaf {scores(tree['value'][node], unit)})"
    return done[0]


def proof_term(nodes: list[Any], features: list[dict[str, Any]]) -> str:
    """The proof tree; the list is in preorder, so it is read from its end."""
    stack: list[str] = []
    for node in reversed(nodes):
        name, arguments = node[0], node[1:]
        if name == "split":
            first, second = stack.pop(), stack.pop()
            stack.append(f"(Split {arguments[0]}%nat ({arguments[1]}) {first} {second})")
        elif name == "part":
            first, second = stack.pop(), stack.pop()
            stack.append(f"(Part {int(arguments[0])}%nat {first} {second})")
        elif name == "prune":  # Forest.v looks for the leaves that a box reaches
            continue
        elif name == "near":  # what goes is split off, and closed by its distance
            term = stack.pop()
            for j, span in reversed(arguments):
                at = span if features[j]["kind"] != "grid" else span[1]
                term = f"(Split {j}%nat ({at}) {term} Distance)"
                if features[j]["kind"] == "grid":
                    term = f"(Split {j}%nat ({span[0] - 1}) Distance {term})"
            stack.append(term)
        elif name in LEAVES:
            stack.append(LEAVES[name])
        elif name in LEAVES_WITH_NUMBER:
            stack.append(f"({LEAVES_WITH_NUMBER[name]} {int(arguments[0])}%nat)")
        else:
            raise TranslationError(f"the rule `{name}` is not covered by Forest.v")
    if len(stack) != 1:
        raise TranslationError("the proof is not one tree")
    return stack[0]


# ------------------------------------------------------------------------------- what Coq checks for itself


def leaf_values(model: dict[str, Any]) -> set[str]:
    """Every number that the model adds."""
    values = set(model["start"])
    for tree in model["trees"]:
        values.update(value for row in tree["value"] if row is not None for value in row)
    return values


def leaf_unit(model: dict[str, Any]) -> int:
    """The coarsest unit 2^-unit, at most 1, of which every start and leaf value is a multiple."""
    return max((exact(value).denominator.bit_length() - 1 for value in leaf_values(model)), default=0)


def value_of(feature: dict[str, Any], index: int) -> Fraction:
    """The exact value of an index of a grid."""
    if feature["grid"] == "step":
        step, extra = Fraction(feature["step"]), feature["extra"]
        if extra is not None:
            place = Fraction(extra) // step + 1
            if index == place:
                return Fraction(extra)
            index -= index > place
        return index * step
    code = "<q" if feature["grid"] == "float64" else "<i"
    size = Fraction(struct.unpack({"<q": "<d", "<i": "<f"}[code], struct.pack(code, abs(index)))[0])
    return size if index >= 0 else -size


def given(feature: dict[str, Any], column: list[Any], index: int) -> float:
    """What the model is given: the float64 nearest to the value, after the column's chain."""
    if "missing" in feature and index == missing_index(feature):
        return float(exact(column[3]))
    value = value_of(feature, index)
    if column[2] == "float32":
        return nearest_float32(value)
    x = value.numerator / value.denominator
    for name, text in column[2]:
        y = float(exact(text))
        x = x + y if name == "add" else x - y if name == "sub" else x * y if name == "mul" else x / y
    return x


def nearest_float32(value: Fraction) -> float:
    """The float32 nearest to a rational, ties to even, in one rounding."""
    size = abs(value)
    power = max(size.numerator.bit_length() - size.denominator.bit_length() - 24, -149)
    power += size / Fraction(2) ** power >= 2**24
    return math.copysign(float(round(size / Fraction(2) ** power) * Fraction(2) ** power), value)


def hints_of(statement: dict[str, Any]) -> dict[tuple[int, Any], int]:
    """The hint for each threshold of each column."""
    hints = {}
    for tree in statement["model"]["trees"]:
        for column, threshold in zip(tree["column"], tree["threshold"], strict=True):
            if column >= 0 and not isinstance(threshold, list) and (column, threshold) not in hints:
                hints[column, threshold] = hint(statement, column, threshold)
    return hints


def hint(statement: dict[str, Any], column: int, threshold: Any) -> int:
    """The last index before a threshold's test changes its answer, lower - 1 if none is; 0 for levels."""
    model, described = statement["model"], statement["columns"][column]
    feature = statement["features"][described[0]]
    if feature["kind"] != "grid":
        return 0
    limit = float(exact(threshold))
    chain = described[2] if described[2] != "float32" else []
    falls = sum(exact(x) < 0 for name, x in chain if name in ("mul", "div")) % 2 == 1

    def before(index: int) -> bool:
        seen = given(feature, described, index)
        if model["cast"] == "float32":
            seen = to_float32(seen)
        return (seen < limit if model["test"] == "<" else seen <= limit) != falls

    low, high = feature["lower"] - 1, last_index(feature) + 1  # Invariant: low is before it or outside, high is not.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if before(middle) else (low, middle)
    return int(low)


def to_float32(value: float) -> float:
    """The float32 nearest to a double."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def cost_unit(certificate: dict[str, Any], hints: dict[tuple[int, Any], int]) -> int:
    """A common denominator of what the axes cost at every end of a range that the proof or the model can make."""
    statement = certificate["statement"]
    ends: list[set[int]] = [set() for _ in statement["features"]]
    for (column, _), cut in hints.items():
        ends[statement["columns"][column][0]].update((cut, cut + 1))
    for node in certificate["proof"]:
        if node[0] == "split":
            ends[node[1]].update((node[2], node[2] + 1))
    alpha, beta, gamma = (Fraction(statement["distance"][name]) for name in ("alpha", "beta", "gamma"))
    unit = Fraction((statement["claim"].get("closer_than")) or 1).denominator
    for feature, indices in zip(statement["features"], ends, strict=True):
        weight = Fraction(feature["weight"])
        deltas = {Fraction(1)}
        if feature["kind"] == "grid":
            lower, upper, scale = feature["lower"], feature["upper"], Fraction(feature["scale"])
            start = feature["start"]
            start -= "missing" in feature and start == missing_index(feature)
            origin = value_of(feature, start)
            inside = {index for index in indices if lower <= index <= upper} | {lower, upper}
            deltas = {abs(value_of(feature, index) - origin) / scale for index in inside}
        elif feature["ordered"]:
            deltas = {Fraction(1, steps_of(feature))}
        if "missing" in feature:
            deltas.add(Fraction(feature["missing"]["cost"]))
        parts = [alpha * weight, *(factor * weight * delta for delta in deltas for factor in (beta, gamma))]
        unit = math.lcm(unit, *(part.denominator for part in parts))
    return unit


def read(path: Path) -> dict[str, Any]:
    """A certificate from a file, plain or gzip, with its model where that is in a file of its own beside it.

    Raises TranslationError if that file is not the one that the certificate speaks of.
    """
    certificate: dict[str, Any] = json.loads(text_of(path))
    digest = certificate["statement"]["model"].get("sha256")
    if digest is not None:
        if not isinstance(digest, str) or re.fullmatch("[0-9a-f]{64}", digest) is None:
            raise TranslationError("the digest of the model is not 64 hexadecimal digits")
        file = path.with_name(f"{digest}.model.json.gz")
        advice = "copy it from the folder that the certificate was written to"
        if not file.is_file():
            raise TranslationError(f"the model of this certificate is not beside it, in {file.name}: {advice}")
        text = text_of(file)
        if hashlib.sha256(text).hexdigest() != digest:
            raise TranslationError(f"{file.name} holds something else: {advice}")
        certificate["statement"]["model"] = json.loads(text)
    return certificate


def text_of(path: Path) -> bytes:
    """The bytes of a file, unpacked if they are gzip; raises TranslationError."""
    data = path.read_bytes()
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise TranslationError(f"{path.name} is damaged ({error})") from None


def main() -> int:
    """Translate the file that is named on the command line to standard output."""
    if len(sys.argv) != 2:
        sys.stderr.write("use: translate.py CERTIFICATE\n")
        return 2
    try:
        sys.stdout.write(translate(read(Path(sys.argv[1]))))
    except TranslationError as error:
        sys.stderr.write(f"translate.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
