"""What a certificate says, in the canonical form that the verified checker prints of what it read.

In:  a certificate as `check.load` gives it, about an ensemble or a linear model.
Out: one line of JSON without spaces: the statement and the witness as the records of theory/Ensemble.v.
Why: the acceptance of `verified/check` is a theorem about what its reader made of the file. This is a second reader,
     which shares nothing with the first: where both lines are equal, the theorem is about this file.
Rationals are reduced; a float is [mantissa, exponent] with an odd mantissa; trees are lists of their nodes in preorder.
The proof is left out: whatever it is, what the theory accepts is true of the statement. So is what the theory has no
use for: words for people; `most_changes` beyond the number of features is that number; a rule of the model is the units
of rounding within which it squashes scores.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

Json = dict[str, Any]
SQUASHED = {"sigmoid": 16, "softmax": 32}


def readback(certificate: Json) -> str:
    """The canonical line of a certificate; KeyError, TypeError or ValueError where the theory covers none."""
    witness = certificate["witness"]
    said = {
        "statement": _statement(certificate["statement"]),
        "witness": None if witness is None else {"point": witness["point"], "distance": _rational(witness["distance"])},
    }
    return json.dumps(said, separators=(",", ":"))


def _statement(statement: Json) -> Json:
    model, features = statement["model"], statement["features"]
    most = statement["most_changes"]
    claim = statement["claim"].get("closer_than")
    mix = {name: _rational(statement["distance"][name]) for name in ("alpha", "beta", "gamma")}
    return {
        "features": [_feature(feature) for feature in features],
        "columns": [_column(column, features) for column in statement["columns"]],
        **(_ensemble(model) if model["kind"] == "ensemble" else _linear(model)),
        "goal": [
            [[plus, minus, _float(than), strict] for plus, minus, than, strict in part] for part in statement["goal"]
        ],
        **mix,
        "rules": [_rule(rule) for rule in statement["rules"]],
        "avoid": [_region(region) for region in statement["avoid"]],
        "most_changes": None if most is None else min(most, len(features)),
        "closer_than": None if claim is None else _rational(claim),
    }


def _ensemble(model: Json) -> Json:
    return {
        "cast_to_float32": model["cast"] == "float32",
        "test_is_strict": model["test"] == "<",
        "sums_in_float32": model["dtype"] == "float32",
        "ordered": model["ordered"],
        "error": _float(model["error"]),
        "squash": SQUASHED.get(model["rule"], 0),
        "divide": model["divide"],
        "start": [_float(x) for x in model["start"]],
        "trees": [_tree(tree) for tree in model["trees"]],
    }


def _linear(model: Json) -> Json:
    """The weights by score, which the file has by column."""
    (layer,) = model["layers"]
    return {
        "sums_in_float32": model["dtype"] == "float32",
        "squash": SQUASHED.get(model["rule"], 0),
        "weights": [[_float(row[k]) for row in layer["weights"]] for k in range(len(layer["bias"]))],
        "bias": [_float(x) for x in layer["bias"]],
    }


def _rational(text: str) -> str:
    return str(Fraction(text))


def _float(text: str) -> list[int]:
    above, below = float.fromhex(text).as_integer_ratio()
    twos = (above & -above).bit_length() - 1 if above else 0
    return [above >> twos, twos + 1 - below.bit_length()]


def _feature(feature: Json) -> Json:
    lacking = feature.get("missing")
    if feature["kind"] == "grid":
        last, steps = feature["upper"], None
        absent = last + 1
        domain = ["between", feature["lower"], last + bool(lacking and lacking["allowed"])]
        if feature["grid"] == "step":
            extra = feature["extra"]
            steps = [_rational(feature["step"]), None if extra is None else _rational(extra)]
        kind = [feature["grid"], *(steps or [])]
    else:
        absent = feature["count"] - 1
        domain = ["among", feature["allowed"]]
        ranks = max(absent - (lacking is not None), 1)
        kind = ["ordinal", ranks] if feature["ordered"] else ["nominal"]
    return {
        "kind": kind,
        "domain": domain,
        "start": feature["start"],
        "scale": _rational(feature.get("scale", "1")),
        "weight": _rational(feature["weight"]),
        "missing": None if lacking is None else [absent, _rational(lacking["cost"])],
    }


def _column(column: list[Any], features: list[Json]) -> list[Any]:
    j, table, chain, *absent = column
    if features[j]["kind"] != "grid":
        return ["levels", j, [_float(x) for x in table]]
    given = _float(absent[0]) if absent else None
    if chain == "float32":
        return ["single", j, given]
    return ["number", j, [[name, _float(x)] for name, x in chain], given]


def _rule(rule: list[Any]) -> list[Any]:
    name, *parts = rule
    if name == "x":
        return rule
    if name in ("c", "*"):
        return [name, _rational(parts[0]), *(_rule(part) for part in parts[1:])]
    return [name, *(_rule(part) for part in parts)]


def _region(region: Json) -> Json:
    return {**region, "radius": _rational(region["radius"])} if "near" in region else region


def _tree(tree: Json) -> list[Any]:
    said: list[Any] = []
    todo = [0]
    while todo:
        n = todo.pop()
        if tree["column"][n] < 0:
            said.append(["leaf", [_float(x) for x in tree["value"][n]]])
            continue
        asked = tree["threshold"][n]
        said.append(["node", tree["column"][n], ["in", asked] if isinstance(asked, list) else _float(asked)])
        todo += [tree["right"][n], tree["left"][n]]
    return said
