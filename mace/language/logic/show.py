"""Print a path formula as an SMT-LIB 2.6 script, and a list of path formulae for people.

In:  a PathFormula.    Out: the text of a script that declares its symbols and asserts its ranges and its formula.
In:  what `path_list` gave.    Out: one formula on each line.
Promise: a solver that reads the script sees the same formula; the text is linear in the size of the formula (large
formulae share their parts through `let`), and the same formula always gives the same text.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from io import StringIO
from typing import TYPE_CHECKING

from pysmt.fnode import FNode
from pysmt.printers import HRPrinter
from pysmt.shortcuts import get_env
from pysmt.smtlib.printers import SmtDagPrinter, SmtPrinter
from pysmt.utils import quote

from mace.base.exact import text
from mace.language.logic.terms import plain_name, smt_name

if TYPE_CHECKING:
    from mace.language.logic.paths import PathFormula

LARGEST_TREE = 2000
"""Nodes, counted with repetition, up to which an assertion is printed without `let`, for people."""


def to_smtlib(formula: PathFormula) -> str:
    """The script of a path formula."""
    symbols = list(formula.inputs.values())
    others = (formula.formula.get_free_variables() | formula.ranges.get_free_variables()) - set(symbols)
    symbols += [*sorted(others - {formula.result}, key=FNode.symbol_name), formula.result]
    types = [get_env().stc.get_type(symbol) for symbol in symbols]
    lines = [f"(set-logic {_logic([str(kind) for kind in types])})"]
    lines += [
        f"(declare-fun {smt_name(plain_name(symbol))} () {kind.as_smtlib(funstyle=False)})"
        for symbol, kind in zip(symbols, types, strict=True)
    ]
    parts = [part for whole in (formula.ranges, formula.formula) for part in _conjuncts(whole)]
    lines += [f"(assert {_text(part)})" for part in parts]
    return "\n".join([*lines, "(check-sat)"]) + "\n"


def show_paths(paths: Sequence[FNode]) -> str:
    """Path formulae as text, one on each line; the characteristic formula is their disjunction."""
    lines = []
    for path in paths:
        out = StringIO()
        _People(out).printer(path)
        lines.append(out.getvalue())
    return "\n".join(lines) + "\n"


class TreePrinter(SmtPrinter):  # type: ignore[misc]  # pySMT has no types
    """A term without `let`, for people."""

    def name(self, formula: FNode) -> str:
        return str(formula.symbol_name())

    def walk_symbol(self, formula: FNode) -> None:
        self.write(smt_name(self.name(formula)))

    def walk_real_constant(self, formula: FNode) -> None:
        self.write(_constant(formula.constant_value()))


class DagPrinter(SmtDagPrinter):  # type: ignore[misc]  # pySMT has no types
    """A term that shares its parts through `let`."""

    def name(self, formula: FNode) -> str:
        return str(formula.symbol_name())

    def walk_symbol(self, formula: FNode, **_: object) -> str:
        return smt_name(self.name(formula))

    def walk_real_constant(self, formula: FNode, **_: object) -> str:
        return _constant(formula.constant_value())


class _Tree(TreePrinter):
    def name(self, formula: FNode) -> str:
        return plain_name(formula)


class _Dag(DagPrinter):
    def name(self, formula: FNode) -> str:
        return plain_name(formula)


class _People(HRPrinter):  # type: ignore[misc]  # pySMT has no types
    def walk_symbol(self, formula: FNode) -> None:
        self.write(quote(plain_name(formula), style="'"))


def _constant(number: Fraction) -> str:
    """A real number, of however many digits."""
    above, _, below = text(abs(number)).partition("/")
    shown = f"(/ {above} {below})" if below else f"{above}.0"
    return f"(- {shown})" if number < 0 else shown


def _logic(types: list[str]) -> str:
    if "Int" in types:
        return "QF_LIRA" if "Real" in types else "QF_LIA"
    return "QF_LRA" if "Real" in types else "QF_UF"


def _conjuncts(formula: FNode) -> list[FNode]:
    if formula.is_true():
        return []
    return list(formula.args()) if formula.is_and() else [formula]


def _text(formula: FNode) -> str:
    out = StringIO()
    (_Tree if _tree_size(formula) <= LARGEST_TREE else _Dag)(out).printer(formula)
    return out.getvalue()


def _tree_size(formula: FNode) -> int:
    """Nodes counted with repetition; each shared node is visited once."""
    sizes: dict[FNode, int] = {}
    todo = [formula]
    while todo:
        node = todo[-1]
        waiting = [arg for arg in node.args() if arg not in sizes]
        if waiting:
            todo.extend(waiting)
        else:
            sizes[node] = 1 + sum(sizes[arg] for arg in node.args())
            todo.pop()
    return sizes[formula]
