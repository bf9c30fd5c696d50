"""Files to JSON values, within limits: nothing here decides whether a certificate holds.

In:  a file, plain or gzip; the file of a model beside it.
Out: parsed JSON, or `Unusable`: too large, damaged, no JSON, numbers that are written in another way.
Promise: whatever a file holds, reading it ends, and what the kernel is then given is bounded.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from math import lcm
from pathlib import Path
from typing import Any

from mace.proofs.kernel.fields import once

MAX_BYTES = 512 * 2**20  # of the file, and of the text in it; a forest with a million leaves needs about 110 MB
MAX_DIGITS = 4000  # of a number in text
MAX_BITS = 100_000  # of the common denominator of the distance
MAX_FEATURES = 10_000
MAX_LEVELS = 10_000
MAX_NODES = 10_000_000  # of all trees together, and of the proof
MAX_RULE_NODES = 100_000
MAX_RULE_DIGITS = 100_000  # of all numbers of one rule
MAX_VALUES = 40_000_000  # of JSON in the text, lists and objects included
MAX_FORM_BITS = 2**32  # of the numbers of all forms, over their common denominator
MAX_ROWS = 20_000_000  # rows from which distances count, times what a statement has of features, columns and forms
MAX_COLUMNS = 100_000
MAX_CHAIN = 100  # operations that compute one column
MAX_LAYERS = 256
MAX_SPANS = 80_000_000  # sides of the boxes of all leaves of a forest, 40 bytes each if a claim reaches them all
MAX_HELD = 50_000_000  # entries of the lists that the open nodes of a proof keep, and of the margins of leaves

MAX_SEQUENCES = 5_000_000  # of actions, that a proof about plans keeps open
MAX_WORK = 1_000_000_000  # lines of a world, for every action of every node

MODEL = ".model.json.gz"  # how the name of a file ends that holds a model; before it stands the digest
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
LONG = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
OPENS = {
    "split": 1, "part": 1, "phase": 1, "near": 0, "prune": 0, "bounds": 0, "tighten": 0, "cliques": 0, "narrow": 0,
}  # fmt: skip


fraction = lru_cache(1 << 12)(Fraction)  # many certificates name the same few


class Unusable(Exception):  # noqa: N818
    """Why the input is no certificate at all."""


class SharedModel(dict[str, Any]):
    """A model that several certificates name; `known` is what the kernel made of it, once it did."""

    known: Any = None


@contextmanager
def uncollected() -> Iterator[None]:
    """Run without Python's collection of cycles, which visits all that the process holds again and again.

    Proofs are millions of small lists without cycles; to look for some took half the time of a check beside a library.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


# --- files -----------------------------------------------------------------------------------------------------------


def read_file(path: Path) -> bytes:
    """At most MAX_BYTES + 1 bytes of a regular file; raises Unusable for a pipe or a device, which has no end."""

    def regular(name: str, flags: int) -> int:
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise Unusable("this is no regular file")
        return handle

    with open(path, "rb", opener=regular) as file:
        return file.read(MAX_BYTES + 1)


def unpacked(raw: bytes) -> bytes:
    """The text in a file's bytes, gzip or not; raises Unusable."""
    if raw[:2] == b"\x1f\x8b":
        unpack = zlib.decompressobj(31)
        try:
            raw = unpack.decompress(raw, MAX_BYTES + 1)
        except zlib.error as error:
            raise Unusable(f"damaged gzip ({error})") from None
        if not unpack.eof and len(raw) <= MAX_BYTES:
            raise Unusable("the gzip file ends too early")
        if unpack.unused_data:
            raise Unusable("something follows the gzip data")
    within(len(raw), MAX_BYTES, "bytes of text")
    return raw


@uncollected()
def parse(raw: bytes) -> Any:
    """The JSON value in a file's bytes, gzip or not; raises Unusable."""

    def no_float(word: str) -> Any:
        raise Unusable(f"the number {word[:20]} is no integer; others are written as text")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Unusable("an object has the same field twice")
        return found

    try:
        raw = unpacked(raw)
        text_within(raw)
        if LONG.search(raw):
            raise Unusable(f"a number has more than {MAX_DIGITS} digits")
        found = raw.decode("utf-8")
        return json.loads(found, parse_float=no_float, parse_constant=no_float, object_pairs_hook=once)
    except RecursionError:
        raise Unusable("nested too deeply") from None
    except MemoryError:
        raise Unusable("it needs more memory than there is") from None
    except ValueError as error:  # of json, of utf-8, and of an integer with thousands of digits
        raise Unusable(f"no JSON text ({error})") from None


