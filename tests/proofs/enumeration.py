"""What a certificate claims, decided by trying every point: no line is shared with mace or with the checker.

Floats are the processor's own here, where the checker emulates them with integers.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

Json = Any


def points(statement: Json) -> list[tuple[int, ...]]:
    """Every point of the axes."""
    sides = []
    for feature in statement["features"]:
        if feature["kind"] == "grid":
            more = "missing" in feature and feature["missing"]["allowed"]
            sides.append(range(feature["lower"], feature["upper"] + 1 + more))
        else:
            sides.append([level for level in range(feature["count"]) if feature["allowed"] >> level & 1])
    assert np.prod([float(len(side)) for side in sides]) < 20_000
    return list(itertools.product(*sides))


def value(feature: Json, index: int) -> Fraction:
    """The exact value with an index."""
    if feature["kind"] == "levels":
        return Fraction(index)
    if feature["grid"] != "step":
        bits, real = (np.uint64, np.float64) if feature["grid"] == "float64" else (np.uint32, np.float32)
        size = Fraction(float(np.array([abs(index)], dtype=bits).view(real)[0]))
        return size if index >= 0 else -size
    step = Fraction(feature["step"])
    if feature["extra"] is None:
        return index * step
    extra = Fraction(feature["extra"])
    below = extra // step + 1
    return extra if index == below else step * (index if index < below else index - 1)


def missing(feature: Json) -> int | None:
    """The index that stands for "missing"."""
    if "missing" not in feature:
        return None
    return int(feature["upper"] + 1 if feature["kind"] == "grid" else feature["count"] - 1)


def change(feature: Json, one: int, other: int) -> Fraction:
    """The scaled change between two indices."""
    if one == other:
        return Fraction(0)
    if missing(feature) in (one, other):
        return Fraction(feature["missing"]["cost"])
    if feature["kind"] == "grid":
        return abs(value(feature, one) - value(feature, other)) / Fraction(feature["scale"])
    if feature["ordered"]:
        return Fraction(abs(one - other), max(feature["count"] - 1 - ("missing" in feature), 1))
    return Fraction(int(one != other))


def distance(statement: Json, one: Any, other: Any) -> Fraction:
    """The distance between two points."""
    mix = {name: Fraction(q) for name, q in statement["distance"].items() if name != "forms"}
    total = largest = Fraction(0)
    for feature, i, j in zip(statement["features"], one, other, strict=True):
        delta, weight = change(feature, i, j), Fraction(feature["weight"])
        total += weight * (mix["alpha"] * (delta > 0) + mix["beta"] * delta)
        largest = max(largest, weight * delta)
    return total + mix["gamma"] * largest + sum(size(statement, form, one, other) for form in forms_of(statement))


def forms_of(statement: Json) -> Json:
    """The forms of the distance."""
    return statement["distance"].get("forms", [])


def size(statement: Json, form: Json, one: Any, other: Any) -> Fraction:
    """How far a form is moved from a point, the start if it has a constant, to another."""
    features = statement["features"]
    moved = sum((Fraction(constant) for constant in form[len(features) :]), Fraction(0))
    for feature, entry, i, j in zip(features, form[: len(features)], one, other, strict=True):
        if feature["kind"] == "grid":
            moved += Fraction(entry) * (value(feature, i) - value(feature, j))
        else:
            moved += Fraction(entry[i]) - Fraction(entry[j])
    return abs(moved)


def of(expression: Json, values: list[Fraction]) -> Any:
    """The value of a rule's expression at a point."""
    name, *parts = expression
    if name in ("x", "c"):
        return values[parts[0]] if name == "x" else Fraction(parts[0])
    if name == "*":
        return Fraction(parts[0]) * of(parts[1], values)
    a = [of(part, values) for part in parts]
    return {
        "true": lambda: True, "false": lambda: False, "+": lambda: sum(a), "-": lambda: a[0] - a[1],
        "neg": lambda: -a[0], "abs": lambda: abs(a[0]), "min": lambda: min(a), "max": lambda: max(a),
        "<": lambda: a[0] < a[1], "<=": lambda: a[0] <= a[1], "==": lambda: a[0] == a[1], "!=": lambda: a[0] != a[1],
        "and": lambda: all(a), "or": lambda: any(a), "not": lambda: not a[0],
    }[name]()  # fmt: skip


