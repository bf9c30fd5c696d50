"""A wrong program carries its own message; limits are errors, never crashes."""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mace.errors import MaceError, ProgramError, RowError
from mace.language import (
    OPERATORS,
    Apply,
    Assign,
    Bool,
    If,
    Input,
    Int,
    Level,
    Name,
    Number,
    Op,
    Program,
    Return,
    Sort,
    Truth,
    check,
    interval,
    parse,
    parse_program,
    parse_rule,
    possible,
    run,
    run_straight,
    show,
    syntax,
    to_ssa,
)
from mace.language.logic import formula_of, path_list, terms, translate
from mace.language.show import RESERVED

BAD = sorted((Path(__file__).parent.parent / "corpus" / "bad" / "programs").glob("*.mace"))


@pytest.mark.parametrize("file", BAD, ids=lambda file: file.stem)
def test_a_wrong_program_gets_its_message(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    expected = text.split("\n")[0].removeprefix("# ERROR: ")
    with pytest.raises(ProgramError) as caught:
        parse_program(text, name=file.name)
    message = str(caught.value)
    assert expected in message
    assert file.name in message, "the message names the file"
    assert caught.value.hint, "the message names the next step"


def test_a_message_has_place_caret_and_next_step() -> None:
    with pytest.raises(ProgramError) as caught:
        parse_program("input age: int\nif age >= 18:\n    bonus = 1\ny = bonus + 1\nreturn y\n", name="credit.mace")
    assert str(caught.value) == (
        "credit.mace:4:5: `bonus` may be read before it is assigned (path: age < 18)\n"
        "    4 | y = bonus + 1\n"
        "      |     ^^^^^\n"
        "Assign `bonus` before the `if`, or in both branches."
    )


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("age >= ", "expected an expression, found the end of the text"),
        ("age + 1", "a rule is true or false, and this is a number"),
        ("aeg > 1", "Did you mean `age`?"),
        ("return age > 1", "A rule is one expression"),
        ("age > 1; age < 3", "`;` has no place in this language"),
        ("height > 1", "The names are age, owns"),
        ("age > 1 implies height > 1", "The names are age, owns."),
        ("", "expected an expression, found the end of the text"),
    ],
)
def test_a_wrong_rule_gets_its_message(text: str, fragment: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_rule(text, {"age": Int(), "owns": Bool()}, name="rule 1")
    assert fragment in str(caught.value)


def test_a_rule_keeps_the_inputs_that_it_reads() -> None:
    declared: dict[str, Sort | Input] = {
        "unused": Bool(),
        "capital-gain": Int(),
        "job": Input("any", Level(("Sales", "Tech"))),
    }
    rule = parse_rule("`capital-gain` == 0\n  or job > 'Sales'", declared)
    assert [one.name for one in rule.inputs] == ["capital-gain", "job"]
    assert run(rule, {"capital-gain": 3, "job": 1}) is True
    assert run(rule, {"capital-gain": 3, "job": 0}) is False
    assert parse_program(show(rule)) == rule


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        ({}, "no value for the input `age`"),
        ({"age": 17}, "`age` = 17 lies outside [18, 90]"),
        ({"age": Fraction(41, 2)}, "`age` is an int, and 41/2 is not whole"),
        ({"age": True}, "`age` is a number, and True is not an exact one"),
        ({"age": 20.0}, "`age` is a number, and 20.0 is not an exact one"),
        ({"age": 20, "owns": 1}, "`owns` is a bool, and 1 is not"),
        ({"age": 20, "owns": True, "job": 2}, "`job` has levels 0 to 1, and 2 is none of them"),
    ],
)
def test_a_wrong_row_gets_its_message(values: dict[str, Fraction | int | bool], fragment: str) -> None:
    program = parse_program(
        'input age: int in [18, 90]\ninput owns: bool\ninput job: one of "a", "b"\nreturn age > 20 and owns\n'
    )
    straight = to_ssa(program)
    with pytest.raises(RowError) as caught:
        run(program, values)
    assert fragment in str(caught.value)
    assert caught.value.hint
    with pytest.raises(RowError, match=re.escape(fragment)):
        run_straight(straight, values)


def test_a_box_needs_a_side_for_every_input_without_a_range() -> None:
    program = parse_program("input x: real\nreturn x > 0\n")
    with pytest.raises(RowError, match="the box has no side for `x`"):
        possible(program, {})
    with pytest.raises(RowError, match="is empty"):
        possible(program, {"x": (1, 0)})


def test_an_empty_path_list_is_refused_beyond_its_limit() -> None:
    lines = "".join(f"if x > {i}:\n    y{i} = 1\n" for i in range(100))
    program = parse_program(f"input x: real\n{lines}return x\n", name="long.mace")
    with pytest.raises(ProgramError, match=r"long.mace has about 10\^30 paths, more than the limit of 1,000"):
        path_list(program)
    with pytest.raises(ProgramError, match="no term is given"):
        translate(program, {}, "p.")


