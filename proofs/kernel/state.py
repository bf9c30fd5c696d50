"""What is known of the points of one open box of a proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from mace.proofs.kernel.axes import Axis, Span, empty

Clique: TypeAlias = Sequence[tuple[int, int]]  # trees, each with the bit of one of its leaves


class State:
    """What is known of the points of one open box: its spans, the least of the distance, and what the model adds.

    `total` and `largest` are the parts of the least distance of the box; `empty`: it is known to have no point.
    `parts`: which parts of the goal its points may have; each has one of them.
    """

    __slots__ = ("alive", "box", "cliques", "empty", "largest", "parts", "phases", "sums", "total", "units")

    def __init__(self, box: Sequence[Span], least: tuple[int, int], parts: Sequence[int]) -> None:
        self.box, (self.total, self.largest), self.empty = [*box], least, False
        self.parts = parts
        self.alive: list[int] = []
        self.sums: list[int] = []
        self.cliques: Sequence[Clique] = ()
        self.units: list[list[tuple[int, int]]] = []
        self.phases: dict[tuple[int, int], bool] = {}

    def child(self) -> State:
        """A state with the same points; what is narrowed in it is replaced, never changed."""
        child = State.__new__(State)
        child.box, child.total, child.largest, child.empty = self.box, self.total, self.largest, self.empty
        child.parts, child.cliques = self.parts, self.cliques
        child.alive, child.sums, child.units, child.phases = self.alive, self.sums, self.units, self.phases
        return child

    def narrowed(self, j: int, axis: Axis, span: Span) -> State:
        """A state whose box has this span on an axis, a part of the old one."""
        child = self.child()
        child.box = [*self.box]
        child.box[j] = span
        if empty(span):
            child.empty = True
        else:
            child.total, child.largest = axis.narrowed(self.total, self.largest, self.box[j], span)
        return child
