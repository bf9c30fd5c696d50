"""Read PMML: an Ensemble of what tests columns, or a Network of what adds their numbers up.

In:  the `Content` of a file.
Out: `read_content`: its table; `step_of`: what is done with a raw frame before, as the step of a pipeline.
     Trees, votes, scorecards and sums of them are an Ensemble over the raw columns, categories by their places in
     `Columns.names`. As soon as one number enters a sum as it is, the model is a Network of one layer, and whatever
     depends on one other column alone is a column of what it adds.
Promise: scores are exact up to the order of sums and the products with weights, which `error` bounds; where a file
leaves to each program in which order, or in which precision, sums are computed, or who wins a tie, that is in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.exact import exact, nearest
from mace.compilers.pmml.arithmetic import Operation
from mace.compilers.pmml.branches import Branches, Grown, Leaf, column_of, leaves_of
from mace.compilers.pmml.content import Content, Number, Scores, Sum, Tree, Value, Votes, fields_of, sums_of, terms_of
from mace.compilers.pmml.expressions import Cast, Norm
from mace.compilers.pmml.fields import Atoms, atoms_of
from mace.compilers.tree_arrays import checked_tree
from mace.errors import ModelError
from mace.space.columns import Step
from mace.tables.members import Members
from mace.tables.table import Ensemble, Floats, Layer, Link, Network, Rule
from mace.tables.table import Tree as TableTree

NO_PREDICTION = "no prediction"
"""The class of rows that lack nothing and that a tree, or a set of rules, says nothing of."""
_LAST = float(np.finfo(np.float64).max)
_UNIT, _UNIT_32 = 2.0**-53, 2.0**-24


class Line(NamedTuple):
    """A column of a Network: a raw column after operations, or what a tree of it adds; and its weight in each sum."""

    place: int
    steps: tuple[Step, ...]
    tree: Tree | None
    number: Number | None
    weights: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a model.

    atoms: of each raw column.    lacking, odd: places of those that may not be missing, or hold unnamed categories.
    lines: of a Network, its own columns; none for an Ensemble, which has the raw ones.
    open:  whether some rows that lack nothing have no prediction: to the table a class of its own, the last one.
    """

    atoms: tuple[Atoms, ...]
    lacking: frozenset[int]
    odd: frozenset[int]
    lines: tuple[Line, ...]
    open: bool = False


class Read(NamedTuple):
    """A table, and its columns."""

    table: Ensemble | Network
    columns: Columns


_READ: Kept[Read] = Kept(4)


def read_content(content: Content) -> Ensemble | Network:
    """The table of a file; raises ModelError."""
    return read_both(content).table


def read_both(content: Content) -> Read:
    """The table of a file, and its columns; raises ModelError."""
    return _READ.get(content, None, lambda: _read(content))


def _read(content: Content) -> Read:
    places = {source.name: place for place, source in enumerate(content.sources)}
    cuts: dict[str, set[float]] = {source.name: source.cuts() for source in content.sources}
    names: dict[str, set[str]] = {source.name: source.names() for source in content.sources}
    for term in terms_of(content.model):
        for field, test in fields_of(term):
            name = field.source.name
            if field.source.numeric and test is not None:
                cuts[name] |= test.cuts()
            names[name] |= field.names() if test is None else test.names()
    atoms = {
        source.name: atoms_of(source, places[source.name], cuts[source.name], names[source.name])
        for source in content.sources
    }
    alone = isinstance(content.model, Votes) and len(content.model.members) == 1
    branches = Branches(atoms, may_open=alone and NO_PREDICTION not in content.classes)
    try:
        if any(isinstance(term, Number) for term in terms_of(content.model)):
            network, lines = _network(content, branches)
            return Read(network, _columns(branches, lines))
        return Read(_ensemble(content, branches), _columns(branches, ()))
    except RecursionError:
        raise ModelError("the PMML model's trees are nested too deeply") from None


def _columns(branches: Branches, lines: tuple[Line, ...]) -> Columns:
    return Columns(
        tuple(branches.atoms.values()), frozenset(branches.lacking), frozenset(branches.odd), lines, branches.open
    )


