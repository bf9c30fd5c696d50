"""LightGBM's text model files: every line checked, and written again for the library.

In:  the text of a model file, or what a Booster writes of itself.
Out: a text of the same form with all that predictions need and nothing else: it is read by `reader.py`, and it
     is what the library is given in place of the file.
Promise: what the library trusts is made here, not copied: the sizes of trees, the number of classes. Numbers are copied
as they stand once they have the form of a number, so that the library rounds them as it did. Lines that prediction
does not need (gains, weights, counts, parameters) are left out; lines that are not known are a ModelError, for they
may change predictions. Whether children make a tree is checked by `read_text`, which must have accepted a text first.
Source: src/boosting/gbdt_model_text.cpp, src/io/tree.cpp of LightGBM 4.5 to 4.7.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from mace.base.files import no_text, read_bytes
from mace.compilers.formats.fields import LONGEST_TEXT, shown, writable
from mace.errors import FileError, ModelError, UnreadableError

VERSIONS = ("v3", "v4")
LARGEST_FILE = 2**30
MOST_OUTPUTS = 2**16
MOST_NODES = 10_000_000
EXPONENTIALS = ("poisson", "gamma", "tweedie")
NUMBERS = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
MANY = ("multiclass", "softmax")
AVERAGE = "average_output"
_HEADER = (
    "version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective", "feature_names",
    "monotone_constraints", "feature_infos", "tree_sizes",
)  # fmt: skip
_TREE = (
    "num_leaves", "num_cat", "split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child",
    "leaf_value", "leaf_weight", "leaf_count", "internal_value", "internal_weight", "internal_count", "cat_boundaries",
    "cat_threshold", "is_linear", "shrinkage",
)  # fmt: skip
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,5})?")
_INFO = re.compile(r"none|\[(-?[0-9.eE+-]+|-?inf|nan):(-?[0-9.eE+-]+|-?inf|nan)\]|-?[0-9]+(:-?[0-9]+)*")
_DAMAGED = "the LightGBM model is damaged:"
_ITSELF = f"{_DAMAGED} it"


def load(path: Path) -> str:
    """The checked text of a model file; raises FileError for what is no such file, ModelError."""
    try:
        text = read_bytes(path, LARGEST_FILE).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {no_text(error)}") from None
    if not text.startswith("tree\n"):
        raise FileError(f"{path} is no LightGBM model: its first line is not `tree`")
    return checked(text)


def checked(text: str) -> str:
    """The text with what predictions need; raises ModelError for damage and for what is not supported."""
    lines = text.split("\n")
    places = [place for place, line in enumerate(lines) if line.startswith("Tree=")]
    if "end of trees" not in lines:
        raise ModelError(
            "the LightGBM model is cut off: it has no line `end of trees`", hint="Save it again with `save_model`."
        )
    end = lines.index("end of trees")
    places = [place for place in places if place < end]
    above = lines[1 : places[0] if places else end]
    averages = AVERAGE in above  # a line without a value, of random forests
    header = _pairs([line for line in above if line != AVERAGE], _HEADER, _ITSELF)
    if header.get("version") not in VERSIONS:
        raise ModelError(
            f"the LightGBM model has format {shown(header.get('version'))}; read are {', '.join(VERSIONS)}",
            hint="Load it with a version that writes these, and save it again.",
        )
    outputs, objective = _objective(header)
    columns = whole(header, "max_feature_idx", 0, 2**24) + 1
    if len(places) % outputs:
        raise ModelError(f"{_DAMAGED} {len(places)} trees for {outputs} outputs")
    trees, sizes = [], list[int]()
    for number, (start, stop) in enumerate(pairwise([*places, end])):
        if lines[start] != f"Tree={number}":
            raise ModelError(f"{_DAMAGED} tree {number} has another number than its place")
        where = f"{_DAMAGED} tree {number}"
        if "is_linear=1" in lines[start:stop]:  # before its lines are known: such a tree has more of them
            raise UnreadableError(
                f"tree {number} of the LightGBM model has linear leaves, which is not supported",
                hint="Fit it with linear_tree=False: leaves that are numbers.",
            )
        sizes.append(sum(len(line.encode()) + 1 for line in lines[start:stop]))
        trees.append(f"Tree={number}\n{_tree(_pairs(lines[start + 1 : stop], _TREE, where), columns, where)}\n\n")
    if "tree_sizes" in header and wholes(header, "tree_sizes", len(trees), 0, 2**31 - 1, _ITSELF) != sizes:
        raise ModelError(f"{_DAMAGED} its tree_sizes are not the sizes of its trees")
    first = [
        "tree", f"version={header['version']}", f"num_class={outputs}", f"num_tree_per_iteration={outputs}",
        "label_index=0", f"max_feature_idx={columns - 1}", f"objective={objective}", *([AVERAGE] if averages else []),
        f"feature_names={' '.join(_names(header, columns))}",
        f"feature_infos={' '.join(_infos(header, columns))}",
        f"tree_sizes={' '.join(str(len(tree.encode())) for tree in trees)}",
    ]  # fmt: skip
    return "\n".join(first) + f"\n\n{''.join(trees)}end of trees\n\n{_categories(lines[end:], columns)}\n"


def _objective(header: Mapping[str, str]) -> tuple[int, str]:
    """How many scores there are, and the line `objective`."""
    given = header.get("objective", "")
    outputs = whole(header, "num_tree_per_iteration", 1, MOST_OUTPUTS)
    classes = whole(header, "num_class", 1, MOST_OUTPUTS)
    name, *options = given.split(" ")
    if name not in ("binary", *MANY, *NUMBERS, *EXPONENTIALS) or "sqrt" in options or (name in MANY) != (outputs > 1):
        raise UnreadableError(
            f"LightGBM's objective {given[:60]!r} with {outputs} outputs is not supported",
            hint=f"Supported are binary, multiclass, {', '.join((*NUMBERS, *EXPONENTIALS))}.",
        )
    named = dict(option.split(":", 1) for option in options if ":" in option)
    expected = "sigmoid" if name == "binary" else "num_class" if name in MANY else ""
    if len(named) != len(options) or set(named) - {expected} or classes != outputs:
        raise ModelError(f"{_DAMAGED} its objective is {given[:60]!r} for {classes} classes and {outputs} outputs")
    if name in MANY:
        if whole(named, "num_class", 1, MOST_OUTPUTS) != classes:
            raise ModelError(f"{_DAMAGED} its objective is {given[:60]!r}, and it has {classes} classes")
        return outputs, f"{name} num_class:{classes}"
    if "sigmoid" not in named:
        return outputs, name
    steep = named["sigmoid"]
    if not _NUMBER.fullmatch(steep) or not 1e-6 <= float(steep) <= 1e6:
        raise ModelError(f"{_DAMAGED} its sigmoid is {steep[:60]!r}")
    return outputs, f"{name} sigmoid:{steep}"


def _tree(given: Mapping[str, str], columns: int, where: str) -> str:
    """The lines of one tree."""
    leaves = whole(given, "num_leaves", 1, MOST_NODES, where)
    if given.get("is_linear", "0") != "0":
        raise ModelError(f"{where} has is_linear={given['is_linear'][:40]!a}")
    inner = leaves - 1
    if "shrinkage" in given:
        floats(given, "shrinkage", 1, where)
    sets = whole(given, "num_cat", 0, inner, where)
    values = floats(given, "leaf_value", leaves, where)
    made = [f"num_leaves={leaves}", f"num_cat={sets}"]
    if inner:
        kinds = wholes(given, "decision_type", inner, 0, 15, where)
        thresholds = floats(given, "threshold", inner, where, infinite=True)
        for node, (kind, threshold) in enumerate(zip(kinds, thresholds, strict=True)):
            if kind >> 2 == 3:
                raise ModelError(f"{where}, node {node} has an unknown decision_type ({kind})")
            if kind & 1 and not (_WHOLE.fullmatch(threshold) and 0 <= int(threshold) < sets):
                raise ModelError(f"{where}, node {node} has a set of categories out of range ({threshold[:30]})")
        made += [
            f"split_feature={_join(wholes(given, 'split_feature', inner, 0, columns - 1, where))}",
            f"threshold={_join(thresholds)}",
            f"decision_type={_join(kinds)}",
            *(
                f"{side}={_join(wholes(given, side, inner, -leaves, inner - 1, where))}"
                for side in ("left_child", "right_child")
            ),
        ]
    made.append(f"leaf_value={_join(values)}")
    if sets:
        bounds = wholes(given, "cat_boundaries", sets + 1, 0, MOST_NODES, where)
        if bounds[0] != 0 or bounds != sorted(bounds):
            raise ModelError(f"{where} has cat_boundaries that do not rise from 0")
        words = wholes(given, "cat_threshold", bounds[-1], 0, 2**32 - 1, where)
        made += [f"cat_boundaries={_join(bounds)}", f"cat_threshold={_join(words)}"]
    return "\n".join([*made, "is_linear=0", "shrinkage=1\n"])


def _names(header: Mapping[str, str], columns: int) -> list[str]:
    names = header.get("feature_names", "").split(" ")
    if len(names) != columns:
        raise ModelError(f"{_DAMAGED} {len(names)} feature_names for {columns} columns")
    for name in names:
        if not name or len(name) > LONGEST_TEXT or "\0" in name or len(name.splitlines()) != 1 or not writable(name):
            raise ModelError(f"{_DAMAGED} its feature_names hold an empty one, or signs that no name may hold")
    return names


def _infos(header: Mapping[str, str], columns: int) -> list[str]:
    infos = header.get("feature_infos", "").split(" ")
    if len(infos) != columns or not all(map(_INFO.fullmatch, infos)):
        raise ModelError(f"{_DAMAGED} its feature_infos do not fit its {columns} columns")
    return infos


def _categories(lines: Sequence[str], columns: int) -> str:
    """The last line: the categories of the columns that had any in training."""
    found = [line for line in lines if line.startswith("pandas_categorical:")]
    if not found:
        return "pandas_categorical:null"
    try:
        lists: Any = json.loads(found[-1].partition(":")[2])
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{_DAMAGED} its pandas_categorical is unreadable ({error})") from None
    lists = [] if lists is None else lists
    if not isinstance(lists, list) or len(lists) > columns or not all(isinstance(levels, list) for levels in lists):
        raise ModelError(f"{_DAMAGED} its pandas_categorical holds no lists of categories")
    for level in (level for levels in lists for level in levels):
        if not isinstance(level, (str, int, float, type(None))) or isinstance(level, str) and not writable(level):
            raise ModelError(f"{_DAMAGED} its pandas_categorical holds {shown(level)}, which is no category")
    return f"pandas_categorical:{json.dumps(lists)}"


# ------------------------------------------------------------------------------------------------- lines


def _pairs(lines: Sequence[str], known: Sequence[str], where: str) -> dict[str, str]:
    """The lines `key=value`, each key once."""
    found: dict[str, str] = {}
    for line in lines:
        if not line:
            continue
        key, sign, value = line.partition("=")
        if not sign or key not in known or key in found:
            raise ModelError(f"{where} has a line that is not known, or stands twice: {line[:40]!a}")
        found[key] = value
    return found


def whole(given: Mapping[str, str], key: str, least: int, most: int, where: str = _ITSELF) -> int:
    found = given.get(key)
    if found is None or not _WHOLE.fullmatch(found) or not least <= int(found) <= most:
        raise ModelError(f"{where} has {key}={shown(found)}, expected a whole number from {least} to {most}")
    return int(found)


def wholes(given: Mapping[str, str], key: str, count: int, least: int, most: int, where: str) -> list[int]:
    words = _words(given, key, count, where)
    if not all(map(_WHOLE.fullmatch, words)):
        raise ModelError(f"{where} has no numbers in {key}")
    found = list(map(int, words))
    if found and not least <= min(found) <= max(found) <= most:
        odd = next(number for number in found if not least <= number <= most)
        side = {"left_child": "its left child", "right_child": "its right child"}.get(key, key)
        raise ModelError(f"{where} has {side} out of range ({odd})")
    return found


def floats(given: Mapping[str, str], key: str, count: int, where: str, *, infinite: bool = False) -> list[str]:
    """So many numbers, as they stand."""
    words = _words(given, key, count, where)
    for word in words:
        if infinite and word in ("inf", "-inf"):
            continue
        if not _NUMBER.fullmatch(word):
            raise ModelError(f"{where} has no numbers in {key} ({word[:40]!a})")
        if math.isinf(float(word)):
            raise ModelError(f"{where} has a number in {key} that is not finite")
    return words


def _words(given: Mapping[str, str], key: str, count: int, where: str) -> list[str]:
    line = given.get(key, "")
    found = line.count(" ") + 1 if line else 0
    if found != count:  # Counted before they are taken apart: that takes thirty times as much.
        raise ModelError(f"{where} has {found} numbers in {key}, expected {count}")
    return line.split(" ") if line else []


def _join(words: Sequence[object]) -> str:
    return " ".join(map(str, words))
