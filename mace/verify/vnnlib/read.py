"""Read a property in VNN-LIB: boxes of inputs, and what the outputs must be for the answer "sat".

In:  a `.vnnlib` file, or one compressed by gzip (`.vnnlib.gz`).
Out: a `Specification`: cases, each with a box and linear inequalities over the outputs; "sat" if some input of some
     case has such outputs.
Promise: the cases together mean what the file says. A mistake, or what is not read (other logics), is a ProgramError
with line and column.
Source: as `declared`, and the rules of VNN-COMP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, TypeAlias

from mace.base.files import no_text, read_unpacked
from mace.errors import FileError
from mace.verify.vnnlib.declared import Declared, Tensor
from mace.verify.vnnlib.formula import Atom, Formulae, Variable
from mace.verify.vnnlib.text import Expression, Text

_End: TypeAlias = tuple[Fraction, bool]  # and whether it is left out
LARGEST = 2**26  # bytes, unpacked
SILENT = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")


class Ends(NamedTuple):
    """The box of a case: one number for each input."""

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """Inputs in a box, and inequalities over the outputs.

    relations: those over several inputs, or over inputs and outputs. atoms: all of the case, those of the box too.
    """

    box: Ends
    outputs: tuple[Atom, ...]
    relations: tuple[Atom, ...]
    atoms: tuple[Atom, ...]


@dataclass(frozen=True, eq=False)
class Specification:
    """What would make the answer "sat": an input of some case whose outputs obey its inequalities.

    tensors: the input and the output as version 2 of VNN-LIB declares them; empty for version 1.
    """

    name: str
    inputs: int
    outputs: int
    cases: tuple[Case, ...]
    tensors: tuple[Tensor, ...] = ()


def read_property(path: str | Path) -> Specification:
    """The property in a file; raises FileError, and ProgramError with line and column."""
    path = Path(path)
    raw = read_unpacked(path, LARGEST, "Give a property in VNN-LIB.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {no_text(error)}", hint="Give a property in VNN-LIB.") from None
    return parse_property(text, str(path))


def parse_property(source: str, name: str = "the property") -> Specification:
    """The property in a text; raises ProgramError with line and column."""
    text = Text(source, name)
    declared = Declared(text)
    asserted: list[Expression] = []
    for given in text.expressions():
        match given.head:
            case "declare-const" | "declare-fun" | "vnnlib-version" | "declare-network":
                declared.read(given)
            case "assert":
                if len(given.items) != 2:
                    text.wrong("`assert` is given one formula", given)
                asserted.append(given.items[1])
            case head if head in SILENT:
                pass
            case head if head or not given.atom:
                text.wrong(f"`{head or '()'}` is not read", given)
            case _:
                text.wrong(
                    f"`{given.atom}` is not read", given, "A property in VNN-LIB is made of expressions in parentheses."
                )
    inputs, outputs = (declared.count(letter) for letter in "XY")
    parts = Formulae(text, declared.variable).all_of(asserted)
    cases = [_case(declared, part, inputs) for part in parts]
    tensors = tuple(declared.tensors.values())
    return Specification(name, inputs, outputs, tuple(case for case in cases if case is not None), tensors)


def _case(declared: Declared, atoms: tuple[Atom, ...], inputs: int) -> Case | None:
    """The box and the inequalities of a conjunction; None if no input obeys it."""
    lower: list[Fraction | None] = [None] * inputs
    upper: list[Fraction | None] = [None] * inputs
    outputs, relations, strict = list[Atom](), list[Atom](), list[tuple[int, Atom]]()
    for atom in atoms:
        letters = {variable.letter for variable in atom.coefficients}
        if not letters:
            if not atom.holds({}):
                return None
        elif letters == {"Y"}:
            outputs.append(atom)
        elif letters == {"X"} and len(atom.coefficients) == 1:
            ((variable, factor),) = atom.coefficients.items()
            end = atom.least / factor
            if atom.strict:
                strict.append((variable.number, atom))
            if factor > 0:
                lower[variable.number] = _largest(lower[variable.number], end)
            else:
                upper[variable.number] = _least(upper[variable.number], end)
        else:
            relations.append(atom)
    for number in range(inputs):
        if lower[number] is None or upper[number] is None:
            side = "lower" if lower[number] is None else "upper"
            there = next((atom.there for atom in atoms), None)
            start, end_ = (there.start, there.end) if there is not None else (0, 1)
            name = declared.called(Variable("X", number))
            message = f"{name} has no {side} bound in this case"
            declared.text.refuse(message, start, end_, "Each input lies between two numbers.")
    box = Ends(*(tuple(end for end in ends if end is not None) for ends in (lower, upper)))
    if any(low > high for low, high in zip(*box, strict=True)):
        return None
    for number, atom in strict:  # the box is closed: of one value a strict inequality may leave nothing
        if box.lower[number] == box.upper[number] and not atom.holds({Variable("X", number): box.lower[number]}):
            return None
    return None if _contradict([*outputs, *relations]) else Case(box, tuple(outputs), tuple(relations), atoms)


def _contradict(atoms: Sequence[Atom]) -> bool:
    """Whether two inequalities over one form of the outputs, or over multiples of it, leave no number to it.

    Bounds, which allow for rounding, would not tell `Y_0 > 1 and Y_0 < 1` from `Y_0 >= 1 and Y_0 <= 1`.
    """
    ends: dict[tuple[tuple[Variable, Fraction], ...], tuple[list[_End], list[_End]]] = {}
    for atom in atoms:
        first = min(atom.coefficients)
        factor = atom.coefficients[first]
        form = tuple(sorted((variable, other / factor) for variable, other in atom.coefficients.items()))
        # Larger is narrower, of lower ends and of upper ones turned round alike.
        end = (atom.least / abs(factor), atom.strict)
        ends.setdefault(form, ([], []))[factor < 0].append(end)
    for lower, upper in ends.values():
        if lower and upper:
            (low, above), (high, below) = max(lower), max(upper)
            if low > -high or low == -high and (above or below):
                return True
    return False


def _largest(known: Fraction | None, end: Fraction) -> Fraction:
    return end if known is None else max(known, end)


def _least(known: Fraction | None, end: Fraction) -> Fraction:
    return end if known is None else min(known, end)


__all__ = ["Case", "Ends", "Specification", "parse_property", "read_property"]