# ------------------------------------------------------------------------------------------------- ensembles


def _ensemble(content: Content, branches: Branches) -> Ensemble:
    model, count = content.model, len(content.classes)
    if isinstance(model, Votes):
        return _votes(content, model, branches)
    sums = sums_of(model)
    trees, sizes, width = [], [], len(content.sources)
    divide = _divisor(sums)
    for output, total in enumerate(sums):
        for term, by in total.terms:
            assert isinstance(term, Tree)
            scale = by * divide

            def value(leaf: Any, output: int = output, scale: Fraction = scale) -> Floats:
                found = np.zeros(len(sums))
                found[output] = nearest(exact(leaf.score) * scale)
                return found

            trees.append(_arrays(branches.grown(term), width, value, np.zeros(len(sums))))
            sizes.append(float(np.abs(trees[-1].value).max(initial=0)))
    starts = np.array([nearest(total.start * divide) for total in sums])
    exactly = all(by * divide == 1 for total in sums for _, by in total.terms) and not content.single
    size = sum(sizes) + float(np.abs(starts).max())
    unit = _UNIT_32 if content.single else _UNIT
    alone = len(trees) == 1 and not starts.any() and exactly and divide == 1
    error = 0.0 if alone else (4 * len(trees) + 32) * unit * size
    rule: Rule = "value"
    if count:
        rule = "sigmoid" if len(sums) == 1 else "softmax"
        error += 32 * unit if content.single else 0.0
    return Ensemble(
        trees=tuple(trees), columns=width, start=starts, rule=rule, classes=content.classes, cast="float64", test="<=",
        divide=divide, name=_name(content), ordered=alone, error=error, link=_link(content),
    )  # fmt: skip


def _divisor(sums: Sequence[Sum]) -> int:
    """The number of terms, where each is divided by it; else 1."""
    parts = {by for total in sums for _, by in total.terms}
    if len(parts) == 1 and len(sums) == 1 and not sums[0].start:
        by = parts.pop()
        if by.numerator == 1:
            return by.denominator
    return 1


def _votes(content: Content, model: Votes, branches: Branches) -> Ensemble:
    """Trees that vote. One alone may predict a class that is not the most probable one."""
    count, width = len(content.classes), len(content.sources)
    alone = len(model.members) == 1
    total = sum((weight for _, weight in model.members), Fraction(0))
    shares = (
        model.shares
        or alone
        and all(_agrees(node.score, node.shares) for node in model.members[0][0].nodes() if node.score is not None)
    )
    whole = all(weight == 1 for _, weight in model.members)
    grown = [branches.grown(tree) for tree, _ in model.members]
    if branches.open:  # What rows without a prediction have for probabilities is not said.
        shares = False
    trees = []
    for (tree, weight), root in zip(model.members, grown, strict=True):
        if model.shares and any(node.score is not None and not node.shares for node in tree.nodes()):
            raise ModelError("PMML: a mean of probabilities of trees, some of whose nodes have none, is not supported")

        def value(leaf: Any, weight: Fraction = weight) -> Floats:
            held = leaf.shares if shares else [float(place == leaf.score) for place in range(count)]
            held = [*held, *([0.0] if branches.open else [])]
            return np.array([nearest(exact(one) * (1 if alone else weight)) for one in held])

        nothing = np.eye(count + 1)[count] if branches.open else np.zeros(count)
        trees.append(_arrays(root, width, value, nothing))
    size = float(total) * (1.0 + 1e-9)
    doubt = (4 * len(trees) + 32) * _UNIT_32 * size
    error = 0.0 if alone else 0.25 if whole and not shares else doubt if content.single else doubt * _UNIT / _UNIT_32
    return Ensemble(
        trees=tuple(trees), columns=width, start=np.zeros(count + branches.open), rule="argmax",
        classes=content.classes + ((NO_PREDICTION,) if branches.open else ()),
        cast="float64", test="<=", divide=len(trees) if whole else 1, name=_name(content), ordered=alone, error=error,
        link=Link("fraction") if shares and alone else None,
    )  # fmt: skip


