"""Properties drawn at random, and whether they hold, by trying every row and every pair of rows.

In:  a small space, its points.
Out: a `Claim`: the property, which rows (or pairs) it speaks of, and which decisions break it there.
Promise: worked out from the points and the library's decisions alone; nothing of `mace.verify` has a part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from mace.problem.programs import rule_of
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify import bounded, equivalent, fair, holds, monotone, reachable, robust, unreachable
from mace.verify.properties import Property
from tests import roads
from tests.fuzz.spaces import Draw, all_values, pick
from tests.small_spaces import Measure, Row, shown

Mask = NDArray[np.bool_]
Said = NDArray[Any]
KINDS = ("fair", "monotone", "fair", "monotone", "equivalent", "reachable", "unreachable", "bounded", "holds", "robust")


@dataclass(frozen=True)
class Claim:
    """A property and what breaks it.

    speaks: shape (rows,) or (rows, rows), the rows or pairs that it is about.
    breaks: whether decisions break it there, in the same shape, from the decisions at all points.
    other:  for `equivalent`, the second model.
    """

    given: Property
    speaks: Mask
    breaks: Callable[[Said], Mask]
    other: Any = None
    told: str = ""

    def broken(self, said: Said, allowed: Mask) -> Mask:
        """Where the property is broken among allowed rows."""
        within = allowed if self.speaks.ndim == 1 else allowed[:, None] & allowed[None, :]
        return np.asarray(self.speaks & within & self.breaks(said))


@dataclass(frozen=True, eq=False)
class Table:
    """The points of a space, feature by feature."""

    space: Space
    points: list[Row]
    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for feature in self.space.features:
            known = [value for value in all_values(feature) if value is not None]
            self.codes[feature.name] = np.array(
                [-1 if p[feature.name] is None else known.index(p[feature.name]) for p in self.points]
            )

    def same(self, but: Sequence[str] = ()) -> Mask:
        """Which pairs agree in all features but some."""
        found = np.ones((len(self.points), len(self.points)), dtype=np.bool_)
        for name, codes in self.codes.items():
            if name not in but:
                found &= codes[:, None] == codes[None, :]
        return found

    def there(self, name: str) -> Mask:
        """Which pairs both have a value of a feature."""
        present = self.codes[name] >= 0
        return present[:, None] & present[None, :]

    def above(self, name: str) -> Mask:
        """Pairs whose second row has more of a feature."""
        codes = self.codes[name]
        return np.asarray((codes[:, None] < codes[None, :]) & self.there(name))

    def near(self, name: str, most: Fraction) -> Mask:
        """Pairs whose numbers are at most so far apart, or both missing."""
        found = np.zeros((len(self.points), len(self.points)), dtype=np.bool_)
        cells = [point[name] for point in self.points]
        for i, one in enumerate(cells):
            for j, other in enumerate(cells):
                found[i, j] = one is other if one is None or other is None else abs(one - other) <= most
        return found


def lacking(feature: Feature) -> bool:
    """Whether some rows lack a number or rank, rather than have one level more."""
    return bool(feature.missing) and (feature.numeric or feature.kind == "ordinal")


def written(row: Row, space: Space) -> Row:
    """A point as people write it."""
    return {f.name: shown(f, row[f.name]) for f in space.features}


def claim(draw: Draw, table: Table, said: Said, classes: Sequence[Any], probable: Any, second: Any) -> Claim | None:
    """A property that this space and model can have; None where chance gave what says nothing.

    classes:  of the model; none for one that predicts a number.
    probable: probabilities at all points, where the model's are a function of its score.
    second:   () -> another model of the same classes, and its decisions at all points.
    """
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = pick(draw, KINDS)
    makers: dict[str, Callable[[], Claim | None]] = {
        "fair": lambda: _fair(draw, table, rng),
        "monotone": lambda: _monotone(draw, table, classes, rng),
        "equivalent": lambda: _equivalent(table, second),
        "reachable": lambda: _reach(table, classes, rng, reachable),
        "unreachable": lambda: _reach(table, classes, rng, unreachable),
        "bounded": lambda: _bounded(draw, table, said, classes, probable, rng),
        "holds": lambda: _holds(draw, table, classes, rng),
        "robust": lambda: _robust(draw, table, said, rng) if classes else None,
    }
    return makers[kind]()


def _fair(draw: Draw, table: Table, rng: np.random.Generator) -> Claim:
    names = [str(name) for name in rng.permutation(table.space.names)[: 1 + int(rng.random() < 0.25)]]
    part = pick(draw, [Fraction(0), Fraction(0), Fraction(0), Fraction(1, 4), Fraction(1, 2)])
    near = [f for f in table.space.features if part and f.numeric and f.name not in names]
    speaks = table.same([*names, *(f.name for f in near)]) & ~table.same(
        [name for name in table.space.names if name not in names]
    )
    for feature in near:
        low, high = feature.bounds()
        speaks &= table.near(feature.name, part * (high - low))
    return Claim(fair(*names, within=part), speaks, lambda said: said[:, None] != said[None, :])


def _monotone(draw: Draw, table: Table, classes: Sequence[Any], rng: np.random.Generator) -> Claim | None:
    ordered = [f for f in table.space.features if f.numeric or f.kind in ("ordinal", "binary")]
    if not ordered:
        return None
    name = ordered[int(rng.integers(len(ordered)))].name
    rising = draw(st.booleans())
    speaks = table.same([name]) & (table.above(name) if rising else table.above(name).T)
    way = "increasing" if rising else "decreasing"
    if not classes:
        return Claim(monotone(name, way), speaks, lambda said: said[:, None] > said[None, :])
    good = [c for c in classes if rng.random() < 0.5] or [classes[-1]]
    if len(classes) == 2 and draw(st.booleans()):
        good = [classes[1]]
        given = monotone(name, way)
    else:
        given = monotone(name, way, good)

    def breaks(said: Said) -> Mask:
        fine = np.isin(said, good)
        return np.asarray(fine[:, None] & ~fine[None, :])

    return Claim(given, speaks, breaks)


def _equivalent(table: Table, second: Any) -> Claim | None:
    found = second()
    if found is None:
        return None
    model, others, told = found
    everywhere = np.ones(len(table.points), dtype=np.bool_)
    return Claim(equivalent(model), everywhere, lambda said: np.asarray(said != others), model, told)


def _reach(table: Table, classes: Sequence[Any], rng: np.random.Generator, make: Any) -> Claim | None:
    if not classes:
        return None
    label = classes[int(rng.integers(len(classes)))]
    everywhere = np.ones(len(table.points), dtype=np.bool_)
    return Claim(make(label), everywhere, lambda said: np.asarray(said == label))


def _bounded(
    draw: Draw, table: Table, said: Said, classes: Sequence[Any], probable: Any, rng: np.random.Generator
) -> Claim | None:
    label = classes[int(rng.integers(len(classes)))] if classes else None
    if classes and probable is None:
        return None
    numbers = probable[:, list(classes).index(label)] if classes else said
    ends = sorted(roads.between(numbers, rng, True) for _ in range(2))
    low: float | None = float(ends[0])
    high: float | None = float(ends[1])
    if classes and not (ends[0] > 1e-6 and ends[1] < 1 - 1e-6):
        return None
    match pick(draw, ["both", "low", "high"]):
        case "low":
            high = None
        case "high":
            low = None
    conditions = [f for f in table.space.features if f.numeric and not f.missing]
    where: list[str] = []
    speaks = np.ones(len(table.points), dtype=np.bool_)
    if conditions and draw(st.booleans()):
        feature = conditions[0]
        value = table.points[int(rng.integers(len(table.points)))][feature.name]
        where = [f"{feature.name} >= {_number(value)}"]
        speaks = np.array([point[feature.name] >= value for point in table.points])
    given = bounded(low, high, where, label)

    def breaks(said: Said) -> Mask:
        found = numbers if classes else said
        out = np.zeros(len(found), dtype=np.bool_)
        if low is not None:
            out |= found < low
        if high is not None:
            out |= found > high
        return out

    return Claim(given, speaks, breaks)


def _number(value: Any) -> str:
    exact = Fraction(value)
    return str(exact.numerator) if exact.denominator == 1 else f"{exact.numerator} / {exact.denominator}"


def _holds(draw: Draw, table: Table, classes: Sequence[Any], rng: np.random.Generator) -> Claim | None:
    if list(classes) != list(range(len(classes))) or not classes:
        return None
    numbers = [f for f in table.space.features if f.numeric and not f.missing]
    if not numbers:
        return None
    feature = numbers[int(rng.integers(len(numbers)))]
    name, label, other = feature.name, int(rng.choice(classes)), int(rng.choice(classes))
    cells = [point[name] for point in table.points]
    cut = cells[int(rng.integers(len(cells)))]
    low = np.array([cell < cut for cell in cells])
    match pick(draw, ["one", "stable", "rises", "two results"]):
        case "one":
            return Claim(
                holds(f"{name} < {_number(cut)} or f != {label}"), ~low, lambda said: np.asarray(said == label)
            )
        case "stable":
            reach = Fraction(int(rng.integers(1, 3))) * Fraction(feature.step or 1)
            text = f"f == other_f or abs(other_{name} - {name}) > {_number(reach)}"
            return Claim(
                holds(text), table.same([name]) & table.near(name, reach), lambda said: said[:, None] != said[None, :]
            )
        case "rises":
            text = f"other_{name} <= {name} or (f == {label} implies other_f == {label})"
            return Claim(
                holds(text), table.same([name]) & table.above(name),
                lambda said: (said[:, None] == label) & (said[None, :] != label),
            )  # fmt: skip
        case _:
            text = f"{name} < {_number(cut)} or f != {label} or other_f != {other}"
            return Claim(holds(text), ~low, lambda said: np.asarray((said == label) & (said == other)))


def _robust(draw: Draw, table: Table, said: Said, rng: np.random.Generator) -> Claim:
    """A radius around one row, sometimes the very distance of the nearest other decision."""
    space, place = table.space, int(rng.integers(len(table.points)))
    start = table.points[place]
    measure = Measure(pick(draw, ["l1", "l0", "linf"]), None)
    kept = np.array(
        [
            all((p[f.name] is None) == (start[f.name] is None) for f in space.features if lacking(f))
            for p in table.points
        ]
    )
    away = [measure.between(space, start, point) if k else None for point, k in zip(table.points, kept, strict=True)]
    known = sorted({d for d in away if d})
    radius = (known[int(rng.integers(len(known)))] if known else Fraction(1)) * pick(
        draw, [Fraction(1), Fraction(99, 100), Fraction(101, 100)]
    )
    speaks = np.array([d is not None and d < radius for d in away])
    return Claim(
        robust(written(start, space), radius, measure.spec), speaks, lambda said: np.asarray(said != said[place]),
        told=f"row {start}",
    )  # fmt: skip


def rule(draw: Draw, world: roads.World) -> tuple[list[str], Mask]:
    """A rule of the space, or none, and the points that obey it; one that reads a number holds only where it is."""
    everywhere = np.ones(len(world.points), dtype=np.bool_)
    kind = pick(draw, ["none", "none", "none", "linear", "implies"])
    whole = [row for row in world.points if all(value is not None for value in row.values())]
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    found = None if kind == "none" or not whole else roads.random_rule(kind, world, whole[0], rng)
    if found is None:
        return [], everywhere
    text, true = found
    reads = rule_of(text, world.space).reads

    def obeys(row: Row) -> bool:
        if any(row[name] is None and lacking(world.space[name]) for name in reads):
            return False
        return true(row)

    return [text], np.array([obeys(row) for row in world.points])
