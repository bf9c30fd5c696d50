"""Bounds of what a network says over a box: hidden units between two lines, and duals.

Multipliers and bounds are given or computed in integers times powers of two, rounded in the sound direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm
from typing import Any, NamedTuple, TypeAlias

from mace.proofs.kernel.fields import anything, float_0, index, integer, least_0, maybe, read
from mace.proofs.kernel.floats import ONE, ceiling, floor, need, rational
from mace.proofs.kernel.forms import Pull
from mace.proofs.kernel.lines import held
from mace.proofs.kernel.networks import ERROR, Linear, Network, domain, exact
from mace.proofs.kernel.statement import Statement

BOUND = 100  # interval ends of hidden units are integers times 2^-100, rounded outward
FINE = 160  # multipliers and shares are integers times 2^-160, rounded down
SLOPE = 64  # slopes are integers times 2^-64
WIDE = 1 << 6000  # no score overflows, so no hidden unit is beyond

PART = {
    "goal": [least_0], "slopes": [(index, index, rational)], "phases": [(index, index, least_0)],
    "largest": [(index, least_0)], "forms?": [anything], "changes?": least_0, "rules?": [(index, index, rational)],
}  # fmt: skip

Unit: TypeAlias = tuple[int, int]  # layer and place of a hidden ReLU
Aim: TypeAlias = tuple[int, int, int]  # the same, and 1 or -1: what its input is multiplied by

# What one index adds: to a function, and to the sum of the distance and to its maximum, over a number that follows.
Part: TypeAlias = tuple[int, int, int, int]
# The same but for the function: for each column its number and what it is there, above and below, and the index first.
Choice: TypeAlias = tuple[int, list[tuple[int, int, int]], int, int, int]


class Reach(NamedTuple):
    """What a span allows of the only column of its axis: from low to high, over a number below."""

    column: int
    low: int
    high: int
    below: int


class Relaxation:
    """Lower bounds of linear functions of a network's units, by going backwards through its layers.

    A state holds an interval for each hidden ReLU, `units`, times 2^100, and which side of 0 it was split to, `phases`.
    """

    def __init__(self, statement: Statement, model: Network, cuts: Any, root: Any) -> None:
        self.statement, self.model = statement, model
        columns = statement.columns
        need(cuts == [], "cuts: a network has none")
        need(len(columns) == model.inputs, f"statement: model: layer 0: expected {len(columns)} rows")
        for column in columns:
            known = not column.axis.is_grid or (column.axis.missing is None and column.given == "float64")
            need(known, "statement: model: a network takes no number that may be missing, or is rounded once")
        sizes, moved = zip(*(domain(column, model.dtype) for column in columns), strict=True) if columns else ((), ())
        self.errors = model.errors(sizes, moved)
        self.of_axis: list[list[int]] = [[] for _ in statement.axes]
        for c, column in enumerate(columns):
            self.of_axis[column.feature].append(c)
        self.known: dict[tuple[int, Any], list[Choice]] = {}
        self.last: tuple[Any, list[list[Choice]]] = (None, [])
        self.reaches: tuple[Any, list[Reach] | None] = (None, None)
        self.begin(root)

    def begin(self, root: Any) -> None:
        """Nothing is known of the units of the root of a proof."""
        root.units = [[(-WIDE, WIDE)] * (len(layer.bias) if layer.relu else 0) for layer in self.model.layers[:-1]]

    def unit(self, layer: Any, place: Any) -> Unit:
        """A hidden ReLU that exists."""
        k = integer(layer, 0, len(self.model.layers) - 2, "unit")
        need(self.model.layers[k].relu, f"unit: layer {k} has no ReLU")
        return k, integer(place, 0, len(self.model.layers[k].bias) - 1, "unit")

    def phase(self, state: Any, layer: Any, place: Any) -> list[Any]:
        """Two states: the input of a hidden ReLU is at most 0, or at least 0.

        Lemma: one or the other holds of every point.
        """
        k, n = self.unit(layer, place)
        children = []
        for on in (False, True):
            child = state.child()
            low, high = state.units[k][n]
            low, high = (max(low, 0), high) if on else (low, min(high, 0))
            child.units = [*state.units]
            child.units[k] = [*state.units[k][:n], (low, high), *state.units[k][n + 1 :]]
            child.phases = {**state.phases, (k, n): on}
            child.empty = low > high
            children.append(child)
        return children

    def bounds(self, state: Any, *units: Any) -> Any:
        """A state with narrower intervals of some hidden ReLUs, `[layer, unit, θ, θ]` each, θ for either end, and
        perhaps the slope, 0 or 1, of the line below the unit in the entries that follow.

        Lemma: `least` bounds the unit's input from below, and minus the input too, whatever the lines' slopes.
        """
        child, lines = state.child(), dict[Unit, int]()
        child.units = [[*intervals] for intervals in state.units]
        for entry in units:
            if child.empty:
                break
            need(len(read(entry, [anything], "unit")) in (4, 5), "unit: expected 4 or 5 entries")
            layer, place, below, above = read(entry[:4], (index, index, maybe(float_0), maybe(float_0)), "unit")
            k, n = self.unit(layer, place)
            for end, theta in enumerate((below, above)):
                if theta is not None:
                    f = self.unit_input(child, k, n, -1 if end else 1, lines)
                    least = self.priced(child, f, floor(Fraction(theta, ONE), FINE))
                    narrow(child, k, n, end, [(least, f.shift)])
            for slope in entry[4:]:
                lines[k, n] = integer(slope, 0, 1, "unit: slope")
        return child

    def tighten(self, state: Any, *ends: Any) -> Any:
        """A state with narrower intervals of some hidden ReLUs: one end each, `[layer, unit, 0 or 1, θ, part, ..]`, the
        lower (0) or the upper one, which multipliers for each open part of the goal show of every point against it.

        Lemma: such a point has every comparison c >= -E of some part, and is nearer than the claim q, so that ±z there
        is at least ±z - Σ λ (c + E) + θ (distance - q), with the multipliers of phases as in `dual`.
        """
        child = state.child()
        child.units = [[*intervals] for intervals in state.units]
        for entry in ends:
            if child.empty:
                break
            need(type(entry) is list and len(entry) >= 4, "expected a unit, which end, θ and the parts of the goal")
            k, n = self.unit(entry[0], entry[1])
            end, theta, parts = integer(entry[2], 0, 1, "end"), read(entry[3], float_0, "θ"), entry[4:]
            need(len(parts) == len(state.parts), f"expected {len(state.parts)} parts, as are open")
            theta, aim = floor(Fraction(theta, ONE), FINE), (k, n, -1 if end else 1)
            pairs = zip(state.parts, parts, strict=True)
            found = [self.part_bound(child, number, part, theta, aim) for number, part in pairs]
            if found:
                narrow(child, k, n, end, found)
        return child

    def unit_input(self, state: Any, k: int, n: int, sign: int, lines: dict[Unit, int]) -> Linear:
        """A hidden unit's input, or minus it, as a function of the columns that is nowhere larger in the state."""
        layer = self.model.layers[k]
        f = Linear([sign * row[n] << FINE for row in layer.rows], sign * layer.bias[n] << FINE, layer.shift + FINE)
        return self.columns(state, k, f, None, {}, lines)

    def dual(self, state: Any, *parts: Any) -> None:
        """Multipliers for each open part of the goal show that no point of the state with it is nearer than the claim.

        Lemma: a point that has the part has c >= -E for every comparison of it, so that for any multipliers >= 0 its
        distance is at least distance - Σ λ (c + E), and minus μ z (plus μ z) for a phase z >= 0 (z <= 0), and plus any
        multiplier times how many features it changes less how many it may. Of forms it counts what multipliers make of
        them, and of the comparisons that rules make hold in the box.
        """
        need(len(parts) == len(state.parts), f"expected {len(state.parts)} parts, as are open")
        for k, part in zip(state.parts, parts, strict=True):
            least, shift = self.part_bound(state, k, part)
            bound = (self.statement.claim or 0) + Fraction(least, 1 << shift)
            need(self.statement.refutes(bound), f"part {k}: the bound stays below the claim")

    def part_bound(
        self, state: Any, k: int, data: Any, theta: int = 1 << FINE, aim: Aim | None = None
    ) -> tuple[int, int]:
        """(n, shift), where n * 2^-shift is a lower bound of θ (distance - q), plus or minus the input of the unit that
        is aimed at, over the points that have part k."""
        model, part, where = self.model, self.statement.goal[k], f"part {k}"
        found = read(data, PART, where)
        need(len(found.goal) == len(part), f"{where}: expected {len(part)} multipliers")
        slopes = {self.unit(layer, n): floor(q, SLOPE) for layer, n, q in found.slopes}
        pushes = {self.unit(layer, n): q for layer, n, q in found.phases}
        need(set(pushes) <= set(state.phases), f"{where}: multiplies a phase that was not split on")
        shares = [0] * len(self.statement.axes)
        for j, q in found.largest:
            shares[integer(j, 0, len(shares) - 1, where)] += floor(q, FINE)
        need(sum(shares) <= theta, f"{where}: the shares of the largest change exceed {'θ' if aim else 1}")
        coefficients, constant = [0] * model.outputs, 0
        for q, compare in zip(found.goal, part, strict=True):
            weight = floor(q, FINE)
            for side, sign in ((compare.plus, -1), (compare.minus, 1)):
                if side is not None:
                    coefficients[side] += sign * weight
            constant += (weight * compare.than >> 1074) - ceiling(weight * model.slack(compare, self.errors), -ERROR)
        f = model.layers[-1].back(Linear(coefficients, constant, FINE))
        f = self.columns(state, len(model.layers) - 1, f, slopes, pushes, {}, aim)
        pull = self.statement.forms.pull(found.forms, where)
        need(pull is None or aim is None, f"{where}: forms: a bound of a unit takes none")
        need(pull is None or self.statement.claim is not None, f"{where}: forms: the claim is not about distance")
        ruled = held(self.statement.rules, self.statement.axes, state.box, found.rules, where)
        pulls = [one for one in (pull, ruled) if one is not None]
        if found.changes is None:
            return self.least(self.parts(state, f, pulls), f, theta, shares), f.shift
        push = floor(found.changes, FINE) << f.shift - FINE
        return self.least(self.parts(state, f, pulls, push), f, theta, shares) - push * self.statement.most, f.shift

    def columns(
        self,
        state: Any,
        k: int,
        f: Linear,
        slopes: dict[Unit, int] | None,
        pushes: dict[Unit, Fraction],
        lines: dict[Unit, int],
        aim: Aim | None = None,
    ) -> Linear:
        """From a function of the inputs of layer k, and of a unit's below it, to one of the columns that is nowhere
        larger in the state.

        slopes: see `relaxed`; None takes for a unit that is counted positively what `lines` says, which else is 1
                where u < -l is not, and 0 where it is.
        """
        for below in range(k - 1, -1, -1):
            layer = self.model.layers[below]
            if layer.relu:
                shift = f.shift + 2 * SLOPE
                coefficients, constant = [], f.constant << 2 * SLOPE
                for n, v in enumerate(f.coefficients):
                    low, high = state.units[below][n]
                    if slopes is not None:
                        slope = slopes.get((below, n))
                    else:
                        slope = None if v < 0 or not lines.get((below, n), high >= -low) else 1 << SLOPE
                    v, offset = relaxed(v, low, high, slope)
                    constant += offset
                    if (below, n) in pushes:
                        amount = floor(pushes[below, n], shift)
                        v += -amount if state.phases[below, n] else amount
                    if aim is not None and aim[:2] == (below, n):
                        v += aim[2] << shift
                    coefficients.append(v)
                f = Linear(coefficients, constant, shift)
            f = layer.back(f)
        return f

    def least(self, parts: list[list[Part]], f: Linear, theta: int, shares: Sequence[int] | None) -> int:
        """A lower bound of f + θ (distance - q), times 2^shift of f, over the points of a box, given f's parts in it.

        So f itself is as large at every point nearer than q, for any θ >= 0 (weak duality). θ, shares: times 2^160. Of
        the distance its sum counts, and of its maximum a share for each axis, if given, which together are at most θ.
        For `anywhere` there is no distance, and θ is 0. Each axis is minimised by itself: on a grid its part is linear
        on either side of the start and jumps up away from it, so that an end or the nearest value holds the least.
        """
        limit, finer = self.statement.limit, f.shift - FINE
        if limit is None or not theta:
            return f.constant + sum([min(choices)[0] for choices in parts])
        total = f.constant - ceiling(Fraction(theta * limit, self.statement.common), finer)
        if shares is None:
            return total + sum([min([v + (theta * s << finer) // below for v, s, _, below in c]) for c in parts])
        for choices, share in zip(parts, shares, strict=True):
            total += min([value + ((theta * s + share * top << finer) // below) for value, s, top, below in choices])
        return total

    def priced(self, state: Any, f: Linear, theta: int) -> int:
        """`least` over the box of a state, without shares. Where no distance counts, and no axis has several columns,
        the least of each is at one end of what its span allows of its column."""
        reaches = None if theta and self.statement.limit is not None else self.reached(state.box)
        if reaches is None:
            return self.least(self.parts(state, f), f, theta, None)
        total, v = f.constant, f.coefficients
        for c, low, high, below in reaches:
            total += v[c] * (high if v[c] < 0 else low) // below
        return total

    def reached(self, box: list[Any]) -> list[Reach] | None:
        """What each axis of a box allows of its column; None where one has several."""
        if self.reaches[0] is not box:
            self.reaches = box, self.reach(box)
        return self.reaches[1]

    def reach(self, box: list[Any]) -> list[Reach] | None:
        """The same, worked out."""
        found = []
        for columns, choices in zip(self.of_axis, self.choices(box), strict=True):
            if len(columns) > 1:
                return None
            below = lcm(*(below for _, values, *_ in choices for _, _, below in values))
            ends = [sum(above * (below // own) for _, above, own in values) for _, values, *_ in choices]
            found += [Reach(c, min(ends), max(ends), below) for c in columns]
        return found

    def parts(self, state: Any, f: Linear, pulls: Sequence[Pull] = (), push: int | None = None) -> list[list[Part]]:
        """For each axis what the indices add that may hold its least: to f and what multipliers make of forms and rules
        (rounded down, without f's constant), and `push` if it is changed; to the sum of the distance, and to its
        maximum."""
        v, found = f.coefficients, []
        for j, choices in enumerate(self.choices(state.box)):
            mine = []
            for k, columns, summed, top, common in choices:
                value = sum((pull.at(j, k) << f.shift) // pull.below for pull in pulls) if pulls else 0
                if push is not None and k != self.statement.axes[j].start:
                    value += push
                for c, above, below in columns:
                    value += v[c] * above // below
                mine.append((value, summed, top, common))
            found.append(mine)
        return found

    def choices(self, box: list[Any]) -> list[list[Choice]]:
        """For each axis the indices of its span that may hold a least."""
        if self.last[0] is not box:
            self.last = box, [self.choice(j, span) for j, span in enumerate(box)]
        return self.last[1]

    def choice(self, j: int, span: Any) -> list[Choice]:
        """The indices of a span of one axis that may hold a least: what is exact there, and not 0, of its columns."""
        found = self.known.get((j, span))
        if found is None:
            axis, found = self.statement.axes[j], []
            for k in sorted({*axis.ends(span), axis.nearest(span)}):
                values = [(c, exact(self.statement.columns[c], k)) for c in self.of_axis[j]]
                summed, top = axis.between(k, axis.start)
                common = gcd(summed, top, self.statement.common)
                fractions = [(c, x.numerator, x.denominator) for c, x in values if x]
                found.append((k, fractions, summed // common, top // common, self.statement.common // common))
            self.known[j, span] = found
        return found


def narrow(state: Any, k: int, n: int, end: int, found: Sequence[tuple[int, int]]) -> None:
    """The least of some bounds of a hidden ReLU's input from below (end 0), or of minus it (end 1), narrows its
    interval. Each is (n, shift), that is n * 2^-shift, and is rounded down.
    """
    least = min(floor(value, BOUND - shift) for value, shift in found)
    low, high = state.units[k][n]
    low, high = (low, min(high, -least)) if end else (max(low, least), high)
    state.units[k][n] = (low, high)
    state.empty = state.empty or low > high


def relaxed(v: int, low: int, high: int, slope: int | None) -> tuple[int, int]:
    """(s, c) with v max(z, 0) >= s z + c for z in [low, high]; s and c have 2^-128 more than v.

    With t the slope: a >= t z for 0 <= t <= 1, a <= chord(z), a >= t z - (t - 1) chord(z) for t > 1, and for t < 0
    |t| times 0 <= chord(z), that is z >= low, is added. The chord goes through (low, 0) and (high, high); its slope is
    rounded up, which keeps it above max(z, 0).
    """
    if high <= 0:
        return 0, 0
    if low >= 0 and (v < 0 or slope is None):
        return v << 2 * SLOPE, 0
    t, one = slope or 0, 1 << SLOPE
    if v >= 0 and 0 <= t <= one:
        return v * t << SLOPE, 0
    up = abs(v) * max(t, 0)
    part = up - v * one if t >= 0 else abs(v) * -t + max(-v, 0) * one  # how often chord(z) is subtracted
    chord = one if low >= 0 else -((-high << SLOPE) // (high - low))
    offset = 0 if low >= 0 else floor(part * chord * low, -BOUND)
    return (up << SLOPE) - part * chord, offset
