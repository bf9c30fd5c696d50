"""Parts of the checker by themselves, against all points of small statements and against the processor's floats."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.proofs import check as checker
from mace.proofs.convert import elaborated
from mace.proofs.elaborate_networks import deeper, nearer
from mace.proofs.elaborate_trees import below
from mace.proofs.kernel.axes import Axis, levels, read_axis, read_mix
from mace.proofs.kernel.ensembles import Ensemble, Reach
from mace.proofs.kernel.fields import once
from mace.proofs.kernel.floats import INFINITE, ONE, Refused, float_with_bits, floating, quotient, to_float
from mace.proofs.kernel.networks import ERROR, Linear
from mace.proofs.kernel.proof import Check, read_model
from mace.proofs.kernel.relaxation import BOUND, FINE, SLOPE, Relaxation, relaxed
from mace.proofs.kernel.state import State
from mace.proofs.kernel.statement import Column, Statement
from mace.proofs.kernel.world import read_rules
from tests.proofs import enumeration
from tests.proofs.by_hand import AT_LEAST_0, certificate, forest, grid, network, number

TYPES = {"float64": (np.float64, "<d", "<q"), "float32": (np.float32, "<f", "<i")}


def floats(rng: np.random.Generator, dtype: str) -> float:
    """A float of any size, also subnormal, zero, or near a round number."""
    kind = int(rng.integers(4))
    if kind == 0:
        return float(rng.integers(-4, 5))
    bits = int(rng.integers(1 << (62 if dtype == "float64" else 30)))
    _, code, whole = TYPES[dtype]
    x = struct.unpack(code, struct.pack(whole, bits if kind == 1 else bits % (1 << 20)))[0]
    return float(x) if np.isfinite(x) else 1.5


def nearest(x: Fraction, dtype: str) -> float:
    """The float of a type nearest to a number, ties to even: by trying its neighbours."""
    kind, _, _ = TYPES[dtype]
    top = float(np.finfo(kind).max)
    if abs(x) > top:
        return float(np.copysign(np.inf if abs(x) >= Fraction(top) + beyond(dtype) else top, float(np.sign(x))))
    guess = kind(x.numerator / x.denominator)
    with np.errstate(over="ignore"):
        near = [guess, np.nextafter(guess, kind(np.inf)), np.nextafter(guess, kind(-np.inf))]
    finite = [c for c in near if np.isfinite(c)]
    return float(min(finite, key=lambda c: (abs(Fraction(float(c)) - x), int(c.view(f"u{c.nbytes}")) & 1)))


def beyond(dtype: str) -> Fraction:
    """Half of the last step: from here on numbers round to infinity."""
    kind, _, _ = TYPES[dtype]
    top = kind(np.finfo(kind).max)
    return (Fraction(float(top)) - Fraction(float(np.nextafter(top, kind(0))))) / 2


def scaled(x: float) -> int:
    return (INFINITE if x > 0 else -INFINITE) if np.isinf(x) else int(Fraction(x) * ONE)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_number_is_rounded_as_the_processor_rounds(dtype: str) -> None:
    rng = np.random.default_rng(1)
    top = Fraction(float(np.finfo(dtype).max))
    quotients = [
        *(Fraction(floats(rng, dtype)) * int(rng.integers(1, 9)) / int(rng.integers(1, 9)) for _ in range(600)),
        *(Fraction(int(k), 8) * Fraction(float(np.finfo(dtype).smallest_subnormal)) for k in range(-40, 41)),
        *(Fraction(2) ** 60 + int(k) * Fraction(2) ** int(e) for e in (6, 34) for k in range(-6, 7)),
        *(top + beyond(dtype) * Fraction(k, 4) for k in range(9)),
    ]
    for x in quotients:
        assert quotient(x.numerator, x.denominator, dtype) == scaled(nearest(x, dtype)), x
        if (x * ONE).denominator == 1:
            assert to_float(int(x * ONE), dtype) == scaled(nearest(x, dtype)), x


@pytest.mark.parametrize("dtype", TYPES)
def test_floats_are_counted_in_their_order(dtype: str) -> None:
    rng = np.random.default_rng(2)
    _, code, whole = TYPES[dtype]
    top = struct.unpack(whole, struct.pack(code, np.finfo(dtype).max))[0]
    for rank in [*range(-40, 41), top, -top, *(int(rng.integers(-top, top)) for _ in range(300))]:
        x = Fraction(struct.unpack(code, struct.pack(whole, abs(rank)))[0]) * (1 if rank >= 0 else -1)
        assert Fraction(float_with_bits(rank, dtype), ONE) == x
        assert below(int(x * ONE), dtype) == rank
        if abs(rank) < top and dtype == "float32":
            assert below(int(x * ONE) + 1, dtype) == rank
            assert below(int(x * ONE) - 1, dtype) == rank - 1


def test_a_column_that_says_so_is_rounded_once_as_the_processor_rounds_integers() -> None:
    rng = np.random.default_rng(3)
    below = 2**62
    axis = grid(-below, below, 0)
    column = Column([0, None, "float32"], read_axis(axis, "")[0], "")
    differ = 0
    for _ in range(2000):
        x = int(rng.integers(-below, below)) >> int(rng.integers(40))
        odd = (2 * int(rng.integers(2**23, 2**24)) + 1) << 37  # halfway between two float32
        for n in (x, odd - 1, odd, odd + 1):
            at_once = float(np.float32(np.int64(n)))
            assert column.at(n) == scaled(at_once)
            differ += at_once != float(np.float32(np.float64(n)))
    assert differ > 1000


def test_what_was_read_is_told_by_its_text() -> None:
    said = {"name": "a", "weight": "1", "kind": "levels", "count": 2, "allowed": 3, "ordered": True}
    for wrong in ({**said, "ordered": 1}, {**said, "count": 2.0}):  # equal to it, as Python compares
        for order in ((said, wrong), (wrong, said)):
            read_once = once(Axis)
            for data in order:
                if data is wrong:
                    with pytest.raises(Refused):
                        read_once(data, "")
                else:
                    assert read_once(data, "") is read_once({**data}, "")


def test_an_axis_serves_every_start_and_each_start_has_costs_of_its_own() -> None:
    of_levels = {"name": "a", "weight": "1", "kind": "levels", "count": 3, "allowed": 7, "ordered": True}
    mix = read_mix({"alpha": "0", "beta": "1", "gamma": "0"}, "")
    for data in (grid(0, 2, 0), of_levels):
        found = [read_axis({**data, "start": start}, "") for start in (0, 2, 0)]
        assert len({id(axis) for axis, _ in found}) == 1
        common = found[0][0].measure(mix)[1].denominator
        away, back, again = (axis.counted(mix, common).started(start) for axis, start in found)
        assert again is away
        assert [sum(away.cost(away.only(k))) for k in range(3)] == [sum(back.cost(back.only(2 - k))) for k in range(3)]
        assert sum(away.cost(away.only(0))) == 0 < sum(away.cost(away.only(1))) < sum(away.cost(away.only(2)))
        for start in (False, -(2**70), "0", None):
            with pytest.raises(Refused):
                read_axis({**of_levels, "start": start}, "")
        with pytest.raises(Refused):
            read_axis({name: value for name, value in data.items() if name != "start"}, "")


def test_what_nests_too_deeply_for_a_text_is_read_all_the_same() -> None:
    deep: Any = ["true"]
    for _ in range(5000):
        deep = ["not", deep]
    assert len(read_rules([deep], b"")[0].steps) == 5001


def test_statements_that_share_features_have_costs_of_their_own() -> None:
    model, features = forest([[1.0]]), [grid(0, 10, 3), grid(0, 10, 5)]
    asked = (
        ("beta", "1", "1"),
        ("alpha", "1/3", "1"),
        ("beta", "2/7", "1"),
        ("gamma", "1", "1/11"),
        ("beta", "1", "1"),
    )
    statements = []
    for part, size, claim in asked:
        mix = {"alpha": "0", "beta": "0", "gamma": "0", part: size}
        data = certificate(model, AT_LEAST_0, claim, [], features=features, distance=mix)["statement"]
        statements.append(Statement(data, read_model(model)))
    found = [Fraction(sum(one.least([(5, 7), (6, 9)])), one.common) for one in statements]
    assert found == [3, Fraction(2, 3), Fraction(6, 7), 2, 3]


@pytest.mark.parametrize(
    ("model", "more", "words"),
    [
        (network([[[1.0]]], [[0.0]]), {}, "a network takes no number that may be missing, or is rounded once"),
        (forest([[1.0]]), {"features": [grid(0, 9, 0, grid="float64")]}, "only a value of a grid of steps"),
        (forest([[1.0]]), {"features": [grid(0, 2**128, 0)]}, "a value overflows"),
        (forest([[1.0]]), {"columns": [[0, None, ["float32"]]]}, "expected a list"),
        (forest([[1.0]]), {"columns": [[0, None, "float64"]]}, "expected a list"),
    ],
)
def test_what_is_not_rounded_once_is_refused(model: Any, more: Any, words: str) -> None:
    data = certificate(
        model, [[[0, None, number(2), False]]], None, [["trees"]], **{"columns": [[0, None, "float32"]], **more}
    )
    assert words in checker.check(data).reason


def test_a_text_is_the_float_that_it_spells_or_none() -> None:
    rng = np.random.default_rng(3)
    for x in (floats(rng, "float64") * sign for _ in range(300) for sign in (1, -1)):
        assert floating(x.hex(), "") == scaled(x)


@pytest.mark.parametrize(
    "wrong",
    [
        "0x1.0p+1024",
        "0x1.0p-1023",
        "0x2.0p+0",
        "0x0.8p+0",
        "0x1.00000000000000p+0",
        "inf",
        "nan",
        "1.0",
        "0x1p",
        1,
        None,
    ],
)
def test_what_spells_no_double_is_refused(wrong: object) -> None:
    with pytest.raises(Refused):
        floating(wrong, "")


# --- small random statements -----------------------------------------------------------------------------------------


def feature(rng: np.random.Generator, j: int) -> dict[str, Any]:
    kind = int(rng.integers(6))
    base = {"name": f"f{j}", "weight": str(Fraction(int(rng.integers(0, 4)), 2))}
    if kind >= 4:
        count = int(rng.integers(1, 5))
        mask = int(rng.integers(1, 1 << count))
        start = int(rng.integers(count))
        return {**base, "kind": "levels", "count": count, "allowed": mask, "start": start, "ordered": kind == 4}
    low = int(rng.integers(-4, 3))
    high, start = low + int(rng.integers(0, 6)), low + int(rng.integers(-2, 8))
    extra = str(Fraction(int(rng.integers(-8, 9)), 3) + Fraction(1, 7)) if kind == 1 else None
    step = str(rng.choice(["1", "1/2", "3/10"])) if kind < 2 else "1"
    if kind > 1:
        far = int(rng.choice([0, 0x3F800000 if kind == 2 else 0x3FF0000000000000]))
        low, high, start = low + far, high + far, start + far
    name = ["step", "step", "float32", "float64"][kind]
    scale = "1" if kind < 2 else str(Fraction(1, 10**6))
    ends = {"lower": low, "upper": high, "start": start}
    return {**base, "kind": "grid", "grid": name, "step": step, "extra": extra, "scale": scale, **ends}


def condition(rng: np.random.Generator, count: int, depth: int) -> list[Any]:
    name = str(rng.choice(["and", "or", "not", "true", "false"] + ["<", "<=", "==", "!="] * 3))
    if depth == 0 or name in ("<", "<=", "==", "!="):
        return [str(rng.choice(["<", "<=", "==", "!="])), term(rng, count, depth), term(rng, count, depth)]
    parts = {"and": 2, "or": 2, "not": 1}.get(name, 0)
    return [name, *(condition(rng, count, depth - 1) for _ in range(parts))]


def term(rng: np.random.Generator, count: int, depth: int) -> list[Any]:
    name = str(rng.choice(["x", "x", "x", "c", "+", "-", "neg", "*", "abs", "min", "max"]))
    if name == "c" or (depth == 0 and name != "x"):
        return ["c", str(Fraction(int(rng.integers(-6, 7)), 2))]
    if name == "x":
        return ["x", int(rng.integers(count))]
    if name == "*":
        return ["*", str(Fraction(int(rng.integers(-4, 5)), 2)), term(rng, count, depth - 1)]
    parts = {"neg": 1, "abs": 1}.get(name, 2)
    return [name, *(term(rng, count, depth - 1) for _ in range(parts))]


def column(rng: np.random.Generator, j: int, entry: dict[str, Any]) -> list[Any]:
    if entry["kind"] == "levels":
        return [j, [number(float(rng.choice([0.0, 1.0, 0.1, -2.5]))) for _ in range(entry["count"])], []]
    steps = rng.integers(0, 3)
    names = [str(rng.choice(["add", "sub", "mul", "div"])) for _ in range(steps)]
    return [j, None, [[n, number(float(rng.choice([0.3, -1.7, 2.0, 1e-3])))] for n in names]]


def random_tree(rng: np.random.Generator, features: list[Any], columns: list[Any]) -> dict[str, Any]:
    """Three tests, often of one feature, and four leaves."""
    tree: dict[str, Any] = {
        "column": [],
        "threshold": [],
        "left": [1, 2, 0, 0, 5, 0, 0],
        "right": [4, 3, 0, 0, 6, 0, 0],
    }
    for n in range(7):
        inner = n in (0, 1, 4)
        c = int(rng.integers(len(columns))) if inner else -1
        tree["column"].append(c)
        if inner:
            j, table, _ = columns[c]
            f = features[j]
            x = float(enumeration.value(f, int(rng.integers(f["lower"], f["upper"] + 1)))) if table is None else 0.1
            near = [x, np.nextafter(x, 9), np.float32(x), x + 0.1]
            tree["threshold"].append(number(float(rng.choice(near))))
        else:
            tree["threshold"].append(0)
    tree["value"] = [None if c >= 0 else [number(float(rng.integers(-4, 5)) / 4)] for c in tree["column"]]
    return tree


def side(rng: np.random.Generator, described: dict[str, Any]) -> Any:
    """A side of an excluded box: an interval that may reach beyond the allowed values, or a mask of levels."""
    if described["kind"] == "levels":
        return int(rng.integers(0, 1 << described["count"]))
    low, high = described["lower"], described["upper"]
    ends = sorted(int(low + share * (high - low)) for share in rng.uniform(-0.3, 1.3, 2))
    return [min(ends[0], low) if rng.random() < 0.5 else ends[0], max(ends[1], high) if rng.random() < 0.5 else ends[1]]


def statement(seed: int, kind: str, hard: bool = True) -> dict[str, Any]:
    """A random statement; not `hard`: no chains, so that thresholds are near values."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 4))
    features = [feature(rng, j) for j in range(count)]
    columns = [column(rng, j, f) for j, f in enumerate(features) for _ in range(int(rng.integers(1, 3)))]
    for entry in columns:
        if not hard:
            entry[2] = []
    points = [tuple(f["start"] for f in features), tuple(f.get("upper", 0) for f in features)]
    avoid: list[Any] = [{"changes": [0]}, {"changes": []}, {"changes": list(range(count))}]
    avoid += [{"point": list(p)} for p in points]
    avoid += [{"near": list(p), "radius": str(Fraction(int(rng.integers(0, 9)), 3))} for p in points]
    avoid += [{"box": [side(rng, f) for f in features]} for _ in range(3)]
    if kind == "network":
        size = int(rng.integers(1, 4))
        weights = [rng.normal(size=(len(columns), size)), rng.normal(size=(size, size)), rng.normal(size=(size, 1))]
        model = network([w.tolist() for w in weights], [rng.normal(size=w.shape[1]).tolist() for w in weights])
    else:
        model = forest(*([[0.0], [1.0]] for _ in columns), at=[0.0] * len(columns))
        model.update(cast=str(rng.choice(["float32", "float64"])), test=str(rng.choice(["<", "<="])))
        model["trees"] = [random_tree(rng, features, columns) for _ in columns]
    mix = [Fraction(int(rng.integers(0, 3)), 2) for _ in range(3)]
    claim = str(Fraction(int(rng.integers(1, 30)), 7)) if rng.random() < 0.8 else None
    rules = [condition(rng, count, int(rng.integers(0, 4))) for _ in range(4)]
    more = {"features": features, "columns": columns, "rules": rules, "avoid": avoid}
    norm = dict(zip(("alpha", "beta", "gamma"), map(str, mix), strict=True))
    return dict(certificate(model, [[[0, None, number(0.0), False]]], claim, [], distance=norm, **more)["statement"])