def allowed(statement: Json, point: tuple[int, ...]) -> bool:
    """Whether a point of the axes obeys rules, exclusions and the limit on changes."""
    features = statement["features"]
    start = tuple(feature["start"] for feature in features)
    most = statement["most_changes"]
    if most is not None and sum(i != s for i, s in zip(point, start, strict=True)) > most:
        return False
    for region in statement["avoid"]:
        if "changes" in region and all(point[j] != start[j] for j in region["changes"]):
            return False
        if "point" in region and tuple(region["point"]) == point:
            return False
        if "box" in region and all(
            side[0] <= i <= side[1] if isinstance(side, list) else side >> i & 1
            for side, i in zip(region["box"], point, strict=True)
        ):
            return False
        if "near" in region and distance(statement, point, region["near"]) < Fraction(region["radius"]):
            return False
    gone = [feature["kind"] == "grid" and missing(feature) == i for feature, i in zip(features, point, strict=True)]
    values = [Fraction(0) if g else value(f, i) for f, i, g in zip(features, point, gone, strict=True)]
    return all(of(rule, values) for rule in statement["rules"])


def scores(statement: Json, point: tuple[int, ...]) -> Any:
    """The model's float scores."""
    row = []
    for j, table, chain, *absent in statement["columns"]:
        if table is not None:
            row.append(float.fromhex(table[point[j]]))
            continue
        if absent and missing(statement["features"][j]) == point[j]:
            row.append(float.fromhex(absent[0]))
            continue
        exact = value(statement["features"][j], point[j])
        x = exact.numerator / exact.denominator
        for name, operand in chain:
            y = float.fromhex(operand)
            x = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y if y else 0.0}[name]
        row.append(x)
    model = statement["model"]
    if model["kind"] == "network":
        values = np.array(row)
        for layer in model["layers"]:
            weights = np.array([[float.fromhex(w) for w in line] for line in layer["weights"]])
            values = values @ weights + np.array([float.fromhex(b) for b in layer["bias"]])
            values = np.maximum(values, 0.0) if layer["activation"] == "relu" else values
        return values
    dtype = np.dtype(model["dtype"])
    total = np.array([float.fromhex(x) for x in model["start"]]).astype(dtype)
    for tree in model["trees"]:
        n = 0
        while tree["column"][n] >= 0:
            x = row[tree["column"][n]]
            x = float(np.float32(x)) if model["cast"] == "float32" else x
            listed = isinstance(tree["threshold"][n], list)
            threshold = tree["threshold"][n] if listed else float.fromhex(tree["threshold"][n])
            left = x in threshold if listed else x <= threshold if model["test"] == "<=" else x < threshold
            n = tree["left" if left else "right"][n]
        total = total + np.array([float.fromhex(x) for x in tree["value"][n]]).astype(dtype)
    return (total / np.asarray(model["divide"], dtype)).astype(float) if model["divide"] != 1 else total.astype(float)


def has_goal(statement: Json, point: tuple[int, ...]) -> bool:
    """Whether the float model has the goal at a point."""
    found = scores(statement, point)
    for part in statement["goal"]:
        for plus, minus, than, strict in part:
            left = found[plus] if plus is not None else -float.fromhex(than)
            right = found[minus] if minus is not None else float.fromhex(than)
            if not (left > right if strict else left >= right):
                break
        else:
            return True
    return False


def true(certificate: Json) -> bool:
    """Whether claim and witness of a certificate are true."""
    statement, witness = certificate["statement"], certificate["witness"]
    start = tuple(feature["start"] for feature in statement["features"])
    everything = points(statement)
    radius = None if "anywhere" in statement["claim"] else Fraction(statement["claim"]["closer_than"])
    if witness is not None:
        point = tuple(witness["point"])
        fits = point in everything and allowed(statement, point) and has_goal(statement, point)
        far = Fraction(witness["distance"])
        if not fits or radius is None or far != distance(statement, point, start) or far < radius:
            return False
    return not any(
        (radius is None or distance(statement, point, start) < radius)
        and allowed(statement, point)
        and has_goal(statement, point)
        for point in everything
    )
