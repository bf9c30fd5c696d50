"""A trained model as plain numbers: trees, layers, and the rule that turns scores into a decision.

In:  what a reader (in a library's folder of `compilers/`) found in a library's object, already checked.
Out: an `Ensemble`, a `Network` or a `Formula`, whose `scores` are the library's own floating-point numbers, in the
     library's own order of operations, and whose goals are comparisons between those scores.
Promise: nothing here rounds differently from the deployed model; what cannot be repeated bit by bit (matrix products
of networks, whose order of summation is not fixed) carries a rigorous margin, see `mace.tables.margins`.

A decision is always a disjunction of conjunctions of `Compare`: "class 1" is one comparison for two classes, K - 1 for
K classes; "anything but class 0" is a disjunction; a regression interval is two comparisons.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Kept
from mace.errors import GoalError
from mace.tables.members import Members, among

if TYPE_CHECKING:
    from mace.language import Program

Label: TypeAlias = Any
Rule: TypeAlias = Literal["argmax", "softmax", "positive", "nonnegative", "sigmoid", "value"]
Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison of float scores: `scores[plus] - scores[minus] >= than` (or `>` if strict).

    An absent side counts as zero; with both sides present `than` is 0, so that the comparison is the library's own
    between two floats, without a subtraction that could round.
    """

    plus: int | None
    minus: int | None
    than: float = 0.0
    strict: bool = False

    def holds(self, scores: Floats) -> bool:
        """Whether the comparison holds for float scores of shape (outputs,)."""
        left = float(scores[self.plus]) if self.plus is not None else self.than
        right = float(scores[self.minus]) if self.minus is not None else self.than
        if self.plus is None:  # 0 - s >= than, that is s <= -than
            left = -self.than
        return left > right if self.strict else left >= right


Decision: TypeAlias = tuple[tuple[Compare, ...], ...]  # a disjunction of conjunctions


def decided(decision: Decision, scores: Floats) -> bool:
    """Whether float scores of shape (outputs,) satisfy a decision."""
    return any(all(compare.holds(scores) for compare in part) for part in decision)


def runs(turns: Sequence[float], score: int) -> tuple[Decision, Decision]:
    """When a score lies in the first, third, ... and when in the second, fourth, ... run of floats.

    turns: rising; each begins a run.
    """
    ends = [None, *turns, None]
    found: tuple[list[tuple[Compare, ...]], list[tuple[Compare, ...]]] = ([], [])
    for number, (low, high) in enumerate(itertools.pairwise(ends)):
        part = [] if low is None else [Compare(score, None, low)]
        found[number % 2].append((*part, *([] if high is None else [Compare(None, score, -high, strict=True)])))
    return tuple(found[0]), tuple(found[1])