def boxes(problem: Check, rng: np.random.Generator) -> Iterator[tuple[list[Any], list[tuple[int, ...]]]]:
    """Random boxes that are not empty, each with its points."""
    for n in range(6):
        spans: list[Any] = []
        sides = []
        for axis in problem.statement.axes:
            if not axis.is_grid:
                held = levels(axis.full)
                kept = [i for i in held if n == 0 or rng.random() < 0.6] or held[:1]
                spans.append(sum(1 << i for i in kept))
            else:
                low, high = axis.full
                a, b = sorted(int(rng.integers(low, high + 1)) for _ in range(2)) if n else (low, high)
                kept = list(range(a, b + 1))
                spans.append((a, b))
            sides.append(kept)
        yield spans, list(itertools.product(*sides))


SEEDS = range(60)


def opened(data: Any) -> Check:
    """What a checker knows before the proof: the statement, and the root's state."""
    model = read_model(data["model"])
    cuts, _ = elaborated(data, [["trees"]], model)
    return Check(Statement(data, model), cuts)


def state_of(problem: Check, box: Any, state: State | None = None) -> State:
    """A state, at first the root, narrowed to a box."""
    state = state or problem.root
    for j, span in enumerate(box):
        state = state.narrowed(j, problem.statement.axes[j], span)
    return state


