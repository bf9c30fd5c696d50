"""Write a certificate of a tree ensemble as a Coq file whose compilation proves the certificate's claim.

In:  a certificate in the JSON of proofs/FORMAT.md (plain or gzip, with its model in it or beside it), about an
     ensemble, closed by the leaves empty, distance, changes, trees and cell.
Out: the text of a `.v` file: the statement and the proof as terms of Ensemble.v and Forest.v, and a theorem that
     `check_sound` reduces to one computation.
Promise: nothing is rounded. What the theorem says is what the file's `the_statement` says; that this is the JSON's
     statement is the one thing that Coq does not see, so this file does nothing but copy numbers. The two things that
     it computes are checked by Coq and may be wrong without harm: where a threshold cuts the indices of a grid
     (`hint`), and the unit in which distances are counted (`cost_unit`).
Rules and excluded regions are left out of the statement, and where scores are uncertain beyond the rounding of their
sums (`error`, sigmoid, softmax) the goal is loosened by as much: both make the theorem stronger than the claim.

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
from typing import Any

# Scores this near to each other count as equal where the library squashes them first, in units of the dtype.
SQUASHED = {"sigmoid": 16, "softmax": 32}
LEAVES = {"empty": "Empty", "distance": "Distance", "changes": "Changes", "trees": "Trees", "cell": "Cell"}


class TranslationError(ValueError):
    """The certificate is not one that the theory covers; the message says what is missing."""


def translate(certificate: dict[str, Any]) -> str:
    """The Coq file of a certificate, given as the JSON object of FORMAT.md.

    Raises TranslationError for models, leaves and claims that Forest.v does not cover.
    """
    statement = certificate["statement"]
    model = statement["model"]
    refuse_uncovered(statement)
    unit = leaf_unit(model)
    hints = {}
    for tree in model["trees"]:
        for column, threshold in zip(tree["column"], tree["threshold"], strict=True):
            if column >= 0 and (column, threshold) not in hints:
                hints[column, threshold] = hint(statement, column, threshold)
    trees = [tree_term(tree, unit, hints) for tree in model["trees"]]
    proof = proof_term(certificate["proof"])
    claim = statement["claim"]
    lines = [
        "(* Written by translate.py. The theorem says what the_statement says; see Ensemble.v for its meaning. *)",
        "From Coq Require Import ZArith QArith List.",
        "From Mace Require Import Ensemble Forest.",
        "Import ListNotations.",
        "Open Scope Z_scope.",
        "",
        *(f"Definition tree_{number} : tree :=\n  {term}." for number, term in enumerate(trees)),
        "",
        "Definition the_statement : statement := {|",
        f"  features := {sequence(map(feature_term, statement['features']))};",
        f"  columns := {sequence(map(column_term, statement['columns']))};",
        f"  cast_to_float32 := {boolean(model['cast'] == 'float32')};",
        f"  test_is_strict := {boolean(model['test'] == '<')};",
        f"  sums_in_float32 := {boolean(model['dtype'] == 'float32')};",
        f"  ordered := {boolean(model['ordered'])};",
        f"  divide := {int(model['divide'])};",
        f"  unit := {unit};",
        f"  start_scores := {scores(model['start'], unit)};",
        f"  trees := {sequence(f'tree_{number}' for number in range(len(trees)))};",
        f"  goal := {sequence(sequence(comparison_term(model, c) for c in part) for part in statement['goal'])};",
        *(f"  {name} := {rational(statement['distance'][name])};" for name in ("alpha", "beta", "gamma")),
        f"  most_changes := {option(statement['most_changes'], lambda k: f'{int(k)}%nat')};",
        f"  closer_than := {option(claim.get('closer_than'), rational)}",
        "|}.",
        "",
        f"Definition the_certificate : certificate := {{|\n  cost_unit := {cost_unit(certificate, hints)};",
        f"  proof_of :=\n  {proof}",
        "|}.",
        "",
        "Theorem the_claim : claim the_statement.",
        "Proof. apply (check_sound the_statement the_certificate). vm_cast_no_check (eq_refl true). Qed.",
        "Print Assumptions the_claim.",
        "",
    ]
    return "\n".join(lines)


def refuse_uncovered(statement: dict[str, Any]) -> None:
    """Raise TranslationError for what Ensemble.v has no words for."""
    model = statement["model"]
    if model["kind"] != "ensemble":
        raise TranslationError(f"only ensembles are covered by Forest.v, not a {model['kind']}")
    if any("missing" in feature for feature in statement["features"]):
        raise TranslationError("not covered by Ensemble.v: features that may be missing")
    uncovered = {
        "numbers that are rounded once to float32": any(chain == "float32" for _, _, chain in statement["columns"]),
        "columns that are computed by a chain": any(chain for _, _, chain in statement["columns"]),
        "thresholds that are sets": any(isinstance(t, list) for tree in model["trees"] for t in tree["threshold"]),
    }
    for what, present in uncovered.items():
        if present:
            raise TranslationError(f"not covered by Ensemble.v: {what}")


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
        domain = f"(Between ({feature['lower']}) ({feature['upper']}))"
        if feature["grid"] == "step":
            step, extra, denominator = step_numbers(feature)
            kind = f"(Step {step} {denominator} {option(extra, lambda e: f'({e})')})"
        else:
            kind = {"float64": "Float64", "float32": "Float32"}[feature["grid"]]
    else:
        domain = f"(Among {feature['allowed']})"
        kind = f"(Ordinal {max(feature['count'] - 1, 1)})" if feature["ordered"] else "Nominal"
    scale = rational(feature.get("scale", "1"))
    return f"Feature {kind} {domain} ({feature['start']}) {scale} {rational(feature['weight'])}"


def step_numbers(feature: dict[str, Any]) -> tuple[int, int | None, int]:
    """Step and extra value of a grid, over their common denominator."""
    step = Fraction(feature["step"])
    extra = None if feature["extra"] is None else Fraction(feature["extra"])
    denominator = math.lcm(step.denominator, extra.denominator if extra is not None else 1)
    return int(step * denominator), None if extra is None else int(extra * denominator), denominator


def column_term(column: list[Any]) -> str:
    """A column of the model."""
    feature, levels, _ = column
    return f"({feature}%nat, {option(levels, lambda values: sequence(map(pair, values)))})"


def comparison_term(model: dict[str, Any], comparison: list[Any]) -> str:
    """One comparison of the goal; where scores are uncertain beyond their rounding it is loosened by as much."""
    plus, minus, than, strict = comparison
    loose = Fraction(SQUASHED.get(model["rule"], 0), 2 ** (53 if model["dtype"] == "float64" else 24))
    loose += sum(side is not None for side in (plus, minus)) * exact(model["error"]) / model["divide"]
    bound = exact(than)
    if loose:
        bound, strict = Fraction(math.floor((bound - loose) * 2**1074), 2**1074), False
    sides = " ".join(option(side, lambda k: f"{k}%nat") for side in (plus, minus))
    return f"Compare {sides} {dyadic(bound)} {boolean(strict)}"


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
            done[node] = f"(Node {column}%nat {pair(threshold)} ({hints[column, threshold]}) {left} {right})"
        else:
            done[node] = f"(Leaf {scores(tree['value'][node], unit)})"
    return done[0]


def proof_term(nodes: list[Any]) -> str:
    """The proof tree; the list is in preorder, so it is read from its end."""
    stack: list[str] = []
    for node in reversed(nodes):
        name, arguments = node[0], node[1:]
        if name == "split":
            first, second = stack.pop(), stack.pop()
            stack.append(f"(Split {arguments[0]}%nat ({arguments[1]}) {first} {second})")
        elif name == "prune":  # Forest.v looks for the leaves that a box reaches
            continue
        elif name in LEAVES:
            stack.append(LEAVES[name])
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


def given(feature: dict[str, Any], index: int) -> float:
    """What the model is given: the float64 nearest to the value."""
    value = value_of(feature, index)
    return value.numerator / value.denominator


def hint(statement: dict[str, Any], column: int, threshold: Any) -> int:
    """The last index that passes a threshold's test, lower - 1 if none does; 0 for levels, where it has no meaning."""
    model = statement["model"]
    feature = statement["features"][statement["columns"][column][0]]
    if feature["kind"] != "grid":
        return 0
    limit = float(exact(threshold))

    def passes(index: int) -> bool:
        seen = given(feature, index)
        if model["cast"] == "float32":
            seen = to_float32(seen)
        return seen < limit if model["test"] == "<" else seen <= limit

    low, high = feature["lower"] - 1, feature["upper"] + 1  # Invariant: low passes or is outside, high does not.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(middle) else (low, middle)
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
            origin = value_of(feature, feature["start"])
            inside = {index for index in indices if lower <= index <= upper} | {lower, upper}
            deltas = {abs(value_of(feature, index) - origin) / scale for index in inside}
        elif feature["ordered"]:
            deltas = {Fraction(1, max(feature["count"] - 1, 1))}
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