def _agrees(score: float | int | None, shares: Sequence[float]) -> bool:
    """Whether a node predicts the first of its most probable classes."""
    return bool(shares) and list(shares).index(max(shares)) == score


def _link(content: Content) -> Link | None:
    model = content.model
    if isinstance(model, Value):
        return Link("exp", dtype="float32" if content.single else "float64") if model.exponential else None
    if isinstance(model, Scores) and model.link == "softmax" and len(model.sums) > 2:
        return Link("softmax", dtype="float32" if content.single else "float64")
    if isinstance(model, Scores) and model.link == "logit" and len(model.sums) == 1:
        return Link("logistic", dtype="float32" if content.single else "float64")
    return None


def _name(content: Content) -> str:
    return f"PMML {content.kind}"


def _arrays(root: Grown, columns: int, value: Any, nothing: Floats) -> TableTree:
    """One tree of plain arrays; `nothing`: of a leaf without a prediction."""
    left, column, threshold = list[int](), list[int](), list[float]()
    values, missing, members = list[Floats](), list[bool](), dict[int, Members]()
    waiting = [root]
    for here, node in enumerate(waiting):  # grows while it is read
        missing.append(False)
        if isinstance(node, Leaf):
            left.append(-1)
            column.append(-1)
            threshold.append(0.0)
            values.append(nothing if node.node is None else value(node.node))
            continue
        atoms = node.atoms
        left.append(len(waiting))
        column.append(atoms.place)
        values.append(nothing)
        end, swapped = _threshold(atoms, node.parts, node.rest)
        waiting += [node.right, node.left] if swapped else [node.left, node.right]
        parts = node.rest if swapped else node.parts
        missing[here] = bool(parts & atoms.missing)
        threshold.append(0.0 if end is None else end)
        if end is None:
            members[here] = _intervals(atoms, parts & (atoms.missing - 1))
    right = [-1 if child < 0 else child + 1 for child in left]
    return checked_tree("the PMML model", columns, left, right, column, threshold, np.array(values), missing, members)


class _Turn(NamedTuple):
    """The last number that goes to the left, None for a test of a set, and whether left and right change places."""

    end: float | None
    swapped: bool


def _threshold(atoms: Atoms, parts: int, rest: int) -> _Turn:
    """How a test asks whether a value lies in some parts, where it lies in these or in the rest."""
    left, right = (some & (atoms.missing - 1) for some in (parts, rest))
    if not left or not right:  # Only what is missing goes the other way; every number is up to the last one.
        return _Turn(_LAST, swapped=not left)
    if not atoms.source.numeric:
        return _Turn(None, swapped=False)
    for one, other, swapped in ((left, right, False), (right, left, True)):
        if one.bit_length() <= (other & -other).bit_length() - 1:
            return _Turn(atoms.ends[one.bit_length() - 1], swapped)
    return _Turn(None, swapped=False)


def _intervals(atoms: Atoms, present: int) -> Members:
    """Some parts as intervals of what the table sees."""
    found: list[tuple[float, float]] = []
    for part in range(atoms.count):
        if not present >> part & 1:
            continue
        low = high = float(part)
        if atoms.source.numeric:
            low = float(np.nextafter(atoms.ends[part - 1], np.inf)) if part else -_LAST
            high = atoms.ends[part] if part < len(atoms.ends) else _LAST
        if found and atoms.source.numeric and np.nextafter(found[-1][1], np.inf) == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return tuple(found)


# ------------------------------------------------------------------------------------------------- networks


