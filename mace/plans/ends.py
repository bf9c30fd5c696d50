"""Ends of plans in a certificate: rules that show that no point of a box has the goal.

In:  what the checker made of a statement, and boxes of indices.    Out: nodes of FORMAT.md 6, or None.
Promise: none is needed: each rule is tried by the checker's own function before it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.plans.bounds import middle_of
from mace.plans.network_bounds import NetworkBounds
from mace.plans.tree_bounds import TreeBounds
from mace.problem.question import Question
from mace.proofs.kernel.floats import Refused
from mace.proofs.kernel.networks import Linear, Network, exact
from mace.proofs.kernel.proof import Check
from mace.proofs.kernel.relaxation import FINE, SLOPE, relaxed
from mace.proofs.kernel.state import State
from mace.tables.table import Ensemble
from mace.worlds.affine import Form

ZERO = "0x0p+0"
Floats = NDArray[np.float64]


class Ends:
    """Closes boxes of ends about one statement.

    weights: for each feature how much one index more matters to the model: tests in its range, or weights.
    """

    def __init__(self, check: Check, question: Question) -> None:
        self.said, self.model, self.axes = check.statement, check.model, question.axes
        self.layers: list[tuple[Floats, Floats]] = []
        names = [axis.name for axis in self.axes]
        self.trees = TreeBounds.of(question, names) if isinstance(question.model, Ensemble) else None
        if isinstance(self.said.model, Network):
            for layer in self.said.model.layers:
                unit = 1 << layer.shift
                rows = [[float(w / unit) for w in row] for row in layer.rows]
                self.layers.append((np.array(rows), np.array([float(b / unit) for b in layer.bias])))
            self.bounds = NetworkBounds(question, names)
        self.weights = self._of_layer() if self.layers else self._of_tests()

    def _of_layer(self) -> list[float]:
        weights = [0.0] * len(self.said.axes)
        for column, row in zip(self.said.columns, self.layers[0][0], strict=True):
            size = float(np.abs(row).sum())
            if column.axis.is_grid:
                low, high = column.axis.full
                size *= abs(float(exact(column, high) - exact(column, low))) / max(1, high - low)
            weights[column.feature] += size
        return weights

    def _of_tests(self) -> list[float]:
        weights = [0.0] * len(self.said.axes)
        for side in self.model.sides:
            if side is not None:
                axis = self.said.axes[side[0]]
                width = axis.full[1] - axis.full[0] if axis.is_grid else axis.count
                weights[side[0]] += 1 / max(1, width)
        return weights

    def closed(self, box: Sequence[Any]) -> list[Any] | None:
        """Rules that close a box; None if none are found."""
        for k, rule in enumerate(self.said.rules):
            if not rule.possible(self.said.axes, box)[1]:
                return [["rule", k]]
        root = State(box, self.said.least(box), range(len(self.said.goal)))
        self.model.begin(root)
        if self.layers:
            return self._by_network(root) if self._promising(box) else None
        if self.trees is not None and self.trees.open(box):
            return None
        for name in ("trees", "cell"):
            try:
                getattr(self.model, name)(root)
            except Refused:
                continue
            return [[name]]
        return None

    # --- networks ---

    def _promising(self, box: Sequence[Any]) -> bool:
        """Whether doubles say that a box has no point with the goal: exact numbers take a hundred times as long."""
        end = {}
        for axis, span in zip(self.axes, box, strict=True):
            low, high = span if isinstance(span, tuple) else ((span & -span).bit_length() - 1, span.bit_length() - 1)
            end[axis.name] = Form.constant(axis.value(low), axis.value(high))
        return not self.bounds.bound(self.bounds.prepare(end, [], {}), [], {}).parts

    def _by_network(self, root: Any) -> list[Any] | None:
        """Bounds of all hidden units, and multipliers for each part of the goal."""
        values = self._middle(root.box)
        state, units = root, []
        for k, hidden in enumerate(root.units):
            # Of a unit that is on (off) all over the box, the lower (upper) end says so; the other one is not asked.
            on = [bool(values[k][n] > 0) for n in range(len(hidden))]
            asked = [[k, n, ZERO, None] if up else [k, n, None, ZERO] for n, up in enumerate(on)]
            state = self.model.bounds(state, *asked)
            loose = [n for n, (low, high) in enumerate(state.units[k]) if low < 0 < high]
            again = [[k, n, None, ZERO] if on[n] else [k, n, ZERO, None] for n in loose]
            state = self.model.bounds(state, *again)
            units += [*asked, *again]
        found = [["bounds", *units]] if units else []
        if state.empty:
            return [*found, ["empty"]]
        parts = []
        for k, part in enumerate(self.said.goal):
            for chosen in range(len(part)):
                goal = ["1" if n == chosen else "0" for n in range(len(part))]
                data = {"goal": goal, "slopes": self._slopes(state, part[chosen]), "phases": [], "largest": []}
                if self.model.part_bound(state, k, data)[0] > 0:
                    parts.append(data)
                    break
            else:
                return None
        return [*found, ["dual", *parts]]

    def _middle(self, box: Sequence[Any]) -> list[Floats]:
        """What each layer computes in the middle of a box, about."""
        row = []
        for column in self.said.columns:
            span = box[column.feature]
            index = int(middle_of(span)) if column.axis.is_grid else span.bit_length() - 1
            row.append(float(exact(column, index)))
        found: list[Floats] = []
        values = np.array(row)
        for weights, bias in self.layers:
            values = (
                np.maximum(values, 0) if found and self.said.model.layers[len(found) - 1].relu else values
            ) @ weights
            values = values + bias
            found.append(values)
        return found

    def _slopes(self, state: Any, compare: Any) -> list[list[Any]]:
        """For units whose sign is open the slope that bounds them best from below, where that is 1."""
        layers = self.said.model.layers
        weights = [0] * self.said.model.outputs
        for side, sign in ((compare.plus, -1), (compare.minus, 1)):
            if side is not None:
                weights[side] += sign << FINE
        f, found = layers[-1].back(Linear(weights, 0, FINE)), []
        for below in range(len(layers) - 2, -1, -1):
            if layers[below].relu:
                coefficients = []
                for n, v in enumerate(f.coefficients):
                    low, high = state.units[below][n]
                    slope = 1 << SLOPE if v >= 0 and low < 0 and high >= -low else None
                    if slope is not None:
                        found.append([below, n, "1"])
                    coefficients.append(relaxed(v, low, high, slope)[0])
                f = Linear(coefficients, 0, f.shift + 2 * SLOPE)
            f = layers[below].back(f)
        return found
