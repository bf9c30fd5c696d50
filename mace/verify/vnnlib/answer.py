"""What is answered to a property in VNN-LIB, and how it is written.

In:  a status, why, and of "sat" the exact inputs and outputs.
Out: a `VnnlibAnswer`: plain values for JSON, or the text that the tools of VNN-COMP print, in the words of the version
     of VNN-LIB in which the property was given.
Promise: what is printed of a counterexample is read as the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from mace.base.exact import exact, nearest
from mace.base.formats import schema_of
from mace.verify.vnnlib.declared import Tensor

Status: TypeAlias = Literal["sat", "unsat", "unknown", "timeout"]


@dataclass(frozen=True)
class VnnlibAnswer:
    """What was found.

    inputs, outputs: of "sat", one number each, exact. boxes: how many were bounded. root: of each case with outputs to
    bound, how far the bounds of the whole box were from refuting it; 0 or more where it had to be split. tensors: what
    the property declares in version 2 of VNN-LIB, whose words the text is in.
    """

    status: Status
    why: str
    inputs: tuple[Fraction, ...] = ()
    outputs: tuple[Fraction, ...] = ()
    boxes: int = 0
    root: tuple[float, ...] = ()
    tensors: tuple[Tensor, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers of a counterexample as exact texts."""
        return {
            **schema_of("vnnlib"),
            "status": self.status,
            "why": self.why,
            "inputs": [written(value) for value in self.inputs],
            "outputs": [written(value) for value in self.outputs],
            "boxes": self.boxes,
        }

    def __str__(self) -> str:
        """As the tools of VNN-COMP print it: the word, and a counterexample after "sat"."""
        if self.tensors:
            return self._of_tensors()
        if self.status != "sat":
            return self.status
        named = [
            f"({letter}_{number} {written(value)})"
            for letter, values in (("X", self.inputs), ("Y", self.outputs))
            for number, value in enumerate(values)
        ]
        return "sat\n(" + "\n ".join(named) + ")"

    def _of_tensors(self) -> str:
        """Each tensor with its type and shape, and its numbers a line each, in row-major order."""
        lines: list[str] = ["timed-out" if self.status == "timeout" else self.status]
        for tensor in self.tensors if self.status == "sat" else ():
            lines.append(f"{tensor.name} {tensor.type} [{','.join(map(str, tensor.shape))}]")
            lines += map(written, self.inputs if tensor.letter == "X" else self.outputs)
        return "\n".join(lines)


def written(value: Fraction) -> str:
    """A number as a decimal: exactly where that is possible, else the nearest double."""
    double = nearest(value)
    if exact(double) == value:
        return repr(double)
    with localcontext() as context:
        context.prec = 2000
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        if exact(decimal) == value:
            return str(decimal)
    return repr(double)


__all__ = ["Status", "VnnlibAnswer", "written"]
