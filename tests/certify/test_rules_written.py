"""A rule in a certificate means what the interpreter makes of it: two roads over all points of a small space."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from mace import Feature, Space
from mace.certify.rules import expression_of, holdable
from mace.certify.statement import _feature
from mace.errors import CertificateError
from mace.problem.programs import rule_of
from mace.proofs.kernel import world as kernel
from mace.proofs.kernel.axes import read_axis
from mace.space.axes import Axis, Side

SPACE = Space(
    [
        Feature("a", "integer", -2, 3),
        Feature("b", "real", 0, 2, step="1/2"),
        Feature("c", "categorical", levels=["u", "v", "w"]),
        Feature("d", "binary", levels=[False, True]),
    ]
)
AXES = SPACE.axes({"a": 0, "b": 0, "c": "u", "d": False})
POINTS = list(
    itertools.product(
        *(range(axis.lower, axis.upper + 1) if hasattr(axis, "lower") else axis.levels() for axis in AXES)
    )
)

HELD = [
    "true",
    "false",
    "a + b <= 2",
    "a - b > -1",
    "2 * a * 3 >= 6 * b",
    "b / 2 < a",
    "(a + 1) / -4 != b - 1",
    "-(1 + 2) <= a",
    "-3 < -a",
    "abs(a) == max(a, -a)",
    "min(a, b, 1) >= -1",
    "a == 1 or not (b != 1)",
    'c == "v" implies a > 0',
    'c != "w" and d == 1',
    "(d == 1) == (a > 0)",
    "(d == 1) != (a > 0)",
    "(a > 0) == (b > 1)",
    "true == (b > 1)",
    "a > 0 if b > 1 else d == 1",
    "(a > 0 and d == 1) if b > 1 else (a < 0 or not d == 1)",
    "0 * a == 0",
    "a / 4 * 2 >= 1",
    "-(2 * 3) / 4 <= a",
    "a * (6 / 4) > 1",
    "6 / 4 / 2 < a",
]
REFUSED = {
    "(a if d == 1 else b) > 0": "chooses between numbers",
    "x = a\nreturn x > 0": "several statements",
}


def meaning(expression: list[Any], values: list[Fraction]) -> Any:
    """What an expression of FORMAT.md says of a point, in exact numbers; written from the format alone."""
    name, *parts = expression
    if name == "x":
        return values[parts[0]]
    if name == "c":
        return Fraction(parts[0])
    if name == "*":
        return Fraction(parts[0]) * meaning(parts[1], values)
    found = [meaning(part, values) for part in parts]
    match name:
        case "true" | "false":
            return name == "true"
        case "+":
            return sum(found)
        case "neg":
            return -found[0]
        case "abs":
            return abs(found[0])
        case "min" | "max":
            return min(found) if name == "min" else max(found)
        case "and" | "or":
            return all(found) if name == "and" else any(found)
        case "not":
            return not found[0]
        case "<":
            return found[0] < found[1]
        case "<=":
            return found[0] <= found[1]
        case "==":
            return found[0] == found[1]
        case "!=":
            return found[0] != found[1]
        case _:
            raise AssertionError(name)


@pytest.mark.parametrize("text", HELD)
def test_a_rule_is_written_as_it_is_meant(text: str) -> None:
    rule = rule_of(text, SPACE)
    written = expression_of(rule)
    for point in POINTS:
        values = [Fraction(axis.value(place)) for axis, place in zip(AXES, point, strict=True)]
        assert meaning(written, values) is rule.holds(AXES, point), (point, written)


NESTED = [
    "not (a > 0 if b > 1 else a > -1)",
    "(b > 9 if a > 0 else b > 5)",
    "not ((d == 1 if a > 0 else a <= 3) and a <= 3)",
    "(a <= 3 if b > 1 else b <= 2) != (a >= -2 if d == 1 else true)",
    "(a > 3 if b > 1 else b > 2) == (a >= -2 if d == 1 else true)",
    "(b <= 2 if a > 0 else a <= 0 or a > 0) implies (a > 5 if d == 1 else a > 4)",
    "not (b <= 2 if (a <= 3 if d == 1 else a < 4) else a > 9)",
]


@pytest.mark.parametrize("text", [*HELD, *NESTED])
def test_a_checker_closes_each_box_that_the_interpreter_closes(text: str) -> None:
    # A prover cut boxes until `if` was undecided but its rule false all the same, and its certificate was refused.
    rule = rule_of(text, SPACE)
    judged = kernel.Rule(expression_of(rule), bytes(len(AXES)), "rules")
    axes = [read_axis(_feature(axis, Fraction(1)), "features")[0] for axis in AXES]
    closed = 0
    for box in itertools.product([(-2, 3), (-2, 0), (1, 3), (2, 2)], [(0, 4), (0, 2), (3, 4)], [7, 1, 6], [3, 1, 2]):
        if not rule.can_hold(dict(zip(SPACE.names, map(known, AXES, box), strict=True))):
            closed += 1
            assert not judged.possible(axes, box)[1], box
    assert closed or text not in NESTED


def known(axis: Axis, side: Side) -> Any:
    """The values of a side, as a rule is asked about them."""
    if isinstance(side, tuple):
        return axis.value(side[0]), axis.value(side[1])
    return {level for level in range(3) if side >> level & 1}


@pytest.mark.parametrize("text", REFUSED)
def test_what_the_format_cannot_express_is_refused_by_name(text: str) -> None:
    rule = rule_of(text, SPACE)
    assert not holdable(rule)
    with pytest.raises(CertificateError, match=REFUSED[text]):
        expression_of(rule)


def test_the_sign_of_a_constant_is_part_of_it() -> None:
    assert expression_of(rule_of("a >= -3", SPACE)) == ["<=", ["c", "-3"], ["x", 0]]


def test_what_is_kept_of_a_rule_is_of_that_rule_and_of_those_values() -> None:
    spaces = [Space([Feature(name, "integer", 0, 9) for name in names]) for names in (("a", "b"), ("b", "a"))]
    rules = [rule_of("a < b", space) for space in spaces]
    for _ in range(2):
        assert [expression_of(rule) for rule in rules] == [["<", ["x", 0], ["x", 1]], ["<", ["x", 1], ["x", 0]]]
        for rule, space in zip(rules, spaces, strict=True):
            axes = space.axes({"a": 0, "b": 0})
            said = {point: rule.holds(axes, point) for point in ((1, 2), (2, 1), (2, 2))}
            assert said == {(1, 2): space.names == ["a", "b"], (2, 1): space.names == ["b", "a"], (2, 2): False}
