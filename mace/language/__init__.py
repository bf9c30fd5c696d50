"""The core language: models, distances, rules and properties are all programs of it, with one meaning.

In:  text (`parse_program`, `parse_rule`), or nodes built by a compiler and accepted by `check`.
Out: values (`run`), enclosures of values (`possible`), text (`show`), single assignment form (`to_ssa`).
Promise: every road out of a program agrees with `run`.
Source: Karimi, Barthe, Balle, Valera 2020, appendix A.
"""

from mace.language.check import check
from mace.language.interval import possible
from mace.language.parse import parse_program, parse_rule
from mace.language.run import evaluate, run, run_straight
from mace.language.show import show
from mace.language.ssa import to_ssa
from mace.language.syntax import (
    OPERATORS,
    Apply,
    Assign,
    Block,
    Bool,
    Const,
    Expr,
    For,
    If,
    Input,
    Int,
    Level,
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Skip,
    Sort,
    Stmt,
    Straight,
    Text,
    Truth,
    Value,
    statements_of,
)

__all__ = [
    "OPERATORS", "Apply", "Assign", "Block", "Bool", "Const", "Expr", "For", "If", "Input", "Int", "Level", "Name",
    "Number", "Op", "Program", "Real", "Return", "Skip", "Sort", "Stmt", "Straight", "Text", "Truth", "Value",
    "check", "evaluate", "parse_program", "parse_rule", "possible", "run", "run_straight", "show",
    "statements_of", "to_ssa",
]  # fmt: skip
