"""PMML's TreeModel, as a `Tree`.

Source: PMML 4.4 (dmg.org/pmml/v4-4/TreeModel.html). weightedConfidence and aggregateNodes need several leaves at once:
rows for which they would have no prediction here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from mace.compilers.formats.xml import Element
from mace.compilers.pmml.content import PmmlNode, Strategy, Tree
from mace.compilers.pmml.expressions import written
from mace.compilers.pmml.fields import Scope
from mace.compilers.pmml.predicates import inside
from mace.compilers.pmml.tags import given, number, number_of, only_child, unsupported, word, wrong
from mace.compilers.tree_arrays import MOST_NODES
from mace.tables.table import Label

_STRATEGIES: dict[str, Strategy] = {
    "none": "none", "lastPrediction": "lastPrediction", "nullPrediction": "nullPrediction",
    "defaultChild": "defaultChild", "weightedConfidence": "nullPrediction", "aggregateNodes": "nullPrediction",
}  # fmt: skip
DEEPEST = 150


class Classes:
    """The classes of a model by the texts of its file, in order; `place` adds those that are not declared."""

    def __init__(self, kind: str, known: list[str]) -> None:
        self.kind, self.known = kind, list(dict.fromkeys(known))

    def place(self, text: str) -> int:
        """The number of a class."""
        name = written(text, self.kind)
        if name not in self.known:
            self.known.append(name)
        return self.known.index(name)

    def labels(self) -> tuple[Label, ...]:
        """The classes as people have them: texts, numbers or booleans."""

        def label(name: str) -> Any:
            if self.kind == "boolean" and name in ("true", "false"):
                return name == "true"
            try:
                number = float(name) if self.kind in ("integer", "float", "double") else math.nan
            except ValueError:
                return name
            return name if not math.isfinite(number) else int(number) if number.is_integer() else number

        return tuple(map(label, self.known))


def read_tree(element: Element, scope: Scope, classes: Classes | None) -> Tree:
    """The tree of a TreeModel; `classes` of a classification."""
    strategy = _STRATEGIES[word(element, "missingValueStrategy", tuple(_STRATEGIES), "none")]
    last = word(
        element, "noTrueChildStrategy", ("returnNullPrediction", "returnLastPrediction"), "returnNullPrediction"
    )
    word(element, "splitCharacteristic", ("binarySplit", "multiSplit"), "multiSplit")
    reader = _Nodes(scope, classes)
    root = reader.node(only_child(element, "Node"), 0)
    return Tree(root, strategy, last == "returnLastPrediction")


class _Nodes:
    def __init__(self, scope: Scope, classes: Classes | None) -> None:
        self.scope, self.classes, self.count = scope, classes, 0

    def node(self, element: Element, deep: int) -> PmmlNode:
        """A node and all below it."""
        self.count += 1
        if deep > DEEPEST or self.count > MOST_NODES:
            raise unsupported(element, f"a tree of more than {DEEPEST} levels, or {MOST_NODES} nodes")
        if (inner := element.first("DecisionTree", "Regression")) is not None:
            raise unsupported(inner, "a model inside of a node")
        children = element.all("Node")
        below = tuple(self.node(child, deep + 1) for child in children)
        wanted = element.attributes.get("defaultChild")
        ids = [child.attributes.get("id") for child in children]
        if wanted is not None and wanted not in ids:
            raise wrong(element, f"has no child {wanted[:40]!r}")
        default = None if wanted is None else ids.index(wanted)
        text = element.attributes.get("score")
        if self.classes is None:
            score = None if text is None else number_of(text, element, "score")
            return PmmlNode(inside(element, self.scope), score, (), below, default)
        shares = self._shares(element)
        place = None if text is None else self.classes.place(text)
        if place is None and shares:
            best = max(shares)
            if shares.count(best) > 1:
                raise unsupported(element, "a node without a score, whose best classes are equally frequent")
            place = shares.index(best)
        return PmmlNode(inside(element, self.scope), place, shares, below, default)

    def _shares(self, element: Element) -> tuple[float, ...]:
        """The probabilities of the classes, as far as they are known by now."""
        assert self.classes is not None
        listed = element.all("ScoreDistribution")
        if not listed:
            return ()
        told = ["probability" in one.attributes for one in listed]
        if any(told) != all(told):
            raise wrong(element, "has a probability for some classes only")
        held = [number(one, "probability" if all(told) else "recordCount") for one in listed]
        total = 1.0 if all(told) else sum(held)
        if total < 0 or any(one < 0 for one in held):
            raise wrong(element, "has frequencies below zero")
        if not total:  # No row of the training data came here: there are no probabilities.
            return ()
        found: dict[int, float] = {}
        for one, count in zip(listed, held, strict=True):
            found[self.classes.place(given(one, "value"))] = count / total
        return tuple(found.get(place, 0.0) for place in range(len(self.classes.known)))


def whole_shares(node: PmmlNode, count: int) -> PmmlNode:
    """The nodes with shares for all classes that were found in the end."""
    below = tuple(whole_shares(one, count) for one in node.below)
    shares = node.shares + (0.0,) * (count - len(node.shares)) if node.shares else ()
    inner = None if node.inner is None else replace(node.inner, root=whole_shares(node.inner.root, count))
    return replace(node, shares=shares, below=below, inner=inner)
