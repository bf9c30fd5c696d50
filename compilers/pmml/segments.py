"""Segments of a MiningModel that are for some rows only, as trees: the first that takes a row, or a part of a sum.

In:  of each segment, its predicate and its model.
Out: one model: a node for each segment asks its predicate, and the segment's own trees follow behind it
(`PmmlNode.inner`).
Promise: a row whose predicate is unknown is not taken by that segment, as one for which it is false. Rows that no
segment takes have no prediction.
Source: PMML 4.4, Multiple Models (dmg.org/pmml/v4-4/MultipleModels.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from mace.compilers.formats.xml import Element
from mace.compilers.pmml.content import Model, PmmlNode, Scores, Sum, Tree, Value, Votes, sums_of
from mace.compilers.pmml.predicates import TRUE, Predicate
from mace.compilers.pmml.tags import unsupported

_ONE = Fraction(1)
_ADDS = "a segment for some rows only, of a model that adds numbers up"
_HINT = "Explain the model of one segment; or write the segments as trees or scorecards, which may be for some rows."


def first_of(element: Element, predicates: Sequence[Predicate], models: Sequence[Model]) -> Model:
    """The model that decides as the first segment that takes a row; raises ModelError."""
    one = models[0]
    if isinstance(one, Votes):
        trees = []
        for model in models:
            if not isinstance(model, Votes) or len(model.members) != 1 or model.shares:
                raise unsupported(element, "the first of segments, one of which is no single tree", _HINT)
            trees.append(model.members[0][0])
        return Votes(((_chosen(predicates, trees), _ONE),), shares=False)
    alike = all(type(model) is type(one) and len(sums_of(model)) == len(sums_of(one)) for model in models)
    if not alike or len({getattr(model, "link", getattr(model, "exponential", None)) for model in models}) != 1:
        raise unsupported(element, "the first of segments with different links", _HINT)
    outputs = zip(*(sums_of(model) for model in models), strict=True)
    return _with_sums(one, [_first_sum(element, predicates, sums) for sums in outputs])


def where(element: Element, predicate: Predicate, total: Sum) -> Sum:
    """A sum for the rows of a segment, and 0 for all others."""
    terms = [(_only(predicate, tree), by) for tree, by in _trees(element, total)]
    terms.append((_only(predicate, _always(1.0)), total.start))
    return Sum(Fraction(0), tuple((tree, by) for tree, by in terms if by))


def _with_sums(model: Model, sums: Sequence[Sum]) -> Model:
    if isinstance(model, Scores):
        return replace(model, sums=tuple(sums))
    assert isinstance(model, Value)
    return replace(model, sum=sums[0])


def _first_sum(element: Element, predicates: Sequence[Predicate], sums: Sequence[Sum]) -> Sum:
    """The sum of the first segment that takes a row."""
    parts = [_trees(element, one) for one in sums]
    if all(len(part) == 1 and part[0][1] == 1 and not one.start for part, one in zip(parts, sums, strict=True)):
        return Sum(Fraction(0), ((_chosen(predicates, [part[0][0] for part in parts]), _ONE),))
    terms: list[tuple[Tree, Fraction]] = []
    zero = [_always(0.0)] * len(sums)
    for place, (part, one) in enumerate(zip(parts, sums, strict=True)):
        # The constant stays even where it is 0: rows that no segment takes have no prediction.
        for tree, by in (*part, (_always(1.0), one.start)):
            terms.append((_chosen(predicates, [*zero[:place], tree, *zero[place + 1 :]]), by))
    return Sum(Fraction(0), tuple(terms))


def _trees(element: Element, total: Sum) -> list[tuple[Tree, Fraction]]:
    found = [(term, by) for term, by in total.terms if isinstance(term, Tree)]
    if len(found) != len(total.terms):
        raise unsupported(element, _ADDS, _HINT)
    return found


def _chosen(predicates: Sequence[Predicate], trees: Sequence[Tree]) -> Tree:
    """The tree of the first predicate that holds."""
    below = (PmmlNode(predicate, inner=tree) for predicate, tree in zip(predicates, trees, strict=True))
    return Tree(PmmlNode(TRUE, below=tuple(below)))


def _only(predicate: Predicate, tree: Tree) -> Tree:
    """A tree where a predicate holds; else 0."""
    return Tree(PmmlNode(TRUE, below=(PmmlNode(predicate, inner=tree), PmmlNode(TRUE, 0.0))))


def _always(number: float) -> Tree:
    return Tree(PmmlNode(TRUE, number))