def load(path: str | Path, models: dict[str, Any] | None = None) -> Any:
    """The certificate in a file, with its model in it; raises Unusable, or OSError for the file itself.

    models: keeps the last model that was read, by digest, for the next certificate.
    """
    data = parse(read_file(Path(path)))
    statement = data.get("statement") if type(data) is dict else None
    if type(statement) is dict and type(statement.get("model")) is dict and "sha256" in statement["model"]:
        statement["model"] = shared_model(Path(path).parent, statement["model"], {} if models is None else models)
    return data


def shared_model(folder: Path, reference: dict[str, Any], models: dict[str, Any]) -> Any:
    """The model that `{"sha256": digest}` speaks of, from its file in a folder; raises Unusable."""
    digest = reference["sha256"]
    # Only hexadecimal digits become part of the name: no certificate leads to a file elsewhere.
    if len(reference) != 1 or type(digest) is not str or not DIGEST.fullmatch(digest):
        raise Unusable("statement: model: expected sha256 alone, with 64 hexadecimal digits")
    if digest not in models:
        path = folder / (digest + MODEL)
        advice = "copy it from the folder that the certificate was written to"
        if not path.is_file():
            raise Unusable(f"the model of this certificate is not beside it, in {path.name}: {advice}")
        try:
            raw = unpacked(read_file(path))
            found = hashlib.sha256(raw).hexdigest()
            if found != digest:
                raise Unusable(f"it holds something else, with the SHA-256 {found}")
            models.clear()  # one at a time: they may be large
            model = parse(raw)
            models[digest] = SharedModel(model) if type(model) is dict else model
        except (OSError, Unusable) as error:
            raise Unusable(f"{path.name}: {error}: {advice}") from None
    return models[digest]


def files_of(path: Path) -> list[Path]:
    """The certificates in a folder, by name; of anything else, or where there are none, itself."""
    inside = sorted(path.iterdir()) if path.is_dir() else []
    return [p for p in inside if p.name.endswith((".json", ".json.gz")) and not p.name.endswith(MODEL)] or [path]


# --- sizes -----------------------------------------------------------------------------------------------------------


def text_within(raw: bytes) -> None:
    """Raise Unusable for a longer text than a checker reads."""
    within(len(raw), MAX_BYTES, "bytes of text")
    within(raw.count(b",") + raw.count(b"[") + raw.count(b"{"), MAX_VALUES, "values")


def columns_within(data: Any) -> None:
    """Raise Unusable where a proof in columns stands for more nodes than a proof may have."""
    within(len(part(part(data, "proof"), "rules", str)), MAX_NODES, "nodes of the proof")


def bounded(data: Any) -> None:
    """Raise Unusable where the kernel would need more time or memory for a statement, or for what a proof keeps open,
    than a file of this size should cost. What does not look as it should is left to the kernel."""
    statement = part(data, "statement")
    features = [entry for entry in part(statement, "features", list) if type(entry) is dict]
    columns, rules = part(statement, "columns", list), part(statement, "rules", list)
    model = part(statement, "model")
    trees = [tree for tree in part(model, "trees", list) if type(tree) is dict]
    layers = [layer for layer in part(model, "layers", list) if type(layer) is dict]
    within(len(features), MAX_FEATURES, "features")
    for entry in features:
        count = entry.get("count")
        within(count if type(count) is int else 0, MAX_LEVELS, "levels")
    within(len(columns), MAX_COLUMNS, "columns")
    for column in columns:
        within(len(column[2]) if type(column) is list and len(column) > 2 and type(column[2]) is list else 0, MAX_CHAIN,
               "operations of a column")  # fmt: skip
    within(len(layers), MAX_LAYERS, "layers")
    goal = part(statement, "goal", list)
    sizes, compares = [len(part(tree, "column", list)) for tree in trees], sum(len(p) for p in goal if type(p) is list)
    forest_within(sizes, compares, len(features), lambda: map(depths, trees))
    rules_within(rules)
    denominator_within(features)
    forms = part(part(statement, "distance"), "forms", list)
    forms_within(features, forms)
    within(
        len(part(data, "rows", list)) * (len(columns) + len(features) * (1 + len(forms))), MAX_ROWS, "entries of rows"
    )
    proof = part(data, "proof", list)
    proofs = [proof, *plans_within(data, proof)]
    within(sum(map(len, proofs)), MAX_NODES, "nodes of the proof")
    hidden = sum(len(part(layer, "bias", list)) for layer in layers)
    kept = 1 + len(features) + len(trees) + 2 * hidden
    for one in proofs:
        # All states keep one list of the goal's parts, unless a node divides them.
        parts = len(goal) if any(type(node) is list and node[:1] == ["part"] for node in one) else 0
        # Cliques they share as well, unless a second node adds some to those of its own state.
        added = [len(node) - 1 for node in one if type(node) is list and node[:1] == ["cliques"]]
        cliques = sum(added) if len(added) > 1 else 0
        within(most_open(one) * (kept + parts + cliques), MAX_HELD, "entries that the proof keeps open")