def each(kind: str, seed: int, hard: bool = True) -> Iterator[tuple[Any, Check, list[Any], list[tuple[int, ...]]]]:
    data = statement(seed, kind, hard)
    problem = opened(data)
    for box, points in boxes(problem, np.random.default_rng(seed)):
        yield data, problem, box, points


def far(data: Any, point: Any) -> Fraction:
    return enumeration.distance(data, point, tuple(f["start"] for f in data["features"]))


@pytest.mark.parametrize("seed", SEEDS)
def test_distances_rules_and_regions_of_a_box(seed: int) -> None:
    for data, problem, box, points in each("ensemble", seed):
        common = problem.statement.common
        state = state_of(problem, box)
        least = min(far(data, p) for p in points)
        assert Fraction(state.total + state.largest, common) == least
        assert Fraction(sum(problem.statement.least(box)), common) == least
        for k, rule in enumerate(problem.statement.rules):
            found = [
                enumeration.of(
                    data["rules"][k], [enumeration.value(f, i) for f, i in zip(data["features"], p, strict=True)]
                )
                for p in points
            ]
            can = rule.possible(problem.statement.axes, box)
            assert can[0] >= (not all(found)), (data["rules"][k], box)
            assert can[1] >= any(found), (data["rules"][k], box)
            assert any(can)
            if len(points) == 1:
                assert can == (not found[0], found[0])
        for k, region in enumerate(problem.statement.avoid):
            inside = all(not enumeration.allowed({**data, "rules": [], "avoid": [data["avoid"][k]]}, p) for p in points)
            assert region.holds(problem.statement.axes, box, common) <= inside, (data["avoid"][k], box)
            if len(points) == 1:
                assert region.holds(problem.statement.axes, box, common) == inside
        moved = [sum(i != f["start"] for i, f in zip(p, data["features"], strict=True)) for p in points]
        fewest = sum(not axis.has(span, axis.start) for axis, span in zip(problem.statement.axes, box, strict=True))
        assert fewest == min(moved)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_parts_of_a_split_are_the_whole(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _, problem, box, points in each("ensemble", seed):
        j = int(rng.integers(len(box)))
        axis = problem.statement.axes[j]
        at = points[int(rng.integers(len(points)))][j]
        state = state_of(problem, box)
        one, other = (child.box[j] for child in problem.split(state, j, at if axis.is_grid else 1 << at))
        for i in {p[j] for p in points}:
            assert axis.has(one, i) != axis.has(other, i)
        if axis.is_grid:
            assert axis.has(one, at)
            assert one == (box[j][0], at)


def leaf(model: Ensemble, t: int, row: Any) -> int:
    """The node of the leaf that a row reaches."""
    tree, tests, n = model.trees[t], list(model.tests), 0
    while tree.test[n] >= 0:
        column, threshold = tests[tree.test[n]]
        n = tree.left[n] if model.passes(row[column], threshold) else tree.right[n]
    return n


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_leaves_of_a_box(seed: int, hard: bool) -> None:
    for data, problem, box, points in each("ensemble", seed, hard):
        reach, statement = problem.model, problem.statement
        assert isinstance(reach, Reach)
        state = state_of(problem, box)
        near = [p for p in points if statement.claim is None or far(data, p) < statement.claim]
        gone = [
            [t, n] for t, leaves in enumerate(reach.leaves) for n, (_, sides) in leaves.items()
            if reach.unreached(state, sides)
        ]  # fmt: skip
        left = reach.prune(state, *gone)
        assert not (left.empty and near)
        for p in near:
            nodes = [leaf(reach.model, t, statement.row(p)) for t in range(len(reach.leaves))]
            for t, n in enumerate(nodes):
                assert reach.leaves[t][n][0] & left.alive[t]
            exact = sum(reach.model.trees[t].value[n][0] for t, n in enumerate(nodes))
            assert exact == scaled(enumeration.scores(data, p)[0])
            assert left.sums[0] >= exact
        if statement.claim is None and len(points) == 1:
            assert all(mask.bit_count() == 1 for mask in left.alive)
            assert left.sums[0] == exact


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cut_one_further_is_refused(seed: int) -> None:
    for data, problem, _, _ in itertools.islice(each("ensemble", seed), 1):
        reach = problem.model
        assert isinstance(reach, Reach)
        cuts, _ = elaborated(data, [["trees"]], reach.model)
        for k, test in enumerate(reach.model.tests):
            at = cuts[k]
            for wrong in (at - 1, at + 1) if at is not None else (0,):
                column = problem.statement.columns[test[0]]
                if at is None and column.table is None:
                    continue  # No walk came to this test: it may be cut anywhere that is right.
                with pytest.raises(Refused, match="cuts: "):
                    Reach(problem.statement, reach.model, [*cuts[:k], wrong, *cuts[k + 1 :]], problem.root)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_near_stays(seed: int) -> None:
    for data, problem, box, points in each("network", seed):
        statement = problem.statement
        state = state_of(problem, box)
        nodes: list[Any] = []
        kept = nearer(problem, state, nodes)
        near = [p for p in points if statement.claim is None or far(data, p) < statement.claim]
        assert not (kept.empty and near)
        for p in near:
            assert all(axis.has(span, i) for axis, span, i in zip(statement.axes, kept.box, p, strict=True))
        for axis, span, (j, sides) in ((statement.axes[j], box[j], (j, s)) for _, *rest in nodes for j, s in rest):
            # Nothing less may stay: the spans that are written are the smallest.
            smaller = [[sides[0] + 1, sides[1]], [sides[0], sides[1] - 1]] if axis.is_grid else []
            for one in smaller:
                if one[0] <= one[1] and axis.has(span, one[0]):
                    with pytest.raises(Refused, match="near enough"):
                        problem.near(state, [j, one])


def inside(low: int, high: int, z: Fraction) -> bool:
    return Fraction(low, 1 << BOUND) <= z <= Fraction(high, 1 << BOUND)


def inputs(data: Any, point: Any) -> list[Fraction]:
    """The exact values of the columns."""
    row = []
    for j, table, chain in data["columns"]:
        x = (
            enumeration.value(data["features"][j], point[j])
            if table is None
            else Fraction(float.fromhex(table[point[j]]))
        )
        for name, operand in chain:
            y = Fraction(float.fromhex(operand))
            x = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y if y else y}[name]
        row.append(x)
    return row


