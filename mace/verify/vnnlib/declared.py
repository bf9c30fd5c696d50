"""What a property in VNN-LIB declares: inputs and outputs, by the names of either version of the language.

In:  the declarations of a text: constants `X_0`, `Y_0` (version 1), or one network with its tensors (version 2).
Out: `Declared`: which variable a word means, what a variable is called, and how many there are.
Promise: a word means one element of a tensor in row-major order, as onnxruntime flattens it. What is declared and not
read (several networks, several inputs, hidden nodes, other types) is a ProgramError with line and column.
Source: Demarchi, Guidotti, Pulina, Tacchella 2023, Supporting Standardization of Neural Networks Verification with
VNN-LIB and CoCoNet; the VNN-LIB standard, version 2.0.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple, NoReturn

from mace.verify.vnnlib.formula import Variable
from mace.verify.vnnlib.text import Expression, Text

CONSTANT = re.compile(r"([XY])_(0|[1-9][0-9]{0,7})", re.ASCII)
VERSION = re.compile(r"<?2\.[0-9]+>?", re.ASCII)
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
ELEMENT = re.compile(r"([A-Za-z][A-Za-z0-9_]*)(?:\[([0-9,\s]+)\])?", re.ASCII)
SHAPE = re.compile(r"\[([0-9,\s]*)\]", re.ASCII)
TYPES: Final = {"real": "real", "float32": "float32", "float64": "float64"}
MOST_ELEMENTS = 2**24


class Tensor(NamedTuple):
    """A declared tensor. type: real, float32 or float64; letter: X of the input, Y of the output."""

    name: str
    type: str
    shape: tuple[int, ...]
    letter: str

    def element(self, number: int) -> str:
        """What an element is called, by its place in row-major order."""
        places = []
        for size in reversed(self.shape):
            number, place = divmod(number, size)
            places.append(str(place))
        return f"{self.name}[{','.join(reversed(places))}]" if places else self.name


class Declared:
    """The declarations of one text, in the order in which they are read."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.tensors: dict[str, Tensor] = {}
        self._constants: dict[str, Variable] = {}
        self._network: Expression | None = None

    def read(self, given: Expression) -> None:
        """One declaration; raises ProgramError."""
        match given.head:
            case "vnnlib-version":
                if len(given.items) != 2 or VERSION.fullmatch(given.items[1].atom or "") is None:
                    self.text.wrong("only version 2 of VNN-LIB says its version", given, "(vnnlib-version <2.0>)")
            case "declare-network":
                self._read_network(given)
            case _:
                self._read_constant(given)
        if self._network is not None and self._constants:
            self.text.wrong("constants and a network are declared: they are of two versions of VNN-LIB", given)

    def variable(self, given: Expression) -> Variable | None:
        """The variable that an atom means; None where it is no name of one. Raises ProgramError for a wrong place."""
        assert given.atom is not None
        if given.atom in self._constants:
            return self._constants[given.atom]
        found = ELEMENT.fullmatch(given.atom) if self.tensors else None
        if found is None or found[1] not in self.tensors:
            return None
        tensor = self.tensors[found[1]]
        places = _numbers(found[2] or "")
        if places is None or len(places) != len(tensor.shape):
            self.text.wrong(f"an element of {_spoken(tensor)} has {len(tensor.shape)} places", given)
        if any(place >= size for place, size in zip(places, tensor.shape, strict=True)):
            self.text.wrong(f"`{given.atom}` is outside of {_spoken(tensor)}", given)
        number = 0
        for place, size in zip(places, tensor.shape, strict=True):
            number = number * size + place
        return Variable(tensor.letter, number)

    def called(self, variable: Variable) -> str:
        """The name that the text has for a variable."""
        for tensor in self.tensors.values():
            if tensor.letter == variable.letter:
                return tensor.element(variable.number)
        return f"{variable.letter}_{variable.number}"

    def count(self, letter: str) -> int:
        """How many inputs (X), or outputs (Y), there are; raises ProgramError."""
        for tensor in self.tensors.values():
            if tensor.letter == letter:
                return math.prod(tensor.shape)
        numbers = {variable.number for variable in self._constants.values() if variable.letter == letter}
        for number in range(len(numbers)):
            if number not in numbers:
                self.text.refuse(f"{letter}_{number} is not declared, and {letter}_{max(numbers)} is", 0, 1)
        if not numbers:
            kind = "input" if letter == "X" else "output"
            self.text.refuse(f"no {kind} is declared", 0, 1, f"(declare-const {letter}_0 Real)")
        return len(numbers)

    def _read_constant(self, given: Expression) -> None:
        """`(declare-const X_0 Real)`, or `(declare-fun X_0 () Real)`."""
        items = list(given.items[1:])
        if given.head == "declare-fun" and len(items) == 3 and items[1].atom is None and not items[1].items:
            del items[1]
        if len(items) != 2 or items[0].atom is None or items[1].atom != "Real":
            self.text.wrong("a declaration names a variable and its type, Real", given)
        found = CONSTANT.fullmatch(items[0].atom)
        if found is None:
            self.text.wrong(f"`{items[0].atom}` is neither an input X_0, X_1, .. nor an output Y_0, Y_1, ..", items[0])
        if items[0].atom in self._constants:
            self.text.wrong(f"`{items[0].atom}` is declared twice", items[0])
        self._constants[items[0].atom] = Variable(found[1], int(found[2]))

    def _read_network(self, given: Expression) -> None:
        """`(declare-network f (declare-input X float32 [1,5]) (declare-output Y float32 [1,5]))`."""
        if self._network is not None:
            self.text.wrong("a property about several networks is not read", given, "Read is one network.")
        self._network = given
        if len(given.items) < 2 or NAME.fullmatch(given.items[1].atom or "") is None:
            self.text.wrong("a network has a name, an input and an output", given)
        for one in given.items[2:]:
            self._read_tensor(one)
        for letter, kind in (("X", "input"), ("Y", "output")):
            count = sum(tensor.letter == letter for tensor in self.tensors.values())
            if count != 1:
                self.text.wrong(f"the network has {count} {kind}s; read are networks with one", given)

    def _read_tensor(self, given: Expression) -> None:
        letter = {"declare-input": "X", "declare-output": "Y"}.get(given.head)
        if letter is None:
            self._refuse_part(given)
        words = [item.atom or "" for item in given.items[1:]]
        if len(words) == 4 and letter == "X" and words[3] == "initialized":
            self.text.wrong("an input that keeps the value of the file is not read", given)
        shape = SHAPE.fullmatch(words[2]) if len(words) == 3 else None
        sizes = None if shape is None else _numbers(shape[1])
        if sizes is None or NAME.fullmatch(words[0]) is None:
            self.text.wrong("a tensor has a name, a type and a shape", given, f"({given.head} {letter} float32 [1,5])")
        if words[1].lower() not in TYPES:
            self.text.wrong(f"numbers of type {words[1]} are not read", given.items[2], f"Read are {', '.join(TYPES)}.")
        if not 0 < math.prod(sizes) <= MOST_ELEMENTS:
            self.text.wrong(f"a tensor of the shape {words[2]} is not read", given.items[3])
        if words[0] in self.tensors:
            self.text.wrong(f"`{words[0]}` is declared twice", given.items[1])
        self.tensors[words[0]] = Tensor(words[0], TYPES[words[1].lower()], sizes, letter)

    def _refuse_part(self, given: Expression) -> NoReturn:
        if given.head == "declare-hidden":
            self.text.wrong("a property about hidden nodes is not read", given, "Read are inputs and outputs.")
        if given.head in ("equal-to", "isomorphic-to"):
            self.text.wrong("a property about several networks is not read", given, "Read is one network.")
        self.text.wrong(f"`{given.head or given.atom or '()'}` is no part of a network that is read", given)


def _numbers(words: str) -> tuple[int, ...] | None:
    """Whole numbers between commas, none in an empty text; None for anything else."""
    if not words.strip():
        return ()
    found = [word.strip() for word in words.split(",")]
    return tuple(map(int, found)) if all(word.isdigit() and len(word) < 10 for word in found) else None


def _spoken(tensor: Tensor) -> str:
    return f"{tensor.name}, of the shape [{','.join(map(str, tensor.shape))}]"


__all__ = ["Declared", "Tensor"]
