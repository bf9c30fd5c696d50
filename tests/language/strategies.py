"""Well-formed programs and points for them, for the property tests."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from mace.language import (
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
    Stmt,
    Text,
    Truth,
    Value,
)

LEVELS = ("Sales", 'Te"ch', "Other")
INPUTS = (
    Input("age", Int(), Fraction(-3), Fraction(4)),
    Input("net income", Real(), Fraction(-2), Fraction(2)),
    Input("owns", Bool()),
    Input("job", Level(LEVELS)),
)
CONSTS = (Const("rate", Number(Fraction(1, 10))), Const("flag", Truth(True)), Const("third", Number(Fraction(1, 3))))

fractions = st.builds(Fraction, st.integers(-12, 12), st.sampled_from([1, 1, 2, 3, 10]))
divisors = st.builds(Fraction, st.sampled_from([-3, -1, 1, 2, 7]), st.sampled_from([1, 2, 3]))
points = st.fixed_dictionaries(
    {
        "age": st.integers(-3, 4),
        "net income": st.builds(Fraction, st.integers(-12, 12), st.just(6)),
        "owns": st.booleans(),
        "job": st.integers(0, 2),
    }
)

# Which names may be read here, by sort: (numbers, bools).
Names = tuple[frozenset[str], frozenset[str]]
START: Names = (frozenset({"age", "net income", "job", "rate", "third"}), frozenset({"owns", "flag"}))
CONSTANT = ("rate", "third")


@st.composite
def numbers(draw: st.DrawFn, names: Names, depth: int) -> Expr:
    form = draw(st.integers(0, 9)) if depth else draw(st.integers(0, 1))
    if form == 0:
        return Number(draw(fractions))
    if form == 1 or not depth:
        return Name(draw(st.sampled_from(sorted(names[0]))))
    inner = numbers(names, depth - 1)
    if form in (2, 3):
        return Apply(Op.ADD, tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if form == 4:
        factor = st.builds(Number, fractions) | st.builds(Name, st.sampled_from(CONSTANT))
        factors: list[Expr] = [draw(inner), *draw(st.lists(factor, min_size=1, max_size=2))]
        return Apply(Op.TIMES, tuple(draw(st.permutations(factors))))
    if form == 5:
        divisor = st.builds(Number, divisors) | st.builds(Name, st.sampled_from(CONSTANT))
        return Apply(Op.DIVIDE, (draw(inner), draw(divisor)))
    if form == 6:
        return Apply(draw(st.sampled_from([Op.MIN, Op.MAX])), tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if form == 7:
        return Apply(draw(st.sampled_from([Op.ABS, Op.NEGATE])), (draw(inner),))
    if form == 8:
        return Apply(Op.IF, (draw(bools(names, depth - 1)), draw(inner), draw(inner)))
    return draw(inner)


@st.composite
def bools(draw: st.DrawFn, names: Names, depth: int) -> Expr:
    form = draw(st.integers(0, 8)) if depth else draw(st.integers(0, 1))
    if form == 0:
        return Truth(draw(st.booleans()))
    if form == 1 or not depth:
        return Name(draw(st.sampled_from(sorted(names[1]))))
    inner = bools(names, depth - 1)
    number = numbers(names, depth - 1)
    compare = st.sampled_from([Op.EQ, Op.NE, Op.LT, Op.LE, Op.GT, Op.GE])
    if form in (2, 3):
        return Apply(draw(compare), (draw(number), draw(number)))
    if form == 4:
        pair: list[Expr] = [Name("job"), Text(draw(st.sampled_from(LEVELS)))]
        return Apply(draw(compare), tuple(draw(st.permutations(pair))))
    if form == 5:
        return Apply(draw(st.sampled_from([Op.AND, Op.OR])), tuple(draw(st.lists(inner, min_size=2, max_size=3))))
    if form == 6:
        return Apply(Op.NOT, (draw(inner),))
    if form == 7:
        return Apply(draw(st.sampled_from([Op.IMPLIES, Op.EQ, Op.NE])), (draw(inner), draw(inner)))
    return Apply(Op.IF, (draw(inner), draw(inner), draw(inner)))


def expressions(names: Names, result: str, depth: int = 2) -> st.SearchStrategy[Expr]:
    return numbers(names, depth) if result == "number" else bools(names, depth)


@st.composite
def blocks(draw: st.DrawFn, names: Names, result: str, depth: int, returns: bool) -> tuple[Block, Names]:
    """A block and the names that may be read after it; it returns on all paths, or on none but its early returns."""
    body: list[Stmt] = []
    for _ in range(draw(st.integers(0 if returns else 1, 3))):
        form = draw(st.integers(0, 7))
        if form <= 2 or not depth:
            sort = draw(st.sampled_from(["number", "bool"]))
            name = draw(st.sampled_from(["t", "total"] if sort == "number" else ["ok", "is"]))
            body.append(Assign(name, draw(expressions(names, sort))))
            names = (names[0] | {name}, names[1]) if sort == "number" else (names[0], names[1] | {name})
        elif form == 3:
            body.append(Skip())
        elif form == 4:
            index = f"i{depth}"
            first = draw(st.integers(-1, 2))
            inside, after = draw(blocks((names[0] | {index}, names[1]), result, depth - 1, returns=False))
            body.append(For(index, first, first + draw(st.integers(0, 2)), inside))
            names = (after[0] - {index}, after[1])
        elif form == 5:
            early, _ = draw(blocks(names, result, depth - 1, returns=True))
            test = draw(expressions(names, "bool"))
            swap = draw(st.booleans())
            other, after = draw(blocks(names, result, depth - 1, returns=False)) if swap else ((), names)
            body.append(If(test, other, early) if swap else If(test, early, ()))
            names = after
        else:
            test = draw(expressions(names, "bool"))
            then, one = draw(plain(blocks(names, result, depth - 1, returns=False)))
            other, two = draw(plain(blocks(names, result, depth - 1, returns=False)))
            if form == 7:
                other, two = (), names
            body.append(If(test, then, other))
            names = (one[0] & two[0], one[1] & two[1])
    if returns:
        if depth and draw(st.booleans()):
            test = draw(expressions(names, "bool"))
            then, _ = draw(blocks(names, result, depth - 1, returns=True))
            other, _ = draw(blocks(names, result, depth - 1, returns=True))
            body.append(If(test, then, other))
        else:
            body.append(Return(draw(expressions(names, result))))
    return tuple(body), names


def plain(strategy: st.SearchStrategy[tuple[Block, Names]]) -> st.SearchStrategy[tuple[Block, Names]]:
    """Only blocks without early returns: where both branches go on, none of them may have returned."""
    return strategy.filter(lambda drawn: "Return(" not in repr(drawn[0]))


@st.composite
def programs(draw: st.DrawFn, depth: int = 2) -> Program:
    result = draw(st.sampled_from(["number", "bool"]))
    body, _ = draw(blocks(START, result, depth, returns=True))
    return Program(INPUTS, CONSTS, body)


Point = dict[str, Value]