def test_programs_at_the_limit_of_nesting_go_through_every_door() -> None:
    # 199 blocks inside each other, and an expression 200 deep.
    statement: Return | If = Return(Number(Fraction(1)))
    for at in range(199):
        statement = If(Apply(Op.GT, (Name("x"), Number(Fraction(at)))), (statement,), (Return(Number(Fraction(at))),))
    value: Apply | Truth = Truth(value=True)
    for _ in range(200):
        value = Apply(Op.NOT, (value,))
    inputs = (Input("x", Int()),)
    for program in (Program(inputs, (), (statement,)), Program(inputs, (), (Return(value),))):
        check(program)
        assert parse_program(show(program)) == program
        straight = to_ssa(program)
        assert run(program, {"x": 7}) == run_straight(straight, {"x": 7})
        possible(program, {"x": (0, 300)})
        assert formula_of(straight).formula.args()


def test_programs_beyond_the_limit_of_nesting_are_refused() -> None:
    deep = (Return(Number(Fraction(1))),)
    for at in range(3000):
        deep = (If(Apply(Op.GT, (Name("x"), Number(Fraction(at)))), deep, ()),)  # type: ignore[assignment]
    for body in (deep, (Assign("y", sum_of(3000)), Return(Name("y")))):
        with pytest.raises(ProgramError, match="nested more than 200 deep"):
            check(Program((Input("x", Int()),), (), body))


def sum_of(depth: int) -> Apply:
    value = Apply(Op.NEGATE, (Name("x"),))
    for _ in range(depth):
        value = Apply(Op.ADD, (value, Name("x")))
    return value


def test_many_early_returns_are_refused_with_a_reason() -> None:
    text = "input x: int\n" + "".join(f"if x == {i}:\n    return {i}\n" for i in range(400)) + "return 0\n"
    with pytest.raises(ProgramError, match="nested more than 200 deep"):
        to_ssa(parse_program(text))


def test_a_text_that_is_too_long_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "MAX_BYTES", 1000)
    with pytest.raises(ProgramError, match="is longer than"):
        parse_program("# é\n" * 250)


@pytest.mark.parametrize(
    "text", ["\0", "\x85", "\udc80 = 1", "return 1 \u2028", "input ` `: int\nreturn 1\n", "`", "#"]
)
def test_odd_characters_are_refused_politely(text: str) -> None:
    with pytest.raises(MaceError):
        parse_program(text + "\n`")


def test_every_operator_has_a_signature_a_meaning_an_enclosure_and_a_term() -> None:
    # The package's `run` is the function; the module behind it has the table.
    for table in (OPERATORS, sys.modules["mace.language.run"].MEANING, interval.MEANING, terms.MEANING):
        assert set(table) == set(syntax.Op)


def test_reserved_words_are_those_of_the_grammar() -> None:
    grammar = (Path(syntax.__file__).parent / "core.lark").read_text(encoding="utf-8")
    listed = re.search(r"^NAME: /\(\?!\(\?:([^)]*)\)", grammar, re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split("|")) == RESERVED


GOLDEN = [path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "golden").glob("*.mace"))]
PIECES = [
    "\n",
    "    ",
    ":",
    "(",
    ")",
    '"',
    "`",
    "..",
    "-",
    " if ",
    " else ",
    "return ",
    "for i in 0..2:",
    "0",
    "x1",
    "#",
    "\t",
    "=",
]


@settings(max_examples=200, derandomize=True, deadline=None)
@given(st.sampled_from(GOLDEN), st.data())
def test_a_damaged_program_is_read_or_refused_with_a_place(text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + data.draw(st.sampled_from(PIECES)) + text[at + data.draw(st.integers(0, 6)) :]
    try:
        program = parse_program(text)
    except ProgramError as refused:
        problem = refused
    else:
        assert parse_program(show(program)) == program
        return
    assert problem.hint
    assert problem.span is not None


def test_a_number_that_is_not_exact_is_refused() -> None:
    with pytest.raises(ProgramError, match=r"0\.1 is not exact"):
        check(Program((), (), (Return(Number(0.1)),)))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_number_that_grows_in_a_loop_is_refused_where_it_grows() -> None:
    text = "input a: int in [1, 9]\ny = a\nfor i in 0..100000:\n    y = y * 1.0000000001\nreturn y >= 3\n"
    program = parse_program(text, "grow.mace")
    for ask in (lambda: run(program, {"a": Fraction(3)}), lambda: possible(program, {})):
        with pytest.raises(ProgramError, match=r"grow\.mace:4:9: a number grows to more than 65,536 bits here"):
            ask()


def test_sums_that_double_stay_small_and_are_computed() -> None:
    program = parse_program("input a: int in [1, 9]\ny = a / 3\nfor i in 0..99:\n    y = y + y\nreturn y\n")
    assert run(program, {"a": Fraction(2)}) == Fraction(2, 3) * 2**100
    assert possible(program, {}) == (Fraction(1, 3) * 2**100, 3 * Fraction(2**100))