def hidden(data: Any, point: Any) -> list[list[Fraction]]:
    """The exact inputs of the units of every layer."""
    found, values = [], inputs(data, point)
    for layer in data["model"]["layers"]:
        rows = [[Fraction(float.fromhex(w)) for w in line] for line in layer["weights"]]
        biases = [Fraction(float.fromhex(b)) for b in layer["bias"]]
        found.append([sum((row[o] * v for row, v in zip(rows, values, strict=True)), b) for o, b in enumerate(biases)])
        values = [max(z, Fraction(0)) for z in found[-1]]
    return found


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_bounds_of_hidden_units(seed: int, hard: bool) -> None:
    rng = np.random.default_rng(seed)
    for data, problem, box, points in each("network", seed, hard):
        statement, model = problem.statement, problem.model
        assert isinstance(model, Relaxation)
        near = [p for p in points if statement.claim is None or far(data, p) < statement.claim]
        state = state_of(problem, box)
        price = number(float(rng.choice([0.0, 0.25, 3.0, 1e6])))
        given = [
            [k, n, price, None if n % 3 == 1 else number(0.5)]
            for k, row in enumerate(state.units)
            for n in range(len(row))
        ]
        for found in (model.bounds(state, *given), deeper(problem, nearer(problem, state, []), [])):
            assert not (found.empty and near)
            for p in near:
                for units, values in zip(found.units, hidden(data, p), strict=False):
                    assert all(inside(low, high, z) for (low, high), z in zip(units, values, strict=True))
        if not near or statement.claim is not None or len(points) > 1:
            continue
        # On one point the bounds are the number itself, where nothing below is undecided.
        for units, values in zip(found.units[:1], hidden(data, points[0])[:1], strict=True):
            for (low, high), z in zip(units, values, strict=True):
                assert low >= 0 or high <= 0 or Fraction(high - low, 1 << BOUND) < Fraction(1, 2**40), z


