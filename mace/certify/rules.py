"""Rules as expressions of proofs/FORMAT.md, section 2.6.

In:  a rule as people wrote it, an earlier objective's budget, or a condition on forms.
Out: the expression that a checker evaluates; raises CertificateError for a rule that is no single expression.
Promise: the expression means on every point what the rule means, and is false on every box on which the rule's own
enclosure is: `tests/certify/test_rules_written.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, assert_never

from mace.base.cache import Recent
from mace.base.exact import exact
from mace.certify import budgets
from mace.certify.numbers import text
from mace.errors import CertificateError
from mace.language.run import evaluate
from mace.language.syntax import Apply, Bool, Expr, Name, Number, Op, Return, Text, Truth, Value, fold, levels_of
from mace.problem.budget import Budget
from mace.problem.forms import FormsRule
from mace.problem.programs import Rule
from mace.space.axes import Axis

_TESTS = {Op.LT: "<", Op.LE: "<=", Op.EQ: "==", Op.NE: "!="}
_TURNED = {Op.GT: "<", Op.GE: "<="}
_SIMPLE = {Op.ADD: "+", Op.NEGATE: "neg", Op.ABS: "abs", Op.MIN: "min", Op.MAX: "max"}
_LOGIC = {Op.AND: "and", Op.OR: "or"}
_COMPARISONS = frozenset(_TESTS.values())
_TRUTHS = _COMPARISONS | {"true", "false", "and", "or", "not"}


class TwoForms(NamedTuple):
    """A part of a rule in two forms, which differ where a box leaves a test of `if` open but not what follows from it.

    A checker finds the first form false wherever the part is, and the second one true wherever the part is.
    """

    false: list[Any]
    true: list[Any]


def holdable(rule: Rule | Budget, axes: Sequence[Axis] = ()) -> bool:
    """Whether a certificate can hold a rule."""
    try:
        expression_of(rule, axes)
    except CertificateError:
        return False
    return True


def expression_of(rule: Rule | Budget, axes: Sequence[Axis] = ()) -> list[Any]:
    """A rule as an expression of FORMAT.md.

    Raises CertificateError for a rule that is no single expression, or that multiplies or chooses between numbers.
    """
    if isinstance(rule, Budget):
        return budgets.expression_of(rule, axes)
    if isinstance(rule, FormsRule):
        return _EXPRESSIONS.get(id(rule), lambda: (rule, budgets.expression_of_forms(rule)))[1]
    # The rule stays beside its expression, so that no other object has its identity meanwhile.
    return _EXPRESSIONS.get(id(rule), lambda: (rule, _expression_of(rule)))[1]


def comparison(rule: Rule | Budget, axes: Sequence[Axis], part: int) -> int:
    """Which of a rule's comparisons, in the order of its expression, is a part of what it joins by `and`."""
    todo, parts, before = [expression_of(rule, axes)], 0, 0
    while todo:
        node = todo.pop()
        if node[0] == "and":
            todo += reversed(node[1:])
            continue
        if parts == part:
            return before
        parts, before = parts + 1, before + _count(node)
    raise ValueError(f"the rule has no part {part}")


def _count(expression: list[Any]) -> int:
    """How many comparisons an expression holds."""
    todo, found = [expression], 0
    while todo:
        node = todo.pop()
        found += node[0] in _COMPARISONS
        todo += [part for part in node[1:] if isinstance(part, list)]
    return found


_EXPRESSIONS: Recent[tuple[Rule, list[Any]]] = Recent()


def _expression_of(rule: Rule) -> list[Any]:
    program = rule.program
    if len(program.body) != 1 or not isinstance(program.body[0], Return):
        raise CertificateError(f"the rule `{rule.source}` is a program of several statements")
    consts: dict[str, Value] = {}
    for const in program.consts:
        consts[const.name] = evaluate(const.value, consts)
    bools = {declared.name for declared in program.inputs if isinstance(declared.sort, Bool)}

    def combine(node: Expr, parts: Sequence[TwoForms]) -> TwoForms:
        if isinstance(node, Apply):
            return _applied(node.op, parts, rule)
        whole = single(node)
        return TwoForms(whole, whole)

    def single(node: Expr) -> list[Any]:
        match node:
            case Name(name=name) if name in consts:
                return _constant(consts[name])
            case Name(name=name):
                value = ["x", rule.reads[name]]
                return ["!=", value, ["c", "0"]] if name in bools else value
            case Number(value=number):
                return _constant(number)
            case Truth(value=truth):
                return _constant(truth)
            case Text():
                raise CertificateError(f"the rule `{rule.source}` has a text without a level beside it")
            case Apply():
                raise AssertionError("its parts come first")
            case _:
                assert_never(node)

    # What closes a box is that a rule is false in it.
    return fold(program.body[0].value, combine, levels_of(program.inputs)).false


def _constant(value: Value) -> list[Any]:
    if isinstance(value, bool):
        return ["true"] if value else ["false"]
    return ["c", text(Fraction(value))]


def _applied(op: Op, parts: Sequence[TwoForms], rule: Rule) -> TwoForms:
    if op is Op.NOT:
        return TwoForms(["not", parts[0].true], ["not", parts[0].false])
    if op in (Op.AND, Op.OR):
        name = _LOGIC[op]
        return TwoForms([name, *(part.false for part in parts)], [name, *(part.true for part in parts)])
    if op is Op.IMPLIES:
        before, after = parts
        return TwoForms(["or", ["not", before.true], after.false], ["or", ["not", before.false], after.true])
    if op in (Op.EQ, Op.NE) and parts[0].false[0] in _TRUTHS:
        one, two = parts
        same = TwoForms(
            ["or", ["and", one.false, two.false], ["not", ["or", one.true, two.true]]],
            ["or", ["and", one.true, two.true], ["not", ["or", one.false, two.false]]],
        )
        return same if op is Op.EQ else TwoForms(["not", same.true], ["not", same.false])
    if op is Op.IF:
        test, then, other = parts
        if then.false[0] not in _TRUTHS:
            raise CertificateError(f"the rule `{rule.source}` chooses between numbers with `if`")
        return TwoForms(
            ["or", ["and", test.false, then.false], ["and", ["not", test.true], other.false]],
            ["and", ["or", ["not", test.false], then.true], ["or", test.true, other.true]],
        )
    whole = _computed(op, [part.false for part in parts], rule)
    return TwoForms(whole, whole)


def _computed(op: Op, parts: list[Any], rule: Rule) -> list[Any]:
    """An operator on numbers, which have one form."""
    if op in (Op.TIMES, Op.DIVIDE):
        return _product(op, parts, rule)
    if op is Op.NEGATE and parts[0][0] == "c":
        return _constant(-exact(parts[0][1]))
    if op in _TURNED:
        return [_TURNED[op], parts[1], parts[0]]
    return [{**_TESTS, **_SIMPLE}[op], *parts]


def _product(op: Op, parts: list[Any], rule: Rule) -> list[Any]:
    """A product has one factor that is no constant, at most; it may be divided by a constant."""
    factor, varied = Fraction(1), []
    for place, part in enumerate(parts):
        if part[0] != "c":
            varied.append((place, part))
        elif op is Op.DIVIDE and place == 1:
            factor /= exact(part[1])
        else:
            factor *= exact(part[1])
    if len(varied) > 1 or (op is Op.DIVIDE and any(place == 1 for place, _ in varied)):
        raise CertificateError(f"the rule `{rule.source}` multiplies or divides features by each other")
    return ["*", text(factor), varied[0][1]] if varied else _constant(factor)