def plans_within(data: Any, proof: list[Any]) -> list[list[Any]]:
    """Raise Unusable where a proof about plans would keep too much open, or take too long; the proofs of its ends."""
    if "world" not in data:
        return []
    actions = [one for one in part(part(data, "world"), "actions", list) if type(one) is dict]
    steps = sum(1 for node in proof if node == ["step"])
    within(steps * len(actions), MAX_SEQUENCES, "sequences of actions that the proof keeps open")
    lines = max((len(part(one, "lines", list)) + len(part(one, "then", list)) for one in actions), default=0)
    within(len(proof) * min(steps, len(actions)) * lines, MAX_WORK, "lines of the world to be run")
    return [node[1:] for node in proof if type(node) is list and node[:1] == ["end"]]


def within(number: int, most: int, what: str) -> None:
    """Raise Unusable if there are too many of something."""
    if number > most:
        raise Unusable(f"more than {most} {what}")


def part(data: Any, name: str, kind: type = dict) -> Any:
    """A field of an object, if it is there and of this kind; else an empty one."""
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, kind) else kind()


def forest_within(sizes: Sequence[int], compares: int, features: int, deep: Callable[[], Iterable[int]]) -> None:
    """Limit a forest, by the numbers of its trees' nodes, and of the comparisons of a goal.

    deep: for each tree the sum of its nodes' depths, which is asked for where it may matter.
    """
    nodes = sum(sizes)
    within(nodes, MAX_NODES, "nodes of trees")
    within(nodes * compares, MAX_HELD, "comparisons of leaves")
    if nodes * features > MAX_SPANS:
        spans = sum(min(depth, features * size) for depth, size in zip(deep(), sizes, strict=True))
        within(spans, MAX_SPANS, "sides of leaves")


def depths(tree: dict[str, Any]) -> int:
    """The sum of the depths of a tree's nodes."""
    column, left, right = part(tree, "column", list), part(tree, "left", list), part(tree, "right", list)
    depth = [0] * len(column)
    for n, children in enumerate(zip(left, right, strict=False)):
        for child in children:
            if type(child) is int and n < child < len(depth):
                depth[child] = depth[n] + 1
    return sum(depth)


@once
def rules_within(rules: list[Any]) -> None:
    """Limit each rule; statements about one space share them."""
    for rule in rules:
        rule_within(rule)


def rule_within(rule: Any) -> None:
    """Limit the parts of a rule, and the digits that a product of all its numbers may have."""
    todo, seen, digits = [rule], 0, 0
    while todo:
        node = todo.pop()
        seen += 1
        if type(node) is list:
            todo += node
        elif type(node) is str and node[-1:].isdigit():
            digits += len(node)
        if seen > 3 * MAX_RULE_NODES or digits > MAX_RULE_DIGITS:
            break
    within(seen, 3 * MAX_RULE_NODES, "parts of a rule")
    within(digits, MAX_RULE_DIGITS, "digits of a rule")


def denominator_within(features: list[dict[str, Any]]) -> None:
    """Limit the length of the numbers that count distances."""
    common = 1
    for entry in features:
        for name in ("weight", "scale"):
            try:
                number = fraction(entry.get(name, 1))
            except (TypeError, ValueError, ZeroDivisionError):
                continue
            common = lcm(common, number.denominator, number.numerator or 1 if name == "scale" else 1)
            within(common.bit_length(), MAX_BITS, "bits of the distance's common denominator")


def forms_within(features: list[dict[str, Any]], forms: list[Any]) -> None:
    """Limit the length of the numbers in forms, of which all have one denominator."""
    common, count = 1, 0
    steps = [entry.get(name) for entry in features for name in ("step", "extra")] if forms else []
    for entry in [*steps, *(entry for form in forms if type(form) is list for entry in form)]:
        for number in entry if type(entry) is list else [entry]:
            count += 1
            if type(number) is str and "/" in number:
                try:
                    common = lcm(common, Fraction(number).denominator)
                except (ValueError, ZeroDivisionError):
                    continue
                within(common.bit_length(), MAX_BITS, "bits of the forms' common denominator")
            within(count * common.bit_length(), MAX_FORM_BITS, "bits of forms")


def most_open(proof: list[Any]) -> int:
    """How many boxes of a proof are open at once, at most."""
    most = still = 1
    for node in proof:
        name = node[0] if type(node) is list and node else None
        still += OPENS.get(name, -1) if type(name) is str else -1
        most = max(most, still)
    return most
