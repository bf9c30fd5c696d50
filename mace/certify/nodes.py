"""Nodes of a proof as the lists of proofs/FORMAT.md, section 6.

In:  a node as a prover built it, and the question it is about.    Out: the list that stands for it in a certificate.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, assert_never

from mace.certify.models import float_text, numbering
from mace.certify.numbers import text
from mace.certify.rules import comparison
from mace.errors import CertificateError
from mace.problem.distance import Norm
from mace.problem.lines import FINEST
from mace.problem.proof import (
    Bounds,
    Cliques,
    Dual,
    End,
    FromRow,
    GoalPart,
    Leaf,
    Multipliers,
    Narrow,
    Phase,
    Priced,
    Prices,
    ProofNode,
    Split,
    Tighten,
)
from mace.problem.question import Question
from mace.solve.ensembles.arrays.cuts import trees_of
from mace.space.axes import GridAxis
from mace.tables.table import Ensemble, Table

PRICED = ("prices", "narrow")  # nodes whose parts have prices


def _prices(part: Prices, question: Question) -> dict[str, Any]:
    model = question.model
    assert isinstance(model, Ensemble)
    place, roots = numbering(model).place, trees_of(model).roots
    return {
        "goal": [text(q) for q in part.goal],
        "largest": [[int(j), text(q)] for j, q in sorted(part.largest.items())],
        "unit": text(part.unit),
        "prices": sorted([t, int(place[roots[t] + node]), price] for t, node, price in part.prices),
        **_cliques(part),
        **_forms(part),
        **_rules(part, question),
    }


def _cliques(part: Prices) -> dict[str, Any]:
    """The prices of cliques, where there are some."""
    if not part.cliques:
        return {}
    numbers, units = zip(*part.cliques, strict=True)
    return {"cliques": {"numbers": steps_of(numbers), "units": [*units]}}


def steps_of(numbers: Iterable[int]) -> list[int]:
    """By how much each of some numbers in order exceeds the one before; the first as it is."""
    return [own - before for before, own in pairwise([0, *numbers])]


def _leaves(clique: Sequence[tuple[int, int]], model: Table) -> list[int]:
    """The leaves of a clique, numbered through all trees."""
    assert isinstance(model, Ensemble)
    numbers, roots = numbering(model), trees_of(model).roots
    return steps_of(sorted(int(numbers.begin[t] + numbers.place[roots[t] + n]) for t, n in clique))


def _span(question: Question, j: int, low: int, high: int) -> list[Any]:
    """An axis and what stays of it: a span of a grid, a mask of levels."""
    return [j, [low, high] if isinstance(question.axes[j], GridAxis) else low]


def prices_in_columns(node: list[Any], model: Table) -> list[Any]:
    """A node whose prices, if it has some, are in two columns, of which gzip makes half as much as of entries."""
    if node[0] not in PRICED:
        return node
    assert isinstance(model, Ensemble)
    begin, parts = numbering(model).begin.tolist(), []
    first = 1 if node[0] == "prices" else 2
    for part in node[first:]:
        steps = steps_of(begin[t] + n for t, n, _ in part["prices"])
        parts.append({**part, "prices": {"nodes": steps, "units": [price for _, _, price in part["prices"]]}})
    return [*node[:first], *parts]


def _forms(part: Prices | Multipliers) -> dict[str, Any]:
    """The multipliers of forms, where there are some."""
    return {"forms": list(part.forms)} if part.forms else {}


def _rules(part: Prices | Multipliers, question: Question) -> dict[str, Any]:
    """The multipliers of what rules compare, where there are some."""
    if part.rules and isinstance(question.distance, Norm) and question.distance.finest < FINEST:
        raise CertificateError(
            "the weights make distances too small for a certificate that rests on what rules compare; give larger ones"
        )
    found = [[k, comparison(question.rules[k], question.axes, n), text(q)] for k, n, q in part.rules]
    return {"rules": found} if found else {}


def node_text(node: ProofNode, question: Question) -> list[Any]:
    """A node of a proof about a question."""
    model = question.model
    match node:
        case Split(axis=axis, at=at):
            return ["split", int(axis), int(at)]
        case GoalPart(number=number):
            return ["part", int(number)]
        case Phase(layer=layer, unit=unit):
            return ["phase", int(layer), int(unit)]
        case Bounds():
            return ["bounds"]
        case Tighten(ends=ends):
            return ["tighten", *(_end(end, question) for end in ends)]
        case Leaf(rule="cell") if isinstance(model, Ensemble) and (model.error or not model.ordered):
            # The order of the sums is not known, and does not matter: the prover closes such a cell only where they are
            # exact in any order. Then the sum of the leaves that are left misses, too.
            return ["trees"]
        case Leaf(rule="divided"):
            return ["empty"]
        case Leaf(rule=rule, number=number):
            return [rule, int(number)] if rule in ("avoid", "rule") else [rule]
        case Dual(parts=parts):
            return ["dual", *(_multipliers(part, question) for part in parts)]
        case Priced(parts=parts):
            return ["prices", *(_prices(part, question) for part in parts)]
        case Narrow(spans=spans, parts=parts):
            return ["narrow", [_span(question, *one) for one in spans], *(_prices(part, question) for part in parts)]
        case Cliques(cliques=cliques):
            return ["cliques", *(_leaves(one, question.model) for one in cliques)]
        case FromRow():
            raise CertificateError("proofs from several rows stand in a certificate of their own")
        case _:
            assert_never(node)


def _end(end: End, question: Question) -> list[Any]:
    parts = [_multipliers(part, question) for part in end.parts]
    return [int(end.layer), int(end.unit), int(end.end), float_text(end.theta), *parts]


def _multipliers(part: Multipliers, question: Question) -> dict[str, Any]:
    return {
        "goal": [text(q) for q in part.goal],
        "slopes": [[int(layer), int(unit), text(q)] for (layer, unit), q in sorted(part.slopes.items())],
        "phases": [[int(layer), int(unit), text(q)] for (layer, unit), q in sorted(part.phases.items())],
        "largest": [[int(j), text(q)] for j, q in sorted(part.largest.items())],
        **_forms(part),
        **({"changes": text(part.changes)} if part.changes else {}),
        **_rules(part, question),
    }