def _network(content: Content, branches: Branches) -> tuple[Network, tuple[Line, ...]]:
    """One layer over the columns that enter the sums as they are, and those of which a tree makes what it adds."""
    sums = sums_of(content.model)
    lines: list[Line] = []
    for output, total in enumerate(sums):
        for term, by in total.terms:
            weights = [0.0] * len(sums)
            weights[output] = nearest(by)
            if exact(weights[output]) != by:
                raise ModelError("PMML: a product of coefficients that rounds is not supported beside numbers")
            lines.append(_line(term, tuple(weights), branches))
    merged: dict[Any, Line] = {}
    for line in lines:  # one column for a number, however many sums it enters
        key: Any = (line.place, line.steps) if line.tree is None else id(line.tree)
        if line.number is not None and not line.number.field.source.numeric:
            key = id(line.number)  # of one category there are many numbers
        old = merged.get(key)
        if old is None:
            merged[key] = line
        elif any(a and b for a, b in zip(old.weights, line.weights, strict=True)):
            merged[len(merged), key] = line
        else:
            merged[key] = old._replace(weights=tuple(a + b for a, b in zip(old.weights, line.weights, strict=True)))
    found = tuple(merged.values())
    bias = np.array([nearest(total.start) for total in sums])
    if any(exact(one) != total.start for one, total in zip(bias.tolist(), sums, strict=True)):
        raise ModelError("PMML: a sum of constants that rounds is not supported beside numbers")
    layer = Layer(np.array([line.weights for line in found]), bias, "identity")
    rule: Rule = "value" if not content.classes else "sigmoid" if len(sums) == 1 else "softmax"
    dtype: Literal["float32", "float64"] = "float32" if content.single else "float64"
    network = Network(
        (layer,), len(found), rule, content.classes, name=_name(content), dtype=dtype, link=_link(content)
    )
    return network, found


def _line(term: Tree | Number, weights: tuple[float, ...], branches: Branches) -> Line:
    if isinstance(term, Number):
        atoms = branches.atoms[term.field.source.name]
        if not atoms.source.numeric:
            _try_categories(term, atoms, branches)
            return Line(atoms.place, (), None, term, weights)
        try_missing(term, atoms, branches)
        return Line(atoms.place, _steps(term), None, term, weights)
    name = column_of(term)
    if name is None:
        raise ModelError(
            "PMML: a tree of several columns beside numbers that are added is not supported",
            hint="Write the model as trees alone, or as a line alone.",
        )
    atoms = branches.atoms[name]
    leaves = leaves_of(branches, term, atoms)
    if not atoms.source.numeric:
        return Line(atoms.place, (), term, None, weights)
    first = next(leaf for leaf in leaves if leaf is not None)
    values = [float((leaf or first).score or 0.0) for leaf in leaves[:-1]]
    edges = tuple(float(np.nextafter(end, np.inf)) for end in atoms.ends)
    return Line(atoms.place, (("steps", (edges, tuple(values))),), term, None, weights)


def try_missing(number: Number, atoms: Atoms, branches: Branches) -> None:
    """Note a column whose missing values leave a number missing."""
    if not atoms.usable & atoms.missing:
        return
    value = number.field.of(None)
    if value is None:
        branches.lacking.add(atoms.place)


def _try_categories(number: Number, atoms: Atoms, branches: Branches) -> None:
    """Note categories of which no number is made; raises ModelError for one that the file names."""
    for part in range(atoms.count + 1):
        if atoms.usable >> part & 1 and not isinstance(number.field.of(atoms.value(part)), float):
            branches.refuse({atoms.place: 1 << part})


def _steps(number: Number) -> tuple[Step, ...]:
    """The operations that make a number of its raw column, as `Column` has them; raises ModelError for others."""
    source, steps = number.field.source, list[Step]()
    whole = not source.valid or source.invalid in ("returnInvalid", "asIs")
    plain = source.outliers == "asIs" and not source.absent and not source.odd and whole
    for one in number.field.steps:
        if isinstance(one, Cast):
            continue
        if isinstance(one, Operation) and one.absent is None:
            steps += one.steps()
            continue
        if type(one).__name__ == "Expression" and one.absent is None:
            continue
        knots = one.knots if isinstance(one, Norm) else ()
        if len(knots) != 2 or not isinstance(one, Norm) or one.beyond != "asIs":
            plain = False
            break
        (x, y), (x2, y2) = knots
        if y == y2:
            plain = False
            break
        steps += [("sub", x), ("div", x2 - x), ("mul", y2 - y), ("add", y)]
    if not plain or not source.numeric:
        raise ModelError(
            f"PMML: a number made of `{source.name}` by knots, bins or limits is not supported where it is added as it "
            "is",
            hint="Make it a column of its own before the model.",
        )
    return tuple(steps)
