"""Axes as solver terms: a ladder of Bools for an ordered axis, a Bool per level for a finite one.

In:  an `Axis`, what the distance charges for it, and the radius of the ball outside which nothing matters.
Out: literals (`at_most`, `among`), numbers (`value`, `number`), bounds on the axis's part of the distance; and from a
     solver's values an index.
Promise: every allowed point of the ball is a solution, with its exact distance. The index read back lies in the
cell that the literals describe, as near to the start as the cell allows: so it costs no more than the solver said.

An ordered axis is cut where somebody asks for it. The Bool of a cut c says "index <= c"; Bools of neighbouring cuts
imply each other. Only where a rule, a distance program or a network computes with the number itself is there a number:
an Int for steps, a Real for floats. On a Real, cut c says x <= value(c) or x >= value(c + 1): what lies between two
floats belongs to neither. "Missing", at the upper end of an axis that may lack its value, lies above the cut of the
last value (`there` says that it does not hold) and has no number: what is said of numbers is said where there is one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from fractions import Fraction

from mace.base.exact import farthest_holding
from mace.problem.distance import FREE, Charge
from mace.solve.smt.terms import Term, Terms, Values
from mace.space.axes import Axis, GridAxis, LevelAxis


def _affords(charge: Charge, delta: Fraction, radius: Fraction | None) -> bool:
    """Whether a change may be made within a radius, if nothing else changes."""
    return radius is None or charge.least(delta) <= radius


class AxisTerm:
    """What both kinds of axes share: their place, their charge, and the terms that pay it."""

    def __init__(self, terms: Terms, place: int, charge: Charge, largest: Term | None) -> None:
        self.terms, self.place, self.charge = terms, place, charge
        self.largest = largest
        self.cost: Term | None = None
        if charge.once or charge.slope:
            self.cost = terms.real(f"d{place}")
            terms.add(terms.at_least(self.cost, Fraction(0)))

    def _charge(self, condition: Term, delta: Fraction) -> None:
        """Under the condition the change is at least delta."""
        if condition is self.terms.false or not delta:
            return
        if self.cost is not None:
            self.terms.when(condition, self.terms.at_least(self.cost, self.charge.part(delta)))
        if self.charge.peak and self.largest is not None:
            self.terms.when(condition, self.terms.at_least(self.largest, self.charge.top(delta)))


class GridTerm(AxisTerm):
    """An ordered axis, between the smallest and the largest index of the ball."""

    def __init__(
        self, terms: Terms, place: int, axis: GridAxis, charge: Charge, largest: Term | None, radius: Fraction | None
    ) -> None:
        super().__init__(terms, place, charge, largest)
        self.axis = axis

        def affords(index: int) -> bool:
            return _affords(charge, axis.delta(index), radius)

        self.lower, self.last = axis.lower, axis.last
        if not axis.lacks:
            self.lower, self.last = (
                farthest_holding(affords, axis.start, axis.lower),
                farthest_holding(affords, axis.start, axis.last),
            )
        self.may_lack = axis.missing is not None and axis.may_lack and affords(axis.missing)
        self.upper = axis.upper if self.may_lack else self.last
        self._cuts: list[int] = []
        self._number: Term | None = None
        self._symbol: Term | None = None
        self._stays: Term | None = None
        if self.may_lack:
            self.at_most(axis.last)
        elif axis.lacks:  # A value must be given.
            self._charge(terms.true, axis.missing_cost)

    @property
    def fixed(self) -> bool:
        return self.lower == self.upper

    @property
    def there(self) -> Term:
        """The literal "the axis has a value"."""
        return self.at_most(self.axis.last) if self.may_lack else self.terms.true

    def at_most(self, index: int) -> Term:
        """The literal "index <= this one"."""
        if index < self.lower:
            return self.terms.false
        if index >= self.upper:
            return self.terms.true
        place = bisect_left(self._cuts, index)
        literal = self._cut(index)
        if place < len(self._cuts) and self._cuts[place] == index:
            return literal
        terms = self.terms
        if place > 0:
            terms.when(self._cut(self._cuts[place - 1]), literal)
        if place < len(self._cuts):
            terms.when(literal, self._cut(self._cuts[place]))
        insort(self._cuts, index)
        if index < self.axis.start:
            self._charge(literal, self.axis.delta(index))
        elif index + 1 == self.axis.missing:
            self._charge(terms.no(literal), self.axis.missing_cost)
        else:
            self._charge(terms.all([terms.no(literal), self.there]), self.axis.delta(index + 1))
        if self._number is not None:
            self._link(index)
        return literal

    def within(self, intervals: Sequence[tuple[int, int]]) -> Term:
        """The index lies in one of these intervals."""
        terms = self.terms
        return terms.any([terms.all([terms.no(self.at_most(a - 1)), self.at_most(b)]) for a, b in intervals])

    def differs(self, index: int) -> Term:
        """The axis does not have this index."""
        return self.terms.any([self.at_most(index - 1), self.terms.no(self.at_most(index))])

    @property
    def changed(self) -> Term:
        return self.differs(self.axis.start)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The smallest and the largest value in the ball."""
        return self.axis.value(self.lower), self.axis.value(self.last)

    def value(self) -> Term:
        """The axis as a number: of sort Int for integers, otherwise Real."""
        if self._number is None:
            self._number = self._make_number()
            for index in self._cuts:
                self._link(index)
            self._pay_by_number()
        return self._number

    def real(self) -> Term:
        """The axis as a number of sort Real."""
        value = self.value()
        if not self.terms.environment.stc.get_type(value).is_int_type():
            return value
        if value.is_constant():
            return self.terms.number(value.constant_value())
        return self.terms.make.ToReal(value)

    def _make_number(self) -> Term:
        terms, make, grid = self.terms, self.terms.make, self.axis.grid
        lower, upper = self.bounds()
        whole = grid.kind == "step" and grid.step == 1 and grid.extra is None
        if self.fixed:
            return make.Int(int(lower)) if whole else terms.number(lower)
        if grid.kind != "step":
            self._symbol = terms.real(f"x{self.place}")
            terms.add(terms.at_least(self._symbol, lower))
            terms.add(terms.at_most(self._symbol, upper))
            return self._symbol
        self._symbol = terms.integer(f"x{self.place}")
        terms.add(make.GE(self._symbol, make.Int(int(lower // grid.step))))
        terms.add(make.LE(self._symbol, make.Int(int(upper // grid.step))))
        if whole:
            return self._symbol
        multiple = make.Times(terms.number(grid.step), make.ToReal(self._symbol))
        if grid.extra is None:
            return multiple
        # One value lies off the multiples: the start, as it was observed.
        self._stays = terms.truth(f"x{self.place}_stays")
        number = terms.real(f"v{self.place}")
        terms.when(self._stays, make.Equals(number, terms.number(grid.extra)))
        terms.when(terms.no(self._stays), make.Equals(number, multiple))
        terms.add(terms.at_least(number, lower))
        terms.add(terms.at_most(number, upper))
        return number

    def _cut(self, index: int) -> Term:
        return self.terms.truth(f"x{self.place}_le_{index}".replace("-", "m"))

    def _link(self, index: int) -> None:
        """The literal of a cut and the number agree."""
        terms, make, number = self.terms, self.terms.make, self._number
        assert number is not None
        if self.axis.missing == index + 1:
            return
        low, high = self.axis.value(index), self.axis.value(index + 1)
        if terms.environment.stc.get_type(number).is_int_type():
            below, above = make.LE(number, make.Int(int(low))), make.GE(number, make.Int(int(high)))
        else:
            below, above = terms.at_most(number, low), terms.at_least(number, high)
        terms.when(self._cut(index), below)
        terms.when(terms.all([terms.no(self._cut(index)), self.there]), above)

    def _pay_by_number(self) -> None:
        """Charge for the number itself: the ladder only knows the ends of cells."""
        if self.fixed or self.charge == FREE or self.axis.lacks:
            return
        terms, start = self.terms, self.axis.start_value
        number = self.real()
        flat: list[tuple[Fraction, Term]] = []
        if self.charge.once:
            jump = terms.real(f"j{self.place}")
            terms.add(terms.at_least(jump, Fraction(0)))
            terms.when(terms.all([self.changed, self.there]), terms.at_least(jump, self.charge.once))
            flat = [(Fraction(1), jump)]
        for sign in (1, -1):
            for slope, payer, more in (
                (self.charge.slope, self.cost, flat),
                (self.charge.peak, self.largest, []),
            ):
                if payer is not None and slope:
                    factor = sign * slope / self.axis.scale
                    charge = terms.sum([(factor, number), *more], -factor * start)
                    terms.add(terms.make.GE(payer, charge))

    @property
    def wanted(self) -> list[Term]:
        """The symbols that `index` reads, where an assertion mentions them."""
        symbols = [self._cut(index) for index in self._cuts]
        return symbols + [symbol for symbol in (self._symbol, self._stays) if symbol is not None]

    def index(self, values: Values) -> int:
        """The index that a solver's values describe."""
        axis = self.axis
        if self.may_lack and not values.get(self._cut(axis.last).symbol_name(), not axis.lacks):
            assert axis.missing is not None
            return axis.missing
        if self._symbol is None:
            passed = {c: bool(values[name]) for c in self._cuts if (name := self._cut(c).symbol_name()) in values}
            lower = max((c + 1 for c in passed if not passed[c]), default=self.lower)
            upper = min((c for c in passed if passed[c]), default=self.last)
            return min(max(axis.start, lower), upper)
        found = Fraction(values[self._symbol.symbol_name()])
        if self._stays is not None and values[self._stays.symbol_name()]:
            assert axis.grid.extra is not None
            return axis.grid.floor(axis.grid.extra)
        if axis.grid.kind == "step":
            found *= axis.grid.step
        # Towards the start: there is a float of the same cell on that side.
        index = axis.grid.floor(found) if axis.lacks or found >= axis.start_value else axis.grid.ceil(found)
        return min(max(index, self.lower), self.last)


class LevelTerm(AxisTerm):
    """A finite axis: a Bool per level of the ball, exactly one of them true."""

    def __init__(
        self, terms: Terms, place: int, axis: LevelAxis, charge: Charge, largest: Term | None, radius: Fraction | None
    ) -> None:
        super().__init__(terms, place, charge, largest)
        self.axis = axis
        self.levels = [level for level in axis.levels() if _affords(charge, axis.delta(level), radius)]
        self._literals = self._make_literals()
        self._shares: dict[int, Term] = {}
        self._number: Term | None = None
        for level in self.levels:
            if axis.ordered or axis.missing is not None:
                self._charge(self._literals[level], axis.delta(level))
        if not axis.ordered and axis.missing is None:
            self._charge(self.changed, Fraction(1))

    def _make_literals(self) -> dict[int, Term]:
        terms, levels = self.terms, self.levels
        if len(levels) == 1:
            return {levels[0]: terms.true}
        if len(levels) == 2:
            literal = terms.truth(f"x{self.place}_is_{levels[1]}")
            return {levels[0]: terms.no(literal), levels[1]: literal}
        literals = {level: terms.truth(f"x{self.place}_is_{level}") for level in levels}
        terms.add(terms.any(list(literals.values())))
        for number, one in enumerate(levels):
            for other in levels[number + 1 :]:
                terms.add(terms.any([terms.no(literals[one]), terms.no(literals[other])]))
        return literals

    @property
    def fixed(self) -> bool:
        return len(self.levels) == 1

    def among(self, mask: int) -> Term:
        """The literal "the level lies in this mask"."""
        inside = [level for level in self.levels if mask >> level & 1]
        if 2 * len(inside) > len(self.levels):
            outside = [self._literals[level] for level in self.levels if not mask >> level & 1]
            return self.terms.no(self.terms.any(outside))
        return self.terms.any([self._literals[level] for level in inside])

    def differs(self, index: int) -> Term:
        """The axis does not have this level."""
        return self.terms.no(self._literals.get(index, self.terms.false))

    @property
    def changed(self) -> Term:
        return self.differs(self.axis.start)

    def value(self) -> Term:
        """The level's number, of sort Int."""
        if self._number is None:
            make = self.terms.make
            if self.fixed:
                self._number = make.Int(self.levels[0])
            else:
                self._number = self.terms.integer(f"x{self.place}")
                for level in self.levels:
                    self.terms.when(self._literals[level], make.Equals(self._number, make.Int(level)))
        return self._number

    def real(self) -> Term:
        """The level's number, of sort Real."""
        value = self.value()
        if value.is_constant():
            return self.terms.number(value.constant_value())
        return self.terms.make.ToReal(value)

    def shares(self) -> dict[int, Term]:
        """Per level a Real that is 1 if the axis has it and 0 if not: what linear sums are made of.

        They sum to one and pay for themselves, so that a solver's linear relaxation sees the whole choice at once.
        """
        if not self._shares and not self.fixed:
            terms, make = self.terms, self.terms.make
            for level in self.levels:
                share = terms.real(f"x{self.place}_part_{level}")
                self._shares[level] = share
                terms.add(terms.at_least(share, Fraction(0)))
                terms.when(self._literals[level], terms.at_least(share, Fraction(1)))
                terms.when(terms.no(self._literals[level]), terms.at_most(share, Fraction(0)))
            every = [(Fraction(1), share) for share in self._shares.values()]
            terms.add(make.Equals(terms.sum(every), terms.number(1)))
            if self.cost is not None:
                paid = [(self.charge.part(self.axis.delta(level)), share) for level, share in self._shares.items()]
                terms.add(make.GE(self.cost, terms.sum(paid)))
        return self._shares

    @property
    def wanted(self) -> list[Term]:
        """The symbols that `index` reads, where an assertion mentions them."""
        if self.fixed:
            return []
        return [self._literals[level] for level in self.levels if not self._literals[level].is_not()]

    def index(self, values: Values) -> int:
        """The level that a solver's values describe."""
        for level, literal in self._literals.items():
            if literal is self.terms.true:
                return level
            name = literal.arg(0).symbol_name() if literal.is_not() else literal.symbol_name()
            if name not in values:  # Of two levels, and nothing that was asserted tells them apart.
                return self.axis.start
            if bool(values[name]) != literal.is_not():
                return level
        raise AssertionError("a solver's values give no level")


def axis_term(
    terms: Terms, place: int, axis: Axis, charge: Charge, largest: Term | None, radius: Fraction | None
) -> GridTerm | LevelTerm:
    """The terms of one axis within the ball of a radius (None: everywhere)."""
    kind = GridTerm if isinstance(axis, GridAxis) else LevelTerm
    return kind(terms, place, axis, charge, largest, radius)  # type: ignore[arg-type]