@dataclass(frozen=True, slots=True)
class Link:
    """How `predict_proba` follows from the scores; a reader that knows it says so in the field `link`.

    kind:  "fraction": the probability of class k is score k, bit by bit.
           "logistic": that of class 1 is 1 / (1 + exp(-(slope * s + shift))), that of class 0 is one minus it.
           "steps": that of class 1 is the piecewise linear function through `knots`, constant beyond them.
           "odds": that of class 1 is 1 / (1 + ((1 - s + 1e-12) / (s + 1e-12)) ** slope), s being a probability itself.
           "softmax": that of class k is exp of score k, over the sum of all of these.
           "exp", "expm1": of a model without classes; the number that it predicts is exp(s), or exp(s) - 1.
           "mean": that of class 1 is the mean of what `parts` say, each a monotone function of a score of its own.
    weights: of a "mean", how much each part counts beside the others; () where all count the same.
    score: for all but "fraction", "softmax" and "mean", which score s is.
    inside: s is not that score, but the probability of class 1 that this link makes of it.
    dtype: in which the library computes it: `mace.problem.goals` allows for its last bits.
    exact: "steps" that are `numpy.interp` of the float that it is given, bit by bit.
    """

    kind: Literal["fraction", "logistic", "steps", "odds", "softmax", "exp", "expm1", "mean"]
    slope: float = 1.0
    shift: float = 0.0
    score: int = 0
    dtype: Literal["float32", "float64"] = "float64"
    knots: tuple[tuple[float, float], ...] = ()
    inside: Link | None = None
    exact: bool = False
    parts: tuple[Link, ...] = ()
    weights: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One decision tree as arrays over its nodes; node 0 is the root.

    column:    (nodes,) the column tested, -1 for a leaf.
    threshold: (nodes,) compared with the column, see `Ensemble.test`.
    left, right: (nodes,) where a passed and a failed test lead, -1 for a leaf.
    value:     (nodes, outputs) what a leaf adds to the scores, exactly as the library adds it.
    missing_left: (nodes,) whether NaN goes left; None: it fails every test, so it goes right.
    members:   nodes that test a category instead: a row goes left if what the test sees lies in this set. Where a
               library sends categories that it never saw to the left, the reader swaps the branches.
    """

    column: Ints
    threshold: Floats
    left: Ints
    right: Ints
    value: Floats
    missing_left: Bools | None = None
    members: Mapping[int, Members] = field(default_factory=dict)

    @property
    def nodes(self) -> int:
        """How many nodes there are, leaves included."""
        return len(self.column)


_LEAVES: Kept[int] = Kept(1)  # every answer asks


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Ensemble:
    """A sum of trees: scores = (start + value_1 + value_2 + ...) / divide, added in this order in `dtype`.

    cast:   what the library does to a float64 input before the test ("float32" or "float64": nothing).
    test:   "<=" or "<": a row goes left if cast(x) test threshold.
    divide: the number of trees for a mean, 1 for a sum.
    ordered: False if the library may add the trees in another order (threads): the last bits of `scores` may differ.
    error:  how far a score of the library, times `divide`, may lie from what is added here beyond the rounding of these
            sums: for models that average, scale or squash on the way. 0: `scores` are the library's own.
    rule:   how scores give a class, see `class_decision`.
    decisions: one decision a class where `rule` does not say it (a calibrated model); None: the rule's.
    link:   how probabilities follow from the scores; None: no comparison of scores says it, or none is known.
    one:    what 1 of the library's score is here, where it scales its sums afterwards, about: that this rounds is well
            within what leads are said to. Goals and answers `in score` are in the library's.
    """

    trees: tuple[Tree, ...]
    columns: int
    start: Floats
    rule: Rule
    classes: tuple[Label, ...]
    cast: Literal["float32", "float64"] = "float32"
    test: Literal["<=", "<"] = "<="
    dtype: Literal["float32", "float64"] = "float64"
    divide: int = 1
    name: str = "ensemble"
    ordered: bool = True
    error: float = 0.0
    decisions: tuple[Decision, ...] | None = None
    link: Link | None = None
    one: float = 1.0

    @property
    def outputs(self) -> int:
        """How many scores the model has."""
        return len(self.start)

    @property
    def certain(self) -> bool:
        """Whether `scores` are the library's own to the last bit, and compare as its decisions do."""
        return self.ordered and not self.error and self.rule not in ("sigmoid", "softmax")

    @property
    def leaves(self) -> int:
        """How many leaves all trees have together."""
        return _LEAVES.get(self, None, lambda: sum(int(np.count_nonzero(tree.column < 0)) for tree in self.trees))

    def leaf(self, tree: Tree, row: Floats) -> int:
        """The leaf of `tree` that a row of shape (columns,) reaches."""
        seen, node = self.seen(row), 0
        while tree.column[node] >= 0:
            passed = self.seen_goes_left(tree, node, float(seen[tree.column[node]]))
            node = int(tree.left[node] if passed else tree.right[node])
        return node

    def seen(self, values: Floats) -> Floats:
        """What the tests see of float64 inputs: each one cast, as float64 again."""
        with np.errstate(over="ignore"):
            return values.astype(np.float32).astype(np.float64) if self.cast == "float32" else values

    def goes_left(self, tree: Tree, node: int, value: float) -> bool:
        """Whether a float64 value of the column that an inner node tests goes to its left."""
        return self.seen_goes_left(tree, node, float(self.seen(np.array([value], dtype=np.float64))[0]))

    def seen_goes_left(self, tree: Tree, node: int, seen: float) -> bool:
        """The same for a value as the tests see it."""
        if seen != seen:  # NaN
            return tree.missing_left is not None and bool(tree.missing_left[node])
        if node in tree.members:
            return among(tree.members[node], seen)
        threshold = float(tree.threshold[node])
        return seen <= threshold if self.test == "<=" else seen < threshold

    def passes(self, values: Floats, thresholds: Floats, missing_left: Bools | bool = False) -> Bools:
        """The tests of thresholds on float64 values; the three shapes are broadcast together."""
        seen = self.seen(values)
        passed = seen <= thresholds if self.test == "<=" else seen < thresholds
        return np.asarray(np.where(np.isnan(seen), missing_left, passed), dtype=np.bool_)

    def scores(self, row: Floats) -> Floats:
        """The library's own float scores of a row of shape (columns,); shape (outputs,), as float64."""
        return self.total([tree.value[self.leaf(tree, row)] for tree in self.trees])

    def total(self, values: list[Floats]) -> Floats:
        """Add what the trees' leaves give, in order and in `dtype`, and divide."""
        total = self.start.astype(self.dtype)
        for value in values:
            total = total + value.astype(self.dtype)
        if self.divide != 1:
            total = total / np.asarray(self.divide, dtype=self.dtype)
        return total.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One dense layer: z = x @ weights + bias, then the activation. weights (inputs, outputs), bias (outputs,)."""

    weights: Floats
    bias: Floats
    activation: Literal["relu", "identity"]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Network:
    """Dense layers, the last with activation "identity"; a linear model is the case of one layer.

    dtype: "float32" if the library may compute in float32 (weights stored so); margins then use that precision.
    decisions: one decision a class where `rule` does not say it; None: the rule's.
    link:  how probabilities follow from the scores; None: no comparison of scores says it, or none is known.
    """

    layers: tuple[Layer, ...]
    columns: int
    rule: Rule
    classes: tuple[Label, ...]
    name: str = "network"
    dtype: Literal["float32", "float64"] = "float64"
    decisions: tuple[Decision, ...] | None = None
    link: Link | None = None

    @property
    def outputs(self) -> int:
        """How many scores the model has."""
        return len(self.layers[-1].bias)

    def scores(self, row: Floats) -> Floats:
        """Float scores of a row of shape (columns,); the last bits depend on the order of summation."""
        values = row
        for layer in self.layers:
            values = values @ layer.weights + layer.bias
            if layer.activation == "relu":
                values = np.maximum(values, 0.0)
        return values


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Formula:
    """A model written in the core language over the features of the space; its result is the class."""

    program: Program
    classes: tuple[Label, ...]
    name: str = "program"


Table: TypeAlias = Ensemble | Network | Formula

# The largest double for which scipy's expit is not above 1/2: 1 + exp(-s) rounds to even (a test looks for it).
HALF_OF_SIGMOID = 1.5 * 2.0**-53


def class_decision(rule: Rule, outputs: int, index: int) -> Decision:
    """When the class with this index is the one decided, as comparisons of scores.

    argmax: the first of the largest scores wins. softmax: the same, but scores a few ulp apart may tie in the rounded
    exponentials, which `mace.tables.margins` allows for. positive / nonnegative: class 1 when the only score is > 0 /
    >= 0. sigmoid: class 1 when expit(score) > 1/2 in float64.
    Raises GoalError for a rule that has no classes.
    """
    if rule in ("argmax", "softmax"):
        return (tuple(Compare(index, other, strict=other < index) for other in range(outputs) if other != index),)
    if rule == "value":
        raise GoalError("a regression model has no classes; give an interval, for instance `300 <= y <= 350`")
    than, strict = {"positive": (0.0, True), "nonnegative": (0.0, False), "sigmoid": (HALF_OF_SIGMOID, True)}[rule]
    if index == 1:
        return ((Compare(0, None, than, strict),),)
    return ((Compare(None, 0, -than, not strict),),)


def predicted(table: Ensemble | Network, scores: Floats) -> Floats:
    """What a model without classes predicts for scores of shape (rows, outputs), up to the last bits of an exponential;
    shape (rows,)."""
    found: Floats = scores[:, 0]
    if table.link is not None:
        with np.errstate(over="ignore"):
            found = np.exp(found) if table.link.kind == "exp" else np.expm1(found)
    return found


def decision_of(table: Ensemble | Network, index: int) -> Decision:
    """When a model decides for the class with this index, as comparisons of its scores.

    Raises GoalError for a model whose classes no comparison of scores tells.
    """
    if table.decisions is not None:
        return table.decisions[index]
    if table.link is not None and table.link.kind == "mean":
        raise GoalError(
            f"the classes of {table.name} are told by a mean of probabilities, which is no comparison of scores",
            hint="Ask `mace.explain` for its class; or use one of its members, or ensemble=False.",
        )
    return class_decision(table.rule, table.outputs, index)


def decision_for(table: Ensemble | Network, labels: frozenset[Label] | set[Label]) -> Decision:
    """The decision "one of these classes", in the order of the model's classes.

    Raises GoalError when a label is not a class of the model.
    """
    unknown = [label for label in labels if label not in table.classes]
    if unknown:
        known = ", ".join(repr(label) for label in table.classes)
        raise GoalError(f"the goal {unknown[0]!r} is not a class of this model", hint=f"Its classes are {known}.")
    parts: list[tuple[Compare, ...]] = []
    for index, label in enumerate(table.classes):
        if label in labels:
            parts.extend(decision_of(table, index))
    return tuple(parts)