@pytest.mark.parametrize("seed", SEEDS)
def test_the_least_of_a_linear_function_near_the_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for data, problem, box, points in each("network", seed):
        statement, model = problem.statement, problem.model
        assert isinstance(model, Relaxation)
        state = state_of(problem, box)
        for size in (1, 2**170, 2**420):  # small: its roundings are felt; large: those of the distance are
            v = [int(rng.integers(-50, 51)) * size + int(rng.integers(-3, 4)) for _ in statement.columns]
            for theta in (0, 1 << FINE, int(rng.integers(1, 2**60)) << 100):
                f = Linear(v, 7, FINE)
                shares = None if size > 2**170 else [theta // len(box)] * len(box)
                least = model.least(model.parts(state, f), f, theta, shares)
                for p in points:
                    if statement.claim is None or far(data, p) < statement.claim:
                        value = 7 + sum((k * x for k, x in zip(v, inputs(data, p), strict=True)), Fraction(0))
                        assert least <= value, (size, p)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_phase_holds_every_point_on_its_side(seed: int) -> None:
    for data, problem, box, points in each("network", seed):
        model = problem.model
        assert isinstance(model, Relaxation)
        root = deeper(problem, problem.root, [])
        state = state_of(problem, box, root)
        near = [p for p in points if problem.statement.claim is None or far(data, p) < problem.statement.claim]
        for k, units in enumerate(state.units):
            for n in range(len(units)):
                off, on = model.phase(state, k, n)
                assert (off.phases[k, n], on.phases[k, n]) == (False, True)
                for p in near:
                    values = hidden(data, p)
                    for child in (off, on):
                        if values[k][n] * (1 if child is on else -1) < 0:
                            continue
                        assert not child.empty
                        for held, inner in zip(child.units, values, strict=False):
                            assert all(inside(low, high, z) for (low, high), z in zip(held, inner, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_bound_of_a_dual_lies_below_what_it_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for data, problem, box, points in each("network", seed):
        model = problem.model
        assert isinstance(model, Relaxation)
        root = deeper(problem, problem.root, [])
        near = [p for p in points if problem.statement.claim is None or far(data, p) < problem.statement.claim]
        for state in model.phase(state_of(problem, box, root), 0, 0):
            weight, push = (Fraction(int(rng.integers(0, 1 << 20)), 1 << 19) for _ in range(2))
            share = Fraction(1, 4)
            part = {
                "goal": [str(weight)],
                "slopes": [[1, 0, str(Fraction(int(rng.integers(-20, 30)), 8))]],
                "phases": [[0, 0, str(push)]],
                "largest": [[j, str(share)] for j in range(len(box))],
            }
            if state.empty:
                continue
            found = model.part_bound(state, 0, part)
            for p in near:
                values = hidden(data, p)
                on = state.phases[0, 0]
                if values[0][0] * (1 if on else -1) < 0:
                    continue
                least = -weight * (values[-1][0] + Fraction(model.errors[0], 1 << ERROR))
                least += push * values[0][0] * (-1 if on else 1)
                if problem.statement.claim is not None:
                    norm = {name: Fraction(q) for name, q in data["distance"].items()}
                    for f, i in zip(data["features"], p, strict=True):
                        delta, w = enumeration.change(f, i, f["start"]), Fraction(f["weight"])
                        least += w * (norm["alpha"] * (delta > 0) + (norm["beta"] + share * norm["gamma"]) * delta)
                    least -= problem.statement.claim
                assert Fraction(found[0], 1 << found[1]) <= least


@pytest.mark.parametrize("seed", SEEDS)
def test_tightened_intervals_hold_every_point_against_the_claim(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for data, problem, box, points in each("network", seed):
        model = problem.model
        assert isinstance(model, Relaxation)
        near = [p for p in points if problem.statement.claim is None or far(data, p) < problem.statement.claim]
        against = [p for p in near if hidden(data, p)[-1][0] >= 0]
        for state in model.phase(state_of(problem, box, deeper(problem, problem.root, [])), 0, 0):
            on = state.phases[0, 0]
            ends = [
                [
                    k, n, int(rng.integers(2)), number(float(rng.choice([0.0, 0.5, 2.0]))),
                    {
                        "goal": [str(Fraction(int(rng.integers(0, 1 << 8)), 1 << 4))],
                        "slopes": [[0, 0, str(Fraction(int(rng.integers(-20, 30)), 8))]],
                        "phases": [[0, 0, str(Fraction(int(rng.integers(0, 9)), 4))]],
                        "largest": [],
                    },
                ]
                for k, row in enumerate(state.units) for n in range(len(row))
            ]  # fmt: skip
            if state.empty:
                continue
            found = model.tighten(state, *ends)
            for p in against:
                values = hidden(data, p)
                if values[0][0] * (1 if on else -1) < 0:
                    continue
                assert not found.empty
                for units, inputs in zip(found.units, values, strict=False):
                    assert all(inside(low, high, z) for (low, high), z in zip(units, inputs, strict=True))


def test_what_the_claim_takes_from_a_bound_is_rounded_up() -> None:
    said = certificate(network([[[0.0]]], [[0.0]]), AT_LEAST_0, "1/3", [])["statement"]
    model = Check(Statement(said, read_model(said["model"])), []).model
    least = model.least([[(0, 0, 0, 1)]], Linear([0], 0, FINE), 1 << FINE, None)
    assert Fraction(least, 1 << FINE) < -Fraction(1, 3) < Fraction(least + 1, 1 << FINE)


def test_a_relaxed_unit_lies_below_the_unit() -> None:
    rng = np.random.default_rng(4)
    one = 1 << SLOPE
    for _ in range(4000):
        low = (int(rng.integers(-50, 50)) << BOUND) // 7
        high = low + (int(rng.integers(0, 60)) << BOUND) // 7
        v = int(rng.integers(-9, 10))
        t = [None, 0, one, int(rng.integers(1 << 62)) * 12, -int(rng.integers(1 << 62)) * 12][rng.integers(5)]
        s, c = relaxed(v, low, high, t)
        for z in {low, high, *([0] if low < 0 < high else [])}:
            unit = (v * max(z, 0)) << 2 * SLOPE
            assert unit >= s * z + (c << BOUND), (v, low, high, t, z)


def test_a_relaxed_unit_is_exact_where_it_can_be() -> None:
    one, whole = 1 << SLOPE, 1 << BOUND
    assert relaxed(7, -5 * whole, 0, one) == (0, 0)
    assert relaxed(7, 0, 5 * whole, None) == relaxed(7, 0, 5 * whole, one) == (7 * one * one, 0)
    assert relaxed(-7, 0, 5 * whole, None) == (-7 * one * one, 0)
    assert relaxed(7, -5 * whole, 5 * whole, None) == (0, 0)
    # Just above 0 a unit is no longer off.
    assert relaxed(7, -5 * whole, 1, one) == (7 * one * one, 0)
    # The chord from (-4, 0) to (4, 4).
    assert relaxed(-8, -4 * whole, 4 * whole, None) == (-4 * one * one, -16 * one * one)
    # Below 0 the chord counts once more for each 1 of the slope: of a >= 0, and of a <= chord(z).
    assert relaxed(8, -4 * whole, 4 * whole, -one) == (-4 * one * one, -16 * one * one)
    assert relaxed(-8, -4 * whole, 4 * whole, -one) == (-8 * one * one, -32 * one * one)
    assert relaxed(8, 2 * whole, 4 * whole, -one) == (-8 * one * one, 0)


@pytest.mark.parametrize("unit", [(-1, 0), (-2, 0), (1, 0), (0, -1), (0, 2), (True, 0), (0, None)])
def test_a_unit_that_does_not_exist_has_no_phase(unit: tuple[Any, Any]) -> None:
    model = network([[[1.0, 1.0]], [[1.0], [1.0]]], [[0.0, 0.0], [0.0]])
    proof: list[list[Any]] = [["phase", *unit]]
    reason = checker.check(certificate(model, [[[0, None, number(0.0), False]]], None, proof)).reason
    assert "expected an integer" in reason
    part = {"goal": ["0"], "slopes": [[*unit, "1"]], "phases": [], "largest": []}
    reason = checker.check(certificate(model, [[[0, None, number(0.0), False]]], None, [["dual", part]])).reason
    assert "expected an integer" in reason
